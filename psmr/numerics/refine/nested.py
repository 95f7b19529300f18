"""The loop of the self-adjusting scheme: a step for all, then steps of their own where the error asks for it.

After a step of the whole system the sets whose error is too large are taken over the same interval once more,
with steps of their own, while the others are interpolated; within these steps again, as many levels as it
takes (Savcenco, Hundsdorfer and Verwer, BIT 47, 2007). Which split is worth its price, and how long the next
step of all is, follows from `psmr.numerics.refine.split`.
"""

from __future__ import annotations

import math

import numpy as np

from psmr.dae.compile.decorators import lean
from psmr.dae.compile.notice import announced
from psmr.dae.compile.reference import by_reference
from psmr.numerics.refine.extract import extract
from psmr.numerics.refine.nest import (
    AT,
    BEFORE,
    CARRIED,
    END,
    ERROR,
    LEVELS,
    LOGGED,
    MOST_OWN,
    NEXT,
    OWN,
    RECENT,
    REFINED,
    REFINED_ROWS,
    REST,
    SPLIT,
    STEADY,
    STEP,
    TAKEN_BACK,
    WANTED,
)
from psmr.numerics.refine.split import PER_STEP, WORTH, add, cheapest, clear, promise
from psmr.numerics.refine.step import account, attempt, flatten, outlive, remaining, settle, weigh
from psmr.numerics.refine.watch import PATIENCE
from psmr.numerics.solve.passes import copy
from psmr.numerics.solve.records import FACTORISATIONS, kept_of, matrix_of, work_of
from psmr.numerics.solve.status import DONE, FULL, NO_ROOM, SPENT, VANISHED
from psmr.numerics.step.controller import (
    LEAST_CHANGE,
    MOST_CHANGE,
    NONE_BEFORE,
    RETREAT,
    SAFETY,
    after_accepted,
    after_rejected,
    kept,
    remembered,
    within,
)
from psmr.numerics.step.corners import accepted, look_anew
from psmr.numerics.step.encoded import AT_START
from psmr.numerics.step.machine import VALID_OF
from psmr.numerics.step.solvable import LONGEST, UNSOLVED, effort_for, longest_solved, unsolved
from psmr.numerics.step.variable import (
    ACCEPTED,
    MOST_CORNERS,
    PREVIOUS,
    REJECTED,
    TRIED,
    first_corner,
    next_stop,
)
from psmr.numerics.step.variable import NEXT as NEXT_STEP

# A set this close to the tolerance joins a block that is made anyway, so that the block serves the next step
# too; a block that is there serves where it is not larger than what is needed by more than this.
NEARLY, SERVES, SERVES_ROWS = 0.5, 1.25, 20.0

# A step that is longer than the last one by more than this starts Newton from the present point: a polynomial
# through the last step would lead far off.
FAR = 2.0

# The least part of the interval above that is tried.
LEAST_PART = 1e-4


@lean
def _serves(nest, frame, level, above):  # type: ignore[no-untyped-def]
    """Return whether the block that a level has serves the sets whose error is above one."""
    if nest.orders[level] == 0:
        return False
    wanted = 0.0
    for k in range(nest.counts[above] if above > 0 else nest.error.size):
        a = nest.members[above, k] if above > 0 else np.uint32(k)
        if nest.error[a] > 1.0:
            if nest.kept[level, a] == 0:
                return False
            wanted += frame.sizes[a]
    for k in range(nest.counts[level]):
        if nest.level_of[nest.members[level, k]] != above:
            return False
    return nest.orders[level] <= SERVES * wanted + SERVES_ROWS


@lean
def _choose(nest, frame, level, above):  # type: ignore[no-untyped-def]
    """Put the sets above, or nearly above, the tolerance into a level, and make its block."""
    for k in range(nest.counts[level]):
        nest.kept[level, nest.members[level, k]] = 0
    count = 0
    for k in range(nest.counts[above] if above > 0 else nest.error.size):
        a = nest.members[above, k] if above > 0 else np.uint32(k)
        if nest.error[a] > NEARLY:
            nest.members[level, count] = a
            nest.kept[level, a] = 1
            nest.level_of[a] = level
            count += 1
    nest.counts[level] = count
    nest.solvable[level, LONGEST] = np.inf
    whole, block = nest.blocks[0], nest.blocks[level]
    made = kept_of(block).counts[FACTORISATIONS]
    nest.by_order[nest.orders[level]] += made - nest.flushed[level]
    nest.flushed[level] = made
    size = nest.orders[above]
    nest.orders[level], nest.reads[level] = extract(
        frame, whole, block, nest.bases[level], matrix_of(nest.blocks[above]).variables,
        nest.rows[above, :size], nest.level_of, level, nest.rows[level], nest.read[level],
    )  # fmt: skip


