"""The outcome of a run, gathered from its points as they come."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from psmr.dae.declare.component import parameters_of
from psmr.dae.system.system import System
from psmr.grid.models.network import Bus
from psmr.numerics.run.trajectory import Change
from psmr.study.monitors.watching import Stop
from psmr.study.outcome.extreme import Extreme
from psmr.study.outcome.low_voltage import LowVoltage
from psmr.study.outcome.outcome import LOW_VOLTAGE, Limit, Outcome
from psmr.study.outcome.slip import Followers
from psmr.study.outcome.sources import Source, angles_of, centre_of_inertia, sources_of, together
from psmr.study.outcome.synchronism import Synchronism
from psmr.study.record.spans import Span
from psmr.study.record.terminals import nominal_frequency
from psmr.study.topology.network import buses, voltage_places

Reals = NDArray[np.float64]

# A state counts as at its limit within this part of max(1, |limit|): rounding of the projection onto it.
AT_LIMIT = 1e-9

SIDES = ("lower limit", "upper limit")


@dataclass(frozen=True, eq=False)
class _Group:
    """Sources that are in step with one another in a span: who, and where their speeds stand."""

    members: list[Source]
    turning: list[Source]
    omega: NDArray[np.intp]
    where: str


class Observer:
    """Looks at every accepted point of a run, span by span.

    What it says is the same however the points of a span are divided.
    """

    def __init__(self, system: System) -> None:
        self.system = system
        self.sources = sources_of(system)
        self.f_n = nominal_frequency(system)
        self.buses = buses(system)
        self._re, self._im = (places - system.n for places in voltage_places(system))
        self._limited = np.flatnonzero(system.limited)
        self._met: dict[tuple[int, str], float] = {}
        self._low = LowVoltage(len(self.buses), LOW_VOLTAGE)
        self._speeds = {name: k for k, name in enumerate(system.names_x) if name.endswith(".omega")}
        self._synchronism = Synchronism()
        self._followers = Followers(system, self.buses)
        self._lowest: Extreme | None = None
        self._nadir: Extreme | None = None
        self._overshoot: Extreme | None = None
        self._end: Extreme | None = None
        self._t = 0.0
        self.acted: list[tuple[float, str]] = []

    def told(self, change: Change) -> None:
        """Take note of what a device did by itself."""
        if change.protects:
            self.acted.append((change.t, change.label))

    def begin(self, span: Span) -> None:
        """Take note that what follows belongs to a span."""
        self._span = span
        groups = together(self.system, span, self.sources)
        self._groups = [self._group(members, len(groups) > 1) for members in groups]
        self._counted = ~_faulted(self.system, span)
        self._bounds = self.system.constant_limits(span.parameters)

    def _group(self, members: list[Source], several: bool) -> _Group:
        turning = [s for s in members if f"{s.name}.omega" in self._speeds]
        omega = np.array([self._speeds[f"{s.name}.omega"] for s in turning], dtype=np.intp)
        where = f"in the island of {turning[0].bus}" if several and turning else ""
        return _Group(members, turning, omega, where)

    def take(self, t: Reals, x: Reals, y: Reals) -> None:
        """Take (K,) times, (K, n) states and (K, m) algebraic variables, K > 0."""
        self._t = float(t[-1])
        for group in self._groups:
            if len(group.members) > 1:
                degrees = np.degrees(angles_of(self.system, self._span, group.members, t, x))
                self._synchronism.take([source.name for source in group.members], t, degrees)
            self._frequencies(group, t, x)
        if self.buses:
            self._voltages(t, x, y)
        if len(self._limited):
            self._limits(t, x, y)

    def outcome(self, stopped: Stop | None) -> Outcome:
        """Return what the points so far came to."""
        names = self.system.names_x
        limits = [Limit(names[i], side, t) for (i, side), t in self._met.items()]
        return Outcome(
            machines=len(self.sources),
            t_end=self._t,
            lost=self._synchronism.lost,
            angle_spread=self._synchronism.spread,
            lowest_voltage=self._lowest,
            low_voltage=self._low.longest_of(self.buses) if self.buses else None,
            end_voltage=self._end,
            nadir=self._nadir,
            overshoot=self._overshoot,
            limits=tuple(sorted(limits, key=lambda limit: limit.t)),
            stopped=stopped,
            slips=self._followers.slips(),
            acted=tuple(self.acted),
        )

    def _frequencies(self, group: _Group, t: Reals, x: Reals) -> None:
        """Look for the lowest and the highest frequency of a centre of inertia."""
        # An infinite bus keeps the frequency of its island at the nominal one.
        if self.f_n is None or not group.turning or any(math.isinf(s.weight) for s in group.members):
            return
        hertz = self.f_n * centre_of_inertia(x[:, group.omega], group.turning)
        low, high = int(hertz.argmin()), int(hertz.argmax())
        if self._nadir is None or hertz[low] < self._nadir.value:
            self._nadir = Extreme(float(hertz[low]), group.where, float(t[low]))
        if self._overshoot is None or hertz[high] > self._overshoot.value:
            self._overshoot = Extreme(float(hertz[high]), group.where, float(t[high]))

    def _voltages(self, t: Reals, x: Reals, y: Reals) -> None:
        """Look for the lowest voltage, the longest time of a low one, and the lowest at the end."""
        voltages = y[:, self._re] + 1j * y[:, self._im]
        v = np.abs(voltages)
        seen = v if self._counted.all() else np.where(self._counted, v, np.inf)
        k, bus = map(int, np.unravel_index(int(seen.argmin()), seen.shape))
        if self._lowest is None or seen[k, bus] < self._lowest.value:
            self._lowest = Extreme(float(seen[k, bus]), f"at {self.buses[bus]}", float(t[k]))
        last = int(v[-1].argmin())
        self._end = Extreme(float(v[-1, last]), f"at {self.buses[last]}", float(t[-1]))
        self._low.take(t, seen)
        self._followers.take(t, x, voltages, self._counted, self._span.out)

    def _limits(self, t: Reals, x: Reals, y: Reals) -> None:
        """Look for states that reach a limit."""
        at = (self.system.lower_at, self.system.upper_at)
        found = []
        for side, bounds, moving, sign in zip(SIDES, self._bounds, at, (1.0, -1.0), strict=True):
            open_ = np.array([i for i in self._limited.tolist() if (i, side) not in self._met], dtype=np.intp)
            # Most stay away from limits that do not move; the others are looked at point by point.
            nearest = sign * (sign * x[:, open_]).min(axis=0)
            away = sign * (nearest - bounds[open_]) > AT_LIMIT * np.maximum(1.0, np.abs(bounds[open_]))
            open_ = open_[(moving[open_] >= 0) | ~away].tolist()
            bound = np.broadcast_to(bounds[open_], (len(t), len(open_))).copy()
            for column, i in enumerate(open_):
                if moving[i] >= 0:
                    bound[:, column] = self._variable(int(moving[i]), t, x, y)
            slack = AT_LIMIT * np.maximum(1.0, np.abs(bound))
            met = np.isfinite(bound) & (sign * (x[:, open_] - bound) <= slack)
            for reached in map(int, np.flatnonzero(met.any(axis=0))):
                i = open_[reached]
                if self.system.names_x[i].rpartition(".")[0] not in self._span.out:
                    found.append((i, side, float(t[int(met[:, reached].argmax())])))
        for i, side, when in sorted(found):
            self._met[i, side] = when

    def _variable(self, place: int, t: Reals, x: Reals, y: Reals) -> Reals:
        """Return (K,) values of the variable at a place in w."""
        n, m = self.system.n, self.system.m
        if place < n:
            return x[:, place]
        return y[:, place - n] if place < n + m else self._span.held(t)[:, place - n - m]


def _faulted(system: System, span: Span) -> NDArray[np.bool_]:
    """Return for each bus whether a fault is on at it."""
    on: set[str] = set()
    for group, values in zip(system.groups, span.parameters, strict=True):
        if issubclass(group.compiled.component, Bus):
            declared = tuple(parameters_of(group.compiled.component))
            fault = values[:, [declared.index("g_fault"), declared.index("b_fault")]].any(axis=1)
            on.update(group.names[k] for k in np.flatnonzero(fault))
    return np.array([bus in on for bus in buses(system)], dtype=bool)
