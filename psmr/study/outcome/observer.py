"""The outcome of a run, gathered from its points as they come."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
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
        self._open = [system.limited.copy(), system.limited.copy()]  # limits of each side not met so far
        self._met: dict[tuple[int, str], float] = {}
        self._absent: frozenset[str] | None = None
        self._faults = tuple(_faults_of(system, self.buses))
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
        absent = span.absent(self.system)
        if absent != self._absent:
            groups = together(self.system, absent, self.sources)
            self._groups = [self._group(members, len(groups) > 1) for members in groups]
            self._absent = absent
        self._counted = ~self._faulted(span)
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

    def _faulted(self, span: Span) -> NDArray[np.bool_]:
        """Return for each bus whether a fault is on at it."""
        found = np.zeros(len(self.buses), dtype=bool)
        for number, columns, places in self._faults:
            fault = span.parameters[number][:, columns]
            if np.count_nonzero(fault):
                found[places[fault.any(axis=1)]] = True
        return found

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
        re, im = y[:, self._re], y[:, self._im]
        v = np.hypot(re, im)
        seen = v if self._counted.all() else np.where(self._counted, v, np.inf)
        k, bus = map(int, np.unravel_index(int(seen.argmin()), seen.shape))
        if self._lowest is None or seen[k, bus] < self._lowest.value:
            self._lowest = Extreme(float(seen[k, bus]), f"at {self.buses[bus]}", float(t[k]))
        last = int(v[-1].argmin())
        self._end = Extreme(float(v[-1, last]), f"at {self.buses[last]}", float(t[-1]))
        self._low.take(t, seen)
        if self._followers.names:
            self._followers.take(t, x, re + 1j * im, self._counted, self._span.out)

    def _limits(self, t: Reals, x: Reals, y: Reals) -> None:
        """Look for states that reach a limit."""
        at = (self.system.lower_at, self.system.upper_at)
        found = []
        for k, (bounds, moving, sign) in enumerate(zip(self._bounds, at, (1.0, -1.0), strict=True)):
            open_ = np.flatnonzero(self._open[k])
            if not open_.size:
                continue
            # Most stay away from limits that do not move; the others are looked at point by point.
            nearest = x[:, open_].min(axis=0) if sign > 0.0 else x[:, open_].max(axis=0)
            still = bounds[open_]
            near = np.isfinite(still) & (
                sign * (nearest - still) <= AT_LIMIT * np.maximum(1.0, np.abs(still))
            )
            for i in open_[(moving[open_] >= 0) | near].tolist():
                bound = self._variable(int(moving[i]), t, x, y) if moving[i] >= 0 else bounds[i]
                slack = AT_LIMIT * np.maximum(1.0, np.abs(bound))
                met = np.isfinite(bound) & (sign * (x[:, i] - bound) <= slack)
                if met.any() and self.system.names_x[i].rpartition(".")[0] not in self._span.out:
                    found.append((i, SIDES[k], float(t[int(met.argmax())])))
                    self._open[k][i] = False
        for i, side, when in sorted(found):
            self._met[i, side] = when

    def _variable(self, place: int, t: Reals, x: Reals, y: Reals) -> Reals:
        """Return (K,) values of the variable at a place in w."""
        n, m = self.system.n, self.system.m
        if place < n:
            return x[:, place]
        return y[:, place - n] if place < n + m else self._span.held(t)[:, place - n - m]


def _faults_of(system: System, places: Sequence[str]) -> Iterator[tuple[int, list[int], NDArray[np.intp]]]:
    """Yield groups of buses, the columns of their parameters that are a fault, and which buses they are."""
    at = {bus: k for k, bus in enumerate(places)}
    for number, group in enumerate(system.groups):
        component = group.compiled.component
        if issubclass(component, Bus):
            declared = tuple(parameters_of(component))
            columns = [declared.index("g_fault"), declared.index("b_fault")]
            yield number, columns, np.array([at[name] for name in group.names], dtype=np.intp)
