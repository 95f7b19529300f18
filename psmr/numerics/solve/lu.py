"""Sparse LU for one pattern and many values.

The first factorisation (Gilbert and Peierls, 1988) chooses pivots and finds the pattern of the factors. After
that, `refactor` repeats the arithmetic alone on the fixed pattern, as KLU does, without a search and without
allocation, and says when the old pivots do not suit the new values. Columns are ordered once by minimum
degree on A + A^T, which keeps the large diagonal of a network where it is. Index arrays are uint32: signed
ones cost a wrap-around test per access.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu

from psmr.dae.compile.cache import lean
from psmr.errors import SingularError
from psmr.numerics.solve.first_factors import first_factors

# A diagonal entry is the pivot unless it is 1000 times smaller than the largest candidate (KLU's default
# threshold).
PIVOT_THRESHOLD = 1e-3

# Multipliers of a factorisation with PIVOT_THRESHOLD stay below 1e3. Two decades beyond that, rounding of
# 1e-16 is amplified to 1e-11, a tenth of the default Newton tolerance, and new pivots are due.
GROWTH_LIMIT = 1e5


class Lu(NamedTuple):
    """Factors of a sparse matrix and all that `refactor` and `solve` need.

    Attributes
    ----------
    indptr, rows
        Columns of the matrix, and the pivot position of the row of each entry.
    order, position
        Column that is eliminated k-th, and the pivot position of each row.
    Lp, Li, Lx, Up, Ui, Ux
        Strict triangles by column, in pivot positions.
    D
        Inverse pivots.
    work
        Zero vector, zero again after every call.
    """

    indptr: np.ndarray
    rows: np.ndarray
    order: np.ndarray
    position: np.ndarray
    Lp: np.ndarray
    Li: np.ndarray
    Lx: np.ndarray
    Up: np.ndarray
    Ui: np.ndarray
    Ux: np.ndarray
    D: np.ndarray
    work: np.ndarray


@lean
def refactor(lu, values):  # type: ignore[no-untyped-def]
    """Factorise new values of the pattern with the same pivots; return whether these still suit.

    False means that a multiplier exceeds `GROWTH_LIMIT` or a pivot is zero or not finite; the factors are
    then useless.
    """
    indptr, rows, order, x = lu.indptr, lu.rows, lu.order, lu.work
    Lp, Li, Lx, Up, Ui, Ux, D = lu.Lp, lu.Li, lu.Lx, lu.Up, lu.Ui, lu.Ux, lu.D
    sound = True
    for k in range(D.size):
        column = order[k]
        for p in range(indptr[column], indptr[column + 1]):
            x[rows[p]] = values[p]
        for p in range(Up[k], Up[k + 1]):
            j = Ui[p]
            u = x[j]
            x[j] = 0.0
            Ux[p] = u
            for s in range(Lp[j], Lp[j + 1]):
                x[Li[s]] -= Lx[s] * u
        d = 1.0 / x[k]
        x[k] = 0.0
        D[k] = d
        if d == 0.0 or not np.isfinite(d):
            sound = False
        for s in range(Lp[k], Lp[k + 1]):
            i = Li[s]
            v = x[i] * d
            x[i] = 0.0
            Lx[s] = v
            if not abs(v) <= GROWTH_LIMIT:
                sound = False
    return sound


@lean
def solve(lu, b, out):  # type: ignore[no-untyped-def]
    """Write the solution of A out = b; `b` is left alone."""
    order, position, y, D = lu.order, lu.position, lu.work, lu.D
    Lp, Li, Lx, Up, Ui, Ux = lu.Lp, lu.Li, lu.Lx, lu.Up, lu.Ui, lu.Ux
    n = D.size
    for i in range(n):
        y[position[i]] = b[i]
    for k in range(n):
        v = y[k]
        if v != 0.0:
            for s in range(Lp[k], Lp[k + 1]):
                y[Li[s]] -= Lx[s] * v
    for k in range(n - 1, -1, -1):
        v = y[k] * D[k]
        y[k] = 0.0
        out[order[k]] = v
        for s in range(Up[k], Up[k + 1]):
            y[Ui[s]] -= Ux[s] * v


def ordering(indptr: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """Return the columns in the order of elimination: minimum degree on A + A^T.

    SuperLU computes it as a part of a factorisation; it gets a diagonally dominant matrix of the same
    pattern, since the ordering depends on the pattern alone and must not fail on values.
    """
    n = len(indptr) - 1
    pattern = sparse.csc_matrix(
        (np.ones(len(indices)), indices.astype(np.int32), indptr.astype(np.int32)), (n, n)
    )
    dominant = pattern + sparse.diags_array(np.full(n, 2.0 * n + 2.0), format="csc")
    done = splu(
        dominant.tocsc(), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True}
    )
    return np.argsort(done.perm_c)


def factorise(
    indptr: np.ndarray,
    indices: np.ndarray,
    values: np.ndarray,
    order: np.ndarray | None = None,
    columns: Sequence[str] | None = None,
    rows: Sequence[str] | None = None,
) -> Lu:
    """Factorise a square CSC matrix, choosing the pivots.

    Parameters
    ----------
    indptr, indices, values
        The matrix (n, n) in CSC form; `values` may be longer than `indices`, what is beyond is ignored.
    order
        Order of elimination of the columns; None computes it with `ordering`.
    columns, rows
        Names of the variables and equations, for the message.

    Raises
    ------
    SingularError
        Naming the variable that cannot be determined and the equations that were left for it, or an entry
        that is not finite.
    """
    n = len(indptr) - 1
    order = ordering(indptr, indices) if order is None else order
    Ap, Ai = indptr.astype(np.int64), indices.astype(np.int64)
    Ax = np.ascontiguousarray(values[: len(indices)], dtype=float)
    if not np.isfinite(Ax).all():
        raise SingularError(_not_finite(Ap, Ai, Ax, columns, rows))
    failed, Lp, Li, Lx, Up, Ui, Ux, D, position = first_factors(
        n, Ap, Ai, Ax, order.astype(np.int64), PIVOT_THRESHOLD
    )
    if failed:
        raise SingularError(_why_singular(int(order[failed - 1]), position, columns, rows))
    return Lu(
        indptr.astype(np.uint32),
        position[Ai].astype(np.uint32),
        order.astype(np.uint32),
        position.astype(np.uint32),
        Lp.astype(np.uint32),
        Li.astype(np.uint32),
        Lx,
        Up.astype(np.uint32),
        Ui.astype(np.uint32),
        Ux,
        D,
        np.zeros(n),
    )


def unfactorised() -> Lu:
    """Return the factors of nothing, in place of those of a matrix whose values are not known yet."""
    none, empty = np.zeros(0, np.uint32), np.zeros(0)
    return Lu(none, none, none, none, none, none, empty, none, none, empty, empty, empty)


def _named(names: Sequence[str] | None, kind: str, index: int) -> str:
    return names[index] if names is not None else f"{kind} {index}"


def _not_finite(
    Ap: np.ndarray, Ai: np.ndarray, Ax: np.ndarray, columns: Sequence[str] | None, rows: Sequence[str] | None
) -> str:
    at = int(np.flatnonzero(~np.isfinite(Ax))[0])
    column = int(np.searchsorted(Ap, at, side="right")) - 1
    where = f"d {_named(rows, 'row', int(Ai[at]))} / d {_named(columns, 'column', column)}"
    return f"the Jacobian entry {where} is {Ax[at]}"


def _why_singular(
    column: int, position: np.ndarray, columns: Sequence[str] | None, rows: Sequence[str] | None
) -> str:
    left = np.flatnonzero(position < 0)
    equations = ", ".join(_named(rows, "row", int(i)) for i in left[:3])
    more = f" and {len(left) - 3} more" if len(left) > 3 else ""
    return (
        f"the matrix is singular: {_named(columns, 'column', column)} cannot be determined "
        f"from the remaining equations ({equations}{more})"
    )
