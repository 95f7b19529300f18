"""Kinks of the equations within a step: a limiter that is met, a comparison that turns; compiled.

An equation with a kink is smooth on each side of it, and a method of high order over it is one of low
order. A step sees the margins of all devices (`psmr.dae.compile.trace`) at its start, its stages and its
end, those of a stage as soon as it is solved: what is behind a kink that ends the step need not be. Of
those that change their signs `psmr.integrate.control.switching` asks what they make of the step.

At which kink a step ends: the first that makes more of it than the error allows; compiled.

What kinks make of a step follows from the shares D of the rows, which are what the rows are less what they
would be with the sides of the start: they change the rates of the states by what the Newton matrix makes of
them, and a quadrature over the kink misses a part of h times that.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from psmr.dae.compile.decorators import lean
from psmr.dae.compile.kernels import SwitchTables, residual
from psmr.integrate.constants import TUNED
from psmr.integrate.control.error_size import largest_error
from psmr.integrate.solve.lu import solve
from psmr.integrate.solve.records import (
    LOWER_AT,
    STATE,
    UPPER_AT,
    VECTOR_CHUNK,
    largest_size,
    limits_of,
    lu_of,
    matrix_of,
    work_of,
)
from psmr.integrate.step.program_table import AT_START
from psmr.integrate.tableaux import Tableau


class Switching(NamedTuple):
    """What a step needs to see kinks.

    `block`: Number of the block of equations.
    `margins`, `shares`: See `psmr.dae.compile.kernels.SwitchTables`.
    `stages`, `parts`: Places of the points, and at which part of the step they are, ascending: the start, 0,
      the stages within the step, the end, 1, and a stage behind it.
    `middle`, `end`: Which of them is nearest to the middle, and which is the end.
    `middle_stage`: The stage nearest to the middle, counted from 0.
    `values`, `seen`: (points, M) margins, and at which points those of the step tried are known; see
      `forget_margins`.
    `place`, `at`: (M,) margins that change their signs, and at which part of the step.
    `listed`: How many margins had changed their signs where it was last asked whether they matter.
    `room`: Buffer with the margins that decide behind it.
    `rows`: Shares of the rows; one entry longer than needed.
    `follows`: Whether the step before was ended at a kink, which may lie a little ahead then.
    `gamma`: Of the method: the coefficient of the rate at a stage, relative to the step.
    `missed`, `behind`: Part of h D that the method misses, see `largest_miss`, and what a stage behind the
      end adds to it: its weight.
    """

    block: int
    margins: np.ndarray
    shares: np.ndarray
    stages: np.ndarray
    parts: np.ndarray
    middle: int
    end: int
    middle_stage: int
    values: np.ndarray
    seen: np.ndarray
    place: np.ndarray
    at: np.ndarray
    listed: np.ndarray
    room: np.ndarray
    rows: np.ndarray
    follows: np.ndarray
    gamma: float
    missed: float
    behind: float


def switching_for(
    tables: SwitchTables, tableau: Tableau, places: Mapping[str, int], size: int, rows: int, block: int = 0
) -> Switching:
    """Return what is needed for a method whose program keeps its stages at `places`.

    `size` is that of the buffer, `rows` the number of equations of the block with the number `block`.
    """
    order, parts, end = _points_of(tableau)
    names = [f"stage {i + 1}" for i in order]
    names[end - 1] = "now"  # the end is in the buffer
    middle = int(np.abs(parts - 0.5).argmin())
    return Switching(
        block=int(block),
        margins=tables.margins,
        shares=tables.shares,
        stages=np.array([places[name] for name in ("now", *names)]),
        parts=parts,
        middle=middle,
        end=end,
        middle_stage=order[middle - 1],
        values=np.zeros((parts.size, tables.count)),
        seen=np.zeros(parts.size, np.uint8),
        place=np.zeros(tables.count, np.int64),
        at=np.zeros(tables.count),
        listed=np.zeros(1, np.int64),
        room=np.zeros(size + tables.count),
        rows=np.zeros(rows + 1),
        follows=np.zeros(1, np.uint8),
        gamma=float(tableau.gamma),
        missed=largest_miss(tableau),
        behind=float(np.abs(tableau.b[:-1][tableau.c[:-1] > 1.0]).sum()),
    )


@functools.cache
def _points_of(tableau: Tableau) -> tuple[tuple[int, ...], np.ndarray, int]:
    """Return the stages behind the start in their order, `Switching.parts` and `Switching.end`."""
    c = np.append(tableau.c[:-1], 1.0)  # rational numbers: the last one is 1 to rounding
    order = tuple(int(i) for i in np.argsort(c, kind="stable") if c[i] > 0.0)
    return order, np.array([0.0, *c[list(order)]]), 1 + order.index(len(c) - 1)


@functools.cache
def largest_miss(tableau: Tableau) -> float:
    """Return the largest error of the quadrature of a rate with a kink, relative to h times D at the end.

    A kink at the part s of the step adds S (c - s) to the rate from there on: the method makes
    sum_j b_j (c_j - s)_+ of it in place of (1 - s)^2 / 2. A stage behind the end is taken to be there.
    """
    s = np.linspace(0.0, 1.0, 1001)[:-1, None]
    found = np.maximum(np.minimum(tableau.c, 1.0) - s, 0.0) @ tableau.b
    return float(np.max(np.abs(found - (1.0 - s[:, 0]) ** 2 / 2.0) / (1.0 - s[:, 0])))


@lean
def forget_margins(switching):  # type: ignore[no-untyped-def]
    """Begin with a step that is tried: none of its margins are known."""
    switching.listed[0] = 0
    for j in range(switching.seen.size):
        switching.seen[j] = 0


@lean
def evaluate_margins(interpreter, switching, point, w):  # type: ignore[no-untyped-def]
    """Evaluate the margins at a point of the step, the present one in w, unless they are known."""
    if switching.seen[point] == 0:
        residual(switching.margins, w, switching.values[point])
        switching.seen[point] = 1


@lean
def _crossing(switching, point, k):  # type: ignore[no-untyped-def]
    """Return at which part of the step margin k changes its sign: before `point`, behind the one seen before.

    It is the parabola through both and the one before them or, where there is none, behind them; a straight
    line where no other was seen yet.
    """
    parts, values, seen = switching.parts, switching.values, switching.seen
    before = point - 1
    while seen[before] == 0:
        before -= 1
    third = before - 1
    while third >= 0 and seen[third] == 0:
        third -= 1
    if third < 0:
        third = point + 1
        while third < parts.size and seen[third] == 0:
            third += 1
    left, right, low, high = parts[before], parts[point], values[before, k], values[point, k]
    slope, bend = (high - low) / (right - left), 0.0
    if third < parts.size:
        bend = (values[third, k] - low) / (parts[third] - left) - slope
        bend /= parts[third] - right
    begin, end, side = left, right, low >= 0.0
    for _ in range(TUNED.most_iterations):
        middle = 0.5 * (begin + end)
        if (low + (middle - left) * (slope + (middle - right) * bend) >= 0.0) == side:
            begin = middle
        else:
            end = middle
    return end


@lean
def _with_other_signs(start, there, place):  # type: ignore[no-untyped-def]
    """List the margins that have another sign there; return how many. Most have not, many at a time."""
    count = 0
    for first in range(0, start.size, VECTOR_CHUNK):
        begin, end, changed = start[first : first + VECTOR_CHUNK], there[first : first + VECTOR_CHUNK], 0
        for k in range(begin.size):
            changed |= (begin[k] >= 0.0) != (end[k] >= 0.0)
        if changed != 0:
            for k in range(begin.size):
                if (begin[k] >= 0.0) != (end[k] >= 0.0):
                    place[count] = first + k
                    count += 1
    return count


@lean
def margins_with_other_signs(switching, point, least):  # type: ignore[no-untyped-def]
    """List the margins that have another sign at a point than at the start; return how many.

    They ascend in time, from the part `least` of the step on. For a stage they are those only that have at
    the end, where that is known, the sign of the start.
    """
    values, place, at, end = switching.values, switching.place, switching.at, switching.end
    seen = switching.seen
    count = 0
    for c in range(_with_other_signs(values[0], values[point], place)):
        k = place[c]  # what is listed of the first c takes c places at most
        side = values[0, k] >= 0.0
        if point != end and seen[end] != 0 and (values[end, k] >= 0.0) != side:
            continue
        if not np.isfinite(values[0, k] + values[point, k]):
            continue
        first = 1
        while seen[first] == 0 or (values[first, k] >= 0.0) == side:
            first += 1
        part = _crossing(switching, first, k)
        if part < least:
            continue
        q = count
        while q > 0 and at[q - 1] > part:
            place[q], at[q] = place[q - 1], at[q - 1]
            q -= 1
        place[q], at[q] = k, part
        count += 1
    return count


@lean
def follow_switching(switching, cut):  # type: ignore[no-untyped-def]
    """Go on to the next step; `cut` says that this one was ended at a kink."""
    switching.follows[0] = cut


@lean
def _made_of(interpreter, switching, point, count, of_limits, tolerance, h, w):  # type: ignore[no-untyped-def]
    """Return what the first `count` kinks listed make of the step, in units of the tolerance.

    `room` holds the point. With `of_limits` it is what they make of the limits that states leave.
    """
    block = interpreter.blocks[switching.block]
    values, rows, room = switching.values, switching.rows, switching.room
    first = w.size
    for k in range(values.shape[1]):
        room[first + k] = values[point, k]
    for q in range(count):
        room[first + switching.place[q]] = values[0, switching.place[q]]
    residual(switching.shares, room, rows)
    work, limits = work_of(block), limits_of(block)
    defect, update, n = work.defect, work.update, work.known.size
    # By so much the residual of a stage, x - K - a f and g, differs with the sides of the start.
    for i in range(n):
        defect[i] = switching.gamma * h * rows[i]
    for i in range(n, defect.size):
        defect[i] = -rows[i]
    for b in range(limits.bounded.size):
        if limits.held[b] != 0:
            defect[limits.bounded[b]] = 0.0
    if largest_size(defect) < TUNED.switching_rounding * tolerance:
        return 0.0
    missed = switching.missed if point <= switching.end else switching.behind
    for turn in range(2):  # the rates that follow from the shares, and the error that follows from those
        if turn == 1:
            for i in range(n):
                defect[i] = missed / switching.gamma * update[i]
            for i in range(n, defect.size):
                defect[i] = 0.0
            for b in range(limits.bounded.size):
                if limits.held[b] != 0:  # it is where its limit is, whatever led there
                    defect[limits.bounded[b]] = 0.0
        solve(lu_of(block), defect, update)
        if of_limits:
            return _moved_at_limits(interpreter, switching, True, tolerance, w)
    return largest_error(block, w, tolerance)


@lean
def _moved_at_limits(interpreter, switching, changed, tolerance, w):  # type: ignore[no-untyped-def]
    """Return how far a state at a limit that moves moves in the step, in units of its tolerance.

    Of several it is the largest; where a limit has `changed`, by what stands in `update`, it is that.
    """
    block, start, largest = interpreter.blocks[switching.block], interpreter.points[AT_START], 0.0
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
def _first_that_matter(interpreter, switching, point, count, of_limits, tolerance, h, w):  # type: ignore[no-untyped-def]
    """Return the fewest of the kinks listed that matter together, and what they make of the step.

    They are in their order in time; none where all of them do not matter.
    """
    source = w if point == switching.end else interpreter.points[switching.stages[point]]
    for i in range(w.size):
        switching.room[i] = source[i]
    below, middle, made = 0, count, 0.0
    while count > 0:
        found = _made_of(interpreter, switching, point, middle, of_limits, tolerance, h, w)
        if found > TUNED.switching_tolerance:
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
def first_at(interpreter, switching, point, tolerance, h, w):  # type: ignore[no-untyped-def]
    """Return where the step should end for the kinks before a point, 1 where they do not matter.

    A kink next to the start is passed as it is, unless the step before was to end there and was too short.
    What still matters next to the end jumps: the step ends ahead of it, and a short one leads over it.
    """
    count = margins_with_other_signs(switching, point, 0.0 if switching.follows[0] != 0 else TUNED.negligible)
    # What did not matter at an earlier stage is asked for again at the end: that takes two solves.
    if count == 0 or (switching.seen[switching.end] == 0 and count <= switching.listed[0]):
        return 1.0
    switching.listed[0] = count
    count, made = _first_that_matter(interpreter, switching, point, count, False, tolerance, h, w)
    if count == 0:
        return 1.0
    part, parts = switching.at[count - 1], switching.parts
    further = parts[parts.size - 1] - 1.0
    if part > 1.0:
        return part / (1.0 + further)
    if part > 1.0 - TUNED.negligible:
        return part - TUNED.negligible
    # A step that ends at the kink has its stage behind the end beyond it.
    if switching.behind / switching.missed * made * further * part * part > TUNED.switching_tolerance * (
        parts[point] - part
    ):
        return part / (1.0 + further)
    # The shares grow from the kink on, and what they make of a step is its length times that: of one to q
    # made q (q - part) / (parts[point] - part), which is to be `newton_share`.
    room = TUNED.newton_share / made * (parts[point] - part)
    return part + room / (0.5 * part + np.sqrt(0.25 * part * part + room))


@lean
def _first_release(interpreter, switching, tolerance, h, w):  # type: ignore[no-untyped-def]
    """Return where the step should end for the kink of a limit that lets a state go, 1 for none.

    A limit that moves holds the state up to there, and the step lets it go at its start, or holds it to its
    end though the limit is the faster one behind the kink. Behind the kink so little is left that the
    limit still holds the state; a limit that jumps is met ahead of it, until what the state moves in the step
    that leads over it is below the tolerance.
    """
    if _moved_at_limits(interpreter, switching, False, tolerance, w) == 0.0:
        return 1.0
    count = margins_with_other_signs(switching, switching.end, 0.0)
    count, made = _first_that_matter(interpreter, switching, switching.end, count, True, tolerance, h, w)
    if count == 0:
        return 1.0
    part = switching.at[count - 1]
    if part > 1.0 - TUNED.negligible:
        return part - TUNED.negligible
    return part + TUNED.newton_share / made * (1.0 - part)


@lean
def _may_turn(switching, middle):  # type: ignore[no-untyped-def]
    """Return whether a margin turns, or comes as near to it as it moves between start, middle and end."""
    start, halfway, last = switching.values[0], switching.values[middle], switching.values[switching.end]
    turns = 0
    for k in range(start.size):
        moves = abs(halfway[k] - start[k]) + abs(last[k] - halfway[k])
        least = min(abs(start[k]), abs(halfway[k]), abs(last[k]))
        turns |= (moves > 0.0) & (not least > moves)
    return turns != 0


@lean
def first_switch(interpreter, switching, point, tolerance, h, w):  # type: ignore[no-untyped-def]
    """Return at which part of the step it should end for a kink before a point of it, 1 if none matters.

    The point is in w, and was solved last. At the end the margins at all stages decide; they are asked for
    only where one may turn. The block's `update` is lost.
    """
    part, points, middle = 1.0, switching.parts.size, switching.middle
    if switching.values.shape[1] == 0:
        return part
    evaluate_margins(interpreter, switching, 0, interpreter.points[AT_START])
    evaluate_margins(interpreter, switching, point, w)
    if point != switching.end:
        return first_at(interpreter, switching, point, tolerance, h, w)
    evaluate_margins(interpreter, switching, middle, interpreter.points[switching.stages[middle]])
    if not _may_turn(switching, middle):
        return part
    for j in range(points):
        evaluate_margins(interpreter, switching, j, interpreter.points[switching.stages[j]])
    for j in range(1, points):
        part = min(part, first_at(interpreter, switching, j, tolerance, h, w))
    return min(part, _first_release(interpreter, switching, tolerance, h, w))
