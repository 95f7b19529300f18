"""Monitors at work: what they look for in the points of a run, and what they saw."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from psmr.dae.system.system import System
from psmr.numerics.run.trajectory import Change
from psmr.study.outcome.sources import sources_of
from psmr.study.topology.islands import absent, first_dead_island, islands
from psmr.study.topology.network import buses, voltage_places

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
        What was seen there and where the monitor draws the line, in its unit; None where it is not a number.
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

    def told(self, change: Change) -> None:
        """Take note of what devices change by themselves."""

    def first(self, t: Reals, points: Reals) -> tuple[int, Stop] | None:
        """Return the first of (K,) times and (K, n + m) points at which the run ends, and why."""


class AngleLook:
    """Looks for two sources in one island whose angles differ by more than a limit in rad.

    Machines count by their rotors, converters that form the voltage by their frames, and an infinite bus at
    the angle that it keeps.
    """

    def __init__(self, limit: float, system: System, changes: Sequence[Change]) -> None:
        self.limit, self.system = limit, system
        self.changes = [
            change
            for change in changes
            if change.out or any(name == "status" for _, name, _ in change.parameters)
        ]
        states = set(system.names_x)
        kept = dict(zip(system.names_u, system.u0, strict=True))
        known = sources_of(system)
        self.turning = [source for source in known if source.angle in states]
        self.still = {source: float(kept[source.angle]) for source in known if source.angle not in states}
        self.groups: list[tuple[tuple[str, ...], NDArray[np.intp], Reals]] = []
        self.out: frozenset[str] | None = None

    def begin(self, t: float) -> None:
        """See `Look`."""
        out = absent(self.system, [change for change in self.changes if change.t <= t])
        if out == self.out:
            return
        self.out, self.groups = out, []
        for island in islands(self.system, out):
            here = [s for s in self.turning if s.bus in island and s.name not in out]
            names = tuple(source.name for source in here)
            places = np.array([self.system.index(source.angle) for source in here], dtype=np.intp)
            still = {s.name: x for s, x in self.still.items() if s.bus in island and s.name not in out}
            if names and len(names) + len(still) > 1:
                self.groups.append(((*names, *still), places, np.array(list(still.values()))))

    def told(self, change: Change) -> None:
        """See `Look`."""
        self.changes.append(change)

    def first(self, t: Reals, points: Reals) -> tuple[int, Stop] | None:
        """See `Look`."""
        found: tuple[int, Stop] | None = None
        for names, places, still in self.groups:
            angles = points[:, places]
            if still.size:
                angles = np.hstack([angles, np.tile(still, (len(points), 1))])
            spread = angles.max(axis=1) - angles.min(axis=1)
            over = np.flatnonzero(spread > self.limit)
            if over.size and (found is None or over[0] < found[0]):
                k = int(over[0])
                ahead, behind = names[int(angles[k].argmax())], names[int(angles[k].argmin())]
                value, limit = math.degrees(spread[k]), math.degrees(self.limit)
                found = k, Stop(float(t[k]), "angle spread", f"{ahead} - {behind}", value, limit, "deg")
        return found


class VoltageLook:
    """Looks for a bus whose voltage has stayed below `v_min` in pu for `duration` in s."""

    def __init__(self, v_min: float, duration: float, system: System, changes: Sequence[Change]) -> None:
        self.v_min, self.duration = v_min, duration
        self.faults = [
            (change.t, device, name, value)
            for change in changes
            for device, name, value in change.parameters
            if name in ("g_fault", "b_fault")
        ]
        self.names = buses(system)
        self.re, self.im = voltage_places(system)
        self.since = np.full(len(self.names), math.inf)  # first point at which it was low without a break
        self.faulted = np.zeros(len(self.names), dtype=bool)

    def begin(self, t: float) -> None:
        """See `Look`."""
        fault: dict[str, dict[str, float]] = {}
        for instant, device, name, value in self.faults:
            if instant <= t:
                fault.setdefault(device, {})[name] = value
        self.faulted[:] = [any(fault.get(name, {}).values()) for name in self.names]

    def told(self, change: Change) -> None:
        """See `Look`; no device makes a fault."""

    def first(self, t: Reals, points: Reals) -> tuple[int, Stop] | None:
        """See `Look`."""
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
    """All monitors of a run at work; see `psmr.numerics.run.trajectory.Watch`.

    Parameters
    ----------
    looks
        The monitors.
    system, changes
        The system at the start of the run and what events do, so that a run ends where a device that acts
        leaves buses without a source; left out where none acts.

    Attributes
    ----------
    stop
        What ended the run, None while it goes on.
    """

    def __init__(
        self, looks: Iterable[Look], system: System | None = None, changes: Sequence[Change] = ()
    ) -> None:
        self.looks = tuple(looks)
        self.system, self.changes = system, list(changes)
        self.stop: Stop | None = None

    def begin(self, t: float) -> None:
        """See `psmr.numerics.run.trajectory.Watch`."""
        for look in self.looks:
            look.begin(t)

    def told(self, change: Change) -> bool:
        """See `psmr.numerics.run.trajectory.Watch`."""
        self.changes = [*(known for known in self.changes if known.t <= change.t), change] + [
            known for known in self.changes if known.t > change.t
        ]
        if self.system is not None and self.stop is None:
            so_far = [known for known in self.changes if known.t <= change.t]
            dead = first_dead_island(self.system, so_far)
            if dead is not None:
                self.stop = Stop(change.t, "island", f"{dead.label} leaves {dead} without a source")
                return True
        for look in self.looks:
            look.told(change)
        return False

    def look(self, t: Reals, points: Reals) -> int | None:
        """See `psmr.numerics.run.trajectory.Watch`."""
        found = [seen for seen in (look.first(t, points) for look in self.looks) if seen is not None]
        if not found:
            return None
        last, self.stop = min(found, key=lambda seen: seen[0])
        return last
