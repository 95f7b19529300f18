"""Orders of convergence: the slope of the error over five step sizes is within 0.2 of the method's order."""

import functools

import numpy as np
import pytest

import partitioning
from psmr import Multirate, SingleRate
from tests import systems
from tests.internals import TABLEAUX, Change, integrate

STEPS = np.array([0.1, 0.05, 0.025, 0.0125, 0.00625])
NEWTON = ("honest", "dishonest", "very dishonest")
# Below the error of RK4 at the smallest step, 1e-10, and above the rounding of the Newton updates.
TOLERANCE = 1e-13
# Of the others the first error term all but vanishes at usual steps, or the error soon is rounding: they are
# looked at where it is seen.
METHODS = [method for method in TABLEAUX if not method.startswith("ESDIRK")]
ESDIRK = [("ESDIRK32", 0.25), ("ESDIRK43", 1.0)]
FACTORS = Change(0.7, (("D", "a", 3.0), ("D", "b", 2.0)))


def assert_order(order, steps, error):
    errors = [error(h) for h in steps]
    assert np.polyfit(np.log(steps), np.log(errors), 1)[0] == pytest.approx(order, abs=0.2)


def final_error(trajectory, exact):
    return np.abs(np.r_[trajectory.x[-1], trajectory.y[-1]] - exact).max()


def largest_error(problem, scheme):
    trajectory = integrate(problem.system, scheme, problem.t_end)
    exact = np.array([problem.exact(t) for t in trajectory.t])
    return np.abs(np.hstack([trajectory.x, trajectory.y]) - exact).max()


def error_across_a_change(scheme):
    """Solve x' = -a b x^2 with a b from 1 to 6 at t = 0.7; its exact solution is 1 / (1.7 + 6 (t - 0.7))."""
    x = 1 / (1.7 + 6 * (2.0 - 0.7))
    run = integrate(systems.quadratic().system, scheme, 2.0, [FACTORS])
    return final_error(run, np.array([x, 2 * x**2]))


@pytest.mark.parametrize("newton", NEWTON)
@pytest.mark.parametrize("problem", [systems.logistic, systems.forced, systems.quadratic, systems.kaps])
@pytest.mark.parametrize("method", METHODS)
def test_single_rate(method, problem, newton):
    p = problem()
    scheme = functools.partial(SingleRate, method, newton=newton, tolerance=TOLERANCE)
    assert_order(TABLEAUX[method].order, STEPS, lambda h: largest_error(p, scheme(h)))


@pytest.mark.parametrize("newton", NEWTON)
@pytest.mark.parametrize("method", METHODS)
def test_single_rate_across_a_change(method, newton):
    scheme = functools.partial(SingleRate, method, newton=newton, tolerance=TOLERANCE)
    # 0.7 is between the points, and so is the end.
    assert_order(TABLEAUX[method].order, 0.99 * STEPS, lambda h: error_across_a_change(scheme(h)))


@pytest.mark.parametrize(("method", "part"), ESDIRK)
@pytest.mark.parametrize("problem", [systems.forced, systems.quadratic, systems.kaps])
def test_esdirk(method, part, problem):
    p, scheme = problem(), functools.partial(SingleRate, method, newton="honest", tolerance=1e-14)
    assert_order(TABLEAUX[method].order, part * STEPS, lambda h: largest_error(p, scheme(h)))


@pytest.mark.parametrize(("method", "part"), ESDIRK)
def test_esdirk_across_a_change(method, part):
    scheme = functools.partial(SingleRate, method, newton="honest", tolerance=1e-14)
    assert_order(TABLEAUX[method].order, 0.99 * part * STEPS, lambda h: error_across_a_change(scheme(h)))


def assert_order_of_multirate(order, change=(), **choices):
    """Smooth two-rate problem against a fine single-rate solution, itself second order: error 1e-9."""
    system = systems.two_rates(tau=0.05)
    # The torque's equation is slow: it answers the current.
    split = partitioning.by_hand(system.linearise(), ["D.current", "D.voltage"])
    scheme = functools.partial(Multirate, split, ratio=4, tolerance=1e-12, **choices)
    exact = _reference(change)
    assert_order(order, 0.4 * STEPS, lambda h: final_error(integrate(system, scheme(h), 1.0, change), exact))


REFERENCE_STEP = (Change(0.37, inputs=(("D.v_ref", 0.6),)),)


@pytest.mark.parametrize("corrections", [0, 1, "converge"])
@pytest.mark.parametrize("interpolation", ["linear", "spline"])
@pytest.mark.parametrize("predict", ["all", "slow"])
@pytest.mark.parametrize("solution", ["TM", "BEM"])
@pytest.mark.parametrize("predictor", ["FEM", "TM", "BEM", "extrapolation"])
def test_multirate(predictor, solution, predict, interpolation, corrections):
    choices = {"predictor": predictor, "solution": solution, "predict": predict, "epsilon": 1e-12}
    choices |= {"interpolation": interpolation, "corrections": corrections}
    assert_order_of_multirate(TABLEAUX[solution].order, **choices)


@pytest.mark.parametrize("predictor", ["TM", "extrapolation"])
@pytest.mark.parametrize("interpolation", ["linear", "spline"])
def test_multirate_across_a_change(interpolation, predictor):
    assert_order_of_multirate(2, REFERENCE_STEP, predictor=predictor, interpolation=interpolation)


@pytest.mark.parametrize("interface", ["held", "schur"])
@pytest.mark.parametrize("coupling", ["end", "mean"])
@pytest.mark.parametrize("solution", ["TM", "BEM"])
@pytest.mark.parametrize("predictor", ["TM", "extrapolation"])
def test_multirate_couplings(predictor, solution, coupling, interface):
    choices = {"predictor": predictor, "solution": solution, "predict": "slow"}
    choices |= {"coupling": coupling, "interface": interface}
    assert_order_of_multirate(TABLEAUX[solution].order, REFERENCE_STEP, **choices)


@functools.cache
def _reference(changes=()):
    """Extrapolate two SDIRK2 solutions to order three."""
    system = systems.two_rates(tau=0.05)
    points = []
    for h in (1e-3, 5e-4):
        trajectory = integrate(system, SingleRate("SDIRK2", h, tolerance=1e-14), 1.0, changes)
        points.append(np.r_[trajectory.x[-1], trajectory.y[-1]])
    return points[1] + (points[1] - points[0]) / 3
