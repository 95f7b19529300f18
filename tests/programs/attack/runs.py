"""Runs with random legal lists of events, held against finer steps and against an oracle."""

from __future__ import annotations

from typing import Any

import numpy as np

import psmr
from tests.programs.attack.tally import Tally, Wrong
from tests.programs.robustness.judge import CRASHED, REFUSED, attempt, outcomes
from tests.programs.robustness.lists import Task, random_task
from tests.programs.robustness.systems import OWN

STEP = 0.005

# Where a step of that length does not resolve what goes on: of it, those that must.
SMALLER = (16, 32, 64, 128, 256)

# Of the largest difference between two steps, the part that must be left with half of the step, where the
# run is not at the edge of stability: a second order leaves a quarter, of events within a limit a half.
LEFT = 0.75
# Differences of that size, relative to what the run does, are asked about.
LARGE = 0.02


def task_of(seed: int, number: int) -> Task:
    """Return the run of a number, the cases in turn."""
    case = list(OWN)[number % len(OWN)]
    return random_task(case, seed, number)


def attack(tally: Tally, seed: int, number: int) -> None:
    """Make one run and judge it; one of four that come to their end also by finer steps."""
    task = task_of(seed, number)

    def judged() -> str:
        (outcome,) = outcomes(task)
        if outcome.kind == CRASHED:
            raise RuntimeError(str(outcome))
        if outcome.wrong:
            raise Wrong(str(outcome))
        if outcome.kind == REFUSED:
            return "refused"
        if outcome.kind == "completed" and number % 4 == 0:
            finer(task)
        return "run"

    # The oracle solves failed steps in Python: it may take its time.
    tally.attempt("random events", f"--seed {seed}, run {number}: {task.case}, {task.events}", judged)


def finer(task: Task) -> None:
    """Raise Wrong for a run that steps of a half and a quarter do not agree with ever better.

    With SDIRK2, which damps what a step does not resolve; the trapezoidal rule lets the filters of converters
    ring at these steps. Where they do not, the motion may be faster than the step: then ever smaller steps
    must lead to the end that another method finds with a tight tolerance.
    """
    ends = []
    for part in (1, 2, 4):
        run, error = attempt(task, psmr.SingleRate("SDIRK2", STEP / part))
        if error is not None:
            return  # the finer run is judged by the robustness study
        if not (np.isfinite(run.x).all() and np.isfinite(run.y).all()):
            raise Wrong("values that are no numbers")
        if run.outcome.lost is not None:
            return  # past the loss of synchronism the smallest difference grows
        ends.append(run)
    scale = 1.0 + np.abs(ends[2].x).max(axis=0)
    first, second = (np.abs((run.x[-1] - ends[2].x[-1]) / scale).max() for run in ends[:2])
    if first > LARGE and second > LEFT * first and (words := converged(task)):
        raise Wrong(
            f"with h, h/2, h/4 the end differs from that of h/4 by {first:.3g} and {second:.3g}; {words}"
        )


def converged(task: Task) -> str:
    """Return "" where ever smaller steps of SDIRK2 lead to the end of another method, else what they do.

    The other one is ESDIRK43 with a tolerance of 1e-9, of which a run at 1e-8 must be the same.
    """
    reference, again = (attempt(task, psmr.VariableStep(tolerance))[0] for tolerance in (1e-9, 1e-8))
    ends = [None if run is None else run.t[-1] for run in (reference, again)]
    if any(end is None or abs(end - task.t_end) > 1e-9 for end in ends):
        return "the run with a tight tolerance does not come to its end"
    scale = 1.0 + np.abs(reference.x).max(axis=0)

    def apart(run: Any) -> float:
        return float(np.abs((run.x[-1] - reference.x[-1]) / scale).max())

    if apart(again) > 1e-3 * LARGE:
        return f"tolerances of 1e-8 and 1e-9 end {apart(again):.3g} apart"
    left = []
    for part in SMALLER:
        run, error = attempt(task, psmr.SingleRate("SDIRK2", STEP / part))
        if error is not None:
            return f"with h/{part} it fails: {error}"
        left.append(apart(run))
    if left[-1] < 0.05 * LARGE and left[-1] < 0.1 * left[0]:
        return ""
    return f"with h/{SMALLER[0]} to h/{SMALLER[-1]} it ends {left} from a run with a tight tolerance"
