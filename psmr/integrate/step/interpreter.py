"""The interpreter: what the compiled loop needs of a scheme on a system, and what stages were before.

What is continued from there has its first iterations behind it, but the residual at the present point, which
often is known, is of no use to it; where a solution has kinks, oscillates or is not resolved, it is no
nearer. Each stage finds out for itself which start costs less.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from psmr.dae.compile.decorators import lean
from psmr.integrate.constants import TUNED
from psmr.integrate.solve.records import copy, position, positions_of, work_of
from psmr.integrate.step.input_jumps import InputJumps
from psmr.integrate.step.march_room import MarchRoom
from psmr.integrate.step.network_response import NetworkResponse
from psmr.integrate.step.sampling import Sampling
from psmr.integrate.step.validity import Probe

# Results that are stored of a stage.
DEPTH = 4

# Residuals and updates of a solve that takes one of each: no start costs less.
LEAST_COST = 2.0


# Columns of `StageHistory.rings`.
VALUES, TIMES, KEEPS, YOUNGEST, TURN = range(5)

# Where Newton starts: the present point, a continuation of the last results, or the pass before.
HERE, CONTINUED, REPEATED = range(3)


class StageHistory(NamedTuple):
    """What stages were when they were last solved, in a ring for each.

    `values`, `times`: Variables of the stages' blocks, one result after the other, and their times in s; NaN
      where there is none.
    `rings`: (slots, 5) for each stage where its values and its times begin, how many results it keeps, the
      place of the youngest, and how often it had a choice.
    `costs`: (slots, 2) residuals and updates of a solve from the present point and from a continuation; 0
      where it is not known.
    """

    values: np.ndarray
    times: np.ndarray
    rings: np.ndarray
    costs: np.ndarray


def no_stage_history(depths: NDArray[np.int64], sizes: NDArray[np.int64]) -> StageHistory:
    """Return room for so many results of so many variables of each stage, with none."""
    rings = np.zeros((depths.size, 5), np.int64)
    rings[:, VALUES], rings[:, TIMES] = np.cumsum(depths * sizes) - depths * sizes, np.cumsum(depths) - depths
    rings[:, KEEPS] = depths
    values, times = np.empty(int((depths * sizes).sum())), np.full(int(depths.sum()), np.nan)
    return StageHistory(values, times, rings, np.zeros((depths.size, 2)))


@lean
def forget(history):  # type: ignore[no-untyped-def]
    """Drop all results and what starts cost."""
    for k in range(history.times.size):
        history.times[k] = np.nan
    for k in range(history.rings.shape[0]):
        history.rings[k, TURN] = 0
        history.costs[k, HERE] = history.costs[k, CONTINUED] = 0.0


@lean
def _back(ring, k):  # type: ignore[no-untyped-def]
    """Return the place of the result k before the youngest."""
    return (ring[YOUNGEST] + ring[KEEPS] - k) % ring[KEEPS]


@lean
def _serves(history, slot):  # type: ignore[no-untyped-def]
    """Return whether a continuation costs less, as far as it is known."""
    least = max(LEAST_COST, history.costs[slot, CONTINUED] + TUNED.continuation_margin)
    return history.costs[slot, HERE] > least


@lean
def _due(history, slot, ahead):  # type: ignore[no-untyped-def]
    """Return whether the start that seems to cost more is tried in at most `ahead` solves."""
    every = TUNED.start_trial_interval
    turn = history.rings[slot, TURN] % every
    return history.costs[slot, HERE] > LEAST_COST and (turn == 0 or turn >= every - ahead)


@lean
def store_result(history, slot, count, block, w):  # type: ignore[no-untyped-def]
    """Take the block's variables as the youngest result of a stage, where they are soon asked for.

    That is in corrections, where a continuation serves, and in the last solves before it is tried again.
    """
    ring = history.rings[slot]
    if count == 0 and not _serves(history, slot) and not _due(history, slot, DEPTH):
        history.times[ring[TIMES] + ring[YOUNGEST]] = np.nan  # what comes next does not go on from there
        return
    places, size = positions_of(block), work_of(block).update.size
    at = (ring[YOUNGEST] + 1) % ring[KEEPS]
    first = ring[VALUES] + at * size
    own = history.values[first : first + size]
    for q in range(size):
        own[q] = w[position(places, q)]
    history.times[ring[TIMES] + at], ring[YOUNGEST] = w[w.size - 1], at


@lean
def _continue(zero, one, two, three, factors, into):  # type: ignore[no-untyped-def]
    """Write Newton's interpolation formula, for each variable with as many terms as become smaller."""
    linear, ratio, square, back, earlier, cube = factors
    for q in range(into.size):
        first, middle = zero[q] - one[q], one[q] - two[q]
        bend = first - ratio * middle
        second = square * bend
        third = cube * (bend - back * (middle - earlier * (two[q] - three[q])))
        first *= linear
        third = third if abs(third) < abs(second) else 0.0
        into[q] = zero[q] + (first + second + third if abs(second) < abs(first) else 0.0)


