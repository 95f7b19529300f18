"""Why a run cannot go on from a point however short its steps: the equation or the limiter, in words."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import splu

from psmr.dae.compile.kernels import jacobian, residual
from psmr.numerics.solve.block import Block

Reals = NDArray[np.float64]

# How far beyond the point the equations are looked at, relative to max(1, |w|): further by far than the step
# that vanished. What jumps does so at once; what is smooth changes ten times less over a tenth of the way.
AHEAD = 1e-6
JUMPS, NOTICED = 0.5, 1e-7

# What a sentence about a jump has.
JUMP = "jumps there"

# A value that no quantity has, in its unit: it has grown without bound.
UNBOUNDED = 1e9

# A fold is where the algebraic matrix makes less than this share of its largest entry of some direction.
FOLD = 1e-3

# Inverse iterations for a singular direction: at a fold its eigenvalue is far below all others.
ITERATIONS = 4


def impasse(block: Block, w: Reals) -> str:
    """Return a sentence that names the equation or the limiter that a run cannot pass.

    Parameters
    ----------
    block
        The equations that have no solution beyond the point, states among them.
    w
        Buffer at the point; the block's variables solve the algebraic equations there.
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
    changes = []
    for part in (1.0, 0.1):
        ahead, dt = w.copy(), part * AHEAD * max(1.0, abs(w[-1])) / pace
        ahead[variables[:states]] += dt * rates
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
    variable, row, size = _weakest(block, w)
    if variable and size < FOLD:
        return (
            f"The algebraic equations come to a fold: {variable} changes ever faster, and the equation of "
            f"{row} has no solution near the last one beyond; a voltage collapse looks like this."
        )
    return ""


def _residual(block: Block, w: Reals) -> Reals:
    out = np.empty(block.size + 1)
    residual(block.kernels.table, w, out)
    return out[:-1]


def _limit(block: Block, w: Reals, row: int) -> str:
    """Return words for the limit that the state of an equation is at, "" where it is at none."""
    if row >= block.kernels.states:
        return ""
    value, limits = w[block.records.matrix.variables[row]], block.records.limits
    for name, bound in (("lower", limits.lower[row]), ("upper", limits.upper[row])):
        if abs(value - bound) <= AHEAD * max(1.0, abs(bound)):
            return f"; {block.columns[row]} is at its {name} limit {bound:.6g}"
    return ""


def _weakest(block: Block, w: Reals) -> tuple[str, str, float]:
    """Return the algebraic variable and equation that are nearest to singular, and how near.

    Without names where the matrix is singular to the last digit: no direction is found then.
    """
    states, size = block.kernels.states, block.size
    if states == size:
        return "", "", np.inf
    equations = matrix_at(block, w)[states:]
    matrix = equations[:, states:].tocsc()
    column, weak = singular_direction(matrix)
    row, _ = singular_direction(matrix.T.tocsc())
    if not column.any() or not row.any():
        return "", "", np.inf
    scale = float(np.abs(equations.data).max(initial=0.0)) or 1.0
    columns, rows = block.columns[states:], block.rows[states:]
    return columns[int(np.abs(column).argmax())], rows[int(np.abs(row).argmax())], weak / scale


def matrix_at(block: Block, w: Reals) -> sparse.csc_matrix:
    """Return the derivatives of a block's equations by its variables, limits not applied."""
    kernels, values = block.kernels, np.empty(block.kernels.nnz + 1)
    jacobian(kernels.table, block.records.matrix.constant, w, values)
    parts = (values[:-1], kernels.indices.astype(np.int32), kernels.indptr.astype(np.int32))
    return sparse.csc_matrix(parts, shape=(block.size, block.size))


def singular_direction(matrix: sparse.csc_matrix) -> tuple[Reals, float]:
    """Return the vector of largest entry 1 that a matrix makes smallest, and what it makes of it.

    Zero and infinity where none is found.
    """
    direction, made = np.random.default_rng(0).standard_normal(matrix.shape[0]), np.inf
    try:
        factors = splu(matrix)
    except RuntimeError:  # singular to the last digit
        return np.zeros(matrix.shape[0]), 0.0
    for _ in range(ITERATIONS):
        direction = factors.solve(direction)
        made = 1.0 / float(np.abs(direction).max())
        direction *= made
    return (direction, made) if np.isfinite(direction).all() else (np.zeros(matrix.shape[0]), np.inf)
