"""Timers of relays and other devices that act by themselves: which run, and when each is due.

A condition is looked at in the accepted points. Where it begins to hold between two of them, the instant is
sought as the zero of the straight line through its values: the run goes back to the point before and takes a
shorter step to that zero, until one of the two values is small beside the other (regula falsi; one such step
as a rule). What acts at once acts a thousandth of a step later, where its condition holds. What a device does
when its timer has run out is said in `psmr.integrate.run.actions`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from psmr.dae.declare.component import Action, local_variables, parameters_of
from psmr.dae.declare.mathematics import NumericMath
from psmr.dae.system.system import System
from psmr.integrate.timeline.change import Change
from psmr.integrate.timeline.span import Span

Reals = NDArray[np.float64]
Bools = NDArray[np.bool_]

PAST = 1e-3
"""Part of a step by which what acts at once comes after the zero of its condition."""

NEAR_ZERO = 1e-2
"""Ratio of a condition's values around its zero at which the line through them is near enough."""

AT_ZERO = 1e-5
"""The same for what acts at the zero itself."""


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

    def condition(self, rows: Reals, span: Span) -> Reals:
        """Return (K,) values at (K, n + m + k + 1) rows of a span; above 0 it holds."""

    def changes(self, w: Reals, span: Span, ahead: Sequence[Change]) -> tuple[Change, ...]:
        """Return what happens from the point w of a span on, in order of time.

        `ahead` are changes of other conditional events that are still to be made.
        """


class Timers:
    """Conditions of one kind, and a timer for each.

    Attributes
    ----------
    running, due
        (D,) whether the condition holds; when the timer has run out, inf for never.
    since
        (D,) from when on the condition holds, which may be ahead of the last point that counts.
    at_zero
        Whether what acts at once does so at the zero of its condition itself.
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

    def cross(
        self,
        last: Reals,
        value: Reals,
        between: tuple[float, float],
        span: Span,
        small: float,
    ) -> float:
        """Turn the timers whose conditions change between two points.

        Parameters
        ----------
        last, value
            (D,) values of the condition at the two points.
        between
            Their times in s.
        span
            In which they lie.
        small
            Time in s below which instants are one.

        Returns
        -------
        float
            Where a condition is to be looked at before its timer can be turned, in s; inf for nowhere.
        """
        holds, (before, now), sought = value > 0, between, np.inf
        for device in map(int, np.flatnonzero(holds != self.running)):
            if now < self.since[device]:
                # The run has gone back from where it begins to hold, and takes other steps to there.
                continue
            rise = value[device] - last[device]
            part = -last[device] / rise if rise else 1.0
            t = before + (now - before) * min(max(part, 0.0), 1.0)
            # A timer that ran out before its condition ended acts.
            if last[device] > 0 and self.due[device] <= t + small:
                continue
            sizes = sorted((abs(last[device]), abs(value[device])))
            near = AT_ZERO if self.at_zero else NEAR_ZERO
            far = sizes[0] > near * sizes[1] and small < min(t - before, now - t)
            if holds[device] and far:
                sought = min(sought, t)
                continue
            delay = float(self.delays(span)[device])
            # What acts at once acts where its condition holds, on the far side of the line's zero.
            late = PAST * (now - before) if delay <= small and not self.at_zero else 0.0
            self.turn(device, bool(holds[device]), min(t + late, now), delay)
        return sought


class ActionTimers(Timers):
    """The timers of one action of all devices of a group, and where its condition is read."""

    def __init__(self, system: System, place: int, action: Action) -> None:
        group = system.groups[place]
        super().__init__(len(group.names))
        self.place, self.action, self.names = place, action, group.names
        self.at_zero = action.at_zero
        acts_on = {device.name: device.acts_on for device in system.devices}
        self.acts_on = tuple(acts_on[name] for name in group.names)
        component = group.compiled.component
        self.index = group.index
        self.variables = {name: k for k, name in enumerate(local_variables(component))}
        self.parameters = {name: k for k, name in enumerate(parameters_of(component))}

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
