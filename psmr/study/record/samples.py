"""Voltages and speeds of a run at a few of its points, by which its error is estimated.

What counts are the voltages of buses, their magnitudes in pu, and the speeds of sources: machines, and
converters that form the voltage, whose droop makes a speed of their measured power. A bus counts while no
fault is on at it and its part of the network is not dead, a source while it is in service. A system without
buses has its variables instead, those of one name together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from psmr.base.arrays import Reals
from psmr.dae.system.system import System
from psmr.integrate.timeline.span import Span
from psmr.network.topology.network import buses
from psmr.network.topology.plants import sources_of
from psmr.study.detectors.detection import Detection, detect
from psmr.study.detectors.detector import Connections, Points
from psmr.study.detectors.finding import Finding
from psmr.study.events.spans import TIME_ROUNDING
from psmr.study.record.recorded import Recorded, Sampled

APART = 0.1
"""Longest time in s between two samples of a run with shorter steps: a tenth of the period of a swing."""

FIRST, SOON, GROWTH = 1e-5, 0.4, 1.25
"""Times in s after an event from which the next point is a sample, first and last, and by which they grow.

It is fast at first.
"""


@dataclass(frozen=True, eq=False)
class Quantity:
    """What is measured alike.

    Attributes
    ----------
    what
        In words: ``"voltage"``, ``"speed"``, or the name of the variables.
    names
        Names of the signals.
    columns
        Their columns among the samples.
    """

    what: str
    names: tuple[str, ...]
    columns: slice


def quantities(system: System) -> tuple[Quantity, ...]:
    """Return what is measured of a system, in the order of the columns of its samples."""
    groups: dict[str, list[str]] = {}
    if buses(system):
        groups["voltage"] = [f"{bus}.v" for bus in buses(system)]
        groups["speed"] = [name for _, name, _ in _speeds(system)]
    else:
        for name in (*system.names_x, *system.names_y):
            groups.setdefault(name.rpartition(".")[2], []).append(name)
    found, first = [], 0
    for what, names in groups.items():
        found.append(Quantity(what, tuple(names), slice(first, first + len(names))))
        first += len(names)
    return tuple(found)


def _speeds(system: System) -> list[tuple[str, str, float]]:
    """Return (source, name of the state that is its speed, factor that makes it one in pu)."""
    states, found = set(system.names_x), []
    for source in sources_of(system):
        if source.speed:
            found.append((source.name, source.speed, 1.0))
        elif f"{source.name}.p_m" in states:
            found.append((source.name, f"{source.name}.p_m", system.parameter(source.name, "m_p")))
    return found


class Samples:
    """Takes samples of a run; see `psmr.study.detectors.detector.Detector`.

    Parameters
    ----------
    system
        The system of the run.
    times
        (S,) times in s at which samples are taken, ascending; None: soon after one another behind an event,
        later `APART`.
    dense
        How many times as many samples are taken where `times` does not say.

    Attributes
    ----------
    jumped
        (q,) largest change since the first point right behind an event, whose instant is no sample.
    """

    def __init__(self, system: System, times: Reals | None = None, dense: int = 1) -> None:
        self._times, self._network = times, bool(buses(system))
        growth = GROWTH ** (1.0 / dense)
        self._soon = FIRST * growth ** np.arange(math.ceil(math.log(SOON / FIRST) / math.log(growth)))
        self._apart = APART / dense
        speeds = _speeds(system) if self._network else []
        self._sources = [source for source, _, _ in speeds]
        self._places = np.array([system.index(name) for _, name, _ in speeds], dtype=np.intp)
        self._factors = np.array([factor for _, _, factor in speeds])
        self._first: Reals | None = None
        self.jumped = np.empty(0)
        self._t: list[Reals] = []
        self._values: list[Reals] = []
        self._began = self._last = 0.0
        self._counted = np.ones(0, bool)

    def begin(self, span: Span, connections: Connections) -> None:
        """See `Detector`."""
        if self._t and self._t[-1][-1] >= span.t - TIME_ROUNDING:  # the row before the event
            self._t[-1], self._values[-1] = self._t[-1][:-1], self._values[-1][:-1]
            if not self._t[-1].size:
                self._t.pop()
                self._values.pop()
        self._began = self._last = span.t
        in_service = np.array([source not in connections.out for source in self._sources], bool)
        self._counted = np.concatenate([connections.counted, in_service])

    def take(self, points: Points) -> None:
        """See `Detector`."""
        if self._first is None:
            self._first = self._of(points, slice(1))[0]
            self.jumped = np.zeros_like(self._first)
        if abs(float(points.t[0]) - self._began) <= TIME_ROUNDING:
            jump = np.abs(self._of(points, slice(1))[0] - self._first)
            if self._network:
                jump[~self._counted] = 0.0
            self.jumped = np.fmax(self.jumped, jump)
        rows = self._rows(points.t)
        if rows.size:
            values = self._of(points, rows)
            if self._network:
                values[:, ~self._counted] = np.nan
            t = points.t[rows]
            self._t.append(
                t if self._times is None else self._times[np.searchsorted(self._times, t - TIME_ROUNDING)]
            )
            self._values.append(values)

    def findings(self) -> tuple[Finding, ...]:
        """See `Detector`."""
        return ()

    def _of(self, points: Points, rows: slice | NDArray[np.intp]) -> Reals:
        x = points.x[rows]
        if not self._network:
            return np.hstack([x, points.y[rows]])
        return np.hstack([points.v[rows], self._factors * x[:, self._places]])

    def _rows(self, t: Reals) -> NDArray[np.intp]:
        """Return which of (K,) times in s are samples."""
        if self._times is not None:
            place = np.searchsorted(self._times, t - TIME_ROUNDING)
            nearest = self._times[np.minimum(place, len(self._times) - 1)]
            same = np.abs(nearest - t) <= TIME_ROUNDING
            return np.flatnonzero(same & (t > self._began + TIME_ROUNDING))
        before, last = self._last - self._began, float(t[-1]) - self._began
        first, apart = self._soon[-1], self._apart
        late = first + apart * np.arange(max(1.0, (before - first) // apart), (last - first) / apart + 1)
        due = np.concatenate([self._soon, late])
        due = due[(due > before + TIME_ROUNDING) & (due <= last + TIME_ROUNDING)]
        self._last = float(t[-1])
        return np.unique(np.searchsorted(t, self._began + due - TIME_ROUNDING))

    def result(self) -> Sampled:
        """Return the samples."""
        assert self._first is not None
        values = [np.empty((0, self._first.size)), *self._values]
        return Sampled(np.concatenate([np.empty(0), *self._t]), np.concatenate(values), self._first)


def sampled(run: Recorded) -> Sampled:
    """Return the samples of a run that has its system."""
    if run.kept is not None:
        return run.kept.sampled
    assert run.system is not None
    samples = Samples(run.system)
    detect(Detection(run.system, [samples]), run.spans, run.t, run.x, run.y)
    return samples.result()
