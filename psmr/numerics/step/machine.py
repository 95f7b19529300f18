"""The machine: one compiled loop that runs the program of any scheme, step after step.

It knows no scheme. A step that cannot be solved as a whole is taken in parts, each with the same program and
a shorter h; what is kept of the step is its end.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from psmr.dae.compile.decorators import lean
from psmr.dae.compile.notice import announced
from psmr.dae.compile.reference import by_reference
from psmr.numerics.solve.explicit import place, project
from psmr.numerics.solve.limits import follow_limits
from psmr.numerics.solve.newton import DISHONEST
from psmr.numerics.solve.records import SCALE, VALID, WORST_AT, kept_of, matrix_of, work_of
from psmr.numerics.solve.solver import ALL, solve
from psmr.numerics.solve.status import DONE, NO_ROOM, NOT_AGREED, NOT_FINITE, NOT_SETTLED, SLOW_TO_AGREE
from psmr.numerics.step.answer import Answers
from psmr.numerics.step.encoded import (
    ADD,
    AGAIN,
    ALGEBRAIC,
    ANEW,
    ANSWER,
    AT_OLDER,
    AT_OLDEST,
    AT_ORIGIN,
    AT_START,
    BASE,
    BEGIN_UNTIL,
    BLOCK,
    COPY_RATE,
    COUNT,
    EXTRAPOLATE,
    JUMP,
    KEEP,
    LIST,
    LOOP,
    MATRIX,
    MIX,
    MOST,
    NUMBERS,
    OPERATION,
    POINTS,
    PRESENT,
    RATE,
    REPEAT,
    RESTORE,
    SAVE,
    SHOWN,
    SIDE,
    STAGE,
    STRIDE,
    TARGET,
    TIMES,
)

# Rounds in which explicit states and the limits that move with them settle: enough for a contraction of 3/4.
MOST_ROUNDS = 100

# Corrections "to convergence" give up after so many, and after so many in a row that made the difference
# larger.
MOST_CORRECTIONS = 100
MOST_GROWTHS = 8

# The least part of a step that is tried: the jump of a limiter, or a voltage that turns within a step, is
# then bracketed to a thousandth of it.
LEAST_PART = 2.0**-10

# Places in `Machine.state`.
AUTONOMOUS, VALID_OF, FAILED, SOLVING, CORRECTIONS, DIVIDED, PARTS, REMEMBER = range(8)
# Places in `Machine.measured`.
DIFFERENCE, LAST_DIFFERENCE, LEAST = range(3)
# Columns of `Machine.loops`: times round, and corrections in a row that made the difference larger.
ROUND, GROWTHS = range(2)


class Machine(NamedTuple):
    """What the loop needs of a scheme on a system.

    Attributes
    ----------
    code, numbers
        The program; see `psmr.numerics.step.encoded`.
    part_code, part_numbers
        The program of a part of a step: without history.
    blocks
        Addresses of the blocks.
    points, rates
        Values of w and of f by place.
    loops
        (loops, 2) counters.
    fast, slow, read
        Positions in w of fast and slow variables, and of the slow ones that the fast equations read and that
        are interpolated.
    answers
        See `psmr.numerics.step.answer.Answers`.
    within
        Points of the trajectory within a step, where they are recorded.
    divided
        For each step of the span, whether it was taken in parts.
    state, measured
        Whole and real numbers that outlive a step; see the names above.
    policy, tolerance
        Newton's.
    """

    code: np.ndarray
    numbers: np.ndarray
    part_code: np.ndarray
    part_numbers: np.ndarray
    blocks: np.ndarray
    points: np.ndarray
    rates: np.ndarray
    loops: np.ndarray
    fast: np.ndarray
    slow: np.ndarray
    read: np.ndarray
    answers: Answers
    within: np.ndarray
    divided: np.ndarray
    state: np.ndarray
    measured: np.ndarray
    policy: int
    tolerance: float


@lean
def copy(source, target):  # type: ignore[no-untyped-def]
    """Write the first entries of `source` into all of `target`; a slice assignment may allocate."""
    for i in range(target.size):
        target[i] = source[i]


@lean
def close(algebraic, block, w, policy, tolerance):  # type: ignore[no-untyped-def]
    """Solve g(x, y) = 0 for y at the x and t in w, where x is the limited `known` of the block.

    Where y moves limits of x, both are repeated until they agree.
    """
    for _ in range(MOST_ROUNDS):
        kept_of(block).memory[VALID] = 0.0
        kept_of(algebraic).memory[VALID] = 0.0
        if work_of(algebraic).update.size > 0:
            status = solve(algebraic, w, 0.0, policy, tolerance, ALL)
            if status != DONE:
                return status
        if not follow_limits(block, w, tolerance):
            return DONE
    return NOT_SETTLED


@lean
def _due(row, loops):  # type: ignore[no-untyped-def]
    """Return whether a dishonest Newton makes a new matrix for this stage."""
    first = row[LOOP] < 0 or loops[row[LOOP], ROUND] == 0
    return row[MATRIX] == 1 or (row[MATRIX] == 2 and first)


@lean
def _implicit(machine, row, block, a, w):  # type: ignore[no-untyped-def]
    """Solve the block's rows together."""
    state, number = machine.state, row[BLOCK]
    if state[VALID_OF] != number or state[AUTONOMOUS] == 0:
        kept_of(block).memory[VALID] = 0.0
    if machine.policy == DISHONEST and _due(row, machine.loops):
        kept_of(block).memory[SCALE] = np.nan
    status = solve(block, w, a, machine.policy, machine.tolerance, ALL)
    state[VALID_OF] = state[FAILED] = number
    if status != DONE:
        state[SOLVING] = 1
        return status
    if row[KEEP] >= 0:
        rate, known, variables = machine.rates[row[KEEP]], work_of(block).known, matrix_of(block).variables
        for q in range(known.size):
            rate[variables[q]] = (w[variables[q]] - known[q]) / a
    return DONE


