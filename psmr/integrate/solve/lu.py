"""Sparse LU for one pattern and many values.

The first factorisation (Gilbert and Peierls, 1988) chooses pivots and finds the pattern of the factors:
left-looking by columns, a depth-first search through the factors so far finds the pattern of the next column
in time proportional to the arithmetic, then the largest candidate or the diagonal becomes the pivot, each
relative to the sum of its row. Nothing is allocated, so that pivots can be chosen within a compiled Newton
iteration. After that, `refactor` repeats the arithmetic alone on the fixed pattern, as KLU does, and
`pivots_suit` says when the old pivots do not serve the new values. Columns are ordered once by minimum degree
on A + A^T, which keeps the large diagonal of a network where it is. Indices are unsigned: signed ones cost a
wrap-around test per access.

Two columns whose factors have one pattern, as those of both voltages of a bus mostly have, are a pair and
taken together: an index that is read serves four products. Of the multiplications of a network with 9,241
buses 94 of 100 are between two pairs; a refactorisation takes two thirds of the time so, and a solve seven
tenths (measured: 1,354 and 9,241 buses).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from psmr.dae.compile.decorators import lean
from psmr.integrate.constants import TUNED
from psmr.integrate.solve.status import DONE, NO_ROOM, NOT_FINITE, SINGULAR

READY, FAILED_AT, BORDER = range(3)  # places in `Lu.state`
ALONE, FIRST, SECOND = range(3)  # what `Lu.pair` says of a column

# Unsigned, as the indices that they are added to.
NONE, ONE, TWO, THREE = np.uint64(0), np.uint64(1), np.uint64(2), np.uint64(3)


@lean
def find_pairs(lu):  # type: ignore[no-untyped-def]
    """Write which columns are pairs, of factors with sorted rows; none crosses the border."""
    n, k, pair, border = np.uint64(lu.D.size), NONE, lu.pair, np.uint64(lu.state[BORDER])
    while k < n:
        if k + ONE < n and k + ONE != border and _alike(lu, k):
            pair[k], pair[k + ONE] = FIRST, SECOND
            k += TWO
        else:
            pair[k] = ALONE
            k += ONE


@lean
def _alike(lu, k):  # type: ignore[no-untyped-def]
    """Return whether columns k and k + 1 of both factors have one pattern, their common block filled."""
    Lp, Li, Up, Ui = lu.Lp, lu.Li, lu.Up, lu.Ui
    first, second, end = np.uint64(Lp[k]), np.uint64(Lp[k + ONE]), np.uint64(Lp[k + TWO])
    if first == second or end + ONE != second + (second - first) or Li[first] != k + ONE:
        return False
    alike, back = True, second - first - ONE
    for s in range(second, end):
        alike &= Li[s - back] == Li[s]
    first, second, end = np.uint64(Up[k]), np.uint64(Up[k + ONE]), np.uint64(Up[k + TWO])
    if end != second + (second - first) + ONE or Ui[end - ONE] != k:
        return False
    beside = second - first
    for s in range(first, second):
        alike &= Ui[s] == Ui[s + beside]
    return alike


@lean
def _find_ends(lu):  # type: ignore[no-untyped-def]
    """Write where the rows ahead of the border end in each column of the factors, whose rows are sorted."""
    border, n = lu.state[BORDER], lu.D.size
    for p, i, ends in ((lu.Lp, lu.Li, lu.Le), (lu.Up, lu.Ui, lu.Ue)):
        for k in range(n):
            end = p[k]
            while end < p[k + 1] and i[end] < border:
                end += 1
            ends[k] = end


@lean
def _transpose(n, Ap, Ai, Ax, Bp, Bi, Bx, head):  # type: ignore[no-untyped-def]
    """Write the transpose; its columns come out sorted."""
    for i in range(n + 1):
        Bp[i] = 0
    for p in range(Ap[n]):
        Bp[Ai[p] + 1] += 1
    for i in range(n):
        Bp[i + 1] += Bp[i]
        head[i] = Bp[i]
    for j in range(n):
        for p in range(Ap[j], Ap[j + 1]):
            t = head[Ai[p]]
            head[Ai[p]] = t + 1
            Bi[t], Bx[t] = j, Ax[p]


@lean
def _sort_columns(n, search, Ap, Ai, Ax):  # type: ignore[no-untyped-def]
    """Sort the rows within columns: ascending rows are a topological order, which refactor relies on."""
    _transpose(n, Ap, Ai, Ax, search.Tp, search.Ti, search.Tx, search.head)
    _transpose(n, search.Tp, search.Ti, search.Tx, Ap, Ai, Ax, search.head)


@lean
def _reach(k, column, lu, search, nl):  # type: ignore[no-untyped-def]
    """Find the pattern of column k by depth-first search; return (first in `topological`, end of L)."""
    position, mark, stack = search.pivot_of, search.mark, search.stack
    head, topological = search.head, search.topological
    Lp, Li = lu.Lp, lu.Li
    top = mark.size
    for p in range(lu.indptr[column], lu.indptr[column + 1]):
        row = lu.indices[p]
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


@lean
def sum_rows(rows, values, sums):  # type: ignore[no-untyped-def]
    """Write the sum of the sizes of each row's entries; 1 where it is zero or not finite."""
    for i in range(sums.size):
        sums[i] = 0.0
    for p in range(rows.size):
        sums[rows[p]] += abs(values[p])
    for i in range(sums.size):
        if not 0.0 < sums[i] < np.inf:
            sums[i] = 1.0


