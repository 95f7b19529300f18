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

from psmr.dae.cache import compiled
from psmr.errors import SingularError

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


@compiled
def _grown(array, size):  # type: ignore[no-untyped-def]
    longer = np.empty(size, array.dtype)
    longer[: array.size] = array
    return longer


@compiled
def _transposed(n, Ap, Ai, Ax):  # type: ignore[no-untyped-def]
    Bp = np.zeros(n + 1, np.int64)
    for p in range(Ap[n]):
        Bp[Ai[p] + 1] += 1
    for i in range(n):
        Bp[i + 1] += Bp[i]
    head = Bp.copy()
    Bi, Bx = np.empty(Ap[n], np.int64), np.empty(Ap[n])
    for j in range(n):
        for p in range(Ap[j], Ap[j + 1]):
            t = head[Ai[p]]
            head[Ai[p]] = t + 1
            Bi[t], Bx[t] = j, Ax[p]
    return Bp, Bi, Bx


@compiled
def _sorted_columns(n, Ap, Ai, Ax):  # type: ignore[no-untyped-def]
    Bp, Bi, Bx = _transposed(n, Ap, Ai, Ax)
    return _transposed(n, Bp, Bi, Bx)


@compiled
def _reach(k, column, Ap, Ai, Lp, Li, nl, position, mark, stack, head, topological):  # type: ignore[no-untyped-def]
    """Find the pattern of column k by depth-first search; return (first in `topological`, end of L)."""
    top = topological.size
    for p in range(Ap[column], Ap[column + 1]):
        row = Ai[p]
        if mark[row] == k:
            continue
        mark[row] = k
        if position[row] < 0:
            Li[nl] = row
            nl += 1
            continue
        depth = 0
        stack[0], head[0] = row, Lp[position[row]]
        while depth >= 0:
            end = Lp[position[stack[depth]] + 1]
            descended = False
            while head[depth] < end:
                i = Li[head[depth]]
                head[depth] += 1
                if mark[i] == k:
                    continue
                mark[i] = k
                if position[i] < 0:
                    Li[nl] = i
                    nl += 1
                else:
                    depth += 1
                    stack[depth], head[depth] = i, Lp[position[i]]
                    descended = True
                    break
            if not descended:
                top -= 1
                topological[top] = stack[depth]
                depth -= 1
    return top, nl


@compiled
def _factor(n, Ap, Ai, Ax, order, threshold):  # type: ignore[no-untyped-def]
    """Left-looking LU; return (0 or 1 + the step without a pivot, factors with rows in pivot positions)."""
    Lp, Up = np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64)
    capacity = 4 * Ap[n] + n
    Li, Lx = np.empty(capacity, np.int64), np.empty(capacity)
    Ui, Ux = np.empty(capacity, np.int64), np.empty(capacity)
    D, x = np.empty(n), np.zeros(n)
    position, mark = np.full(n, -1, np.int64), np.full(n, -1, np.int64)
    stack, head, topological = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    nl, nu = 0, 0
    for k in range(n):
        column = order[k]
        if nl + n > Li.size:
            Li, Lx = _grown(Li, 2 * Li.size + n), _grown(Lx, 2 * Lx.size + n)
        if nu + n > Ui.size:
            Ui, Ux = _grown(Ui, 2 * Ui.size + n), _grown(Ux, 2 * Ux.size + n)
        first = nl
        top, nl = _reach(k, column, Ap, Ai, Lp, Li, nl, position, mark, stack, head, topological)
        for p in range(Ap[column], Ap[column + 1]):
            x[Ai[p]] = Ax[p]
        for t in range(top, n):
            row = topological[t]
            j, u = position[row], x[row]
            x[row] = 0.0
            Ui[nu], Ux[nu] = j, u
            nu += 1
            for p in range(Lp[j], Lp[j + 1]):
                x[Li[p]] -= Lx[p] * u
        largest, pivot, diagonal = 0.0, -1, -1
        for p in range(first, nl):
            if abs(x[Li[p]]) > largest:
                largest, pivot = abs(x[Li[p]]), p
            if Li[p] == column:
                diagonal = p
        if pivot < 0 or not np.isfinite(largest):
            return k + 1, Lp, Li, Lx, Up, Ui, Ux, D, position
        if diagonal >= 0 and abs(x[column]) >= threshold * largest:
            pivot = diagonal
        row = Li[pivot]
        D[k] = 1.0 / x[row]
        x[row] = 0.0
        position[row] = k
        nl -= 1
        Li[pivot] = Li[nl]
        for p in range(first, nl):
            Lx[p] = x[Li[p]] * D[k]
            x[Li[p]] = 0.0
        Lp[k + 1], Up[k + 1] = nl, nu
    for p in range(nl):
        Li[p] = position[Li[p]]
    # Ascending rows within a column are a topological order, which refactor relies on.
    Lp, Li, Lx = _sorted_columns(n, Lp, Li, Lx)
    Up, Ui, Ux = _sorted_columns(n, Up, Ui, Ux)
    return 0, Lp, Li, Lx, Up, Ui, Ux, D, position


@compiled
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
        if not np.isfinite(d):
            sound = False
        for s in range(Lp[k], Lp[k + 1]):
            i = Li[s]
            v = x[i] * d
            x[i] = 0.0
            Lx[s] = v
            if not abs(v) <= GROWTH_LIMIT:
                sound = False
    return sound


@compiled
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
    failed, Lp, Li, Lx, Up, Ui, Ux, D, position = _factor(
        n, Ap, Ai, Ax, order.astype(np.int64), PIVOT_THRESHOLD
    )
    if failed:
        raise SingularError(_why_singular(Ap, Ai, Ax, int(order[failed - 1]), position, columns, rows))
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


def _why_singular(
    Ap: np.ndarray,
    Ai: np.ndarray,
    Ax: np.ndarray,
    column: int,
    position: np.ndarray,
    columns: Sequence[str] | None,
    rows: Sequence[str] | None,
) -> str:
    def named(names: Sequence[str] | None, kind: str, index: int) -> str:
        return names[index] if names is not None else f"{kind} {index}"

    bad = np.flatnonzero(~np.isfinite(Ax))
    if bad.size:
        at = int(np.searchsorted(Ap, bad[0], side="right")) - 1
        where = f"d {named(rows, 'row', int(Ai[bad[0]]))} / d {named(columns, 'column', at)}"
        return f"the Jacobian entry {where} is {Ax[bad[0]]}"
    left = np.flatnonzero(position < 0)
    equations = ", ".join(named(rows, "row", int(i)) for i in left[:3])
    more = f" and {len(left) - 3} more" if len(left) > 3 else ""
    return (
        f"the matrix is singular: {named(columns, 'column', column)} cannot be determined "
        f"from the remaining equations ({equations}{more})"
    )
