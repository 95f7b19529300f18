"""What changes of events are that depend on the run up to them: by conditions, parts that tripped, returns.

Plants return to the network at rest without power, at the voltage and frequency that they find. A machine is
synchronised, a converter starts with its phase-locked loop on the voltage and its current at zero. The
equations are those of a start (`psmr.network.start.equilibrium`) with the current zero and all angles turning
at the frequency of the bus; states and set-points are solved for jointly. The set-points then go on straight
lines to what they were.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from psmr.base.arrays import Reals
from psmr.base.errors import EventError, InitialisationError
from psmr.dae.system.system import System
from psmr.integrate.solve.courses import Course
from psmr.integrate.timeline.span import Change, Span, continued_span, with_cause
from psmr.network.dynamic.switching import unbalances, with_switched_currents
from psmr.network.sequence.unbalance import unbalanced_place
from psmr.network.signals.points import Points
from psmr.network.signals.quantities import QUANTITIES
from psmr.network.signals.signals import SignalValues
from psmr.network.topology.connections import Connections
from psmr.network.topology.network import nominal_frequency
from psmr.study.events.generator import (
    Connected,
    Synchronisation,
    voltage_at,
    without_power,
)
from psmr.study.events.load import LoadRamp
from psmr.study.events.schedule import Conditional, EventPlan
from psmr.study.events.value import SetPoint
from psmr.study.events.when import When

VOLTAGE = (0.8, 1.2)
"""Bounds in pu of the voltage of a live bus, as relays that check synchronism are usually set."""

FREQUENCY = 0.05
"""Largest part by which the frequency may be off: 57 to 63 Hz, beyond which turbines are tripped."""


def _synchronised(system: System, change: Synchronisation, w: Reals, span: Span) -> Change:
    """Return what a plant that returns becomes at the point w of a span; words alone where it cannot."""
    now = replace(system, parameters=span.parameters_at(float(w[-1])), w0=w.copy())
    try:
        return _returning(now, change, span)
    except (EventError, InitialisationError) as error:
        label = f"{change.plant.name} not synchronised (without effect: {error})"
        return Change(change.t, label=label, causes=change.causes)


def _returning(system: System, change: Synchronisation, span: Span) -> Change:
    """Return what a plant that returns becomes at the start of a system, as a span of a run has it.

    Raises EventError, InitialisationError with the reason, where it cannot return.
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
    sampled = system.names_u[: system.s]
    return Change(
        change.t,
        label=f"{change.label}, at its set-points at t = {change.until:g} s",
        courses=tuple(courses.items()),
        states=tuple((name, value) for name, value in start.items() if name not in sampled),
        inputs=tuple((name, start[name]) for name in sampled if name in start),
        back=change.plant.devices,
        causes=change.causes,
    )


def _turning(system: System, bus: str, span: Span) -> float:
    """Return how fast the voltage of a bus turns in rad/s; EventError where no plant may be connected."""
    n, m, w = system.n, system.m, system.w0
    t, nominal = float(w[-1]), nominal_frequency(system)
    if nominal is None:
        raise EventError("nothing says what the nominal frequency is")
    here = Connections(system, continued_span(span, t))
    points = Points.of(here, np.array([t]), w[None, :n], w[None, n : n + m])
    f = float(QUANTITIES["frequency"].values(points, (bus,))[0, 0])
    if not abs(f - nominal) <= FREQUENCY * nominal:
        raise EventError(
            f"the frequency at {bus} is {f:.4g} Hz, more than {FREQUENCY:.0%} off {nominal:g} Hz"
        )
    return 2 * np.pi * (f - nominal)


@dataclass(frozen=True, eq=False)
class Waiting:
    """An event of a plan that waits for a condition; see `psmr.integrate.run.timers.ConditionalEvent`."""

    plan: EventPlan
    waits: Conditional
    connected: Connected

    @property
    def delay(self) -> float:
        """See `ConditionalEvent`."""
        return self.waits.event.delay

    @property
    def later(self) -> float:
        """See `ConditionalEvent`; a ramp leads on from what it finds."""
        event = self.waits.event.event
        return event.start if isinstance(event, LoadRamp | SetPoint) else 0.0

    def condition(self, rows: Reals, span: Span) -> Reals:
        """See `ConditionalEvent`."""
        beyond = self._signal(rows, span) - self.waits.event.value
        return -beyond if self.waits.event.below else beyond

    def changes(self, w: Reals, span: Span, ahead: Sequence[Change]) -> tuple[Change, ...]:
        """See `ConditionalEvent`; an event that is not possible any more is a change with words alone."""
        t, when, place = float(w[-1]), self.waits.event, self.waits.place
        try:
            now = replace(self.plan.system, parameters=span.parameters_at(t), w0=w.copy())
            found = when.at(t - self.later).changes(self.connected.whole(now, t))
            _refuse_second_unbalance(now, found, [c for c in (*self.plan.scheduled, *ahead) if c.t > t])
        except EventError as error:
            return with_cause([when.not_done(t, error)], place)
        return with_cause([when.named(found[0]), *found[1:]], place)

    def _signal(self, rows: Reals, span: Span) -> Reals:
        """Return (K,) values of the signal; the angle of a bus without voltage counts as 0."""
        system = self.plan.system
        n, m = system.n, system.m
        values = SignalValues(self.waits.signals, [self.waits.signal], system)
        values.begin(span)
        found = values.at(rows[:, -1], rows[:, :n], rows[:, n : n + m], inputs=rows[:, n + m : -1])[:, 0]
        return np.where(np.isnan(found), 0.0, found) if values.wrapped.size else found


@dataclass(frozen=True, eq=False)
class ChangeAtPoint:
    """Says what a change is that depends on the run up to it; see `psmr.integrate.run.actions.Actions`.

    `connected`: What is connected, as events on conditions have left it.
    """

    plan: EventPlan
    connected: Connected

    def __call__(self, change: Change, w: Reals, span: Span) -> Change:
        """Return the change with the values that hold at the point w of a span."""
        if isinstance(change, Synchronisation):
            change = _synchronised(self.plan.system, change, w, span)
        event = change.causes[0].event
        plain = self.connected.plain(change, event)
        if not isinstance(self.plan.events[event], When):
            return plain
        now = replace(self.plan.system, parameters=span.parameters_at(float(w[-1])), w0=w.copy())
        return with_switched_currents(now, plain)


def _refuse_second_unbalance(system: System, found: Sequence[Change], others: Sequence[Change]) -> None:
    """Raise EventError where a conditional event would meet an unbalance that is still to come.

    `system` is as the event finds it, `found` what it changes, `others` the changes that are known to come.
    """
    if not any(unbalances(system, change) for change in found):
        return
    for change in sorted((*found, *others), key=lambda change: change.t):
        system = system.with_values(change.parameters)
        try:
            unbalanced_place(system)
        except EventError as error:
            raise EventError(f"it would meet {change.label} at t = {change.t:g} s: {error}") from error