@lean
def _open(machine, nest, frame, level, steps, w):  # type: ignore[no-untyped-def]
    """Go back to the start of the step above with the sets that need steps of their own."""
    above, points, clock = level - 1, machine.points, nest.clock
    for v in matrix_of(nest.blocks[above]).variables:
        nest.final[v] = w[v]
    if _serves(nest, frame, level, above):
        for k in range(nest.counts[level]):
            nest.level_of[nest.members[level, k]] = level
    else:
        _choose(nest, frame, level, above)
    if level == 1:
        for k in range(nest.counts[1]):
            a = nest.members[1, k]
            nest.need[a], nest.taken[a] = 0.0, 0
    block = nest.blocks[level]
    variables, states = matrix_of(block).variables, work_of(block).known.size
    for p in range(points.shape[0]):
        for v in variables:
            nest.saved[level, p, v] = points[p, v]
    for i in range(variables.size):
        v = variables[i]
        w[v] = points[AT_START, v]
        if i < states:
            nest.entry[level, v] = machine.rates[nest.first, v]
    clock[level, AT] = clock[above, AT]
    clock[level, END] = clock[above, AT] + clock[above, STEP]
    clock[level, NEXT] = min(clock[above, STEP] / max(steps, 2.0), nest.solvable[level, LONGEST])
    clock[level, BEFORE], nest.solvable[level, UNSOLVED] = 1.0, 0.0
    for k in range(nest.times.shape[1]):
        nest.times[level, k] = np.nan
    nest.refused[level] = 0
    nest.own_begin[level] = nest.state[OWN]


@lean
def _leave(machine, nest, level):  # type: ignore[no-untyped-def]
    """Give the points in the variables of a level back to the level above."""
    for p in range(machine.points.shape[0]):
        for v in matrix_of(nest.blocks[level]).variables:
            machine.points[p, v] = nest.saved[level, p, v]
    for k in range(nest.counts[level]):
        nest.level_of[nest.members[level, k]] = level - 1


@lean
def _give_up(machine, nest, level):  # type: ignore[no-untyped-def]
    """Leave a level whose steps lead nowhere."""
    block = nest.blocks[level]
    variables = matrix_of(block).variables
    for i in range(work_of(block).known.size):
        machine.rates[nest.first, variables[i]] = nest.entry[level, variables[i]]
    nest.state[OWN] = nest.own_begin[level]
    _leave(machine, nest, level)


@lean
def _back(machine, nest, level, w):  # type: ignore[no-untyped-def]
    """Go back to the start of the present step of a level."""
    machine.state[VALID_OF] = -1
    if level == 0:
        copy(machine.points[AT_START], w)
    else:
        for v in matrix_of(nest.blocks[level]).variables:
            w[v] = machine.points[AT_START, v]
    w[w.size - 1] = nest.clock[level, AT]
    nest.refused[level] = 1


@lean
def _record_needs(nest, level, order):  # type: ignore[no-untyped-def]
    """Count the steps that the sets of a level took, and those that each would have needed."""
    for k in range(nest.counts[level]):
        a = nest.members[level, k]
        if nest.level_of[a] == level:
            nest.need[a] += nest.error[a] ** (1.0 / order)
            nest.taken[a] += 1
    nest.state[REFINED] += 1
    nest.state[REFINED_ROWS] += nest.orders[level]


@lean
def _close(machine, nest, frame, level, order, w):  # type: ignore[no-untyped-def]
    """Leave a level that has reached the end of the step above, which is accepted with it."""
    above = level - 1
    for i in range(nest.reads[level]):
        v = nest.read[level, i]
        if nest.level_of[frame.atom[v]] == above:
            w[v] = nest.final[v]
    w[w.size - 1] = nest.clock[level, END]
    machine.state[VALID_OF] = -1
    settle(machine, nest, frame, above)
    if above > 0:
        _record_needs(nest, above, order)
    _leave(machine, nest, level)
    outlive(machine, nest, above, w)
    flatten(machine, nest, level, w)


