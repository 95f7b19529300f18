"""The protocol of detectors, and what they receive: what is connected in a span, and its points."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from psmr.base.arrays import Reals
from psmr.dae.declare.component import parameters_of
from psmr.dae.system.places import cached_by_devices
from psmr.dae.system.system import System
from psmr.devices.dynamic_network.bus import PAIRS, TO_GROUND
from psmr.devices.network import Bus
from psmr.integrate.timeline.span import Span
from psmr.network.topology.dead_parts import islands
from psmr.network.topology.network import bus_voltages, buses, out_of_service
from psmr.network.topology.plants import by_island, centre_of_inertia, leading, sources_of
from psmr.study.detectors.finding import Finding
from psmr.study.detectors.sources import Speeds

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
