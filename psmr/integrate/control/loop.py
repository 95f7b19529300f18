"""The one compiled loop: step after step of any scheme, at a fixed size or as a controller chooses.

It knows no scheme. Without a controller a step that cannot be solved as a whole is taken in parts, each with
the same program and a shorter h, and what is kept of the step is its end. With one (`Control`) steps are
tried until the estimated error of one is within the tolerance, and a limit of a state is met where it stands.
"""

from __future__ import annotations

import numpy as np

from psmr.dae.compile.arguments import by_reference
from psmr.dae.compile.decorators import lean
from psmr.dae.compile.notice import announced
from psmr.integrate.constants import TUNED
from psmr.integrate.control.controller import (
    ACCEPTED,
    NEXT,
    REJECTED,
    TRIED,
    accept,
    begin_after_jump,
    effort_for,
    note_rates,
    reject,
    step_towards,
)
from psmr.integrate.control.error_size import (
    SO_FAR,
    filtered_estimate,
    follow_disturbance,
    largest_error,
    size_with,
)
from psmr.integrate.control.switching import first_switch, follow_switching, forget_margins
from psmr.integrate.solve.equations import evaluate
from psmr.integrate.solve.newton import ALL
from psmr.integrate.solve.records import (
    BOUNDED,
    LOWER_AT,
    UPPER_AT,
    VALID,
    copy,
    follow_until,
    limits_of,
    matrix_of,
    newton_state_of,
)
from psmr.integrate.solve.status import (
    DONE,
    FULL,
    NO_ROOM,
    NOT_AGREED,
    NOT_SETTLED,
    SLOW_TO_AGREE,
    SPENT,
    STALE,
    VANISHED,
)
from psmr.integrate.step.crossing import cross_jump
from psmr.integrate.step.input_jumps import NO_JUMP, write_inputs
from psmr.integrate.step.interpreter import (
    DIVIDED,
    EFFORT,
    EVALUATED_BLOCK,
    HAS_HISTORY,
    LEAST,
    PARTS,
    SOLVING,
    STEP,
    TOLERANCE_FACTOR,
    forget,
)
from psmr.integrate.step.program_table import AT_OLDER, AT_OLDEST, AT_ORIGIN, AT_START
from psmr.integrate.step.run_program import PART, WHOLE, run_program
from psmr.integrate.step.sampling import ANSWERED, KEPT, NOT_DUE, UNREAD, find_due, next_sample, write_kept
from psmr.integrate.step.validity import outdated


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
    copy(matrix_of(block).F, raw)
    newton_state_of(block).scalars[VALID] = 0.0
    evaluate(block, w)


@lean
def _part_at(interpreter, control, switching, point, b, row, known, tolerance, h, w):  # type: ignore[no-untyped-def]
    """Return (part at which bounded state b meets or leaves its limit, 1 for none; whether rates are known).

    `row` is that of `Limits.moving`, -1 where none of its limits moves; the rates are those of `_raw_rates`.
    See `first_limit`.
    """
    block = interpreter.blocks[0]
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
    limits, part, known, row = limits_of(interpreter.blocks[0]), 1.0, False, 0
    start, variables = interpreter.points[AT_START], matrix_of(interpreter.blocks[0]).variables
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


@lean
def _go_back(interpreter, w):  # type: ignore[no-untyped-def]
    """Make w the point again from which the step was tried."""
    copy(interpreter.points[AT_START], w)
    interpreter.state[EVALUATED_BLOCK] = -1


@lean
def _in_parts(interpreter, h, w):  # type: ignore[no-untyped-def]
    """Take a step that cannot be solved as a whole in parts, as long ones as can be; return a status.

    Where no part leads on, AT_START is the last point that was reached.
    """
    points, state = interpreter.points, interpreter.state
    t = points[AT_START, w.size - 1]
    copy(points[AT_START], points[AT_ORIGIN])
    part, done = 0.5, 0.0
    while done < 1.0:
        w[w.size - 1] = t + done * h
        copy(w, points[AT_START])
        state[EVALUATED_BLOCK] = -1
        status = run_program(interpreter, PART, 0, interpreter.part_code.shape[0], part * h, w)
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
            interpreter.measured[LEAST] = 2.0 * part * h
            return status
    w[w.size - 1] = t + h
    copy(points[AT_ORIGIN], points[AT_START])
    return DONE


@lean
def _jumps_within(interpreter, k):  # type: ignore[no-untyped-def]
    """Return whether held inputs jump within step k of a grid."""
    jumps, found = interpreter.jumps, False
    if jumps.within.size > 0:
        for point in range(jumps.points[k], jumps.points[k + 1]):
            found |= jumps.within[point] != NO_JUMP
    return found


