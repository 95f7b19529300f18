"""Cost and error of schemes on one case: processor times interleaved, errors at common instants."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import psmr
from tests.disturbances import START, Disturbance, instants, values_at, watched
from tests.internals import Scheme, System, integrate

Reals = NDArray[np.float64]

# Tolerance of the run that errors are taken against; its own error is 1e-3 of the least tolerance measured.
REFERENCE = 1e-9

# Behind the first event in s: what a run needs is compiled, or read from the disk, once it came there.
WARM = START + 0.005

# Processor time in s below which the difference of two runs is taken five times.
CHEAP = 1.0


@dataclass(frozen=True)
class Measured:
    """What a scheme cost and how far it was off.

    Attributes
    ----------
    family, label
        Which line of a figure, and the scheme or what distinguishes it within its family.
    seconds
        Processor time, the median; NaN where there is no solution.
    steps
        Accepted steps; 0 where it does not say.
    rms, largest
        Error of all variables at all instants, relative to the largest value of the variable or 1; NaN where
        only the cost is of interest.
    rms_watched, largest_watched
        That of speeds and bus voltages.
    """

    family: str
    label: str
    seconds: float
    steps: int = 0
    rms: float = np.nan
    largest: float = np.nan
    rms_watched: float = np.nan
    largest_watched: float = np.nan


@dataclass(frozen=True)
class Entry:
    """One thing to measure: a scheme or a tolerance of IDA, with its family and label.

    With `t_end` (s) the run ends there, and only its cost is taken.
    """

    family: str
    label: str
    what: Scheme | float
    t_end: float | None = None


Name = tuple[str, str]
"""Family and label of an entry."""


@dataclass(frozen=True)
class Ladder:
    """Schemes of one family from the coarsest to the finest, of which those are measured that are needed.

    From the rung `begin` on coarser ones are, until one is worse than what the entry `loose` has in both
    errors, of all variables and of the watched ones, and finer ones, until one is as good as `tight` in both
    or costs `most` times as much.
    """

    rungs: Sequence[Entry]
    begin: int
    loose: Name
    tight: Name
    most: float


@dataclass(frozen=True)
class Bench:
    """A system, what happens to it, and what is measured.

    What the `ladders` are measured against is among the `entries`. With `before` the cost of a run to that
    time in s, with its set-up, is taken off.
    """

    system: System
    disturbance: Disturbance
    entries: Sequence[Entry]
    before: float | None = None
    ladders: Sequence[Ladder] = ()

    def first_round(
        self, reference: float = REFERENCE, chosen: NDArray[np.intp] | None = None
    ) -> Iterator[Measured]:
        """Yield cost and error of each entry, the errors against `VariableStep(reference)`.

        `chosen` are the positions that are watched (speeds and voltages).
        """
        times = instants(self.disturbance)
        fine = self._run(psmr.VariableStep(reference), self.disturbance)
        exact = values_at(self.system, self.disturbance, fine, times)
        del fine
        scale = np.maximum(1.0, np.abs(exact).max(axis=0))
        chosen = watched(self.system) if chosen is None else chosen

        def rated(entry: Entry, seconds: float, result: Any) -> Measured:
            if result is None or entry.t_end is not None:
                return Measured(entry.family, entry.label, seconds, 0 if result is None else _steps(result))
            sampled = isinstance(result, np.ndarray)
            off = result if sampled else values_at(self.system, self.disturbance, result, times)
            off = np.abs(off - exact) / scale
            near = off[:, chosen]
            errors = _rms(off), float(off.max()), _rms(near), float(near.max())
            return Measured(entry.family, entry.label, seconds, _steps(result), *errors)

        known: dict[Name, Measured] = {}
        warm: set[type] = set()

        def measured(entry: Entry) -> tuple[Measured, float]:
            """Return the row of an entry, and the seconds that it took also where it has no solution."""
            began = time.process_time()
            ((_, seconds, result),) = self._round([entry], warm)
            spent = time.process_time() - began if result is None else seconds
            return rated(entry, seconds, result), spent

        for entry in self.entries:
            row = known[entry.family, entry.label] = measured(entry)[0]
            yield row
        for ladder in self.ladders:
            yield from _climbed(ladder, known, measured)

    def further_round(self, known: Collection[Name], backwards: bool = False) -> Iterator[Measured]:
        """Yield the cost of each entry whose (family, label) is `known`, in their order or against it."""
        rungs = (entry for ladder in self.ladders for entry in ladder.rungs)
        every = {(entry.family, entry.label): entry for entry in (*self.entries, *rungs)}
        wanted = [every[name] for name in every if name in known]
        for entry, seconds, _ in self._round(wanted[:: -1 if backwards else 1], set()):
            yield Measured(entry.family, entry.label, seconds)

    def _round(self, entries: Sequence[Entry], warm: set[type]) -> Iterator[tuple[Entry, float, Any]]:
        for entry in entries:
            if type(entry.what) not in warm:
                warm.add(type(entry.what))
                self._timed(entry, self.before or WARM)
            end = self.disturbance.t_end if entry.t_end is None else entry.t_end
            seconds, result = self._timed(entry, end)
            if self.before is not None:
                # What is taken off may be the larger part of a cheap run.
                costs = [seconds - self._timed(entry, self.before)[0]]
                while seconds < CHEAP and len(costs) < 5:
                    costs.append(self._timed(entry, end)[0] - self._timed(entry, self.before)[0])
                seconds = float(np.median(costs))
            yield entry, seconds, result

    def _timed(self, entry: Entry, t_end: float) -> tuple[float, Any]:
        disturbance = replace(self.disturbance, t_end=t_end)
        began = time.process_time()
        result = _or_none(lambda: self._run(entry.what, disturbance))
        return (np.nan if result is None else time.process_time() - began), result

    def _run(self, what: Scheme | float, disturbance: Disturbance) -> Any:
        changes = tuple(change for change in disturbance.changes if change.t < disturbance.t_end)
        if not isinstance(what, float):
            return integrate(self.system, what, disturbance.t_end, changes)
        from tests.peers.ida import IdaRun

        return IdaRun(self.system, changes, what).run(disturbance.t_end, instants(disturbance))


def measure(
    system: System, disturbance: Disturbance, schemes: Sequence[tuple[str, Scheme]], rounds: int
) -> list[Measured]:
    """Return what each scheme cost, and its error; schemes are given with the family they belong to."""
    return medians(
        Bench(system, disturbance, [Entry(family, str(scheme), scheme) for family, scheme in schemes]), rounds
    )


def medians(
    bench: Bench, rounds: int, reference: float = REFERENCE, chosen: NDArray[np.intp] | None = None
) -> list[Measured]:
    """Return the rows of a bench with the medians of their costs; runs without a solution are left out.

    Each round runs all entries once, so that what else the machine does falls on all alike.
    """
    rows = [row for row in bench.first_round(reference, chosen) if np.isfinite(row.seconds)]
    known = [(row.family, row.label) for row in rows]
    more = [[row.seconds for row in bench.further_round(known)] for _ in range(rounds - 1)]
    costs = np.median([[row.seconds for row in rows], *more], axis=0)
    return [replace(row, seconds=float(cost)) for row, cost in zip(rows, costs, strict=True)]


def _or_none(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except psmr.PsmrError:
        return None


def _steps(result: Any) -> int:
    return 0 if isinstance(result, np.ndarray) else int(result.counters.steps)


def _climbed(
    ladder: Ladder, known: Mapping[Name, Measured], measured: Callable[[Entry], tuple[Measured, float]]
) -> Iterable[Measured]:
    """Return the rows of the rungs that are needed, without those that are known."""
    found: dict[Name, Measured] = {}

    def at(k: int) -> tuple[Measured, float]:
        name = ladder.rungs[k].family, ladder.rungs[k].label
        if name in known:
            return known[name], known[name].seconds
        found[name], spent = measured(ladder.rungs[k])
        return found[name], spent

    def as_good(row: Measured, other: Measured) -> list[bool]:
        return [getattr(row, by) <= getattr(other, by) for by in ("rms", "rms_watched")]

    first, spent = at(ladder.begin)
    k, row = ladder.begin, first
    while k > 0 and any(as_good(row, known[ladder.loose])):
        k -= 1
        row, _ = at(k)
    k, row, tight = ladder.begin, first, known[ladder.tight]
    while k + 1 < len(ladder.rungs) and spent <= ladder.most * tight.seconds and not all(as_good(row, tight)):
        k += 1
        row, spent = at(k)
    return found.values()


def _rms(off: Reals) -> float:
    return float(np.sqrt(np.mean(off**2)))


def ratio(rows: Sequence[Measured], families: Sequence[str], own: str, error: float, by: str) -> str:
    """Return how many times more the cheapest of some families costs than another one at equal error.

    See `cost_at`, of which the marks are: a family that does not reach the error costs more than what was
    measured of it, ``">"``; one that is better with its coarsest run may cost less where it need not be as
    good, ``"<"``, and then the cheapest family does.
    """
    mine, mark = cost_at(rows, own, error, by)
    if mark:
        return "-"
    found = [cost_at(rows, family, error, by) for family in families]
    found = [cost for cost in found if np.isfinite(cost[0])]
    if any(mark == "<" for _, mark in found):
        theirs, mark = min(cost for cost, mark in found if mark != ">"), "<"
    else:
        theirs, mark = min(found, default=(np.nan, ""))
    return f"{mark}{theirs / mine:.1f}" if np.isfinite(theirs) else "-"


def cost_at(rows: Sequence[Measured], family: str, error: float, by: str) -> tuple[float, str]:
    """Return the least cost of a family at an error, and "<" or ">" where it is a bound only.

    Runs that cost no less than a more accurate one are of no use; between the others costs lie on straight
    lines in logarithms. An error that no run reaches costs more than all of them.
    """
    points = sorted((getattr(row, by), row.seconds) for row in rows if row.family == family)
    points = [point for point in points if np.isfinite(point).all()]
    if not points:
        return float("nan"), ""
    if error < points[0][0]:
        return max(cost for _, cost in points), ">"
    front: list[tuple[float, float]] = []
    for point in points:
        if not front or point[1] < front[-1][1]:
            front.append(point)
    errors, costs = np.array(front).T
    cost = float(np.exp(np.interp(np.log(error), np.log(errors), np.log(costs))))
    return cost, "<" if error > points[-1][0] else ""
