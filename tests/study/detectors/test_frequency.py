"""Frequencies outside a band, by the definitions of `psmr.study.detectors.frequency`."""

import numpy as np
import pytest

import psmr
from tests.study.detectors.made import detected, found, made_points

SPEEDS = ("G1.omega", "G2.omega", "G3.omega")


def over_time(system, speed, **kwargs):
    t = np.arange(float(len(speed)))
    x, y = made_points(system, t, {name: np.array(speed) for name in SPEEDS})
    return detected(system, t, x, y, **kwargs)


@pytest.mark.parametrize("at_once", [1000, 1])
@pytest.mark.parametrize(
    ("speed", "outside"), [(0.951, False), (0.949, True), (1.029, False), (1.031, True)]
)  # the defaults: 57.0 and 61.8 Hz of 60
def test_a_frequency_at_which_generators_may_trip_is_red(system, speed, outside, at_once):
    seen = found(over_time(system, [1.0, 1.0, speed, 1.0], at_once=at_once), "frequency")
    assert [(f.colour, f.t) for f in seen] == ([("red", 2.0)] if outside else [])
    if outside:
        assert seen[0].value == pytest.approx(60.0 * speed)


@pytest.mark.parametrize("at_once", [1000, 1])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_furthest_is_said(system, sign, at_once):
    speed = 1.0 + sign * np.array([0.0, 0.06, 0.08, 0.07, 0.0])
    seen = over_time(system, speed, at_once=at_once)
    (finding,) = found(seen, "frequency")
    assert (finding.t, finding.value) == (1.0, pytest.approx(60.0 * speed[2]))
    extreme = seen.frequency.highest if sign > 0 else seen.frequency.lowest
    assert (extreme.t, extreme.value) == (2.0, pytest.approx(60.0 * speed[2]))
    assert finding.where == extreme.where == ""  # one island is the system


def test_the_island_is_named_where_there_are_two(system):
    events = [psmr.LineTrip("4-6", 0.5), psmr.LineTrip("8-9", 0.5)]
    run = psmr.simulate(system, t_end=3.0, events=events, certify=False)
    assert run.outcome.overshoot.where == "in the island of bus3"
    first, second, third = (run[f"G{k}.omega"].iloc[-1] for k in (1, 2, 3))
    of_bus1 = 60.0 * (2364 * first + 640 * second) / (2364 + 640)  # MWs, h s_n of the case
    furthest = max((of_bus1, 60.0 * third), key=lambda hertz: abs(hertz - 60.0))
    assert run.outcome.end_frequency.value == pytest.approx(furthest, abs=1e-6)


@pytest.mark.parametrize(("hertz", "amber"), [(59.31, 0), (59.29, 1), (60.69, 0), (60.71, 1)])
def test_the_final_frequency(system, hertz, amber):
    seen = over_time(system, [1.0, 1.0, hertz / 60.0])
    assert [f.colour for f in found(seen, "final frequency")] == ["amber"] * amber
    nearest = 59.3 if hertz < 60.0 else 60.7
    assert [f.limit for f in found(seen, "final frequency")] == [pytest.approx(nearest)] * amber
    assert seen.frequency.end.value == pytest.approx(hertz)


def test_the_speed_of_one_machine_counts_by_its_energy(system):
    """The frequency is that of the centre of inertia; h s_n of the three: 2364, 640 and 301 MWs."""
    t = np.arange(3.0)
    x, y = made_points(system, t, {"G3.omega": np.array([1.0, 1.1, 1.0])})
    seen = detected(system, t, x, y).frequency
    assert seen.highest.value == pytest.approx(60.0 * (1 + 0.1 * 301 / (2364 + 640 + 301)), abs=5e-3)
    assert seen.highest.t == 1.0
    assert seen.lowest.value == pytest.approx(60.0)


