"""delta is compared with |lambda|, not with |Re lambda|: a lightly damped mode near it decides."""

import numpy as np
import pytest

import partitioning
from tests.pencil.oracle import linear_dae, ode


def blocks(*modes: complex) -> np.ndarray:
    """Return a block-diagonal real matrix with these modes, a block of two for each complex one."""
    size = sum(2 if mode.imag else 1 for mode in modes)
    matrix, k = np.zeros((size, size)), 0
    for mode in modes:
        if mode.imag:
            matrix[k : k + 2, k : k + 2] = [[mode.real, mode.imag], [-mode.imag, mode.real]]
            k += 2
        else:
            matrix[k, k] = mode.real
            k += 1
    return matrix


@pytest.mark.parametrize(
    ("mode", "delta", "fast"),
    [
        (-0.4 + 21.0j, 20.0, True),  # |Re| is a fiftieth of delta
        (-0.4 + 19.9j, 20.0, False),
        (-14.0 + 15.0j, 20.0, True),  # neither part is above delta, |lambda| = 20.5 is
        (-14.0 + 14.0j, 20.0, False),  # |lambda| = 19.8
        (-19.9 + 0.0j, 20.0, False),
        (-20.1 + 0.0j, 20.0, True),
    ],
)
def test_the_size_of_the_eigenvalue_decides(mode, delta, fast):
    split = partitioning.by_participation(ode(blocks(mode, -1.0 + 0j, -100.0 + 0j)), delta=delta)
    own = 2 if mode.imag else 1
    assert list(split.fast_x) == [fast] * own + [False, True]


@pytest.mark.parametrize(("delta", "fast"), [(20.0, True), (22.0, False)])
def test_algebraic_variables_follow_the_same_size(delta, fast):
    """y reads one state of a mode of |lambda| = 21.004, Re = -0.4 1/s."""
    A = blocks(-0.4 + 21.0j, -1.0 + 0j)
    gx = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    split = partitioning.by_participation(
        linear_dae(A, np.zeros((3, 2)), gx, -np.eye(2)), delta=delta, algebraic="participation"
    )
    assert list(split.fast_y) == [fast, False]


def test_a_swing_above_delta_is_fast_though_it_is_hardly_damped():
    """Coupled, and seen by its participation: the pair -0.2 ± j25 beside a slow and a fast real mode."""
    rng = np.random.default_rng(4)
    V = np.eye(4) + 0.05 * rng.standard_normal((4, 4))
    A = V @ blocks(-0.2 + 25.0j, -2.0 + 0j, -60.0 + 0j) @ np.linalg.inv(V)
    split = partitioning.by_participation(ode(A), delta=20.0)
    assert list(split.fast_x) == [True, True, False, True]
