"""Plants that return to the network: at rest without power, at the voltage and frequency that they find.

A machine is synchronised, a converter starts with its phase-locked loop on the voltage and its current at
zero. The equations are those of a start (`psmr.network.equilibrium.equilibrium`) with the current zero and
all angles turning at the frequency of the bus; states and set-points are solved for jointly. The set-points
then go on straight lines to what they were.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from psmr.base.arrays import Reals
from psmr.base.errors import EventError, InitialisationError
from psmr.dae.system.system import System
from psmr.integrate.solve.ramps import Course
from psmr.integrate.timeline.change import Change
from psmr.integrate.timeline.span import Span, going_on
from psmr.network.topology.network import nominal_frequency
from psmr.study.events.synchronisation import Synchronisation, voltage_at, without_power
from psmr.study.record.frequency import frequencies

VOLTAGE = (0.8, 1.2)
"""Bounds in pu of the voltage of a live bus, as relays that check synchronism are usually set."""

FREQUENCY = 0.05
"""Largest part by which the frequency may be off: 57 to 63 Hz, beyond which turbines are tripped."""


@dataclass(frozen=True, eq=False)
class SynchronismCheck:
    """Says what a plant becomes that returns; see `psmr.integrate.run.actions.Actions`."""

    system: System

    def __call__(self, change: Change, w: Reals, span: Span) -> Change:
        """Return a change that is known before as it is, and that of a plant at the point w."""
        if not isinstance(change, Synchronisation):
            return change
        now = replace(self.system, parameters=span.parameters_at(float(w[-1])), w0=w.copy())
        try:
            return _returning(now, change, span)
        except (EventError, InitialisationError) as error:
            label = f"{change.plant.name} not synchronised (without effect: {error})"
            return Change(change.t, label=label, causes=change.causes)


def _returning(system: System, change: Synchronisation, span: Span) -> Change:
    """Return what a plant that returns becomes at the start of a system, as a span of a run has it.

    Raises
    ------
    EventError, InitialisationError
        With the reason, where it cannot return.
    """
    bus, w = change.plant.bus, system.w0
    if bus in span.out:
        raise EventError(f"{bus} has no voltage")
    voltage = abs(voltage_at(system, bus))
    if not VOLTAGE[0] <= voltage <= VOLTAGE[1]:
        raise EventError(
            f"the voltage at {bus} is {voltage:.4g} pu, outside {VOLTAGE[0]:g} to {VOLTAGE[1]:g}"
        )
    turning = _turning(system, bus, span)
    start = without_power(system, change.plant, turning)
    lines = {name: (start.pop(name), float(w[system.index(name)])) for name in change.set_points}
    courses = {name: Course.through((change.t, change.until), line) for name, line in lines.items()}
    return Change(
        change.t,
        label=f"{change.label}, at its set-points at t = {change.until:g} s",
        courses=tuple(courses.items()),
        states=tuple(start.items()),
        back=change.plant.devices,
        causes=change.causes,
    )


def _turning(system: System, bus: str, span: Span) -> float:
    """Return how fast the voltage of a bus turns in rad/s; EventError where no plant may be connected."""
    n, m, w = system.n, system.m, system.w0
    t = float(w[-1])
    span = replace(going_on(span, t), first=0, last=1)
    points = w[None, :n], w[None, n : n + m]
    nominal = nominal_frequency(system)
    if nominal is None:
        raise EventError("nothing says what the nominal frequency is")
    f = float(frequencies(system, [span], [bus], np.array([t]), *points)[0, 0])
    if not abs(f - nominal) <= FREQUENCY * nominal:
        raise EventError(
            f"the frequency at {bus} is {f:.4g} Hz, more than {FREQUENCY:.0%} off {nominal:g} Hz"
        )
    return 2 * np.pi * (f - nominal)
