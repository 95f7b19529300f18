"""Converters that lose the angle of their bus (`Converters`), and motors that stall (`Motors`).

Converters that follow the network keep to the angle of their bus, or slip.

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

Of induction motors: the slip of a motor is the part of the nominal speed that its rotor lacks: about 0.01
where it runs, 1 where it stands still, above 1 where it turns backwards.

**Stalled**: at the end a motor in service has a slip above `Criteria.motor_slip`: it stands still, or was too
slow at the end of a run to be said to restart. **Running backwards**: a slip above 1 at any point. Source:
NERC, A Technical Reference Paper: Fault-Induced Delayed Voltage Recovery, version 1.2 (2009).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from psmr.base.arrays import Reals
from psmr.dae.system.places import cached_by_devices
from psmr.dae.system.system import System
from psmr.devices.catalogue import FOLLOWS
from psmr.devices.placement import placement
from psmr.network.signals.points import Points, angles_of
from psmr.network.topology.connections import Connections
from psmr.network.topology.islands import centre_of_inertia, plants, sources_of
from psmr.network.topology.network import bus_voltages, buses, is_motor
from psmr.study.criteria import Criteria
from psmr.study.detectors.detector import Finding, digits_beyond

LOOP_ANGLE = "loop angle"
"""What the finding is called of a loop that loses its bus; the headline of an outcome says it."""

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

    def begin(self, connections: Connections) -> None:
        """See `Detector`."""
        if not self.names:
            return
        self._last = None
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
        mean = self._means(points, theta)
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
                LOOP_ANGLE,
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

    def _means(self, points: Points, theta: Reals) -> Reals:
        """Return (K, converters) mean angle in rad of the sources of each one's island."""
        mean = np.empty_like(theta)
        for island in np.unique(self._island):
            own = self._island == island
            if places := self._members.get(int(island), []):
                members = [self._sources[k] for k in places]
                mean[:, own] = centre_of_inertia(angles_of(points, members), members)[:, None]
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
        if placement(kinds[plant.name]).grid == FOLLOWS and f"{plant.name}.theta" in states
    ]
    names, at = tuple(name for name, _ in found), tuple(bus for _, bus in found)
    theta = np.array([system.index(f"{name}.theta") for name in names], dtype=np.intp)
    return names, at, theta, np.array([place[bus] for bus in at], dtype=np.intp)


# A shaft that stands still is held there to rounding, and by loose solves to a little more.
BACKWARDS = 1.0 + 1e-3


class Motors:
    """See the module."""

    def __init__(self, system: System, criteria: Criteria) -> None:
        self._names, self._slips = _slips_of(system)
        self._system, self._limit = system, criteria.motor_slip
        count = len(self._names)
        self._now, self._since = np.zeros(count), np.full(count, np.nan)
        self._backwards = np.full(count, np.nan)
        self._t = 0.0

    def begin(self, connections: Connections) -> None:
        """See `Detector`."""
        self._here = np.array(
            [name.rpartition(".")[0] not in connections.out for name in self._names], dtype=bool
        )

    def take(self, points: Points) -> None:
        """See `Detector`."""
        if not self._names:
            return
        t, slip = points.t, points.x[:, self._slips]
        self._t = float(t[-1])
        self._now = np.where(self._here, slip[-1], 0.0)
        above = slip > self._limit
        for k in np.flatnonzero(above.any(axis=0) | np.isfinite(self._since)):
            fine = np.flatnonzero(~above[:, k])
            if fine.size:
                begins = int(fine[-1]) + 1
                self._since[k] = t[begins] if begins < len(t) else np.nan
            elif np.isnan(self._since[k]):
                self._since[k] = t[0]
        for k in np.flatnonzero((slip > BACKWARDS).any(axis=0) & self._here & np.isnan(self._backwards)):
            self._backwards[k] = t[int(np.argmax(slip[:, k] > BACKWARDS))]

    def stalled(self) -> tuple[tuple[str, float, float], ...]:
        """Return (motor, slip, since when in s) of those that are too slow now."""
        slow = np.flatnonzero(self._now > self._limit)
        return tuple((self._names[k], float(self._now[k]), float(self._since[k])) for k in slow)

    def findings(self) -> tuple[Finding, ...]:
        """See `Detector`."""
        found = []
        for name, slip, since in self.stalled():
            motor, _, variable = name.rpartition(".")
            which = motor if variable == "slip" else f"motor {variable[-1].upper()} of {motor}"
            state = "stands still" if slip > 0.99 else "has not come back to speed"
            found.append(
                Finding(
                    since, "motor stalled", motor, slip, self._limit, "", "amber",
                    f"{which} stalled: its slip is above {self._limit:g} from t = {since:.4g} s "
                    f"and {digits_beyond(slip, self._limit, 3)} at the end, where it {state}.",
                    (name, f"{motor}.p", f"{motor}.q"), motor=motor,
                )
            )  # fmt: skip
        for k in np.flatnonzero(np.isfinite(self._backwards)):
            motor = self._names[k].rpartition(".")[0]
            found.append(
                Finding(
                    float(self._backwards[k]), "motor runs backwards", motor, float(self._now[k]), 1.0, "",
                    "red", f"{motor} runs backwards from t = {self._backwards[k]:.4g} s: its slip is above "
                    "1, which no passive load drives it to.", (self._names[k],), motor=motor,
                )
            )  # fmt: skip
        return tuple(found)


@cached_by_devices
def _slips_of(system: System) -> tuple[tuple[str, ...], NDArray[np.intp]]:
    """Return the states that are slips of motors, and their places in x."""
    motors = {device.name for device in system.devices if is_motor(device)}
    names = []
    for name in system.names_x:
        device, _, variable = name.rpartition(".")
        if device in motors and (variable == "slip" or variable.startswith("slip_")):
            names.append(name)
    return tuple(names), np.array([system.index(name) for name in names], dtype=np.intp)