@lean
def _lengthen(nest, level, order):  # type: ignore[no-untyped-def]
    """Choose the next step of a level below the first, after an accepted one."""
    clock = nest.clock
    h, error = clock[level, STEP], clock[level, ERROR]
    wanted = after_accepted(order, h, error, clock[level, BEFORE], nest.refused[level] != 0)
    if clock[level, SPLIT] > 0.0:
        wanted = h * min(MOST_CHANGE, max(LEAST_CHANGE, 1.0 / clock[level, SPLIT]))
    wanted = kept(wanted, h, nest.ending[level] != 0, clock[level, NEXT])
    clock[level, NEXT] = min(wanted, longest_solved(nest.solvable[level]))
    clock[level, BEFORE] = min(error, 1.0)
    nest.refused[level] = 0


@lean
def _corner(machine, control, corners, nest, frame, h, w):  # type: ignore[no-untyped-def]
    """Return at which part of a step of all it should end for a corner of what is not refined, 1 for none."""
    for i in range(corners.aside.size):
        corners.aside[i] = nest.error[frame.row_atom[i]] > 1.0
    look_anew(corners)
    return first_corner(machine, control, corners, corners.end, h, w)


@lean
def _patient(nest, worth):  # type: ignore[no-untyped-def]
    """Count the common steps in which a split would have been worth it; return whether there were enough."""
    nest.state[STEADY] = nest.state[STEADY] + 1 if worth else 0
    return nest.state[STEADY] >= PATIENCE


