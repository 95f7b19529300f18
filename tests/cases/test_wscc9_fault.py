"""The fault study of WSCC 9-bus: order across the fault, Newton policies, SUNDIALS on the same f and g."""

from dataclasses import replace

import numpy as np
import pytest

import partitioning
import psmr
from psmr import Multirate, SingleRate
from tests import sundials
from tests.internals import consistent, integrate


@pytest.fixture(scope="module")
def system():
    from tests.conftest import ROOT

    return psmr.build(psmr.read_case(ROOT / "cases" / "wscc9" / "wscc9.toml"))


@pytest.fixture(scope="module")
def changes(system):
    return psmr.Fault(bus=5, start=1.0, clear=1.1, trip="5-7").changes(system)


@pytest.fixture(scope="module")
def speeds(system):
    return [i for i, name in enumerate(system.names_x) if name.endswith(".omega")]


def slope(steps, errors):
    return np.polyfit(np.log(steps), np.log(errors), 1)[0]


@pytest.fixture(scope="module")
def reference(system, changes):
    """Extrapolate two SDIRK2 solutions at t = 2 s to third order: error of about 1e-11."""
    ends = [
        integrate(system, SingleRate("SDIRK2", h, tolerance=1e-13), 2.0, changes).x[-1] for h in (1e-4, 5e-5)
    ]
    return ends[1] + (ends[1] - ends[0]) / 3


@pytest.mark.parametrize(("method", "order"), [("TM", 2), ("SDIRK2", 2), ("BEM", 1)])
def test_order_across_the_fault_and_its_clearing(system, changes, reference, method, order):
    steps = np.array([2e-3, 1e-3, 5e-4, 2.5e-4, 1.25e-4])
    ends = [integrate(system, SingleRate(method, h, tolerance=1e-12), 2.0, changes).x[-1] for h in steps]
    errors = np.abs(np.array(ends) - reference).max(axis=1)
    assert slope(steps, errors) == pytest.approx(order, abs=0.2)


@pytest.mark.parametrize("interpolation", ["linear", "spline"])
@pytest.mark.parametrize(("solution", "order"), [("TM", 2), ("BEM", 1)])
def test_multirate_order_across_the_fault(system, changes, reference, solution, order, interpolation):
    split = partitioning.by_participation(system.linearise(), 20.0)
    steps = np.array([4e-3, 2e-3, 1e-3, 5e-4, 2.5e-4])
    errors = []
    for h in steps:
        scheme = Multirate(
            split, h, 4, predictor="TM", solution=solution, interpolation=interpolation, tolerance=1e-12
        )
        errors.append(np.abs(integrate(system, scheme, 2.0, changes).x[-1] - reference).max())
    assert slope(steps, errors) == pytest.approx(order, abs=0.2)


def test_at_rest_it_stays_at_rest(system):
    trajectory = integrate(system, SingleRate("TM", 0.01), 1.0)
    # The equilibrium is found to 1e-10 in the residual; 1 s does not make more of it.
    np.testing.assert_allclose(trajectory.x, np.broadcast_to(system.x0, trajectory.x.shape), atol=1e-9)


def test_newton_policies_agree(system, changes):
    policies = ("honest", "dishonest", "very dishonest")
    ends = [integrate(system, SingleRate("TM", 2e-3, newton=n), 2.0, changes).x for n in policies]
    # 1000 steps, each to the tolerance of 1e-10.
    for other in ends[1:]:
        np.testing.assert_allclose(other, ends[0], atol=1e-7)


def changed(system, change):
    """Return the system with the parameters of a change."""
    parameters = [matrix.copy() for matrix in system.parameters]
    for device, name, value in change.parameters:
        group, row, column = system.parameter_place(device, name)
        parameters[group][row, column] = value
    return replace(system, parameters=tuple(parameters))


def test_trajectory_against_sundials(system, changes, speeds):
    """TM at 0.5 ms is within 1e-5 pu of speed of IDA (BDF of variable order, rtol 1e-9)."""
    n, size = system.n, system.n + system.m
    t_end = 10.0
    ours = integrate(system, SingleRate("TM", 5e-4), t_end, changes)
    now, x, y = system, system.x0, system.y0
    worst = 0.0
    for change, end in zip(changes, [*(c.t for c in changes[1:]), t_end], strict=True):
        now = changed(now, change)
        y = consistent(now, x, y)
        solver = sundials.solver(now)
        rows = np.flatnonzero((ours.t >= change.t) & (ours.t <= end))
        rows = rows[1:] if ours.t[rows[1]] == ours.t[rows[0]] else rows
        rows = rows[:-1] if ours.t[rows[-1]] == ours.t[rows[-2]] else rows
        solution = solver.solve(ours.t[rows], np.r_[x, y], np.r_[now.f(x, y), np.zeros(size - n)])
        assert solution.success
        worst = max(worst, np.abs(solution.y[:, speeds] - ours.x[np.ix_(rows, speeds)]).max())
        x, y = solution.y[-1, :n], solution.y[-1, n:]
    assert worst < 1e-5
