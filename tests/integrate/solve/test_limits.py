"""Non-windup limits: the step stays within them, holds at them, and leaves them when the derivative turns."""

import dataclasses
import math

import numpy as np
import pytest

import partitioning
from psmr import Multirate, SingleRate
from psmr.errors import EventError
from tests import systems
from tests.internals import TABLEAUX, Change, integrate


def exact(t):
    """Solve x' = cos t between -1/2 and 1/2 from 0: up to the limit, held until the rate turns, and so on."""
    half = math.floor((t - math.pi / 2) / math.pi)
    if t <= math.pi / 2:
        return min(math.sin(t), 0.5)
    if half % 2 == 0:
        return max(0.5 + math.sin(t) - 1, -0.5)
    return min(-0.5 + math.sin(t) + 1, 0.5)


def schemes(h):
    system = systems.one(systems.Limited, {})
    slow = partitioning.all_slow(system.linearise())
    fast = partitioning.all_fast(system.linearise())
    yield from (SingleRate(method, h, newton=n) for method in TABLEAUX for n in ("honest", "dishonest"))
    yield from (SingleRate(method, h, newton="very dishonest") for method in ("TM", "BEM", "SDIRK2"))
    yield Multirate(slow, h, 2)
    yield Multirate(fast, 2 * h, 2)


@pytest.mark.parametrize("scheme", list(schemes(0.01)), ids=str)
def test_both_limits_are_reached_held_and_left(scheme):
    trajectory = integrate(systems.one(systems.Limited, {}), scheme, 10.0)
    x, reference = trajectory.x[:, 0], np.array([exact(t) for t in trajectory.t])
    assert x.max() == 0.5
    assert x.min() == -0.5
    # Within a step of the switching points every method is of first order: h max|x''| = h.
    np.testing.assert_allclose(x, reference, atol=1.1 * scheme.step)
    np.testing.assert_allclose(trajectory.y[:, 0], 2 * x, atol=1e-12)
    # Held for a stretch: sin t > 1/2 from pi/6 to pi/2, and likewise below.
    held = (trajectory.t > math.pi / 6 + 0.02) & (trajectory.t < math.pi / 2 - 0.02)
    np.testing.assert_array_equal(x[held], 0.5)


@pytest.mark.parametrize("method", ["TM", "SDIRK2", "BEM", "FEM", "RK4"])
def test_a_limit_that_is_never_reached_changes_nothing(method):
    wide = systems.one(systems.Limited, {}, low=-9.0, high=9.0)
    wider = systems.one(systems.Limited, {}, low=-99.0, high=99.0)
    a, b = (integrate(s, SingleRate(method, 0.05), 5.0) for s in (wide, wider))
    np.testing.assert_array_equal(a.x, b.x)


def test_a_state_that_starts_at_its_limit_stays_or_leaves():
    for u, end in ((1.0, 0.5), (-3.0, 0.5 - 3.0 * 0.1 + math.sin(0.1))):
        system = systems.one(systems.Limited, {"x": 0.5, "y": 1.0, "u": u})
        x = integrate(system, SingleRate("TM", 0.001), 0.1).x[-1, 0]
        assert x == pytest.approx(end, abs=1e-6)  # second order: h^2 / 12


def test_a_change_releases_a_held_state():
    system = systems.one(systems.Limited, {"u": 2.0})
    trajectory = integrate(system, SingleRate("TM", 0.01), 2.0, [Change(1.0, inputs=(("D.u", -2.0),))])
    before = trajectory.t <= 1.0
    assert trajectory.x[before][-1, 0] == 0.5
    after = trajectory.t[~before]
    expected = 0.5 - 2 * (after - 1) + np.sin(after) - math.sin(1.0)
    np.testing.assert_allclose(
        trajectory.x[~before, 0], np.maximum(expected, -0.5), atol=1e-5
    )  # h^2 / 12 per second


def test_a_limit_can_be_changed_and_pulls_its_state_along():
    system = systems.one(systems.Limited, {"u": 2.0})
    changes = [Change(1.0, (("D", "high", 0.2),)), Change(2.0, (("D", "high", 0.9),))]
    for scheme in (SingleRate("TM", 0.01), Multirate(partitioning.all_fast(system.linearise()), 0.02, 2)):
        trajectory = integrate(system, scheme, 3.0, changes)
        at = np.flatnonzero(trajectory.t == 1.0)
        np.testing.assert_array_equal(trajectory.x[at, 0], [0.5, 0.2])
        np.testing.assert_allclose(trajectory.y[at, 0], [1.0, 0.4], atol=1e-12)
        assert trajectory.x[trajectory.t > 2.0].max() == 0.9
    assert system.upper[0] == 0.5
    with pytest.raises(EventError, match=r"lower limit -0\.5 of D\.x is above the upper one -2"):
        integrate(system, SingleRate("TM", 0.01), 3.0, [Change(1.0, (("D", "high", -2.0),))])


def test_a_system_made_from_another_has_its_own_limits():
    """Blocks are kept by what they are made of, which is the same for both."""
    system = systems.one(systems.Limited, {"u": 2.0})
    narrow = dataclasses.replace(system, upper=np.array([0.3]))
    most = [integrate(one, SingleRate("TM", 0.01), 1.0).x.max() for one in (system, narrow, system)]
    assert most == [0.5, 0.3, 0.5]


def test_the_slow_and_the_fast_side_and_the_predictor_limit_alike():
    system = systems.one(systems.LimitedPair, {"v_ref": 2.0})
    linear = system.linearise()
    reference = integrate(system, SingleRate("SDIRK2", 1e-4), 3.0)
    assert (reference.x.max(axis=0) == [1.0, 0.8]).all()
    for fast in (["D.fast"], ["D.slow"]):
        split = partitioning.by_hand(linear, fast)
        for predictor in ("FEM", "TM", "BEM"):
            for predict in ("all", "slow"):
                scheme = Multirate(split, 0.01, 5, predictor=predictor, predict=predict)
                trajectory = integrate(system, scheme, 3.0)
                assert (trajectory.x.max(axis=0) == [1.0, 0.8]).all()
                np.testing.assert_allclose(trajectory.x, reference.x[::100], atol=0.05)


def test_changes_of_the_held_set_are_counted_as_refreshes():
    system = systems.one(systems.LimitedPair, {"v_ref": 2.0})
    counters = integrate(system, SingleRate("TM", 0.01, newton="very dishonest"), 3.0).counters
    assert counters.refreshes > 0
    planned = 1
    assert counters.factorisations_by_role["step"] + counters.partial == planned + counters.refreshes