@announced("the self-adjusting integrator", 6)
@lean
def run_nested(machine, control, nest, frame, end, w, times, rows):  # type: ignore[no-untyped-def]
    """Step until t = end or the rows are full; return (rows filled, status)."""
    machine, control = by_reference(machine), by_reference(control)
    nest, frame = by_reference(nest), by_reference(frame)
    steps, counts, clock, state = control.steps, control.counts, nest.clock, nest.state
    filled, level, last, stop, order = 0, 0, False, end, control.order
    corners, located, longest = by_reference(control.corners), 0, 0.0
    state[LOGGED] = state[OWN] = 0
    deepest, made = LEVELS - 1, nest.blocks.size - 1
    while True:
        if level == 0:
            t = w[w.size - 1]
            if not t < end:
                return filled, DONE
            if filled == times.size or filled == nest.log_end.size:
                return filled, FULL
            if nest.log_set.size - state[LOGGED] < nest.level_of.size or 2 * state[OWN] > MOST_OWN:
                return filled, FULL
            if counts[ACCEPTED] + counts[REJECTED] >= control.most:
                return filled, SPENT
            stop = next_stop(machine, control, t, end)
            h, last = within(t, min(steps[NEXT_STEP], control.longest), stop)
            steps[TRIED] = h
            if not t + h > t:
                return filled, VANISHED
        else:
            t, left = clock[level, AT], clock[level, END] - clock[level, AT]
            parts = math.ceil(left / clock[level, NEXT] - 1e-9)
            nest.ending[level] = 1 if parts <= 1.0 else 0
            h = left / max(parts, 1.0)
            if h < LEAST_PART * clock[level - 1, STEP] or not t + h > t:
                _give_up(machine, nest, level)
                level -= 1
                _back(machine, nest, level, w)
                if level > 0:
                    state[TAKEN_BACK] += 1
                    clock[level, NEXT] = RETREAT * clock[level, STEP]
                else:
                    counts[REJECTED] += 1
                    steps[NEXT_STEP] = RETREAT * clock[0, STEP]
                continue
        clock[level, AT], clock[level, STEP] = t, h
        solvable = nest.solvable[level] if level > 0 else control.solvable
        status = attempt(machine, nest, frame, level, effort_for(solvable), w)
        error = seen = np.inf
        split, aside, rest = 0.0, False, 0.0
        if status == DONE:
            error, seen = weigh(machine, control, nest, frame, level, w)
            if level == 0 and located < MOST_CORNERS:
                part = _corner(machine, control, corners, nest, frame, h, w)
                if part < 1.0 and t + part * h > t:  # taken again, to the corner
                    copy(machine.points[AT_START], w)
                    machine.state[VALID_OF] = -1
                    longest, located = max(h, longest), located + 1
                    steps[NEXT_STEP] = part * h
                    continue
            patient = level > 0 or state[STEADY] >= PATIENCE
            if not seen <= 1.0 and np.isfinite(seen) and patient:
                handed, first, cost, split, least, pace, alone = cheapest(
                    nest.bins, nest.orders[level], order
                )
                aside = cost < alone
                if level < deepest and handed < cost:
                    rest = remaining(machine, control, nest, frame, level, 1.0, w)
                    clock[level, REST] = rest
                if level < deepest and handed < cost and rest <= 1.0 and made == 0:
                    _back(machine, nest, 0, w)
                    nest.refused[0], state[WANTED] = 0, 1
                    return filled, FULL
                if level < deepest and handed < cost and rest <= 1.0:
                    clock[level, ERROR], clock[level, SPLIT] = error, pace if least < alone else 0.0
                    level += 1
                    _open(machine, nest, frame, level, first, w)
                    continue
        if not seen <= 1.0:
            _back(machine, nest, level, w)
            if status == NO_ROOM and level == 0:
                return filled, status
            if status != DONE:
                unsolved(solvable, h)
            wanted = after_rejected(order, h, seen)
            if aside:
                wanted = h * max(LEAST_CHANGE, min(SAFETY, 1.0 / split))
                if rest > 1.0:
                    wanted = min(wanted, after_rejected(order, h, rest))
            if level == 0:
                counts[REJECTED] += 1
                steps[NEXT_STEP] = wanted
                if status != DONE and not t + 1e-3 * wanted > t:
                    return filled, status
            else:
                state[TAKEN_BACK] += 1
                clock[level, NEXT] = wanted
            continue
        # Accepted, and with it every step above that it completes.
        refined = False
        clock[level, ERROR], clock[level, SPLIT] = error, 0.0
        while level > 0:
            if not refined:
                settle(machine, nest, frame, level)
                _record_needs(nest, level, order)
                outlive(machine, nest, level, w)
            clock[level, AT] += clock[level, STEP]
            if state[OWN] < MOST_OWN:
                nest.own_level[state[OWN]], nest.own_time[state[OWN]] = level, clock[level, AT]
                state[OWN] += 1
            _lengthen(nest, level, order)
            if nest.ending[level] == 0:
                break
            _close(machine, nest, frame, level, order, w)
            level -= 1
            refined = True
        if level > 0:
            continue
        h, error = clock[0, STEP], clock[0, ERROR]
        if last:
            w[w.size - 1] = stop
        if refined:
            account(nest, h, order)
            clear(nest.bins)
            for a in range(nest.error.size):
                add(nest.bins, nest.error[a], frame.sizes[a])
        else:
            outlive(machine, nest, 0, w)
            for k in range(state[RECENT]):
                nest.pace[nest.recent[k]] = 0.0
            state[RECENT] = 0
        state[CARRIED] = 1 if refined else 0
        accepted(corners, located > 0)
        times[filled] = w[w.size - 1]
        copy(w, rows[filled])
        nest.log_end[filled], nest.own_end[filled] = state[LOGGED], state[OWN]
        filled += 1
        counts[ACCEPTED] += 1
        before, aside, alone = steps[PREVIOUS], False, 0.0
        solved = longest_solved(control.solvable)
        worth = before != NONE_BEFORE and promise(nest.bins, nest.orders[0], order, WORTH) > WORTH
        patient = before != NONE_BEFORE and _patient(nest, worth)
        if patient or refined:
            _, _, _, _, cost, split, alone = cheapest(nest.bins, nest.orders[0], order)
            aside = patient and cost < alone
        if refined:
            error = clock[0, REST]
        elif aside:
            error = remaining(machine, control, nest, frame, 0, split**order, w)
        wanted = after_accepted(order, h, error, before, nest.refused[0] != 0)
        if refined or aside:
            share = split if aside else alone / (nest.orders[0] + PER_STEP)
            wanted = min(wanted, h * min(MOST_CHANGE, max(LEAST_CHANGE, 1.0 / share)))
            if wanted > FAR * h:
                for k in range(nest.times.shape[1]):
                    nest.times[0, k] = np.nan
        if located > 0:  # as in `psmr.numerics.step.variable`
            steps[NEXT_STEP] = longest if error < 1.0 else wanted
            located, longest = 0, 0.0
        else:
            steps[NEXT_STEP] = min(kept(wanted, h, last, steps[NEXT_STEP]), solved)
        steps[PREVIOUS] = remembered(error, before)
        nest.refused[0] = 0
