r"""How many steps the solution itself asks for: the best sequence of steps against a step that stays.

``python -m tests.programs.benchmarks.equal_error.smoothness [--files FOLDER]`` takes single steps of ESDIRK32
of many lengths h from points of an accurate run after the last change, and compares their ends with that run:
the error d(t, h) of a step, the root of the mean square over the variables. Errors of steps are added up as
if none died away, so that a sequence of steps h_k from the points t_k has

    E = sum_k d(t_k, h_k).

The best sequence has the fewest steps N for its E: it makes N + E / lam least, with lam the same everywhere,
and is the shortest path over the points with 1 + d(t_k, t_j - t_k) / lam as the length of the edge between
two. It is chosen with hindsight: nothing is rejected, estimated or learned on the way. It stands beside steps
of one length h, of which there are N = T / h and E = int d(t, h) / h dt over the T s after the last change,
at the E which the steps of `VariableStep` have by the same d.

Appends rows to docs/figures/smoothness.jsonl, from which the page of `page` has them.
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from numpy.typing import NDArray

import psmr
from tests.disturbances import DISTURBANCES, LARGE, Disturbance, system_of, title, values_at
from tests.internals import AT_START, DONE, EVALUATED_BLOCK, WHOLE, System, integrate, run_program
from tests.programs.benchmarks.equal_error.measure import REFERENCE
from tests.programs.benchmarks.equal_error.records import append, done

Reals = NDArray[np.float64]

CASES = tuple((name, 0.0) for name in ("npcc_full", "wecc_full", "wecc240"))
RICH = (("case1354pegase", 0.3), ("case1354pegase", 0.6))
SWINGING = (("kundur", 0.0), ("new-england", 0.0))
MINUTE = "quiet minute"
KINDS = ("local fault", "load step")
TOLERANCES = (1e-3, 1e-4)
METHOD = "ESDIRK32"
ROWS = Path(__file__).parents[4] / "docs" / "figures" / "smoothness.jsonl"
# Tolerance of the run from whose points the steps are taken.
ACCURATE = 1e-8
# Lengths of the steps in s.
LENGTHS = np.geomspace(5e-4, 4.0, 40)
# The error of a step that has no solution.
NONE = 1e3
# Points are this part of the time since the last change apart, and at least and at most so long in s.
APART, CLOSEST, WIDEST = 0.02, 5e-4, 0.02
WIDEST_OF_MINUTE = 0.1


class Tried(psmr.VariableStep):
    """The scheme; its engine, which `engines` has, tries steps of all `LENGTHS` on its way."""

    engines: ClassVar[list[Trying]] = []
    begin: ClassVar[float] = 0.0
    widest: ClassVar[float] = WIDEST

    def engine(self, system: System, parameters: Sequence[Any], w: Reals, every: bool) -> Any:
        """See `psmr.VariableStep`."""
        self.engines.append(Trying(super().engine(system, parameters, w, every), self.begin, self.widest))
        return self.engines[-1]


class Trying:
    """An engine of `VariableStep` that returns after each step and tries others from there.

    `times` (K,) are the points in s, `ends` (K, lengths, n + m) where the steps led, NaN where none did.
    """

    def __init__(self, inner: Any, begin: float, widest: float) -> None:
        self.inner, self.begin_at, self.widest = inner, begin, widest
        self.times, self.ends = list[float](), list[Reals]()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def advance(self, most: int, w: Reals) -> Any:
        """See `psmr.integrate.schemes.scheme.Engine`: a step at a time."""
        since = float(w[-1]) - self.begin_at
        apart = min(self.widest, max(CLOSEST, APART * since))
        if since >= 0.0 and (not self.times or w[-1] >= self.times[-1] + apart):
            self.times.append(float(w[-1]))
            self.ends.append(self._try(w, len(self.inner.control.disturbance.reference)))
        return self.inner.advance(1, w)

    def _try(self, w: Reals, size: int) -> Reals:
        machine = self.inner.stepper.ready(w)
        points, found = machine.points.copy(), np.full((len(LENGTHS), size), np.nan)
        for k, h in enumerate(LENGTHS):
            trial = w.copy()
            machine.points[:] = points
            machine.points[AT_START] = trial
            machine.state[EVALUATED_BLOCK] = -1
            if run_program(machine, WHOLE, 0, len(machine.code), h, trial) == DONE:
                found[k] = trial[:size]
        machine.points[:] = points
        machine.state[EVALUATED_BLOCK] = -1
        return found


def errors_of_steps(system: System, what: Disturbance, kind: str) -> tuple[Reals, Reals]:
    """Return the times (K,) in s of the points, and d(t, h) (K, lengths) of the steps from there."""
    Tried.begin = what.changes[-1].t
    Tried.widest = WIDEST_OF_MINUTE if kind == MINUTE else WIDEST
    integrate(system, Tried(ACCURATE, METHOD), what.t_end, what.changes)
    engine = Tried.engines.pop()
    exact = integrate(system, psmr.VariableStep(REFERENCE), what.t_end, what.changes)
    times = np.array(engine.times)
    scale = np.maximum(1.0, np.abs(np.hstack([exact.x, exact.y])).max(axis=0))
    errors = np.full((len(times), len(LENGTHS)), np.nan)
    for k, h in enumerate(LENGTHS):
        within = times + h < what.t_end
        off = np.array([ends[k] for ends in engine.ends])[within]
        off = (off - values_at(system, what, exact, times[within] + h)) / scale
        size = np.sqrt(np.mean(off**2, axis=1))
        errors[within, k] = np.where(np.isnan(size), NONE, size)
        if within.any():  # what would pass the end of the run is as good as the last step that does not
            errors[~within, k] = errors[within, k][-1]
    return times, np.where(np.isnan(errors), NONE, errors)


def at_lengths(errors: Reals, lengths: Reals) -> Reals:
    """Return d (K,) of a step from each point, on lines in logarithms of `errors` (K, lengths)."""
    logs = np.log(LENGTHS)
    rows = zip(lengths, np.log(errors), strict=True)
    return np.exp(np.array([np.interp(np.log(h), logs, row) for h, row in rows]))


def counted(times: Reals, errors: Reals, t_end: float, lengths: Reals) -> tuple[float, float]:
    """Return (N, E) of steps that have the lengths (K,) in s at the points."""
    density = np.diff(np.append(times, t_end)) / lengths
    return float(density.sum()), float(density @ at_lengths(errors, lengths))


def best(times: Reals, errors: Reals, t_end: float, error: float) -> Reals:
    """Return the beginnings (N,) in s of the steps of the best sequence with at most that E."""
    logs, nodes = np.log(LENGTHS), np.append(times, t_end)
    edges = []
    for k, row in enumerate(np.log(errors)):
        most = np.searchsorted(nodes, nodes[k] + LENGTHS[-1], side="right")
        reached = nodes[k + 1 : max(most, k + 2)]
        edges.append(np.exp(np.interp(np.log(reached - nodes[k]), logs, row)))
    low, high, found = -40.0, 10.0, times  # of log lam
    for _ in range(60):
        middle = 0.5 * (low + high)
        path, made = _shortest(edges, np.exp(middle))
        if made > error:
            high = middle
        else:
            low, found = middle, times[path]
    return found


def _shortest(edges: Sequence[Reals], lam: float) -> tuple[list[int], float]:
    """Return the points of the shortest path, without the end, and its E.

    `edges` has for each point the errors of steps to those behind it.
    """
    rest, onward = np.zeros(len(edges) + 1), np.zeros(len(edges), np.int64)
    for k in range(len(edges) - 1, -1, -1):
        lengths = 1.0 + edges[k] / lam + rest[k + 1 : k + 1 + len(edges[k])]
        onward[k] = k + 1 + lengths.argmin()
        rest[k] = lengths.min()
    path, made = [0], float(edges[0][onward[0] - 1])
    while onward[path[-1]] < len(edges):
        path.append(int(onward[path[-1]]))
        made += float(edges[path[-1]][onward[path[-1]] - path[-1] - 1])
    return path, made


def staying(times: Reals, errors: Reals, t_end: float, error: float) -> float:
    """Return the steps of one length with that E."""
    fine = np.geomspace(LENGTHS[0], LENGTHS[-1], 400)
    found = [counted(times, errors, t_end, np.full(len(times), h)) for h in fine]
    within = [steps for steps, made in found if made <= error]
    return min(within, default=np.nan)


def taken(
    system: System, what: Disturbance, tolerance: float, times: Reals, errors: Reals
) -> tuple[Reals, float]:
    """Return (beginnings (N,) in s, E) of the steps of `VariableStep` after the last change."""
    run = integrate(system, psmr.VariableStep(tolerance, METHOD), what.t_end, what.changes)
    ends = run.t[run.t >= what.changes[-1].t]
    steps = np.diff(ends)
    begins, steps = ends[:-1][steps > 0.0], steps[steps > 0.0]
    nearest = np.clip(np.searchsorted(times, begins, side="right") - 1, 0, len(times) - 1)
    return begins, float(at_lengths(errors[nearest], steps).sum())


def looked_at(system: System, what: Disturbance, kind: str) -> dict[str, Any]:
    """Return the facts of a case: the steps of each kind at the errors of `VariableStep`.

    Steps that begin within 1 s of the last change are counted for themselves too.
    """
    times, errors = errors_of_steps(system, what, kind)
    second, found = what.changes[-1].t + 1.0, []
    for tolerance in TOLERANCES:
        begins, error = taken(system, what, tolerance, times, errors)
        with_hindsight = best(times, errors, what.t_end, error)
        found.append(
            {
                "tolerance": tolerance,
                "error": float(f"{error:.3g}"),
                "steps": len(begins),
                "best": len(with_hindsight),
                "staying": round(staying(times, errors, what.t_end, error), 1),
                "steps_in_second": int(np.sum(begins < second)),
                "best_in_second": int(np.sum(with_hindsight < second)),
            }
        )
    return {"size": system.n + system.m, "points": len(times), "sequences": found}


def main() -> None:
    """Measure what is not yet measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=Path, default=ROWS)
    parser.add_argument("--files", type=Path, help="folder with the RAW and DYR files of WECC 240")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    for name, share in (*SWINGING, *(CASES if arguments.files else CASES[:-1]), *RICH):
        system, bus = system_of(name, share, arguments.files)
        for kind in (MINUTE,) if (name, share) in SWINGING else KINDS if name in LARGE else (*KINDS, MINUTE):
            if (name, share, kind) not in done(arguments.rows):
                facts = looked_at(system, DISTURBANCES[kind](system, bus), kind)
                append(arguments.rows, (name, share, kind), facts, [])
                print(title(name, share), kind, facts["sequences"], flush=True)


if __name__ == "__main__":
    main()
