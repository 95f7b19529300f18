"""Why a run cannot go on from a point however short its steps: the equation or the limiter, in words."""

from __future__ import annotations

import contextlib

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import splu

from psmr.dae.compile.kernels import jacobian, residual
from psmr.integrate.constants import TUNED
from psmr.integrate.solve.block import Block

Reals = NDArray[np.float64]

# How far beyond the point the equations are looked at, relative to max(1, |w|): further by far than the step
# that vanished. What jumps does so at once; what is smooth changes ten times less over a tenth of the way.
AHEAD = 1e-6
JUMPS, NOTICED = 0.5, 1e-7

# What a sentence about a jump has.
JUMP = "jumps there"

# A value that no quantity has, in its unit: it has grown without bound.
UNBOUNDED = 1e9


# Inverse iterations for a singular direction: at a fold its eigenvalue is far below all others.
ITERATIONS = 4


def impasse(block: Block, w: Reals, least: float = 0.0) -> str:
    """Return a sentence that names the equation or the limiter that a run cannot pass.

    Parameters
    ----------
    block
        The equations that have no solution beyond the point, states among them.
    w
        Buffer at the point; the block's variables solve the algebraic equations there.
    least
        The shortest step in s that was tried: what cannot be passed lies within it.
    """
    states, variables = block.kernels.states, block.records.matrix.variables
    here = _residual(block, w)
    values = w[variables]
    worst = int(np.argmax(np.where(np.isfinite(values), np.abs(values), np.inf)))
    if not abs(values[worst]) < UNBOUNDED:
        return f"{block.columns[worst]} = {values[worst]:.3g} grows without bound."
    if (bad := np.flatnonzero(~np.isfinite(here))).size:
        return f"The equation of {block.rows[bad[0]]} has no value there."
    rates = here[:states]
    pace = float(np.max(np.abs(rates) / np.maximum(1.0, np.abs(values[:states])), initial=1.0))
    farthest = max(AHEAD * max(1.0, abs(w[-1])) / pace, 20.0 * least)
    moves, changes = _tangent(block, w, rates), []
    for dt in (farthest, 0.1 * farthest):
        ahead = w.copy()
        ahead[variables] += dt * moves
        ahead[-1] += dt
        changes.append(_residual(block, ahead) - here)
    far, near = changes
    if (bad := np.flatnonzero(~np.isfinite(near))).size:
        return (
            f"The equation of {block.rows[bad[0]]} has no value just beyond{_limit(block, w, int(bad[0]))}."
        )
    jumps = (np.abs(near) > JUMPS * np.abs(far)) & (np.abs(near) > NOTICED * np.maximum(1.0, np.abs(here)))
    if jumps.any():
        at = int(np.argmax(np.where(jumps, np.abs(near), 0.0)))
        return (
            f"The equation of {block.rows[at]} {JUMP}, from {here[at]:.4g} to {here[at] + near[at]:.4g}"
            f": a limiter or a comparison in it changes its side{_limit(block, w, at)}."
        )
    if (fold := _fold(block, w)) is not None:
        variable, row = fold
        return (
            f"The algebraic equations come to a fold: {variable} changes ever faster, and the equation of "
            f"{row} has no solution near the last one beyond; a voltage collapse looks like this."
        )
    return ""


def _residual(block: Block, w: Reals) -> Reals:
    out = np.empty(block.size + 1)
    residual(block.kernels.table, w, out)
    return out[:-1]


def _tangent(block: Block, w: Reals, rates: Reals) -> Reals:
    """Return how fast the block's variables move: the states as they do, the algebraic ones with them.

    Only the states where the algebraic equations are singular.
    """
    moves, states = np.zeros(block.size), block.kernels.states
    moves[:states] = rates
    if states < block.size:
        matrix = matrix_at(block, w)[states:]
        with contextlib.suppress(RuntimeError):  # singular to the last digit
            moves[states:] = -splu(matrix[:, states:].tocsc()).solve(matrix[:, :states] @ rates)
    return np.where(np.isfinite(moves), moves, 0.0)


def _limit(block: Block, w: Reals, row: int) -> str:
    """Return words for the limit that the state of an equation is at, "" where it is at none."""
    if row >= block.kernels.states:
        return ""
    value, limits = w[block.records.matrix.variables[row]], block.records.limits
    for name, bound in (("lower", limits.lower[row]), ("upper", limits.upper[row])):
        if np.isfinite(bound) and abs(value - bound) <= AHEAD * max(1.0, abs(bound)):
            return f"; {block.columns[row]} is at its {name} limit {bound:.6g}"
    return ""


def _fold(block: Block, w: Reals) -> tuple[str, str] | None:
    """Return the algebraic variable and equation that a fold near w shows in most; None where there is none.

    With r and l the directions that the algebraic matrix g_y makes smallest from the right and from the left,
    l g_y r changes its sign where w passes a fold along r: two solutions meet there. How large the entries of
    g_y are plays no part, so that a branch of next to no impedance is not taken for a fold.
    """
    states, variables = block.kernels.states, block.records.matrix.variables
    if states == block.size:
        return None
    matrix = matrix_at(block, w)[states:, states:]
    column, row = singular_direction(matrix), singular_direction(matrix.T.tocsc())
    most = int(np.abs(column).argmax())
    reach = TUNED.negligible * max(1.0, abs(w[variables[states + most]]))
    here = row @ (matrix @ column)
    for way in (reach, -reach):
        there = w.copy()
        there[variables[states:]] += way * column
        if here * (row @ (matrix_at(block, there)[states:, states:] @ column)) < 0.0:
            return block.columns[states + most], block.rows[states + int(np.abs(row).argmax())]
    return None


def matrix_at(block: Block, w: Reals) -> sparse.csc_matrix:
    """Return the derivatives of a block's equations by its variables, limits not applied."""
    kernels, values = block.kernels, np.empty(block.kernels.nnz + 1)
    jacobian(kernels.table, block.records.matrix.constant, w, values)
    parts = (values[:-1], kernels.indices.astype(np.int32), kernels.indptr.astype(np.int32))
    return sparse.csc_matrix(parts, shape=(block.size, block.size))


def singular_direction(matrix: sparse.csc_matrix) -> Reals:
    """Return the vector of largest entry 1 that a matrix makes smallest; zero where none is found."""
    none = np.zeros(matrix.shape[0])
    direction = np.random.default_rng(0).standard_normal(matrix.shape[0])
    try:
        factors = splu(matrix)
    except RuntimeError:  # singular to the last digit
        return none
    for _ in range(ITERATIONS):
        direction = factors.solve(direction)
        direction /= float(np.abs(direction).max())
    return direction if np.isfinite(direction).all() else none
