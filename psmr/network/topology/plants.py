"""The plants of a system: a machine or converter with the controllers that are wired to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from psmr.base.errors import EventError, nearest
from psmr.dae.declare.device import Device
from psmr.dae.system.places import cached_by_devices
from psmr.devices.catalogue import FOLLOWS, ROLES, SOURCES
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
