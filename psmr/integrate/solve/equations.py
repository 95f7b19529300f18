"""The equations of a block at a point: residual, non-windup limits, and rates; compiled.

A non-windup limit holds a state whose derivative points out of it. A row of Newton's whose unclipped
right-hand side is beyond a limit is x - limit, and its matrix row is that of the identity, with -1 in the
column of a limit that is a variable of the block (semismooth Newton). A constant limit makes the derivative
zero; at one that moves the raw derivative stays: whether it takes the state beyond is known at the end of the
step only.
"""

from __future__ import annotations

import numpy as np

from psmr.dae.compile.decorators import lean
from psmr.dae.compile.kernels import residual
from psmr.integrate.solve.lu import solve as solve_factors
from psmr.integrate.solve.records import (
    BOUNDED,
    LOWER_AT,
    LOWER_SLOT,
    QUICK,
    RESIDUALS,
    STATE,
    TURNING,
    UPPER_AT,
    UPPER_SLOT,
    VALID,
    follows,
    limits_of,
    lu_of,
    matrix_of,
    newton_state_of,
    ramps_of,
    reals,
    work_of,
)

LONG = 1e6
"""Coefficient in s of the rate of a state at rest in each stage: it is at rest to a millionth."""


@lean
def follow_ramps(block, w):  # type: ignore[no-untyped-def]
    """Write the held inputs that ramp, and the block's parameters that do, as they are at the time in w."""
    if not follows(block):
        return
    ramps = ramps_of(block)
    at, rows, time, first = ramps.at, ramps.rows, w[w.size - 1], 0
    until = ramps.until[0]
    for k in range(ramps.ends.size):
        row, end = ramps.cursor[k], ramps.ends[k]
        while row + 1 < end and rows[row + 1, 0] <= time and rows[row + 1, 0] < until:
            row += 1
        while row > first and rows[row, 0] > time:
            row -= 1
        ramps.cursor[k], first = row, end
        x = time - rows[row, 0]
        if np.isnan(rows[row, 2]):
            begin = rows[row, 1]
            value = begin + x / (x + rows[row, 3]) * (w[int(rows[row, 4])] - begin)
        else:
            value = rows[row, 1] + x * (rows[row, 2] + x * (rows[row, 3] + x * rows[row, 4]))
        if k < at.size:
            w[at[k]] = value
        elif ramps.places[k - at.size] != 0:
            reals(ramps.places[k - at.size], 1)[0] = value


@lean
def evaluate(block, w):  # type: ignore[no-untyped-def]
    """Write the raw residual at w into F, unless it is there."""
    state = newton_state_of(block)
    if state.scalars[VALID] == 0.0:
        matrix = matrix_of(block)
        follow_ramps(block, w)
        residual(matrix.table, w, matrix.F)
        if state.scalars[TURNING] != 0.0:
            states = work_of(block).known.size
            for i in matrix.angles:
                if i < states:
                    matrix.F[i] -= state.scalars[TURNING]
        for i in matrix.resting:
            matrix.F[i] *= state.scalars[QUICK]
        state.counts[RESIDUALS] += 1
        state.scalars[VALID] = 1.0


@lean
def take_out_turn(block):  # type: ignore[no-untyped-def]
    """Take out of an update by what all angles turn, and return that in rad; the defect is lost.

    Where angles are at rest their common one is free: that of the first one stays, and the frame turns as
    fast as that needs. An update less s q, with q what the same matrix makes of a defect 1 of all angles,
    solves the same equations in a frame that turns faster by s / LONG.
    """
    matrix, work = matrix_of(block), work_of(block)
    defect, update, turn, states = work.defect, work.update, matrix.turn, work.known.size
    for i in range(defect.size):
        defect[i] = 0.0
    for i in matrix.angles:
        if i < states:
            defect[i] = 1.0
    solve_factors(lu_of(block), defect, turn)
    first = matrix.angles[0]
    s = update[first] / turn[first]
    for i in range(update.size):
        update[i] -= s * turn[i]
    return s


@lean
def move_limits(block, w):  # type: ignore[no-untyped-def]
    """Write the values at w of the limits that move into `lower` and `upper`."""
    limits = limits_of(block)
    moving = limits.moving
    for k in range(moving.shape[0]):
        i, low, high = moving[k, STATE], moving[k, LOWER_AT], moving[k, UPPER_AT]
        if low >= 0:
            limits.lower[i] = w[low]
        if high >= 0:
            limits.upper[i] = w[high]


