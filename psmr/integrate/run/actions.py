"""What acts by itself in a run, devices and events on conditions: timers, when each is due, what is changed.

Relays, trips and holds act when a condition has held for a time. A step ends where a timer does, or where a
condition is to be looked at (`psmr.integrate.run.integrate`); what is changed then are parameters and devices
in service, as by an event.

A condition is looked at in the accepted points. Where it begins to hold between two of them, the instant is
sought as the zero of the straight line through its values: the run goes back to the point before and takes a
shorter step to that zero, until one of the two values is small beside the other (regula falsi; one such step
as a rule). What acts at once acts a thousandth of a step later, where its condition holds.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from psmr.base.arrays import Reals
from psmr.dae.declare.component import Act, NumericMath, Turn, local_variables, parameters_of
from psmr.dae.system.system import System
from psmr.integrate.solve.courses import Delayed
from psmr.integrate.timeline.span import Change, Span

Bools = NDArray[np.bool_]

PAST, LATEST = 1e-3, 8e-6
"""By which part of a step what acts at once comes after the zero of its condition, and most in s."""

NEAR_ZERO = 1e-2
"""Ratio of the times to the points around a zero at which lines between them are near enough."""

CLOSE = 2e-3
"""Time in s to which a zero in a long step is located, as that ratio does in one of 0.2 s."""

AT_ZERO = 1e-5
"""The same for what acts at the zero itself."""

PIECES, ROUNDS = 8, 3
"""Into how many pieces the way between two points is cut to find a change, and how often."""


class _Named:
    """Values by name, each taken when it is asked for: a condition reads a few of a device's many."""

    def __init__(self, places: Mapping[str, int], take: Callable[[int], Any]) -> None:
        self._places, self._take = places, take

    def __getattr__(self, name: str) -> Any:
        place = self._places.get(name)
        if place is None:
            raise AttributeError(f"there is no value {name!r}")
        return self._take(place)


class ConditionalEvent(Protocol):
    """What happens when a condition has held for a time."""

    @property
    def delay(self) -> float:
        """Time in s for which it has to hold."""

    @property
    def later(self) -> float:
        """How long in s after that it begins, by what it finds then."""

    def condition(self, rows: Reals, span: Span) -> Reals:
        """Return (K,) values at (K, n + m + k + 1) rows of a span; above 0 it holds."""

    def changes(self, w: Reals, span: Span, ahead: Sequence[Change]) -> tuple[Change, ...]:
        """Return what happens from the point w of a span on, in order of time.

        `ahead` are changes of other conditional events that are still to be made.
        """


