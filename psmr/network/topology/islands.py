"""The plants of a system and its sources with an angle, its islands, and its parts without a source.

A part that is left without anything that holds the voltage is dead: its buses have no voltage and its
devices are out of service. What holds it is a machine, an infinite bus, or a converter that forms the
voltage and has something to supply (`undetermined`). When a branch joins a dead part to one that is
supplied, its loads and shunts return as they are by then. Plants and motors do not: a plant has to be
synchronised, and the contactors of motors open without voltage and are closed again by hand.

There are islands of converters in which nothing relates the voltage to the current. The output current of a
converter that forms the voltage is a state. Where neither load nor shunt nor line charging is left, the
balance of currents asks that state to be zero and does not contain the voltage: the converter supplies
nothing, and blocks.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from psmr.base.arrays import Reals
from psmr.base.errors import EventError, nearest
from psmr.dae.declare.device import Device
from psmr.dae.system.places import cached_by_devices
from psmr.dae.system.system import System
from psmr.devices.catalogue import FOLLOWS, FORMS, ROLES, SOURCES
from psmr.devices.dynamic_network.bus import FaultInductor
from psmr.devices.placement import placement
from psmr.devices.switched_shunts import METERS
from psmr.integrate.solve.algebraic_solve import matrix_at
from psmr.integrate.solve.block import make_block
from psmr.integrate.timeline.span import OutOfService
from psmr.network.case.checks import connected_parts
from psmr.network.topology.network import at_buses, branches, buses, buses_called, is_motor, out_of_service


@dataclass(frozen=True)
class Plant:
    """A machine or converter and its controllers.

    `name`: name of the machine or converter.
    `bus`: bus that it feeds.
    `devices`: names of all its devices.
    `machine`: whether its source is a machine that turns, with a rotor angle ``delta``; an infinite bus is
        none.
    `holds`: whether it can hold the voltage and frequency of an island by itself.
    """

    name: str
    bus: str
    devices: tuple[str, ...]
    machine: bool
    holds: bool


@cached_by_devices
def plants(system: System) -> Mapping[str, Plant]:
    """Return the plants by name."""
    kinds = frozenset(group.compiled.component for group in system.groups)
    part = {kind for kind in kinds if placement(kind).role in ROLES or kind in METERS.values()}
    parts = {d.name: d for d in system.devices if d.component in part}
    order = {name: k for k, name in enumerate(parts)}
    wired: dict[str, set[str]] = {name: set() for name in parts}
    for device in parts.values():
        for target in device.connections.values():
            other = target.rpartition(".")[0]
            if other in parts:
                wired[device.name].add(other)
                wired[other].add(device.name)
    found = {}
    for bus, devices in at_buses(system).items():
        for source in devices:
            if placement(source.component).role in SOURCES:
                found[source.name] = _plant(source, bus, order, wired)
    return found


def _plant(source: Device, bus: str, order: Mapping[str, int], wired: Mapping[str, set[str]]) -> Plant:
    members, new = {source.name}, {source.name}
    while new:
        new = {other for name in new for other in wired[name]} - members
        members |= new
    return Plant(
        name=source.name,
        bus=bus,
        devices=tuple(sorted(members, key=order.__getitem__)),
        machine=placement(source.component).role == "machine" and "delta" in source.component.states,
        holds=placement(source.component).grid != FOLLOWS,
    )


def find_plant(system: System, generator: int | str, what: str) -> Plant:
    """Return the plant of a generator given by name or by its bus (``2``, ``"bus2"``).

    Raises EventError when there is none, with the nearest known name, or when the bus has several.
    """
    known = plants(system)
    if str(generator) in known:
        return known[str(generator)]
    at = buses_called(system, str(generator))
    there = [plant for plant in known.values() if plant.bus in at]
    if len(there) == 1:
        return there[0]
    if there:
        names = ", ".join(plant.name for plant in there)
        raise EventError(f"{what}: {there[0].bus} has {len(there)} generators; name one of {names}")
    names = ", ".join(f"{plant.name} at {plant.bus}" for plant in known.values())
    hint = nearest(str(generator), [*known, *(plant.bus for plant in known.values())])
    listed = f"; generators: {names}" if 0 < len(known) <= 20 else ""
    raise EventError(f"{what}: there is no generator {generator!r}{hint}{listed}")


@dataclass(frozen=True)
class Source:
    """A source with an angle of its own: a machine, a converter that forms the voltage, an infinite bus.

    `name`, `bus`: its own and its bus's.
    `angle`: name of its angle in rad, a state; of an infinite bus, which keeps it, a held input.
    `weight`: kinetic energy at nominal speed, h s_n in MWs; the rating s_n in MVA for a converter; infinite
        for an infinite bus.
    `machine`: whether it is a machine.
    `speed`: name of its speed, a state; "" where none is.
    """

    name: str
    bus: str
    angle: str
    weight: float
    machine: bool
    speed: str = ""


@cached_by_devices
def sources_of(system: System) -> tuple[Source, ...]:
    """Return the sources of a system with an angle of their own."""
    held = set(system.names_u)
    found = []
    for plant in plants(system).values():
        values = system.device(plant.name).parameters
        component = system.device(plant.name).component
        if plant.machine:
            weight = values["h"] * values["s_n"]
            own = f"{plant.name}.delta", weight, True, f"{plant.name}.omega"
            found.append(Source(plant.name, plant.bus, *own))
        elif f"{plant.name}.delta" in held:
            found.append(Source(plant.name, plant.bus, f"{plant.name}.delta", math.inf, True))
        elif placement(component).grid == FORMS:
            found.append(Source(plant.name, plant.bus, f"{plant.name}.theta", values["s_n"], False))
    return tuple(found)


def inertia_shares(members: Sequence[Source]) -> Reals:
    """Return (members,) shares in the centre of inertia; an infinite bus has all of it."""
    weights = np.array([source.weight for source in members])
    if np.isinf(weights).any():
        weights = np.isinf(weights).astype(float)
    return np.asarray(weights / weights.sum())


def centre_of_inertia(values: Reals, members: Sequence[Source]) -> Reals:
    """Return (K,) mean of (K, members) angles or speeds, weighted with the kinetic energy."""
    return np.asarray(values @ inertia_shares(members))


def leading_sources(places: Sequence[int], sources: Sequence[Source]) -> list[int]:
    """Return the sources whose centre an island's is: its machines, converters where it has none."""
    return [k for k in places if sources[k].machine] or list(places)


