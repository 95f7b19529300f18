"""What each instruction of a program does, in compiled code: stages, combinations of points, agreement."""

from __future__ import annotations

import numpy as np

from psmr.dae.compile.decorators import lean
from psmr.integrate.constants import TUNED
from psmr.integrate.solve.equations import follow_limits, place, project
from psmr.integrate.solve.newton import DISHONEST, PLAIN, solve
from psmr.integrate.solve.records import (
    CONTRACTION,
    ITERATIONS,
    RESIDUALS,
    SCALE,
    VALID,
    WORST_AT,
    copy,
    matrix_of,
    newton_state_of,
    position,
    positions_of,
    work_of,
)
from psmr.integrate.solve.status import DONE, NO_ROOM, NOT_AGREED, NOT_FINITE, NOT_SETTLED, SLOW_TO_AGREE
from psmr.integrate.step.interpreter import (
    AUTONOMOUS,
    CORRECTIONS,
    DIFFERENCE,
    DOUBLED,
    EFFORT,
    EVALUATED_BLOCK,
    FAILED,
    GROWTHS,
    HERE,
    ROOM,
    ROUND,
    SOLVING,
    TOLERANCE_FACTOR,
    note_cost,
    restore_variables,
    store_result,
    write_start,
)
from psmr.integrate.step.program_table import (
    ALGEBRAIC,
    ANEW,
    BASE,
    BLOCK,
    COUNT,
    KEEP,
    LIST,
    LOOP,
    MATRIX,
    MOST,
    MOST_LISTED,
    NUMBERS,
    PASS,
    POINTS,
    PRESENT,
    SHOWN,
    SIDE,
    SLOT,
    STRIDE,
    TARGET,
)


@lean
def _write_shares(points, row, first, t, h, s, room):  # type: ignore[no-untyped-def]
    """Write for each point prod (s - s_j) and 1 / prod (s_k - s_j) over the others that are there.

    s = (time - t) / h; the second one is NaN for a point that is not there.
    """
    last = points.shape[1] - 1
    for k in range(first, row[COUNT]):
        room[k] = (points[row[LIST + k], last] - t) / h
    for k in range(first, row[COUNT]):
        own, value, product = room[k], 1.0, 1.0
        for j in range(first, row[COUNT]):
            other = room[j]
            if j != k and other == other:
                value *= s - other
                product *= own - other
        room[MOST_LISTED + k], room[2 * MOST_LISTED + k] = value, 1.0 / product


@lean
def _write_weights(points, row, numbers, first, t, h, room):  # type: ignore[no-untyped-def]
    """Write the weights of the points from `first` on; return the sum of their sizes.

    They are those of the polynomial, and as much of the divided difference as makes them right in the cubes.
    """
    s, there, count = numbers[row[NUMBERS]], 0, row[COUNT]
    missing, gained, size = numbers[row[NUMBERS] + 1] * s**3, 0.0, 0.0
    _write_shares(points, row, first, t, h, s, room)
    for k in range(first, count):
        own = room[k]
        if own == own:
            there += 1
            cube = numbers[row[NUMBERS] + 2 + k] * own**3 * room[2 * MOST_LISTED + k]
            missing -= room[MOST_LISTED + k] * cube
            gained, size = gained + cube, size + abs(cube)
    share, reach = 0.0, 0.0
    if there >= 4 and abs(gained) > TUNED.rounding * size:
        share = missing / gained
    for k in range(first, count):
        room[MOST_LISTED + k] = (room[MOST_LISTED + k] + share) * room[2 * MOST_LISTED + k]
        if room[k] == room[k]:
            reach += abs(room[MOST_LISTED + k])
    return reach


