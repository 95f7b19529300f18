"""One compiled loop that runs the program of any scheme, step after step.

It knows no scheme. A step that cannot be solved as a whole is taken in parts, each with the same program and
a shorter h; what is kept of the step is its end.
"""

from __future__ import annotations

import numpy as np

from psmr.dae.compile.decorators import lean
from psmr.dae.compile.notice import announced
from psmr.dae.compile.reference import by_reference
from psmr.integrate.constants import TUNED
from psmr.integrate.solve.explicit import project
from psmr.integrate.solve.records import VALID, newton_state_of
from psmr.integrate.solve.status import DONE, NO_ROOM, NOT_AGREED, NOT_SETTLED, SLOW_TO_AGREE, STALE
from psmr.integrate.solve.vector_kernels import copy
from psmr.integrate.step.extrapolation import extrapolate
from psmr.integrate.step.instructions import add, agree, levels, mix, stage
from psmr.integrate.step.machine import (
    AGE,
    AUTONOMOUS,
    DIVIDED,
    DUE,
    GROWTHS,
    LEAST,
    PARTS,
    REMEMBER,
    ROUND,
    SOLVING,
    VALID_OF,
)
from psmr.integrate.step.past import forget
from psmr.integrate.step.program_table import (
    ADD,
    AGAIN,
    AT_OLDER,
    AT_OLDEST,
    AT_ORIGIN,
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
from psmr.integrate.step.validity import begin, factorised, gain, next_trial


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


@lean
def _in_parts(machine, h, w):  # type: ignore[no-untyped-def]
    """Take a step that cannot be solved as a whole in parts, as long ones as can be; return a status.

    Where no part leads on, AT_START is the last point that was reached.
    """
    points, state = machine.points, machine.state
    t = points[AT_START, w.size - 1]
    copy(points[AT_START], points[AT_ORIGIN])
    part, done = 0.5, 0.0
    while done < 1.0:
        w[w.size - 1] = t + done * h
        copy(w, points[AT_START])
        state[VALID_OF] = -1
        status = run_program(machine, machine.part_code, machine.part_numbers, part * h, w)
        if status == DONE:
            done += part
            state[PARTS] += 1
            if part < 0.5 and np.floor(done / (2.0 * part)) == done / (2.0 * part):
                part *= 2.0
            continue
        copy(points[AT_START], w)
        part *= 0.5
        if status == NO_ROOM:
            copy(points[AT_ORIGIN], points[AT_START])
            return status
        if part < TUNED.least_part:
            machine.measured[LEAST] = 2.0 * part * h
            return status
    w[w.size - 1] = t + h
    copy(points[AT_ORIGIN], points[AT_START])
    return DONE


@lean
def _outdated(machine, w):  # type: ignore[no-untyped-def]
    """Return whether the network's response no longer holds at w; it is tried at some macro points only."""
    state, probe = machine.state, machine.probe
    if probe.fast < 0:
        return False
    fast, slow = machine.blocks[probe.fast], machine.blocks[probe.slow]
    if not (factorised(fast) and factorised(slow)):
        return False
    if state[AGE] < 0:
        begin(fast, slow, probe, w)
    state[AGE] += 1
    if state[AGE] < state[DUE]:
        return False
    found, age = gain(slow, probe, w), state[AGE]
    outdated = found > probe.most
    state[DUE] = next_trial(found, probe.most, age, 0 if outdated else age)
    return outdated


@announced("the integrator", 3)
@lean
def advance(machine, h, times, ends, first, last, w, record):  # type: ignore[no-untyped-def]
    """Take steps first..last-1 of h in s from times[k]; row ends[k + 1] of `record` takes the end of step k.

    The rows between ends[k] and ends[k + 1] take the points within it. Returns (number of the step that was
    not completed or `last`, status); w then is the last point that was reached, in parts of that step too.
    With `STALE` the step before that number was completed, and the network's response does not hold after it.
    """
    machine = by_reference(machine)
    points, state = machine.points, machine.state
    for k in range(first, last):
        w[w.size - 1] = times[k]
        copy(w, points[AT_START])
        machine.divided[k] = 0
        status = run_program(machine, machine.code, machine.numbers, h, w)
        if status != DONE:
            copy(points[AT_START], w)
            state[VALID_OF] = -1
            machine.measured[LEAST] = h
            forget(machine.past)
            if status not in (NO_ROOM, NOT_AGREED, SLOW_TO_AGREE, NOT_SETTLED) and state[SOLVING] != 0:
                status = _in_parts(machine, h, w)
                machine.divided[k] = 1
            if status != DONE:
                copy(points[AT_START], w)
                state[VALID_OF] = -1
                return k, status
            forget(machine.past)
            state[DIVIDED] += 1
        for i in range(ends[k + 1] - ends[k] - 1):
            copy(machine.within[i], record[ends[k] + 1 + i])
        copy(w, record[ends[k + 1]])
        if state[REMEMBER] != 0:
            copy(points[AT_OLDER], points[AT_OLDEST])
            copy(points[AT_START], points[AT_OLDER])
        if _outdated(machine, w):
            return k + 1, STALE
    return last, DONE
