"""The protocol of detectors, and what they receive: what is connected in a span, and its points.

What a detector finds: extremes, what is beyond a limit, and parts left without a source.

A part is dead where nothing is left in it that holds the voltage: no machine, no converter that forms it, no
infinite bus. That follows from what is in service and not from points of a run: see
`psmr.network.topology.islands`.

The angles and speeds of the sources of a system over time.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from psmr.base.arrays import Reals
from psmr.base.errors import few
from psmr.dae.declare.component import parameters_of
from psmr.dae.system.places import cached_by_devices
from psmr.dae.system.system import System
from psmr.devices.dynamic_network.bus import PAIRS, TO_GROUND
from psmr.devices.network import Bus
from psmr.integrate.timeline.change import Change
from psmr.integrate.timeline.span import Span, spans_by_changes
from psmr.network.topology.islands import (
    DeadParts,
    Source,
    by_island,
    centre_of_inertia,
    islands,
    leading,
    sources_of,
)
from psmr.network.topology.network import bus_voltages, buses, nominal_frequency, out_of_service


@dataclass(frozen=True)
class Extreme:
    """A largest or smallest value, where it was in words, and when (in s; a duration begins there).

    `place` is the name of the one bus that it was at, "" for another place.
    """

    value: float
    where: str
    t: float
    place: str = ""


@dataclass(frozen=True)
class Finding:
    """A figure of a run that is beyond a limit.

    Attributes
    ----------
    t
        Time in s from which on it is.
    what
        Which detector found it, in words: ``"angle spread"``, ``"low voltage"``.
    where
        Which machines, bus or motor.
    value, limit, unit
        The figure and the limit, in their unit.
    colour
        How a run with it is judged.
    sentence
        All of it in a sentence.
    signals
        Names of the signals that show it.
    at_end
        Whether it is about how a run ends, so that it says nothing of one that did not come to its end.
    began
        The figure at `t`, where `value` is the furthest one from then on; None where they are the same.
    motor
        The motor that it is about; "" where it is about something else.
    """

    t: float
    what: str
    where: str
    value: float
    limit: float
    unit: str
    colour: Literal["red", "amber"]
    sentence: str
    signals: tuple[str, ...] = ()
    at_end: bool = False
    began: float | None = None
    motor: str = ""


@dataclass(frozen=True)
class Stop:
    """What ended a run.

    Attributes
    ----------
    t
        Time in s.
    monitor
        Which monitor, in words.
    what
        Which machines, bus or buses.
    value, limit, unit
        What was seen there and the limit of the monitor, in its unit; None where it is not a number.
    since
        Since when it is measured, in words.
    """

    t: float
    monitor: str
    what: str
    value: float | None = None
    limit: float | None = None
    unit: str = ""
    since: str = ""

    def __str__(self) -> str:
        if self.value is None or self.limit is None:
            return f"{self.monitor}: {self.what}"
        value = digits_beyond(self.value, self.limit, 4)
        since = f" {self.since}" if self.since else ""
        return f"{self.monitor}: {self.what} = {value} {self.unit}{since}, limit {self.limit:g} {self.unit}"


def digits_beyond(value: float, limit: float, digits: int) -> str:
    """Return a value in as many digits as it takes to see that it is not the limit."""
    texts = (f"{value:.{n}g}" for n in range(digits, 17))
    return next((text for text in texts if float(text) != limit), f"{value:g}")


def names_of(names: Iterable[str], most: int = 5) -> str:
    """Return names as a message has them, the first few of many."""
    return few(sorted(names), most)


def dead_part(system: System, changes: Sequence[Change]) -> Stop | None:
    """Return where the changes, in order of time, first leave a part without a source; None for nowhere."""
    spans = spans_by_changes(system, changes, DeadParts(system))
    return next(filter(None, itertools.starmap(cut_off, itertools.pairwise(spans))), None)


def cut_off(before: Span, now: Span) -> Stop | None:
    """Return what leaves buses without a source from one span to the next; None where nothing does."""
    dead = now.devices.dead - before.devices.dead
    labels = "; ".join(change.label for change in now.changes if change.label)
    return Stop(now.t, "island", f"{labels} leaves {names_of(dead)} without a source") if dead else None


def angles_of(system: System, span: Span, members: Sequence[Source], t: Reals, x: Reals, y: Reals) -> Reals:
    """Return (K, members) angles in rad at points of a span; that of an infinite bus is a held input."""
    places = np.array([system.index(source.angle) for source in members], dtype=np.intp)
    return span.values(t, x, y, places)


class Speeds:
    """The speeds of sources, in parts of the nominal one.

    That of a machine is a state. A converter that forms the voltage has none: its speed at a point is the
    mean one over the step that ends there, from its angle, which is a state. Where no time has passed, at the
    start and at an event, it is the last one, and 1 at first. An infinite bus keeps 1.
    """

    def __init__(self, system: System, sources: Sequence[Source]) -> None:
        self._nominal = 2.0 * math.pi * (nominal_frequency(system) or 1.0)
        self._turning = [k for k, source in enumerate(sources) if source.speed]
        self._forming = [k for k, s in enumerate(sources) if not s.speed and math.isfinite(s.weight)]
        self._omega = np.array([system.index(sources[k].speed) for k in self._turning], dtype=np.intp)
        self._theta = np.array([system.index(sources[k].angle) for k in self._forming], dtype=np.intp)
        self._count, self._last = len(sources), np.ones(len(self._forming))
        self._before: tuple[float, Reals] | None = None

    def of(self, t: Reals, x: Reals) -> Reals:
        """Return (K, sources) speeds at the next (K,) times in s with (K, n) states."""
        speeds = np.ones((len(t), self._count))
        speeds[:, self._turning] = x[:, self._omega]
        if not self._forming:
            return speeds
        theta = x[:, self._theta]
        began, angle = (float(t[0]), theta[0]) if self._before is None else self._before
        passed = np.diff(t, prepend=began)[:, None]
        turned = np.diff(theta, axis=0, prepend=angle[None])
        with np.errstate(divide="ignore", invalid="ignore"):
            found = np.where(passed > 0.0, 1.0 + turned / (passed * self._nominal), self._last)
        self._before, self._last = (float(t[-1]), theta[-1].copy()), found[-1].copy()
        speeds[:, self._forming] = found
        return speeds


FAULTED = ("fault", "g_fault", "b_fault", *PAIRS, *TO_GROUND)
"""Parameters of a bus that a fault sets."""


@dataclass(frozen=True, eq=False)
class Connections:
    """What is connected in a span.

    Attributes
    ----------
    out
        Devices out of service.
    islands
        The buses of each connected part.
    faulted
        (buses,) whether a fault is on at each bus.
    dead
        (buses,) whether each bus is in a part that nothing supplies.
    members
        Places of the sources in service of each island that has any.
    turning
        Those of them whose frequency is free: without an infinite bus.
    """

    out: frozenset[str]
    islands: list[frozenset[str]]
    faulted: NDArray[np.bool_]
    dead: NDArray[np.bool_]
    members: list[list[int]]
    turning: tuple[TurningIsland, ...]

    @property
    def counted(self) -> NDArray[np.bool_]:
        """(buses,) whether the voltage of each bus says anything: neither faulted nor dead."""
        return ~(self.faulted | self.dead)


@dataclass(frozen=True, eq=False)
class TurningIsland:
    """The places of the sources whose speeds make the frequency of an island, and where it is in words."""

    places: list[int]
    where: str


@dataclass(frozen=True, eq=False)
class Points:
    """Points of a span, K > 0, with what several detectors take from them.

    Attributes
    ----------
    t, x, y
        (K,) times in s, (K, n) states and (K, m) algebraic variables.
    v
        (K, buses) magnitudes of the voltages in pu.
    speeds
        (K, sources) speeds, in parts of the nominal one.
    frequencies
        (K, islands) those of the turning islands, in parts of the nominal one.
    """

    t: Reals
    x: Reals
    y: Reals
    v: Reals
    speeds: Reals
    frequencies: Reals

    def __getitem__(self, rows: slice) -> Points:
        """Return some of them."""
        return Points(*(getattr(self, field.name)[rows] for field in fields(self)))


class Measurement:
    """Makes points from the rows of a run, in order of time; see `Speeds` for why the order matters."""

    def __init__(self, system: System) -> None:
        self._sources = sources_of(system)
        self._speeds = Speeds(system, self._sources)
        self._system = system

    def points(self, connections: Connections, t: Reals, x: Reals, y: Reals) -> Points:
        """Return points of a span in which this is connected."""
        speeds = self._speeds.of(t, x)
        means = [
            centre_of_inertia(speeds[:, island.places], [self._sources[k] for k in island.places])
            for island in connections.turning
        ]
        frequencies = np.column_stack(means) if means else np.empty((len(t), 0))
        return Points(t, x, y, np.hypot(*bus_voltages(self._system, x, y)), speeds, frequencies)


class Detector(Protocol):
    """What every detector offers."""

    def begin(self, span: Span, connections: Connections) -> None:
        """Start a span."""

    def take(self, points: Points) -> None:
        """Take the next points of the span."""

    def findings(self) -> tuple[Finding, ...]:
        """Return what is beyond a limit so far."""


def connections_in(system: System, span: Span) -> Connections:
    """Return what is connected in a span."""
    out = span.out | out_of_service(system, span.parameters)
    faulted = np.zeros(len(buses(system)), dtype=bool)
    for number, columns, at in _faults_of(system):
        faulted[at[span.parameters[number][:, columns].any(axis=1)]] = True
    parts, sources = islands(system, out), sources_of(system)
    members = by_island(parts, out, sources)
    turning = []
    for places in members:
        if all(math.isfinite(sources[k].weight) for k in places):
            own = leading(places, sources)
            where = f"in the island of {sources[own[0]].bus}" if len(members) > 1 else ""
            turning.append(TurningIsland(own, where))
    dead = np.array([bus in span.devices.dead for bus in buses(system)], dtype=bool)
    return Connections(out, parts, faulted, dead, members, tuple(turning))


@cached_by_devices
def _faults_of(system: System) -> tuple[tuple[int, list[int], NDArray[np.intp]], ...]:
    """Return groups of buses, the columns of their parameters that are a fault, and which buses they are."""
    at, found = {bus: k for k, bus in enumerate(buses(system))}, []
    for number, group in enumerate(system.groups):
        component = group.compiled.component
        if issubclass(component, Bus):
            declared = tuple(parameters_of(component))
            columns = [declared.index(name) for name in FAULTED if name in declared]
            found.append((number, columns, np.array([at[name] for name in group.names], dtype=np.intp)))
    return tuple(found)
