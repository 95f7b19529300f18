"""The raw residual of a block at a point, with the held inputs that ramp as they are then; compiled."""

from __future__ import annotations

from psmr.dae.compile.decorators import lean
from psmr.dae.compile.kernels import residual
from psmr.numerics.solve.records import RESIDUALS, VALID, kept_of, matrix_of, ramps_of


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