@lean
def extrapolate(interpreter, row, numbers, t, h, w):  # type: ignore[no-untyped-def]
    r"""Write an extrapolation from the listed points into the variables of a block.

    At s = (time - t) / h a point has the value w + w' s h + w'' s^2 h^2 / 2 + cube w''' s^3 h^3 + ... A
    solution has cube = 1/6, a stage of a Runge-Kutta method has not, so that a polynomial through stages is
    off by that. From four points on the weights are right in 1, s, s^2, the third-order terms as they are,
    and further powers, as many as there are points left; those of three are the parabola's.

    A point whose time is NaN is not there. Where the step is much longer than the last one weights are large
    and amplify what Newton left in the points: then points are left out, the first ones first.
    """
    block = interpreter.blocks[row[BLOCK]]
    points, places, size = interpreter.points, positions_of(block), work_of(block).update.size
    waiting, weight_of_it, anew = -1, 0.0, True
    first, room = 0, interpreter.measured[ROOM:]
    while _write_weights(points, row, numbers, first, t, h, room) > TUNED.largest_weights:
        first += 1
    for k in range(first, row[COUNT]):
        if room[k] != room[k]:
            continue
        weight = room[MOST_LISTED + k]
        if waiting < 0:  # two at a time: reading and writing is all there is to do
            waiting, weight_of_it = row[LIST + k], weight
            continue
        one, two = points[waiting], points[row[LIST + k]]
        waiting = -1
        for q in range(size):
            at = position(places, q)
            value = weight_of_it * one[at] + weight * two[at]
            w[at] = value if anew else w[at] + value
        anew = False
    if waiting >= 0:
        one = points[waiting]
        for q in range(size):
            at = position(places, q)
            value = weight_of_it * one[at]
            w[at] = value if anew else w[at] + value
    interpreter.state[EVALUATED_BLOCK] = -1


@lean
def solve_algebraic(algebraic, block, w, policy, tolerance, effort):  # type: ignore[no-untyped-def]
    """Solve g(x, y) = 0 for y at the x and t in w, where x is the limited `known` of the block.

    Where y moves limits of x, both are repeated until they agree.
    """
    for _ in range(TUNED.most_rounds):
        newton_state_of(block).scalars[VALID] = 0.0
        newton_state_of(algebraic).scalars[VALID] = 0.0
        if work_of(algebraic).update.size > 0:
            status = solve(algebraic, w, 0.0, policy, tolerance, effort)
            if status != DONE:
                return status
        if not follow_limits(block, w, tolerance):
            return DONE
    return NOT_SETTLED


@lean
def _due(row, loops):  # type: ignore[no-untyped-def]
    """Return whether modified Newton makes a new matrix for this stage."""
    first = row[LOOP] < 0 or loops[row[LOOP], ROUND] == 0
    return row[MATRIX] == 1 or (row[MATRIX] == 2 and first)


@lean
def _tolerance(interpreter, a, tolerance):  # type: ignore[no-untyped-def]
    """Return Newton's tolerance for a stage with the coefficient a = h gamma in s."""
    if a <= interpreter.drifts_from:
        return tolerance
    return max(tolerance * interpreter.drifts_from / a, min(tolerance, TUNED.least_tolerance))


@lean
def _implicit(interpreter, row, block, a, w, tolerance, effort):  # type: ignore[no-untyped-def]
    """Solve the block's rows together."""
    state, number = interpreter.state, row[BLOCK]
    if state[EVALUATED_BLOCK] != number or state[AUTONOMOUS] == 0:
        newton_state_of(block).scalars[VALID] = 0.0
    if interpreter.policy == DISHONEST and _due(row, interpreter.loops):
        newton_state_of(block).scalars[SCALE] = np.nan
    status = solve(block, w, a, interpreter.policy, tolerance, effort)
    state[EVALUATED_BLOCK] = state[FAILED] = number
    if status != DONE:
        state[SOLVING] = 1
        return status
    if row[KEEP] >= 0:
        rate, known, places = interpreter.rates[row[KEEP]], work_of(block).known, positions_of(block)
        for q in range(known.size):
            at = position(places, q)
            rate[at] = (w[at] - known[q]) / a
    return DONE


