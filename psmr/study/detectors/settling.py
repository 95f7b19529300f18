"""Whether a run has settled at its end, or still rises or swings.

The time after the last event is divided into quarters. In the third and in the last one the range is taken
(largest less smallest value) of the frequency of each island, of the frequency of each source against that of
its island, both in parts of the nominal one, and of the voltage of each bus, in pu.

**Settled**: in the last quarter no frequency ranges over more than `Criteria.swing_f`, no voltage over more
than `swing_v`. **Not damped**: something ranges over more, and over no less (`KEEPS`) than in the quarter
before: an oscillation that keeps or gains its size, a frequency or voltage that runs away. What ranges over
more and becomes less is still swinging, and said to be. At the ends of a quarter, between points, values are
on straight lines. Nothing is said where the last quarter is shorter than a second, which is about one period
of the swings between machines, while an event still drives something, and of runs that were stopped. Source:
see `psmr.Criteria`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from psmr.base.arrays import Reals
from psmr.dae.declare.component import parameters_of
from psmr.dae.system.system import System
from psmr.integrate.timeline.span import Span
from psmr.network.signals.points import Points
from psmr.network.topology.connections import Connections, TurningIsland
from psmr.network.topology.islands import sources_of
from psmr.network.topology.network import buses, nominal_frequency
from psmr.study.criteria import Criteria
from psmr.study.detectors.detector import Finding

SHORTEST = 1.0
"""Length in s of a quarter below which nothing is said."""

KEEPS = 0.99
"""A range of at least this part of the one before is no smaller: at the points of a run ranges that are equal
differ by as much."""

# Rounding of times in s, far below any step.
ROUNDING = 1e-9


@dataclass(frozen=True)
class Settling:
    """How a run ends.

    `settled`: whether everything moves by less than the limits.
    `what`, `value`, `unit`: what moves most beside its limit over the last quarter, and by how much.
    """

    settled: bool
    what: str
    value: float
    unit: str

    def __str__(self) -> str:
        if self.settled:
            return "yes"
        return f"no, {self.what} has a peak-to-peak variation of {self.value:.3g} {self.unit}"


class Ranges:
    """The ranges of some values in two stretches of time."""

    def __init__(self, count: int) -> None:
        self.low = np.full((2, count), np.inf)
        self.high = np.full((2, count), -np.inf)

    def take(self, stretch: int, values: Reals) -> None:
        """Take (K, count) values of a stretch."""
        if len(values):
            np.minimum(self.low[stretch], values.min(axis=0), out=self.low[stretch])
            np.maximum(self.high[stretch], values.max(axis=0), out=self.high[stretch])

    def of(self, stretch: int) -> Reals:
        """Return (count,) largest less smallest values, 0 where there were none."""
        return np.maximum(self.high[stretch] - self.low[stretch], 0.0)


class EndOfRun:
    """See the module.

    `system`, `criteria`: what is looked at, and by which limits.
    `t_end`: time in s at which the run is to end.
    """

    def __init__(self, system: System, criteria: Criteria, t_end: float) -> None:
        self._system, self._criteria, self._t_end = system, criteria, t_end
        self._sources, self._f_n = sources_of(system), nominal_frequency(system)
        self._quarter, self._moves, self._ended = 0.0, False, False
        self._islands: tuple[TurningIsland, ...] = ()

    def begin(self, connections: Connections) -> None:
        """See `Detector`."""
        self._islands = connections.turning
        span = connections.span
        self._moves, self._quarter = _driven(self._system, span), 0.25 * (self._t_end - span.t)
        self._edges = self._t_end - np.array([2.0, 1.0]) * self._quarter
        self._frequencies = Ranges(len(self._islands) + sum(len(i.places) for i in self._islands))
        self._counted, self._ended = connections.counted, False
        self._voltages = Ranges(len(self._counted))
        self._before: tuple[float, list[Reals]] | None = None

    def take(self, points: Points) -> None:
        """See `Detector`."""
        self._ended = bool(points.t[-1] >= self._t_end - ROUNDING)
        first = min(int(np.searchsorted(points.t, self._edges[0])), len(points.t))
        points = points[max(0, first - 1) :]  # the point before is kept for the straight line from it
        times, values = points.t, [self._frequencies_of(points), points.v]
        if self._before is not None:
            times = np.append(self._before[0], times)
            values = [np.vstack(pair) for pair in zip(self._before[1], values, strict=True)]
        self._before = times[-1], [value[-1] for value in values]
        for edge in self._edges:
            k = int(np.searchsorted(times, edge))
            if 0 < k < len(times) and times[k] > edge:
                part = (edge - times[k - 1]) / (times[k] - times[k - 1])
                values = [np.insert(v, k, v[k - 1] + part * (v[k] - v[k - 1]), axis=0) for v in values]
                times = np.insert(times, k, edge)
        begin, middle = self._edges
        for stretch, within in enumerate(((times >= begin) & (times <= middle), times >= middle)):
            self._frequencies.take(stretch, values[0][within])
            self._voltages.take(stretch, values[1][within])

    def _frequencies_of(self, points: Points) -> Reals:
        columns = [points.speeds[:, :0]]
        for k, island in enumerate(self._islands):
            mean = points.frequencies[:, k, None]
            columns += [mean, points.speeds[:, island.places] - mean]
        return np.hstack(columns)

    def _named(self) -> list[tuple[str, tuple[str, ...]]]:
        """Return what each frequency is in words, and the signals that show it."""
        found: list[tuple[str, tuple[str, ...]]] = []
        for island in self._islands:
            members = [self._sources[k] for k in island.places]
            signals = tuple(source.speed or source.angle for source in members)
            found.append((f"the frequency{' ' + island.where if island.where else ''}", signals))
            found += [(f"the speed of {s.name}", (s.speed or s.angle,)) for s in members]
        return found

    def _moving(self) -> list[tuple[float, float, str, str, float, tuple[str, ...]]]:
        """Return what moves by more than its limit, most first.

        Each as (parts of its limit, the same in the quarter before, what, unit, value, signals).
        """
        names = buses(self._system)
        hertz = 1.0 if self._f_n is None else self._f_n
        found = []
        before, now = self._frequencies.of(0), self._frequencies.of(1)
        beyond = np.flatnonzero(now > self._criteria.swing_f)
        named = self._named() if beyond.size else []
        for k in beyond:
            what, signals = named[k]
            limit = self._criteria.swing_f
            found.append((now[k] / limit, before[k] / limit, what, "Hz", hertz * now[k], signals))
        before, now = self._voltages.of(0), self._voltages.of(1)
        for k in np.flatnonzero((now > self._criteria.swing_v) & self._counted):
            limit, what = self._criteria.swing_v, f"the voltage at {names[k]}"
            found.append((now[k] / limit, before[k] / limit, what, "pu", now[k], (f"{names[k]}.v",)))
        return sorted(found, key=lambda one: -one[0])

    @property
    def settling(self) -> Settling | None:
        """How the run ends; None where nothing can be said."""
        if not self._ended or self._moves or self._quarter < SHORTEST:
            return None
        moving = self._moving()
        if not moving:
            return Settling(True, "", 0.0, "")
        _, _, what, unit, value, _ = moving[0]
        return Settling(False, what, float(value), unit)

    def findings(self) -> tuple[Finding, ...]:
        """See `Detector`."""
        if self.settling is None:
            return ()
        for now, before, what, unit, value, signals in self._moving():
            if now >= KEEPS * before:
                limit = value / now
                return (
                    Finding(
                        self._t_end, "not settled", what, float(value), float(limit), unit, "amber",
                        f"The run has not settled: {what} moves by {value:.3g} {unit} over the last "
                        f"{self._quarter:.3g} s and by {limit * before:.3g} {unit} over as long before.",
                        signals, True,
                    ),
                )  # fmt: skip
        return ()


def _driven(system: System, span: Span) -> bool:
    """Return whether a span moves by itself: an input or a load ramps, or something follows a course."""
    found = span.moves
    for group, matrix in zip(system.groups, span.parameters, strict=True):
        component = group.compiled.component
        names = tuple(parameters_of(component))
        found = found or bool(matrix[:, [names.index(name) for name in component.ramps]].any())
    return found
