"""The linearisations of ANDES and psmr: their Jacobians, and those eigenvalues that machines see."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from scipy.sparse.csgraph import breadth_first_order

from tests.internals import System
from tests.peers.andes_system import machines

Reals = NDArray[np.float64]
Complexes = NDArray[np.complex128]

STEP = 1e-6
"""Of the central differences: roundoff and third derivatives are both of about 1e-10."""
TINY = 1e-7
"""Entries of a Jacobian below this are none: ANDES puts 1e-8 on some diagonals."""
ZERO = 1e-4
"""Eigenvalues below this, in 1/s, are zero: the root of the error of the differences."""


def jacobian(system: Any) -> Reals:
    """Return ANDES' own (n + m, n + m) Jacobian of T x' = f and 0 = g."""
    from kvxopt import matrix

    system.j_update(models=system.exist.pflow_tds)
    blocks = (system.dae.fx, system.dae.fy, system.dae.gx, system.dae.gy)
    f_x, f_y, g_x, g_y = (np.array(matrix(block)) for block in blocks)
    return np.block([[f_x, f_y], [g_x, g_y]])


def differenced(system: Any) -> Reals:
    """Return the Jacobian by central differences of ANDES' f and g."""
    dae = system.dae
    n, size = dae.n, dae.n + dae.m
    start = np.r_[dae.x, dae.y]

    def residual(w: Reals) -> Reals:
        dae.x[:], dae.y[:] = w[:n], w[n:]
        system.vars_to_models()
        system.TDS.fg_update(models=system.exist.pflow_tds)
        return np.r_[dae.f, dae.g]

    found = np.empty((size, size))
    for j in range(size):
        step = STEP * max(1.0, abs(start[j]))
        there, back = start.copy(), start.copy()
        there[j] += step
        back[j] -= step
        found[:, j] = (residual(there) - residual(back)) / (2 * step)
    residual(start)
    return found


def eigenvalues(system: Any, whole: Reals) -> Complexes:
    """Return those eigenvalues of the pencil of a Jacobian and ANDES' time constants that machines see."""
    time = np.r_[system.dae.Tf, np.zeros(system.dae.m)]
    return seen(whole, time, [model.omega.a[i] for model, i in machines(system)])


def own_eigenvalues(system: System) -> Complexes:
    """Return the same of psmr's system."""
    whole = system.linearise().jacobian().toarray()
    speeds = [i for i, name in enumerate(system.names_x) if name.endswith(".omega")]
    return seen(whole, np.r_[np.ones(system.n), np.zeros(system.m)], speeds)


def seen(whole: Reals, time: Reals, speeds: list[int]) -> Complexes:
    """Return the finite eigenvalues of the pencil (whole, diag(time)), without what no speed depends on.

    States with the time constant zero are algebraic. Left out are states that no chain of equations leads
    from to a speed, or from a speed to: the filter of a frequency meter that a stabiliser has but does not
    read, a lead-lag whose two time constants are equal, a stabiliser with a gain of zero.
    """
    depends = sparse.csr_array(np.abs(whole) > TINY)
    chosen = np.flatnonzero(_reached(depends, speeds) & _reached(depends.T.tocsr(), speeds))
    whole, time = _of_index_one(whole[np.ix_(chosen, chosen)], time[chosen])
    slow, fast = np.flatnonzero(time), np.flatnonzero(time == 0)
    eliminated = np.linalg.solve(whole[np.ix_(fast, fast)], whole[np.ix_(fast, slow)])
    reduced = whole[np.ix_(slow, slow)] - whole[np.ix_(slow, fast)] @ eliminated
    return np.linalg.eigvals(reduced / time[slow][:, None])


def _reached(graph: sparse.csr_array, speeds: list[int]) -> NDArray[np.bool_]:
    """Return what is reached from the speeds along the edges of a graph."""
    reached = np.zeros(graph.shape[0], dtype=bool)
    for speed in speeds:
        if not reached[speed]:
            reached[breadth_first_order(graph, speed, return_predecessors=False)] = True
    return reached


def _of_index_one(whole: Reals, time: Reals) -> tuple[Reals, Reals]:
    """Return the pencil without derivatives that are variables.

    ANDES keeps blocks of zero time constants as x' = z, 0 = u - x: z is read by one state only. The state is
    then algebraic, and the row that defines z goes.
    """
    there = np.abs(whole) > TINY
    dropped = []
    for z in np.flatnonzero(time == 0):
        readers = np.flatnonzero(there[:, z])
        if len(readers) == 1 and time[readers[0]] != 0:
            dropped.append((int(z), int(readers[0])))
    columns = [i for i in range(len(time)) if i not in {z for z, _ in dropped}]
    # The row of z, which fixes x, takes the place of the row of x.
    rows = {x: z for z, x in dropped}
    order = [rows.get(i, i) for i in columns]
    return whole[np.ix_(order, columns)], np.array([0.0 if i in rows else time[i] for i in columns])


def matched(ours: Complexes, theirs: Complexes) -> tuple[Reals, Complexes, Complexes]:
    """Return (relative differences, ours, theirs), paired so that their sum is least, largest first.

    Where one has more eigenvalues than the other, the rest of it is left out.

    The zeros of the common angle and speed are double, and an error moves them by its root: they are called
    zero.
    """
    ours, theirs = (np.where(np.abs(values) < ZERO, 0.0, values) for values in (ours, theirs))
    error = np.abs(ours[:, None] - theirs) / np.maximum(np.abs(ours)[:, None], ZERO)
    rows, columns = linear_sum_assignment(np.minimum(error, 1e3))
    order = np.argsort(-error[rows, columns])
    rows, columns = rows[order], columns[order]
    return error[rows, columns], ours[rows], theirs[columns]
