"""Fast steps to the end of a step that the slow side has yet to take; compiled.

The fast side goes first: what it reads of the slow one is extrapolated. Of the slow algebraic variables that
is the level l = y_s - S w_fast, which follows the slow states alone (`psmr.integrate.step.network_response`).
So nothing of the algebraic loop between the sides is late, however weak the network is; what is late is the
way from fast variables through slow states back to the levels.

The slow side then sees the fast variables on the line p that has their mean and their first moment,

    integral of (w_fast - p) ds = integral of s (w_fast - p) ds = 0.

What a slow state x' = A x + B w_fast gets of them over a step of H is the integral of w_fast with the weight
exp(A (H - t)) B. All but its second derivative is met, so that p leaves (A H)^2 H of the ripple within the
step, and of what is smooth the fifth power of the step: a pair of order four keeps its order. A line is
nothing to the estimate of an error, which is one of rates with a second derivative: what is held between
samples, or ripples within the step, does not shorten it.
"""

from __future__ import annotations

import numpy as np

from psmr.dae.compile.decorators import lean
from psmr.integrate.constants import TUNED
from psmr.integrate.solve.equations import evaluate, put_onto_limits
from psmr.integrate.solve.lu import READY
from psmr.integrate.solve.lu import solve as factors_solve
from psmr.integrate.solve.newton import add_update, defect_at, solve
from psmr.integrate.solve.records import (
    FALL,
    ITERATIONS,
    SCALE,
    UNSEEN,
    VALID,
    copy,
    largest_part,
    limits_of,
    lu_of,
    matrix_of,
    newton_state_of,
    position,
    positions_of,
    work_of,
)
from psmr.integrate.solve.status import DONE
from psmr.integrate.step.input_jumps import write_inputs
from psmr.integrate.step.interpreter import EFFORT, EVALUATED_BLOCK, FAILED, SOLVING, TOLERANCE_FACTOR
from psmr.integrate.step.march_room import ALLOWED, DIVISOR, FAST_STEP, LOOK, ORIGIN
from psmr.integrate.step.program_table import (
    AT_OLDER,
    AT_OLDEST,
    AT_START,
    BLOCK,
    KEEP,
    LIST,
    NUMBERS,
)
from psmr.integrate.step.sampling import next_sample, sample


@lean
def _line_and_bend(zero, one, two, a, b, degree):  # type: ignore[no-untyped-def]
    """Return the coefficients of s and s^2 of the polynomial with a value at 0, at -a and at -b."""
    if degree == 0:
        return 0.0, 0.0
    slope = (zero - one) / a
    if degree == 1:
        return slope, 0.0
    bend = (slope - (one - two) / (b - a)) / b
    return slope + a * bend, bend


@lean
def degree_of_past(points, t, h):  # type: ignore[no-untyped-def]
    """Return (degree of the polynomial through the last accepted points, how far they are back, over h).

    Points that are not there, or so near that the values at the end would be more than so many times what is
    uncertain in them, are left out.
    """
    last = points.shape[1] - 1
    a, b = (t - points[AT_OLDER, last]) / h, (t - points[AT_OLDEST, last]) / h
    if not 1.0 + 2.0 / a <= TUNED.extrapolated_weights:  # NaN: not there
        return 0, a, b
    weights = (1.0 + a) * (1.0 + b) / (a * b) + (1.0 + b) / (a * (b - a)) + (1.0 + a) / (b * (b - a))
    return 2 if weights <= TUNED.extrapolated_weights else 1, a, b


@lean
def _level_at(point, response, j):  # type: ignore[no-untyped-def]
    """Return the level of a responding variable at a point."""
    level = point[response.at[j]]
    for q in range(response.ends[j], response.ends[j + 1]):
        level -= response.gains[q] * point[response.of[q]]
    return level


