"""Non-windup limits in Newton's method and after it; compiled.

A limit holds a state whose derivative points out of it. A row of Newton's whose unclipped right-hand side is
beyond a limit is x - limit, and its matrix row is that of the identity, with -1 in the column of a limit that
is a variable of the block (semismooth Newton). A constant limit makes the derivative zero; at one that moves
the raw derivative stays: whether it takes the state beyond is known at the end of the step only.
"""

from __future__ import annotations

from psmr.dae.compile.decorators import lean
from psmr.integrate.solve.records import (
    BOUNDED,
    LOWER_AT,
    LOWER_SLOT,
    STATE,
    UPPER_AT,
    UPPER_SLOT,
    limits_of,
    matrix_of,
    work_of,
)


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
def hold_matrix(block):  # type: ignore[no-untyped-def]
    """Make the matrix rows of the states that limits hold those of x - limit."""
    matrix, limits = matrix_of(block), limits_of(block)
    J = matrix.J
    first = 0
    for b in range(limits.bounded.size):
        end = limits.ends[b]
        limits.held_in_matrix[b] = limits.held[b]
        if limits.held[b] != 0:
            for s in range(first, end):
                J[limits.slots[s]] = 0.0
            J[matrix.diagonal[limits.bounded[b]]] = 1.0
        first = end
    for k in range(limits.moving.shape[0]):
        side = limits.held[limits.moving[k, BOUNDED]]
        if side != 0:
            J[limits.moving[k, UPPER_SLOT if side > 0 else LOWER_SLOT]] = -1.0


@lean
def clip(block, w):  # type: ignore[no-untyped-def]
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
