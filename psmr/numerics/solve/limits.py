"""Residuals and non-windup limits at a point: evaluate, project, place; compiled.

A limit holds a state whose derivative points out of it. A constant limit makes the derivative zero; at one
that moves the raw derivative stays: whether it takes the state beyond is known at the end of the step only.
"""

from __future__ import annotations

from psmr.dae.compile.cache import lean
from psmr.dae.compile.kernels import residual
from psmr.numerics.solve.records import (
    LOWER_AT,
    RESIDUALS,
    STATE,
    UPPER_AT,
    VALID,
    kept_of,
    limits_of,
    matrix_of,
    ramps_of,
    work_of,
)


@lean
def follow_ramps(block, w):  # type: ignore[no-untyped-def]
    """Write the held inputs that ramp as they are at the time in w."""
    ramps = ramps_of(block)
    at, values = ramps.at, ramps.values
    for k in range(at.size):
        w[at[k]] = values[k, 0] + values[k, 1] * (w[-1] - values[k, 2])


@lean
def evaluate(block, w):  # type: ignore[no-untyped-def]
    """Write the raw residual at w into F, unless it is there."""
    kept = kept_of(block)
    if kept.memory[VALID] == 0.0:
        matrix = matrix_of(block)
        follow_ramps(block, w)
        residual(matrix.table, w, matrix.F)
        kept.counts[RESIDUALS] += 1
        kept.memory[VALID] = 1.0


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


@lean
def clip(block, w):  # type: ignore[no-untyped-def]
    """Put the states that passed a limit onto it."""
    move_limits(block, w)
    limits, variables = limits_of(block), matrix_of(block).variables
    for i in limits.bounded:
        at = variables[i]
        w[at] = min(max(w[at], limits.lower[i]), limits.upper[i])


@lean
def place(block, w):  # type: ignore[no-untyped-def]
    """Write known, limited, into the states of w: an explicit stage."""
    known, variables = work_of(block).known, matrix_of(block).variables
    for i in range(known.size):
        w[variables[i]] = known[i]
    follow_ramps(block, w)
    clip(block, w)
    kept_of(block).memory[VALID] = 0.0


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
