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


def test_the_furthest_is_said(system):
    (seen,) = found(over_time(system, [1.0, 0.94, 0.92, 0.93, 1.0]), "frequency")
    assert (seen.t, seen.value) == (1.0, pytest.approx(60.0 * 0.92))


@pytest.mark.parametrize(("hertz", "amber"), [(59.31, 0), (59.29, 1), (60.69, 0), (60.71, 1)])
def test_the_final_frequency(system, hertz, amber):
    seen = over_time(system, [1.0, 1.0, hertz / 60.0])
    assert [f.colour for f in found(seen, "final frequency")] == ["amber"] * amber
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
