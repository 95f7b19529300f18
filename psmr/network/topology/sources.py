"""The sources of a system with an angle of their own, and the centre of inertia of each island."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from psmr.base.arrays import Reals
from psmr.dae.system.places import cached_by_devices
from psmr.devices.catalogue import FORMS
from psmr.network.topology.plants import plants

if TYPE_CHECKING:
    from psmr.dae.system.system import System


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
