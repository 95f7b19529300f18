"""Steps of the backward differentiation formulae, one implicit solve each; compiled.

After an event or a kink the pair takes some steps (`psmr.integrate.control.loop`), as large as at any time,
and its last one gives the points from which the formulae go on: no start with tiny steps of order 1.

Newton starts from P with a matrix that is kept while the coefficient of the rate is near the one it was made
for and it contracts well. As x - K - a f is written, what is slow and the algebraic equations do not see that
the coefficient is another one: no scaling of the update is needed. The contraction is measured now and then;
where it promises that one iteration will do there is no second one.
"""

from __future__ import annotations

import numpy as np

from psmr.dae.compile.arguments import by_reference
from psmr.dae.compile.decorators import lean
from psmr.dae.compile.notice import announced
from psmr.integrate.constants import BDF, TUNED
from psmr.integrate.control.bdf import (
    ALIKE,
    BROKEN,
    CONTRACTS,
    KNOWN,
    KNOWN_FOR,
    ORDER,
    POINTS,
    REFUSED,
    SETTLED,
    SIZE,
    TAKEN,
    UNCHECKED,
    VALUE,
    algebraic_error,
    begin_points,
    choose_order,
    combine_points,
    difference,
    left_by,
    plan_step,
    store_point,
    weigh,
)
from psmr.integrate.control.controller import (
    ACCEPTED,
    AT_STOPS,
    NEXT,
    PREVIOUS,
    REJECTED,
    TRIED,
    begin_after_jump,
    note_rates,
    step_towards,
)
from psmr.integrate.control.error_size import SO_FAR, follow_disturbance, size_with
from psmr.integrate.control.limits import first_limit
from psmr.integrate.control.loop import (
    controlled_step,
    effect_at,
    forget_outliving,
    jump_at_stop,
    next_stop,
)
from psmr.integrate.control.switching import evaluate_margins, first_at
from psmr.integrate.solve.equations import evaluate, put_onto_limits
from psmr.integrate.solve.newton import HELD, OUTWORN, add_update, defect_at, factorise_at, to_renew
from psmr.integrate.solve.records import (
    ITERATIONS,
    NETWORK_SCALE,
    REFRESHES,
    SCALE,
    VALID,
    copy,
    follows,
    largest_size,
    limits_of,
    matrix_of,
    newton_state_of,
    work_of,
)
from psmr.integrate.solve.status import (
    DONE,
    FULL,
    NO_ROOM,
    NOT_CONVERGED,
    NOT_FINITE,
    SPENT,
    VANISHED,
)
from psmr.integrate.step.crossing import cross_jump
from psmr.integrate.step.interpreter import EVALUATED_BLOCK, FAILED
from psmr.integrate.step.program_table import AT_START
from psmr.integrate.step.sampling import NOT_DUE, UNREAD