@lean
def _explicit(interpreter, row, block, w, tolerance, effort):  # type: ignore[no-untyped-def]
    """Write the states, and solve the algebraic rows."""
    state, variables = interpreter.state, matrix_of(block).variables
    place(block, w)
    state[EVALUATED_BLOCK] = -1
    for q in range(work_of(block).known.size):
        if not np.isfinite(w[variables[q]]):  # no Newton update would notice
            newton_state_of(block).counts[WORST_AT] = q
            state[FAILED], state[SOLVING] = row[BLOCK], 0
            return NOT_FINITE
    algebraic = interpreter.blocks[row[ALGEBRAIC]]
    if interpreter.policy == DISHONEST and _due(row, interpreter.loops):
        newton_state_of(algebraic).scalars[SCALE] = np.nan
    status = solve_algebraic(algebraic, block, w, interpreter.policy, tolerance, effort)
    if status != DONE:
        state[FAILED], state[SOLVING] = row[ALGEBRAIC], 1
        return status
    if row[KEEP] >= 0:
        project(block, w, interpreter.rates[row[KEEP]])
        state[EVALUATED_BLOCK] = row[BLOCK]
    return DONE


@lean
def _solved(interpreter, row, block, a, w, tolerance, effort):  # type: ignore[no-untyped-def]
    """Solve a stage whose states have the known part; return a status."""
    if a != 0.0:
        return _implicit(interpreter, row, block, a, w, _tolerance(interpreter, a, tolerance), effort)
    return _explicit(interpreter, row, block, w, tolerance, effort)


@lean
def _solve_stage(interpreter, row, block, a, w):  # type: ignore[no-untyped-def]
    """Solve a stage: from its last results, and where these do not serve from the present point."""
    history, slot, state, tolerance = (
        interpreter.stage_history,
        row[SLOT],
        interpreter.state,
        interpreter.tolerance * interpreter.measured[TOLERANCE_FACTOR],
    )
    newton = newton_state_of(block if a != 0.0 else interpreter.blocks[row[ALGEBRAIC]])
    before = newton.counts[ITERATIONS] + newton.counts[RESIDUALS]
    kind = write_start(history, slot, row[PASS], block, w) if slot >= 0 else HERE
    first = kind != HERE
    while True:  # twice at most
        asked, effort = tolerance, state[EFFORT]
        if first:
            state[EVALUATED_BLOCK] = -1
            asked = max(TUNED.continued_stage_share * tolerance, min(tolerance, TUNED.least_tolerance))
            effort = PLAIN
        status = _solved(interpreter, row, block, a, w, asked, effort)
        if not first or status in (DONE, NO_ROOM):
            break
        restore_variables(block, w)
        newton.scalars[CONTRACTION], state[EVALUATED_BLOCK], first = 1.0, -1, False
    if slot >= 0 and status == DONE:
        note_cost(history, slot, kind, float(newton.counts[ITERATIONS] + newton.counts[RESIDUALS] - before))
        store_result(history, slot, row[PASS], block, w)
    return status


@lean
def stage(interpreter, row, numbers, t, h, w):  # type: ignore[no-untyped-def]
    """Do a `Stage`; return a status."""
    block = interpreter.blocks[row[BLOCK]]
    known, places = work_of(block).known, positions_of(block)
    time_round = interpreter.loops[row[LOOP], ROUND] if row[LOOP] >= 0 else 0
    first = row[NUMBERS] + time_round * row[STRIDE]
    base = w if row[BASE] == PRESENT else interpreter.points[row[BASE]]
    j = row[COUNT] % 2
    if j == 1:
        weight, rate = h * numbers[first + 2], interpreter.rates[row[LIST]]
        for q in range(known.size):
            at = position(places, q)
            known[q] = base[at] + weight * rate[at]
    else:
        for q in range(known.size):
            known[q] = base[position(places, q)]
    while j < row[COUNT]:  # two at a time: reading and writing is all there is to do
        one, two = interpreter.rates[row[LIST + j]], interpreter.rates[row[LIST + j + 1]]
        u, v = h * numbers[first + 2 + j], h * numbers[first + 3 + j]
        j += 2
        for q in range(known.size):
            at = position(places, q)
            known[q] += u * one[at] + v * two[at]
    w[w.size - 1] = t + h * numbers[first]
    a = h * numbers[first + 1]
    status = _solve_stage(interpreter, row, block, a, w)
    if row[SHOWN] != 0:
        shown = time_round + interpreter.state[DOUBLED]
        if interpreter.inner_points.shape[0] > shown:
            copy(w, interpreter.inner_points[shown])
    return status


