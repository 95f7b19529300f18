"""All events of a run together: changes in order of time, checked before any time is simulated."""

from __future__ import annotations

import functools
import hashlib
import heapq
import itertools
import math
import pickle
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from psmr.base.errors import EventError, InputError, shown
from psmr.dae.system.kept import kept
from psmr.dae.system.system import System
from psmr.integrate.run.staircases import with_jumps_as_changes
from psmr.integrate.timeline.span import AsTripped, Change, Span, first_span, span_after, with_cause
from psmr.network.dynamic.event_devices import has_phases, with_inductors_and_breaker_poles
from psmr.network.dynamic.switching import (
    dynamic_elements,
    refuse_impossible_switching,
    unbalances,
    with_switched_currents,
)
from psmr.network.sequence.unbalance import unbalanced_place
from psmr.network.signals.signals import Signals, is_sum, quantity
from psmr.study.events import (
    Event,
    Fault,
    LineTrip,
    LoadRamp,
    LoadTrip,
    OpenPhases,
    SetPoint,
    ShuntSwitch,
    TimeSeries,
    When,
)
from psmr.study.events.branch import OPEN_ENDS
from psmr.study.events.generator import Synchronisation, resolved_changes
from psmr.study.events.staircase import sets_inputs_alone, with_staircases

OPENING = (Fault, LineTrip, OpenPhases, ShuntSwitch, LoadTrip)
"""Events that open elements."""


@dataclass(frozen=True)
class ScheduledChange:
    """A change and the event that makes it."""

    change: Change
    event: Event


@dataclass(frozen=True)
class Conditional:
    """An event that waits: its place in the list of events, and the name of its signal among the system's."""

    place: int
    event: When
    signal: str
    signals: Signals


@dataclass(frozen=True, eq=False)
class EventPlan:
    """What is known of the events of a run before it.

    `system`: The system with what its events need beside it, see `psmr.network.dynamic.event_devices`.
    `events`: As they were given.
    `scheduled`: Changes at their times, in order; those of one instant are one.
    `conditional`: Events that wait for a condition.
    `possible`: The changes that these may make.
    """

    system: System
    events: tuple[Event, ...]
    scheduled: tuple[Change, ...]
    conditional: tuple[Conditional, ...]
    possible: tuple[Change, ...]

    @functools.cached_property
    def unbalanced(self) -> bool:
        """Whether something makes a network of phasors unbalanced."""
        return any(unbalances(self.system, change) for change in (*self.scheduled, *self.possible))

    @functools.cached_property
    def along_lines(self) -> bool:
        """Whether there is a fault along a line."""
        changes = (*self.scheduled, *self.possible)
        return any(name == "at" and value for change in changes for _, name, value in change.parameters)

    def depends_on_run(self, change: Change) -> bool:
        """Return whether what a scheduled change is depends on what the run has come to by then.

        A plant that returns does, and what sets data of a device of which a part may trip on a condition.
        """
        if isinstance(change, Synchronisation):
            return True
        tripping = {device for other in self.possible for device, _ in other.parts}
        return bool(tripping) and any(d in tripping for d, _, _ in change.set_over_time())


PLANS = 8
"""Plans that are kept with a system."""


def plan_events(system: System, events: Sequence[Event], t_end: float) -> EventPlan:
    """Return what events are to do until t_end in s; raises EventError, with the event, if one cannot be."""
    if not all(map(_of_psmr, events)):
        return _planned(system, events, t_end)
    try:
        key = hashlib.sha256(pickle.dumps((events, t_end))).digest()
    except (pickle.PicklingError, AttributeError, TypeError):  # a field of a user's own type
        return _planned(system, events, t_end)
    return kept(system, "event plans", key, lambda: _planned(system, events, t_end), PLANS)


def _of_psmr(event: Event) -> bool:
    """Return whether all that an event does follows from its fields; a user's own may read what it likes."""
    own = type(event).__module__.startswith("psmr.study.events.")
    return own and (not isinstance(event, When) or _of_psmr(event.event))


def _planned(system: System, events: Sequence[Event], t_end: float) -> EventPlan:
    system = with_event_devices(system, events)
    waiting = [(place, event) for place, event in enumerate(events) if isinstance(event, When)]
    conditional: tuple[Conditional, ...] = ()
    if waiting:
        signals = Signals.of(system)
        conditional = tuple(_conditional(system, place, event, signals) for place, event in waiting)
    possible = [(event, change) for _, event in waiting for change in event.changes(system)]
    scheduled = schedule(system, events, t_end, _inputs_set_by(change for _, change in possible))
    if possible:
        _refuse_conditional_trips(scheduled, possible)
        _refuse_lasting_unbalances(system, scheduled, possible)
    return EventPlan(system, tuple(events), scheduled, conditional, tuple(change for _, change in possible))


