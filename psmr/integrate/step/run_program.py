"""The program of a step, run: one instruction after the other, whatever the scheme.

Compiled once, called by address by every loop: most of what there is to compile of a loop is here.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from psmr.dae.compile.arguments import Reference, by_reference
from psmr.dae.compile.decorators import Unit, lean, unit
from psmr.integrate.solve.equations import project
from psmr.integrate.solve.records import VALID, copy, newton_state_of, reals
from psmr.integrate.solve.status import DONE
from psmr.integrate.step.crossing import cross_jump_within
from psmr.integrate.step.instructions import (
    add,
    combine,
    combine_levels,
    compare_prediction,
    extrapolate,
    stage,
)
from psmr.integrate.step.interpreter import AUTONOMOUS, DOUBLED, EVALUATED_BLOCK, GROWTHS, ROUND, Interpreter
from psmr.integrate.step.march import march
from psmr.integrate.step.program_table import (
    ADD,
    AGAIN,
    AT_START,
    BLOCK,
    COMBINE,
    COPY_RATE,
    EXTRAPOLATE,
    ITERATE,
    JUMP,
    LEVELS,
    LOOP,
    MARCH,
    OPERATION,
    RATE,
    REPEAT,
    RESTORE,
    SAVE,
    STAGE,
    TARGET,
    TIMES,
)

# Which program of a interpreter is run: that of a whole step, or that of a part of one.
WHOLE, PART = range(2)


def _run(interpreter, program, first, end, h, w_address, size):  # type: ignore[no-untyped-def]
    """See `run_program`."""
    state, loops, w = interpreter.state, interpreter.loops, reals(w_address, size)
    code, numbers = interpreter.code, interpreter.numbers
    if program == PART:
        code, numbers = interpreter.part_code, interpreter.part_numbers
    t = interpreter.points[AT_START, w.size - 1]
    at = first
    while at < end:
        row = code[at]
        operation = row[OPERATION]
        at += 1
        if operation == STAGE:
            status = stage(interpreter, row, numbers, t, h, w)
            if status != DONE:
                return status
        elif operation == COMBINE:
            combine(interpreter, row, numbers, w)
        elif operation == ADD:
            add(interpreter, row, numbers, w)
        elif operation == LEVELS:
            combine_levels(interpreter, row, numbers)
        elif operation == EXTRAPOLATE:
            extrapolate(interpreter, row, numbers, t, h, w)
        elif operation == MARCH:
            status = march(interpreter, code, row, numbers, at, t, h, w)
            if status != DONE:
                return status
            at = row[JUMP]
        elif operation == RATE:
            block = interpreter.blocks[row[BLOCK]]
            if state[EVALUATED_BLOCK] != row[BLOCK] or state[AUTONOMOUS] == 0:
                newton_state_of(block).scalars[VALID] = 0.0
            project(block, w, interpreter.rates[row[TARGET]])
            state[EVALUATED_BLOCK] = row[BLOCK]
        elif operation == AGAIN:
            if row[TIMES] < 0:
                at = row[JUMP]
            else:
                loops[row[LOOP], ROUND] += 1
                if loops[row[LOOP], ROUND] == row[TIMES]:
                    at = row[JUMP]
                elif interpreter.jumps.within.size > 0:
                    status = cross_jump_within(interpreter, loops[row[LOOP], ROUND], w)
                    if status != DONE:
                        return status
        elif operation in (REPEAT, ITERATE):
            loops[row[LOOP], ROUND] = loops[row[LOOP], GROWTHS] = 0
            state[DOUBLED] = 0
        elif operation == SAVE:
            copy(w, interpreter.points[row[TARGET]])
        elif operation == RESTORE:
            copy(interpreter.points[row[TARGET]], w)
            state[EVALUATED_BLOCK] = -1
        elif operation == COPY_RATE:
            copy(interpreter.rates[row[BLOCK]], interpreter.rates[row[TARGET]])
        else:
            again, status = compare_prediction(interpreter, row, numbers, w)
            if status != DONE:
                return status
            if again:
                at = row[JUMP]
    return DONE


_units: dict[Any, Unit] = {}


def with_program(interpreter: Interpreter) -> Interpreter:
    """Return a interpreter with the address of the machine code that runs the program of one of its type."""
    kind = _kind(interpreter)
    if kind not in _units:
        arguments = (
            Reference(numba.typeof(interpreter)),
            *(types.int64,) * 3,
            types.float64,
            *(types.int64,) * 2,
        )
        _units[kind] = unit(types.int64(*arguments), "the instructions of a step", 3)(_run)
    return interpreter._replace(run=_units[kind].address)


def _kind(value: Any) -> Any:
    """Return what decides on numba's type of a record of arrays and numbers, in a twentieth of its time."""
    if isinstance(value, np.ndarray):
        return value.dtype.char, value.ndim, value.flags.c_contiguous, value.flags.writeable
    return tuple(map(_kind, value)) if isinstance(value, tuple) else type(value)


@intrinsic
def _call(typing_context, function, interpreter, program, first, end, h, w, size):  # type: ignore[no-untyped-def]
    """Call `_run` by its address."""
    kinds = (interpreter, *(types.int64,) * 3, types.float64, *(types.int64,) * 2)

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        function = ir.FunctionType(ir.IntType(64), [context.get_value_type(kind) for kind in kinds])
        return builder.call(builder.inttoptr(arguments[0], function.as_pointer()), arguments[1:])

    return types.int64(types.int64, *kinds), generate


@lean
def run_program(interpreter, program, first, end, h, w):  # type: ignore[no-untyped-def]
    """Do the instructions from `first` up to `end` of one of the interpreter's programs; return a status.

    All of them advance w by one step of h in s from the point at AT_START, which it holds.
    """
    return _call(interpreter.run, by_reference(interpreter), program, first, end, h, w.ctypes.data, w.size)