@lean
def first_factors(lu, search, values):  # type: ignore[no-untyped-def]
    """Factorise, choosing pivots; return DONE, SINGULAR or NOT_FINITE (which column: `lu.state`), NO_ROOM."""
    n, x, sums = lu.D.size, lu.work, search.sums
    Lp, Li, Lx, Up, Ui, Ux, D = lu.Lp, lu.Li, lu.Lx, lu.Up, lu.Ui, lu.Ux, lu.D
    position, topological = search.pivot_of, search.topological
    lu.state[READY] = 0
    sum_rows(lu.indices, values, sums)
    for i in range(n):
        position[i] = search.mark[i] = -1
        x[i] = 0.0
    nl, nu = 0, 0
    Lp[0] = Up[0] = 0
    for k in range(n):
        column = lu.order[k]
        if nl + n > Li.size or nu + n > Ui.size:
            return NO_ROOM
        first = nl
        top, nl = _reach(k, column, lu, search, nl)
        for p in range(lu.indptr[column], lu.indptr[column + 1]):
            x[lu.indices[p]] = values[p]
        for t in range(top, n):
            row = topological[t]
            j, u = position[row], x[row]
            x[row] = 0.0
            Ui[nu], Ux[nu] = j, u
            nu += 1
            for p in range(Lp[j], Lp[j + 1]):
                x[Li[p]] -= Lx[p] * u
        largest, pivot, diagonal, finite = 0.0, -1, -1, True
        for p in range(first, nl):
            size = abs(x[Li[p]]) / sums[Li[p]]
            finite &= np.isfinite(size)
            if size > largest:
                largest, pivot = size, p
            if Li[p] == column:
                diagonal = p
        if pivot < 0 or not finite:
            lu.state[FAILED_AT] = column
            for p in range(first, nl):
                x[Li[p]] = 0.0
            return SINGULAR if finite else NOT_FINITE
        if diagonal >= 0 and abs(x[column]) >= TUNED.pivot_threshold * largest * sums[column]:
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
    _sort_columns(n, search, Lp, Li, Lx)
    _sort_columns(n, search, Up, Ui, Ux)
    find_pairs(lu)
    _find_ends(lu)
    for i in range(n):
        lu.position[i] = position[i]
    for p in range(lu.rows.size):
        lu.rows[p] = position[lu.indices[p]]
    lu.state[READY] = 1
    return DONE