def _conditional(system: System, place: int, event: When, signals: Signals) -> Conditional:
    """Return an event that waits for a condition.

    Raises EventError for a signal that does not exist, with the nearest, one that a condition cannot read,
    and what the event itself objects to.
    """
    try:
        name = _signal_of(event, signals, dynamic_elements(system))
        _refuse_impossible_returns(system, event.changes(system))
    except InputError as error:
        refusal = error if isinstance(error, EventError) else EventError(f"{event}: {error}")
        refusal.event = event
        raise refusal from error
    return Conditional(place, event, name, signals)


def _signal_of(event: When, signals: Signals, dynamic: Collection[str]) -> str:
    """Return the name of the signal of a condition; raise EventError for one that it cannot have.

    `dynamic` are the buses and branches with their own dynamics.
    """
    if is_sum(event.signal):
        raise EventError(f"{event}: {event.signal} is a sum; name one signal")
    if any(letter in event.signal for letter in "*?["):
        raise EventError(f"{event}: {event.signal} is a pattern; name one signal")
    (name,) = signals.select(event.signal)
    if quantity(name) == "frequency":
        raise EventError(
            f"{event}: the frequency of a bus needs the points around; take the omega of a machine, or a "
            "relay that measures it"
        )
    known = signals.quantity(name)
    if known is not None and known[0].magnitude == "phasors" and known[1] not in dynamic:
        event.refuse_below_zero()
    return name


def _inputs_set_by(changes: Iterable[Change]) -> frozenset[str]:
    """Return the held inputs that changes set."""
    found: set[str] = set()
    for change in changes:
        found.update(name for name, _ in (*change.inputs, *change.rates, *change.courses))
        found.update(change.set_points if isinstance(change, Synchronisation) else ())
    return frozenset(found)


def schedule(
    system: System, events: Iterable[Event], t_end: float, conditional: Collection[str] = ()
) -> tuple[Change, ...]:
    """Return the changes of all events in order of time, those of one instant merged into one.

    An event finds the system as the events before it have left it, with every load and unit whole: what is
    tripped of them is taken from what they are by then, see `psmr.study.events.generator`. Events that wait
    for a condition have no time, and are left out; the inputs that they may set (`conditional`) are in no
    staircase, which they would end.

    `system` has what its events need beside it (`with_event_devices`). Raises EventError for an event that
    names something that is not there, lies at or after the end of the run, or contradicts another event.
    """
    entries: list[ScheduledChange] = []
    given = list(map(_event, events))
    _refuse_repeated(given)
    timed = [(place, event) for place, event in enumerate(given) if not isinstance(event, When)]
    start, ahead = first_span(system, AsTripped()), list[tuple[float, int, Change]]()
    span = start
    for place, event in sorted(timed, key=lambda entry: entry[1].start):
        standing = system
        if not (isinstance(event, SetPoint) and event.end is None):  # a step is the same whatever it finds
            span = _span_at(system, span, ahead, event.start)
            standing = system if span is start else _standing(system, span, event.start)
        found = with_cause(_checked(event, standing, t_end), place)
        for change in found:
            heapq.heappush(ahead, (change.t, len(entries), change))
            entries.append(ScheduledChange(change, event))
    entries.sort(key=lambda entry: entry.change.t)
    _refuse_overlaps(entries)
    _refuse_absent(entries)
    _refuse_trips_before_ends(entries)
    plain = [entry.change for entry in entries]
    if any(change.parts for change in plain):
        plain = list(resolved_changes(system, ((entry.change, entry.event) for entry in entries)))
    plain = with_jumps_as_changes(plain, 0.0, t_end, 0.0, conditional)
    if not dynamic_elements(system):
        return with_staircases(system, _merged(plain), conditional)
    changes = _merged([with_switched_currents(system, change) for change in plain])
    refuse_impossible_switching(system, changes)
    return with_staircases(system, changes, conditional)


