"""The first factorisation of a sparse matrix: pivots and pattern of the factors (Gilbert and Peierls, 1988).

Left-looking by columns: a depth-first search through the factors so far finds the pattern of the next column
in time proportional to the arithmetic, then the largest candidate or the diagonal becomes the pivot, each
relative to the sum of its row. Nothing is allocated, so that pivots can be chosen within a compiled Newton
iteration.

Two columns whose factors have one pattern are a pair. A bus has two voltages, whose columns and rows have
entries in the same places, and elimination keeps them so: of the multiplications of a network with 9,241
buses 94 of 100 are between two pairs. A refactorisation takes two thirds of the time so, and a solve seven
tenths (measured: 1,354 and 9,241 buses).
"""

from __future__ import annotations

import numpy as np

from psmr.dae.compile.decorators import lean
from psmr.integrate.constants import TUNED
from psmr.integrate.solve.status import DONE, NO_ROOM, NOT_FINITE, SINGULAR

# Places in `Lu.state`.
READY, FAILED_AT = range(2)

# What `Lu.pair` says of a column.
ALONE, FIRST, SECOND = range(3)

# Unsigned, as the indices that they are added to.
NONE, ONE, TWO, THREE = np.uint64(0), np.uint64(1), np.uint64(2), np.uint64(3)


@lean
def find_pairs(lu):  # type: ignore[no-untyped-def]
    """Write which columns are pairs, of factors whose rows are sorted within columns."""
    n, k, pair = np.uint64(lu.D.size), NONE, lu.pair
    while k < n:
        if k + ONE < n and _alike(lu, k):
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
    for i in range(n):
        lu.position[i] = position[i]
    for p in range(lu.rows.size):
        lu.rows[p] = position[lu.indices[p]]
    lu.state[READY] = 1
    return DONE
