"""Newton's method with numpy: where it ends, and how it says so."""

import numpy as np
import pytest

from tests.internals import NewtonEnd, newton


def small(residual):
    return bool(np.abs(residual).max() < 1e-12)


def run(residual, slope, start, most=20, **choices):
    def step(x, left):
        return np.linalg.solve(slope(x), -left)

    return newton(residual, step, np.array(start), small, most, **choices)


def test_a_root_is_found_with_its_residual():
    found = run(lambda x: x**2 - 2.0, lambda x: np.diag(2.0 * x), [1.0, 3.0])
    assert found.ended is NewtonEnd.CONVERGED
    # The error of x is its residual, below 1e-12, over the slope 2 sqrt(2).
    np.testing.assert_allclose(found.x, np.sqrt(2.0), rtol=0.0, atol=1e-12 / (2.0 * np.sqrt(2.0)))
    np.testing.assert_array_equal(found.residual, found.x**2 - 2.0)


def test_halved_steps_reach_what_whole_ones_overshoot():
    """arctan(x) = 0 from 3: whole steps alternate with growing size."""
    with np.errstate(all="ignore"):
        whole = run(np.arctan, lambda x: np.diag(1.0 / (1.0 + x**2)), [3.0])
        halved = run(np.arctan, lambda x: np.diag(1.0 / (1.0 + x**2)), [3.0], halvings=10)
    assert whole.ended is not NewtonEnd.CONVERGED
    assert (halved.ended, abs(halved.x[0]) < 1e-12) == (NewtonEnd.CONVERGED, True)


@pytest.mark.parametrize(
    ("residual", "slope", "most", "halvings", "ended"),
    [
        (lambda x: x + 1.0, lambda x: np.zeros((1, 1)), 20, 0, NewtonEnd.SINGULAR),
        (lambda x: x * np.nan, lambda x: np.eye(1), 20, 0, NewtonEnd.NOT_FINITE),
        (lambda x: x**2 + 1.0, lambda x: np.eye(1) * -1.0, 20, 5, NewtonEnd.STALLED),
        (lambda x: x - 1.0, lambda x: np.eye(1) * 2.0, 3, 0, NewtonEnd.SPENT),
    ],
)
def test_it_says_why_it_ended(residual, slope, most, halvings, ended):
    assert run(residual, slope, [0.5], most, halvings=halvings).ended is ended


def test_a_step_may_be_added_in_a_way_of_its_own():
    """A variable that may not pass 1 stays there."""
    found = newton(
        lambda x: x - 3.0,
        lambda x, left: -left,
        np.zeros(1),
        small,
        5,
        moved=lambda x, d: np.minimum(x + d, 1.0),
    )
    assert (found.x[0], found.ended) == (1.0, NewtonEnd.SPENT)