def test_a_loss_of_all_load_is_red_for_frequency_and_voltage():
    """Kundur's system without its load: 93 Hz and 1.33 pu."""
    system = psmr.build(psmr.case("kundur"))
    events = [psmr.LoadTrip(7, 1.0, 1.0), psmr.LoadTrip(9, 1.0, 1.0)]
    run = psmr.simulate(system, t_end=10.0, events=events, certify=False)
    assert run.judgement.colour == "red"
    assert {"frequency", "overvoltage"} <= {f.what for f in run.outcome.findings if f.colour == "red"}
    assert run.outcome.end_frequency.value == pytest.approx(93.4, abs=0.1)
    assert run.outcome.highest_voltage.value == pytest.approx(1.33, abs=0.005)
    assert run.outcome.settling is not None
    assert not run.outcome.settling.settled


@pytest.fixture(scope="module")
def microgrid():
    """Three converters that form the voltage, no machine, 50 Hz."""
    return psmr.build(psmr.case("microgrid"))


def test_converters_that_form_the_voltage_alone_have_a_frequency(microgrid):
    """Their droop, w = 1 + m_p (p_ref - p_m), settles at 50.018 Hz once half of a load is lost."""
    run = psmr.simulate(microgrid, t_end=1.0, events=[psmr.LoadTrip(3, 0.1, 0.5)], certify=False)
    parameters = next(d.parameters for d in microgrid.devices if d.name == "C1")
    asked = microgrid.w0[microgrid.index("C1.p_ref")]
    last = 50.0 * (1.0 + parameters["m_p"] * (asked - run["C1.p_m"].iloc[-1]))
    assert last == pytest.approx(50.018, abs=1e-3)
    assert run.outcome.end_frequency.value == pytest.approx(last, abs=1e-5)
    assert run.outcome.overshoot.value == pytest.approx(last, abs=1e-3)
    assert run.outcome.nadir.value == pytest.approx(50.0, abs=1e-6)
    narrow = psmr.FrequencyOutside(f_low=0.999, f_high=1.0002)  # 50.01 Hz
    stopped = psmr.simulate(
        microgrid, t_end=1.0, events=[psmr.LoadTrip(3, 0.1, 0.5)], certify=False, monitors=[narrow]
    ).stopped
    assert 0.1 < stopped.t < 0.5
    assert stopped.value > 50.01


@pytest.mark.parametrize("at_once", [1000, 1, 3])
def test_a_converters_speed_is_the_mean_of_the_step(microgrid, at_once):
    t = np.array([0.0, 0.1, 0.1, 0.2, 0.4])
    turned = np.cumsum([0.0, 0.1 * 0.02, 0.0, 0.1 * 0.04, 0.2 * -0.01]) * 2.0 * np.pi * 50.0
    values = {f"C{k}.theta": microgrid.x0[microgrid.index(f"C{k}.theta")] + turned for k in (1, 2, 3)}
    x, y = made_points(microgrid, t, values)
    seen = detected(microgrid, t, x, y, at_once=at_once).frequency
    assert (seen.highest.value, seen.highest.t) == (pytest.approx(52.0), 0.2)
    assert (seen.lowest.value, seen.lowest.t) == (pytest.approx(49.5), 0.4)
    assert seen.end.value == pytest.approx(49.5)


@pytest.mark.parametrize(("change", "moved"), [(0.995e-5, False), (1.005e-5, True)])
def test_a_change_that_no_digit_shows_is_none(system, change, moved):
    seen = over_time(system, [1.0, 1.0 - change, 1.0 + change, 1.0]).frequency
    assert (seen.lowest.t, seen.highest.t) == ((1.0, 2.0) if moved else (0.0, 0.0))


def test_a_summary_says_that_the_frequency_did_not_fall(system):
    """A millionth of a load lost: 60 Hz from beginning to end, in all digits of a summary."""
    run = psmr.simulate(system, t_end=1.0, events=[psmr.LoadTrip(5, 0.1, 1e-6)], certify=False)
    facts = dict(run.outcome.facts())
    assert facts["frequency nadir"] == "did not go below 60 Hz"
    assert facts["frequency overshoot"] == "did not go above 60 Hz"
