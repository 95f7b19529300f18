"""At which corner a step ends: the first that makes more of it than the error allows; compiled.

What corners make of a step follows from the shares D of the rows, which are what the rows are less what they
would be with the sides of the start: they change the rates of the states by what the Newton matrix makes of
them, and a quadrature over the corner misses a part of h times that.
"""

from __future__ import annotations

import numpy as np

from psmr.dae.compile.decorators import lean
from psmr.dae.compile.kernels import residual
from psmr.integrate.constants import TUNED
from psmr.integrate.control.corners import evaluate_margins, margins_with_other_signs
from psmr.integrate.control.estimate import largest_error
from psmr.integrate.solve.lu import solve
from psmr.integrate.solve.records import (
    LOWER_AT,
    STATE,
    UPPER_AT,
    limits_of,
    lu_of,
    matrix_of,
    work_of,
)
from psmr.integrate.solve.vector_kernels import largest_size
from psmr.integrate.step.program_table import AT_START


@lean
def _made_of(interpreter, corners, point, count, of_limits, tolerance, h, w):  # type: ignore[no-untyped-def]
    """Return what the first `count` corners listed make of the step, in units of the tolerance.

    `room` holds the point. With `of_limits` it is what they make of the limits that states leave.
    """
    block = interpreter.blocks[0]
    values, rows, room = corners.values, corners.rows, corners.room
    first = w.size
    for k in range(values.shape[1]):
        room[first + k] = values[point, k]
    for q in range(count):
        room[first + corners.place[q]] = values[0, corners.place[q]]
    residual(corners.shares, room, rows)
    work, limits = work_of(block), limits_of(block)
    defect, update, n = work.defect, work.update, work.known.size
    # By so much the residual of a stage, x - K - a f and g, differs with the sides of the start.
    for i in range(n):
        defect[i] = corners.gamma * h * rows[i]
    for i in range(n, defect.size):
        defect[i] = -rows[i]
    for b in range(limits.bounded.size):
        if limits.held[b] != 0:
            defect[limits.bounded[b]] = 0.0
    if largest_size(defect) < TUNED.corner_rounding * tolerance:
        return 0.0
    missed = corners.missed if point <= corners.end else corners.behind
    for turn in range(2):  # the rates that follow from the shares, and the error that follows from those
        if turn == 1:
            for i in range(n):
                defect[i] = missed / corners.gamma * update[i]
            for i in range(n, defect.size):
                defect[i] = 0.0
            for b in range(limits.bounded.size):
                if limits.held[b] != 0:  # it is where its limit is, whatever led there
                    defect[limits.bounded[b]] = 0.0
        solve(lu_of(block), defect, update)
        if of_limits:
            return _moved_at_limits(interpreter, corners, True, tolerance, w)
    return largest_error(block, w, tolerance)


@lean
def _moved_at_limits(interpreter, corners, changed, tolerance, w):  # type: ignore[no-untyped-def]
    """Return how far a state at a limit that moves moves in the step, in units of its tolerance.

    Of several it is the largest; where a limit has `changed`, by what stands in `update`, it is that.
    """
    block, start, largest = interpreter.blocks[0], interpreter.points[AT_START], 0.0
    matrix, limits, update = matrix_of(block), limits_of(block), work_of(block).update
    for k in range(limits.moving.shape[0]):
        row = limits.moving[k]
        i = row[STATE]
        at = matrix.variables[i]
        least = tolerance * max(1.0, abs(start[at]))
        moved = abs(w[at] - start[at])
        if not moved > least:
            continue
        for place in (row[LOWER_AT], row[UPPER_AT]):
            if place >= 0 and abs(start[place] - start[at]) <= least:
                largest = max(largest, (abs(update[place]) if changed else moved) / least)
    return largest


@lean
def _first_that_matter(interpreter, corners, point, count, of_limits, tolerance, h, w):  # type: ignore[no-untyped-def]
    """Return the fewest of the corners listed that matter together, and what they make of the step.

    They are in their order in time; none where all of them do not matter.
    """
    source = w if point == corners.end else interpreter.points[corners.stages[point]]
    for i in range(w.size):
        corners.room[i] = source[i]
    below, middle, made = 0, count, 0.0
    while count > 0:
        found = _made_of(interpreter, corners, point, middle, of_limits, tolerance, h, w)
        if found > TUNED.matters:
            count, made = middle, found
        elif middle == count:
            return 0, 0.0
        else:
            below = middle
        if count - below == 1:
            break
        middle = (below + count) // 2
    return count, made


