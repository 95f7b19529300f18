"""Limits that move with a variable: the state follows them while they hold it, and leaves them on time."""

import dataclasses
import math

import numpy as np
import pytest
from scipy.optimize import brentq

import partitioning
from psmr import (
    Adaptive,
    ArcLength,
    Component,
    Device,
    Multirate,
    Parameter,
    SingleRate,
    SlowManifold,
    Smes,
    assemble,
)
from psmr.errors import InputError, SchemeError, SimulationError
from tests import systems
from tests.internals import TABLEAUX, Change, form_for, integrate, nonnegative

# The limit 0.2 + cos(1) t is met where it equals sin t, and left where cos t has fallen to its rate.
LEVEL, RATE = 0.2, math.cos(1.0)
MET, LEFT = brentq(lambda t: math.sin(t) - LEVEL - RATE * t, 0.1, 0.9), 1.0


def limit(t):
    return LEVEL + RATE * t


def exact(t):
    """Solve x' = cos t from 0 below the limit."""
    return np.where(
        t < MET, np.sin(t), np.where(t < LEFT, limit(t), limit(LEFT) + np.sin(t) - math.sin(LEFT))
    )


def chased():
    return systems.one(systems.Chased, {"high": 0.3})


def capped(source):
    """Return a system whose limit is a state, an algebraic variable or a held input of it."""
    riser = Device("R", systems.Riser, {})
    wiring = {} if source is None else {"high": f"R.{source}"}
    start = {"R.high": LEVEL, "R.copy": LEVEL, "C.low": -LEVEL}
    start |= {"C.high": LEVEL} if source is None else {}
    return assemble([riser, Device("C", systems.Capped, {}, wiring)], start)


@pytest.mark.parametrize("newton", ["honest", "dishonest", "very dishonest"])
@pytest.mark.parametrize("method", list(TABLEAUX))
def test_order_with_a_limit_met_followed_and_left(method, newton):
    # The limit is left on the grid, so that no step has a corner in it but the one that meets the limit.
    steps = 0.1 / 2.0 ** np.arange(4)
    schemes = [SingleRate(method, h, newton=newton, tolerance=1e-14) for h in steps]
    ends = [integrate(chased(), scheme, 1.5).x[-1, 0] for scheme in schemes]
    errors = np.abs(np.array(ends) - exact(1.5))
    slope = np.polyfit(np.log(steps), np.log(errors), 1)[0]
    assert slope == pytest.approx(TABLEAUX[method].order, abs=0.2)


SCHEMES = [
    *(SingleRate(method, 0.01) for method in TABLEAUX),
    Smes(0.01, 1e-3, 2),
    ArcLength("RK4", 0.01),
]


@pytest.mark.parametrize("scheme", SCHEMES, ids=str)
def test_the_state_is_on_the_limit_while_it_holds(scheme):
    trajectory = integrate(chased(), scheme, 2.0)
    t, x, high = trajectory.t, trajectory.x[:, 0], trajectory.y[:, 0]
    held = (t > MET + 0.01) & (t < LEFT - 0.01)
    assert held.sum() > 2
    np.testing.assert_allclose(x[held], high[held], rtol=1e-9)
    np.testing.assert_allclose(x[held], limit(t[held]), rtol=1e-9)
    assert (x <= high + 1e-9).all()
    # The limit is left within a step, at first order in the worst of them.
    np.testing.assert_allclose(x, exact(t), atol=0.01)


@pytest.mark.parametrize("scheme", [Adaptive("RK54"), Adaptive("Adams"), ArcLength(Adaptive(), 1.0)], ids=str)
def test_an_error_estimate_that_would_not_see_it_is_refused(scheme):
    with pytest.raises(SchemeError, match=r"D\.x has a limit that moves .* take a fixed-step scheme"):
        integrate(chased(), scheme, 2.0)


def test_the_newton_matrix_knows_the_limit():
    # All is linear: one iteration a step, and one more to learn the rate.
    system = systems.one(systems.Chased, {"x": 0.2, "high": 0.2})
    trajectory = integrate(system, SingleRate("TM", 0.01), 0.9)
    np.testing.assert_allclose(trajectory.x[:, 0], limit(trajectory.t), rtol=1e-14)
    assert trajectory.counters.newton_iterations["step"] == 90 + 1


@pytest.mark.parametrize("source", ["high", "copy"])
@pytest.mark.parametrize(
    "fast",
    [
        ["C.x", "C.mirror"],
        ["C.x", "C.mirror", "C.low"],
        ["R.high"],
        ["R.high", "R.copy"],
        ["R.high", "R.copy", "C.low"],
        ["C.x", "R.high"],
    ],
    ids=",".join,
)
def test_multirate_with_the_limit_on_either_side(source, fast):
    system = capped(source)
    split = partitioning.by_hand(system.linearise(), fast)
    for predictor in ("FEM", "TM", "BEM"):
        trajectory = integrate(system, Multirate(split, 0.02, 4, predictor=predictor), 2.0, every=True)
        t = trajectory.t
        high, x, mirror = trajectory.x.T
        assert trajectory.x[:, 0] == pytest.approx(limit(t), rel=1e-12)
        held = (t > MET + 0.02) & (t < LEFT - 0.02)
        coarse = np.isclose(t / 0.02, np.round(t / 0.02))
        np.testing.assert_allclose(x[held & coarse], high[held & coarse], rtol=1e-12)
        np.testing.assert_allclose(x[coarse], exact(t[coarse]), atol=2e-4)
        np.testing.assert_allclose(mirror[coarse], -exact(t[coarse]), atol=2e-4)
        np.testing.assert_allclose(mirror[held & coarse], -high[held & coarse], rtol=1e-12)


