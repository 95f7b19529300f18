"""Voltages beyond limits, by the definitions of `psmr.study.detectors.voltages`."""

import numpy as np
import pytest

import psmr
from tests.internals import Change, digits_beyond
from tests.study.detectors.made import detected, found, made_points

# Limits that no other bus meets at rest (1.04 pu at most, 0.99 at least).
CRITERIA = psmr.Criteria(
    v_low=0.8, v_low_time=1.0, v_high=1.1, v_high_time=1.0, v_trip=1.2, v_trip_time=0.5,
    v_end_low=0.9, v_end_high=1.08,
)  # fmt: skip


def over_time(system, v, t=None, criteria=CRITERIA, **kwargs):
    """Return the detectors where the voltage of bus 5 is v."""
    t = np.arange(float(len(v))) if t is None else t
    x, y = made_points(system, t, voltages={"bus5": np.array(v)})
    return detected(system, t, x, y, criteria, **kwargs)


@pytest.mark.parametrize("at_once", [1000, 1, 2])
@pytest.mark.parametrize(
    ("v", "longest"),
    [
        ([1.0, 0.6, 0.6, 1.0, 1.0], (2.0, 0.5)),
        ([1.0, 1.0, 1.0, 1.0, 0.6], (0.5, 3.5)),
        ([0.7, 0.7, 1.0, 0.6, 1.0], (1.0 + 1 / 3, 0.0)),
        ([1.0, 1.0, 1.0, 1.0, 1.0], (0.0, 0.0)),
    ],
)
def test_the_longest_time_below_is_straight_between_points(system, v, longest, at_once):
    low = over_time(system, v, at_once=at_once).voltages.longest(0)
    assert (low.value, low.t) == (pytest.approx(longest[0]), pytest.approx(longest[1]))
    assert low.where == ("at bus5" if longest[0] else "")


@pytest.mark.parametrize("at_once", [1000, 1])
def test_the_longest_time_above_is_straight_between_points(system, at_once):
    high = over_time(system, [1.0, 1.15, 1.15, 1.0], at_once=at_once).voltages.longest(1)
    # From 1.0 to 1.15 pu in a second: 1.1 pu after two thirds, and again a third after the last high point.
    assert (high.value, high.t, high.where) == (pytest.approx(5 / 3), pytest.approx(2 / 3), "at bus5")


def faulted(start, clear):
    on = Change(start, (("bus5", "g_fault", 1e4),))
    return [on, Change(clear, (("bus5", "g_fault", 0.0),))]


def test_a_bus_does_not_count_while_a_fault_is_on_at_it(system):
    t = np.array([0.0, 1.0, 1.0, 3.0, 3.0, 4.0])
    seen = over_time(system, [1.0, 1.0, 0.01, 0.01, 0.9, 1.0], t, changes=faulted(1.0, 3.0))
    assert seen.voltages.longest(0).value == 0.0
    assert seen.voltages.lowest.value == pytest.approx(0.9)
    later = over_time(system, [1.0, 1.0, 0.01, 0.01, 0.7, 0.7], t, changes=faulted(1.0, 3.0))
    assert (later.voltages.longest(0).value, later.voltages.longest(0).t) == (1.0, 3.0)


@pytest.mark.parametrize(
    ("v", "what", "colour", "lasts"),
    [
        (0.7, "low voltage", "amber", 1.0),
        (1.15, "high voltage", "amber", 1.0),
        (1.25, "overvoltage", "red", 0.5),
    ],
)
def test_a_voltage_beyond_a_limit_for_too_long_is_found(system, v, what, colour, lasts):
    def seen(duration):
        t = np.array([0.0, 1.0, 1.0 + 1e-7, 1.0 + duration, 1.0 + duration + 1e-7, 9.0])
        return found(over_time(system, [1.0, 1.0, v, v, 1.0, 1.0], t), what)

    assert seen(0.95 * lasts) == []
    (finding,) = seen(1.05 * lasts)
    assert (finding.colour, finding.where) == (colour, "bus5")
    assert finding.t == pytest.approx(1.0 + lasts, abs=1e-6)
    assert finding.value == pytest.approx(1.05 * lasts, abs=1e-6)
    assert "bus5.v" in finding.signals


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_limits_are_limits_and_no_more(system, sign):
    limit, what = (0.8, "low voltage") if sign < 0 else (1.1, "high voltage")
    near = [1.0, *(3 * [limit - 1e-6 * sign]), 1.0]
    beyond = [1.0, *(3 * [limit + 1e-6 * sign]), 1.0]
    assert found(over_time(system, near), what) == []
    assert len(found(over_time(system, beyond), what)) == 1


