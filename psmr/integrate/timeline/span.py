"""What holds in a run from one instant to the next, and what the changes of an instant make of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from psmr.dae.system.system import System
from psmr.integrate.solve.ramps import Course, Delayed, Following, Place
from psmr.integrate.timeline.change import Change
from psmr.integrate.timeline.past import DelayedInputs
from psmr.integrate.timeline.service import OutOfService, Service

Reals = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Span:
    """What holds from an instant of a run to the next one.

    Attributes
    ----------
    t
        Time in s at which it begins.
    parameters
        A (count, parameters) matrix for each group of the system, as it is then. Nothing writes into them.
    inputs
        (k,) held inputs then.
    devices
        What is out of service.
    input_courses, parameter_courses
        What follows a course: held inputs by their place in `inputs`, parameters by their places.
    changes
        What began it; none for the start of a run, and where the solution jumped or a past jump is read.
    first, last
        Rows of the run: from `first` on, before `last`.
    delayed
        What reads signals with a delay, as followers of a run get it; None where nothing does.
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

    def held(self, t: Reals) -> Reals:
        """Return (K, k) held inputs at (K,) times in s."""
        found = np.tile(self.inputs, (len(t), 1))
        for place, course in self.input_courses.items():
            found[:, place] = course.at(t)
        if self.delayed is not None:
            found[:, self.delayed.places] = self.delayed.values(t, self.t)[0]
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

    def following(self, first: int, delayed: Delayed | None = None) -> Following:
        """Return what follows a course, or the past, as blocks read it.

        `first` is the position in w of the first held input.
        """
        courses = {first + k: course for k, course in self.input_courses.items()}
        return Following(courses, self.parameter_courses, delayed)

    def course_rows(self, a: float, b: float, same: float) -> Reals:
        """Return the times of the rows of all courses between a and b in s; closer than `same` are one."""
        if not self.moves:
            return np.zeros(0)
        courses = (*self.input_courses.values(), *self.parameter_courses.values())
        t = np.unique(np.concatenate([course.t for course in courses]))
        t = t[(t > a + same) & (t < b - same)]
        return np.asarray(t[np.diff(t, prepend=-np.inf) > same])


def first_span(system: System, service: Service, w: Reals | None = None) -> Span:
    """Return what holds at the start of a run, at the point w or that of the system, before any change."""
    w = system.w0 if w is None else w
    devices = service.after(system.parameters, frozenset())
    inputs = w[system.n + system.m : -1].copy()
    return Span(float(w[-1]), tuple(system.parameters), inputs, devices)


def going_on(span: Span, t: float) -> Span:
    """Return a span as it goes on from t in s."""
    inputs = span.held(np.array([t]))[0]
    return replace(span, t=t, inputs=inputs, parameters=span.parameters_at(t), changes=())


def span_after(system: System, span: Span, t: float, changes: Sequence[Change], service: Service) -> Span:
    """Return what holds from t in s on, where a span ends and changes are made, in their order.

    Parameters
    ----------
    system
        The system of the run.
    span
        What held before.
    t
        The instant.
    changes
        What is done then; without any what held goes on.
    service
        What says which devices are in service.
    """
    span = going_on(span, t)
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
    begun = replace(
        span,
        parameters=tuple(parameters),
        inputs=inputs,
        input_courses=input_courses,
        parameter_courses=parameter_courses,
        changes=tuple(changes),
    )
    begun = replace(begun, parameters=begun.parameters_at(t), inputs=begun.held(np.array([t]))[0])
    gone = gone_after(span.devices.gone, changes)
    return replace(begun, devices=service.after(begun.parameters, gone))


def gone_after(gone: frozenset[str], changes: Iterable[Change]) -> frozenset[str]:
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


def ending_where_the_next_begins(spans: Sequence[Span], rows: int) -> tuple[Span, ...]:
    """Return spans that have their first rows with their last ones; of `rows` rows in all.

    One that has no row, since its first point was refused, is left out.
    """
    ends = [*(span.first for span in spans[1:]), rows]
    pairs = zip(spans, ends, strict=True)
    return tuple(replace(span, last=end) for span, end in pairs if span.first < end)
