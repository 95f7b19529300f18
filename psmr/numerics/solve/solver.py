"""The unit that solves a block: compiled once, called by address by every loop.

A solve does not give up at the first difficulty. In this order: Newton as the policy says, Newton with a new
matrix at each iteration, damped Newton, each from the same guess; new pivots within each iteration where the
matrix needs them. What helped is counted.
"""

from __future__ import annotations

import numba
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from psmr.dae.compile.cache import lean
from psmr.numerics.solve.newton import HONEST, damped_newton, newton
from psmr.numerics.solve.records import HONEST_SOLVES, RATE, SCALE, VALID, opened
from psmr.numerics.solve.status import DONE, NO_ROOM
from psmr.numerics.solve.unit import unit
from psmr.numerics.solve.views import reals

_SIGNATURE = types.int64(
    types.int64, types.int64, types.int64, types.float64, types.int64, types.float64, types.int64
)

# How much is tried: all, or damping alone (the guess is known to be far off).
ALL, DAMPED = 0, 1


@lean
def _restore(block, w):  # type: ignore[no-untyped-def]
    for i in range(block.work.guess.size):
        w[block.matrix.variables[i]] = block.work.guess[i]
    block.memory[SCALE] = float("nan")
    block.memory[RATE] = 1.0
    block.memory[VALID] = 0.0


@unit(_SIGNATURE)
def solve_block(address, w_address, size, a, policy, tolerance, effort):  # type: ignore[no-untyped-def]
    """Solve the block at an address for its variables in w, from the guess there; return a status."""
    block, w = opened(address), reals(w_address, size)
    guess, variables = block.work.guess, block.matrix.variables
    for i in range(guess.size):
        guess[i] = w[variables[i]]
    status = DONE
    if effort == ALL:
        status = newton(block, w, a, policy, tolerance)
        if status == DONE or status == NO_ROOM:
            return status
        if policy != HONEST:
            _restore(block, w)
            block.counts[HONEST_SOLVES] += 1
            status = newton(block, w, a, HONEST, tolerance)
            if status == DONE or status == NO_ROOM:
                return status
        _restore(block, w)
    status = damped_newton(block, w, a, tolerance)
    if status != DONE and status != NO_ROOM:
        block.memory[SCALE] = float("nan")
    return status


@intrinsic
def _call(typing_context, function, address, w, size, a, policy, tolerance, effort):  # type: ignore[no-untyped-def]
    """Call `solve_block` by its address."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        integer, real = ir.IntType(64), ir.DoubleType()
        kinds = [integer, integer, integer, real, integer, real, integer]
        function = ir.FunctionType(integer, kinds).as_pointer()
        return builder.call(builder.inttoptr(arguments[0], function), arguments[1:])

    return types.int64(types.int64, *_SIGNATURE.args), generate


@lean
def solve_by_address(solver, address, w, a, policy, tolerance, effort):  # type: ignore[no-untyped-def]
    """Call `solve_block`, which stands at `solver`, from Python."""
    return _call(
        solver, address, w.ctypes.data, w.size, a, numba.int64(policy), tolerance, numba.int64(effort)
    )


@lean
def solve(block, w, a, policy, tolerance, effort):  # type: ignore[no-untyped-def]
    """Solve an opened block; see `solve_block`."""
    return _call(
        block.solver,
        block.address,
        w.ctypes.data,
        w.size,
        a,
        numba.int64(policy),
        tolerance,
        numba.int64(effort),
    )
