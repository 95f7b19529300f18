"""The plants of a system: a machine or converter with the controllers that are wired to it.

The sources of a system with an angle of their own, and the centre of inertia of each island.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from psmr.base.arrays import Reals
from psmr.base.errors import EventError, nearest
from psmr.dae.declare.device import Device
from psmr.dae.system.places import cached_by_devices
from psmr.devices.catalogue import FOLLOWS, FORMS, ROLES, SOURCES
from psmr.network.topology.network import at_buses, buses_called

if TYPE_CHECKING:
    from psmr.dae.system.system import System


@dataclass(frozen=True)
class Plant:
    """A machine or converter and its controllers.

    Attributes
    ----------
    name
        Name of the machine or converter.
    bus
        Bus that it feeds.
    devices
        Names of all its devices.
    machine
        Whether its source is a machine that turns, with a rotor angle ``delta``; an infinite bus is none.
    holds
        Whether it can hold the voltage and frequency of an island by itself.
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
    part = {kind for kind in kinds if kind.role in ROLES}
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
            if source.component.role in SOURCES:
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
        machine=source.component.role == "machine" and "delta" in source.component.states,
        holds=source.component.grid != FOLLOWS,
    )


def find_plant(system: System, generator: int | str, what: str) -> Plant:
    """Return the plant of a generator given by name or by its bus (``2``, ``"bus2"``).

    Raises
    ------
    EventError
        When there is none, with the nearest known name, or when the bus has several.
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

    Attributes
    ----------
    name, bus
        Its own and its bus's.
    angle
        Name of its angle in rad, a state; of an infinite bus, which keeps it, a held input.
    weight
        Kinetic energy at nominal speed, h s_n in MWs; the rating s_n in MVA for a converter; infinite for an
        infinite bus.
    machine
        Whether it is a machine.
    speed
        Name of its speed, a state; "" where none is.
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
        elif component.grid == FORMS:
            found.append(Source(plant.name, plant.bus, f"{plant.name}.theta", values["s_n"], False))
    return tuple(found)


def shares(members: Sequence[Source]) -> Reals:
    """Return (members,) shares in the centre of inertia; an infinite bus has all of it."""
    weights = np.array([source.weight for source in members])
    if np.isinf(weights).any():
        weights = np.isinf(weights).astype(float)
    return np.asarray(weights / weights.sum())


def centre_of_inertia(values: Reals, members: Sequence[Source]) -> Reals:
    """Return (K,) mean of (K, members) angles or speeds, weighted with the kinetic energy."""
    return np.asarray(values @ shares(members))


def leading(places: Sequence[int], sources: Sequence[Source]) -> list[int]:
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
