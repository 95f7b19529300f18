"""What the events of a run do: those with a time, and those that wait for a condition.

Plants that return to the network: at rest without power, at the voltage and frequency that they find.

A machine is synchronised, a converter starts with its phase-locked loop on the voltage and its current at
zero. The equations are those of a start (`psmr.network.start.equilibrium`) with the current zero and
all angles turning at the frequency of the bus; states and set-points are solved for jointly. The set-points
then go on straight lines to what they were.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from psmr.base.arrays import Reals
from psmr.base.errors import EventError, InitialisationError, InputError
from psmr.dae.system.system import System
from psmr.integrate.solve.ramps import Course
from psmr.integrate.timeline.change import Change, caused
from psmr.integrate.timeline.span import Span, going_on
from psmr.network.dynamic.switching import dynamic_elements, with_switched_currents
from psmr.network.sequence.unbalance import unbalanced_place
from psmr.network.signals.points import Points
from psmr.network.signals.quantities import QUANTITIES
from psmr.network.signals.signals import Signals, quantity
from psmr.network.signals.values import SignalValues
from psmr.network.topology.connections import Connections
from psmr.network.topology.network import nominal_frequency
from psmr.study.events import Event
from psmr.study.events.generator import (
    Connected,
    Synchronisation,
    refuse_impossible,
    voltage_at,
    without_power,
)
from psmr.study.events.schedule import refuse_conditional_trips, schedule, with_event_devices
from psmr.study.events.when import When

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
    t, nominal = float(w[-1]), nominal_frequency(system)
    if nominal is None:
        raise EventError("nothing says what the nominal frequency is")
    here = Connections(system, going_on(span, t))
    points = Points.of(here, np.array([t]), w[None, :n], w[None, n : n + m])
    f = float(QUANTITIES["frequency"].values(points, (bus,))[0, 0])
    if not abs(f - nominal) <= FREQUENCY * nominal:
        raise EventError(
            f"the frequency at {bus} is {f:.4g} Hz, more than {FREQUENCY:.0%} off {nominal:g} Hz"
        )
    return 2 * np.pi * (f - nominal)


@dataclass(frozen=True, eq=False)
class Waiting:
    """An event that waits, by the `name` of its signal; see `psmr.integrate.run.actions.ConditionalEvent`."""

    system: System
    when: When
    place: int
    signals: Signals
    connected: Connected
    name: str
    scheduled: tuple[Change, ...] = ()

    @property
    def delay(self) -> float:
        """See `ConditionalEvent`."""
        return self.when.delay

    def condition(self, rows: Reals, span: Span) -> Reals:
        """See `ConditionalEvent`."""
        beyond = self._signal(rows, span) - self.when.value
        return -beyond if self.when.below else beyond

    def changes(self, w: Reals, span: Span, ahead: Sequence[Change]) -> tuple[Change, ...]:
        """See `ConditionalEvent`; an event that is not possible any more is a change with words alone."""
        t = float(w[-1])
        try:
            now = replace(self.system, parameters=span.parameters_at(t), w0=w.copy())
            found = self.when.at(t).changes(self.connected.whole(now, t))
            _refuse_second_unbalance(now, found, [c for c in (*self.scheduled, *ahead) if c.t > t])
        except EventError as error:
            return caused([self.when.not_done(t, error)], self.place)
        return caused([self.when.named(found[0]), *found[1:]], self.place)

    def _signal(self, rows: Reals, span: Span) -> Reals:
        """Return (K,) values of the signal; the angle of a bus without voltage counts as 0."""
        n, m = self.system.n, self.system.m
        values = SignalValues(self.signals, [self.name], self.system)
        values.begin(span)
        found = values.at(rows[:, -1], rows[:, :n], rows[:, n : n + m], inputs=rows[:, n + m : -1])[:, 0]
        return np.where(np.isnan(found), 0.0, found) if values.turning.size else found


@dataclass(frozen=True, eq=False)
class Found:
    """Says what a change is that depends on the run up to it; see `psmr.integrate.run.actions.Actions`.

    `system`, `events`: The system of the run at its start, and its list of events.
    `connected`: What is connected, as events on conditions have left it.
    """

    system: System
    events: Sequence[Event]
    connected: Connected

    def __call__(self, change: Change, w: Reals, span: Span) -> Change:
        """Return the change with the values that hold at the point w of a span."""
        change = SynchronismCheck(self.system)(change, w, span)
        event = change.causes[0].event
        plain = self.connected.plain(change, event)
        if not isinstance(self.events[event], When):
            return plain
        now = replace(self.system, parameters=span.parameters_at(float(w[-1])), w0=w.copy())
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


def _refuse_lasting_unbalances(
    system: System, scheduled: Sequence[Change], possible: Sequence[tuple[When, Change]]
) -> None:
    """Refuse a conditional event that stays unbalanced beside a scheduled one that does: they always meet."""
    if not any(unbalances(system, change) for _, change in possible):
        return
    system = system.with_values(value for change in scheduled for value in change.parameters)
    for when in dict.fromkeys(when for when, _ in possible):
        own = [value for other, change in possible if other is when for value in change.parameters]
        try:
            unbalanced_place(system.with_values(own))
        except EventError as error:
            refusal = EventError(f"{when}: whenever its condition holds, it would be {error}")
            refusal.event = when
            raise refusal from error


def unbalances(system: System, change: Change) -> bool:
    """Return whether a change makes a network of phasors unbalanced."""
    return any(
        name in ("fault", "open_phases") and value > 1 and device not in dynamic_elements(system)
        for device, name, value in change.parameters
    )


def waiting(system: System, events: Iterable[Event], connected: Connected) -> list[Waiting]:
    """Return the events that wait for a condition; `connected` is what they leave of devices.

    Raises EventError for a signal that does not exist, with the nearest, one that a condition cannot read,
    and what the event itself objects to.
    """
    conditional = [(place, event) for place, event in enumerate(events) if isinstance(event, When)]
    if not conditional:
        return []
    found, signals = [], Signals.of(system)
    for place, event in conditional:
        try:
            name = _signal_of(event, signals)
            refuse_impossible(system, event.changes(system))
        except InputError as error:
            refusal = error if isinstance(error, EventError) else EventError(f"{event}: {error}")
            refusal.event = event
            raise refusal from error
        found.append(Waiting(system, event, place, signals, connected, name))
    return found


def _signal_of(event: When, signals: Signals) -> str:
    """Return the name of the signal of a condition; raise EventError for one that it cannot have."""
    if any(letter in event.signal for letter in "*?["):
        raise EventError(f"{event}: {event.signal} is a pattern; name one signal")
    (name,) = signals.select(event.signal)
    if quantity(name) == "frequency":
        raise EventError(
            f"{event}: the frequency of a bus needs the points around; take the omega of a machine, or a "
            "relay that measures it"
        )
    return name


class Planned(NamedTuple):
    """What is known of the events before a run.

    `system`: With what the events need beside it.
    `scheduled`: Changes at their times, in order.
    `conditional`: Events that wait for a condition.
    `possible`: The changes that these may make.
    `found`: Says what a change is that depends on the run up to it.
    """

    system: System
    scheduled: tuple[Change, ...]
    conditional: list[Waiting]
    possible: list[Change]
    found: Found

    def found_in_the_run(self, change: Change) -> bool:
        """Return whether what a scheduled change is depends on what the run has come to by then.

        A plant that returns does, and what sets data of a device of which a part may trip on a condition.
        """
        tripping = {device for other in self.possible for device, _ in other.parts}
        return isinstance(change, Synchronisation) or any(d in tripping for d, _, _ in change.set_over_time())


def planned(system: System, events: Sequence[Event], t_end: float) -> Planned:
    """Return what events are to do until t_end in s.

    Raises EventError for an event that cannot be, with the event.
    """
    system = with_event_devices(system, events)
    connected = Connected(system)
    conditional, scheduled = waiting(system, events, connected), schedule(system, events, t_end)
    possible = [(each.when, change) for each in conditional for change in each.when.changes(system)]
    refuse_conditional_trips(scheduled, possible)
    _refuse_lasting_unbalances(system, scheduled, possible)
    conditional = [replace(each, scheduled=scheduled) for each in conditional]
    changes = [change for _, change in possible]
    return Planned(system, scheduled, conditional, changes, Found(system, events, connected))
