"""Whether converters that follow the network keep to the angle of their bus.

The error of a phase-locked loop is the angle between loop and bus, in rad. Where both stand is known at the
accepted points only, modulo a turn; how often the bus turned between two points cannot be read off samples of
its angle. It follows from what is integrated: the angle of the loop is a state and so are the angles of the
sources of its island, whose mean (weighted with the kinetic energy) turns with the frequency that all share.
Against this mean a bus that keeps its voltage moves by far less than half a turn from point to point, however
long the step and however far the frequency is off: the error is continued by

    e(k+1) = e(k) + (loop - mean)(k+1) - (loop - mean)(k) - wrap((bus - mean)(k+1) - (bus - mean)(k)).

Across an event, and while a fault is on at the bus (its angle is then that of the fault), the error is the
one nearest to the last. In an island without such a source the loops themselves hold the mean.

**Slipped**: the error has moved by more than three quarters of a turn. The loop is driven by its sine: past
half a turn it is driven on, to lock again a whole turn away, after the converter has fed its current at every
angle to the voltage. At half a turn itself the bus, which jumps as a fault comes and goes, may still bring it
back. On cycle slips of a loop with a sinusoidal phase detector: F. M. Gardner, Phaselock Techniques (2005).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from psmr.base.arrays import Reals
from psmr.dae.system.places import cached_by_devices
from psmr.dae.system.system import System
from psmr.devices.catalogue import FOLLOWS
from psmr.integrate.timeline.span import Span
from psmr.network.topology.network import bus_voltages, buses
from psmr.network.topology.plants import centre_of_inertia, plants, sources_of
from psmr.study.detectors.detector import Connections, Points
from psmr.study.detectors.finding import Finding
from psmr.study.detectors.sources import angles_of

SLIPPED_DEG = 270.0
"""Movement of a loop's error beyond which it has slipped: three quarters of a turn."""


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


class Converters:
    """See the module."""

    def __init__(self, system: System) -> None:
        self.names, self._buses, self._theta, self._at = _followers_of(system)
        self._system, self._sources = system, sources_of(system)
        count = len(self.names)
        self._start: Reals | None = None
        self._error = np.zeros(count)
        self._last: tuple[Reals, Reals] | None = None  # loop and bus against the mean, within a span
        self._when: dict[int, float] = {}

    def begin(self, span: Span, connections: Connections) -> None:
        """See `Detector`."""
        if not self.names:
            return
        self._span, self._last = span, None
        self._counted = ~connections.faulted[self._at]
        self._here = np.array([name not in connections.out for name in self.names])
        island = {bus: k for k, part in enumerate(connections.islands) for bus in part}
        self._island = np.array([island[bus] for bus in self._buses])
        self._members = {island[self._sources[places[0]].bus]: places for places in connections.members}

    def take(self, points: Points) -> None:
        """See `Detector`."""
        if not self.names:
            return
        t, x, y = points.t, points.x, points.y
        re, im = bus_voltages(self._system, x, y, self._at)
        theta, bus = x[:, self._theta], np.arctan2(im, re)
        mean = self._means(t, x, y, theta)
        loop, bus_moved, now = theta - mean, bus - mean, _wrapped(theta - bus)
        if self._start is None:
            self._start, self._error = now[0].copy(), now[0].copy()
        if self._last is None:
            self._error = self._error + np.where(self._counted, _wrapped(now[0] - self._error), 0.0)
            self._last = loop[0], bus_moved[0]
        turned = np.diff(np.vstack([self._last[0], loop]), axis=0)
        moved = _wrapped(np.diff(np.vstack([self._last[1], bus_moved]), axis=0))
        error = self._error + np.cumsum(turned - np.where(self._counted, moved, 0.0), axis=0)
        self._last = loop[-1], bus_moved[-1]
        self._error = np.where(self._here, error[-1], self._error)
        beyond = np.abs(error - self._start) > np.radians(SLIPPED_DEG)
        for k in np.flatnonzero(beyond.any(axis=0) & self._counted & self._here):
            self._when.setdefault(int(k), float(t[int(np.argmax(beyond[:, k]))]))

    def slips(self) -> tuple[Slip, ...]:
        """Return the converters that slipped, in order of time."""
        if self._start is None:
            return ()
        turns = (self._error - self._start) / (2.0 * np.pi)
        found = [Slip(t, self.names[k], self._buses[k], float(turns[k])) for k, t in self._when.items()]
        return tuple(sorted(found, key=lambda slip: slip.t))

    def findings(self) -> tuple[Finding, ...]:
        """See `Detector`."""
        return tuple(
            Finding(
                slip.t,
                "loop angle",
                f"{slip.converter} - {slip.bus}",
                360.0 * slip.turns,
                SLIPPED_DEG,
                "deg",
                "red",
                f"The phase-locked loop of {slip.converter} lost {slip.bus} at t = {slip.t:.4g} s, "
                f"{slip.turns:+.2g} turns away at the end.",
                (f"{slip.converter}.theta", f"{slip.bus}.angle"),
            )
            for slip in self.slips()
        )

    def _means(self, t: Reals, x: Reals, y: Reals, theta: Reals) -> Reals:
        """Return (K, converters) mean angle in rad of the sources of each one's island."""
        mean = np.empty_like(theta)
        for island in np.unique(self._island):
            own = self._island == island
            if places := self._members.get(int(island), []):
                members = [self._sources[k] for k in places]
                angles = angles_of(self._system, self._span, members, t, x, y)
                mean[:, own] = centre_of_inertia(angles, members)[:, None]
            else:
                mean[:, own] = theta[:, own].mean(axis=1)[:, None]
        return mean


def _wrapped(angle: Reals) -> Reals:
    """Return angles in rad within half a turn of zero."""
    return angle - 2.0 * np.pi * np.round(angle / (2.0 * np.pi))


@cached_by_devices
def _followers_of(
    system: System,
) -> tuple[tuple[str, ...], tuple[str, ...], NDArray[np.intp], NDArray[np.intp]]:
    """Return the converters whose loop has an angle, their buses, and where angles and buses stand."""
    kinds = {device.name: device.component for device in system.devices}
    states, place = frozenset(system.names_x), {bus: k for k, bus in enumerate(buses(system))}
    found = [
        (plant.name, plant.bus)
        for plant in plants(system).values()
        if kinds[plant.name].grid == FOLLOWS and f"{plant.name}.theta" in states
    ]
    names, at = tuple(name for name, _ in found), tuple(bus for _, bus in found)
    theta = np.array([system.index(f"{name}.theta") for name in names], dtype=np.intp)
    return names, at, theta, np.array([place[bus] for bus in at], dtype=np.intp)
