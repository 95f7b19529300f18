"""The raw residual of a block at a point, with what follows a course as it is then; compiled."""

from __future__ import annotations

from psmr.dae.compile.decorators import lean
from psmr.dae.compile.kernels import residual
from psmr.integrate.solve.records import RESIDUALS, VALID, follows, matrix_of, newton_state_of, ramps_of
from psmr.integrate.solve.views import reals


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
        value = rows[row, 1] + rows[row, 2] * (time - rows[row, 0])
        if k < at.size:
            w[at[k]] = value
        elif ramps.places[k - at.size] != 0:
            reals(ramps.places[k - at.size], 1)[0] = value


@lean
def evaluate(block, w):  # type: ignore[no-untyped-def]
    """Write the raw residual at w into F, unless it is there."""
    kept = newton_state_of(block)
    if kept.memory[VALID] == 0.0:
        matrix = matrix_of(block)
        follow_ramps(block, w)
        residual(matrix.table, w, matrix.F)
        kept.counts[RESIDUALS] += 1
        kept.memory[VALID] = 1.0
