"""What acts by itself in a run, devices and events on conditions: when each is due, what is changed.

Relays, trips and holds act when a condition has held for a time. A step ends where a timer does, or where a
condition is to be looked at (`psmr.integrate.run.integrate`); what is changed then are parameters and devices
in service, as by an event.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace

import numpy as np

from psmr.base.arrays import Reals
from psmr.dae.declare.component import Act, Turn, parameters_of
from psmr.dae.system.system import System
from psmr.integrate.run.timers import ActionTimers, ConditionalEvent, EventTimer, Timers
from psmr.integrate.solve.courses import Delayed
from psmr.integrate.timeline.span import Change, Span

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
