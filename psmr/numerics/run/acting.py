"""Devices that act by themselves in a run: conditions watched, their timers, and what they change.

A condition is looked at in the accepted points. Where it begins to hold between two of them, the instant is
sought as the zero of the straight line through its values: the run goes back to the point before and takes a
shorter step to that zero, until one of the two values is small beside the other (regula falsi; one such step
as a rule). What acts at once acts a thousandth of a step later, where its condition holds. A step also ends
where a timer does (`psmr.numerics.run.integrate`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psmr.dae.declare.action import Action
from psmr.dae.declare.component import local_variables, parameters_of
from psmr.dae.declare.mathematics import NumericMath
from psmr.dae.system.system import System
from psmr.numerics.run.trajectory import Change

Reals = NDArray[np.float64]
Bools = NDArray[np.bool_]

PAST = 1e-3
"""Part of a step by which what acts at once comes after the zero of its condition."""

NEAR_ZERO = 1e-2
"""Ratio of a condition's values around its zero at which the line through them is near enough."""

MOST_AT_ONCE = 100
"""Actions at one instant after which devices are taken to switch each other to and fro."""


class _Named:
    """Values by name, each taken when it is asked for: a condition reads a few of a device's many."""

    def __init__(self, places: Mapping[str, int], take: Callable[[int], Any]) -> None:
        self._places, self._take = places, take

    def __getattr__(self, name: str) -> Any:
        place = self._places.get(name)
        if place is None:
            raise AttributeError(f"there is no value {name!r}")
        return self._take(place)


class _Watched:
    """One action of all devices of a group: where its condition is read, and its timers.

    Attributes
    ----------
    running, due
        (D,) whether the condition holds; when the device acts, inf for never.
    since
        (D,) from when on the condition holds, which may be ahead of the last point that counts.
    """

    def __init__(self, system: System, place: int, action: Action) -> None:
        group = system.groups[place]
        self.place, self.action, self.names = place, action, group.names
        acts_on = {device.name: device.acts_on for device in system.devices}
        self.acts_on = tuple(acts_on[name] for name in group.names)
        component = group.compiled.component
        self.index = group.index
        self.variables = {name: k for k, name in enumerate(local_variables(component))}
        self.parameters = {name: k for k, name in enumerate(parameters_of(component))}
        count = len(group.names)
        self.running: Bools = np.zeros(count, dtype=bool)
        self.out: Bools = np.zeros(count, dtype=bool)
        self.due: Reals = np.full(count, np.inf)
        self.since: Reals = np.full(count, -np.inf)
        self.last: Reals = np.zeros(count)

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

    def condition(self, rows: Reals, parameters: Sequence[Reals]) -> Reals:
        """Return (K, D) values of the condition."""
        value = self.action.condition(NumericMath, self.read(rows), self.given(parameters))
        asleep = self.out | ~self.used(parameters)
        return np.where(asleep, -1.0, np.broadcast_to(value, (len(rows), len(self.names))))

    def turn(self, device: int, holds: bool, t: float, delay: float) -> None:
        """Start or stop a timer at t in s."""
        self.running[device] = holds
        self.since[device] = t if holds else -np.inf
        self.due[device] = t + delay if holds else np.inf