@lean
def _write_within(interpreter, k, w):  # type: ignore[no-untyped-def]
    """Write held inputs as what jumps within step k leaves them: its end may come from a point before."""
    jumps = interpreter.jumps
    for point in range(jumps.points[k], jumps.points[k + 1]):
        if jumps.within[point] != NO_JUMP:
            write_inputs(jumps, jumps.within[point], w)
    write_kept(interpreter.sampling, w)


@lean
def _fixed_step(interpreter, k, h, w):  # type: ignore[no-untyped-def]
    """Take step k, of h in s, from the point in w, in parts if need be; return a status.

    Where it fails w is the last point that was reached, in parts too.
    """
    points, state = interpreter.points, interpreter.state
    copy(w, points[AT_START])
    interpreter.divided[k] = interpreter.sampling.state[KEPT] = 0
    state[STEP], whole = k, _jumps_within(interpreter, k)
    status = run_program(interpreter, WHOLE, 0, interpreter.code.shape[0], h, w)
    if status != DONE:
        _go_back(interpreter, w)
        interpreter.measured[LEAST] = h
        forget(interpreter.stage_history)
        parts = state[SOLVING] != 0 and not whole
        if parts and status not in (NO_ROOM, NOT_AGREED, SLOW_TO_AGREE, NOT_SETTLED):
            status = _in_parts(interpreter, h, w)
            interpreter.divided[k] = 1
        if status != DONE:
            _go_back(interpreter, w)
            return status
        forget(interpreter.stage_history)
        state[DIVIDED] += 1
    if whole:
        _write_within(interpreter, k, w)
    if state[HAS_HISTORY] != 0:
        copy(points[AT_OLDER], points[AT_OLDEST])
        copy(points[AT_START], points[AT_OLDER])
    return DONE


@lean
def next_stop(interpreter, control, t):  # type: ignore[no-untyped-def]
    """Return the first time in s after t at which a step ends: a stop, a sample, or the end of the span.

    What follows a course follows the lines that hold before it.
    """
    stops, passed = control.stops, control.passed
    while stops[passed[0]] <= t:
        passed[0] += 1
    stop = stops[passed[0]]
    if interpreter.sampling.clocks.shape[0] > 0:
        due = next_sample(interpreter.sampling, t)
        stop = due if due < stop - interpreter.sampling.near else stop
    follow_until(interpreter.blocks[0], stop)
    return stop


@lean
def _first_end(interpreter, control, switching, point, h, w):  # type: ignore[no-untyped-def]
    """Return at which part of the step it should end for a limit or a kink before a point of it, or 1.

    The point is in w, and was solved last.
    """
    reach = switching.parts[point]
    tolerance = control.tolerance * control.disturbance.size[SO_FAR]
    least = TUNED.limit_tolerance * tolerance
    part = first_limit(interpreter, control, switching, point, least, reach * h, w)
    part = reach * part if part < 1.0 - TUNED.negligible else 1.0
    return min(part, first_switch(interpreter, switching, point, tolerance, h, w))


@lean
def _attempt(interpreter, control, switching, find_switching, h, w):  # type: ignore[no-untyped-def]
    """Try a step of h in s from the point in w; return (status, at which part of it it should end).

    Where it is to `find_switching`, it is broken off behind the first stage that shows one that ends it: the
    stages behind it would be solved in vain.
    """
    halts, at = control.halts, 0
    forget_margins(switching)
    for k in range(halts.shape[0]):
        status = run_program(interpreter, WHOLE, at, halts[k, 0], h, w)
        if status != DONE:
            return status, 1.0
        at = halts[k, 0]
        if find_switching:
            part = _first_end(interpreter, control, switching, halts[k, 1], h, w)
            if part < 1.0:
                return DONE, part
    return DONE, 1.0


@lean
def controlled_step(interpreter, control, switching, w):  # type: ignore[no-untyped-def]
    """Try steps from the point in w until one is accepted, no further than the next stop; return a status."""
    points, steps, counts = interpreter.points, control.steps, control.counts
    disturbance, block = control.disturbance, interpreter.blocks[0]
    refused, located, before = False, 0, 0.0
    while True:
        if counts[ACCEPTED] + counts[REJECTED] >= control.most:
            return SPENT
        t = w[w.size - 1]
        stop = next_stop(interpreter, control, t)
        h, last = step_towards(t, min(steps[NEXT], control.longest), stop)
        steps[TRIED] = h
        if not t + h > t:
            return VANISHED
        copy(w, points[AT_START])
        interpreter.state[EFFORT] = effort_for(control.solvable)
        interpreter.measured[TOLERANCE_FACTOR] = disturbance.size[SO_FAR]
        status, part = _attempt(interpreter, control, switching, located < TUNED.most_setbacks, h, w)
        interpreter.state[EFFORT] = ALL
        if part < 1.0 and t + part * h > t:  # taken again, to the kink
            _go_back(interpreter, w)
            before, located = max(h, before), located + 1
            steps[NEXT] = part * h
            continue
        error, size = np.inf, 1.0
        if status == DONE:
            size = size_with(disturbance, w)
            filtered_estimate(block, interpreter.rates, control.difference, h, w)
            error = largest_error(block, w, control.tolerance * size)
        if error <= 1.0:
            if last:
                w[w.size - 1] = stop
            follow_switching(switching, located > 0)
            follow_disturbance(disturbance, size, h, w)
            accept(control, h, error, last, refused, before)
            for k in range(control.outliving.shape[0]):
                copy(points[control.outliving[k, 0]], points[control.outliving[k, 1]])
            return DONE
        _go_back(interpreter, w)
        if status == NO_ROOM:
            return status
        reject(control, h, error, status == DONE)
        refused = True
        if status != DONE and not t + 1e-3 * steps[NEXT] > t:
            return status


