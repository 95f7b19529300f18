"""The first factorisation of a sparse matrix: pivots and pattern of the factors (Gilbert and Peierls, 1988).

Left-looking by columns: a depth-first search through the factors so far finds the pattern of the next column
in time proportional to the arithmetic, then the largest candidate or the diagonal becomes the pivot.
"""

from __future__ import annotations

import numpy as np

from psmr.dae.compile.cache import compiled


@compiled
def _grown(array, size):  # type: ignore[no-untyped-def]
    longer = np.empty(size, array.dtype)
    for i in range(array.size):
        longer[i] = array[i]
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
def first_factors(n, Ap, Ai, Ax, order, threshold):  # type: ignore[no-untyped-def]
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