@lean
def _extrapolate(interpreter, t, h):  # type: ignore[no-untyped-def]
    """Write the polynomials of what is read of the slow side."""
    points, room, response = interpreter.points, interpreter.march, interpreter.response
    degree, a, b = degree_of_past(points, t, h)
    now, older, oldest = points[AT_START], points[AT_OLDER], points[AT_OLDEST]
    for q in range(room.read.shape[1]):
        at = interpreter.read[q]
        room.read[0, q] = now[at]
        room.read[1, q], room.read[2, q] = _line_and_bend(now[at], older[at], oldest[at], a, b, degree)
    for j in range(room.levels.shape[1]):
        level, one, two = _level_at(now, response, j), 0.0, 0.0
        if degree > 0:
            one = _level_at(older, response, j)
        if degree > 1:
            two = _level_at(oldest, response, j)
        room.levels[0, j] = level
        room.levels[1, j], room.levels[2, j] = _line_and_bend(level, one, two, a, b, degree)


@lean
def _write_slow(interpreter, s, w):  # type: ignore[no-untyped-def]
    """Write what is read of the slow side as it is at the part s of the step."""
    room, read, level = interpreter.march, interpreter.read, interpreter.response.level
    interpreter.state[EVALUATED_BLOCK] = -1
    for q in range(room.read.shape[1]):
        w[read[q]] = room.read[0, q] + s * (room.read[1, q] + s * room.read[2, q])
    for j in range(room.levels.shape[1]):
        level[j] = room.levels[0, j] + s * (room.levels[1, j] + s * room.levels[2, j])


@lean
def level_error(interpreter, h, w):  # type: ignore[no-untyped-def]
    """Return by how much what was read of the slow side at the end of a step of h is off; see `_read_error`.

    Relative to max(1, |value|). w is the end of the step, with the slow side solved for.
    """
    room, response, states, largest = interpreter.march, interpreter.response, 0.0, 0.0
    for q in range(room.read.shape[1]):
        value = w[interpreter.read[q]]
        off = abs(room.read[0, q] + room.read[1, q] + room.read[2, q] - value) / max(1.0, abs(value))
        states = off if not off <= states else states
    for j in range(room.levels.shape[1]):
        off = room.levels[0, j] + room.levels[1, j] + room.levels[2, j] - _level_at(w, response, j)
        off = abs(off) / max(1.0, abs(w[response.at[j]]))
        largest = off if not off <= largest else largest
    return largest if states <= largest else max(largest, min(states, _read_error(interpreter, h, w)))


@lean
def _read_error(interpreter, h, w):  # type: ignore[no-untyped-def]
    """Return how far the fast side is off at most by what it read of slow states over a step of h in s.

    A field voltage that follows each ripple of a terminal voltage moves much, and next to nothing of the
    fast side within a step. The estimate is h times the difference that the states make to the rates, solved
    with the matrix of the fast steps as `psmr.integrate.control.error_size` solves that of a pair.
    """
    room = interpreter.march
    block = interpreter.blocks[room.block]
    if lu_of(block).state[READY] == 0:
        return np.inf
    work, F, scalars = work_of(block), matrix_of(block).F, newton_state_of(block).scalars
    limits, defect, states = limits_of(block), work.defect, work.known.size
    for known in (True, False):
        scalars[VALID] = 0.0
        evaluate(block, w)
        if known:
            copy(F, work.update)
        for q in range(room.read.shape[1]):
            at, value = interpreter.read[q], w[interpreter.read[q]]
            w[at] = room.read[0, q] + room.read[1, q] + room.read[2, q] if known else room.read[0, q]
            room.read[0, q] = value
    scalars[VALID] = 0.0
    for i in range(defect.size):
        defect[i] = (h if i < states else 1.0) * (F[i] - work.update[i])
    for b in range(limits.bounded.size):
        if limits.held[b] != 0:
            defect[limits.bounded[b]] = 0.0
    factors_solve(lu_of(block), defect, work.update)
    largest, _ = largest_part(work.update, positions_of(block), w, 1.0)
    return largest