@lean
def _newton(block, bdf, w, a, tolerance):  # type: ignore[no-untyped-def]
    """Solve the step from P in w; return a status."""
    state, defect, whole, real = newton_state_of(block), work_of(block).defect, bdf.whole, bdf.real
    scalars, count = state.scalars, state.counts
    ratio = a / scalars[SCALE]  # NaN or below 0: a matrix is due
    due, fresh, last = not BDF.least_matrix_ratio <= ratio <= BDF.largest_matrix_ratio, False, 0.0
    scalars[VALID] = 0.0
    evaluate(block, w)
    changed = defect_at(block, w, a)
    for step in range(1, BDF.most_iterations + 1):
        if due or changed:
            what = to_renew(block, a, due, fresh)
            # Where other limits hold, the rest of the matrix stays that of its own coefficient.
            status = factorise_at(block, w, scalars[SCALE] if what == HELD else a, what)
            if status != DONE:
                return status
            if step > 1:  # a new matrix at the start of a step contracts as the one before it did
                count[REFRESHES] += 1
                real[CONTRACTS], whole[UNCHECKED] = 1.0, 0
            due, fresh, last = False, True, 0.0
        if not largest_size(defect) < TUNED.divergence_limit:
            return NOT_FINITE
        norm = add_update(block, w)
        count[ITERATIONS] += 1
        if not np.isfinite(norm):
            return NOT_FINITE
        if last > 0.0:
            theta = norm / last
            if theta < 1.0:
                if last > BDF.sure_part * tolerance and (step == 2 or theta > real[CONTRACTS]):
                    real[CONTRACTS] = max(theta, BDF.least_contraction)
                if theta / (1.0 - theta) * norm < tolerance:
                    if real[CONTRACTS] > BDF.matrix_contraction:
                        scalars[SCALE] = OUTWORN
                    if step == 2:
                        whole[UNCHECKED] = BDF.unchecked_steps
                    put_onto_limits(block, w)
                    return DONE
            if fresh and theta > 2.0:
                return NOT_CONVERGED
            due = theta > BDF.slow_contraction and not fresh
        elif whole[UNCHECKED] > 0 and BDF.unchecked_margin * real[CONTRACTS] * norm < tolerance:
            whole[UNCHECKED] -= 1
            put_onto_limits(block, w)
            return DONE
        elif norm < BDF.sure_part * tolerance:
            put_onto_limits(block, w)
            return DONE
        last = norm
        evaluate(block, w)
        changed = defect_at(block, w, a)
    return NOT_CONVERGED


@lean
def _limits_stay(interpreter, tolerance, h):  # type: ignore[no-untyped-def]
    """Return whether no state met or left a limit in a step, as far as the rates last evaluated say."""
    block = interpreter.blocks[0]
    matrix, limits, start = matrix_of(block), limits_of(block), interpreter.points[AT_START]
    if limits.moving.shape[0] > 0:
        return False
    for b in range(limits.bounded.size):
        i, side = limits.bounded[b], limits.held[b]
        at = matrix.variables[i]
        if side == 0:
            if not limits.lower[i] < start[at] < limits.upper[i]:
                return False
        else:
            limit = limits.upper[i] if side > 0 else limits.lower[i]
            if start[at] != limit or -h * matrix.F[i] * side > tolerance * max(1.0, abs(limit)):
                return False
    return True


@lean
def _first_end(interpreter, control, kinks, bdf, a, h, w):  # type: ignore[no-untyped-def]
    """Return at which part of the step to the point in w it should end for a limit or a kink, or 1."""
    tolerance, part = bdf.tolerance * control.disturbance.size[SO_FAR], 1.0
    if not _limits_stay(interpreter, tolerance, h):
        part = first_limit(interpreter, control, kinks, 1, tolerance, h, w)
    part = part if part < 1.0 - TUNED.negligible else 1.0
    if kinks.values.shape[1] == 0:
        return part
    evaluate_margins(interpreter, kinks, 0, interpreter.points[AT_START])
    evaluate_margins(interpreter, kinks, 1, w)
    return min(part, first_at(interpreter, kinks, 1, tolerance, a, w))


@lean
def _go_back(interpreter, w):  # type: ignore[no-untyped-def]
    """Make w the point again from which the step was tried."""
    copy(interpreter.points[AT_START], w)
    newton_state_of(interpreter.blocks[0]).scalars[VALID] = 0.0


@lean
def _leave_to_pair(control, bdf, h):  # type: ignore[no-untyped-def]
    """Let the pair go on, from a step of h."""
    bdf.whole[POINTS] = bdf.whole[SETTLED] = 0
    control.steps[NEXT], control.steps[PREVIOUS] = BDF.pair_step * h, 1.0


@lean
def _step_of_pair(interpreter, control, switching, bdf, w):  # type: ignore[no-untyped-def]
    """Take a step of the pair; return a status."""
    t, whole = w[w.size - 1], bdf.whole
    status = controlled_step(interpreter, control, switching, w)
    if status == DONE:
        whole[TAKEN] += 1
        whole[SETTLED] = 0 if switching.follows[0] != 0 else whole[SETTLED] + 1
        if whole[SETTLED] >= BDF.settled_steps and w[w.size - 1] < control.stops[control.stops.size - 1]:
            begin_points(interpreter, control, bdf, w[w.size - 1] - t, w)
    return status