def by_island(
    islands: Sequence[frozenset[str]], out: Collection[str], sources: Sequence[Source]
) -> list[list[int]]:
    """Return the places of the sources in service of each island that has any."""
    home = {bus: k for k, island in enumerate(islands) for bus in island}
    members: dict[int, list[int]] = {}
    for place, source in enumerate(sources):
        if source.name not in out:
            members.setdefault(home[source.bus], []).append(place)
    return [members[k] for k in sorted(members)]


def island_of(
    bus: str, islands: Sequence[frozenset[str]], out: Collection[str], sources: Sequence[Source]
) -> list[int]:
    """Return the places of the sources in service in the island of a bus; none where it has none.

    Without a bus (``""``) the island is the one with the most kinetic energy, the first of several.
    """
    members = by_island(islands, out, sources)
    if not bus:
        return max(members, key=lambda places: sum(sources[k].weight for k in places), default=[])
    home = next((island for island in islands if bus in island), frozenset())
    return next((places for places in members if sources[places[0]].bus in home), [])


# Networks, by the branches that they are without, whose islands are kept.
NETWORKS = 500


def islands(system: System, out: Iterable[str]) -> list[frozenset[str]]:
    """Return the buses of each connected part of the network, without the branches in `out`."""
    known, left_out = _known_islands(system), frozenset(out) & _names_of_branches(system)
    if left_out not in known:
        if len(known) >= NETWORKS:
            known.clear()
        joined = (branch.ends for branch in branches(system) if branch.name not in left_out)
        known[left_out] = connected_parts(buses(system), joined)
    return list(known[left_out])


@cached_by_devices
def _names_of_branches(system: System) -> frozenset[str]:
    return frozenset(branch.name for branch in branches(system))


@cached_by_devices
def _known_islands(system: System) -> dict[frozenset[str], list[frozenset[str]]]:
    """Return room for the islands of a system by the branches that are left out."""
    return {}


SINGULAR = 1e-10
"""Smallest singular value of an island's admittances, by the largest, that counts as none."""


def undetermined(
    system: System, parameters: Sequence[NDArray[np.float64]], island: frozenset[str], out: Collection[str]
) -> bool:
    """Return whether the currents of an island do not depend on its voltages in some direction.

    `parameters` are the matrices of the system as they are, `out` the names of the devices out of service.
    """
    if any(f"{bus}.v_re" in system.names_x for bus in island):
        return False  # a capacitance holds the voltage
    rows = [system.n + system.names_g.index(f"{bus}.i_{part}") for bus in island for part in ("re", "im")]
    columns = [system.index(f"{bus}.v_{part}") for bus in island for part in ("re", "im")]
    places = np.sort(rows), np.sort(columns)
    w = system.w0.copy()  # code for what is read only would be compiled beside the other
    block = make_block(system, "event", parameters, w, *places, out)
    sizes = np.linalg.svd(matrix_at(block, w).toarray(), compute_uv=False)
    return bool(sizes[-1] <= SINGULAR * max(sizes[0], 1.0))


