"""Sparse LU for one pattern and many values.

The first factorisation (Gilbert and Peierls, 1988) chooses pivots and finds the pattern of the factors. After
that, `refactor` repeats the arithmetic alone on the fixed pattern, as KLU does, without a search and without
allocation, and `suit` says when the old pivots do not serve the new values. Columns are ordered once by
minimum degree on A + A^T, which keeps the large diagonal of a network where it is. Two columns whose factors
have one pattern, as those of both parts of a bus voltage mostly have, are a pair
(`psmr.integrate.solve.pairs`) and taken together: an index that is read serves four products. Indices are
unsigned: signed ones cost a wrap-around test per access.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import splu

from psmr.base.errors import SingularError
from psmr.dae.compile.decorators import lean
from psmr.integrate.constants import TUNED
from psmr.integrate.solve.pairs import ALONE, FIRST, NONE, ONE, SECOND, THREE, TWO
from psmr.integrate.solve.pivots import FAILED_AT, first_factors, sum_rows
from psmr.integrate.solve.status import DONE, NO_ROOM, NOT_FINITE


class Lu(NamedTuple):
    """Factors of a sparse matrix and all that `refactor` and `solve` need.

    Attributes
    ----------
    indptr, indices
        The pattern (CSC).
    rows
        Pivot position of the row of each entry.
    order, position
        Column that is eliminated k-th, and the pivot position of each row.
    Lp, Li, Lx, Up, Ui, Ux
        Strict triangles by column, in pivot positions; the arrays have room for more.
    D
        Inverse pivots.
    pair
        Of each column whether it is alone (0), the first of a pair (1) or the second (2).
    work
        (2n,) zeros, zero again after every call: two columns, entry by entry beside each other.
    state
        [whether pivots have been chosen, column at which that failed].
    """

    indptr: np.ndarray
    indices: np.ndarray
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
    pair: np.ndarray
    work: np.ndarray
    state: np.ndarray


class Search(NamedTuple):
    """Room of `first_factors` for the search of a column's pattern, and for a transposed triangle.

    Attributes
    ----------
    pivot_of
        Pivot position of each row, -1 for a row that has none yet.
    mark, stack, head, topological
        Of the depth-first search.
    sums
        See `psmr.integrate.solve.pivots.sum_rows`.
    Tp, Ti, Tx
        A triangle, transposed.
    """

    pivot_of: np.ndarray
    mark: np.ndarray
    stack: np.ndarray
    head: np.ndarray
    topological: np.ndarray
    sums: np.ndarray
    Tp: np.ndarray
    Ti: np.ndarray
    Tx: np.ndarray


@lean
def refactor(lu, values):  # type: ignore[no-untyped-def]
    """Factorise new values of the pattern with the same pivots; return whether these surely suit.

    Where not, a multiplier is too large, or a pivot is zero or not finite: `suit` looks closer. Column k is
    in the even entries of `work`, its companion in the odd ones. u and v are entries of U of both in row j,
    and u_2 and v_2 those in the row of the companion of j.
    """
    indptr, rows, order, pair, x = lu.indptr, lu.rows, lu.order, lu.pair, lu.work
    Lp, Li, Lx, Up, Ui, Ux, D = lu.Lp, lu.Li, lu.Lx, lu.Up, lu.Ui, lu.Ux, lu.D
    k, n, sound = NONE, np.uint64(D.size), True
    while k < n:
        column, at = order[k], TWO * k
        for p in range(indptr[column], indptr[column + ONE]):
            x[TWO * rows[p]] = values[p]
        p, end = np.uint64(Up[k]), np.uint64(Up[k + ONE])
        if pair[k] == ALONE:
            while p < end:
                j = np.uint64(Ui[p])
                u = x[TWO * j]
                x[TWO * j] = 0.0
                Ux[p] = u
                p += ONE
                first, second = np.uint64(Lp[j]), np.uint64(Lp[j + ONE])
                if pair[j] == FIRST:
                    u_2 = x[TWO * j + TWO] - Lx[first] * u
                    x[TWO * j + TWO] = 0.0
                    Ux[p] = u_2
                    p += ONE
                    back = second - first - ONE
                    for s in range(second, np.uint64(Lp[j + TWO])):
                        i = TWO * Li[s]
                        x[i] = (x[i] - Lx[s - back] * u) - Lx[s] * u_2
                else:
                    for s in range(first, second):
                        x[TWO * Li[s]] -= Lx[s] * u
            d = 1.0 / x[at]
            x[at] = 0.0
            D[k] = d
            if d == 0.0 or not np.isfinite(d):
                sound = False
            for s in range(Lp[k], Lp[k + ONE]):
                i = TWO * Li[s]
                m = x[i] * d
                x[i] = 0.0
                Lx[s] = m
                if not abs(m) <= TUNED.largest_multiplier:
                    sound = False
            k += ONE
            continue
        column = order[k + ONE]
        for p_2 in range(indptr[column], indptr[column + ONE]):
            x[TWO * rows[p_2] + ONE] = values[p_2]
        beside = end - p
        while p < end:
            j = np.uint64(Ui[p])
            of_j = TWO * j
            u, v = x[of_j], x[of_j + ONE]
            x[of_j] = x[of_j + ONE] = 0.0
            Ux[p], Ux[p + beside] = u, v
            p += ONE
            first, second = np.uint64(Lp[j]), np.uint64(Lp[j + ONE])
            if pair[j] == FIRST:
                m = Lx[first]
                u_2, v_2 = x[of_j + TWO] - m * u, x[of_j + THREE] - m * v
                x[of_j + TWO] = x[of_j + THREE] = 0.0
                Ux[p], Ux[p + beside] = u_2, v_2
                p += ONE
                back = second - first - ONE
                for s in range(second, np.uint64(Lp[j + TWO])):
                    i, m, m_2 = TWO * Li[s], Lx[s - back], Lx[s]
                    x[i] = (x[i] - m * u) - m_2 * u_2
                    x[i + ONE] = (x[i + ONE] - m * v) - m_2 * v_2
            else:
                for s in range(first, second):
                    i, m = TWO * Li[s], Lx[s]
                    x[i] -= m * u
                    x[i + ONE] -= m * v
        d, u = 1.0 / x[at], x[at + ONE]
        m = x[at + TWO] * d
        d_2 = 1.0 / (x[at + THREE] - m * u)
        x[at] = x[at + ONE] = x[at + TWO] = x[at + THREE] = 0.0
        D[k], D[k + ONE] = d, d_2
        Ux[Up[k + TWO] - ONE] = u
        first, second = np.uint64(Lp[k]), np.uint64(Lp[k + ONE])
        Lx[first] = m
        if (
            d == 0.0
            or d_2 == 0.0
            or not (np.isfinite(d) and np.isfinite(d_2) and abs(m) <= TUNED.largest_multiplier)
        ):
            sound = False
        back = second - first - ONE
        for s in range(second, np.uint64(Lp[k + TWO])):
            i = TWO * Li[s]
            m = x[i] * d
            m_2 = (x[i + ONE] - m * u) * d_2
            x[i] = x[i + ONE] = 0.0
            Lx[s - back], Lx[s] = m, m_2
            if not (abs(m) <= TUNED.largest_multiplier and abs(m_2) <= TUNED.largest_multiplier):
                sound = False
        k += TWO
    return sound


@lean
def suit(lu, search, values):  # type: ignore[no-untyped-def]
    """Return whether the pivots suit the values that `refactor` has factorised, else the factors are useless.

    Rows are compared as when pivots are chosen. A matrix whose rows are multiplied by powers of two has the
    same factors to the last digit, but for these powers: multipliers that are large because rows are
    amplify nothing.
    """
    sums, D, Lp, Li, Lx = search.sums, lu.D, lu.Lp, lu.Li, lu.Lx
    sum_rows(lu.rows, values, sums)
    for k in range(D.size):
        if D[k] == 0.0 or not np.isfinite(D[k]):
            return False
        for s in range(Lp[k], Lp[k + 1]):
            if not abs(Lx[s]) * sums[k] <= TUNED.largest_multiplier * sums[Li[s]]:
                return False
    return True


@lean
def solve(lu, b, out):  # type: ignore[no-untyped-def]
    """Write the solution of A out = b; `b` is left alone."""
    order, position, pair, y, D = lu.order, lu.position, lu.pair, lu.work, lu.D
    Lp, Li, Lx, Up, Ui, Ux = lu.Lp, lu.Li, lu.Lx, lu.Up, lu.Ui, lu.Ux
    n = np.uint64(D.size)
    for i in range(n):
        y[position[i]] = b[i]
    k = NONE
    while k < n:
        u, first, second = y[k], np.uint64(Lp[k]), np.uint64(Lp[k + ONE])
        if pair[k] == FIRST:
            v = y[k + ONE] - Lx[first] * u
            y[k + ONE] = v
            if u != 0.0 or v != 0.0:
                back = second - first - ONE
                for s in range(second, np.uint64(Lp[k + TWO])):
                    i = Li[s]
                    y[i] = (y[i] - Lx[s - back] * u) - Lx[s] * v
            k += TWO
        else:
            if u != 0.0:
                for s in range(first, second):
                    y[Li[s]] -= Lx[s] * u
            k += ONE
    while k > NONE:
        k -= ONE
        v, second, end = y[k] * D[k], np.uint64(Up[k]), np.uint64(Up[k + ONE])
        y[k] = 0.0
        out[order[k]] = v
        if pair[k] == SECOND:
            k -= ONE
            u = (y[k] - Ux[end - ONE] * v) * D[k]
            y[k] = 0.0
            out[order[k]] = u
            first = np.uint64(Up[k])
            beside = second - first
            for s in range(first, second):
                i = Ui[s]
                y[i] = (y[i] - Ux[s] * u) - Ux[s + beside] * v
        else:
            for s in range(second, end):
                y[Ui[s]] -= Ux[s] * v


def ordering(indptr: NDArray[np.uint32], indices: NDArray[np.uint32]) -> tuple[NDArray[np.intp], int]:
    """Return the columns in the order of elimination, minimum degree on A + A^T, and the entries of a factor.

    SuperLU computes it as a part of a factorisation; it gets a diagonally dominant matrix of the same
    pattern, since the ordering depends on the pattern alone and must not fail on values. The entries are
    those of its larger factor. Runs that differ in their events have the same patterns: those last met are
    remembered.
    """
    order, entries = _ordering(indptr.astype(np.int32).tobytes(), indices.astype(np.int32).tobytes())
    return order.copy(), entries


@functools.lru_cache(maxsize=32)
def _ordering(starts: bytes, rows: bytes) -> tuple[NDArray[np.intp], int]:
    indptr, indices = np.frombuffer(starts, np.int32), np.frombuffer(rows, np.int32)
    n = len(indptr) - 1
    pattern = sparse.csc_matrix((np.ones(len(indices)), indices, indptr), (n, n))
    dominant = pattern + sparse.diags_array(np.full(n, 2.0 * n + 2.0), format="csc")
    done = splu(
        dominant.tocsc(), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True}
    )
    return np.argsort(done.perm_c), int(max(done.L.nnz, done.U.nnz))


def order_and_room(indptr: NDArray[np.uint32], indices: NDArray[np.uint32]) -> tuple[NDArray[np.uint32], int]:
    """Return the order of elimination of the columns, and the entries to make room for in each factor."""
    n = len(indptr) - 1
    order, entries = ordering(indptr, indices) if n else (np.zeros(0, np.intp), 0)
    # Pivots off the diagonal fill in more than the symmetric pattern; n for the column in hand.
    return order.astype(np.uint32), 2 * entries + 2 * n


def make_lu(
    indptr: NDArray[np.uint32],
    indices: NDArray[np.uint32],
    order: NDArray[Any] | None = None,
    room: int | None = None,
) -> tuple[Lu, Search]:
    """Return the arrays of a factorisation of a square CSC pattern, not factorised yet.

    Parameters
    ----------
    indptr, indices
        The pattern of order n.
    order
        Order of elimination of the columns; None computes it with `order_and_room`.
    room
        Entries that each factor may have; None for what the pattern suggests. Where pivots off the diagonal
        need more, `first_factors` says so.
    """
    n = len(indptr) - 1
    if order is None:
        order, usual = order_and_room(indptr, indices)
        room = usual if room is None else room
    room = 8 * len(indices) + 2 * n if room is None else room

    def index(size: int) -> NDArray[np.uint32]:
        return np.zeros(size, np.uint32)

    def work(size: int) -> NDArray[np.int64]:
        return np.zeros(size, np.int64)

    lu = Lu(
        indptr=np.ascontiguousarray(indptr, dtype=np.uint32),
        indices=np.ascontiguousarray(indices, dtype=np.uint32),
        rows=index(len(indices)),
        order=np.ascontiguousarray(order, dtype=np.uint32),
        position=index(n),
        Lp=index(n + 1),
        Li=index(room),
        Lx=np.zeros(room),
        Up=index(n + 1),
        Ui=index(room),
        Ux=np.zeros(room),
        D=np.zeros(n),
        pair=index(n),
        work=np.zeros(2 * n),
        state=work(2),
    )
    search = Search(
        pivot_of=work(n),
        mark=work(n),
        stack=work(n),
        head=work(n),
        topological=work(n),
        sums=np.zeros(n),
        Tp=index(n + 1),
        Ti=index(room),
        Tx=np.zeros(room),
    )
    return lu, search


def with_room(lu: Lu) -> tuple[Lu, Search]:
    """Return the arrays with twice the room for the factors, not factorised yet."""
    return make_lu(lu.indptr, lu.indices, lu.order, 2 * lu.Li.size + len(lu.indptr))


def factorise(
    indptr: NDArray[np.uint32],
    indices: NDArray[np.uint32],
    values: NDArray[np.float64],
    order: NDArray[np.intp] | None = None,
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
    lu, search = make_lu(indptr, indices, order)
    while (status := first_factors(lu, search, values)) == NO_ROOM:
        lu, search = with_room(lu)
    if status != DONE:
        raise SingularError(why_singular(lu, search, status, values, columns, rows))
    return lu


def why_singular(
    lu: Lu,
    search: Search,
    status: int,
    values: NDArray[np.float64],
    columns: Sequence[str] | None,
    rows: Sequence[str] | None,
) -> str:
    """Say why `first_factors` ended with SINGULAR or NOT_FINITE."""
    if status == NOT_FINITE:
        bad = np.flatnonzero(~np.isfinite(values[: len(lu.indices)]))
        if bad.size:
            at = int(bad[0])
            column = int(np.searchsorted(lu.indptr, at, side="right")) - 1
            where = f"d {_named(rows, 'row', int(lu.indices[at]))} / d {_named(columns, 'column', column)}"
            return f"the Jacobian entry {where} is {values[at]}"
    left = np.flatnonzero(search.pivot_of < 0)
    equations = ", ".join(_named(rows, "row", int(i)) for i in left[:3])
    more = f" and {len(left) - 3} more" if len(left) > 3 else ""
    return (
        f"the matrix is singular: {_named(columns, 'column', int(lu.state[FAILED_AT]))} cannot be determined "
        f"from the remaining equations ({equations}{more})"
    )


def _named(names: Sequence[str] | None, kind: str, index: int) -> str:
    return names[index] if names is not None else f"{kind} {index}"
