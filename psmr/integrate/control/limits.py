"""Limits that states meet or leave within a step, and where; compiled."""

from __future__ import annotations

from psmr.dae.compile.decorators import lean
from psmr.integrate.constants import TUNED
from psmr.integrate.solve.equations import evaluate
from psmr.integrate.solve.records import (
    BOUNDED,
    LOWER_AT,
    UPPER_AT,
    VALID,
    copy,
    limits_of,
    matrix_of,
    newton_state_of,
    work_of,
)
from psmr.integrate.step.program_table import AT_START


@lean
def _moved_by(slope, bend, turn, s):  # type: ignore[no-untyped-def]
    """Return how far a state moves in the part s of a step with the rate slope + bend s + turn s^2."""
    return s * (slope + s * (bend / 2.0 + s * turn / 3.0))


@lean
def _part_moved(slope, bend, turn, gap):  # type: ignore[no-untyped-def]
    """Return at which part a state, see `_moved_by`, has moved by `gap`, less than in the whole step."""
    before, behind = 0.0, 1.0
    for _ in range(TUNED.most_iterations):
        half = 0.5 * (before + behind)
        if _moved_by(slope, bend, turn, half) < gap:
            before = half
        else:
            behind = half
    return behind


@lean
def _part_released(first, last, leaves, least):  # type: ignore[no-untyped-def]
    """Return at which part a state leaves its limit whose rate goes from `first` to `last`, 1 for none.

    One that `leaves` is away from it at the point; of another it must matter.
    """
    part = first / (first - last) if first > 0.0 > last else 1.0
    if leaves and first > 0.0:  # where so little is left that it would be passed too
        part = min(part, 1.0 - 2.0 * TUNED.negligible)
    return part if leaves or -0.5 * last * (1.0 - part) > least else 1.0


@lean
def _raw_rates(block, raw, start, w):  # type: ignore[no-untyped-def]
    """Evaluate the raw rates at the start, into `raw`, and at the point in w, into the block."""
    newton_state_of(block).scalars[VALID] = 0.0
    evaluate(block, start)
    copy(matrix_of(block).F, raw[: work_of(block).known.size])
    newton_state_of(block).scalars[VALID] = 0.0
    evaluate(block, w)


@lean
def _part_at(interpreter, control, switching, point, b, row, known, tolerance, h, w):  # type: ignore[no-untyped-def]
    """Return (part at which bounded state b meets or leaves its limit, 1 for none; whether rates are known).

    `row` is that of `Limits.moving`, -1 where none of its limits moves; the rates are those of `_raw_rates`.
    See `first_limit`.
    """
    block = interpreter.blocks[control.block]
    matrix, limits, start = matrix_of(block), limits_of(block), interpreter.points[AT_START]
    i, side = limits.bounded[b], limits.held[b]
    at, lower, upper, slack = matrix.variables[i], limits.lower[i], limits.upper[i], 0.0
    low, high = -1, -1
    if row >= 0:
        low, high = limits.moving[row, LOWER_AT], limits.moving[row, UPPER_AT]
        lower, upper = start[low] if low >= 0 else lower, start[high] if high >= 0 else upper
        slack = tolerance * max(1.0, abs(start[at]))  # Newton puts a state there, to its accuracy
    if side == 0:
        if lower + slack < start[at] < upper - slack:
            return 1.0, known
        side = 1 if start[at] >= upper - slack else -1
    begin, limit = (upper, limits.upper[i]) if side > 0 else (lower, limits.lower[i])
    least = tolerance * max(1.0, abs(limit))
    meets = limits.held[b] != 0 and (start[at] - begin) * side < -least
    leaves = limits.held[b] == 0 and (w[at] - limit) * side < -least
    if limits.held[b] == 0 and not leaves:
        return 1.0, known
    evaluate(block, w)
    middle, near = switching.parts[switching.middle], interpreter.points[switching.stages[switching.middle]]
    middle, further = middle / switching.parts[point], point != switching.middle
    # How far the limit moves, and would at its first pace; its last pace follows.
    drift, moved = (limit - begin) * side, high if side > 0 else low
    ahead = drift
    if moved >= 0 and further:
        to_middle = (near[moved] - begin) * side
        ahead -= (middle * drift - to_middle) / (middle * (1.0 - middle))
    last = h * matrix.F[i] * side - (2.0 * drift - ahead)
    if not (meets or leaves) and -0.5 * last <= least:  # it stays
        return 1.0, known
    if not known:
        _raw_rates(block, control.raw, start, w)
    soon = TUNED.negligible / switching.parts[point]
    if not meets:
        part = _part_released(h * control.raw[i] * side - ahead, last, leaves, least)
        return part if part >= soon else 1.0, True
    slope, gap = h * interpreter.rates[0, at] * side - ahead, (begin - start[at]) * side
    bend, turn = last - slope, 0.0
    to_middle = (near[moved] - begin) * side if moved >= 0 else 0.0
    if further and (near[at] - begin) * side - to_middle < -least:  # without its limit so far
        halfway = h * interpreter.rates[switching.middle_stage, at] * side
        halfway -= ahead + 2.0 * middle * (drift - ahead)
        turn = ((halfway - slope) / middle - bend) / (middle - 1.0)
        bend -= turn
    reach = _moved_by(slope, bend, turn, 1.0)
    if abs(reach - gap) < least:  # met at the end
        return 1.0, True
    if reach < gap:  # the curve does not meet what was met
        return 0.5, True
    part = _part_moved(slope, bend, turn, gap)
    return part if part >= soon else 1.0, True


@lean
def first_limit(interpreter, control, switching, point, tolerance, h, w):  # type: ignore[no-untyped-def]
    """Return at which part of the h to a point of the step a state first met or left its limit, 1 for none.

    The point is in w, and was solved last: the end, the stage near the middle or one behind that.

    A state that meets its limit is without it the cubic through its start with its rate there, the one near
    the middle and the raw one at the point; where the limit holds it near the middle already, the parabola
    with the rates of both ends, and a step that ends there has its middle before it. One that leaves does so
    where its raw rate, a straight line, changes its sign; so does one that is held up to the point though it
    should have left. Rates are those beside a limit that moves, the parabola through its values at the start,
    near the middle and at the point, a line where that is the middle. What is away from the limit by less
    than a tolerance is left to the error, and what happens before a negligible part of the step
    is passed: it must not hide what happens later.
    """
    block = interpreter.blocks[control.block]
    limits, part, known, row = limits_of(block), 1.0, False, 0
    start, variables = interpreter.points[AT_START], matrix_of(block).variables
    for b in range(limits.bounded.size):
        i = limits.bounded[b]
        moving = row if row < limits.moving.shape[0] and limits.moving[row, BOUNDED] == b else -1
        if moving >= 0:
            row += 1
        elif limits.held[b] == 0 and limits.lower[i] < start[variables[i]] < limits.upper[i]:
            continue
        found, known = _part_at(interpreter, control, switching, point, b, moving, known, tolerance, h, w)
        part = min(part, found)
    return part