@lean
def _predict(interpreter, bdf, q, t, h, w):  # type: ignore[no-untyped-def]
    """Write P at t + h into w, and the known part of the formula of order q."""
    whole, real, known = bdf.whole, bdf.real, work_of(interpreter.blocks[0]).known
    if not (real[KNOWN_FOR] == h and whole[ALIKE] > q + 1):
        weigh(bdf, q + 1, t + h, h, bdf.leading[q], VALUE)
        whole[ALIKE] = whole[ALIKE] if real[KNOWN_FOR] == h else 0
        real[KNOWN_FOR] = h
    combine_points(bdf, q + 1, VALUE, bdf.predicted)
    combine_points(bdf, q + 1, KNOWN, known)
    for i in range(bdf.predicted.size):
        w[i] = bdf.predicted[i]
    w[w.size - 1] = t + h


@lean
def _refuse(control, bdf, h, error):  # type: ignore[no-untyped-def]
    """Try a shorter step than one of h whose error is too large, or that was not solved (inf)."""
    whole, q = bdf.whole, bdf.whole[ORDER]
    control.counts[REJECTED] += 1
    whole[REFUSED] += 1
    whole[ALIKE] = 0
    if whole[REFUSED] > (BDF.most_refusals if error < np.inf else 1):
        _leave_to_pair(control, bdf, h)
    elif error < np.inf:
        bdf.real[SIZE] = h * max(
            BDF.least_part, min(TUNED.safety, TUNED.safety * error ** (-1.0 / (q + 1.0)))
        )
        if whole[REFUSED] > 1 and q > bdf.orders[0]:
            whole[ORDER] = q - 1
    else:
        bdf.real[SIZE] = BDF.unsolved_part * h


@lean
def _accept(interpreter, control, kinks, bdf, located, size, a, h, w):  # type: ignore[no-untyped-def]
    """Go on from an accepted step, all but the choice of the next one; `size` is that of the disturbance."""
    block, whole = interpreter.blocks[0], bdf.whole
    limits, places, known = limits_of(block), matrix_of(block).variables, work_of(block).known
    control.counts[ACCEPTED] += 1
    whole[TAKEN + whole[ORDER]] += 1
    whole[REFUSED] = 0
    kinks.follows[0] = located > 0
    follow_disturbance(control.disturbance, size, h, w)
    for b in range(limits.bounded.size):  # the rates at the start of the next step
        i = limits.bounded[b]
        interpreter.rates[0, places[i]] = (w[places[i]] - known[i]) / a
    for k in range(kinks.values.shape[1]):
        kinks.values[0, k] = kinks.values[1, k]
    kinks.seen[0] = kinks.seen[1]


