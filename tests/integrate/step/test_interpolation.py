"""Interpolation reproduces the polynomials it is made for, and an instruction writes what it names only."""

import numpy as np
import pytest

import partitioning
from psmr import Multirate
from tests.internals import Repeat, lagrange_weights
from tests.pencil.oracle import random_dae


@pytest.mark.parametrize("older", [0, 1, 2])
def test_polynomials_are_reproduced_at_uneven_times(older):
    nodes = np.array([1.0, 0.0, -0.7, -1.9])[: 2 + older]
    for power in range(older + 2):
        for s in (0.1, 0.5, 0.9):
            assert lagrange_weights(nodes, s) @ nodes**power == pytest.approx(s**power, abs=1e-14)


def outside(interpolation, ratio, before):
    linear = random_dae(0)
    split = partitioning.by_hand(linear, fast=[linear.names_x[0]])
    program = Multirate(split, 0.1, ratio, interpolation=interpolation).program(0.1, before)
    (stage,) = next(i for i in program.instructions if isinstance(i, Repeat)).body
    return dict(stage.outside)


def test_linear_is_equation_20():
    weights = outside("linear", 10, ())
    np.testing.assert_allclose(weights["predicted"], np.arange(1, 11) / 10, atol=1e-15)
    np.testing.assert_allclose(weights["now"], 1 - np.arange(1, 11) / 10, atol=1e-15)


@pytest.mark.parametrize("before", [(), (0.1,), (0.1, 0.2), (0.07, 0.19)])
def test_the_end_is_the_prediction_exactly(before):
    weights = outside("spline", 7, before)
    assert len(weights) == 2 + len(before)
    assert [w[-1] for w in weights.values()] == [1.0] + [0.0] * (1 + len(before))
