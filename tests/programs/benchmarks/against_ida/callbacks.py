"""What the driver of IDA calls by address: psmr's residual, matrix, factorisation and solution of a block."""

from __future__ import annotations

from numba import types

from tests.internals import (
    READY,
    first_factors,
    lean,
    limits_of,
    lu_of,
    matrix_of,
    pivots_suit,
    reals,
    refactor,
    search_of,
    solve,
    unit,
    work_of,
)
from tests.peers.limited import limited_matrix, limited_residual

WHOLE, REAL = types.int64, types.float64


@lean
def place(w, t, values):  # type: ignore[no-untyped-def]
    """Write variables and time into a buffer."""
    for i in range(values.size):
        w[i] = values[i]
    w[w.size - 1] = t


@unit(WHOLE(*(WHOLE,) * 3, REAL, REAL, *(WHOLE,) * 4), "the residual for IDA", 1)
def residual(block, w, length, t, pace, y, rate, out, size):  # type: ignore[no-untyped-def]
    """Write the residual."""
    buffer = reals(w, length)
    place(buffer, t, reals(y, size))
    limited_residual(block, buffer, reals(rate, size), reals(out, size), pace)
    return 0


@unit(WHOLE(*(WHOLE,) * 3, REAL, REAL, *(WHOLE,) * 3), "the matrix for IDA", 1)
def matrix(block, w, length, t, factor, y, rate, size):  # type: ignore[no-untyped-def]
    """Write the matrix of the block."""
    buffer = reals(w, length)
    place(buffer, t, reals(y, size))
    limited_matrix(block, buffer, reals(rate, size), factor, factor, work_of(block).full)
    return 0


@unit(WHOLE(WHOLE), "the factorisation for IDA", 1)
def factorise(block):  # type: ignore[no-untyped-def]
    """Factorise the matrix of the block, with the same pivots where these suit; return a status."""
    lu, search, J = lu_of(block), search_of(block), matrix_of(block).J
    if lu.state[READY] == 0 or not (refactor(lu, J) or pivots_suit(lu, search, J)):
        return first_factors(lu, search, J)
    return 0


@unit(WHOLE(*(WHOLE,) * 4, REAL), "the solution for IDA", 1)
def solution(block, b, x, size, ratio):  # type: ignore[no-untyped-def]
    """Solve with the factors of the block; `ratio` is the pace of its limited rows over that of b."""
    right = reals(b, size)
    if ratio != 1.0:
        limits = limits_of(block)
        for k in range(limits.bounded.size):
            if limits.held_in_matrix[k] != 0:
                right[limits.bounded[k]] *= ratio
    solve(lu_of(block), right, reals(x, size))
    return 0
