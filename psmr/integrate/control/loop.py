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
    AT_STOPS,
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
from psmr.integrate.control.limits import first_limit
from psmr.integrate.control.switching import first_switch, follow_switching, forget_margins
from psmr.integrate.solve.newton import ALL
from psmr.integrate.solve.records import (
    TURNING,
    copy,
    follow_until,
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
from psmr.integrate.step.crossing import cross, cross_jump
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
from psmr.integrate.step.march import fast_alone_due, level_error, next_slow_sample, whole_fast_steps
from psmr.integrate.step.march_room import FAST_STEP
from psmr.integrate.step.program_table import AT_OLDER, AT_OLDEST, AT_ORIGIN, AT_START
from psmr.integrate.step.run_program import PART, WHOLE, run_program
from psmr.integrate.step.sampling import ANSWERED, KEPT, NOT_DUE, UNREAD, find_due, next_sample, write_kept
from psmr.integrate.step.validity import outdated


@lean
def _go_back(interpreter, w):  # type: ignore[no-untyped-def]
    """Make w the point again from which the step was tried."""
    copy(interpreter.points[AT_START], w)
    interpreter.state[EVALUATED_BLOCK] = -1


@lean
def _go_on(points):  # type: ignore[no-untyped-def]
    """Let the points before the step be those before the next one."""
    copy(points[AT_OLDER], points[AT_OLDEST])
    copy(points[AT_START], points[AT_OLDER])


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
        _go_on(points)
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
        due = next_slow_sample(interpreter, t)
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
    disturbance, block = control.disturbance, interpreter.blocks[control.block]
    refused, located, before = False, 0, 0.0
    while True:
        if counts[ACCEPTED] + counts[REJECTED] - counts[AT_STOPS] >= control.most:
            return SPENT
        t = w[w.size - 1]
        stop = next_stop(interpreter, control, t)
        h, last = step_towards(t, min(steps[NEXT], control.longest), stop)
        if interpreter.march.grid[FAST_STEP] > 0.0 and located == 0:
            h, last = whole_fast_steps(interpreter, t, h, last, stop)
        steps[TRIED] = h
        if not t + h > t:
            return VANISHED
        copy(w, points[AT_START])
        turning = newton_state_of(block).scalars[TURNING]
        interpreter.state[EFFORT] = effort_for(control.solvable)
        interpreter.measured[TOLERANCE_FACTOR] = disturbance.size[SO_FAR]
        status, part = _attempt(interpreter, control, switching, located < TUNED.most_setbacks, h, w)
        interpreter.state[EFFORT] = ALL
        if part < 1.0 and t + part * h > t:  # taken again, to the kink
            _go_back(interpreter, w)
            newton_state_of(block).scalars[TURNING] = turning
            before, located = max(h, before), located + 1
            steps[NEXT] = part * h
            continue
        error, size = np.inf, 1.0
        if status == DONE:
            size = size_with(disturbance, w)
            filtered_estimate(block, interpreter.rates, control.difference, h, w)
            error = largest_error(block, w, control.tolerance * size)
            off = level_error(interpreter, h, w) / (control.tolerance * size)
            error = error if off <= error else off
        if error <= 1.0:
            if last:
                w[w.size - 1] = stop
                counts[AT_STOPS] += 1
            follow_switching(switching, located > 0)
            follow_disturbance(disturbance, size, h, w)
            accept(control, h, error, last, refused, before)
            for k in range(control.outliving.shape[0]):
                copy(points[control.outliving[k, 0]], points[control.outliving[k, 1]])
            if interpreter.state[HAS_HISTORY] != 0:
                _go_on(points)
            return DONE
        _go_back(interpreter, w)
        newton_state_of(block).scalars[TURNING] = turning
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
    sampling, points = interpreter.sampling, interpreter.points
    if sampling.clocks.shape[0] == 0 or t == control.stops[control.stops.size - 1]:
        return NOT_DUE
    # What is as near to the start of the step was taken there.
    taken = next_sample(sampling, points[AT_START, points.shape[1] - 1]) > t + sampling.near
    return NOT_DUE if taken else find_due(sampling, t)


@lean
def forget_outliving(interpreter, control):  # type: ignore[no-untyped-def]
    """Let the stages of the next step not go on from points of this one."""
    points = interpreter.points
    last = points.shape[1] - 1
    for k in range(control.outliving.shape[0]):
        points[control.outliving[k, 1], last] = np.nan
    if interpreter.state[HAS_HISTORY] != 0:
        points[AT_OLDER, last] = points[AT_OLDEST, last] = np.nan


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
            if effect != NOT_DUE and jump == NO_JUMP and fast_alone_due(interpreter):
                status, _ = cross(interpreter, jump, w)  # the next fast step answers
                effect = NOT_DUE
            ends[k + 1] = ends[k] + 1 if effect == NOT_DUE else ends[k] + 2
            copy(w, record[ends[k] + 1])
            if status != DONE:
                return k + 1, status
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
        if control is not None and not times[k + 1] < control.stops[control.stops.size - 1]:
            return k + 1, DONE
        if outdated(interpreter, w):
            return k + 1, STALE
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
