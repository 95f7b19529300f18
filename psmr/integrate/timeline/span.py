"""What holds from when to when in a run: changes, the spans that they begin, and what is in service."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from psmr.base.arrays import Reals
from psmr.base.errors import EventError
from psmr.dae.declare.component import Act
from psmr.dae.system.system import System
from psmr.integrate.solve.courses import NOTHING, Course, Courses, Delayed, Place
from psmr.integrate.timeline.delayed_inputs import DelayedInputs


@dataclass(frozen=True)
class OutOfService:
    """The devices that are out of service from an instant on.

    `gone`: Those that stay out: tripped, or lost with the part of the network that they were in.
    `dead`: Buses of the parts that nothing supplies.
    `out`: All of them, with what returns when its part is supplied again.
    """

    gone: frozenset[str] = frozenset()
    dead: frozenset[str] = frozenset()
    out: frozenset[str] = frozenset()


class Service(Protocol):
    """Says which devices are in service; see `psmr.network.topology.islands.DeadParts`."""

    def after(self, parameters: Sequence[Reals], gone: frozenset[str]) -> OutOfService:
        """Return what is out of service, by parameter matrices and devices that stay out."""

    def put(self, w: Reals, before: OutOfService, now: OutOfService) -> Collection[str]:
        """Write into w where the variables of devices that left stand still, and a guess of what returns.

        Returns the devices whose states begin at rest.
        """


class AsTripped:
    """Only what trips is out of service."""

    def after(self, parameters: Sequence[Reals], gone: frozenset[str]) -> OutOfService:
        """See `Service`."""
        return OutOfService(gone=gone, out=gone)

    def put(self, w: Reals, before: OutOfService, now: OutOfService) -> Collection[str]:
        """See `Service`: they keep their last values."""
        return ()


@dataclass(frozen=True)
class Cause:
    """What a change is part of.

    `event`: Place of the event in the list of the run's events.
    `part`: Which of its changes, in order of time, it is.
    """

    event: int
    part: int


@dataclass(frozen=True)
class Change:
    """New values of parameters and held inputs, and devices that go out of service, from an instant on.

    `t`: Instant in s.
    `parameters`: (device, parameter, value) triples.
    `inputs`: (full name of a held input, value) pairs.
    `label`: Words for messages and plots.
    `out`: Names of devices that go out of service until they come back: they inject nothing, and their own
      variables keep their last values.
    `rates`: (full name of a held input, rate per second) pairs: the input changes linearly from here on,
      until a change gives it another rate. One that is set (`inputs`) and has no rate here stands still.
    `protects`: Whether it is protection that acted.
    `courses`: (full name of a held input or of one of `Component.courses`, course) pairs: it follows the
      course from here on, until a change sets it.
    `states`: (full name of a state, value) pairs: what an opened or closed switch makes of it at once. Those
      of algebraic variables are where the solution begins.
    `back`: Names of devices that return to service with the states given here.
    `parts`: (device, part) pairs of loads and units of which a part trips or returns: what is connected of
      each then, as far as this event is concerned. The parameters are what that makes of them alone; together
      with other events they follow from `psmr.study.events.generator`, before an integration.
    `causes`: The events that make it; none where devices do by themselves.
    `acts`: What devices did by themselves, as far as it has a kind; what happened is read there, and not in
      the label.

    Raises EventError for a time or value that is not finite.
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
    acts: tuple[Act, ...] = ()

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
            acts=self.acts + other.acts,
        )

    def __str__(self) -> str:
        return self.label or f"change at t = {self.t:g} s"


def with_cause(changes: Iterable[Change], event: int) -> tuple[Change, ...]:
    """Return the changes of an event, in order of time, as those of the one at a place of the run's list."""
    return tuple(replace(change, causes=(Cause(event, part),)) for part, change in enumerate(changes))


@dataclass(eq=False)
class SampledRows:
    """What samples had written at successive rows of a run; an instant at which they write stands twice.

    `t`, `values`: (K,) times in s and (K, s) values: those of a span, or while a run goes of the last rows.
    """

    t: Reals
    values: Reals

    def at(self, t: Reals) -> Reals:
        """Return (L, s) values at times in s, behind samples there; they are held from row to row."""
        return self.values[np.maximum(np.searchsorted(self.t, t, side="right") - 1, 0)]

    def before(self, t: Reals) -> Reals:
        """Return (L, s) values at the times in s of rows, ahead of samples there."""
        return self.values[np.searchsorted(self.t, t, side="left")]


