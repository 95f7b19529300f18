"""A change at an instant of a run: new values, devices that go out of service or return."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from psmr.base.errors import EventError
from psmr.integrate.solve.ramps import Course


@dataclass(frozen=True)
class Cause:
    """What a change is part of.

    Attributes
    ----------
    event
        Place of the event in the list of the run's events.
    part
        Which of its changes, in order of time, it is.
    """

    event: int
    part: int


@dataclass(frozen=True)
class Change:
    """New values of parameters and held inputs, and devices that go out of service, from an instant on.

    Attributes
    ----------
    t
        Instant in s.
    parameters
        (device, parameter, value) triples.
    inputs
        (full name of a held input, value) pairs.
    label
        Words for messages and plots.
    out
        Names of devices that go out of service until they come back: they inject nothing, and their own
        variables keep their last values.
    rates
        (full name of a held input, rate per second) pairs: the input changes linearly from here on, until a
        change gives it another rate. One that is set (`inputs`) and has no rate here stands still.
    protects
        Whether it is protection that acted.
    courses
        (full name of a held input or of one of `Component.courses`, course) pairs: it follows the course from
        here on, until a change sets it.
    states
        (full name of a state, value) pairs: what an opened or closed switch makes of it at once. Those of
        algebraic variables are where the solution begins.
    back
        Names of devices that return to service with the states given here.
    parts
        (device, part) pairs of loads and units of which a part trips or returns: what is connected of each
        then, as far as this event is concerned. The parameters are what that makes of them alone; together
        with other events they follow from `psmr.study.events.generator`, before an integration.
    causes
        The events that make it; none where devices do by themselves.

    Raises
    ------
    EventError
        For a time or value that is not finite.
    """

    t: float
    parameters: tuple[tuple[str, str, float], ...] = ()
    inputs: tuple[tuple[str, float], ...] = ()
    label: str = ""
    out: tuple[str, ...] = ()
    rates: tuple[tuple[str, float], ...] = ()
    protects: bool = False
    courses: tuple[tuple[str, Course], ...] = ()
    states: tuple[tuple[str, float], ...] = ()
    back: tuple[str, ...] = ()
    parts: tuple[tuple[str, float], ...] = ()
    causes: tuple[Cause, ...] = ()

    def __post_init__(self) -> None:
        if not math.isfinite(self.t):
            raise EventError(f"{self}: t = {self.t!r}; it must be a finite time in s")
        named = [(f"{device}.{name}", value) for device, name, value in self.parameters] + [
            *self.inputs,
            *self.states,
            *((f"rate of {name}", rate) for name, rate in self.rates),
        ]
        for name, value in named:
            if not math.isfinite(value):
                raise EventError(f"{self}: {name} = {value!r}; it must be finite")
        for name, course in self.courses:
            if not (
                np.isfinite([course.t, course.value, course.rate]).all() and (np.diff(course.t) > 0).all()
            ):
                raise EventError(f"{self}: the course of {name} must be finite, its times ascending")

    @property
    def until(self) -> float:
        """Time in s at which the last of its courses ends; its own without any."""
        return max([self.t, *(course.end for _, course in self.courses)])

    def values_at(self, t: float) -> Iterator[tuple[str, str, float]]:
        """Yield (device, parameter or held input, value) of what it sets; courses as they are at t in s.

        What follows from a part of a device is not among them: it sets nothing of the whole.
        """
        yield from () if self.parts else self.parameters
        for name, value in (*self.inputs, *((name, float(course.at(t))) for name, course in self.courses)):
            device, _, port = name.rpartition(".")
            yield device, port, value

    def set_over_time(self) -> Iterator[tuple[str, str, float]]:
        """Yield (device, parameter or held input, value) of what it sets, a course by each of its rows."""
        yield from self.parameters
        for name, course in self.courses:
            device, _, parameter = name.rpartition(".")
            yield from ((device, parameter, value) for value in course.value.tolist())

    def followed_by(self, other: Change) -> Change:
        """Return this change and another one at the same instant as one."""
        return replace(
            self,
            parameters=self.parameters + other.parameters,
            inputs=self.inputs + other.inputs,
            label="; ".join(filter(None, (self.label, other.label))),
            out=self.out + other.out,
            rates=self.rates + other.rates,
            protects=self.protects or other.protects,
            courses=self.courses + other.courses,
            states=self.states + other.states,
            back=self.back + other.back,
            parts=self.parts + other.parts,
            causes=self.causes + other.causes,
        )

    def __str__(self) -> str:
        return self.label or f"change at t = {self.t:g} s"


def caused(changes: Iterable[Change], event: int) -> tuple[Change, ...]:
    """Return the changes of an event, in order of time, as those of the one at a place of the run's list."""
    return tuple(replace(change, causes=(Cause(event, part),)) for part, change in enumerate(changes))
