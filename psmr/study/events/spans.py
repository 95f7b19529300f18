"""The stretches of a run between its events, and the system as each stretch has it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from psmr.base.arrays import Reals
from psmr.dae.declare.component import parameters_of
from psmr.dae.system.assemble import assemble
from psmr.dae.system.system import System
from psmr.integrate.run.changes import gone_after
from psmr.integrate.run.late_inputs import LateInputs
from psmr.integrate.run.service import OutOfService
from psmr.integrate.run.trajectory import Change
from psmr.integrate.solve.ramps import Course, Following, Place
from psmr.network.topology.dead_parts import DeadParts
from psmr.network.topology.network import branches, out_of_service

# Bound of the rounding of the times of points in s, far below any step.
TIME_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Span:
    """The rows of a run between two events, and what the events up to there have made of the system.

    Attributes
    ----------
    rows
        Rows of the run.
    t
        Time in s at which the span begins.
    parameters
        A (count, parameters) matrix for each group of the system.
    inputs, rates
        (k,) held inputs at `t`, and how fast they grow in 1/s.
    devices
        What is out of service.
    inputs_over, parameters_over
        Courses of held inputs, by their place in `inputs`, and of parameters, by their places.
    late
        What reads signals with a delay, of which `inputs` has the start; None where nothing does.
    """

    rows: slice
    t: float
    parameters: tuple[Reals, ...]
    inputs: Reals
    rates: Reals
    devices: OutOfService
    inputs_over: Mapping[int, Course] = field(default_factory=dict)
    parameters_over: Mapping[Place, Course] = field(default_factory=dict)
    late: LateInputs | None = None

    @property
    def out(self) -> frozenset[str]:
        """Devices that were taken out of service: they inject nothing and their variables stand still."""
        return self.devices.out

    def held(self, t: Reals) -> Reals:
        """Return (K, k) held inputs at (K,) times in s."""
        found = np.asarray(self.inputs + (t[:, None] - self.t) * self.rates)
        for place, course in self.inputs_over.items():
            found[:, place] = course.at(t)
        if self.late is not None:
            found[:, self.late.places] = self.late.values(t, self.t)[0]
        return found

    def values(self, t: Reals, x: Reals, y: Reals, places: NDArray[np.intp]) -> Reals:
        """Return (K, len(places)) values of states, algebraic variables and held inputs, by place in w."""
        parts = (x, y, self.held(t))
        begins = np.cumsum([0, *(part.shape[1] for part in parts[:-1])])
        which = np.searchsorted(begins, places, side="right") - 1
        found = np.empty((len(t), len(places)))
        for k, part in enumerate(parts):
            own = which == k
            found[:, own] = part[:, places[own] - begins[k]]
        return found

    @property
    def moves(self) -> bool:
        """Whether a held input ramps, or something follows a course."""
        return bool(self.rates.any() or self.inputs_over or self.parameters_over)

    def at(self, t: float) -> Span:
        """Return what the span is at t in s: the lines and the values that hold then."""
        inputs, rates, parameters = self.held(np.array([t]))[0], self.rates.copy(), self.parameters
        for place, course in self.inputs_over.items():
            rates[place] = course.rate_at(t)
        if self.late is not None:
            rates[self.late.places] = self.late.values(np.array([t]), self.t)[1][0]
        if self.parameters_over:
            parameters = tuple(matrix.copy() for matrix in parameters)
        for (group, row, column), course in self.parameters_over.items():
            parameters[group][row, column] = course.at(t)
        return Span(self.rows, t, parameters, inputs, rates, self.devices)

    def parameters_of(self, group: int, devices: Sequence[int], t: Reals) -> Reals:
        """Return (K, count, parameters) values of devices of a group at (K,) times in s.

        The first axis has the length 1 where none of them moves.
        """
        found, whole = self.parameters[group][None, list(devices)], False
        for (own, row, column), course in self.parameters_over.items():
            if own == group and row in devices:
                found = found if whole else np.repeat(found, len(t), axis=0)
                found[:, devices.index(row), column] = course.at(t)
                whole = True
        return found

    def following(self, first: int) -> Following:
        """Return what follows a course, for a block; `first` is the position in w of the first held input."""
        return Following({first + k: c for k, c in self.inputs_over.items()}, self.parameters_over)

    def absent(self, system: System) -> frozenset[str]:
        """Return the devices out of service: taken out, or with the status 0."""
        return self.out | out_of_service(system, self.parameters)


class Spans:
    """The spans of a run, one after another as they begin.

    Parameters
    ----------
    system
        The system of the run at its start.
    changes
        What the events do, in order of time.
    late
        What reads signals with a delay; it takes the points of the run.
    """

    def __init__(self, system: System, changes: Sequence[Change], late: LateInputs | None = None) -> None:
        self.system, self.changes, self._late = system, changes, late
        self._parameters, self._service = system.parameters, DeadParts(system)
        self._devices = self._service.after(self._parameters, frozenset())
        self._inputs, self._rates = system.u0, np.zeros(system.k)
        self._inputs_over: dict[int, Course] = {}
        self._parameters_over: dict[Place, Course] = {}
        self._since: float | None = None
        self._done = 0

    def add(self, change: Change) -> None:
        """Take note of what a device changes by itself, before the span that begins then."""
        self.changes = sorted((*self.changes, change), key=lambda known: known.t)

    def begin(self, t: float, rows: slice = slice(0)) -> Span:
        """Return the span that begins at t in s; the first one before any change, also before one then."""
        first, system = self._since is None, self.system
        since = t if self._since is None else self._since
        held = system.n + system.m
        self._inputs = self._inputs + (t - since) * self._rates
        until = self._done if first else _due(self.changes, t)
        if until > self._done:
            self._parameters = tuple(matrix.copy() for matrix in self._parameters)
            self._rates = self._rates.copy()
            self._inputs_over, self._parameters_over = dict(self._inputs_over), dict(self._parameters_over)
        for change in self.changes[self._done : until]:
            for device, name, value in change.parameters:
                group, row, column = place = system.parameter_place(device, name)
                self._parameters[group][row, column] = value
                self._parameters_over.pop(place, None)
            for name, value in change.inputs:
                self._inputs[system.index(name) - held] = value
                self._rates[system.index(name) - held] = 0.0
                self._inputs_over.pop(system.index(name) - held, None)
            for name, rate in change.rates:
                self._rates[system.index(name) - held] = rate
                self._inputs_over.pop(system.index(name) - held, None)
            for name, course in change.courses:
                if name in system.names_u:
                    self._inputs_over[system.index(name) - held] = course
                    self._rates[system.index(name) - held] = 0.0
                else:
                    device, _, parameter = name.rpartition(".")
                    self._parameters_over[system.parameter_place(device, parameter)] = course
        if until > self._done:
            gone = gone_after(self._devices.gone, self.changes[self._done : until])
            self._devices = self._service.after(self._parameters, gone)
        self._since, self._done = t, until
        for k, course in self._inputs_over.items():
            self._inputs[k] = course.at(t)
        return Span(
            rows,
            t,
            self._parameters,
            self._inputs,
            self._rates,
            self._devices,
            self._inputs_over,
            self._parameters_over,
            self._late,
        )


def devices_of(change: Change) -> frozenset[str]:
    """Return the devices that a change sets something of, or takes out."""
    named = (name for name, _ in (*change.inputs, *change.rates, *change.courses, *change.states))
    values = (device for device, _, _ in change.parameters)
    return frozenset([*values, *map(_owner, named), *change.out, *change.back])


def spans_of(
    system: System, t: Reals, changes: Sequence[Change], late: LateInputs | None = None
) -> tuple[Span, ...]:
    """Return the spans of a run with (K,) times t; the instant of a change stands twice in t.

    Parameters
    ----------
    system, t
        The system of the run at its start, and the run's times in s.
    changes
        What the events did, in order of time.
    late
        What reads signals with a delay.
    """
    begins = [0, *(np.flatnonzero(np.diff(t) == 0.0) + 1).tolist()]
    spans = Spans(system, changes, late)
    ends = [*begins[1:], len(t)]
    return tuple(
        spans.begin(float(t[begin]), slice(begin, end)) for begin, end in zip(begins, ends, strict=True)
    )


def spans_at_changes(system: System, changes: Sequence[Change], end: float) -> tuple[Span, ...]:
    """Return what a run begins with, and the span from the time of each change up to the end in s."""
    spans = Spans(system, changes)
    times = sorted({change.t for change in changes if change.t <= end})
    return tuple(spans.begin(t) for t in (0.0, *times))


def _due(changes: Sequence[Change], t: float) -> int:
    return sum(change.t <= t + TIME_ROUNDING for change in changes)


def out_at_start(system: System) -> frozenset[str]:
    """Return the devices that are out of service when a run begins: those that wait for a fault."""
    return DeadParts(system).after(system.parameters, frozenset()).out


def at_start(system: System) -> System:
    """Return the system without the devices that are out of service when a run begins."""
    if not out_at_start(system):
        return system
    span = Spans(system, ()).begin(float(system.w0[-1]))
    return system_in(system, span, system.x0, system.y0)


def altered(system: System, span: Span) -> bool:
    """Return whether the system of a span is another than the one that the run started with."""
    same = all(np.array_equal(a, b) for a, b in zip(system.parameters, span.parameters, strict=True))
    return (
        not same
        or span.out != out_at_start(system)
        or not np.array_equal(system.u0, span.inputs)
        or span.moves
    )


def driven(system: System, span: Span) -> bool:
    """Return whether a span moves by itself: an input or a load ramps, or something follows a course."""
    found = span.moves
    for group, matrix in zip(system.groups, span.parameters, strict=True):
        component = group.compiled.component
        names = tuple(parameters_of(component))
        found = found or bool(matrix[:, [names.index(name) for name in component.ramps]].any())
    return found


def system_in(system: System, span: Span, x: Reals, y: Reals, t: float | None = None) -> System:
    """Return the system as a span has it, without the devices that are out of service.

    What reads a variable of one of them has the value at which that stands still as a held input.

    Parameters
    ----------
    system, span
        The system of the run at its start, and the span.
    x, y
        (n,) states and (m,) algebraic variables of the whole system, from which it starts.
    t
        Time in s of that point; the beginning of the span where left out.
    """
    span = span.at(span.t if t is None else t)
    names = (*system.names_x, *system.names_y, *system.names_u)
    now = dict(zip(names, map(float, np.concatenate([x, y, span.inputs])), strict=True))
    out = _left_out(system, span)
    start = {name: value for name, value in now.items() if _owner(name) not in out}
    devices = []
    for device in system.devices:
        if device.name in out:
            continue
        stands = {port: of for port, of in device.connections.items() if _owner(of) in out}
        start |= {f"{device.name}.{port}": now[of] for port, of in stands.items()}
        connections = {port: of for port, of in device.connections.items() if port not in stands}
        values = system.parameters_at(device.name, span.parameters)
        devices.append(replace(device, parameters=values, connections=connections))
    left = assemble(devices, start, name=system.name)
    return replace(left, w0=left.buffer(t=span.t))


def _left_out(system: System, span: Span) -> frozenset[str]:
    """Return the devices out of service, and the branches of dead parts, which end at buses that are out."""
    dead = span.devices.dead
    return span.out.union(branch.name for branch in branches(system) if dead.intersection(branch.ends))


def _owner(name: str) -> str:
    return name.rpartition(".")[0]
