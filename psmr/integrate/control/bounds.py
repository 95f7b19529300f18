"""Limits of states within a step: where one is met or left; compiled."""

from __future__ import annotations

from psmr.dae.compile.decorators import lean
from psmr.integrate.constants import TUNED
from psmr.integrate.solve.equations import evaluate
from psmr.integrate.solve.records import (
    BOUNDED,
    LOWER_AT,
    UPPER_AT,
    VALID,
    limits_of,
    matrix_of,
    newton_state_of,
)
from psmr.integrate.solve.vector_kernels import copy
from psmr.integrate.step.program_table import AT_START


@lean
def _way(slope, bend, turn, s):  # type: ignore[no-untyped-def]
    """Return how far a state moves in the part s of a step with the rate slope + bend s + turn s^2."""
    return s * (slope + s * (bend / 2.0 + s * turn / 3.0))


@lean
def first_limit(machine, control, corners, point, tolerance, h, w):  # type: ignore[no-untyped-def]
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
    block = machine.blocks[0]
    soon = TUNED.negligible / corners.parts[point]
    matrix, limits = matrix_of(block), limits_of(block)
    start, part, ready, row = machine.points[AT_START], 1.0, 0, 0
    middle, near = corners.parts[corners.middle], machine.points[corners.stages[corners.middle]]
    middle, further = middle / corners.parts[point], point != corners.middle
    for b in range(limits.bounded.size):
        i, side = limits.bounded[b], limits.held[b]
        at, lower, upper, slack = matrix.variables[i], limits.lower[i], limits.upper[i], 0.0
        low, high = -1, -1
        if row < limits.moving.shape[0] and limits.moving[row, BOUNDED] == b:
            low, high = limits.moving[row, LOWER_AT], limits.moving[row, UPPER_AT]
            lower, upper = start[low] if low >= 0 else lower, start[high] if high >= 0 else upper
            slack = tolerance * max(1.0, abs(start[at]))  # Newton puts a state there, to its accuracy
            row += 1
        if side == 0:
            if lower + slack < start[at] < upper - slack:
                continue
            side = 1 if start[at] >= upper - slack else -1
        begin, limit = (upper, limits.upper[i]) if side > 0 else (lower, limits.lower[i])
        least = tolerance * max(1.0, abs(limit))
        meets = limits.held[b] != 0 and (start[at] - begin) * side < -least
        leaves = limits.held[b] == 0 and (w[at] - limit) * side < -least
        if limits.held[b] == 0 and not leaves:
            continue
        if ready == 0:
            evaluate(block, w)
            ready = 1
        # How far the limit moves, and would at its first pace; its last pace follows.
        drift, moved = (limit - begin) * side, high if side > 0 else low
        ahead = drift
        if moved >= 0 and further:
            to_middle = (near[moved] - begin) * side
            ahead -= (middle * drift - to_middle) / (middle * (1.0 - middle))
        last = h * matrix.F[i] * side - (2.0 * drift - ahead)
        if not (meets or leaves) and -0.5 * last <= least:  # it stays
            continue
        if ready == 1:
            newton_state_of(block).memory[VALID] = 0.0
            evaluate(block, start)
            copy(matrix.F, control.raw)
            newton_state_of(block).memory[VALID] = 0.0
            evaluate(block, w)
            ready = 2
        if not meets:
            first = h * control.raw[i] * side - ahead
            left = first / (first - last) if first > 0.0 > last else 1.0
            if leaves and first > 0.0:  # where so little is left that it would be passed too
                left = min(left, 1.0 - 2.0 * TUNED.negligible)
            if leaves or -0.5 * last * (1.0 - left) > least:
                part = left if soon <= left < part else part
            continue
        slope, gap = h * machine.rates[0, at] * side - ahead, (begin - start[at]) * side
        bend, turn = last - slope, 0.0
        to_middle = (near[moved] - begin) * side if moved >= 0 else 0.0
        if further and (near[at] - begin) * side - to_middle < -least:  # without its limit so far
            halfway = h * machine.rates[corners.middle_stage, at] * side
            halfway -= ahead + 2.0 * middle * (drift - ahead)
            turn = ((halfway - slope) / middle - bend) / (middle - 1.0)
            bend -= turn
        reach = _way(slope, bend, turn, 1.0)
        if abs(reach - gap) < least:  # met at the end
            continue
        if reach < gap:  # the curve does not meet what was met
            part = min(part, 0.5)
            continue
        before, behind = 0.0, 1.0
        for _ in range(TUNED.most_iterations):
            half = 0.5 * (before + behind)
            if _way(slope, bend, turn, half) < gap:
                before = half
            else:
                behind = half
        part = behind if soon <= behind < part else part
    return part
