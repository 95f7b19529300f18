"""The unit that solves a block: compiled once, called by address by every loop.

A solve does not give up at the first difficulty, unless it is asked to. In this order: Newton as the policy
says, Newton with a new matrix at each iteration, damped Newton, each from the same guess; new pivots within
each iteration where the matrix needs them. What helped is counted.
"""

from __future__ import annotations

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from psmr.dae.compile.decorators import lean
from psmr.dae.compile.notice import announced
from psmr.dae.compile.unit import unit
from psmr.integrate.solve.newton import HONEST, damped_newton, find_worst, newton
from psmr.integrate.solve.records import (
    HONEST_SOLVES,
    RATE,
    SCALE,
    VALID,
    matrix_of,
    newton_state_of,
    places_of,
    solver_of,
    work_of,
)
from psmr.integrate.solve.status import DONE, NO_ROOM, NOT_CONVERGED
from psmr.integrate.solve.vector_kernels import position
from psmr.integrate.solve.views import reals

_SIGNATURE = types.int64(
    types.int64, types.int64, types.int64, types.float64, types.int64, types.float64, types.int64
)

# How much is tried (`effort`): all, damping alone (the guess is known to be far off), or Newton as
# the policy says alone (a shorter step is cheaper than the rest).
ALL, DAMPED, PLAIN = range(3)


@lean
def _restore(block, w):  # type: ignore[no-untyped-def]
    guess, variables, memory = work_of(block).guess, matrix_of(block).variables, newton_state_of(block).memory
    for i in range(guess.size):
        w[variables[i]] = guess[i]
    memory[SCALE], memory[RATE], memory[VALID] = np.nan, 1.0, 0.0


@unit(_SIGNATURE, "the solver", 4)
def solve_block(block, w_address, size, a, policy, tolerance, effort):  # type: ignore[no-untyped-def]
    """Solve a block for its variables in w, from the guess there; return a status."""
    w, kept = reals(w_address, size), newton_state_of(block)
    guess, places = work_of(block).guess, places_of(block)
    for i in range(guess.size):
        guess[i] = w[position(places, i)]
    status = NOT_CONVERGED
    if effort != DAMPED:
        status = newton(block, w, a, policy, tolerance)
        if effort != PLAIN and policy != HONEST and status not in (DONE, NO_ROOM):
            _restore(block, w)
            kept.counts[HONEST_SOLVES] += 1
            status = newton(block, w, a, numba.int64(HONEST), tolerance)
    if effort != PLAIN and status not in (DONE, NO_ROOM):
        if effort != DAMPED:
            _restore(block, w)
        status = damped_newton(block, w, a, tolerance)
    if status not in (DONE, NO_ROOM):
        find_worst(block, w)
        kept.memory[SCALE] = np.nan
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


@announced("the entry of the solver", 0.2)
@lean
def solve(block, w, a, policy, tolerance, effort):  # type: ignore[no-untyped-def]
    """Solve a block, given by its address; see `solve_block`."""
    solver, policy, effort = solver_of(block), numba.int64(policy), numba.int64(effort)
    return _call(solver, block, w.ctypes.data, w.size, a, policy, tolerance, effort)
