"""Residual and matrix of a system for a solver that knows no limits: they stand in it as equations.

A state with limits obeys clip(f - rate, pace (lower - x), pace (upper - x)) = 0: it has the rate f, or is at
a limit beyond which f leads. No solution depends on the pace, in 1/s, but how Newton comes there: with a
matrix whose row is that of the other case its update is wrong by pace over the factor of the rate in the
matrix. Where they are equal an update that is too small to matter is so in either case. With a pace of 1e4 in
place of that factor SUNDIALS' IDA took updates for converged that were not: on ACTIVSg2000, where hundreds of
limits are met, it was off by 2e-3 to 3e-2 at tolerances of 1e-3 to 1e-5 and took up to six times as long.
"""

from __future__ import annotations

from tests.internals import (
    BOUNDED,
    LOWER_SLOT,
    UPPER_SLOT,
    VALID,
    evaluate,
    jacobian,
    lean,
    limits_of,
    matrix_of,
    move_limits,
    newton_state_of,
    work_of,
)


@lean
def limited_residual(block, w, rate, out, pace):  # type: ignore[no-untyped-def]
    """Write the residual at w and the rates."""
    newton_state_of(block).scalars[VALID] = 0.0
    evaluate(block, w)
    move_limits(block, w)
    limits, F, states = limits_of(block), matrix_of(block).F, work_of(block).known.size
    for i in range(states):
        out[i] = rate[i] - F[i]
    for i in range(states, out.size):
        out[i] = F[i]
    for b in range(limits.bounded.size):
        i = limits.bounded[b]
        below, above = pace * (w[i] - limits.lower[i]), pace * (w[i] - limits.upper[i])
        limits.held[b] = -1 if out[i] > below else 1 if out[i] < above else 0
        out[i] = max(min(out[i], below), above)


@lean
def limited_matrix(block, w, rate, factor, pace, scratch):  # type: ignore[no-untyped-def]
    """Write the derivative of the residual into the matrix, rates weighted by `factor`."""
    limited_residual(block, w, rate, scratch, pace)
    matrix, limits = matrix_of(block), limits_of(block)
    J = matrix.J
    jacobian(matrix.table, matrix.constant, w, J)
    for s in matrix.state_slots:
        J[s] *= -1.0
    for s in matrix.diagonal:
        J[s] += factor
    first = 0
    for b in range(limits.bounded.size):
        end = limits.ends[b]
        limits.held_in_matrix[b] = limits.held[b]
        if limits.held[b] != 0:
            for s in range(first, end):
                J[limits.slots[s]] = 0.0
            J[matrix.diagonal[limits.bounded[b]]] = pace
        first = end
    for k in range(limits.moving.shape[0]):
        side = limits.held[limits.moving[k, BOUNDED]]
        if side != 0:
            J[limits.moving[k, UPPER_SLOT if side > 0 else LOWER_SLOT]] = -pace