@lean
def _add_moments(points, row, fast, c, d, within, share, w):  # type: ignore[no-untyped-def]
    """Add what a fast step has of the moments: its middle is at c, and it is d long, in parts of the step.

    Its variables are on the line through the stage `within` it and its end, of which the stage has `share`
    in the mean.
    """
    first, second, middle = points[row[LIST]], points[row[LIST + 1]], points[row[LIST + 2]]
    one, one_of_slope = 3.0 * d * (2.0 * c - 1.0), 0.5 * d * d / (1.0 - within)
    for at in fast:
        start, end = middle[at], w[at]
        mean = share * start + (1.0 - share) * end
        first[at] += d * mean
        second[at] += one * mean + one_of_slope * (end - start)


@lean
def next_fast_point(grid, s, end):  # type: ignore[no-untyped-def]
    """Return the time in s at which the fast step from s ends: on the grid, or at the `end` of the step."""
    step = grid[FAST_STEP]
    near = TUNED.negligible
    until = grid[ORIGIN] + step * (np.floor((s - grid[ORIGIN]) / step + near) + 1.0)
    return end if until >= end - near * step else until


@lean
def _first_from(instants, s):  # type: ignore[no-untyped-def]
    """Return the number of the first instant from s on."""
    low, high = 0, instants.size
    while low < high:
        middle = (low + high) // 2
        if instants[middle] < s:
            low = middle + 1
        else:
            high = middle
    return low


@lean
def _look(block, w, a, tolerance):  # type: ignore[no-untyped-def]
    """Take two updates with the kept matrix, and keep by how much they fell; return whether they do."""
    scalars = newton_state_of(block).scalars
    evaluate(block, w)
    if defect_at(block, w, a):
        return False
    first = add_update(block, w)
    evaluate(block, w)
    if defect_at(block, w, a):
        return False
    norm = add_update(block, w)
    newton_state_of(block).counts[ITERATIONS] += 2
    scalars[FALL] = norm / first if first > 0.0 else 0.0
    if not scalars[FALL] <= TUNED.contraction_limit:
        return False
    scalars[UNSEEN] = TUNED.fast_unchecked
    return scalars[FALL] * norm < tolerance


@lean
def _take_update(block, w, a, tolerance):  # type: ignore[no-untyped-def]
    """Take one update with the kept matrix, of which a later one is to make no more than the tolerance.

    Returns whether that is so: by how much an update is smaller than the one before was last looked at some
    solves ago, and is taken to be a few times worse.
    """
    state = newton_state_of(block)
    scalars = state.scalars
    scalars[VALID] = 0.0
    if not abs(scalars[SCALE] - a) <= TUNED.rounding * a:  # NaN: there is none
        return False
    if scalars[UNSEEN] <= 0.0:
        return _look(block, w, a, tolerance)
    evaluate(block, w)
    if defect_at(block, w, a):
        return False
    norm = add_update(block, w)
    state.counts[ITERATIONS] += 1
    scalars[UNSEEN] -= 1.0
    return TUNED.unchecked_margin * max(scalars[FALL], TUNED.negligible * TUNED.negligible) * norm < tolerance


@lean
def _fast_stage(interpreter, row, numbers, s, h, ahead, w):  # type: ignore[no-untyped-def]
    """Solve a stage of the fast step of h in s from the time s; return a status.

    Newton starts where the last rate leads in `ahead` of the step. Most equations are as good as linear
    within a fast step: one update with the kept matrix does.
    """
    number, first = row[BLOCK], row[NUMBERS]
    block, state = interpreter.blocks[number], interpreter.state
    known, places, rate = work_of(block).known, positions_of(block), interpreter.rates[row[LIST]]
    tolerance = interpreter.tolerance * interpreter.measured[TOLERANCE_FACTOR] * TUNED.fast_share
    a, weight = h * numbers[first + 1], h * numbers[first + 2]
    for q in range(known.size):
        at = position(places, q)
        known[q] = w[at] + weight * rate[at]
        w[at] += ahead * h * rate[at]
    w[w.size - 1] = s + h * numbers[first]
    if not _take_update(block, w, a, tolerance):
        newton_state_of(block).scalars[VALID] = 0.0
        status = solve(block, w, a, interpreter.policy, tolerance, state[EFFORT])
        if status != DONE:
            state[FAILED], state[SOLVING] = number, 1
            return status
    put_onto_limits(block, w)
    for q in range(known.size):
        at = position(places, q)
        rate[at] = (w[at] - known[q]) / a
    return DONE