def _span_at(system: System, span: Span, ahead: list[tuple[float, int, Change]], t: float) -> Span:
    """Return what holds at t in s, where the changes up to then of those ahead are made after a span.

    They leave the heap; successive ones that set held inputs alone are made as one.
    """
    together: list[Change] = []
    while ahead and ahead[0][0] <= t:
        _, _, change = heapq.heappop(ahead)
        # What trips a part of a device sets nothing of the whole.
        change = replace(change, parameters=()) if change.parts else change
        if together and not (sets_inputs_alone(change) and sets_inputs_alone(together[-1])):
            span = span_after(system, span, together[-1].t, together, AsTripped())
            together = []
        together.append(change)
    return span_after(system, span, together[-1].t, together, AsTripped()) if together else span


def with_event_devices(system: System, events: Iterable[Event]) -> System:
    """Return the system with what its events need beside it, see `psmr.network.dynamic.event_devices`."""
    if not dynamic_elements(system):
        return system
    every = [event.event if isinstance(event, When) else event for event in events]
    places = [place for event in every if isinstance(event, Fault) for place in event.inductors(system)]
    opened = [name for event in every for name in _opened(event, system)] if has_phases(system) else ()
    return with_inductors_and_breaker_poles(system, places, opened)


def _opened(event: Event, system: System) -> Iterator[str]:
    """Yield the elements that an event opens at the zeros of their currents, where they can."""
    try:
        changes = event.changes(system) if isinstance(event, OPENING) else ()
    except EventError:
        return  # said where its changes are checked
    for change in changes:
        for name, parameter, value in change.parameters:
            if parameter == "trip" or (parameter in ("p", "q") and value == 0):
                yield name


def _standing(system: System, span: Span, t: float) -> System:
    """Return the system with the parameters and held inputs of a span as they are at t in s."""
    w0 = system.w0.copy()
    w0[system.n + system.m : -1] = span.held(np.array([t]))[0]
    return replace(system, parameters=span.parameters_at(t), w0=w0)


def _event(event: Event) -> Event:
    if isinstance(event, type):
        raise EventError(
            f"{event.__name__} is the class; make an event of it, for instance "
            "psmr.Fault(bus=5, start=1.0, clear=1.1)"
        )
    if not callable(getattr(event, "changes", None)):
        raise EventError(
            f"{shown(event)} is not an event; use psmr.Fault, psmr.LoadTrip or another event of psmr"
        )
    return event


def _refuse_repeated(events: Sequence[Event]) -> None:
    """Refuse an event that stands twice in a list: what it would do twice was hardly meant."""
    firsts: dict[int, int] = {}
    for k, event in enumerate(events):
        first = firsts.setdefault(id(event), k)
        if first < k:
            raise _error(
                event,
                f"{event}: events {first + 1} and {k + 1} of the list are one and the same; drop one of them",
            )


def _error(event: Event | When, words: str) -> EventError:
    error = EventError(words)
    error.event = event
    return error


def _refuse_impossible_returns(system: System, changes: Iterable[Change]) -> None:
    for change in changes:
        if isinstance(change, Synchronisation):
            change.refuse_impossible(system)


def _checked(event: Event, system: System, t_end: float) -> tuple[Change, ...]:
    try:
        changes = event.changes(system)
        _refuse_impossible_returns(system, changes)
    except EventError as error:
        error.event = event
        raise
    if isinstance(event, TimeSeries):  # a recording may go on after the run
        changes = (*changes[:1], *(change for change in changes[1:] if change.t < t_end))
    if (
        isinstance(event, LoadRamp | SetPoint) and len(changes) > 1 and changes[-1].t == t_end
    ):  # all of it is seen
        changes = changes[:-1]
    for change in changes:
        if change.t >= t_end:
            raise _error(
                event,
                f"{event}: {change.label!r} (t = {change.t:g} s) is not before the end of the run, t_end = "
                f"{t_end:g} s; move the event or lengthen the run",
            )
    return changes


def _refuse_overlaps(entries: Sequence[ScheduledChange]) -> None:
    """Refuse an event that sets what another one has changed and is not done with.

    Branches may be taken out by two events, a line trip and the clearing of a fault for instance.
    """
    spans: dict[tuple[str, str], dict[int, list[ScheduledChange]]] = {}
    for entry in entries:
        for device, name, _ in entry.change.values_at(entry.change.t):
            if name not in ("status", *OPEN_ENDS):
                spans.setdefault((device, name), {}).setdefault(id(entry.event), []).append(entry)
    for (device, name), held in spans.items():
        ends = sorted(((own[0], own[-1]) for own in held.values()), key=lambda own: own[0].change.t)
        for (before, last), (following, _) in itertools.pairwise(ends):
            start = following.change.t
            if start < max(last.change.until, before.change.until) or start == before.change.t:
                raise _error(
                    following.event,
                    f"{following.event} ({following.change.label}, t = {start:g} s) overlaps with "
                    f"{before.event}: both change {device}.{name}; combine them into one event or "
                    "separate them in time",
                )


