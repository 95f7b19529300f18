"""The bench: a plant of a case at a source of a short-circuit ratio, and what of it is refused."""

import math

import numpy as np
import pytest

import psmr
from psmr.errors import CaseError, InputError
from tests.disturbances import CASES
from tests.internals import BenchFile, Trial, battery, disturbance, impedance, load_system, phasors_alone
from tests.internals import requirements as known_requirements

RENEWABLE, FORMING, FOLLOWING = (
    CASES / "wscc9" / f"wscc9-{name}.toml" for name in ("renewable", "gfm", "ibr")
)


def bench(case=RENEWABLE, plant="W3", **how):
    return load_system(BenchFile(case, plant=plant, **how))


@pytest.mark.parametrize(("scr", "x_r"), [(20.0, 2.0), (3.0, 10.0), (1.0, 30.0)])
def test_source_has_its_short_circuit_ratio_and_plant_its_power(scr, x_r):
    system = bench(FOLLOWING, "C1", scr=scr, x_r=x_r)
    rating = system.device("source").parameters["s_n"]
    z = impedance(system) * rating / system.device("source").parameters["s_base"]
    assert abs(z) == pytest.approx(1 / scr, rel=1e-12)
    assert z.imag / z.real == pytest.approx(x_r, rel=1e-12)
    run = psmr.simulate(system, psmr.VariableStep(1e-6), 0.5)
    row = next(row for row in psmr.read_case(FOLLOWING).generators if row.name == "C1")
    assert run["C1.p"].to_numpy() == pytest.approx(row.p_mw, abs=1e-4)


def test_equations_are_at_rest_on_the_bench():
    system = bench(scr=2.0)
    assert np.abs(system.f(system.x0, system.y0)).max() < 1e-9
    assert np.abs(system.g(system.x0, system.y0)).max() < 1e-9


def test_a_device_that_measures_elsewhere_measures_the_bus_of_the_bench_and_says_so():
    with pytest.warns(psmr.errors.PsmrWarning, match="PPC-W3 measures bus 9, which is not on the bench"):
        case = BenchFile(RENEWABLE, plant="W3").read()
    assert [bus.number for bus in case.buses] == [3]


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({}, r"has 4 plants with dynamic devices \(G1, G2, W3, S3\); the bench takes one"),
        ({"plant": "W4"}, "has no plant 'W4'; did you mean 'W3'"),
        ({"plant": "W3", "bus": 9}, "has other plants as well"),
        ({"plant": "W3", "bus": 77}, "has no bus of the number 77"),
        ({"plant": "G1"}, "p_mw = 0.0: must be given on the bench"),
    ],
)
def test_what_cannot_stand_on_the_bench_is_refused(how, words):
    with pytest.raises(CaseError, match=words):
        BenchFile(RENEWABLE, **how).read()


@pytest.mark.parametrize("level", [0.1, 0.25, 0.5, 0.8])
@pytest.mark.parametrize("scr", [20.0, 1.0])
def test_a_dip_leaves_its_voltage_where_the_plant_has_no_current(level, scr):
    system = bench(scr=scr)
    (fault,) = disturbance(Trial("", "dip", level=level, duration=0.1, what="abc"), system, "bus3", 60.0)
    e = float(system.w0[system.index("source.e")])
    remains = abs(e * fault.r / (fault.r + impedance(system)))
    assert fault.x == 0
    assert remains == pytest.approx(level * 1.025, rel=1e-12)  # of the voltage that it has at bus 3


def test_a_ramp_of_frequency_is_what_it_says():
    system = bench(scr=5.0)
    trial = Trial("", "frequency", level=-3.0, duration=2.0, rate=5.0)
    run = psmr.simulate(
        system, psmr.VariableStep(1e-7, h_max=0.01), trial.t_end, disturbance(trial, system, "bus3", 60.0)
    )
    f = np.interp([0.8, 1.1, 2.0, 3.4, trial.t_end], run.t, run["bus3.frequency"].to_numpy())
    # 5 Hz/s from 0.5 s, 57 Hz from 1.1 to 3.1 s, back at 3.7 s.
    assert f == pytest.approx([58.5, 57.0, 57.0, 58.5, 60.0], abs=0.02)