class Timers:
    """Conditions of one kind, and a timer for each.

    `running`, `due`: (D,) whether the condition holds; when the timer has run out, inf for never.
    `since`: (D,) from when on the condition holds, which may be ahead of the last point that counts.
    `at_zero`: Whether what acts at once does so at the zero of its condition itself.
    """

    def __init__(self, count: int) -> None:
        self.running: Bools = np.zeros(count, dtype=bool)
        self.out: Bools = np.zeros(count, dtype=bool)
        self.due: Reals = np.full(count, np.inf)
        self.since: Reals = np.full(count, -np.inf)
        self.last: Reals = np.zeros(count)
        self.at_zero = False

    def condition(self, rows: Reals, span: Span) -> Reals:
        """Return (K, D) values of the conditions at (K, n + m + k + 1) rows: above zero where they hold."""
        raise NotImplementedError

    def delays(self, span: Span) -> Reals:
        """Return (D,) times in s for which the conditions have to hold."""
        raise NotImplementedError

    def turn(self, device: int, holds: bool, t: float, delay: float) -> None:
        """Start or stop a timer at t in s."""
        self.running[device] = holds
        self.since[device] = t if holds else -np.inf
        self.due[device] = t + delay if holds else np.inf

    def begin(self, span: Span, rows: Reals, longest: float = np.inf) -> None:
        """Take note of the point, (1, n + m + k + 1), at which a span begins: conditions change at once.

        Those alone that have to hold for no longer than `longest` in s.
        """
        self.last = self.condition(rows, span)[0]
        holds = self.last > 0
        changed = np.flatnonzero(holds != self.running)
        if not changed.size:
            return
        delay = self.delays(span)
        for device in map(int, changed[delay[changed] <= longest]):
            self.turn(device, bool(holds[device]), span.t, float(delay[device]))

    def cross(self, last: Reals, value: Reals, rows: Reals, span: Span, small: float) -> float:
        """Turn the timers whose conditions change between two points of a span, with their (D,) values there.

        `rows` are the points, (2, n + m + k + 1), with their times in s; those closer than `small` are one.
        Returns where a condition is to be looked at before its timer can be turned, in s; inf for nowhere.
        """
        holds, (before, now), sought = value > 0, rows[:, -1].tolist(), np.inf
        for device in map(int, np.flatnonzero(holds != self.running)):
            if now < self.since[device]:
                # The run has gone back from where it begins to hold, and takes other steps to there.
                continue
            part = self._zero(device, (last[device], value[device]), rows, span)
            t = before + (now - before) * part
            # A timer that ran out before its condition ended acts.
            if last[device] > 0 and self.due[device] <= t + small:
                continue
            # A sample takes no time: nothing is sought between the point before and the one behind.
            near = AT_ZERO if self.at_zero else min(NEAR_ZERO, CLOSE / max(now - before, small))
            nearer = min(part, 1.0 - part)
            if holds[device] and nearer > near * (1.0 - nearer) and small < nearer * (now - before):
                sought = min(sought, t)
                continue
            delay = float(self.delays(span)[device])
            # What acts at once acts where its condition holds, on the far side of the line's zero.
            late = min(PAST * (now - before), LATEST) if delay <= small and not self.at_zero else 0.0
            self.turn(device, bool(holds[device]), min(t + late, now), delay)
        return sought

    def _zero(self, device: int, ends: tuple[float, float], rows: Reals, span: Span) -> float:
        """Return the part of the way between two points at which a condition changes, by its values there.

        Variables go along lines; the condition along them has kinks (`m.min`), and its first change counts.
        """
        low, high = 0.0, 1.0
        for _ in range(ROUNDS):
            parts = np.linspace(low, high, PIECES + 1)
            found = self.condition(rows[0] + parts[:, None] * (rows[1] - rows[0]), span)[:, device]
            changed = np.flatnonzero((found > 0) != self.running[device])
            if not changed.size or changed[0] == 0:
                break
            k = int(changed[0])
            (low, high), ends = parts[k - 1 : k + 1].tolist(), (found[k - 1], found[k])
        rise = ends[1] - ends[0]
        part = low + (high - low) * (-ends[0] / rise) if rise else high
        return min(max(part, low), high)


class ActionTimers(Timers):
    """The timers of one action of all devices of a group, and where its condition is read.

    `turns`: takes note of each that is started or stopped.
    `left`: (D,) what is left of the delay in s of those that pause.
    """

    def __init__(self, system: System, place: int, number: int, turns: list[Turn]) -> None:
        group = system.groups[place]
        super().__init__(len(group.names))
        action = group.compiled.component.actions[number]
        self.place, self.action, self.names = place, action, group.names
        self.number, self.turns, self.left = number, turns, np.full(len(group.names), np.inf)
        self.at_zero = action.at_zero
        acts_on = {device.name: device.acts_on for device in system.devices}
        self.acts_on = tuple(acts_on[name] for name in group.names)
        component = group.compiled.component
        self.index = group.index
        self.variables = {name: k for k, name in enumerate(local_variables(component))}
        self.parameters = {name: k for k, name in enumerate(parameters_of(component))}

    def turn(self, device: int, holds: bool, t: float, delay: float) -> None:
        """See `Timers`."""
        if holds:
            delay, self.left[device] = min(delay, self.left[device]), np.inf
        super().turn(device, holds, t, delay)
        self.turns.append(Turn(t, self.names[device], self.number, t + delay if holds else -np.inf))

    def go_on(self, turn: Turn) -> None:
        """Go on with a timer of another run."""
        device = self.names.index(turn.device)
        super().turn(device, True, turn.t, turn.due - turn.t)
        self.turns.append(turn)

    def given(self, parameters: Sequence[Reals], device: int | slice = slice(None)) -> Any:
        """Return the parameters by name."""
        matrix = parameters[self.place]
        return _Named(self.parameters, lambda k: matrix[device, k])

    def read(self, rows: Reals, device: int | slice = slice(None)) -> Any:
        """Return the variables by name in (K, n + m + k + 1) rows."""
        return _Named(self.variables, lambda k: rows[:, self.index[device, k]])

    def used(self, parameters: Sequence[Reals]) -> Bools:
        """Return (D,) whether each device has the action."""
        return np.broadcast_to(self.action.used(self.given(parameters)), (len(self.names),))

    def condition(self, rows: Reals, span: Span) -> Reals:
        """See `Timers`."""
        value = self.action.condition(NumericMath, self.read(rows), self.given(span.parameters))
        asleep = self.out | ~self.used(span.parameters)
        return np.where(asleep, -1.0, np.broadcast_to(value, (len(rows), len(self.names))))

    def delays(self, span: Span) -> Reals:
        """See `Timers`."""
        return np.broadcast_to(self.action.delay(self.given(span.parameters)), self.running.shape)


