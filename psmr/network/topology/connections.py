"""What is connected in a span of a run: islands, faults, dead parts, sources; and the system that is left."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from psmr.base.arrays import Reals
from psmr.dae.declare.component import parameters_of
from psmr.dae.system.assemble import assemble
from psmr.dae.system.places import cached_by_devices
from psmr.dae.system.system import System
from psmr.devices.dynamic_network.bus import PAIRS, TO_GROUND
from psmr.devices.network import Bus
from psmr.integrate.timeline.span import Span, first_span
from psmr.network.topology.islands import DeadParts, by_island, islands, leading_sources, sources_of
from psmr.network.topology.network import branches, buses, out_of_service

FAULTED = ("fault", "g_fault", "b_fault", *PAIRS, *TO_GROUND)
"""Parameters of a bus that a fault sets."""


@dataclass(frozen=True, eq=False)
class TurningIsland:
    """The places of the sources whose speeds make the frequency of an island, and where it is in words."""

    places: list[int]
    where: str


@dataclass(frozen=True, eq=False)
class Connections:
    """What is connected in a span of a run of a system."""

    system: System
    span: Span

    @functools.cached_property
    def out(self) -> frozenset[str]:
        """Devices out of service."""
        return self.span.out | out_of_service(self.system, self.span.parameters)

    @functools.cached_property
    def islands(self) -> list[frozenset[str]]:
        """The buses of each connected part."""
        return islands(self.system, self.out)

    @functools.cached_property
    def faulted(self) -> NDArray[np.bool_]:
        """(buses,) whether a fault is on at each bus."""
        found = np.zeros(len(buses(self.system)), dtype=bool)
        for number, columns, at in _faults_of(self.system):
            found[at[self.span.parameters[number][:, columns].any(axis=1)]] = True
        return found

    @functools.cached_property
    def dead(self) -> NDArray[np.bool_]:
        """(buses,) whether each bus is in a part that nothing supplies."""
        return np.array([bus in self.span.devices.dead for bus in buses(self.system)], dtype=bool)

    @functools.cached_property
    def counted(self) -> NDArray[np.bool_]:
        """(buses,) whether the voltage of each bus says anything: neither faulted nor dead."""
        return ~(self.faulted | self.dead)

    @functools.cached_property
    def members(self) -> list[list[int]]:
        """Places of the sources in service of each island that has any."""
        return by_island(self.islands, self.out, sources_of(self.system))

    @functools.cached_property
    def turning(self) -> tuple[TurningIsland, ...]:
        """Those of the islands whose frequency is free: without an infinite bus."""
        found, sources = [], sources_of(self.system)
        for places in self.members:
            if all(math.isfinite(sources[k].weight) for k in places):
                own = leading_sources(places, sources)
                where = f"in the island of {sources[own[0]].bus}" if len(self.members) > 1 else ""
                found.append(TurningIsland(own, where))
        return tuple(found)


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


def system_in(system: System, span: Span, x: Reals, y: Reals, t: float | None = None) -> System:
    """Return the system as a span has it, without the devices that are out of service.

    What reads a variable of one of them has the value at which that stands still as a held input.

    `system`, `span`: the system of the run at its start, and the span; `x`, `y`: (n,) states and (m,)
    algebraic variables of the whole system, from which it starts; `t`: time in s of that point; the beginning
    of the span where left out.
    """
    t = span.t if t is None else t
    parameters = span.parameters_at(t)
    names = (*system.names_x, *system.names_y, *system.names_u)
    now = dict(zip(names, map(float, np.concatenate([x, y, span.held(np.array([t]))[0]])), strict=True))
    out = _left_out(system, span)
    start = {name: value for name, value in now.items() if _owner(name) not in out}
    devices = []
    for device in system.devices:
        if device.name in out:
            continue
        stands = {port: of for port, of in device.connections.items() if _owner(of) in out}
        start |= {f"{device.name}.{port}": now[of] for port, of in stands.items()}
        connections = {port: of for port, of in device.connections.items() if port not in stands}
        values = system.parameters_at(device.name, parameters)
        devices.append(replace(device, parameters=values, connections=connections))
    left = assemble(devices, start, name=system.name)
    return replace(left, w0=left.buffer(t=t))


def _left_out(system: System, span: Span) -> frozenset[str]:
    """Return the devices out of service, and the branches of dead parts, which end at buses that are out."""
    dead = span.devices.dead
    return span.out.union(branch.name for branch in branches(system) if dead.intersection(branch.ends))


def _owner(name: str) -> str:
    return name.rpartition(".")[0]


def system_at_start(system: System) -> System:
    """Return the system without the devices that are out of service when a run begins."""
    span = first_span(system, DeadParts(system))
    return system_in(system, span, system.x0, system.y0) if span.out else system