def test_battery_has_the_times_of_the_curve_with_its_clause():
    system = bench()
    trials = {t.name: t for t in battery(system, ("NERC PRC-029-1", "IEEE 2800-2022"), None, 60.0)}
    # NERC PRC-029-1, attachment 1, table 2.
    for level, time in ((0.0, 0.32), (0.25, 1.2), (0.5, 3.0), (0.7, 6.0)):
        trial = trials[f"dip to {level:g} pu for {time:g} s"]
        assert trial.clause == "PRC-029-1 R1, attachment 1, table 2"
        assert trial.recovery is not None
        assert trial.recovery[0] == 1.0
    assert trials["57 Hz at 5 Hz/s for 10 of 299 s"].clause == "PRC-029-1 R3, attachment 2; PRC-029-1 R3"
    assert trials["swell to 1.2 pu for 1 s"].level == 1.2
    assert trials["phase jump of -25 deg"].clause == "PRC-029-1 R1"
    assert {t.what for t in trials.values() if t.kind == "dip"} == {"abc", "ag", "bc", "bcg"}


def test_wind_has_its_own_table_and_other_frequencies_no_american_one():
    system = bench()
    wind = {t.name for t in battery(system, ("NERC PRC-029-1 wind",), None, 60.0)}
    assert "dip to 0 pu for 0.16 s" in wind  # table 1
    assert not any(t.kind == "dip" for t in battery(system, ("NERC PRC-029-1",), None, 50.0))


def test_every_requirement_names_its_clause():
    for asked in known_requirements(None).values():
        assert asked["quoted"]
        assert all(part["clause"] for part in asked.values() if isinstance(part, dict))


def test_requirements_of_ones_own(tmp_path):
    file = tmp_path / "own.toml"
    file.write_text(
        '["Own"]\nvoltage = { low = [[0.3, 0.2], [0.9, 2.0]], high = [[1.2, 0.0]], clause = "4.2" }\n'
    )
    trials = {t.name: t.clause for t in battery(bench(), ("Own",), file, 50.0)}
    assert trials["dip to 0.25 pu for 0.2 s"] == "4.2"
    assert trials["dip to 0.8 pu for 2 s"] == "4.2"
    file.write_text('["Own"]\njump = { degrees = 10.0 }\n')
    with pytest.raises(InputError, match=r"\[Own\] jump: clause is missing"):
        known_requirements.__wrapped__(file)
    with pytest.raises(InputError, match="cannot be read as requirements"):
        known_requirements.__wrapped__(tmp_path / "none.toml")


def test_who_has_phases():
    assert "REGCA1 answers its voltage at once" in phasors_alone(bench(), "W3", "bus3")
    assert not phasors_alone(bench(FORMING, "C3", scr=3.0), "C3", "bus3")


def test_source_in_phases_is_the_same_source():
    """With the network's dynamics a jump and a gain of the source end where phasors say."""
    both = []
    for phases in (False, True):
        system = bench(FORMING, "C3", scr=3.0, x_r=3.0, phases=phases)
        events = [psmr.SetPoint("source", "gain", 0.95, 0.05), psmr.SetPoint("source", "jump", 0.05, 0.05)]
        run = psmr.simulate(system, psmr.VariableStep(1e-6), 3.0, events, certify=False)
        both.append([run[name].iloc[-1] for name in ("bus3.v", "C3.p", "source.p")])
    # The capacitance of 2 % of the rating at the bus is in the phasors as well only where there are phases.
    assert both[1] == pytest.approx(both[0], rel=0.01)
    assert math.isclose(both[1][1], 85.0, rel_tol=1e-3)
