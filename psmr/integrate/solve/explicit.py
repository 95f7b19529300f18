"""An explicit stage: the rates at a point and the states placed, both within their limits; compiled."""

from __future__ import annotations

from psmr.dae.compile.decorators import lean
from psmr.integrate.solve.evaluate import evaluate, follow_ramps
from psmr.integrate.solve.limits import clip
from psmr.integrate.solve.records import (
    LOWER_AT,
    STATE,
    UPPER_AT,
    VALID,
    limits_of,
    matrix_of,
    newton_state_of,
    work_of,
)


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
def place(block, w):  # type: ignore[no-untyped-def]
    """Write known, limited, into the states of w: an explicit stage."""
    known, variables = work_of(block).known, matrix_of(block).variables
    for i in range(known.size):
        w[variables[i]] = known[i]
    follow_ramps(block, w)
    clip(block, w)
    newton_state_of(block).memory[VALID] = 0.0
