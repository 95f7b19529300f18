"""Interpolation reproduces the polynomials it is made for."""

import numpy as np
import pytest

from psmr.numerics.step.interpolation import interpolate, lagrange_weights, weights_at


@pytest.mark.parametrize("older", [0, 1, 2])
def test_polynomials_are_reproduced_at_uneven_times(older):
    nodes = np.array([1.0, 0.0, -0.7, -1.9])
    weights = np.zeros(4)
    for power in range(older + 2):
        for s in (0.1, 0.5, 0.9):
            lagrange_weights(nodes, 2 + older, s, weights)
            assert weights[: 2 + older] @ nodes[: 2 + older] ** power == pytest.approx(s**power, abs=1e-14)


def test_linear_is_equation_20():
    for i in range(1, 11):
        np.testing.assert_allclose(weights_at(i, 10, "linear"), [i / 10, 1 - i / 10], atol=1e-15)


def test_the_end_is_the_prediction_exactly():
    np.testing.assert_array_equal(weights_at(7, 7, "spline"), [1, 0, 0, 0])
    np.testing.assert_array_equal(weights_at(7, 7, "spline", older=1), [1, 0, 0, 0])


def test_only_named_places_are_written():
    w = np.full(3, 9.0)
    predicted, accepted = np.array([1.0, 2.0, 3.0]), np.array([0.0, 1.0, 0.0])
    interpolate(
        np.array([0, 2], np.uint32), np.array([0.25, 0.75]), 0, predicted, accepted, np.zeros((2, 3)), w
    )
    np.testing.assert_allclose(w, [0.25, 9.0, 0.75])
