"""The program of a step, run: one instruction after the other, whatever the scheme; compiled."""

from __future__ import annotations

from psmr.dae.compile.decorators import lean
from psmr.integrate.solve.equations import project
from psmr.integrate.solve.records import VALID, newton_state_of
from psmr.integrate.solve.status import DONE
from psmr.integrate.solve.vector_kernels import copy
from psmr.integrate.step.extrapolation import extrapolate
from psmr.integrate.step.instructions import add, agree, levels, mix, stage
from psmr.integrate.step.machine import (
    AUTONOMOUS,
    GROWTHS,
    ROUND,
    VALID_OF,
)
from psmr.integrate.step.program_table import (
    ADD,
    AGAIN,
    AT_START,
    BEGIN_UNTIL,
    BLOCK,
    COPY_RATE,
    EXTRAPOLATE,
    JUMP,
    LEVELS,
    LOOP,
    MIX,
    OPERATION,
    RATE,
    REPEAT,
    RESTORE,
    SAVE,
    STAGE,
    TARGET,
    TIMES,
)


@lean
def run_program(machine, code, numbers, h, w):  # type: ignore[no-untyped-def]
    """Advance w by one step h in s from the point at AT_START, which it holds; return a status."""
    state, loops = machine.state, machine.loops
    t = machine.points[AT_START, w.size - 1]
    at = 0
    while at < code.shape[0]:
        row = code[at]
        operation = row[OPERATION]
        at += 1
        if operation == STAGE:
            status = stage(machine, row, numbers, t, h, w)
            if status != DONE:
                return status
        elif operation == MIX:
            mix(machine, row, numbers, w)
        elif operation == ADD:
            add(machine, row, numbers, w)
        elif operation == LEVELS:
            levels(machine, row, numbers)
        elif operation == EXTRAPOLATE:
            extrapolate(machine, row, numbers, t, h, w)
        elif operation == RATE:
            block = machine.blocks[row[BLOCK]]
            if state[VALID_OF] != row[BLOCK] or state[AUTONOMOUS] == 0:
                newton_state_of(block).memory[VALID] = 0.0
            project(block, w, machine.rates[row[TARGET]])
            state[VALID_OF] = row[BLOCK]
        elif operation == AGAIN:
            if row[TIMES] < 0:
                at = row[JUMP]
            else:
                loops[row[LOOP], ROUND] += 1
                if loops[row[LOOP], ROUND] == row[TIMES]:
                    at = row[JUMP]
        elif operation in (REPEAT, BEGIN_UNTIL):
            loops[row[LOOP], ROUND] = loops[row[LOOP], GROWTHS] = 0
        elif operation == SAVE:
            copy(w, machine.points[row[TARGET]])
        elif operation == RESTORE:
            copy(machine.points[row[TARGET]], w)
            state[VALID_OF] = -1
        elif operation == COPY_RATE:
            copy(machine.rates[row[BLOCK]], machine.rates[row[TARGET]])
        else:
            again, status = agree(machine, row, numbers, w)
            if status != DONE:
                return status
            if again:
                at = row[JUMP]
    return DONE
