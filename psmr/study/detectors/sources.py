"""The sources of a system with an angle of their own, and their angles over time."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from psmr.dae.system.system import System
from psmr.devices.catalogue import FORMERS
from psmr.network.topology.plants import plants
from psmr.network.topology.remembered import of_devices
from psmr.study.events.spans import Span

Reals = NDArray[np.float64]


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
    """

    name: str
    bus: str
    angle: str
    weight: float
    machine: bool


@of_devices
def sources_of(system: System) -> tuple[Source, ...]:
    """Return the sources of a system with an angle of their own."""
    devices = {device.name: device for device in system.devices}
    held = set(system.names_u)
    found = []
    for plant in plants(system).values():
        values = devices[plant.name].parameters
        component = devices[plant.name].component
        if plant.machine:
            weight = values["h"] * values["s_n"]
            found.append(Source(plant.name, plant.bus, f"{plant.name}.delta", weight, True))
        elif f"{plant.name}.delta" in held:
            found.append(Source(plant.name, plant.bus, f"{plant.name}.delta", math.inf, True))
        elif issubclass(component, FORMERS):
            found.append(Source(plant.name, plant.bus, f"{plant.name}.theta", values["s_n"], False))
    return tuple(found)


def angles_of(system: System, span: Span, members: Sequence[Source], t: Reals, x: Reals) -> Reals:
    """Return (K, members) angles in rad at (K,) times of a span with (K, n) states."""
    places = np.array([system.index(source.angle) for source in members], dtype=np.intp)
    if (places < system.n).all():
        return np.asarray(x[:, places])
    held = system.n + system.m
    kept = span.held(t)
    return np.column_stack([x[:, k] if k < system.n else kept[:, k - held] for k in places])


def centre_of_inertia(values: Reals, members: Sequence[Source]) -> Reals:
    """Return (K,) mean of (K, members) angles or speeds, weighted with the kinetic energy.

    That of an infinite bus outweighs all others.
    """
    weights = np.array([source.weight for source in members])
    if np.isinf(weights).any():
        weights = np.isinf(weights).astype(float)
    return np.asarray(values @ weights / weights.sum())


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
