"""Monitors that could never end a run are refused before it, with the remedy."""

import pytest

import psmr
from psmr.errors import InputError

EVENTS = [psmr.LoadTrip(5, 0.1, 0.1)]


def with_one_source(machine):
    """A source at a bus with a load, and what it is."""
    return psmr.build(
        psmr.make_case(
            "one source",
            base_mva=100.0,
            frequency_hz=50.0,
            buses=[{"number": 1}, {"number": 5}],
            lines=[{"from": 1, "to": 5, "x": 0.1}],
            loads=[{"bus": 5, "model": "impedance", "p_mw": 20.0, "q_mvar": 5.0}],
            generators=[{"name": "G1", "bus": 1, "control": "slack", "v": 1.0, "machine": machine}],
        )
    )


CLASSICAL = {"type": "ClassicalMachine", "s_n": 100.0, "h": 5.0, "x_d1": 0.3, "d": 0.0}
INFINITE = {"type": "InfiniteBus", "s_n": 100.0, "x_d1": 1e-6}


def test_an_angle_spread_of_one_source():
    system = with_one_source(CLASSICAL)
    with pytest.raises(InputError, match=r"AngleSpread\(limit_deg=180.0\): one source has G1 alone .* drop"):
        psmr.simulate(system, t_end=1.0, events=EVENTS, monitors=[psmr.AngleSpread()])


def test_a_frequency_of_an_infinite_bus_alone():
    system = with_one_source(INFINITE)
    with pytest.raises(InputError, match=r"FrequencyOutside\(.*has no machine .* drop the monitor"):
        psmr.simulate(system, t_end=1.0, events=EVENTS, monitors=[psmr.FrequencyOutside()])
    run = psmr.simulate(
        with_one_source(CLASSICAL), t_end=1.0, events=EVENTS, monitors=[psmr.FrequencyOutside()]
    )
    assert run.stopped is None


def test_a_duration_longer_than_the_run(system):
    monitor = psmr.VoltageCollapse(duration=2.0)
    with pytest.raises(InputError, match=r"duration = 2 s is longer than the run, t_end = 1 s, .* take a sh"):
        psmr.simulate(system, t_end=1.0, events=EVENTS, monitors=[monitor])
    assert psmr.simulate(system, t_end=2.0, events=EVENTS, monitors=[monitor]).stopped is None


def test_how_a_run_ends_is_no_finding_of_one_that_was_stopped(system):
    """At 0.9 pu after 0.3 s of a fault the run has not ended: only what happened up to there is said."""
    run = psmr.simulate(
        system,
        t_end=5.0,
        events=[psmr.Fault(7, 0.1, 0.4, trip="5-7")],
        monitors=[psmr.AngleSpread(60.0)],
        certify=False,
        criteria=psmr.Criteria(f_end_high=1.0001, v_end_low=0.99),
    )
    assert run.stopped is not None
    assert run.outcome.end_frequency.value > 60.006
    assert run.outcome.end_voltage.value < 0.99
    assert [finding.what for finding in run.outcome.findings if finding.at_end] == []


def test_limits_that_contradict_or_are_none_are_refused():
    assert psmr.AngleSpread().limit_deg == psmr.Criteria().angle_deg == 180.0
    assert psmr.FrequencyOutside(0.9, 1.1).f_low == 0.9
    with pytest.raises(InputError, match=r"f_low = 1.1 must be below f_high = 1.1"):
        psmr.FrequencyOutside(1.1, 1.1)
    assert psmr.VoltageCollapse() == psmr.VoltageCollapse(0.7, 0.5)
    assert psmr.VoltageCollapse(duration=0.0).duration == 0.0
    with pytest.raises(InputError, match=r"duration = -0.1: must be a finite number >= 0 in s"):
        psmr.VoltageCollapse(duration=-0.1)


def test_the_first_of_two_monitors_ends_a_run(system):
    """Both limits are passed between t = 0.1 and 0.6 s; the narrower one first, whatever their order."""
    narrow, wide = psmr.AngleSpread(20.0), psmr.AngleSpread(60.0)
    for monitors in ([narrow, wide], [wide, narrow]):
        run = psmr.simulate(
            system, t_end=1.0, events=[psmr.Fault(7, 0.1, 0.6)], monitors=monitors, certify=False
        )
        assert run.stopped.limit == 20.0