@dataclass(frozen=True, eq=False)
class Span:
    """What holds from an instant of a run to the next one.

    `t`: Time in s at which it begins.
    `parameters`: A (count, parameters) matrix for each group of the system, as it is then. Nothing writes
      into them.
    `inputs`: (k,) held inputs then.
    `devices`: What is out of service.
    `input_courses`, `parameter_courses`: What follows a course: held inputs by their place in `inputs`,
      parameters by their places.
    `changes`: What began it; none for the start of a run, and where the solution jumped or a past jump is
      read.
    `first`, `last`: Rows of the run: from `first` on, before `last`.
    `delayed`: What reads signals with a delay, as followers of a run get it; None where nothing does.
    `sampled`: What samples write, which are the first of the held inputs; None where nothing samples.
    """

    t: float
    parameters: tuple[Reals, ...]
    inputs: Reals
    devices: OutOfService = field(default_factory=OutOfService)
    input_courses: Mapping[int, Course] = field(default_factory=dict)
    parameter_courses: Mapping[Place, Course] = field(default_factory=dict)
    changes: tuple[Change, ...] = ()
    first: int = 0
    last: int = 0
    delayed: DelayedInputs | None = None
    sampled: SampledRows | None = None

    @property
    def rows(self) -> slice:
        """Rows of the run."""
        return slice(self.first, self.last)

    @property
    def out(self) -> frozenset[str]:
        """Devices out of service: they inject nothing and their variables stand still."""
        return self.devices.out

    @property
    def moves(self) -> bool:
        """Whether something follows a course."""
        return bool(self.input_courses or self.parameter_courses)

    @property
    def followed(self) -> bool:
        """Whether something is another at each stage of a step."""
        return bool(self.lines or self.parameter_courses)

    @property
    def staircases(self) -> dict[int, Course]:
        """The courses of held inputs that jump, by their place in `inputs`."""
        return {place: course for place, course in self.input_courses.items() if course.jumps}

    @property
    def lines(self) -> dict[int, Course]:
        """The courses of held inputs that do not jump, by their place in `inputs`."""
        return {place: course for place, course in self.input_courses.items() if not course.jumps}

    def held(self, t: Reals) -> Reals:
        """Return (K, k) held inputs at (K,) times in s, behind what jumps then."""
        found = np.empty((len(t), self.inputs.size))
        found[:] = self.inputs
        for place, course in self.input_courses.items():
            found[:, place] = course.at(t)
        if self.delayed is not None:
            found[:, self.delayed.places] = self.delayed.values(t, self.t)[0]
        if self.sampled is not None:
            found[:, : self.sampled.values.shape[1]] = self.sampled.at(t)
        return found

    def held_at_rows(self, t: Reals) -> Reals:
        """Return (K, k) held inputs at (K,) successive rows of the span, by their times in s.

        An instant at which inputs jump stands twice, before and behind the jump; where it is the last of
        several rows the run went no further than to the first of the two.
        """
        found = self.held(t)
        ahead = np.append(t[1:] == t[:-1], len(t) > 1) & (t != np.append(-np.inf, t[:-1]))
        if not ahead.any():
            return found
        for place, course in self.staircases.items():
            found[ahead, place] = course.before(t[ahead])
        if self.sampled is not None:
            found[ahead, : self.sampled.values.shape[1]] = self.sampled.before(t[ahead])
        return found

    def rates(self, t: float) -> Reals:
        """Return how fast the (k,) held inputs grow at t in s, in 1/s."""
        found = np.zeros(self.inputs.size)
        for place, course in self.input_courses.items():
            found[place] = course.rate_at(t)
        if self.delayed is not None:
            found[self.delayed.places] = self.delayed.values(np.array([t]), self.t)[1][0]
        return found

    def parameters_at(self, t: float) -> tuple[Reals, ...]:
        """Return the parameters at t in s."""
        if not self.parameter_courses:
            return self.parameters
        found = list(self.parameters)
        for group in {group for group, _, _ in self.parameter_courses}:
            found[group] = found[group].copy()
        for (group, row, column), course in self.parameter_courses.items():
            found[group][row, column] = course.at(t)
        return tuple(found)

    def parameters_of(self, group: int, devices: Sequence[int], t: Reals) -> Reals:
        """Return (K, count, parameters) values of devices of a group at (K,) times in s.

        The first axis has the length 1 where none of them moves.
        """
        found, whole = self.parameters[group][None, list(devices)], False
        for (own, row, column), course in self.parameter_courses.items():
            if own == group and row in devices:
                found = found if whole else np.repeat(found, len(t), axis=0)
                found[:, devices.index(row), column] = course.at(t)
                whole = True
        return found

    def courses(self, first: int, delayed: Delayed | None = None) -> Courses:
        """Return what follows a course, or the past, as blocks read it; what jumps is written into w.

        `first` is the position in w of the first held input.
        """
        if not self.followed and delayed is None:
            return NOTHING
        courses = {first + k: course for k, course in self.lines.items()}
        return Courses(courses, self.parameter_courses, delayed)

    def course_rows(self, a: float, b: float, same: float) -> Reals:
        """Return the times of the rows of lines between a and b in s; closer than `same` are one."""
        courses = (*self.lines.values(), *self.parameter_courses.values())
        if not courses:
            return np.zeros(0)
        t = np.unique(np.concatenate([course.t for course in courses]))
        t = t[(t > a + same) & (t < b - same)]
        return np.asarray(t[np.diff(t, prepend=-np.inf) > same])


