"""Pairs of implicit methods: order, stability, and an estimate that sees stiff layers."""

import numpy as np
import pytest

from tests.internals import PAIRS


def unmet(A, b, c, order):
    """Return what is left of the conditions up to an order (Hairer and Wanner, section II.2)."""
    conditions = {
        1: [b.sum() - 1],
        2: [b @ c - 1 / 2],
        3: [b @ c**2 - 1 / 3, b @ A @ c - 1 / 6],
        4: [b @ c**3 - 1 / 4, (b * c) @ A @ c - 1 / 8, b @ A @ c**2 - 1 / 12, b @ A @ A @ c - 1 / 24],
    }
    return np.array([left for k in range(1, order + 1) for left in conditions[k]])


@pytest.mark.parametrize(("method", "companion"), [("TR-BDF2", 3), ("ESDIRK32", 2), ("ESDIRK43", 3)])
def test_a_pair_meets_its_order_conditions(method, companion):
    pair = PAIRS[method]
    tableau = pair.tableau
    A, b, c = tableau.A, tableau.b, tableau.c
    np.testing.assert_allclose(unmet(A, b, c, tableau.order), 0, atol=1e-14)
    np.testing.assert_allclose(A @ c, c**2 / 2, atol=1e-14)  # every stage is of order 2
    b_hat = b - pair.difference
    np.testing.assert_allclose(unmet(A, b_hat, c, companion), 0, atol=1e-14)
    assert np.abs(unmet(A, b, c, 4)).max() > 1e-5 or tableau.order == 4
    assert pair.order == min(tableau.order, companion) + 1
    assert tableau.stiffly_accurate
    assert tableau.first_explicit


@pytest.mark.parametrize("method", PAIRS)
def test_a_pair_is_l_stable(method):
    """No mode grows on the imaginary axis, and stiff ones vanish; the poles are at 1 / gamma > 0."""
    tableau = PAIRS[method].tableau
    one = np.ones(tableau.stages)

    def growth(z):
        return 1 + z * tableau.b @ np.linalg.solve(np.eye(tableau.stages) - z * tableau.A, one)

    assert max(abs(growth(1j * y)) for y in np.logspace(-3, 4, 500)) <= 1 + 1e-12
    assert abs(growth(-1e6)) < 1e-4
    assert tableau.gamma > 0


@pytest.mark.parametrize(("method", "parts"), [("TR-BDF2", 1.0), ("ESDIRK32", 2.25), ("ESDIRK43", 2.5)])
def test_the_estimate_sees_a_stiff_layer(method, parts):
    """x' = -x from 1: the error of a step of 0.3 to 1,000 time constants is at most so many estimates."""
    pair = PAIRS[method]
    tableau, one = pair.tableau, np.ones(pair.tableau.stages)
    for h in np.logspace(-0.5, 3, 50):
        rates = -np.linalg.solve(np.eye(one.size) + h * tableau.A, one)
        error = np.exp(-h) - (1.0 + h * tableau.b @ rates)
        estimate = h * pair.difference @ rates / (1.0 + h * tableau.gamma)
        assert abs(error) < parts * abs(estimate)
