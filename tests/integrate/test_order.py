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


# Methods of which the first error term all but vanishes at usual steps, or whose error soon is rounding, are
# looked at where they are seen; see `test_esdirk`.
METHODS = [method for method in TABLEAUX if not method.startswith("ESDIRK")]


def slope(steps, errors):
    return np.polyfit(np.log(steps), np.log(errors), 1)[0]


def final_error(trajectory, exact):
    return np.abs(np.r_[trajectory.x[-1], trajectory.y[-1]] - exact).max()


@pytest.mark.parametrize("newton", NEWTON)
@pytest.mark.parametrize("problem", [systems.logistic, systems.forced, systems.quadratic, systems.kaps])
@pytest.mark.parametrize("method", METHODS)
def test_single_rate(method, problem, newton):
    p = problem()
    errors = []
    for h in STEPS:
        trajectory = integrate(p.system, SingleRate(method, h, newton=newton, tolerance=TOLERANCE), p.t_end)
        exact = np.array([p.exact(t) for t in trajectory.t])
        errors.append(np.abs(np.hstack([trajectory.x, trajectory.y]) - exact).max())
    assert slope(STEPS, errors) == pytest.approx(TABLEAUX[method].order, abs=0.2)


def jump(t):
    """Solve x' = -a b x^2 exactly, with a b from 1 to 6 at t = 0.7."""
    x = 1 / (1 + t) if t <= 0.7 else 1 / (1.7 + 6 * (t - 0.7))
    return np.array([x, (1 if t <= 0.7 else 2) * x**2])


@pytest.mark.parametrize("newton", NEWTON)
@pytest.mark.parametrize("method", METHODS)
def test_single_rate_across_a_change(method, newton):
    change = Change(0.7, (("D", "a", 3.0), ("D", "b", 2.0)))
    steps = 0.99 * STEPS  # 0.7 is then between the points, and so is the end
    errors = []
    for h in steps:
        system = systems.quadratic().system
        scheme = SingleRate(method, h, newton=newton, tolerance=TOLERANCE)
        errors.append(final_error(integrate(system, scheme, 2.0, [change]), jump(2.0)))
    assert slope(steps, errors) == pytest.approx(TABLEAUX[method].order, abs=0.2)


@pytest.mark.parametrize(("method", "part"), [("ESDIRK32", 0.25), ("ESDIRK43", 1.0)])
@pytest.mark.parametrize("problem", [systems.forced, systems.quadratic, systems.kaps])
def test_esdirk(method, part, problem):
    p, steps = problem(), part * STEPS
    errors = []
    for h in steps:
        trajectory = integrate(p.system, SingleRate(method, h, newton="honest", tolerance=1e-14), p.t_end)
        exact = np.array([p.exact(t) for t in trajectory.t])
        errors.append(np.abs(np.hstack([trajectory.x, trajectory.y]) - exact).max())
    assert slope(steps, errors) == pytest.approx(TABLEAUX[method].order, abs=0.2)


@pytest.mark.parametrize(("method", "part"), [("ESDIRK32", 0.25), ("ESDIRK43", 1.0)])
def test_esdirk_across_a_change(method, part):
    change = Change(0.7, (("D", "a", 3.0), ("D", "b", 2.0)))
    steps, errors = 0.99 * part * STEPS, []
    for h in steps:
        scheme = SingleRate(method, h, newton="honest", tolerance=1e-14)
        errors.append(final_error(integrate(systems.quadratic().system, scheme, 2.0, [change]), jump(2.0)))
    assert slope(steps, errors) == pytest.approx(TABLEAUX[method].order, abs=0.2)


@pytest.mark.parametrize("corrections", [0, 1, "converge"])
@pytest.mark.parametrize("interpolation", ["linear", "spline"])
@pytest.mark.parametrize("predict", ["all", "slow"])
@pytest.mark.parametrize("solution", ["TM", "BEM"])
@pytest.mark.parametrize("predictor", ["FEM", "TM", "BEM", "extrapolation"])
def test_multirate(predictor, solution, predict, interpolation, corrections):
    # Smooth two-rate problem against a fine single-rate solution, itself second order: error 1e-9.
    system = systems.two_rates(tau=0.05)
    split = partitioning.by_hand(system.linearise(), ["D.current", "D.voltage"])
    exact = _reference()
    steps = 0.4 * STEPS
    errors = []
    for h in steps:
        scheme = Multirate(
            split,
            h,
            4,
            predictor=predictor,
            solution=solution,
            predict=predict,
            interpolation=interpolation,
            corrections=corrections,
            epsilon=1e-12,
            tolerance=1e-12,
        )
        errors.append(final_error(integrate(system, scheme, 1.0), exact))
    assert slope(steps, errors) == pytest.approx(TABLEAUX[solution].order, abs=0.2)


@pytest.mark.parametrize("predictor", ["TM", "extrapolation"])
@pytest.mark.parametrize("interpolation", ["linear", "spline"])
def test_multirate_across_a_change(interpolation, predictor):
    system = systems.two_rates(tau=0.05)
    split = partitioning.by_hand(system.linearise(), ["D.current", "D.voltage"])
    change = Change(0.37, inputs=(("D.v_ref", 0.6),))
    exact = _reference((change,))
    steps = 0.4 * STEPS
    errors = []
    for h in steps:
        scheme = Multirate(split, h, 4, predictor, interpolation=interpolation, tolerance=1e-12)
        errors.append(final_error(integrate(system, scheme, 1.0, [change]), exact))
    assert slope(steps, errors) == pytest.approx(2, abs=0.2)


@pytest.mark.parametrize("interface", ["held", "schur"])
@pytest.mark.parametrize("coupling", ["end", "mean"])
@pytest.mark.parametrize("solution", ["TM", "BEM"])
@pytest.mark.parametrize("predictor", ["TM", "extrapolation"])
def test_multirate_couplings(predictor, solution, coupling, interface):
    system = systems.two_rates(tau=0.05)
    # The torque's equation is slow: it answers the current.
    split = partitioning.by_hand(system.linearise(), ["D.current", "D.voltage"])
    change = Change(0.37, inputs=(("D.v_ref", 0.6),))
    exact = _reference((change,))
    steps = 0.4 * STEPS
    errors = []
    for h in steps:
        scheme = Multirate(
            split, h, 4, predictor, solution, predict="slow", coupling=coupling, interface=interface,
            tolerance=1e-12,
        )  # fmt: skip
        errors.append(final_error(integrate(system, scheme, 1.0, [change]), exact))
    assert slope(steps, errors) == pytest.approx(TABLEAUX[solution].order, abs=0.2)


@functools.cache
def _reference(changes=()):
    """Extrapolate two SDIRK2 solutions to order three."""
    system = systems.two_rates(tau=0.05)
    points = []
    for h in (1e-3, 5e-4):
        trajectory = integrate(system, SingleRate("SDIRK2", h, tolerance=1e-14), 1.0, changes)
        points.append(np.r_[trajectory.x[-1], trajectory.y[-1]])
    return points[1] + (points[1] - points[0]) / 3
