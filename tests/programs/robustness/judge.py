"""Run a list of events with a scheme, and say of a run that failed whether it had to."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import psmr
from psmr.errors import InputError, PsmrError, PsmrWarning
from tests.programs.robustness.lists import Task
from tests.programs.robustness.oracle import Verdict, failed_step
from tests.programs.robustness.systems import load, source

REFERENCE = psmr.SingleRate("TM", 0.0005)

COMPLETED, MONITOR, COLLAPSED, NO_SOLUTION = "completed", "monitor", "collapsed", "no solution"
REFERENCE_COMPLETES, SOLVABLE, CROSSED = "0.5 ms completes", "step has a solution", "smaller steps have one"
CRASHED, REFUSED = "crash", "refused"
WRONG = (REFERENCE_COMPLETES, SOLVABLE, CROSSED, CRASHED)

# What every run counts; whatever else its counters have is printed beside the table.
USUAL = {
    *("steps", "macro_steps", "newton_iterations", "residuals", "solves", "factorisations", "seconds"),
    *("factorisations_by_role", "orders", "corrections", "rejected", "reversals"),
}


@dataclass(frozen=True)
class Outcome:
    """What became of one run.

    Attributes
    ----------
    kind
        `COMPLETED`; for a physical reason `MONITOR`, `COLLAPSED` (the only solution found has no voltage) or
        `NO_SOLUTION`; for a failure that need not have been `REFERENCE_COMPLETES`, `SOLVABLE` or `CROSSED`
        (smaller steps); `CRASHED` for an exception that is no error of psmr; `REFUSED` for bad input.
    message, reason
        The run's own message, and what the judgement rests on.
    counted
        Counters that tell how a step came to its solution.
    """

    task: Task
    scheme: Any
    kind: str
    message: str = ""
    reason: str = ""
    counted: Mapping[str, float] = field(default_factory=dict)

    @property
    def wrong(self) -> bool:
        """Whether the run gave up on a problem that has a solution."""
        return self.kind in WRONG

    def __str__(self) -> str:
        number = "" if self.task.number is None else f", {self.task.case}, list {self.task.number}"
        events = ", ".join(f"psmr.{event!r}" for event in self.task.events)
        return (
            f"{self.task.part}{number}: {self.kind}\n  {reproduction(self.task, self.scheme, events)}\n"
            f"  {self.message}\n  {self.reason}"
        )


def reproduction(task: Task, scheme: Any, events: str) -> str:
    """Return the call that repeats a run."""
    read = f"psmr.build(psmr.{source(task.case).words})"
    return f"psmr.simulate({read}, psmr.{scheme!r}, {task.t_end:g}, [{events}], certify=False)"


def simulate(task: Task, scheme: Any, monitors: tuple[Any, ...] = ()) -> Any:
    """Run a task; the error of one that fails has the points to there."""
    _, system = load(task.case)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PsmrWarning)
        return psmr.simulate(
            system, scheme, task.t_end, task.events, certify=False, partial=True, monitors=monitors
        )


def attempt(task: Task, scheme: Any) -> tuple[Any, PsmrError | None]:
    """Return a run and no error, or what there is of a run and the error."""
    try:
        return simulate(task, scheme), None
    except InputError:
        raise
    except PsmrError as error:
        return error.partial, error


def outcomes(task: Task) -> list[Outcome]:
    """Run a task with each of its schemes and judge each run."""
    reference = functools.cache(lambda: attempt(task, REFERENCE))
    return [_outcome(task, scheme, reference) for scheme in task.schemes]


def _outcome(task: Task, scheme: Any, reference: Any) -> Outcome:
    try:
        run, error = attempt(task, scheme)
        if error is None:
            return Outcome(task, scheme, COMPLETED, counted=counted(run))
        kind, reason = _judged(task, scheme, run, reference)
        return Outcome(task, scheme, kind, f"{type(error).__name__}: {error}", reason)
    except InputError as error:
        return Outcome(task, scheme, REFUSED, f"{type(error).__name__}: {error}")
    except Exception as error:  # whatever it is, it belongs in the table and must not end the study
        return Outcome(task, scheme, CRASHED, f"{type(error).__name__}: {error}")


def _judged(task: Task, scheme: Any, run: Any, reference: Any) -> tuple[str, str]:
    """Return the kind of a failure and what that rests on; the first of these that applies.

    A run at 0.5 ms completes; the failed step has a solution; a monitor would have ended the run before; the
    step that failed at 0.5 ms has a solution; smaller steps than either have one; the only solution found has
    collapsed voltages; none was found.
    """
    reasons, seen = [], []
    if scheme.method == "TM":  # the oracle knows the trapezoidal rule
        seen.append(oracle(task, scheme, run))
        reasons.append(str(seen[0]))
    finer, failure = reference()
    if failure is None:
        return REFERENCE_COMPLETES, "; ".join([f"{REFERENCE} comes to the end", *reasons])
    reasons.append(f"{REFERENCE} fails too: {failure}")
    if seen and seen[0].solved:
        return SOLVABLE, "; ".join(reasons)
    if (stopped := by_monitor(task, scheme)) is not None:
        return MONITOR, "; ".join([stopped, *reasons])
    seen.append(oracle(task, REFERENCE, finer))
    reasons.append(str(seen[-1]))
    if seen[-1].solved:
        kind = SOLVABLE
    elif any(verdict.crossed for verdict in seen):
        kind = CROSSED
    else:
        kind = COLLAPSED if any(verdict.collapsed for verdict in seen) else NO_SOLUTION
    return kind, "; ".join(reasons)


def oracle(task: Task, scheme: Any, run: Any) -> Verdict:
    """Return what the oracle finds for what failed after the last point of a run."""
    if run is None:  # it failed before its first point
        return Verdict("start", 0.0, 0.0)
    return failed_step(load(task.case)[1], task.events, task.t_end, run, scheme.step)


def by_monitor(task: Task, scheme: Any) -> str | None:
    """Return what a monitor with its default limits says before the failure, None where none does."""
    for monitor in (psmr.AngleSpread(), psmr.VoltageCollapse()):
        try:
            run = simulate(task, scheme, (monitor,))
        except PsmrError:
            continue
        if run.stopped is not None:
            return f"t = {run.stopped.t:.4g} s, {run.stopped}"
    return None


def counted(run: Any) -> dict[str, float]:
    """Return the counters of a run that are not in `USUAL`, sums of those by role."""
    counters = getattr(run.stats, "counters", run.stats)
    found = {}
    for name, value in vars(counters).items():
        if name not in USUAL:
            total = sum(value.values()) if isinstance(value, Mapping) else value
            if isinstance(total, int | float):
                found[name] = float(total)
    return found