@lean
def _continued(history, ring, t, into):  # type: ignore[no-untyped-def]
    """Write the continuation of the last results to t; return whether there is one."""
    values, times, size = history.values[ring[VALUES] :], history.times[ring[TIMES] :], into.size
    a, b, c, d = _back(ring, 0), _back(ring, 1), _back(ring, 2), _back(ring, 3)
    t0, t1, t2, t3 = times[a], times[b], times[c], times[d]
    if not (t > t0 and t0 > t1 and t1 > t2 and t2 > t3) or t - t0 > TUNED.furthest_continuation * (t0 - t1):
        return False
    linear, ratio, earlier = (t - t0) / (t0 - t1), (t0 - t1) / (t1 - t2), (t1 - t2) / (t2 - t3)
    square, back = linear * (t - t1) / (t0 - t2), ratio * (t0 - t2) / (t1 - t3)
    factors = (linear, ratio, square, back, earlier, square * (t - t2) / (t0 - t3))
    a, b, c, d = a * size, b * size, c * size, d * size
    zero, one, two, three = (
        values[a : a + size],
        values[b : b + size],
        values[c : c + size],
        values[d : d + size],
    )
    _continue(zero, one, two, three, factors, into)
    return True


@lean
def _wanted(history, slot, count, t):  # type: ignore[no-untyped-def]
    """Return which start a solve at t is to have."""
    ring = history.rings[slot]
    if count > 0 and history.times[ring[TIMES] + _back(ring, count - 1)] == t:
        return REPEATED
    ring[TURN] += 1
    return CONTINUED if _serves(history, slot) != _due(history, slot, 0) else HERE


@lean
def write_start(history, slot, count, block, w):  # type: ignore[no-untyped-def]
    """Write where Newton starts into the block's variables; return which start it is.

    In a correction, where each pass solves a stage `count` times, it is the result of the pass before.
    Otherwise, where that costs less, its last results are continued to the time in w by Newton's
    interpolation formula, for each variable with as many of its terms as become smaller: what oscillates, or
    has met a limit, is held. What was there before is kept in `Work.start`.
    """
    kind = _wanted(history, slot, count, w[w.size - 1])
    if kind == HERE:
        return HERE
    ring, places, before, found = (
        history.rings[slot],
        positions_of(block),
        work_of(block).start,
        work_of(block).update,
    )
    if kind == REPEATED:
        first = ring[VALUES] + _back(ring, count - 1) * found.size
        copy(history.values[first : first + found.size], found)
    elif not _continued(history, ring, w[w.size - 1], found):
        return HERE
    for q in range(found.size):
        before[q] = w[position(places, q)]
    for q in range(found.size):
        w[position(places, q)] = found[q]
    return kind


@lean
def note_cost(history, slot, kind, cost):  # type: ignore[no-untyped-def]
    """Take in what a solve cost, if it had a choice."""
    costs, tried = history.costs[slot], history.rings[slot, TURN] % TUNED.start_trial_interval == 0
    if kind != REPEATED:
        share = 1.0 if tried or costs[kind] == 0.0 else TUNED.cost_share
        costs[kind] = cost if share == 1.0 else costs[kind] + share * (cost - costs[kind])


@lean
def restore_variables(block, w):  # type: ignore[no-untyped-def]
    """Write what was there before the continuation."""
    places, before = positions_of(block), work_of(block).start
    for q in range(before.size):
        w[position(places, q)] = before[q]


# Places in `Interpreter.state`; those of `psmr.integrate.step.validity` follow.
AUTONOMOUS, EVALUATED_BLOCK, FAILED, SOLVING, CORRECTIONS, DIVIDED, PARTS, HAS_HISTORY, EFFORT = range(9)
# Behind those: the step of the grid that is taken, and how many points within it stand twice so far.
STEP, DOUBLED = 11, 12
STATES = 13
# Places in `Interpreter.measured`; from the last one on there is room for what an extrapolation needs.
DIFFERENCE, LEAST, TOLERANCE_FACTOR, ROOM = range(4)
# Columns of `Interpreter.loops`: times round, and corrections in a row that made the difference larger.
ROUND, GROWTHS = range(2)


class Interpreter(NamedTuple):
    """What the loop needs of a scheme on a system.

    `run`: Address of the machine code that runs the program; see
      `psmr.integrate.step.run_program.with_program`.
    `code`, `numbers`: The program; see `psmr.integrate.step.program_table`.
    `part_code`, `part_numbers`: The program of a part of a step: without history.
    `blocks`: Addresses of the blocks.
    `points`, `rates`: Values of w and of f by place.
    `loops`: (loops, 2) counters.
    `fast`, `slow`, `read`: Positions in w of fast and slow variables, and of the slow ones that the fast
      equations read and that are interpolated.
    `response`: See `psmr.integrate.step.network_response.NetworkResponse`.
    `probe`: See `psmr.integrate.step.validity.Probe`.
    `march`: See `psmr.integrate.step.march_room.MarchRoom`.
    `stage_history`: See `psmr.integrate.step.interpreter.StageHistory`.
    `jumps`: See `psmr.integrate.step.input_jumps.InputJumps`.
    `sampling`: See `psmr.integrate.step.sampling.Sampling`.
    `inner_points`: Points of the trajectory within a step, where they are recorded.
    `divided`: For each step of the span, whether it was taken in parts.
    `state`, `measured`: Whole and real numbers that outlive a step; see the names above.
    `policy`, `tolerance`, `drifts_from`: Newton's; see `psmr.integrate.step.stepper.NewtonSettings`.
    """

    run: int
    code: np.ndarray
    numbers: np.ndarray
    part_code: np.ndarray
    part_numbers: np.ndarray
    blocks: np.ndarray
    points: np.ndarray
    rates: np.ndarray
    loops: np.ndarray
    fast: np.ndarray
    slow: np.ndarray
    read: np.ndarray
    response: NetworkResponse
    probe: Probe
    march: MarchRoom
    stage_history: StageHistory
    jumps: InputJumps
    sampling: Sampling
    inner_points: np.ndarray
    divided: np.ndarray
    state: np.ndarray
    measured: np.ndarray
    policy: int
    tolerance: float
    drifts_from: float