def test_the_end_counts_where_the_start_was_inside(system):
    (low,) = found(over_time(system, [1.0, 1.0, 0.899]), "voltage at the end")
    assert (low.where, low.colour, low.limit) == ("bus5", "amber", 0.9)
    assert found(over_time(system, [1.0, 1.0, 0.901]), "voltage at the end") == []
    assert found(over_time(system, [0.89, 1.0, 0.89]), "voltage at the end") == []
    (high,) = found(over_time(system, [1.0, 1.0, 1.081]), "voltage at the end")
    assert (high.where, high.limit) == ("bus5", 1.08)
    assert found(over_time(system, [1.0, 1.0, 1.079]), "voltage at the end") == []
    assert found(over_time(system, [1.09, 1.0, 1.09]), "voltage at the end") == []


def test_other_buses_that_are_beyond_a_limit_are_counted(system):
    t = np.arange(6.0)
    low = np.array([1.0, 0.7, 0.7, 0.7, 0.7, 0.7])
    for number in range(3):
        voltages = dict.fromkeys(("bus5", "bus6", "bus8")[: number + 1], low)
        x, y = made_points(system, t, voltages=voltages)
        (seen,) = found(detected(system, t, x, y, CRITERIA), "low voltage")
        (end,) = found(detected(system, t, x, y, CRITERIA), "voltage at the end")
        assert ("(and 1 other)" in seen.sentence, "(and 2 others)" in seen.sentence) == (
            number == 1,
            number == 2,
        )
        assert ("(and 1 other)" in end.sentence, "(and 2 others)" in end.sentence) == (
            number == 1,
            number == 2,
        )


def test_extremes_name_bus_and_time(system):
    seen = over_time(system, [1.0, 0.5, 1.3, 1.0]).voltages
    assert (seen.lowest.value, seen.lowest.where, seen.lowest.t) == (pytest.approx(0.5), "at bus5", 1.0)
    assert (seen.highest.value, seen.highest.where, seen.highest.t) == (pytest.approx(1.3), "at bus5", 2.0)
    assert (seen.end.value, seen.end.where, seen.end.t) == (pytest.approx(1.0), "at bus5", 3.0)


def test_a_fault_that_is_still_on_at_the_end_is_named_and_its_bus_left_out(system):
    t = np.array([0.0, 1.0, 1.0, 2.0])
    seen = over_time(system, [1.0, 1.0, 0.01, 0.01], t, changes=faulted(1.0, 9.0)[:1])
    assert seen.voltages.end.value == pytest.approx(1.0127, abs=5e-5)  # bus 5 itself is at 0.01
    assert seen.voltages.end.where == "at bus6 (a fault is on at bus5)"
    assert found(seen, "voltage at the end") == []


def test_a_value_close_to_its_limit_is_written_so_that_it_differs(system):
    """Not "ends with 0.9 pu, below 0.9 pu"."""
    (end,) = found(over_time(system, [1.0, 1.0, 0.89996]), "voltage at the end")
    assert end.sentence == "The run ends with 0.89996 pu at bus5, below 0.9 pu."
    (end,) = found(over_time(system, [1.0, 1.0, 0.85123]), "voltage at the end")
    assert end.sentence == "The run ends with 0.851 pu at bus5, below 0.9 pu."
    assert digits_beyond(2.0, 2.0, 3) == "2"


@pytest.mark.parametrize(("short", "is_found"), [(0.0, True), (0.5e-9, True), (1e-7, False)])
def test_a_time_is_reached_to_rounding(system, short, is_found):
    """From 0.4 to 0.7 s is 0.3 s, though 0.7 - 0.4 < 0.3 in binary; what is shorter by more is not."""
    assert 0.7 - 0.4 < 0.3
    t = np.array([0.0, 0.4, 0.4, 0.7 - short, 0.7 - short, 1.0])
    low = over_time(system, [1.0, 1.0, 0.7, 0.7, 1.0, 1.0], t, psmr.Criteria(v_low_time=0.3))
    assert bool(found(low, "low voltage")) == is_found


@pytest.mark.parametrize("at_once", [1000, 1])
def test_buses_that_are_low_at_a_time_are_those_that_did_not_come_back(system, at_once):
    """Low from 0.5 to 2.5 s and from 5.5 s on, where 1 s is allowed, which a voltage may also be back for."""
    seen = over_time(system, [1.0, 0.6, 0.6, 1.0, 1.0, 1.0, 0.6, 0.6, 0.6], at_once=at_once).voltages
    at = [(1.4, []), (1.6, [1.5]), (3.4, [1.5]), (3.6, []), (6.4, []), (6.6, [6.5]), (9.0, [6.5])]
    for t, since in at:
        assert seen.low_at(t) == [(pytest.approx(when), "bus5") for when in since]
