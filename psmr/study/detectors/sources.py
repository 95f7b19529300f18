"""The sources of a system with an angle of their own, and their angles over time."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from psmr.dae.system.system import System
from psmr.devices.catalogue import FORMS
from psmr.network.topology.network import nominal_frequency
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
    speed
        Name of its speed, a state; "" where none is.
    """

    name: str
    bus: str
    angle: str
    weight: float
    machine: bool
    speed: str = ""


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
            own = f"{plant.name}.delta", weight, True, f"{plant.name}.omega"
            found.append(Source(plant.name, plant.bus, *own))
        elif f"{plant.name}.delta" in held:
            found.append(Source(plant.name, plant.bus, f"{plant.name}.delta", math.inf, True))
        elif component.grid == FORMS:
            found.append(Source(plant.name, plant.bus, f"{plant.name}.theta", values["s_n"], False))
    return tuple(found)


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