@lean
def _fast_steps(interpreter, code, row, numbers, at, t, h, s, until, count, kept, w):  # type: ignore[no-untyped-def]
    """Take so many fast steps from s to `until` in s within the step of h from t; return a status.

    Of those that are `kept` the moments are added up.
    """
    points, fast = interpreter.points, interpreter.fast
    within, share, middle = numbers[row[NUMBERS]], numbers[row[NUMBERS] + 1], points[row[LIST + 2]]
    step, begin = (until - s) / count, s
    for k in range(count):
        end = until if k == count - 1 else s + (k + 1) * step
        _write_slow(interpreter, (begin + within * step - t) / h, w)
        status = _fast_stage(interpreter, code[at], numbers, begin, step, within, w)
        if status != DONE:
            return status
        if kept:
            for place in fast:
                middle[place] = w[place]
        _write_slow(interpreter, (end - t) / h, w)
        status = _fast_stage(interpreter, code[at + 1], numbers, begin, step, 1.0 - within, w)
        if status != DONE:
            return status
        if kept:
            _add_moments(points, row, fast, (0.5 * (begin + end) - t) / h, step / h, within, share, w)
        begin = end
    return DONE


@lean
def _copy_fast(interpreter, source, target):  # type: ignore[no-untyped-def]
    """Write the variables of the fast side, and those that respond to them, from one point into another."""
    for place in interpreter.fast:
        target[place] = source[place]
    for place in interpreter.response.at:
        target[place] = source[place]


@lean
def _to_next_point(interpreter, code, row, numbers, at, t, h, s, until, w):  # type: ignore[no-untyped-def]
    """Take the fast steps from s to the next point in s; return a status.

    How many they are follows from the error of some of them, which are taken again with half the step: they
    are more from there on where the errors of all of them in a step may be above its tolerance, or where one
    is not solved.
    """
    points, room = interpreter.points, interpreter.march
    pace, begin, coarse = room.pace, points[row[LIST + 3]], points[row[LIST + 4]]
    if pace[LOOK] > 0.0:
        pace[LOOK] -= 1.0
        return _fast_steps(interpreter, code, row, numbers, at, t, h, s, until, int(pace[DIVISOR]), True, w)
    _copy_fast(interpreter, w, begin)
    often = min(h / (until - s), TUNED.fast_memory)
    allowed = room.grid[ALLOWED] * interpreter.measured[TOLERANCE_FACTOR] / often
    while True:
        count, status = int(pace[DIVISOR]), DONE
        status = _fast_steps(interpreter, code, row, numbers, at, t, h, s, until, count, False, w)
        error = np.inf
        if status == DONE:
            _copy_fast(interpreter, w, coarse)
            _copy_fast(interpreter, begin, w)
            status = _fast_steps(interpreter, code, row, numbers, at, t, h, s, until, 2 * count, False, w)
        if status == DONE:
            error = 0.0
            for place in interpreter.fast:
                off = abs(w[place] - coarse[place]) / max(1.0, abs(w[place]))
                error = off if not off <= error else error
        if error <= allowed or 2 * count > TUNED.fast_divisions:
            break
        pace[DIVISOR] = 2.0 * count
        _copy_fast(interpreter, begin, w)
    if error < TUNED.fast_coarser * allowed and count > 1:
        pace[DIVISOR] = 0.5 * count
    pace[LOOK] = TUNED.fast_unseen
    _copy_fast(interpreter, begin, w)
    return _fast_steps(interpreter, code, row, numbers, at, t, h, s, until, count, True, w)