@lean
def _first_at(interpreter, corners, point, tolerance, h, w):  # type: ignore[no-untyped-def]
    """Return where the step should end for the corners before a point, 1 where they do not matter.

    A corner next to the start is passed as it is, unless the step before was to end there and was too short.
    What still matters next to the end jumps: the step ends ahead of it, and a short one leads over it.
    """
    count = margins_with_other_signs(corners, point, 0.0 if corners.follows[0] != 0 else TUNED.negligible)
    # What did not matter at an earlier stage is asked for again at the end: that takes two solves.
    if count == 0 or (corners.seen[corners.end] == 0 and count <= corners.listed[0]):
        return 1.0
    corners.listed[0] = count
    count, made = _first_that_matter(interpreter, corners, point, count, False, tolerance, h, w)
    if count == 0:
        return 1.0
    part, parts = corners.at[count - 1], corners.parts
    further = parts[parts.size - 1] - 1.0
    if part > 1.0:
        return part / (1.0 + further)
    if part > 1.0 - TUNED.negligible:
        return part - TUNED.negligible
    # A step that ends at the corner has its stage behind the end beyond it.
    if corners.behind / corners.missed * made * further * part * part > TUNED.matters * (parts[point] - part):
        return part / (1.0 + further)
    # The shares grow from the corner on, and what they make of a step is its length times that: of one to q
    # made q (q - part) / (parts[point] - part), which is to be `newton_share`.
    room = TUNED.newton_share / made * (parts[point] - part)
    return part + room / (0.5 * part + np.sqrt(0.25 * part * part + room))


@lean
def _first_release(interpreter, corners, tolerance, h, w):  # type: ignore[no-untyped-def]
    """Return where the step should end for the corner of a limit that lets a state go, 1 for none.

    A limit that moves holds the state up to there, and the step lets it go at its start, or holds it to its
    end though the limit is the faster one behind the corner. Behind the corner so little is left that the
    limit still holds the state; a limit that jumps is met ahead of it, until what the state moves in the step
    that leads over it is below the tolerance.
    """
    if _moved_at_limits(interpreter, corners, False, tolerance, w) == 0.0:
        return 1.0
    count = margins_with_other_signs(corners, corners.end, 0.0)
    count, made = _first_that_matter(interpreter, corners, corners.end, count, True, tolerance, h, w)
    if count == 0:
        return 1.0
    part = corners.at[count - 1]
    if part > 1.0 - TUNED.negligible:
        return part - TUNED.negligible
    return part + TUNED.newton_share / made * (1.0 - part)


@lean
def _may_turn(corners, middle):  # type: ignore[no-untyped-def]
    """Return whether a margin turns, or comes as near to it as it moves between start, middle and end."""
    start, halfway, last = corners.values[0], corners.values[middle], corners.values[corners.end]
    turns = 0
    for k in range(start.size):
        moves = abs(halfway[k] - start[k]) + abs(last[k] - halfway[k])
        least = min(abs(start[k]), abs(halfway[k]), abs(last[k]))
        turns |= (moves > 0.0) & (not least > moves)
    return turns != 0


@lean
def first_switch(interpreter, corners, point, tolerance, h, w):  # type: ignore[no-untyped-def]
    """Return at which part of the step it should end for a corner before a point of it, 1 if none matters.

    The point is in w, and was solved last. At the end the margins at all stages decide; they are asked for
    only where one may turn. The block's `update` is lost.
    """
    part, points, middle = 1.0, corners.parts.size, corners.middle
    if corners.values.shape[1] == 0:
        return part
    evaluate_margins(interpreter, corners, 0, interpreter.points[AT_START])
    evaluate_margins(interpreter, corners, point, w)
    if point != corners.end:
        return _first_at(interpreter, corners, point, tolerance, h, w)
    evaluate_margins(interpreter, corners, middle, interpreter.points[corners.stages[middle]])
    if not _may_turn(corners, middle):
        return part
    for j in range(points):
        evaluate_margins(interpreter, corners, j, interpreter.points[corners.stages[j]])
    for j in range(1, points):
        part = min(part, _first_at(interpreter, corners, j, tolerance, h, w))
    return min(part, _first_release(interpreter, corners, tolerance, h, w))