def first_span(system: System, service: Service, w: Reals | None = None) -> Span:
    """Return what holds at the start of a run, at the point w or that of the system, before any change."""
    w = system.w0 if w is None else w
    devices = service.after(system.parameters, frozenset())
    inputs = w[system.n + system.m : -1].copy()
    return Span(float(w[-1]), tuple(system.parameters), inputs, devices)


def continued_span(span: Span, t: float) -> Span:
    """Return a span as it goes on from t in s."""
    return Span(
        t,
        span.parameters_at(t),
        span.held(np.array([t]))[0],
        span.devices,
        span.input_courses,
        span.parameter_courses,
        (),
        span.first,
        span.last,
        span.delayed,
        span.sampled,
    )


def span_after(system: System, span: Span, t: float, changes: Sequence[Change], service: Service) -> Span:
    """Return what holds from t in s on, where a span ends and changes are made, in their order.

    Without any what held goes on; `service` says which devices are in service.
    """
    span = continued_span(span, t)
    if not changes:
        return span
    held, inputs, parameters = system.n + system.m, span.inputs, list(span.parameters)
    input_courses, parameter_courses = dict(span.input_courses), dict(span.parameter_courses)
    copied = set[int]()
    for change in changes:
        for device, name, value in change.parameters:
            group, row, column = place = system.parameter_place(device, name)
            if group not in copied:
                parameters[group] = parameters[group].copy()
                copied.add(group)
            parameters[group][row, column] = value
            parameter_courses.pop(place, None)
        for name, value in change.inputs:
            k = system.index(name) - held
            inputs[k] = value
            input_courses.pop(k, None)
        for name, rate in change.rates:
            k = system.index(name) - held
            input_courses.pop(k, None)
            if rate != 0.0:
                input_courses[k] = Course.line(t, float(inputs[k]), rate)
        for name, course in change.courses:
            if name in system.names_u:
                input_courses[system.index(name) - held] = course
            else:
                device, _, parameter = name.rpartition(".")
                parameter_courses[system.parameter_place(device, parameter)] = course
    gone = out_of_service_after(span.devices.gone, changes)
    begun = Span(
        t, tuple(parameters), inputs, span.devices, input_courses, parameter_courses, tuple(changes),
        span.first, span.last, span.delayed, span.sampled,
    )  # fmt: skip
    if begun.moves or begun.delayed is not None:
        begun = replace(begun, parameters=begun.parameters_at(t), inputs=begun.held(np.array([t]))[0])
    return replace(begun, devices=service.after(begun.parameters, gone))


def out_of_service_after(gone: frozenset[str], changes: Iterable[Change]) -> frozenset[str]:
    """Return the devices that stay out after changes, in order of time, by those that did before."""
    for change in changes:
        gone = gone.difference(change.back).union(change.out)
    return gone


def spans_by_changes(system: System, changes: Sequence[Change], service: Service) -> Iterator[Span]:
    """Yield what holds at the start, and from the time of each change on, where only these are made."""
    span = first_span(system, service)
    yield span
    for t in sorted({change.t for change in changes}):
        span = span_after(system, span, t, [c for c in changes if c.t == t], service)
        yield span


def with_shared_ends(spans: Sequence[Span], rows: int) -> tuple[Span, ...]:
    """Return spans that have their first rows with their last ones; of `rows` rows in all.

    One that has no row, since its first point was refused, is left out.
    """
    ends = [*(span.first for span in spans[1:]), rows]
    pairs = zip(spans, ends, strict=True)
    return tuple(replace(span, last=end) for span, end in pairs if span.first < end)