def _refuse_trips_before_ends(entries: Sequence[ScheduledChange]) -> None:
    """Refuse to open or close a line whose ends open one by one: the first would close the other again."""
    for entry in entries:
        ends = {device for device, name, value in entry.change.parameters if name in OPEN_ENDS and value}
        for other in entries if ends else ():
            if other.event is entry.event or not entry.event.start <= other.change.t <= entry.change.t:
                continue
            for device, name, _ in other.change.parameters:
                if device in ends and name == "status":
                    raise _error(
                        other.event,
                        f"{other.event} ({other.change.label}, t = {other.change.t:g} s): its ends open one "
                        f"by one ({entry.event}, from t = {entry.change.t:g} s); drop one of the two events, "
                        "or let it end before the fault",
                    )


def _refuse_conditional_trips(scheduled: Iterable[Change], possible: Iterable[tuple[When, Change]]) -> None:
    """Refuse a conditional event that may open or close a line whose ends open one by one, as scheduled ones.

    Between the two ends: the first of them would close the other again. `possible`: (event, change) pairs.
    """
    every: list[tuple[When | None, Change]] = [*((None, change) for change in scheduled), *possible]
    one_by_one = {
        device: (event, change)
        for event, change in every
        for device, name, value in change.parameters
        if name in OPEN_ENDS and value
    }
    for event, change in every:
        for device, name, _ in change.parameters:
            ends_of, first = one_by_one.get(device, (event, change))
            if name == "status" and ends_of is not event:
                conditional = event or ends_of
                assert conditional is not None
                raise _error(
                    conditional,
                    f"{conditional}: the ends of {device} open one by one ({first.label}), and "
                    f"{change.label} may come between them; drop one of the two events, or "
                    "let both ends open at once",
                )


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


def _refuse_absent(entries: Sequence[ScheduledChange]) -> None:
    """Refuse an event on a device that an earlier one has taken out of service.

    A series that the device followed before may go on, unless the device returns while it does.
    """
    out: dict[str, ScheduledChange] = {}
    back: dict[str, float] = {}
    followed: set[int] = set()
    series: dict[str, ScheduledChange] = {}
    for entry in entries:
        if isinstance(entry.change, Synchronisation):
            back |= dict.fromkeys(entry.change.plant.devices, entry.change.until)
            for name in entry.change.set_points:
                if name in series and series[name].change.until > entry.change.t:
                    raise _error(
                        entry.event,
                        f"{entry.event}: {name} follows {series[name].event} when it returns at t = "
                        f"{entry.change.t:g} s, and cannot ramp to what it was; drop reconnect, or let the "
                        "series end before",
                    )
        values = tuple(entry.change.values_at(entry.change.t))
        if isinstance(entry.event, TimeSeries):
            if id(entry.event) in followed:
                continue
            followed.add(id(entry.event))
            series |= {f"{device}.{name}": entry for device, name, _ in values}
        named = (*(device for device, _, _ in values), *entry.change.out)
        for device in named:
            gone = out.get(device)
            if gone and gone.event is not entry.event and entry.change.t < back.get(device, math.inf):
                until = f" until t = {back[device]:g} s" if device in back else ""
                raise _error(
                    entry.event,
                    f"{entry.event} ({entry.change.label}, t = {entry.change.t:g} s): {device} is out of "
                    f"service since t = {gone.change.t:g} s{until} ({gone.event}); drop one of the "
                    "two events or move it before the other",
                )
        out |= dict.fromkeys(entry.change.out, entry)
        for device in entry.change.out:
            back.pop(device, None)


def _merged(changes: Sequence[Change]) -> tuple[Change, ...]:
    """Join the changes of one instant, so that the algebraic equations are solved once for all of them.

    Plants are synchronised after them.
    """
    changes = sorted(changes, key=lambda change: (change.t, isinstance(change, Synchronisation)))
    merged: list[Change] = []
    for change in changes:
        joined = not isinstance(change, Synchronisation) and merged and merged[-1].t == change.t
        merged.append(merged.pop().followed_by(change) if joined else change)
    return tuple(merged)