class Acting:
    """The actions of a system's devices in a run.

    Parameters
    ----------
    system
        The DAE.
    lost_with
        Returns the names of the devices that go out of service with one that trips.

    Attributes
    ----------
    acted
        Changes that were made, in order of time.
    sought
        Where a condition is to be looked at next to find its zero, inf for nowhere.
    """

    def __init__(self, system: System, lost_with: Callable[[str], tuple[str, ...]]) -> None:
        self.system, self.lost_with = system, lost_with
        self.acted: list[Change] = []
        self.parameters: Sequence[Reals] = system.parameters
        self.watched = [
            _Watched(system, place, action)
            for place, group in enumerate(system.groups)
            for action in group.compiled.component.actions
            if _Watched(system, place, action).used(system.parameters).any()
        ]
        self.t = 0.0
        self.tail: Reals = np.empty(0)
        self.before: Reals = system.w0[None, :]
        self.small = 0.0
        self.sought = np.inf

    def __bool__(self) -> bool:
        return bool(self.watched)

    def start(self, parameters: Sequence[Reals], small: float) -> None:
        """Take the matrices of parameters as they change, and a time in s below which instants are one."""
        self.parameters, self.small = parameters, small

    @property
    def due(self) -> float:
        """When the next action is due, or a point is needed, in s; inf for never."""
        return min(self.sought, *(float(w.due.min()) for w in self.watched), np.inf)

    def begin(self, t: float, w: Reals) -> None:
        """Take note of the point w, at which a span begins: conditions change at once."""
        self.t, self.tail = t, w[self.system.n + self.system.m :].copy()
        for watched in self.watched:
            value = watched.condition(w[None, :], self.parameters)[0]
            self._turn(watched, value > 0, t)
            watched.last = value

    def _turn(self, watched: _Watched, holds: Bools, t: float) -> None:
        changed = np.flatnonzero(holds != watched.running)
        if changed.size:
            delay = np.broadcast_to(watched.action.delay(watched.given(self.parameters)), holds.shape)
            for device in map(int, changed):
                watched.turn(device, bool(holds[device]), t, float(delay[device]))

    def look(self, t: Reals, points: Reals) -> int | None:
        """Return how many of (K,) times and (K, n + m) points come before an action, None for all.

        The points after those are not looked at.
        """
        self.sought = np.inf
        if not len(t):
            return None
        rows = np.hstack([points, np.tile(self.tail, (len(points), 1))])
        rows[:, -1] = t
        values = [watched.condition(rows, self.parameters) for watched in self.watched]
        for k in self._of_interest(t, values):
            before = self.t if k == 0 else float(t[k - 1])
            for watched, value in zip(self.watched, values, strict=True):
                last = watched.last if k == 0 else value[k - 1]
                self._cross(watched, last, value[k], before, float(t[k]))
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
        for watched, value in zip(self.watched, values, strict=True):
            watched.last = value[k]

    def _of_interest(self, t: Reals, values: Sequence[Reals]) -> Iterator[int]:
        """Yield the points at which a condition may change or an action may be overdue."""
        k = 0
        while k < len(t):
            late = np.searchsorted(t, self.due + self.small)
            places = [int(late)] if late < len(t) else []
            for watched, value in zip(self.watched, values, strict=True):
                changed = np.flatnonzero(((value[k:] > 0) != watched.running).any(axis=1))
                places += [k + int(changed[0])] if changed.size else []
            if not places:
                return
            k = max(k, min(places))
            yield k
            k += 1

    def _cross(self, watched: _Watched, last: Reals, value: Reals, before: float, now: float) -> None:
        """Turn the timers whose conditions change between two points."""
        holds = value > 0
        for device in map(int, np.flatnonzero(holds != watched.running)):
            if now < watched.since[device]:
                # The run has gone back from where it begins to hold, and takes other steps to there.
                continue
            rise = value[device] - last[device]
            part = -last[device] / rise if rise else 1.0
            t = before + (now - before) * min(max(part, 0.0), 1.0)
            # A timer that ran out before its condition ended acts.
            if last[device] > 0 and watched.due[device] <= t + self.small:
                continue
            sizes = sorted((abs(last[device]), abs(value[device])))
            far = sizes[0] > NEAR_ZERO * sizes[1] and self.small < min(t - before, now - t)
            if holds[device] and far:
                self.sought = min(self.sought, t)
                continue
            delay = float(
                np.broadcast_to(watched.action.delay(watched.given(self.parameters)), holds.shape)[device]
            )
            # What acts at once acts where its condition holds, on the far side of the line's zero.
            late = PAST * (now - before) if delay <= self.small else 0.0
            watched.turn(device, bool(holds[device]), min(t + late, now), delay)

    def act(self, t: float, w: Reals) -> Change:
        """Return what the devices change that are due at t in s, at the point w."""
        parameters: dict[tuple[str, str], float] = {}
        out: list[str] = []
        words: list[str] = []
        protects = False
        for watched in self.watched:
            for device in map(int, np.flatnonzero(watched.due <= t + self.small)):
                name, action = watched.names[device], watched.action
                watched.due[device] = np.inf
                watched.running[device] &= not action.again
                v, p = watched.read(w[None, :], device), watched.given(self.parameters, device)
                v.before = watched.read(self.before, device)
                other = watched.acts_on[device]
                v.acts_on = self._parameters_of(other, parameters) if other else None
                for key, value in action.effect(v, p).items():
                    owner, _, parameter = key.rpartition(".")
                    owner = other if owner == "acts_on" else owner or name
                    parameters[owner, parameter] = float(np.ravel(value)[0])
                out += self.lost_with(other or name) if action.trips else ()
                protects |= action.trips or action.protects
                said = action.name if action.words is None else action.words(p, other)
                words += [f"{name}: {said}"] if said else []
        values = tuple((owner, parameter, value) for (owner, parameter), value in parameters.items())
        gone = tuple(dict.fromkeys(out))
        change = Change(t, values, label="; ".join(words), out=gone, protects=protects)
        self.acted.append(change)
        self.lose(out)
        return change

    def lose(self, out: Sequence[str]) -> None:
        """Take note of devices that go out of service: they do not act any more, nor what acts on them."""
        for watched in self.watched if out else ():
            gone = np.isin(watched.names, out) | np.isin(watched.acts_on, out)
            watched.out |= gone
            watched.due[gone] = np.inf

    def _parameters_of(self, name: str, made: Mapping[tuple[str, str], float]) -> SimpleNamespace:
        """Return the parameters of a device by name, with those that are `made` at this instant already."""
        device = next(d for d in self.system.devices if d.name == name)
        names = tuple(parameters_of(device.component))
        place, row, _ = self.system.parameter_place(name, names[0])
        known = dict(zip(names, self.parameters[place][row].tolist(), strict=True))
        known |= {parameter: value for (owner, parameter), value in made.items() if owner == name}
        return SimpleNamespace(**known)

    def problem(self, t: float) -> str | None:
        """Return what is wrong where devices act without end at one instant."""
        here = [change for change in self.acted if abs(change.t - t) <= self.small]
        if len(here) <= MOST_AT_ONCE:
            return None
        return f"{here[-1].label or here[-1].parameters[0][0]}: acts to and fro without end at t = {t:.6g} s"