@lean
def hold_defect(block, w, a):  # type: ignore[no-untyped-def]
    """Put x - limit into the Newton residual where one holds; return whether the matrix has others."""
    move_limits(block, w)
    work, matrix, limits = work_of(block), matrix_of(block), limits_of(block)
    defect, known, F, variables = work.defect, work.known, matrix.F, matrix.variables
    changed = False
    for b in range(limits.bounded.size):
        i = limits.bounded[b]
        x = w[variables[i]]
        wanted = known[i] + a * F[i]
        if matrix.own.size > 0 and matrix.own[i] > 0.0:  # where its rate leads it
            wanted = x + matrix.own[i] * F[i] / newton_state_of(block).scalars[QUICK]
        limits.held[b] = 0
        if wanted > limits.upper[i]:
            limits.held[b] = 1
            defect[i] = x - limits.upper[i]
        elif wanted < limits.lower[i]:
            limits.held[b] = -1
            defect[i] = x - limits.lower[i]
        changed |= limits.held[b] != limits.held_in_matrix[b]
    return changed


@lean
def hold_matrix(block, mark, new):  # type: ignore[no-untyped-def]
    """Make the matrix rows of the states that limits hold those of x - limit.

    Where J is not `new`, the rows that are held otherwise than before become what they are now, and the
    columns of their entries are marked.
    """
    matrix, limits = matrix_of(block), limits_of(block)
    J, slots, free = matrix.J, limits.slots, limits.free
    first = 0
    for b in range(limits.bounded.size):
        end = limits.ends[b]
        if new:
            for s in range(first, end):
                free[s] = J[slots[s]]
        if limits.held[b] != limits.held_in_matrix[b] or (new and limits.held[b] != 0):
            limits.held_in_matrix[b] = limits.held[b]
            for s in range(first, end):
                J[slots[s]] = 0.0 if limits.held[b] != 0 else free[s]
                mark[limits.columns[s]] = 1
            if limits.held[b] != 0:
                J[matrix.diagonal[limits.bounded[b]]] = 1.0
        first = end
    for k in range(limits.moving.shape[0]):
        side = limits.held[limits.moving[k, BOUNDED]]
        if side != 0:
            J[limits.moving[k, UPPER_SLOT if side > 0 else LOWER_SLOT]] = -1.0


@lean
def put_onto_limits(block, w):  # type: ignore[no-untyped-def]
    """Put the states that passed a limit onto it."""
    move_limits(block, w)
    limits, variables = limits_of(block), matrix_of(block).variables
    for i in limits.bounded:
        at = variables[i]
        w[at] = min(max(w[at], limits.lower[i]), limits.upper[i])


@lean
def follow_limits(block, w, tolerance):  # type: ignore[no-untyped-def]
    """Place the states anew whose limits moved since; return whether one of them changed."""
    move_limits(block, w)
    limits, known, variables = limits_of(block), work_of(block).known, matrix_of(block).variables
    moving = limits.moving
    changed = False
    for k in range(moving.shape[0]):
        i = moving[k, STATE]
        at = variables[i]
        x = min(max(known[i], limits.lower[i]), limits.upper[i])
        changed |= abs(x - w[at]) > tolerance * max(1.0, abs(x))
        w[at] = x
    return changed


@lean
def project(block, w, rate):  # type: ignore[no-untyped-def]
    """Write the derivatives at w into the places of their states; zero where a constant limit holds one."""
    evaluate(block, w)
    matrix, limits = matrix_of(block), limits_of(block)
    F, variables, moving = matrix.F, matrix.variables, limits.moving
    for i in range(work_of(block).known.size):
        rate[variables[i]] = F[i]
    for b in range(limits.bounded.size):
        i = limits.bounded[b]
        at = variables[i]
        if (w[at] >= limits.upper[i] and F[i] > 0.0) or (w[at] <= limits.lower[i] and F[i] < 0.0):
            rate[at] = 0.0
    for k in range(moving.shape[0]):
        i = moving[k, STATE]
        if moving[k, UPPER_AT if F[i] > 0.0 else LOWER_AT] >= 0:
            rate[variables[i]] = F[i]
    for i in matrix.resting:
        rate[variables[i]] = 0.0


@lean
def place(block, w):  # type: ignore[no-untyped-def]
    """Write known, limited, into the states of w: an explicit stage."""
    known, variables = work_of(block).known, matrix_of(block).variables
    for i in range(known.size):
        w[variables[i]] = known[i]
    follow_ramps(block, w)
    put_onto_limits(block, w)
    newton_state_of(block).scalars[VALID] = 0.0