@lean
def march(interpreter, code, row, numbers, at, t, h, w):  # type: ignore[no-untyped-def]
    """Do a `March`: the stages of its fast steps begin at row `at` of the code; return a status."""
    points, room, jumps, status = interpreter.points, interpreter.march, interpreter.jumps, DONE
    _extrapolate(interpreter, t, h)
    _begin_fast(interpreter, row, code[at, LIST])
    near, one = TUNED.negligible * room.grid[FAST_STEP], interpreter.sampling.near
    s, end, instant = t, t + h, _first_from(jumps.t, t - near)
    sampled = interpreter.sampling.clocks.shape[0] > 0
    due = next_sample(interpreter.sampling, t) if sampled else np.inf
    while s < end:
        jumping = instant < jumps.t.size and jumps.t[instant] <= s + near
        if s > t and sampled and due <= s + one:
            w[w.size - 1] = s
            status, _ = sample(interpreter.sampling, w)
            if status != DONE:
                break
            due = next_sample(interpreter.sampling, s)
        if jumping:
            write_inputs(jumps, instant, w)
            instant += 1
        until = next_fast_point(room.grid, s, end)
        if sampled and due < until - one:
            until = due
        if instant < jumps.t.size and jumps.t[instant] < until - near:
            until = jumps.t[instant]
        status = _to_next_point(interpreter, code, row, numbers, at, t, h, s, until, w)
        if status != DONE:
            break
        s = until
    last, start = points[row[KEEP]], points[AT_START]
    for place in interpreter.fast:
        last[place] = w[place]
    for place in interpreter.read:
        w[place] = start[place]
    for place in interpreter.response.at:
        w[place] = start[place]
    interpreter.state[EVALUATED_BLOCK] = -1
    return status


@lean
def _begin_fast(interpreter, row, rate):  # type: ignore[no-untyped-def]
    """Begin a march: no moments, and no rate, of which only Newton's start is made."""
    rates = interpreter.rates[rate]
    for place in interpreter.fast:
        interpreter.points[row[LIST], place] = interpreter.points[row[LIST + 1], place] = 0.0
        if place < rates.size:
            rates[place] = 0.0
    interpreter.march.pace[LOOK] = 0.0


@lean
def whole_fast_steps(interpreter, t, h, last, stop):  # type: ignore[no-untyped-def]
    """Return (step in s from t near one of h that ends on the grid of fast steps, whether it ends at a stop).

    It is at most a few times as long as the last one, on whose past it depends; one that is shorter than a
    fast step is left as it is, and so is the `last` one to the stop.
    """
    points, grid = interpreter.points, interpreter.march.grid
    longest = TUNED.largest_step_ratio * (t - points[AT_OLDER, points.shape[1] - 1])
    if h > longest:  # NaN: the first one
        h, last = longest, False
    step = grid[FAST_STEP]
    if last or not h > step:
        return h, last
    near = TUNED.negligible
    until = grid[ORIGIN] + step * np.floor((t + h - grid[ORIGIN]) / step + near)
    return (stop - t, True) if until >= stop - near * step else (until - t, False)


@lean
def next_slow_sample(interpreter, t):  # type: ignore[no-untyped-def]
    """Return the time in s of the first sample behind t at which a step ends: without a march of any."""
    sampling, room = interpreter.sampling, interpreter.march
    if room.grid[FAST_STEP] == 0.0:
        return next_sample(sampling, t)
    clocks, found = sampling.clocks, np.inf
    for c in range(clocks.shape[0]):
        if room.slow_clocks[c]:
            k = np.ceil((t + sampling.near - clocks[c, 1]) / clocks[c, 0])
            found = min(found, clocks[c, 1] + max(k, 0.0) * clocks[c, 0])
    return found


@lean
def fast_alone_due(interpreter):  # type: ignore[no-untyped-def]
    """Return whether fast rows alone read what the samples write that were found to be due."""
    room, alone = interpreter.march, interpreter.march.grid[FAST_STEP] > 0.0
    for c in range(room.slow_clocks.size):
        alone &= not (room.slow_clocks[c] and interpreter.sampling.due[c] != 0)
    return alone