class DeadParts:
    """Says which devices of a system are in service; see `psmr.integrate.timeline.span.Service`.

    Parts that have no source of psmr's at the start are supplied by something else, and never dead. Nor is a
    part of which every bus has a capacitance of its own: it keeps its charge, and loses it as elements do.
    """

    def __init__(self, system: System) -> None:
        self.system = system
        self._sources = [plant for plant in plants(system).values() if plant.holds]

    @functools.cached_property
    def _by_others(self) -> frozenset[str]:
        """The buses that nothing of psmr supplies at the start."""
        return frozenset().union(*self._without_source(self.system.parameters, frozenset()))

    def after(self, parameters: Sequence[Reals], gone: frozenset[str]) -> OutOfService:
        """See `Service`."""
        dead, idle = self._unsupplied(parameters, gone), self._idle(parameters)
        if not dead:
            return OutOfService(gone, dead, gone | idle)
        lost, others = _devices_at(self.system)
        gone = gone.union(*(lost[bus] for bus in dead))
        return OutOfService(gone, dead, gone.union(dead, idle, *(others[bus] for bus in dead)))

    def put(self, w: Reals, before: OutOfService, now: OutOfService) -> Collection[str]:
        """See `Service`: a dead bus has no voltage; one that returns begins with that of its neighbour.

        What measures, or draws by a filtered voltage or frequency, returns at rest; what counts (`timers`)
        has none and goes on from where it stood; reactors with dynamics of their own return without current.
        """
        for bus in now.dead - before.dead:
            for place in self._places(bus):
                w[place] = 0.0
        for name in self._within(now.dead) - self._within(before.dead):
            w[self._states(name)] = 0.0
        returned = before.dead - now.dead
        live = set(buses(self.system)) - now.dead - returned
        neighbours = _neighbours(self.system)
        reached = sorted(bus for bus in live if neighbours[bus] & returned)
        while reached:
            bus = reached.pop()
            for other in sorted(neighbours[bus] & returned - live):
                guessed = list(self._places(other))
                if min(guessed) >= self.system.n:  # the voltage of a capacitance begins at zero
                    w[guessed] = w[list(self._places(bus))]
                live.add(other)
                reached.append(other)
        storing = {d.name for d in self.system.devices if "storage" in d.parameters}
        for name in (now.out - before.out) & storing:
            w[self._states(name)] = 0.0
        return before.out - now.out - before.dead - storing - _counting(self.system)

    def _idle(self, parameters: Sequence[Reals]) -> frozenset[str]:
        """Return what carries the current of a fault while there is none."""
        faults = _faults(self.system)
        return faults & out_of_service(self.system, parameters) if faults else faults

    def _within(self, dead: frozenset[str]) -> set[str]:
        """Return the branches between dead buses: what they have stored is lost with the voltage."""
        return {branch.name for branch in branches(self.system) if dead.issuperset(branch.ends)}

    def _states(self, name: str) -> list[int]:
        return [place for place, full in enumerate(self.system.names_x) if full.rpartition(".")[0] == name]

    def _charged(self, part: frozenset[str]) -> bool:
        return all(f"{bus}.v_re" in self.system.names_x for bus in part)

    def _places(self, bus: str) -> tuple[int, int]:
        return self.system.index(f"{bus}.v_re"), self.system.index(f"{bus}.v_im")

    def _unsupplied(self, parameters: Sequence[Reals], gone: frozenset[str]) -> frozenset[str]:
        """Return the buses of the parts that nothing supplies."""
        parts = self._without_source(parameters, gone)
        return frozenset().union(*(part for part in parts if not part & self._by_others))

    def _without_source(self, parameters: Sequence[Reals], gone: frozenset[str]) -> Iterator[frozenset[str]]:
        """Yield the parts of the network that no source of psmr's supplies."""
        out = gone | out_of_service(self.system, parameters)
        sources = [plant for plant in self._sources if plant.name not in out]
        machines = {plant.bus for plant in sources if plant.machine}
        converters = {plant.bus for plant in sources} - machines
        for part in islands(self.system, out):
            if part & machines or self._charged(part):
                continue
            if not part & converters or undetermined(self.system, parameters, part, gone):
                yield part


@cached_by_devices
def _faults(system: System) -> frozenset[str]:
    """Return the devices that carry the currents of faults."""
    return frozenset(d.name for d in system.devices if issubclass(d.component, FaultInductor))


@cached_by_devices
def _devices_at(system: System) -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """Return the devices that are out of service with each bus; branches carry no current by themselves.

    First plants and motors, which do not return with it, then loads, shunts, and relays that measure there.
    """
    lost: dict[str, set[str]] = {bus: set() for bus in buses(system)}
    others: dict[str, set[str]] = {bus: set() for bus in buses(system)}
    in_plants = {name for plant in plants(system).values() for name in plant.devices}
    joins = {branch.name for branch in branches(system)}
    for plant in plants(system).values():
        lost[plant.bus] |= set(plant.devices)
    for device in system.devices:
        if device.name in in_plants or device.name in joins or device.name in lost:
            continue
        for target in device.connections.values():
            if (bus := target.rpartition(".")[0]) in lost:
                (lost if is_motor(device) else others)[bus].add(device.name)
    return lost, others


@cached_by_devices
def _counting(system: System) -> frozenset[str]:
    return frozenset(device.name for device in system.devices if placement(device.component).timers)


@cached_by_devices
def _neighbours(system: System) -> Mapping[str, set[str]]:
    found: dict[str, set[str]] = {bus: set() for bus in buses(system)}
    for branch in branches(system):
        for bus, other in (branch.ends, branch.ends[::-1]):
            found[bus].add(other)
    return found