@lean
def combine(interpreter, row, numbers, w):  # type: ignore[no-untyped-def]
    """Write the combination of points into a set of variables."""
    time_round = interpreter.loops[row[LOOP], ROUND] if row[LOOP] >= 0 else 0
    first = row[NUMBERS] + time_round * row[STRIDE]
    points = interpreter.points
    places = interpreter.read
    if row[SIDE] == 2:
        places = interpreter.slow
    elif row[SIDE] == 1:
        places = interpreter.fast
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
    interpreter.state[EVALUATED_BLOCK] = -1


@lean
def add(interpreter, row, numbers, w):  # type: ignore[no-untyped-def]
    """Add the present point, with a weight, to another one."""
    time_round = interpreter.loops[row[LOOP], ROUND] if row[LOOP] >= 0 else 0
    weight, point = numbers[row[NUMBERS] + time_round * row[STRIDE]], interpreter.points[row[TARGET]]
    places = interpreter.fast if row[SIDE] == 1 else interpreter.slow
    if row[ANEW] != 0:
        for at in places:
            point[at] = weight * w[at]
    else:
        for at in places:
            point[at] += weight * w[at]


@lean
def combine_levels(interpreter, row, numbers):  # type: ignore[no-untyped-def]
    """Write the combination of what points have of the levels of the responding variables."""
    time_round = interpreter.loops[row[LOOP], ROUND] if row[LOOP] >= 0 else 0
    first, response, points = (
        row[NUMBERS] + time_round * row[STRIDE],
        interpreter.response,
        interpreter.points,
    )
    for j in range(response.at.size):
        level = 0.0
        for k in range(row[POINTS]):
            point = points[row[LIST + k]]
            value = point[response.at[j]]
            for q in range(response.ends[j], response.ends[j + 1]):
                value -= response.gains[q] * point[response.of[q]]
            level += numbers[first + k] * value
        response.level[j] = level


@lean
def compare_prediction(interpreter, row, numbers, w):  # type: ignore[no-untyped-def]
    """Compare the present point with the prediction, and replace that; return (go round again, status)."""
    loops, loop, measured = interpreter.loops, row[LOOP], interpreter.measured
    if loops[loop, ROUND] == row[MOST]:
        return False, DONE
    predicted, difference = interpreter.points[row[KEEP]], 0.0
    for at in interpreter.slow:
        difference = max(difference, abs(w[at] - predicted[at]))
        predicted[at] = w[at]
    if difference <= numbers[row[NUMBERS]]:
        measured[DIFFERENCE] = difference
        return False, DONE
    grew = loops[loop, ROUND] > 0 and difference >= measured[DIFFERENCE]
    measured[DIFFERENCE] = difference
    loops[loop, GROWTHS] = loops[loop, GROWTHS] + 1 if grew else 0
    if row[MOST] < 0 and loops[loop, GROWTHS] == TUNED.most_setbacks:
        return False, NOT_AGREED
    if row[MOST] < 0 and loops[loop, ROUND] == TUNED.most_rounds:
        return False, SLOW_TO_AGREE
    loops[loop, ROUND] += 1
    interpreter.state[CORRECTIONS] += 1
    return True, DONE
