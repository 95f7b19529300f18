"""One truth: the step operator is what the simulator's own step does to a linear DAE."""

import itertools

import numpy as np
import pytest

from psmr import Multirate, SingleRate, step_operator
from tests.internals import integrate, linear_system
from tests.pencil.oracle import partition, random_dae

STEPS = 6
LINEAR = random_dae(0)
START = np.random.default_rng(0).standard_normal(LINEAR.n)
FAMILIES = list(
    itertools.product(
        ("FEM", "TM", "BEM", "extrapolation"),
        ("TM", "BEM"),
        ("linear", "spline"),
        ("all", "slow"),
        (0, 2, "converge"),
    )
)


@pytest.fixture(scope="module")
def system():
    return linear_system(LINEAR)


def points(system, scheme):
    """Accepted points (STEPS + 1, n + m); from the second on y is what the scheme left, not that of x."""
    run = integrate(system, scheme, STEPS * scheme.step, start=(START, np.zeros(LINEAR.m)))
    return np.hstack([run.x, run.y])


@pytest.mark.parametrize("method", ["FEM", "TM", "BEM", "RK4", "SDIRK2"])
def test_single_rate(system, method):
    scheme = SingleRate(method, 0.01)
    w = points(system, scheme)
    np.testing.assert_allclose(w[1:], w[:-1] @ step_operator(LINEAR, scheme).T, atol=1e-12)


@pytest.mark.parametrize("choices", FAMILIES, ids=lambda c: "-".join(map(str, c)))
def test_multirate(system, choices):
    predictor, solution, interpolation, predict, corrections = choices
    split = partition(LINEAR, [0, 1], [0, 2])
    scheme = Multirate(
        split,
        0.02,
        4,
        predictor,
        solution,
        interpolation,
        corrections=corrections,
        predict=predict,
        epsilon=1e-13,  # below the 1e-12 asked for, so that the converged scheme is converged
    )
    w, operator = points(system, scheme), step_operator(LINEAR, scheme)
    slow = ~np.concatenate([split.fast_x, split.fast_y])
    if scheme.interface == "schur" or (predictor == "extrapolation" and predict == "all"):
        slow[:] = True  # all of w is remembered
    if interpolation == "spline":  # the cubic, or the parabola, from the third step on
        states, w = np.hstack([w[2:-1], w[1:-2, slow], w[:-3, slow]]), w[2:]
    elif predictor == "extrapolation":  # the line from the second step on
        states, w = np.hstack([w[1:-1], w[:-2, slow]]), w[1:]
    else:
        states = w[:-1]
    np.testing.assert_allclose(w[1:], (states @ operator.T)[:, : w.shape[1]], atol=1e-12)