@lean
def _explicit(machine, row, block, w):  # type: ignore[no-untyped-def]
    """Write the states, and solve the algebraic rows."""
    state, variables = machine.state, matrix_of(block).variables
    place(block, w)
    state[VALID_OF] = -1
    for q in range(work_of(block).known.size):
        if not np.isfinite(w[variables[q]]):  # no Newton update would notice
            kept_of(block).counts[WORST_AT] = q
            state[FAILED], state[SOLVING] = row[BLOCK], 0
            return NOT_FINITE
    algebraic = machine.blocks[row[ALGEBRAIC]]
    if machine.policy == DISHONEST and _due(row, machine.loops):
        kept_of(algebraic).memory[SCALE] = np.nan
    status = close(algebraic, block, w, machine.policy, machine.tolerance)
    if status != DONE:
        state[FAILED], state[SOLVING] = row[ALGEBRAIC], 1
        return status
    if row[KEEP] >= 0:
        project(block, w, machine.rates[row[KEEP]])
        state[VALID_OF] = row[BLOCK]
    return DONE


@lean
def stage(machine, row, numbers, t, h, w):  # type: ignore[no-untyped-def]
    """Do a `Stage`; return a status."""
    block = machine.blocks[row[BLOCK]]
    known, variables = work_of(block).known, matrix_of(block).variables
    time_round = machine.loops[row[LOOP], ROUND] if row[LOOP] >= 0 else 0
    first = row[NUMBERS] + time_round * row[STRIDE]
    if row[BASE] == PRESENT:
        for q in range(known.size):
            known[q] = w[variables[q]]
    else:
        base = machine.points[row[BASE]]
        for q in range(known.size):
            known[q] = base[variables[q]]
    for j in range(row[COUNT]):
        weight, rate = h * numbers[first + 2 + j], machine.rates[row[LIST + j]]
        for q in range(known.size):
            known[q] += weight * rate[variables[q]]
    w[w.size - 1] = t + h * numbers[first]
    a = h * numbers[first + 1]
    status = _implicit(machine, row, block, a, w) if a != 0.0 else _explicit(machine, row, block, w)
    if row[SHOWN] != 0 and machine.within.shape[0] > time_round:
        copy(w, machine.within[time_round])
    return status


@lean
def _mix(machine, row, numbers, w):  # type: ignore[no-untyped-def]
    """Write the combination of points into a set of variables."""
    time_round = machine.loops[row[LOOP], ROUND] if row[LOOP] >= 0 else 0
    first = row[NUMBERS] + time_round * row[STRIDE]
    points = machine.points
    places = machine.read
    if row[SIDE] == 2:
        places = machine.slow
    elif row[SIDE] == 1:
        places = machine.fast
    if row[POINTS] == 1 and numbers[first] == 1.0:
        for at in places:
            w[at] = points[row[LIST], at]
    elif row[POINTS] == 2:
        one, other = numbers[first], numbers[first + 1]
        for at in places:
            w[at] = one * points[row[LIST], at] + other * points[row[LIST + 1], at]
    else:
        for at in places:
            value = 0.0
            for k in range(row[POINTS]):
                value += numbers[first + k] * points[row[LIST + k], at]
            w[at] = value
    machine.state[VALID_OF] = -1


@lean
def _add(machine, row, numbers, w):  # type: ignore[no-untyped-def]
    """Add the present point, with a weight, to another one."""
    time_round = machine.loops[row[LOOP], ROUND] if row[LOOP] >= 0 else 0
    weight, point = numbers[row[NUMBERS] + time_round * row[STRIDE]], machine.points[row[TARGET]]
    places = machine.fast if row[SIDE] == 1 else machine.slow
    if row[ANEW] != 0:
        for at in places:
            point[at] = weight * w[at]
    else:
        for at in places:
            point[at] += weight * w[at]


