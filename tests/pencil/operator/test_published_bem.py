"""The published pencil against plain residuals of appendix B, for every predictor, BEM among them."""

import numpy as np
import pytest
import scipy.linalg

from psmr import Multirate
from psmr.pencil import published_pencil
from tests.internals import published_multipliers
from tests.pencil.oracle import partition, random_dae

# Weights of the old and of the new point of a step of one.
METHODS = {"FEM": (1.0, 0.0), "TM": (0.5, 0.5), "BEM": (0.0, 1.0)}
PAIRS = [("FEM", "TM"), ("TM", "TM"), ("BEM", "TM"), ("TM", "BEM"), ("BEM", "BEM"), ("FEM", "BEM")]


def residuals(linear, scheme, new, old):
    """Return the left-hand sides of (B.2) to (B.4) and (20), one fast point after another.

    new
        w at the fast points 1 to r.
    old
        w at the fast points 0 to r - 1, which the paper does not tie to the new ones.
    """
    fx, fy, gx, gy = (block.toarray() for block in (linear.fx, linear.fy, linear.gx, linear.gy))
    n, r, split = linear.n, scheme.ratio, scheme.split
    fast = np.r_[split.fast_x, split.fast_y]

    def f(w):
        return fx @ w[:n] + fy @ w[n:]

    def g(w):
        return gx @ w[:n] + gy @ w[n:]

    a, a_star = METHODS[scheme.predictor]
    b, b_star = METHODS[scheme.solution]
    h_slow, h_fast = scheme.h_slow, scheme.h_slow / r
    rows = []
    for i in range(1, r + 1):
        now, before = new[i - 1], old[i - 1]
        step = now[:n] - before[:n] - h_fast * (b * f(before) + b_star * f(now))
        rows += [step[split.fast_x], g(now)[split.fast_g]]
        if i < r:
            x = before[:n] + h_slow * (a * f(before) + a_star * f(new[r - 1]))
            predicted = np.r_[x, -np.linalg.solve(gy, gx @ x)]
            between = before + i / r * (predicted - before)
            rows.append((now - between)[~fast])
        else:
            step = now[:n] - old[0][:n] - h_slow * (b * f(old[0]) + b_star * f(now))
            rows += [step[~split.fast_x], g(now)[~split.fast_g]]
    return np.concatenate(rows)


def stacked(linear, scheme):
    """Return the map of (w_0, ..., w_{r-1}) to (w_1, ..., w_r), from residuals at unit vectors."""
    size, r = linear.n + linear.m, scheme.ratio
    identity = np.eye(r * size)
    zero = np.zeros((r, size))
    left = np.column_stack([residuals(linear, scheme, e.reshape(r, size), zero) for e in identity])
    right = np.column_stack([residuals(linear, scheme, zero, e.reshape(r, size)) for e in identity])
    return np.linalg.solve(left, -right)


@pytest.mark.parametrize("ratio", [2, 3, 5])
@pytest.mark.parametrize("pair", PAIRS, ids="/".join)
def test_the_pencil_is_the_map_of_appendix_b(ratio, pair):
    linear = random_dae(3)
    scheme = Multirate(partition(linear, [0, 1], [0, 2]), 0.04, ratio, *pair)
    wanted = stacked(linear, scheme)
    left, right = (matrix.toarray() for matrix in published_pencil(linear, scheme))
    found = np.linalg.solve(left, right)
    # The paper stacks the newest point first.
    size = linear.n + linear.m
    newest = np.concatenate([np.arange(k * size, (k + 1) * size) for k in range(ratio - 1, -1, -1)])
    assert np.abs(found - wanted[np.ix_(newest, newest)]).max() < 1e-11 * max(1.0, np.abs(wanted).max())


@pytest.mark.parametrize("solution", ["TM", "BEM"])
def test_the_multipliers_with_bem_prediction(solution):
    linear = random_dae(1)
    scheme = Multirate(partition(linear, [0, 1], [0, 2]), 0.03, 4, "BEM", solution)
    wanted = scipy.linalg.eigvals(stacked(linear, scheme))
    found = published_multipliers(linear, scheme).z
    # Zeros that belong together scatter to the square root of the rounding.
    wanted, found = (values[np.abs(values) > 1e-3] for values in (wanted, found))
    assert len(wanted) == len(found)
    for z in found:
        assert np.abs(wanted - z).min() < 1e-6 * max(1.0, abs(z))


def test_bem_prediction_is_not_fems():
    linear = random_dae(1)
    split = partition(linear, [0, 1], [0, 2])
    fem, bem = (stacked(linear, Multirate(split, 0.03, 4, p, "TM")) for p in ("FEM", "BEM"))
    assert np.abs(fem - bem).max() > 1e-2
