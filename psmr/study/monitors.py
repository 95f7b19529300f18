"""Monitors: what ends a run before its time, with everything that was simulated kept.

A monitor is a frozen record. It looks at the accepted points (of a multirate scheme: the macro points); the
first one at which its condition holds is the last one of the run, and `Run.stopped` says what was seen.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from psmr.dae.system import System
from psmr.errors import InputError
from psmr.numerics.march import Change
from psmr.study.islands import absent, islands
from psmr.study.network import buses
from psmr.study.plants import plants

Reals = NDArray[np.float64]

# Rounding of the times of the points, far below any step.
SAME = 1e-9


@dataclass(frozen=True)
class Stop:
    """What ended a run.

    Attributes
    ----------
    t
        Time in s.
    monitor
        Which monitor, in words.
    what
        Which machines, bus or buses.
    value, limit, unit
        What was seen there and where the monitor draws the line, in its unit; None where it is no number.
    """

    t: float
    monitor: str
    what: str
    value: float | None = None
    limit: float | None = None
    unit: str = ""

    def __str__(self) -> str:
        seen = (
            "" if self.value is None else f" = {self.value:.4g} {self.unit}, limit {self.limit:g} {self.unit}"
        )
        return f"{self.monitor}: {self.what}{seen}"


class Look(Protocol):
    """A monitor at work in a run."""

    def begin(self, t: float) -> None:
        """Take note that the changes up to t in s are made."""

    def first(self, t: Reals, points: Reals) -> tuple[int, Stop] | None:
        """Return the first of (K,) times and (K, n + m) points at which the run ends, and why."""


class Monitor(Protocol):
    """What every monitor offers."""

    def at_work(self, system: System, changes: Sequence[Change]) -> Look | None:
        """Return it at work in a run with these changes; None where no point decides."""


@dataclass(frozen=True)
class AngleSpread:
    """End the run when two machines fall out of step.

    Parameters
    ----------
    limit_deg
        Largest difference in degrees between the rotor angles of two machines that are in service and in one
        island.

    Raises
    ------
    InputError
        For a limit that is no number above zero.
    """

    limit_deg: float = 180.0

    def __post_init__(self) -> None:
        _positive(self, "limit_deg", self.limit_deg, "in degrees")

    def at_work(self, system: System, changes: Sequence[Change]) -> Look | None:
        """See `Monitor`."""
        return _Angles(math.radians(self.limit_deg), system, changes)


@dataclass(frozen=True)
class VoltageCollapse:
    """End the run when the voltage at a bus stays low.

    Parameters
    ----------
    v_min
        Voltage in pu below which it is low.
    duration
        Time in s for which it must be low without a break; 0: one point is enough. The time at which a fault
        is on at the bus does not count.

    Raises
    ------
    InputError
        For a voltage that is no number above zero and a duration that is no number, or below zero.
    """

    v_min: float = 0.7
    duration: float = 0.5

    def __post_init__(self) -> None:
        _positive(self, "v_min", self.v_min, "in pu")
        number = isinstance(self.duration, int | float) and not isinstance(self.duration, bool)
        if not number or not math.isfinite(self.duration) or self.duration < 0:
            raise InputError(f"{self}: duration = {self.duration!r}: must be a finite number >= 0 in s")

    def at_work(self, system: System, changes: Sequence[Change]) -> Look | None:
        """See `Monitor`."""
        return _Voltages(self, system, changes)


@dataclass(frozen=True)
class Island:
    """End the run where an event leaves part of the network without a source.

    A source is a machine, or a converter that does not follow the voltage of others. Without this monitor
    such an event is refused before the run. The run ends at the instant of the event, before it.
    """

    def at_work(self, system: System, changes: Sequence[Change]) -> Look | None:
        """Return None: the events say it before the run."""
        return None


class _Angles:
    def __init__(self, limit: float, system: System, changes: Sequence[Change]) -> None:
        self.limit, self.system = limit, system
        self.changes = [
            change
            for change in changes
            if change.out or any(name == "status" for _, name, _ in change.parameters)
        ]
        self.machines = [plant for plant in plants(system).values() if plant.machine]
        self.groups: list[tuple[tuple[str, ...], NDArray[np.intp]]] = []
        self.out: frozenset[str] | None = None

    def begin(self, t: float) -> None:
        out = absent(self.system, [change for change in self.changes if change.t <= t])
        if out == self.out:
            return
        self.out, self.groups = out, []
        for island in islands(self.system, out):
            names = tuple(p.name for p in self.machines if p.bus in island and p.name not in out)
            places = np.array([self.system.index(f"{name}.delta") for name in names], dtype=np.intp)
            if len(names) > 1:
                self.groups.append((names, places))

    def first(self, t: Reals, points: Reals) -> tuple[int, Stop] | None:
        found: tuple[int, Stop] | None = None
        for names, places in self.groups:
            angles = points[:, places]
            spread = angles.max(axis=1) - angles.min(axis=1)
            over = np.flatnonzero(spread > self.limit)
            if over.size and (found is None or over[0] < found[0]):
                k = int(over[0])
                ahead, behind = names[int(angles[k].argmax())], names[int(angles[k].argmin())]
                value, limit = math.degrees(spread[k]), math.degrees(self.limit)
                found = k, Stop(float(t[k]), "angle spread", f"{ahead} - {behind}", value, limit, "deg")
        return found


class _Voltages:
    def __init__(self, monitor: VoltageCollapse, system: System, changes: Sequence[Change]) -> None:
        self.v_min, self.duration = monitor.v_min, monitor.duration
        self.faults = [
            (change.t, device, name, value)
            for change in changes
            for device, name, value in change.parameters
            if name in ("g_fault", "b_fault")
        ]
        self.names = buses(system)
        self.re, self.im = (
            np.array([system.index(f"{name}.{part}") for name in self.names]) for part in ("v_re", "v_im")
        )
        self.since = np.full(len(self.names), math.inf)  # first point at which it was low without a break
        self.faulted = np.zeros(len(self.names), dtype=bool)

    def begin(self, t: float) -> None:
        fault: dict[str, dict[str, float]] = {}
        for instant, device, name, value in self.faults:
            if instant <= t:
                fault.setdefault(device, {})[name] = value
        self.faulted[:] = [any(fault.get(name, {}).values()) for name in self.names]

    def first(self, t: Reals, points: Reals) -> tuple[int, Stop] | None:
        square = points[:, self.re] ** 2 + points[:, self.im] ** 2
        low = (square < self.v_min**2) & ~self.faulted
        found: tuple[int, Stop] | None = None
        for bus in map(int, np.flatnonzero(low.any(axis=0))):
            began = self._began(bus, t, low[:, bus])
            late = np.flatnonzero(low[:, bus] & (t - began >= self.duration - SAME))
            if late.size and (found is None or late[0] < found[0]):
                k = int(late[0])
                what = f"{self.names[bus]} below {self.v_min:g} pu for {t[k] - began[k]:.4g} s, v"
                v = math.sqrt(square[k, bus])
                found = k, Stop(float(t[k]), "voltage collapse", what, v, self.v_min, "pu")
            self.since[bus] = began[-1]
        self.since[~low[-1]] = math.inf
        return found

    def _began(self, bus: int, t: Reals, low: NDArray[np.bool_]) -> Reals:
        """Return for each point since when the voltage has been low there, if it is."""
        fine = np.maximum.accumulate(np.where(low, -1, np.arange(len(t))))  # last point that was not low
        earlier = self.since[bus] if math.isfinite(self.since[bus]) else t[0]
        return np.where(fine < 0, earlier, t[np.minimum(fine + 1, len(t) - 1)])


class Watching:
    """All monitors of a run at work; see `psmr.numerics.trajectory.Watch`.

    Attributes
    ----------
    stop
        What ended the run, None while it goes on.
    """

    def __init__(self, looks: Iterable[Look]) -> None:
        self.looks = tuple(looks)
        self.stop: Stop | None = None

    def begin(self, t: float) -> None:
        """See `psmr.numerics.trajectory.Watch`."""
        for look in self.looks:
            look.begin(t)

    def look(self, t: Reals, points: Reals) -> int | None:
        """See `psmr.numerics.trajectory.Watch`."""
        found = [seen for seen in (look.first(t, points) for look in self.looks) if seen is not None]
        if not found:
            return None
        last, self.stop = min(found, key=lambda seen: seen[0])
        return last


def _positive(monitor: object, field: str, value: object, unit: str) -> None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not math.isfinite(value) or value <= 0:  # type: ignore[arg-type, operator]
        raise InputError(f"{monitor}: {field} = {value!r}: must be a finite number > 0 {unit}")
