"""The controller of steps that follow an error: what it remembers, and from one step to the next; compiled.

Errors are in units of the tolerance; `order` is the power of the step with which the estimate falls. A step
is kept, and with it the Newton matrix, as long as its error lies within a band of two decades: a change of
the step costs a factorisation, and what a smaller error costs is less than what it spares in the run.

A step that Newton does not solve as its policy says is made shorter first. Only then is a solve given all
that there is: where all angles drift that takes twenty times as many factorisations as a shorter step.

`control_for` makes a controller for a program and a system, `begin_control` begins it with each span, and
`control_failure` says why a run did not end.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from psmr.base.arrays import Reals
from psmr.base.errors import SimulationError
from psmr.dae.compile.decorators import lean
from psmr.dae.system.system import System
from psmr.integrate.constants import TUNED
from psmr.integrate.control.error_size import SO_FAR, Disturbance, begin_disturbance, disturbance_of
from psmr.integrate.control.switching import Switching
from psmr.integrate.solve.algebraic_solve import impasse
from psmr.integrate.solve.block import Block
from psmr.integrate.solve.equations import evaluate
from psmr.integrate.solve.newton import ALL, PLAIN
from psmr.integrate.solve.records import (
    VALID,
    copy,
    matrix_of,
    newton_state_of,
    position,
    positions_of,
    work_of,
)
from psmr.integrate.solve.records import WORST_AT as LARGEST_AT
from psmr.integrate.solve.status import SPENT, Status
from psmr.integrate.step.program_table import OPERATION, SAVE, TARGET, Encoded
from psmr.integrate.tableaux import ImplicitPair

# Places in `Control.steps` and `Control.counts`.
NEXT, PREVIOUS, TRIED = range(3)
ACCEPTED, REJECTED, AT_STOPS = range(3)


class Control(NamedTuple):
    """The loop's inputs for the control of the error, and its memory.

    `difference`: Weights of the rates in the estimate.
    `order`: Power of the step with which the estimate falls.
    `tolerance`: Largest estimated error of a step in a disturbance of size 1.
    `disturbance`: The one that is followed.
    `longest`, `most`: Of `psmr.VariableStep`.
    `steps`: Next step in s, last error in units of the tolerance, step tried last; see the names above.
    `solvable`: Longest step in s that Newton may be expected to solve, and how often the present one was not
      solved.
    `counts`: Accepted and rejected steps, and those of the former that end at a sample or another stop.
    `outliving`: Places of points of a step and of the same after it; see `psmr.integrate.step.program_table`.
    `raw`: (n,) room for rates without limits.
    `switching`: Those of the equations.
    `halts`: (K, 2) how many instructions of the program come before a look for kinks, and at which point of
      the step; see `halts_of`.
    `block`: Number of the block of equations whose error is estimated.
    `stops`, `passed`: Times in s at which a step ends, ascending, the end of the span the last, and how many
      of them are behind.
    """

    difference: np.ndarray
    order: float
    tolerance: float
    disturbance: Disturbance
    longest: float
    most: int
    steps: np.ndarray
    solvable: np.ndarray
    counts: np.ndarray
    outliving: np.ndarray
    raw: np.ndarray
    switching: Switching
    halts: np.ndarray
    block: int
    stops: np.ndarray
    passed: np.ndarray


# The error before the first step of a span.
NONE_BEFORE = 0.0


@lean
def after_accepted(order, h, error, before, refused):  # type: ignore[no-untyped-def]
    """Return the next step in s after one that was accepted.

    `before` is the error of the accepted step before it, `NONE_BEFORE` after an event: then the step follows
    from the error, without a band. `refused` says that the step was tried longer before, so that the next one
    is no longer either.
    """
    change = 1.0
    if before == NONE_BEFORE:
        change = TUNED.safety * max(error, TUNED.first_step_ratio**-order) ** (-1.0 / order)
    elif error < TUNED.least_error:
        change = min(TUNED.largest_increase, (TUNED.error_of_longer / error) ** (1.0 / order))
    elif error > TUNED.largest_error:
        change = (TUNED.error_of_shorter / error) ** (1.0 / order)
    return h * (min(1.0, change) if refused else change)


@lean
def after_rejected(order, h, error):  # type: ignore[no-untyped-def]
    """Return the step in s with which one is taken again whose error is too large, or is not known (inf)."""
    if not error < float("inf"):
        return TUNED.unsolved_step_factor * TUNED.unsolved_step_factor * h
    return h * max(1.0 / TUNED.largest_step_ratio, min(TUNED.safety, TUNED.safety * error ** (-1.0 / order)))


@lean
def step_towards(t, h, end):  # type: ignore[no-untyped-def]
    """Return (step in s from t that goes no further than `end`, whether it ends there).

    Two equal steps stand in place of a long one and a rest.
    """
    if t + h * (1.0 + 1e-9) >= end:
        return end - t, True
    return (0.5 * (end - t) if t + 2.0 * h > end else h), False


@lean
def as_planned(wanted, h, last, planned):  # type: ignore[no-untyped-def]
    """Return the next step after one of h in s, the `last` one to a stop or not.

    That was cut short, so that its error says nothing against the step that was `planned`.
    """
    return max(wanted, planned) if last and wanted >= h else wanted


@lean
def error_for_next_step(error, before):  # type: ignore[no-untyped-def]
    """Return the error to keep for the next step; after the first of a span, which was a guess, it is 1."""
    return error if before != NONE_BEFORE else 1.0


# Places in what is remembered: the longest step in s that Newton may be expected to solve, and how often the
# present one was not solved.
LONGEST, UNSOLVED = range(2)


def solvable_at_first() -> Reals:
    """Return what (2,) is remembered before any step; see the names above."""
    return np.array([np.inf, 0.0])


@lean
def effort_for(memory):  # type: ignore[no-untyped-def]
    """Return how much a solve of the present step is given."""
    return PLAIN if memory[UNSOLVED] < TUNED.shorter_steps_first else ALL


@lean
def note_unsolved(memory, h):  # type: ignore[no-untyped-def]
    """Take note that the present step, of h in s, was not solved."""
    memory[UNSOLVED] += 1.0
    memory[LONGEST] = TUNED.unsolved_step_factor * h


@lean
def longest_solvable(memory):  # type: ignore[no-untyped-def]
    """Go on to the next step behind an accepted one; return how long it is at most, in s."""
    longest = memory[LONGEST]
    memory[UNSOLVED] = 0.0
    memory[LONGEST] *= TUNED.step_recovery_factor
    return longest


@lean
def accept(control, h, error, last, refused, before):  # type: ignore[no-untyped-def]
    """Go on from an accepted step of h in s, the `last` one to a stop or not.

    `refused` says that it was tried longer before; `before` is the step that was broken off for a limit or a
    kink, at which this one ends, 0 without one.
    """
    steps = control.steps
    control.counts[ACCEPTED] += 1
    wanted = after_accepted(control.order, h, error, steps[PREVIOUS], refused)
    longest = longest_solvable(control.solvable)
    if before > 0.0:  # the step that was broken off, or what the error asks for
        steps[NEXT] = before if error < 1.0 else wanted
    else:
        steps[NEXT] = min(as_planned(wanted, h, last, steps[NEXT]), longest)
    steps[PREVIOUS] = error_for_next_step(error, steps[PREVIOUS])


@lean
def reject(control, h, error, solved):  # type: ignore[no-untyped-def]
    """Try a shorter step than one of h in s whose error is too large, or that was not solved (inf)."""
    control.counts[REJECTED] += 1
    control.steps[NEXT] = after_rejected(control.order, h, error)
    if not solved:
        note_unsolved(control.solvable, h)


@lean
def note_rates(control, block, w):  # type: ignore[no-untyped-def]
    """Keep the raw rates at the point in w, ahead of a jump of held inputs."""
    newton_state_of(block).scalars[VALID] = 0.0
    evaluate(block, w)
    copy(matrix_of(block).F, control.raw)


@lean
def begin_after_jump(control, block, w):  # type: ignore[no-untyped-def]
    """Begin anew with a first step where what a jump has made of the rates moves a state further than that.

    Otherwise steps go on as they were planned.
    """
    newton_state_of(block).scalars[VALID] = 0.0
    evaluate(block, w)
    F, places, pace = matrix_of(block).F, positions_of(block), 0.0
    for i in matrix_of(block).resting:
        F[i] = control.raw[i]
        newton_state_of(block).scalars[VALID] = 0.0
    for i in range(work_of(block).known.size):
        pace = max(pace, abs(F[i] - control.raw[i]) / max(1.0, abs(w[position(places, i)])))
    size = max(control.disturbance.size[SO_FAR], min(1.0, TUNED.mean_time_constant * pace))
    move = TUNED.first_step_change * size * control.tolerance ** (1.0 / control.order)
    if pace * control.steps[NEXT] > move:
        control.steps[NEXT], control.steps[PREVIOUS] = move / pace, NONE_BEFORE


def halts_of(code: NDArray[np.int64], switching: Switching) -> NDArray[np.int64]:
    """Return `Control.halts`: behind each stage that is later in time than all before it, and the end.

    The first of them is the one near the middle. A stage behind the end would not save enough.
    """
    saved = {int(row[TARGET]): at + 1 for at, row in enumerate(code) if row[OPERATION] == SAVE}
    solved = sorted(
        (saved[place], point) for point, place in enumerate(switching.stages) if 0 < point < switching.end
    )
    halts, furthest = [], 0
    for at, point in solved:
        if point > furthest:
            halts.append((at, point))
            furthest = point
    return np.array([*halts, (len(code), switching.end)], np.int64)


def control_for(
    pair: ImplicitPair,
    tolerance: float,
    longest: float,
    most: int,
    system: System,
    encoded: Encoded,
    switching: Switching,
    w: Reals,
    block: int = 0,
) -> Control:
    """Return the controller of a pair's program, encoded for the interpreter, on a system that starts at w.

    `tolerance` is the largest estimated error of a step, `longest` the longest step in s; after `most` steps
    a run that has not reached its end fails.
    """
    return Control(
        difference=np.array(pair.difference),
        order=float(pair.order),
        tolerance=float(tolerance),
        disturbance=disturbance_of(system, w, TUNED.least_tolerance / tolerance),
        longest=float(longest),
        most=int(most),
        steps=np.zeros(3),
        solvable=solvable_at_first(),
        counts=np.zeros(3, np.int64),
        outliving=encoded.outliving,
        raw=np.zeros(system.n),
        switching=switching,
        halts=halts_of(encoded.code, switching),
        block=int(block),
        stops=np.zeros(1),
        passed=np.zeros(1, np.int64),
    )


def begin_control(
    control: Control, block: Block, before: Reals, end: float, w: Reals, stops: Reals, autonomous: bool
) -> Control:
    """Return the controller for a span from the point in w: the first step follows from the rates there.

    `block` has all equations, `before` the (n + m,) values ahead of the events at w; a step ends at each of
    the ascending `stops` in s and at the `end`.
    """
    control = control._replace(stops=np.append(stops, end), passed=np.zeros(1, np.int64))
    control.switching.follows[:] = 0
    begin_disturbance(control.disturbance, before, w)
    pace, move = _pace_and_move(control, block, 0.0, w)
    ahead = end - float(w[-1])
    if not autonomous or pace * ahead > TUNED.negligible * control.tolerance:
        ahead *= TUNED.first_step_part
    first = min(ahead, move / pace) if pace > 0.0 else ahead
    control.steps[:] = first, NONE_BEFORE, 0.0
    control.solvable[:] = solvable_at_first()
    return control


def continue_control(control: Control, block: Block, end: float, w: Reals, stops: Reals) -> Control:
    """Return the controller for a span that goes on at the point in w, whose rates were `raw` before.

    The disturbance is that of the span before. Steps go on as they were planned, unless what changed moves a
    state further than a first step may: see `begin_after_jump`.
    """
    control = control._replace(stops=np.append(stops, end), passed=np.zeros(1, np.int64))
    control.switching.follows[:] = 0
    pace, move = _pace_and_move(control, block, control.raw, w)
    if pace * control.steps[NEXT] > move:
        control.steps[NEXT], control.steps[PREVIOUS] = move / pace, NONE_BEFORE
    return control


def _pace_and_move(control: Control, block: Block, raw: Reals | float, w: Reals) -> tuple[float, float]:
    """Return how fast the rates at w, less `raw`, move a state at most, in 1/s, and how far a step may."""
    block.evaluate(w)
    states = control.raw.size
    rates = block.records.matrix.F[:states] - raw
    rates[block.records.matrix.resting] = 0.0
    pace = float(np.max(np.abs(rates) / np.maximum(1.0, np.abs(w[:states])), initial=0.0))
    size = max(float(control.disturbance.size[SO_FAR]), min(1.0, TUNED.mean_time_constant * pace))
    return pace, TUNED.first_step_change * size * control.tolerance ** (1.0 / control.order)


def control_failure(control: Control, block: Block, status: int, end: float, w: Reals) -> SimulationError:
    """Return the error for a run whose steps are spent or have become rounding."""
    h = float(control.steps[TRIED])
    accepted, rejected = (int(control.counts[place]) for place in (ACCEPTED, REJECTED))
    name = block.columns[int(block.records.newton.counts[LARGEST_AT])]
    stops = int(control.counts[AT_STOPS])
    where = f"t = {w[-1]:.9g} s of {end:g} s after {accepted} steps ({rejected} rejected)"
    sentence = Status(status).sentence
    if status == SPENT:
        aside = f", {stops} that ended at samples or other stops aside" if stops else ""
        return SimulationError(
            f"{where}: {sentence} It has most_steps = {control.most}{aside}; the error of {name} keeps "
            f"the step at {h:.3g} s. Remedy: raise most_steps or loosen the tolerance"
        )
    found = impasse(block, w)
    why = found.words if found else f"The error of {name} asks for it: the tolerance is too small."
    remedy = "look at that equation, its limits, and what it reads"
    if found is None or found.jump:
        remedy = "a larger tolerance, or an equation without a jump"
    return SimulationError(f"{where}, with a step of {h:.3g} s: {sentence} {why} Remedy: {remedy}")