class Lu(NamedTuple):
    """Factors of a sparse matrix and all that `refactor` and `solve` need.

    `indptr`, `indices`: The pattern (CSC).
    `rows`: Pivot position of the row of each entry.
    `order`, `position`: Column that is eliminated k-th, and the pivot position of each row.
    `Lp`, `Li`, `Lx`, `Up`, `Ui`, `Ux`: Strict triangles by column, in pivot positions; the arrays have room
      for more.
    `Le`, `Ue`: Where in each column of them the rows ahead of the border end.
    `D`: Inverse pivots.
    `pair`: Of each column whether it is alone (0), the first of a pair (1) or the second (2).
    `mark`: Columns with new values, in the order of elimination, see `refactor_marked`.
    `work`: (2n,) zeros, zero again after every call: two columns, entry by entry beside each other.
    `state`: [whether pivots have been chosen, column at which that failed, how many columns are ahead of the
      border: of devices, which are eliminated first; behind it is the network].
    """

    indptr: np.ndarray
    indices: np.ndarray
    rows: np.ndarray
    order: np.ndarray
    position: np.ndarray
    Lp: np.ndarray
    Li: np.ndarray
    Lx: np.ndarray
    Le: np.ndarray
    Up: np.ndarray
    Ui: np.ndarray
    Ux: np.ndarray
    Ue: np.ndarray
    D: np.ndarray
    pair: np.ndarray
    mark: np.ndarray
    work: np.ndarray
    state: np.ndarray


class Search(NamedTuple):
    """Room of `first_factors` for the search of a column's pattern, and for a transposed triangle.

    `pivot_of`: Pivot position of each row, -1 for a row that has none yet.
    `mark`, `stack`, `head`, `topological`: Of the depth-first search.
    `sums`: See `psmr.integrate.solve.lu.sum_rows`.
    `Tp`, `Ti`, `Tx`: A triangle, transposed.
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

    Where not, a multiplier is too large, or a pivot is zero or not finite: `pivots_suit` looks closer.
    """
    return _eliminate(lu, values, NONE, np.uint64(lu.D.size), lu.Lp, lu.Up, ONE)


@lean
def refactor_ahead(lu, values):  # type: ignore[no-untyped-def]
    """Factorise new values of the rows and columns ahead of the border; return as `refactor` does.

    The factors are then those of a matrix with these rows and columns, whose Schur complement behind the
    border is the old one.
    """
    border, n = np.uint64(lu.state[BORDER]), np.uint64(lu.D.size)
    sound = _eliminate(lu, values, NONE, border, lu.Lp, lu.Up, ONE)
    _eliminate(lu, values, border, n, lu.Le, lu.Ue, NONE)
    return sound


@lean
def refactor_marked(lu, values):  # type: ignore[no-untyped-def]
    """Do as `refactor_ahead` where the marked columns alone have new values; mark those that they change."""
    mark, pair, Up, Ui, Ue = lu.mark, lu.pair, lu.Up, lu.Ui, lu.Ue
    border, n, sound, k = np.uint64(lu.state[BORDER]), np.uint64(lu.D.size), True, NONE
    while k < n:
        changed, behind = mark[k], k + ONE
        for p in range(Up[k], Ue[k]):
            changed |= mark[Ui[p]]
        if pair[k] == FIRST:
            changed |= mark[behind]
            mark[behind] = changed
            behind += ONE
        mark[k] = changed
        if changed != 0:
            if k < border:
                sound &= _eliminate(lu, values, k, behind, lu.Lp, lu.Up, ONE)
            else:
                _eliminate(lu, values, k, behind, lu.Le, lu.Ue, NONE)
        k = behind
    return sound