@lean
def _answer(machine, row, numbers):  # type: ignore[no-untyped-def]
    """Write the combination of what points have of the answering variables beside their answer."""
    time_round = machine.loops[row[LOOP], ROUND] if row[LOOP] >= 0 else 0
    first, answers, points = row[NUMBERS] + time_round * row[STRIDE], machine.answers, machine.points
    for j in range(answers.at.size):
        level = 0.0
        for k in range(row[POINTS]):
            point = points[row[LIST + k]]
            value = point[answers.at[j]]
            for q in range(answers.ends[j], answers.ends[j + 1]):
                value -= answers.gains[q] * point[answers.of[q]]
            level += numbers[first + k] * value
        answers.level[j] = level


@lean
def extrapolate(machine, row, numbers, t, h, w):  # type: ignore[no-untyped-def]
    """Write the polynomial in time through the listed points into the variables of a block.

    A point whose time is NaN is not there.
    """
    time = t + h * numbers[row[NUMBERS]]
    points, variables = machine.points, matrix_of(machine.blocks[row[BLOCK]]).variables
    for q in range(variables.size):
        w[variables[q]] = 0.0
    for k in range(row[COUNT]):
        own = points[row[LIST + k], w.size - 1]
        if own != own:
            continue
        weight = 1.0
        for j in range(row[COUNT]):
            other = points[row[LIST + j], w.size - 1]
            if j != k and other == other:
                weight *= (time - other) / (own - other)
        point = points[row[LIST + k]]
        for q in range(variables.size):
            w[variables[q]] += weight * point[variables[q]]
    machine.state[VALID_OF] = -1


@lean
def _agree(machine, row, numbers, w):  # type: ignore[no-untyped-def]
    """Compare the present point with the prediction, and replace that; return (go round again, status)."""
    loops, loop, measured = machine.loops, row[LOOP], machine.measured
    if loops[loop, ROUND] == row[MOST]:
        return False, DONE
    predicted, difference = machine.points[row[KEEP]], 0.0
    for at in machine.slow:
        difference = max(difference, abs(w[at] - predicted[at]))
        predicted[at] = w[at]
    if difference <= numbers[row[NUMBERS]]:
        measured[DIFFERENCE] = difference
        return False, DONE
    grew = loops[loop, ROUND] > 0 and difference >= measured[DIFFERENCE]
    measured[DIFFERENCE] = difference
    loops[loop, GROWTHS] = loops[loop, GROWTHS] + 1 if grew else 0
    if row[MOST] < 0 and loops[loop, GROWTHS] == MOST_GROWTHS:
        return False, NOT_AGREED
    if row[MOST] < 0 and loops[loop, ROUND] == MOST_CORRECTIONS:
        return False, SLOW_TO_AGREE
    loops[loop, ROUND] += 1
    machine.state[CORRECTIONS] += 1
    return True, DONE


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
            _mix(machine, row, numbers, w)
        elif operation == ADD:
            _add(machine, row, numbers, w)
        elif operation == ANSWER:
            _answer(machine, row, numbers)
        elif operation == EXTRAPOLATE:
            extrapolate(machine, row, numbers, t, h, w)
        elif operation == RATE:
            block = machine.blocks[row[BLOCK]]
            if state[VALID_OF] != row[BLOCK] or state[AUTONOMOUS] == 0:
                kept_of(block).memory[VALID] = 0.0
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
            again, status = _agree(machine, row, numbers, w)
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
        if part < LEAST_PART:
            machine.measured[LEAST] = 2.0 * part * h
            return status
    w[w.size - 1] = t + h
    copy(points[AT_ORIGIN], points[AT_START])
    return DONE


@announced("the integrator", 3)
@lean
def advance(machine, h, times, ends, first, last, w, record):  # type: ignore[no-untyped-def]
    """Take steps first..last-1 of h in s from times[k]; row ends[k + 1] of `record` takes the end of step k.

    The rows between ends[k] and ends[k + 1] take the points within it. Returns (number of the step that was
    not completed or `last`, status); w then is the last point that was reached, in parts of that step too.
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
            if status not in (NO_ROOM, NOT_AGREED, SLOW_TO_AGREE, NOT_SETTLED) and state[SOLVING] != 0:
                status = _in_parts(machine, h, w)
                machine.divided[k] = 1
            if status != DONE:
                copy(points[AT_START], w)
                state[VALID_OF] = -1
                return k, status
            state[DIVIDED] += 1
        for i in range(ends[k + 1] - ends[k] - 1):
            copy(machine.within[i], record[ends[k] + 1 + i])
        copy(w, record[ends[k + 1]])
        if state[REMEMBER] != 0:
            copy(points[AT_OLDER], points[AT_OLDEST])
            copy(points[AT_START], points[AT_OLDER])
    return last, DONE
