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
from psmr.study.outcome.limits_met import LimitsMet
from psmr.study.outcome.outcome import LOW_VOLTAGE, Outcome
from psmr.study.outcome.slip import Followers
from psmr.study.outcome.sources import Source, angles_of, centre_of_inertia, sources_of, together
from psmr.study.outcome.synchronism import Synchronism
from psmr.study.outcome.voltages import Voltages
from psmr.study.record.spans import Span
from psmr.study.record.terminals import nominal_frequency
from psmr.study.topology.network import buses, voltage_places
from psmr.study.topology.remembered import of_devices

Reals = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class _Group:
    """Sources that are in step with one another in a span: who, and where their speeds stand."""

    members: list[Source]
    names: list[str]
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
        self._parts = np.stack(voltage_places(system)) - system.n
        self._limits = LimitsMet(system)
        self._absent: frozenset[str] | None = None
        self._faults = _faults_of(system)
        self._voltages = Voltages(self.buses, LOW_VOLTAGE)
        self._speeds = _speeds_of(system)
        self._synchronism = Synchronism()
        self._followers = Followers(system)
        self._nadir: Extreme | None = None
        self._overshoot: Extreme | None = None
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
        self._limits.begin(span)

    def _group(self, members: list[Source], several: bool) -> _Group:
        turning = [s for s in members if f"{s.name}.omega" in self._speeds]
        omega = np.array([self._speeds[f"{s.name}.omega"] for s in turning], dtype=np.intp)
        where = f"in the island of {turning[0].bus}" if several and turning else ""
        return _Group(members, [source.name for source in members], turning, omega, where)

    def take(self, t: Reals, x: Reals, y: Reals) -> None:
        """Take (K,) times, (K, n) states and (K, m) algebraic variables, K > 0."""
        self._t = float(t[-1])
        for group in self._groups:
            if len(group.members) > 1:
                degrees = np.degrees(angles_of(self.system, self._span, group.members, t, x))
                self._synchronism.take(group.names, t, degrees)
            self._frequencies(group, t, x)
        parts = np.take(y, self._parts, axis=1)
        self._voltages.take(t, parts, self._counted)
        if self._followers.names:
            voltages = parts[:, 0] + 1j * parts[:, 1]
            self._followers.take(t, x, voltages, self._counted, self._span.out)
        self._limits.take(t, x, y)

    def outcome(self, stopped: Stop | None) -> Outcome:
        """Return what the points so far came to."""
        return Outcome(
            machines=len(self.sources),
            t_end=self._t,
            lost=self._synchronism.lost,
            angle_spread=self._synchronism.spread,
            lowest_voltage=self._voltages.lowest,
            low_voltage=self._voltages.longest_low(),
            end_voltage=self._voltages.end,
            nadir=self._nadir,
            overshoot=self._overshoot,
            limits=self._limits.met(),
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


@of_devices
def _speeds_of(system: System) -> dict[str, int]:
    """Return the positions in x of speeds by name."""
    return {name: k for k, name in enumerate(system.names_x) if name.endswith(".omega")}


@of_devices
def _faults_of(system: System) -> tuple[tuple[int, list[int], NDArray[np.intp]], ...]:
    """Return groups of buses, the columns of their parameters that are a fault, and which buses they are."""
    at, found = {bus: k for k, bus in enumerate(buses(system))}, []
    for number, group in enumerate(system.groups):
        component = group.compiled.component
        if issubclass(component, Bus):
            declared = tuple(parameters_of(component))
            columns = [declared.index("g_fault"), declared.index("b_fault")]
            found.append((number, columns, np.array([at[name] for name in group.names], dtype=np.intp)))
    return tuple(found)
