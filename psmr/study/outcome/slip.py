"""Converters that follow the network: whether their phase-locked loops keep to the angle of their bus."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from psmr.dae.system.system import System
from psmr.grid.models.catalogue import FOLLOWERS
from psmr.study.topology.network import buses
from psmr.study.topology.plants import plants
from psmr.study.topology.remembered import of_devices

Reals = NDArray[np.float64]

SLIPPED = 1.5 * np.pi
"""Angle in rad between a loop and its bus, from where it began, beyond which it has slipped.

The loop is driven by the sine of that angle: past half a turn it is driven on, to lock again a whole turn
away, after the converter has fed its current at every angle to the voltage. At half a turn itself the angle
of the bus, which jumps as a fault comes and goes, may still bring it back.
"""


@dataclass(frozen=True)
class Slip:
    """A converter whose phase-locked loop lost its bus: when first (s), and how many turns away it ended."""

    t: float
    converter: str
    bus: str
    turns: float

    def __str__(self) -> str:
        away = f"{self.turns:+.2g} turns away at the end"
        return f"{self.converter} against {self.bus} at t = {self.t:.4g} s, {away}"


class Followers:
    """The loops of the converters of a system that follow, as the points of a run come."""

    def __init__(self, system: System) -> None:
        self.names, self._buses, self._theta, self._at = _followers_of(system)
        self._start: Reals | None = None
        self._last = np.zeros(len(self.names))  # angles of the buses, which go on from point to point
        self._away = np.zeros(len(self.names))  # rad from the start
        self._when: dict[int, float] = {}

    def take(
        self,
        t: Reals,
        x: Reals,
        voltages: NDArray[np.complex128],
        counted: NDArray[np.bool_],
        out: Collection[str],
    ) -> None:
        """Take (K,) times, (K, n) states and (K, buses) voltages.

        `counted` says of which buses: at one with a fault the angle is that of the fault. `out` are devices
        out of service.
        """
        if not self.names:
            return
        angles = np.angle(voltages[:, self._at])
        before = angles[:1] if self._start is None else self._last[None]
        angles = np.unwrap(np.vstack([before, angles]), axis=0)[1:]
        apart = x[:, self._theta] - angles
        if self._start is None:
            self._start = apart[0].copy()
        self._last, away = angles[-1], apart - self._start
        here = np.array([name not in out for name in self.names])
        beyond = np.asarray(np.abs(away) > SLIPPED)
        for k in np.flatnonzero(np.any(beyond, axis=0) & counted[self._at] & here):
            self._when.setdefault(int(k), float(t[int(np.argmax(beyond[:, k]))]))
        self._away = np.where(here, away[-1], self._away)

    def slips(self) -> tuple[Slip, ...]:
        """Return the converters that slipped, in order of time."""
        found = [
            Slip(t, self.names[k], self._buses[k], float(self._away[k] / (2.0 * np.pi)))
            for k, t in self._when.items()
        ]
        return tuple(sorted(found, key=lambda slip: slip.t))


@of_devices
def _followers_of(
    system: System,
) -> tuple[tuple[str, ...], tuple[str, ...], NDArray[np.intp], NDArray[np.intp]]:
    """Return the converters whose loop has an angle, their buses, and where angles and buses stand."""
    kinds = {device.name: device.component for device in system.devices}
    states, place = frozenset(system.names_x), {bus: k for k, bus in enumerate(buses(system))}
    found = [
        (plant.name, plant.bus)
        for plant in plants(system).values()
        if issubclass(kinds[plant.name], FOLLOWERS) and f"{plant.name}.theta" in states
    ]
    names, at = tuple(name for name, _ in found), tuple(bus for _, bus in found)
    theta = np.array([system.index(f"{name}.theta") for name in names], dtype=np.intp)
    return names, at, theta, np.array([place[bus] for bus in at], dtype=np.intp)