@lean
def jump_at_stop(interpreter, control, t):  # type: ignore[no-untyped-def]
    """Return at which instant held inputs jump at the end of a step, if they do."""
    ends, stop = interpreter.jumps.ends, control.passed[0]
    if ends.size == 0 or control.stops[stop] != t:
        return NO_JUMP
    return ends[stop]


@lean
def effect_at(interpreter, control, k, t):  # type: ignore[no-untyped-def]
    """Return the effect of what happens at t, the end of a step: of a jump k, or of samples."""
    if k != NO_JUMP:
        return ANSWERED
    if interpreter.sampling.clocks.shape[0] == 0 or t == control.stops[control.stops.size - 1]:
        return NOT_DUE
    return find_due(interpreter.sampling, t)


@lean
def forget_outliving(interpreter, control):  # type: ignore[no-untyped-def]
    """Let the stages of the next step not go on from points of this one."""
    for k in range(control.outliving.shape[0]):
        point = interpreter.points[control.outliving[k, 1]]
        point[point.size - 1] = np.nan


@lean
def _steps(interpreter, control, switching, h, times, ends, first, last, w, record):  # type: ignore[no-untyped-def]
    """See `advance`; what a scheme has no use for is not compiled for it."""
    for k in range(first, last):
        if control is None:
            w[w.size - 1] = times[k]
            status = _fixed_step(interpreter, k, h, w)
        else:
            status = controlled_step(interpreter, control, switching, w)
        if status != DONE:
            return k, status
        if control is None:
            jump = interpreter.jumps.ends[k] if interpreter.jumps.ends.size > 0 else NO_JUMP
            effect = NOT_DUE if jump == NO_JUMP else ANSWERED
            end = ends[k + 1] if effect == NOT_DUE else ends[k + 1] - 1
            for i in range(end - ends[k] - 1):
                copy(interpreter.inner_points[i], record[ends[k] + 1 + i])
            copy(w, record[end])
        else:
            times[k + 1] = w[w.size - 1]
            jump = jump_at_stop(interpreter, control, times[k + 1])
            effect = effect_at(interpreter, control, jump, times[k + 1])
            ends[k + 1] = ends[k] + 1 if effect == NOT_DUE else ends[k] + 2
            copy(w, record[ends[k] + 1])
        if effect != NOT_DUE:
            if control is not None and effect > UNREAD:
                forget_outliving(interpreter, control)
                note_rates(control, interpreter.blocks[0], w)
            status = cross_jump(interpreter, jump, w)
            copy(w, record[ends[k + 1]])
            if status != DONE:
                return k + 1, status
            if control is not None and effect > UNREAD:
                begin_after_jump(control, interpreter.blocks[0], w)
                interpreter.state[EVALUATED_BLOCK] = 0
        if control is None:
            if outdated(interpreter, w):
                return k + 1, STALE
        else:
            if not times[k + 1] < control.stops[control.stops.size - 1]:
                return k + 1, DONE
    return last, DONE if control is None else FULL


@announced("the integrator", 3)
@lean
def advance(interpreter, control, h, times, ends, first, last, w, record):  # type: ignore[no-untyped-def]
    """Take steps first..last-1; row ends[k + 1] of `record` takes the end of step k, times[k] is its start.

    Without a controller (None) each step has h in s and its time; with one both are found, and the end of
    step k is times[k + 1]. The rows between ends[k] and ends[k + 1] take the points within a step, and where
    held inputs jump at its end, or samples are taken, the point before. Returns (number of the step that was
    not completed, or behind the last one, status); where a step fails w is the last point that was reached.
    With `STALE` the step before that number was completed, and the network's response does not hold after it;
    with `UNSOLVED` it was completed but for the point behind a jump, with `NOT_SAMPLED` but for a sample
    there; with `FULL` the span goes on.
    """
    interpreter = by_reference(interpreter)
    if control is None:
        return _steps(interpreter, None, None, h, times, ends, first, last, w, record)
    chosen = by_reference(control)
    return _steps(
        interpreter, chosen, by_reference(control.switching), h, times, ends, first, last, w, record
    )