class EventTimer(Timers):
    """The timer of an event that happens when a condition has held for a time."""

    def __init__(self, event: ConditionalEvent) -> None:
        super().__init__(1)
        self.event = event

    def condition(self, rows: Reals, span: Span) -> Reals:
        """See `Timers`; one that has happened does not again."""
        if self.out[0]:
            return np.full((len(rows), 1), -1.0)
        return self.event.condition(rows, span)[:, None]

    def delays(self, span: Span) -> Reals:
        """See `Timers`."""
        return np.array([self.event.delay])


def under_way(turns: Sequence[Turn], t: float, devices: Collection[str]) -> tuple[Turn, ...]:
    """Return the timers of devices that run at t in s, or have run out while their conditions hold."""
    last = {(turn.device, turn.action): turn for turn in turns if turn.t <= t and turn.device in devices}
    held = [turn for turn in last.values() if turn.due > -np.inf]
    return tuple(turn if turn.due > t else replace(turn, due=np.inf) for turn in held)


Values = tuple[tuple[str, str, float], ...]

MOST_AT_ONCE = 100
"""Actions at one instant after which devices are taken to switch each other to and fro."""


ChangeResolver = Callable[[Change, Reals, Span], Change]


def as_given(change: Change, w: Reals, span: Span) -> Change:
    """Return a change that does not depend on the point."""
    return change