def test_a_held_input_as_a_limit():
    change = Change(1.0, inputs=(("C.high", 0.1),))
    trajectory = integrate(capped(None), SingleRate("TM", 0.01), 2.0, [change])
    before = (trajectory.t > 0.3) & (trajectory.t < 1.0)
    np.testing.assert_array_equal(trajectory.x[before, 1], LEVEL)
    after = np.flatnonzero(trajectory.t == 1.0)[1]
    np.testing.assert_array_equal(trajectory.x[after, 1:], [0.1, -0.1])


def test_a_change_that_moves_the_limit_takes_the_state_along():
    trajectory = integrate(chased(), SingleRate("TM", 0.01), 2.0, [Change(0.8, (("D", "level", 0.0),))])
    at = np.flatnonzero(trajectory.t == 0.8)
    below = RATE * 0.8
    np.testing.assert_allclose(trajectory.x[at, 0], [limit(0.8), below], rtol=1e-10)
    np.testing.assert_allclose(trajectory.y[at, 0], [limit(0.8), below], rtol=1e-10)


def test_a_device_out_of_service_keeps_its_state_beyond_the_limit():
    changes = [Change(0.5, out=("C",)), Change(0.6, (("R", "slope", -1.0),))]
    for scheme in (SingleRate("TM", 0.01), SingleRate("RK4", 0.01)):
        trajectory = integrate(capped("copy"), scheme, 2.0, changes)
        high, x, mirror = trajectory.x[trajectory.t >= 0.5].T
        assert high[-1] < x[-1]
        np.testing.assert_array_equal(x, x[0])
        np.testing.assert_array_equal(mirror, mirror[0])


def test_a_limit_that_ramps():
    changes = [Change(0.0, rates=(("C.high", RATE),))]
    for method in ("TM", "RK4"):
        trajectory = integrate(capped(None), SingleRate(method, 0.01), 2.0, changes)
        np.testing.assert_allclose(trajectory.x[:, 1], exact(trajectory.t), atol=1e-4)
        held = (trajectory.t > MET + 0.01) & (trajectory.t < LEFT - 0.01)
        np.testing.assert_allclose(trajectory.x[held, 1], limit(trajectory.t[held]), rtol=1e-12)


def test_a_limit_that_runs_from_its_state_is_an_error():
    system = systems.one(systems.Chased, {"high": 0.3}, pull=-1.5)
    with pytest.raises(SimulationError, match=r"D\.x and its limit, .* have not settled"):
        integrate(system, SingleRate("TM", 0.01), 1.0, [Change(0.5, (("D", "level", -2.0),))])
    with pytest.raises(SimulationError, match=r"have not settled.* take an implicit method"):
        integrate(systems.one(systems.Chased, {"high": 0.3}, pull=1.1), SingleRate("RK4", 0.1), 1.0)


def test_a_start_beyond_the_limit_is_refused():
    system = systems.one(systems.Chased, {"x": 0.4, "high": 0.3})
    with pytest.raises(InputError, match=r"D\.x = 0\.4 is outside its limits \[-inf, 0\.1\]"):
        integrate(system, SingleRate("TM", 0.01), 1.0)


def test_linearisation():
    system = chased()
    assert system.linearise().fx.toarray() == 0.0
    with pytest.raises(InputError, match=r"D\.x = 0\.2 is held at a limit that moves"):
        system.linearise([0.2], [0.2])


def test_the_slow_manifold_scheme_follows_a_limit():
    class Follower(Component):
        """A fast lag towards 2 below a slow state that falls."""

        states = ("fast", "slow")
        limits = {"fast": (None, "slow")}

        @staticmethod
        def equations(m, v, p):
            return ((2.0 - v.fast) / 0.01, -0.5 * v.slow), (), ()

    system = systems.one(Follower, {"fast": 0.5, "slow": 1.0})
    split = partitioning.by_hand(system.linearise(), ["D.fast"])
    trajectory = integrate(system, SlowManifold(split, 0.05), 1.0)
    slow = np.exp(-0.5 * trajectory.t)
    np.testing.assert_allclose(trajectory.x[:, 1], slow, atol=1e-8)
    np.testing.assert_array_equal(trajectory.x[1:, 0], trajectory.x[1:, 1])


def test_the_algebraic_form_is_a_limiter():
    class Lag(Component):
        """A lag between a parameter and an input."""

        states = ("a",)
        inputs = ("u", "top")
        limits = {"a": ("low", "top")}
        lags = {"a": ("t",)}
        t = Parameter("s", "time constant", nonnegative)
        low = Parameter("pu", "lower limit", default=-1.0)

        @staticmethod
        def equations(m, v, p):
            return ((v.u - v.a) / p.t,), (), ()

    assert form_for(Lag, {"t": 0.0}).limits == {}
    for u, a in ((-3.0, -1.0), (0.5, 0.5), (3.0, 0.7)):
        system = assemble([Device("d", Lag, {"t": 0.0})], {"d.u": u, "d.a": a, "d.top": 0.7})
        assert system.g(system.x0, system.y0)[0] == 0.0


def test_a_bound_that_is_not_there_is_named():
    misspelt = type("Misspelt", (systems.Chased,), {"limits": {"x": (None, "hihg")}})
    with pytest.raises(InputError, match=r"D\.hihg.*not there; did you mean 'D\.high'"):
        systems.one(misspelt, {})


def test_dataclass_replacement_keeps_the_limits():
    system = dataclasses.replace(chased(), name="other")
    assert system.limits_move.tolist() == [True]
