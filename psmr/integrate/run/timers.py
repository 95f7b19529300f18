"""Timers of conditions: how long each has held, when it is due, where between two points it begins to hold.

A condition is looked at in the accepted points. Where it begins to hold between two of them, the instant is
sought as the zero of the straight line through its values: the run goes back to the point before and takes a
shorter step to that zero, until one of the two values is small beside the other (regula falsi; one such step
as a rule). What acts at once acts a thousandth of a step later, where its condition holds.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from psmr.base.arrays import Reals
from psmr.dae.declare.component import NumericMath, Turn, local_variables, parameters_of
from psmr.dae.system.system import System
from psmr.integrate.constants import TUNED
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

ACCURACY = 10.0 * TUNED.least_tolerance
"""To what a condition is known where the network has just been solved."""

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
        # What is above zero by no more than a solution's accuracy may not be so once solved again.
        holds = self.last > np.where(self.running, 0.0, ACCURACY)
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
        (before, now), sought = rows[:, -1].tolist(), np.inf
        holds = value > np.where(self.running | (now > before), 0.0, ACCURACY)
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
