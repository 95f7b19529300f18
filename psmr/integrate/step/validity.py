"""Whether the response of the slow algebraic variables to the fast ones still is as it was formed.

The response S of `psmr.integrate.step.network_response` is linear as of one point. It changes where the
common angle of an island turns, angles spread, or voltages fall. What its change dS does is found from a
small change dl of the levels: the fast equations respond with dw = A dl, the slow algebraic ones to that with
(S + dS) dw, of which dS A dl is found again in the levels at the end of the macro step. The gain of that
loop, ||dS A||, is what the prediction of the levels has to bear: along a line it is unstable from 1/3 on,
along a parabola from 1/7.

A trial takes one direction: dl has entries of one size e and random signs, so that the mean square of what
comes back in level i is the squared norm of that row of dS A (Hutchinson, Commun. Stat. Simul. Comput. 18(3),
1989). The first one after a forming finds dw with the factors of the fast equations, and u = S dw with those
of the slow ones; later ones find

    z = -J_s^-1 (g_s(w + (dw, u)) - g_s at the first trial),

one residual and one solve of the slow block. On a linear DAE it is zero. The next trial is where the gain
reaches its limit if it grows in proportion to the macro steps, and `Constants.trial_interval` of them later
at the latest.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from psmr.dae.compile.decorators import lean
from psmr.integrate.constants import TUNED
from psmr.integrate.solve.equations import evaluate
from psmr.integrate.solve.lu import READY, solve
from psmr.integrate.solve.records import SOLVES, VALID, copy, lu_of, matrix_of, newton_state_of, work_of

# Places in `Interpreter.state`: macro steps since the first trial, -1 before it, and those of the next trial.
AGE, DUE = 9, 10


class Probe(NamedTuple):
    """What a trial of the response needs.

    `fast`, `slow`: Numbers of the block of the fast equations and of that of the last slow solve; -1 without
      a response.
    `rounds`: How many solves of the fast block reach over a macro step.
    `most`: Gain from which on the response is formed anew.
    `rows`, `signs`: Places of the responding variables' rows in the fast block, and e with random signs for
      each.
    `moved`, `places`: Positions in w of the variables of the fast block that are fast, and their places in
      it.
    `own`, `by`: Places of the responding variables in the slow block; (dw, u): by how much the moved
      variables and those of the slow block move.
    `base`: Residual of the slow block at the first trial.
    `point`: Room for w.
    """

    fast: int
    slow: int
    rounds: int
    most: float
    rows: np.ndarray
    signs: np.ndarray
    moved: np.ndarray
    places: np.ndarray
    own: np.ndarray
    by: np.ndarray
    base: np.ndarray
    point: np.ndarray


def no_probe() -> Probe:
    """Return the probe of a step without a response."""
    none, nowhere = np.zeros(0), np.zeros(0, np.uint32)
    return Probe(-1, -1, 0, 0.0, nowhere, none, nowhere, nowhere, nowhere, none, none, none)


@lean
def _residual(block, w):  # type: ignore[no-untyped-def]
    """Write the residual of a block at a point that is not that of the run into F."""
    scalars = newton_state_of(block).scalars
    scalars[VALID] = 0.0
    evaluate(block, w)
    scalars[VALID] = 0.0


@lean
def _response(block, before):  # type: ignore[no-untyped-def]
    """Write into `update` what the slow algebraic variables do not do by themselves between two residuals."""
    work, F = work_of(block), matrix_of(block).F
    defect, states = work.defect, work.known.size
    for i in range(defect.size):
        defect[i] = F[i] - before[i] if i >= states else 0.0
    solve(lu_of(block), defect, work.update)
    newton_state_of(block).counts[SOLVES] += 1


@lean
def _move(slow, probe, w):  # type: ignore[no-untyped-def]
    """Write the moved point."""
    variables, states, count = matrix_of(slow).variables, work_of(slow).known.size, probe.moved.size
    copy(w, probe.point)
    for k in range(count):
        probe.point[probe.moved[k]] += probe.by[k]
    for i in range(states, variables.size):
        probe.point[variables[i]] += probe.by[count + i]


@lean
def find_direction(fast, slow, probe, w):  # type: ignore[no-untyped-def]
    """Find the direction of later trials, with the response as it has just been formed."""
    work, kept, count = work_of(fast), newton_state_of(fast), probe.moved.size
    defect, update, states = work.defect, work.update, work.known.size
    for i in range(update.size):
        update[i] = 0.0
    for _ in range(probe.rounds):
        for i in range(defect.size):
            defect[i] = update[i] if i < states else 0.0
        for k in range(probe.rows.size):
            defect[probe.rows[k]] = probe.signs[k]
        solve(lu_of(fast), defect, update)
        kept.counts[SOLVES] += 1
    for i in range(probe.by.size):
        probe.by[i] = 0.0
    _residual(slow, w)
    copy(matrix_of(slow).F, probe.base)
    for k in range(count):
        probe.by[k] = update[probe.places[k]]
    _move(slow, probe, w)
    _residual(slow, probe.point)
    _response(slow, probe.base)
    response = work_of(slow).update
    for i in range(response.size):
        probe.by[count + i] = -response[i]
    _move(slow, probe, w)
    _residual(slow, probe.point)
    copy(matrix_of(slow).F, probe.base)


@lean
def response_gain(slow, probe, w):  # type: ignore[no-untyped-def]
    """Return how much of a change of the levels comes back in them since the response has changed."""
    _move(slow, probe, w)
    _residual(slow, probe.point)
    _response(slow, probe.base)
    response, largest = work_of(slow).update, 0.0
    for k in range(probe.own.size):
        largest = max(largest, abs(response[probe.own[k]]))
    return largest / TUNED.trial_change


@lean
def next_trial(gain, most, age, start):  # type: ignore[no-untyped-def]
    """Return the age at which the gain is `most`, if it grew from 0; at least 1 after `start`."""
    if gain * (start + TUNED.trial_interval) <= most * age:
        return start + TUNED.trial_interval
    return max(start + 1, int(most * age / gain))


@lean
def factorised(block):  # type: ignore[no-untyped-def]
    """Return whether a block has factors."""
    return lu_of(block).state[READY] != 0


@lean
def outdated(interpreter, w):  # type: ignore[no-untyped-def]
    """Return whether the network's response no longer holds at w; it is tried at some macro points only."""
    state, probe = interpreter.state, interpreter.probe
    if probe.fast < 0:
        return False
    fast, slow = interpreter.blocks[probe.fast], interpreter.blocks[probe.slow]
    if not (factorised(fast) and factorised(slow)):
        return False
    if state[AGE] < 0:
        find_direction(fast, slow, probe, w)
    state[AGE] += 1
    if state[AGE] < state[DUE]:
        return False
    found, age = response_gain(slow, probe, w), state[AGE]
    changed = found > probe.most
    state[DUE] = next_trial(found, probe.most, age, 0 if changed else age)
    return changed