class Actions:
    """The actions of a system's devices in a run.

    `system`: The DAE.
    `lost_with`: Returns the names of the devices that go out of service with one that trips.
    `respond`: Returns the parameters, (device, parameter, value), that follow from the others of a system
      without the devices that are out, where they do not yet; None where none do.
    `events`: Events that happen when a condition has held for a time.
    `ahead`: Changes at their times that depend on the point that they find.
    `found`: Returns what a change is, of those that depend on the point: by the change, the point w and the
      span.

    `acted`: Changes that were made, in order of time.
    `turns`: Timers of devices that were started or stopped.
    `sought`: Where a condition is to be looked at next to find its zero, inf for nowhere.
    """

    def __init__(
        self,
        system: System,
        lost_with: Callable[[str], tuple[str, ...]],
        respond: Callable[[System, Collection[str]], Values] | None = None,
        events: Sequence[ConditionalEvent] = (),
        ahead: Iterable[Change] = (),
        found: ChangeResolver = as_given,
    ) -> None:
        self.system, self.lost_with, self.respond = system, lost_with, respond
        self.acted: list[Change] = []
        self.turns: list[Turn] = []
        self.span: Span
        self._declared = [
            ActionTimers(system, place, number, self.turns)
            for place, group in enumerate(system.groups)
            for number in range(len(group.compiled.component.actions))
        ]
        for turn in system.timers:
            of = [w for w in self._declared if turn.device in w.names and w.number == turn.action]
            of[0].go_on(turn)
        self._seen: Sequence[Reals] = ()
        self.devices: list[ActionTimers] = []
        self.events = [EventTimer(event) for event in events]
        self.watched: list[Timers] = []
        self._watch(system.parameters)
        self.ahead, self.found = list(ahead), found
        self.t = 0.0
        self.tail: Reals = np.empty(0)
        self.before: Reals = system.w0[None, :]
        self.left = self.before
        self.small = 0.0
        self.delayed: Delayed | None = None
        self.sought = np.inf
        self.out = frozenset[str]()

    def __bool__(self) -> bool:
        return bool(self.watched or self.ahead) or self.respond is not None

    def start(self, small: float, delayed: Delayed | None) -> None:
        """Take a time in s below which instants are one, and what is read with a delay."""
        self.small, self.delayed = small, delayed

    @property
    def due(self) -> float:
        """When the next action is due, or a point is needed, in s; inf for never."""
        times = (*(change.t for change in self.ahead), *(float(w.due.min()) for w in self.watched))
        return min((self.sought, *times))

    def begin(self, span: Span, w: Reals) -> None:
        """Take note of the point w, at which a span begins: conditions change at once."""
        self.span, self.t, self.tail = span, span.t, w[self.system.n + self.system.m :].copy()
        self.left = w[None, :].copy()
        self._watch(span.parameters)
        self._without(span.out)
        for timers in self.watched:
            timers.begin(span, w[None, :])

    def at_once(self, span: Span, w: Reals) -> bool:
        """Return whether anything acts at the instant of a span by the point w to which it has led."""
        self.span = span
        self._watch(span.parameters)
        self._without(span.out)
        for timers in self.watched:
            timers.begin(span, w[None, :], self.small)
        return self.due <= span.t + self.small

    def _watch(self, parameters: Sequence[Reals]) -> None:
        """Watch the actions that some device has by now: what a change sets may give it a further one."""
        seen: Sequence[Reals | None] = self._seen or [None] * len(parameters)
        self.devices = [
            timers
            for timers in self._declared
            if timers in self.devices
            or (parameters[timers.place] is not seen[timers.place] and timers.used(parameters).any())
        ]
        self.watched = [*self.devices, *self.events]
        self._seen = tuple(parameters)

    def dependent(self, span: Span) -> Values:
        """Return the parameters that follow from the others of a span, where they do not yet."""
        if self.respond is None:
            return ()
        return self.respond(replace(self.system, parameters=span.parameters), span.out)

    def look(self, t: Reals, points: Reals) -> int | None:
        """Return how many of (K,) times and (K, n + m) points come before an action, None for all.

        The points after those are not looked at.
        """
        self.sought = np.inf
        if not len(t):
            return None
        rows = np.hstack([points, np.tile(self.tail, (len(points), 1))])
        rows[:, -1] = t
        if t[-1] > self.t:  # otherwise the point at which a span begins, as it is in w
            rows[:, self.system.n + self.system.m : -1] = self.span.held_at_rows(t)
            if self.delayed is not None:
                self.delayed.fill(rows)
        values = [timers.condition(rows, self.span) for timers in self.watched]
        for k in self._of_interest(t, values):
            ends = np.vstack([self.left, rows[:1]]) if k == 0 else rows[k - 1 : k + 1]
            for timers, value in zip(self.watched, values, strict=True):
                last = timers.last if k == 0 else value[k - 1]
                sought = timers.cross(last, value[k], ends, self.span, self.small)
                self.sought = min(self.sought, sought)
            if self.due < t[k] - self.small:
                self._keep(values, rows, k - 1)
                return k
        self._keep(values, rows, len(t) - 1)
        return None

    def _keep(self, values: Sequence[Reals], rows: Reals, k: int) -> None:
        """Take note of the last point that counts; k = -1: none of these."""
        if k < 0:
            return
        self.t, self.before = float(rows[k, -1]), rows[k : k + 1].copy()
        self.left = self.before
        for timers, value in zip(self.watched, values, strict=True):
            timers.last = value[k]

    def _of_interest(self, t: Reals, values: Sequence[Reals]) -> Iterator[int]:
        """Yield the points at which a condition may change or an action may be overdue."""
        k = 0
        while k < len(t):
            late = np.searchsorted(t, self.due + self.small)
            places = [int(late)] if late < len(t) else []
            for timers, value in zip(self.watched, values, strict=True):
                changed = np.flatnonzero(((value[k:] > 0) != timers.running).any(axis=1))
                places += [k + int(changed[0])] if changed.size else []
            if not places:
                return
            k = max(k, min(places))
            yield k
            k += 1

    def act(self, t: float, w: Reals, span: Span, waiting: bool) -> Change:
        """Return what the devices change that are due at t in s, at the point w, beside what begins a span.

        Changes that depend on the point wait for another one where others are made first (`waiting`).
        """
        self.span = span
        parameters: dict[tuple[str, str], float] = {}
        out: list[str] = []
        words: list[str] = []
        acts: list[Act] = []
        protects = False
        for timers in self.devices:
            for device in map(int, np.flatnonzero(timers.due <= t + self.small)):
                name, action = timers.names[device], timers.action
                timers.due[device] = np.inf
                timers.running[device] &= not action.again
                v, p = timers.read(w[None, :], device), timers.given(self.span.parameters, device)
                v.before = timers.read(self.before, device)
                other = timers.acts_on[device]
                v.acts_on = self._parameters_of(other, parameters) if other else None
                effect = action.effect(v, p)
                acts += action.act(name, effect)
                for key, value in effect.items():
                    owner, _, parameter = key.rpartition(".")
                    owner = other if owner == "acts_on" else owner or name
                    parameters[owner, parameter] = float(np.ravel(value)[0])
                out += self.lost_with(other or name) if action.trips else ()
                protects |= action.trips or action.protects
                said = action.name if action.words is None else action.words(p, other)
                words += [f"{name}: {said}"] if said else []
        values = tuple((owner, parameter, value) for (owner, parameter), value in parameters.items())
        gone = tuple(dict.fromkeys(out))
        change = Change(t, values, label="; ".join(words), out=gone, protects=protects, acts=tuple(acts))
        for event in self._due_events(t, w, waiting):
            change = change.followed_by(event)
        return change

    def _due_events(self, t: float, w: Reals, waiting: bool) -> list[Change]:
        """Return what events change at t in s, at the point w; what they change later is kept."""
        for timer in self.events:
            if timer.due[0] > t + self.small:
                continue
            later = 0.0 if timer.out[0] else timer.event.later
            timer.due[0], timer.out[0] = t + later if later else np.inf, True
            timer.running[0] &= not later
            if not later:
                self.ahead += timer.event.changes(w, self.span, self.ahead)
        now = [] if waiting else self.changes_due(t)
        self.ahead = [change for change in self.ahead if change not in now]
        return [self.found(change, w, self.span) for change in now]

    def changes_due(self, t: float) -> list[Change]:
        """Return the changes that were kept until t in s."""
        return [change for change in self.ahead if change.t <= t + self.small]

    def _without(self, out: frozenset[str]) -> None:
        """Take note of the devices out of service: they do not act, nor does what acts on them."""
        for timers in self._declared if out != self.out else ():
            gone = np.isin(timers.names, list(out)) | np.isin(timers.acts_on, list(out))
            if timers.action.pauses:
                stopped = gone & ~timers.out & np.isfinite(timers.due)
                timers.left[stopped] = timers.due[stopped] - self.span.t
            timers.out = gone
            timers.due[gone] = np.inf
        self.out = out

    def _parameters_of(self, name: str, made: Mapping[tuple[str, str], float]) -> SimpleNamespace:
        """Return the parameters of a device by name, with those that are `made` at this instant already."""
        device = next(d for d in self.system.devices if d.name == name)
        names = tuple(parameters_of(device.component))
        place, row, _ = self.system.parameter_place(name, names[0])
        known = dict(zip(names, self.span.parameters[place][row].tolist(), strict=True))
        known |= {parameter: value for (owner, parameter), value in made.items() if owner == name}
        return SimpleNamespace(**known)

    def problem(self, t: float) -> str | None:
        """Return what is wrong where devices act without end at one instant."""
        here = [change for change in self.acted if abs(change.t - t) <= self.small]
        if len(here) <= MOST_AT_ONCE:
            return None
        return f"{here[-1].label or here[-1].parameters[0][0]}: acts to and fro without end at t = {t:.6g} s"
