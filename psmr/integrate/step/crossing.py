"""What happens at an instant, in compiled code: samples are taken, held inputs jump, equations answer."""

from __future__ import annotations

import numpy as np

from psmr.dae.compile.decorators import lean
from psmr.integrate.constants import TUNED
from psmr.integrate.solve.equations import evaluate
from psmr.integrate.solve.lu import solve as solve_factors
from psmr.integrate.solve.newton import ALL, HONEST, PLAIN, VERY_DISHONEST, solve
from psmr.integrate.solve.records import (
    SCALE,
    VALID,
    copy,
    lu_of,
    matrix_of,
    newton_state_of,
    position,
    positions_of,
    work_of,
)
from psmr.integrate.solve.status import DONE, UNSOLVED
from psmr.integrate.step.input_jumps import NO_JUMP, write_inputs
from psmr.integrate.step.instructions import solve_algebraic
from psmr.integrate.step.interpreter import DOUBLED, EVALUATED_BLOCK, FAILED, SOLVING, STEP
from psmr.integrate.step.program_table import AT_START
from psmr.integrate.step.sampling import ANSWERED, NOT_DUE, READ, UNREAD, keep_written, next_sample, sample


@lean
def cross(interpreter, k, w):  # type: ignore[no-untyped-def]
    """Take the samples that are due at the time in w, and let held inputs jump as they do at instant k.

    What is due reads first, unless it was taken at the last point that was looked at, as near to it as that:
    where the step began, on a grid at the instant before. Returns (status, effect): whether rates or
    algebraic equations read what is new.
    """
    jumps, sampling, status, effect = interpreter.jumps, interpreter.sampling, DONE, NOT_DUE
    if sampling.clocks.shape[0] > 0:
        t, begun = w.size - 1, interpreter.points[AT_START, w.size - 1]
        if k != NO_JUMP:
            w[t] = jumps.t[k]
            begun = jumps.since[k] if jumps.since.size > 0 else begun
        if next_sample(sampling, begun) <= w[t] + sampling.near:
            status, effect = sample(sampling, w)
    if k != NO_JUMP and status == DONE:
        write_inputs(jumps, k, w)
        if jumps.first[k + 1] > jumps.first[k]:
            effect = max(effect, ANSWERED if jumps.answered != 0 else READ)
    if status == DONE and effect > UNREAD:
        interpreter.state[EVALUATED_BLOCK] = -1
    return status, effect


@lean
def cross_jump(interpreter, k, w):  # type: ignore[no-untyped-def]
    """Let held inputs jump as they do at instant k, and samples be taken, at the point in w; return a status.

    The algebraic variables are solved for anew, with their last matrix; states stay, but for limits that
    moved past them.
    """
    jumps, block = interpreter.jumps, interpreter.blocks[0]
    status, effect = cross(interpreter, k, w)
    if status != DONE or effect <= UNREAD:
        return status
    newton_state_of(block).scalars[VALID] = 0.0
    if effect != ANSWERED:
        return DONE
    known, places = work_of(block).known, positions_of(block)
    for q in range(known.size):
        known[q] = w[position(places, q)]
    status = solve_algebraic(jumps.algebraic, block, w, VERY_DISHONEST, TUNED.least_tolerance, PLAIN)
    return DONE if status == DONE else UNSOLVED


@lean
def _answer(block, w, tolerance):  # type: ignore[no-untyped-def]
    """Solve for a block's algebraic variables with its states as they are; return whether that converges.

    With the matrix of its steps, whose states answer a change of the algebraic variables by the length of the
    step times what these make of their rates: what that leaves the iteration takes away.
    """
    work, places, state = work_of(block), positions_of(block), newton_state_of(block)
    defect, update, first, last = work.defect, work.update, work.known.size, 0.0
    F = matrix_of(block).F
    for i in range(first):
        defect[i] = 0.0
    for _ in range(TUNED.most_iterations):
        state.scalars[VALID] = 0.0
        evaluate(block, w)
        for i in range(first, defect.size):
            defect[i] = F[i]
        solve_factors(lu_of(block), defect, update)
        norm = 0.0
        for i in range(first, update.size):
            at = position(places, i)
            value = w[at] - update[i]
            w[at] = value
            norm = max(norm, abs(update[i]) / max(1.0, abs(value)))
        state.scalars[VALID] = 0.0
        if not np.isfinite(norm) or norm > TUNED.contraction_limit * last > 0.0:
            return False
        if norm * (norm / (last - norm) if last > 0.0 else 1.0) < tolerance:
            return True
        last = norm
    return False


@lean
def cross_jump_within(interpreter, time_round, w):  # type: ignore[no-untyped-def]
    """Let held inputs of fast equations jump behind a fast step, where they do; return a status."""
    jumps, state = interpreter.jumps, interpreter.state
    k = jumps.within[jumps.points[state[STEP]] + time_round - 1]
    if k == NO_JUMP:
        return DONE
    block = interpreter.blocks[jumps.fast]
    status, effect = cross(interpreter, k, w)
    if status != DONE:
        return status
    if interpreter.sampling.clocks.shape[0] > 0:
        keep_written(interpreter.sampling, w)
    work, kept = work_of(block), newton_state_of(block)
    if effect > UNREAD:
        kept.scalars[VALID] = 0.0
    if effect == ANSWERED and work.update.size > work.known.size:
        guess, known, places = work.start, work.known, positions_of(block)
        for q in range(guess.size):
            guess[q] = w[position(places, q)]
        if np.isnan(kept.scalars[SCALE]) or not _answer(block, w, interpreter.tolerance):
            for q in range(guess.size):
                w[position(places, q)] = guess[q]
            for q in range(known.size):
                known[q] = guess[q]
            kept.scalars[VALID] = 0.0
            status = solve(block, w, 0.0, HONEST, interpreter.tolerance, ALL)
            state[FAILED], state[SOLVING] = jumps.fast, 1
    state[DOUBLED] += 1
    if interpreter.inner_points.shape[0] >= time_round + state[DOUBLED]:
        copy(w, interpreter.inner_points[time_round - 1 + state[DOUBLED]])
    return status
