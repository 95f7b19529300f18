"""States that reach a limit, by the definition of `psmr.study.detectors.voltages`."""

import numpy as np
import pytest

import psmr
from tests.study.detectors.made import detected, made_points

T = np.array([0.0, 1.0, 2.0, 3.0])


def limit_of(system, state):
    """The lower and the upper constant limit of a state."""
    k = system.names_x.index(state)
    return tuple(float(side[k]) for side in system.constant_limits(system.parameters))


def met(system, state, over_time, **kwargs):
    x, y = made_points(system, T, {state: np.array(over_time)})
    seen = detected(system, T, x, y, **kwargs).limits.met()
    return [(limit.state, limit.side, limit.t) for limit in seen]


@pytest.mark.parametrize("at_once", [1000, 1])
def test_the_first_point_at_each_limit_is_said(system, at_once):
    state = "AVR2.v_r"
    low, high = limit_of(system, state)
    inside = 0.5 * (low + high)
    assert met(system, state, [inside] * 4, at_once=at_once) == []
    assert met(system, state, [inside, high, inside, high], at_once=at_once) == [(state, "upper limit", 1.0)]
    assert met(system, state, [inside, inside, low, low], at_once=at_once) == [(state, "lower limit", 2.0)]
    both = [(state, "upper limit", 1.0), (state, "lower limit", 3.0)]
    assert met(system, state, [inside, high, inside, low], at_once=at_once) == both


def test_a_limit_is_met_to_rounding(system):
    state = "AVR2.v_r"
    low, high = limit_of(system, state)
    inside, size = 0.5 * (low + high), max(1.0, abs(high))
    assert met(system, state, [inside, high - 0.5e-9 * size, inside, inside]) == [(state, "upper limit", 1.0)]
    assert met(system, state, [inside, high - 1e-8 * size, inside, inside]) == []


def test_points_of_a_run_at_its_limit(system):
    """AVR2's voltage reaches its ceiling in a long fault: the first point at it is the one that is said."""
    run = psmr.simulate(system, t_end=1.0, events=[psmr.Fault(7, 0.1, 0.6)], certify=False)
    limit = next(limit for limit in run.outcome.limits if limit.state == "AVR2.v_r")
    _, high = limit_of(system, "AVR2.v_r")
    at = np.flatnonzero(run["AVR2.v_r"].to_numpy() >= high - 1e-9 * max(1.0, high))
    assert limit.side == "upper limit"
    assert limit.t == run.t[at[0]]