@lean
def _step(interpreter, control, switching, kinks, bdf, w):  # type: ignore[no-untyped-def]
    """Try steps from the point in w until one is accepted, no further than the next stop; return a status."""
    counts, disturbance, block = control.counts, control.disturbance, interpreter.blocks[0]
    whole, real, n = bdf.whole, bdf.real, work_of(interpreter.blocks[0]).known.size
    refused, located = False, 0
    while whole[POINTS] > 0:
        if counts[ACCEPTED] + counts[REJECTED] - counts[AT_STOPS] >= control.most:
            return SPENT
        t, planned, q = w[w.size - 1], real[SIZE], whole[ORDER]
        stop = next_stop(interpreter, control, t)
        h, last = step_towards(t, min(planned, control.longest), stop)
        control.steps[TRIED] = h
        if not t + h > t:
            return VANISHED
        a = h / bdf.leading[q]
        copy(w, interpreter.points[AT_START])
        _predict(interpreter, bdf, q, t, h, w)
        interpreter.state[EVALUATED_BLOCK], interpreter.state[FAILED] = -1, 0
        wanted = bdf.newton * disturbance.size[SO_FAR]
        wanted *= min(1.0, BDF.drift_part * interpreter.drifts_from / a)
        status = _newton(block, bdf, w, a, max(wanted, TUNED.least_tolerance))
        if status != DONE:
            _go_back(interpreter, w)
            newton_state_of(block).scalars[SCALE] = newton_state_of(block).scalars[NETWORK_SCALE] = np.nan
            if status == NO_ROOM:
                return status
            _refuse(control, bdf, h, np.inf)
            refused = True
            continue
        if located < TUNED.most_setbacks:
            kinks.seen[1], kinks.listed[0] = 0, 0
            part = _first_end(interpreter, control, kinks, bdf, a, h, w)
            if part < 1.0 and t + part * h > t:  # taken again, to the kink
                _go_back(interpreter, w)
                real[BROKEN] = max(real[BROKEN], h) if located > 0 else h
                real[SIZE], located = part * h, located + 1
                continue
        size = size_with(disturbance, w)
        unit, left = bdf.tolerance * size, left_by(bdf, q, t + h, h)
        found, judged = difference(w, bdf.predicted, unit), bdf.predicted.size
        if not left * found <= 1.0 and n < judged:
            of_states = difference(w, bdf.predicted[:n], unit)
            if of_states < BDF.kinked_share * found:
                found, judged = algebraic_error(block, bdf, w, left, unit) / left, n
        if not left * found <= 1.0:
            _go_back(interpreter, w)
            _refuse(control, bdf, h, left * found)
            refused = True
            continue
        if last:
            w[w.size - 1] = stop
        t = w[w.size - 1]
        _accept(interpreter, control, kinks, bdf, located, size, a, h, w)
        if located > 0 or (last and follows(block)):
            _leave_to_pair(control, bdf, real[BROKEN] if located > 0 else h)
            return DONE
        best, order, due = choose_order(bdf, judged, found, t, h, w, unit)
        store_point(bdf, t, w)
        whole[ALIKE] += 1
        real[SIZE] = planned if last and h < planned else h
        plan_step(bdf, h, min(best, 1.0) if refused else best, order, due)
        return DONE
    return _step_of_pair(interpreter, control, switching, bdf, w)


@lean
def _steps(  # type: ignore[no-untyped-def]
    interpreter, control, switching, kinks, bdf, times, ends, last, w, record
):
    """See `advance_bdf`."""
    for k in range(last):
        status = _step(interpreter, control, switching, kinks, bdf, w)
        if status != DONE:
            return k, status
        times[k + 1] = w[w.size - 1]
        jump = jump_at_stop(interpreter, control, times[k + 1])
        effect = effect_at(interpreter, control, jump, times[k + 1])
        ends[k + 1] = ends[k] + 1 if effect == NOT_DUE else ends[k] + 2
        copy(w, record[ends[k] + 1])
        if effect != NOT_DUE:
            if effect > UNREAD:
                forget_outliving(interpreter, control)
                if bdf.whole[POINTS] > 0:
                    _leave_to_pair(control, bdf, bdf.real[SIZE])
                note_rates(control, interpreter.blocks[0], w)
            status = cross_jump(interpreter, jump, w)
            copy(w, record[ends[k + 1]])
            if status != DONE:
                return k + 1, status
            if effect > UNREAD:
                begin_after_jump(control, interpreter.blocks[0], w)
                interpreter.state[EVALUATED_BLOCK] = 0
        if not times[k + 1] < control.stops[control.stops.size - 1]:
            return k + 1, DONE
    return last, FULL


@announced("the integrator", 3)
@lean
def advance_bdf(interpreter, control, bdf, times, ends, last, w, record):  # type: ignore[no-untyped-def]
    """Take up to `last` steps, as `psmr.integrate.control.loop.advance` does with a controller.

    It is compiled where the formulae are first asked for: no other scheme pays for it.
    """
    interpreter, chosen, own = by_reference(interpreter), by_reference(control), by_reference(bdf)
    switching, kinks = by_reference(control.switching), by_reference(bdf.kinks)
    return _steps(interpreter, chosen, switching, kinks, own, times, ends, last, w, record)
