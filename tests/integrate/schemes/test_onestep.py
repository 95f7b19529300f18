"""The coefficients against the order conditions (Hairer, Norsett and Wanner, section II.1)."""

import numpy as np
import pytest

from tests.internals import COEFFICIENTS, TABLEAUX


@pytest.mark.parametrize("tableau", TABLEAUX.values(), ids=TABLEAUX)
def test_order_conditions(tableau):
    A, b, c = tableau.A, tableau.b, tableau.c
    np.testing.assert_allclose(A.sum(axis=1), c, atol=1e-15)
    conditions = {
        1: [(b.sum(), 1)],
        2: [(b @ c, 1 / 2)],
        3: [(b @ c**2, 1 / 3), (b @ A @ c, 1 / 6)],
        4: [(b @ c**3, 1 / 4), ((b * c) @ A @ c, 1 / 8), (b @ A @ c**2, 1 / 12), (b @ A @ A @ c, 1 / 24)],
    }
    for order, pairs in conditions.items():
        met = all(abs(value - wanted) < 1e-14 for value, wanted in pairs)
        assert met == (order <= tableau.order)


@pytest.mark.parametrize(
    ("name", "explicit", "stiff", "first"),
    [
        ("FEM", True, False, True),
        ("TM", False, True, True),
        ("BEM", False, True, False),
        ("SDIRK2", False, True, False),
        ("RK4", True, False, True),
    ],
)
def test_structure(name, explicit, stiff, first):
    tableau = TABLEAUX[name]
    assert (tableau.explicit, tableau.stiffly_accurate, tableau.first_explicit) == (explicit, stiff, first)


def test_sdirk2_is_l_stable():
    # R(z) = 1 + z b^T (I - z A)^-1 1 tends to 0 (Alexander, 1977).
    tableau = TABLEAUX["SDIRK2"]
    z = -1e9
    ones = np.ones(2)
    assert abs(1 + z * tableau.b @ np.linalg.solve(np.eye(2) - z * tableau.A, ones)) < 1e-8


def test_coefficients_are_the_table_of_the_macro_step():
    assert COEFFICIENTS == {"FEM": (1.0, 0.0), "TM": (0.5, 0.5), "BEM": (0.0, 1.0)}


def test_coefficients_are_read_only():
    with pytest.raises(ValueError, match="read-only"):
        TABLEAUX["TM"].A[0, 0] = 1.0
