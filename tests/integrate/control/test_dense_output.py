"""Points between the steps: their order, and that they stay on limits, branches and recorded points."""

from dataclasses import replace

import numpy as np
import pytest

import psmr
from tests import systems
from tests.internals import AsTripped, dense_points, first_span, integrate


def one_span(system, t):
    """Return the span of a run with these times and without events."""
    return [replace(first_span(system, AsTripped()), last=len(t))]


def test_dense_output_is_of_fourth_order_and_meets_the_equations():
    """On exact points of x' = -x y, y = x^2 the cubic and y from g = 0 are all that errs."""
    problem = systems.quadratic()
    errors, steps = [], np.array([0.1, 0.05, 0.025])
    for h in steps:
        t = np.arange(0.0, 2.0 + h / 2, h)
        points = np.array([problem.exact(time) for time in t])
        between = (t[:-1, None] + h * np.array([0.2, 0.5, 0.9])).ravel()
        spans = one_span(problem.system, t)
        found = dense_points(problem.system, spans, t, points, between)
        np.testing.assert_allclose(found[:, 1], found[:, 0] ** 2, rtol=1e-11)
        errors.append(np.abs(found - [problem.exact(time) for time in between]).max())
    assert np.polyfit(np.log(steps), np.log(errors), 1)[0] == pytest.approx(4, abs=0.3)


def test_an_error_of_a_stiff_state_stays_one_between_the_steps():
    """Steps of 2,000 time constants: the cubic through values and rates is 300 errors aside."""
    problem, error = systems.kaps(mu=1e5), 1e-7
    t = np.arange(0.0, 1.01, 0.02)
    points = np.array([problem.exact(time) for time in t])
    points[1::2, 0] += error
    between = (t[:-1, None] + 0.02 * np.array([0.1, 0.5, 0.8])).ravel()
    found = dense_points(problem.system, one_span(problem.system, t), t, points, between)
    off = np.abs(found - [problem.exact(time) for time in between]).max()
    assert 0.0 < off < 5 * error  # 1 / SMOOTH


@pytest.mark.parametrize("tolerance", [1e-2, 1e-4, 1e-6])
def test_points_between_are_on_the_limit_that_holds_at_both_ends(tolerance):
    """What the state would do without it, 2 (1 - x), is no rate of the cubic."""
    system, t = systems.one(systems.Gated, {}), np.linspace(0.01, 1.19, 60)
    run = integrate(system, psmr.VariableStep(tolerance), 2.0)
    points, spans = np.hstack([run.x, run.y]), run.spans
    t = np.setdiff1d(t, run.t)
    found = dense_points(system, spans, run.t, points, t)
    np.testing.assert_allclose(found[:, 0], systems.gated_exact(t, 1.0), atol=tolerance)


def test_points_between_stay_on_the_branch_of_the_steps(wscc9):
    """An exciter grows by itself under a slow ramp: in steps of seconds the corrected cubic left it."""
    system, ramp = psmr.build(psmr.read_case(wscc9 / "wscc9.toml")), [psmr.LoadRamp(5, 1.0, 20.0, 1.2)]
    times = np.linspace(1.1, 29.9, 97)
    exact, run = (
        psmr.simulate(system, psmr.VariableStep(tolerance), 30.0, ramp, certify=False).frame(times=times)
        for tolerance in (1e-7, 1e-3)
    )
    states = list(system.names_x)
    off = (run[states] - exact[states]).abs() / exact[states].abs().max().clip(lower=1.0)
    assert off.to_numpy().max() < 7e-3


def test_points_between_are_those_recorded_where_there_are_any(faulted):
    system, events, exact = faulted
    run = psmr.simulate(system, psmr.VariableStep(1e-4), 3.0, events, certify=False)
    fine = run.refined(np.linspace(0, 3, 61))
    assert set(run.t) <= set(fine.t)
    at = np.searchsorted(fine.t, run.t[10:20])
    np.testing.assert_array_equal(fine.x[at], run.x[10:20])
    assert np.count_nonzero(fine.t == 0.5) == 2
    table = run.frame("G1.omega", times=[0.25, 2.0])
    assert list(table.index) == [0.25, 2.0]
    np.testing.assert_allclose(table["G1.omega"], exact["G1.omega"].loc[[0.25, 2.0]], atol=1e-5)
    before, after = (run.at(0.5, "bus5.v", side)["bus5.v"].iloc[0] for side in ("before", "after"))
    assert before > 0.9
    assert after < 0.01