@lean
def _eliminate(lu, values, k, last, L_end, U_end, shift):  # type: ignore[no-untyped-def]
    """Factorise columns k to last - 1, each up to the ends given; with a `shift` of 0 it writes none of L.

    Column k is in the even entries of `work`, its companion in the odd ones. u and v are entries of U of both
    in row j, and u_2 and v_2 those in the row of the companion of j.
    """
    indptr, rows, order, pair, x = lu.indptr, lu.rows, lu.order, lu.pair, lu.work
    Lp, Li, Lx, Up, Ui, Ux, D = lu.Lp, lu.Li, lu.Lx, lu.Up, lu.Ui, lu.Ux, lu.D
    sound = True
    while k < last:
        column, at = order[k], TWO * k
        for p in range(indptr[column], indptr[column + ONE]):
            x[TWO * rows[p]] = values[p]
        p, end = np.uint64(Up[k]), np.uint64(U_end[k + shift])
        if pair[k] == ALONE:
            while p < end:
                j = np.uint64(Ui[p])
                u = x[TWO * j]
                x[TWO * j] = 0.0
                Ux[p] = u
                p += ONE
                first = np.uint64(Lp[j])
                if pair[j] == FIRST:
                    second = np.uint64(Lp[j + ONE])
                    u_2 = x[TWO * j + TWO] - Lx[first] * u
                    x[TWO * j + TWO] = 0.0
                    Ux[p] = u_2
                    p += ONE
                    back = second - first - ONE
                    for s in range(second, np.uint64(L_end[j + ONE + shift])):
                        i = TWO * Li[s]
                        x[i] = (x[i] - Lx[s - back] * u) - Lx[s] * u_2
                else:
                    for s in range(first, np.uint64(L_end[j + shift])):
                        x[TWO * Li[s]] -= Lx[s] * u
            if shift == NONE:
                for p in range(indptr[column], indptr[column + ONE]):
                    x[TWO * rows[p]] = 0.0
                k += ONE
                continue
            d = 1.0 / x[at]
            x[at] = 0.0
            D[k] = d
            sound &= d != 0.0 and np.isfinite(d)
            for s in range(Lp[k], Lp[k + ONE]):
                i = TWO * Li[s]
                m = x[i] * d
                x[i] = 0.0
                Lx[s] = m
                sound &= abs(m) <= TUNED.largest_multiplier
            k += ONE
            continue
        column = order[k + ONE]
        for p_2 in range(indptr[column], indptr[column + ONE]):
            x[TWO * rows[p_2] + ONE] = values[p_2]
        beside = np.uint64(Up[k + ONE]) - p
        while p < end:
            j = np.uint64(Ui[p])
            of_j = TWO * j
            u, v = x[of_j], x[of_j + ONE]
            x[of_j] = x[of_j + ONE] = 0.0
            Ux[p], Ux[p + beside] = u, v
            p += ONE
            first = np.uint64(Lp[j])
            if pair[j] == FIRST:
                second = np.uint64(Lp[j + ONE])
                m = Lx[first]
                u_2, v_2 = x[of_j + TWO] - m * u, x[of_j + THREE] - m * v
                x[of_j + TWO] = x[of_j + THREE] = 0.0
                Ux[p], Ux[p + beside] = u_2, v_2
                p += ONE
                back = second - first - ONE
                for s in range(second, np.uint64(L_end[j + ONE + shift])):
                    i, m, m_2 = TWO * Li[s], Lx[s - back], Lx[s]
                    x[i] = (x[i] - m * u) - m_2 * u_2
                    x[i + ONE] = (x[i + ONE] - m * v) - m_2 * v_2
            else:
                for s in range(first, np.uint64(L_end[j + shift])):
                    i, m = TWO * Li[s], Lx[s]
                    x[i] -= m * u
                    x[i + ONE] -= m * v
        if shift == NONE:
            for p in range(indptr[order[k]], indptr[order[k] + ONE]):
                x[TWO * rows[p]] = 0.0
            for p in range(indptr[column], indptr[column + ONE]):
                x[TWO * rows[p] + ONE] = 0.0
            k += TWO
            continue
        d, u = 1.0 / x[at], x[at + ONE]
        m = x[at + TWO] * d
        d_2 = 1.0 / (x[at + THREE] - m * u)
        x[at] = x[at + ONE] = x[at + TWO] = x[at + THREE] = 0.0
        D[k], D[k + ONE] = d, d_2
        Ux[Up[k + TWO] - ONE] = u
        first, second = np.uint64(Lp[k]), np.uint64(Lp[k + ONE])
        Lx[first] = m
        sound &= d != 0.0 and d_2 != 0.0 and np.isfinite(d) and np.isfinite(d_2)
        sound &= abs(m) <= TUNED.largest_multiplier
        back = second - first - ONE
        for s in range(second, np.uint64(Lp[k + TWO])):
            i = TWO * Li[s]
            m = x[i] * d
            m_2 = (x[i + ONE] - m * u) * d_2
            x[i] = x[i + ONE] = 0.0
            Lx[s - back], Lx[s] = m, m_2
            sound &= abs(m) <= TUNED.largest_multiplier and abs(m_2) <= TUNED.largest_multiplier
        k += TWO
    return sound


@lean
def pivots_suit(lu, search, values):  # type: ignore[no-untyped-def]
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
