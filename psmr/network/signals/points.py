"""Points of a span of a run: their variables, what devices inject there, and how fast all of it moves."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import splu

from psmr.base.arrays import Reals
from psmr.dae.declare.component import parameters_of
from psmr.dae.system.complex_step import evaluated
from psmr.dae.system.places import cached_by_devices, device_rows, variable_places
from psmr.dae.system.system import System
from psmr.integrate.solve.courses import Course, Place
from psmr.integrate.timeline.span import Span
from psmr.network.sequence.unbalance import SequenceSolution
from psmr.network.topology.connections import Connections, system_in
from psmr.network.topology.islands import Source, centre_of_inertia, sources_of
from psmr.network.topology.network import bus_voltages, buses, nominal_frequency

Values = NDArray[Any]
"""Real ones, or complex ones with the derivative as imaginary part."""

STEP = 2.0**-100
"""Imaginary part of a complex step; to scale by a power of two rounds nothing."""


class Variables:
    """Where states and algebraic variables stand in a table of them, found once for many devices."""

    def __init__(self, places: Mapping[str, int]) -> None:
        self._places = places
        self._known: dict[tuple[tuple[str, ...], str], NDArray[np.intp]] = {}

    def of(self, devices: tuple[str, ...], variable: str) -> NDArray[np.intp]:
        """Return the places of a variable of each device."""
        if (devices, variable) not in self._known:
            places = [self._places[f"{device}.{variable}"] for device in devices]
            self._known[devices, variable] = np.array(places, dtype=np.intp)
        return self._known[devices, variable]


@cached_by_devices
def variables_of(system: System) -> Variables:
    """Return where the variables of a system stand."""
    return Variables(variable_places(system))


@dataclass(frozen=True, eq=False)
class Points:
    """K points of a span of a run, in order of time.

    `t`, `x`, `y`: (K,) times in s, (K, n) states and (K, m) algebraic variables.
    `variables`: where these stand.
    `connections`: what is connected there; None of a run without its system, which has bus voltages alone.
    `known_inputs`: (K, k) held inputs; None: as the span has them.
    `known_speeds`: (K, sources) speeds, which need the points before; None where nothing comes before.
    """

    t: Reals
    x: Values
    y: Values
    variables: Variables
    connections: Connections | None = None
    known_inputs: Values | None = None
    known_speeds: Reals | None = None

    @classmethod
    def of(
        cls, connections: Connections, t: Reals, x: Values, y: Values, inputs: Values | None = None
    ) -> Points:
        """Return points of a span in which this is connected."""
        return cls(t, x, y, variables_of(connections.system), connections, inputs)

    def __getitem__(self, rows: slice) -> Points:
        """Return some of them, with what was computed of them."""
        inputs, speeds = (
            part if part is None else part[rows] for part in (self.known_inputs, self.known_speeds)
        )
        some = replace(
            self, t=self.t[rows], x=self.x[rows], y=self.y[rows], known_inputs=inputs, known_speeds=speeds
        )
        known = (name for name in ("v", "frequencies") if name in self.__dict__)
        some.__dict__.update({name: self.__dict__[name][rows] for name in known})
        return some

    @property
    def connected(self) -> Connections:
        """What is connected there, of a run with its system."""
        assert self.connections is not None
        return self.connections

    @functools.cached_property
    def inputs(self) -> Values:
        """(K, k) held inputs."""
        return self.connected.span.held_at_rows(self.t) if self.known_inputs is None else self.known_inputs

    def at(self, places: NDArray[np.intp]) -> Values:
        """Return (K, places) values of states, algebraic variables and held inputs by their places."""
        n, m = self.x.shape[1], self.y.shape[1]
        if (places < n).all():
            return self.x[:, places]
        if (places >= n).all() and (places < n + m).all():
            return self.y[:, places - n]
        parts = [self.x, self.y, *([self.inputs] if (places >= n + m).any() else [])]
        begins = np.cumsum([0, *(part.shape[1] for part in parts[:-1])])
        which = np.searchsorted(begins, places, side="right") - 1
        found = np.empty((len(self.t), len(places)), dtype=np.result_type(*parts))
        for k, part in enumerate(parts):
            found[:, which == k] = part[:, places[which == k] - begins[k]]
        return found

    def variable(self, devices: tuple[str, ...], name: str) -> Values:
        """Return (K, devices) values of a variable of devices."""
        return self.at(self.variables.of(devices, name))

    def named(self, name: str) -> Values:
        """Return (K,) values of a variable by its full name."""
        place, n, m = self.connected.system.index(name), self.x.shape[1], self.y.shape[1]
        if place < n:
            return self.x[:, place]
        return self.y[:, place - n] if place < n + m else self.inputs[:, place - n - m]

    def magnitudes(self, devices: tuple[str, ...]) -> Values:
        """Return (K, devices) magnitudes of the voltages of devices."""
        return size(self.variable(devices, "v_re"), self.variable(devices, "v_im"))

    @functools.cached_property
    def v(self) -> Values:
        """(K, buses) magnitudes of the voltages of all buses in pu."""
        return self.magnitudes(buses(self.connected.system))

    @functools.cached_property
    def speeds(self) -> Values:
        """(K, sources) speeds, in parts of the nominal one."""
        if self.known_speeds is not None:
            return self.known_speeds
        system = self.connected.system
        return Speeds(system, sources_of(system)).of(self.t, self.x)

    @functools.cached_property
    def frequencies(self) -> Values:
        """(K, islands) frequencies of the turning islands, in parts of the nominal one."""
        sources = sources_of(self.connected.system)
        means = [
            centre_of_inertia(self.speeds[:, island.places], [sources[k] for k in island.places])
            for island in self.connected.turning
        ]
        return np.column_stack(means) if means else np.empty((len(self.t), 0))

    @functools.cached_property
    def cache(self) -> dict[object, Any]:
        """What several quantities take of the points, by a key of their own."""
        return {}

    @functools.cached_property
    def _injected(self) -> dict[tuple[str, str], Values]:
        return {}

    def injected(self, devices: Iterable[str]) -> Mapping[tuple[str, str], Values]:
        """Return (K,) values of each output of the named devices, and of others, by (device, output).

        They are those of the devices' own equations, with the parameters that hold there; a device out of
        service has none.
        """
        system, span = self.connected.system, self.connected.span
        groups: dict[int, list[int]] = {}
        for name in dict.fromkeys(devices):
            g, row = device_rows(system)[name]
            outputs = system.groups[g].compiled.component.outputs
            if outputs and (name, outputs[0]) not in self._injected:
                groups.setdefault(g, []).append(row)
        w = np.vstack([self.x.T, self.y.T, self.inputs.T, self.t]) if groups else np.empty((0, 0))
        for g, chosen in groups.items():
            group, component = system.groups[g], system.groups[g].compiled.component
            index, parameters = group.index[chosen], span.parameters_of(g, chosen, self.t)
            v, p = [w[own] for own in index.T], list(parameters.T)
            rows = evaluated(component, v, p, (len(index), len(self.t)))
            for column, row in enumerate(chosen):
                name = group.names[row]
                for output, values in zip(component.outputs, rows[-len(component.outputs) :], strict=True):
                    values = np.zeros(len(self.t)) if name in span.out else values[column]
                    self._injected[name, output] = values
        return self._injected

    @functools.cached_property
    def sequences(self) -> SequenceSolution:
        """The voltages of all sequences in a network of phasors."""
        system, span = self.connected.system, self.connected.span
        now = replace(system, parameters=tuple(matrix.copy() for matrix in span.parameters))
        re, im = bus_voltages(system, self.x, self.y)
        return SequenceSolution.of(now, re + 1j * im, span.out)

    def moving(self) -> Points:
        """Return the points with an imaginary part of how fast their variables move, by `STEP`."""
        slopes, step = rates(self.connected, self.t, self.x, self.y), 1j * STEP
        n = self.x.shape[1]
        return replace(self, x=self.x + step * slopes[:, :n], y=self.y + step * slopes[:, n:])


def size(a: Values, b: Values) -> Values:
    """Return the length of a vector by its two components."""
    return np.sqrt(a * a + b * b) if np.iscomplexobj(a) or np.iscomplexobj(b) else np.hypot(a, b)


class Speeds:
    """The speeds of sources, in parts of the nominal one.

    That of a machine is a state. A converter that forms the voltage has none: its speed at a point is the
    mean one over the step that ends there, from its angle, which is a state. Where no time has passed, at the
    start and at an event, it is the last one, and 1 at first. An infinite bus keeps 1.
    """

    def __init__(self, system: System, sources: Sequence[Source]) -> None:
        self._nominal = 2.0 * math.pi * (nominal_frequency(system) or 1.0)
        self._turning = [k for k, source in enumerate(sources) if source.speed]
        self._forming = [k for k, s in enumerate(sources) if not s.speed and math.isfinite(s.weight)]
        self._omega = np.array([system.index(sources[k].speed) for k in self._turning], dtype=np.intp)
        self._theta = np.array([system.index(sources[k].angle) for k in self._forming], dtype=np.intp)
        self._count, self._last = len(sources), np.ones(len(self._forming))
        self._before: tuple[float, Reals] | None = None

    def of(self, t: Reals, x: Reals) -> Reals:
        """Return (K, sources) speeds at the next (K,) times in s with (K, n) states."""
        speeds = np.ones((len(t), self._count))
        speeds[:, self._turning] = x[:, self._omega]
        if not self._forming:
            return speeds
        theta = x[:, self._theta]
        began, angle = (float(t[0]), theta[0]) if self._before is None else self._before
        passed = np.diff(t, prepend=began)[:, None]
        turned = np.diff(theta, axis=0, prepend=angle[None])
        with np.errstate(divide="ignore", invalid="ignore"):
            found = np.where(passed > 0.0, 1.0 + turned / (passed * self._nominal), self._last)
        self._before, self._last = (float(t[-1]), theta[-1].copy()), found[-1].copy()
        speeds[:, self._forming] = found
        return speeds


def angles_of(points: Points, members: Sequence[Source]) -> Values:
    """Return (K, members) angles in rad; that of an infinite bus is a held input."""
    system = points.connected.system
    angles = points.at(np.array([system.index(source.angle) for source in members], dtype=np.intp))
    return np.ascontiguousarray(angles)


def rates(connections: Connections, t: Reals, x: Reals, y: Reals) -> Reals:
    """Return (K, n + m) time derivatives of all variables at points of a span.

    Those of devices out of service are 0.
    """
    system, span = connections.system, connections.span
    left = _SystemLeft.of(connections, x, y)
    found, held = np.zeros((len(t), system.n + system.m)), span.held_at_rows(t)
    for row, time in enumerate(t.tolist()):
        found[row, left.places] = left.slope(span, time, x[row], y[row], held[row])
    return found


@dataclass(frozen=True, eq=False)
class _SystemLeft:
    """The system that a span leaves, and where its variables and inputs stand in that of the run.

    What reads a variable that stands still has it as an input that the system of the run does not have.
    """

    system: System
    n: int
    places: NDArray[np.intp]
    own: NDArray[np.bool_]
    held: NDArray[np.intp]
    courses: Mapping[Place, Course]
    moves: bool

    @staticmethod
    def of(connections: Connections, x: Reals, y: Reals) -> _SystemLeft:
        """Return that of a span, found once for it, from its first points."""
        known = connections.__dict__.get("left")
        if known is None:
            system, span = connections.system, connections.span
            now = system_in(system, span, x[0], y[0])
            if span.delayed is not None:  # what is read late is among the held inputs, with its rates
                now = replace(now, delays=())
            names = (*now.names_x, *now.names_y)
            courses, given = _courses_in(system, span, now), set(system.names_u)
            reads_time = any(
                device.parameters.get(n) for device in now.devices for n in device.component.ramps
            )
            known = connections.__dict__["left"] = _SystemLeft(
                now,
                system.n,
                np.array([system.index(name) for name in names], dtype=np.intp),
                np.array([name in given for name in now.names_u], dtype=bool),
                np.array(
                    [system.names_u.index(name) for name in now.names_u if name in given], dtype=np.intp
                ),
                courses,
                span.moves or span.delayed is not None or reads_time,
            )
        return known

    def slope(self, span: Span, t: float, x: Reals, y: Reals, held: Reals) -> Reals:
        """Return the derivatives of the variables that are left at t in s, with (k,) held inputs."""
        now = _with(self.system, self.courses, t, 0.0)
        n, u, by_time = now.n, now.u0.copy(), np.zeros(now.k)
        u[self.own] = held[self.held]
        by_time[self.own] = span.rates(t)[self.held]
        own = np.concatenate([x, y])[self.places]
        w = now.buffer(own[:n], own[n:], u, t)
        matrix, moving = now.jacobian(w), now.f(own[:n], own[n:], u, t)
        turning = matrix[n:, :n] @ moving
        if self.moves:
            turning = turning + _over_time(now, w, by_time, self.courses)
        return np.concatenate([moving, splu(matrix[n:, n:].tocsc()).solve(-turning)])


# Half the distance in s of the two points by which g is differentiated with respect to time. Loads and inputs
# ramp linearly, so that the difference is exact but for rounding, which a large distance makes small.
DISTANCE = 0.5


def _courses_in(system: System, span: Span, now: System) -> dict[Place, Course]:
    """Return the courses of parameters of a span by their places in the system that it has."""
    found = {}
    for (group, row, column), course in span.parameter_courses.items():
        device = system.groups[group].names[row]
        if device not in span.out:
            name = tuple(parameters_of(system.groups[group].compiled.component))[column]
            found[now.parameter_place(device, name)] = course
    return found


def _with(system: System, courses: Mapping[Place, Course], t: float, ahead: float) -> System:
    """Return the system with its courses as the lines that hold at t in s have them `ahead` s later."""
    if not courses:
        return system
    parameters = tuple(matrix.copy() for matrix in system.parameters)
    for (group, row, column), course in courses.items():
        parameters[group][row, column] = course.at(t) + ahead * course.rate_at(t)
    return replace(system, parameters=parameters)


def _over_time(system: System, w: Reals, slopes: Reals, courses: Mapping[Place, Course]) -> Reals:
    """Return (m,) derivatives of g with respect to time, at fixed x and y."""
    begin = system.n + system.m
    ends = []
    for side in (DISTANCE, -DISTANCE):
        moved = w.copy()
        moved[begin:-1] += side * slopes
        moved[-1] += side
        there = _with(system, courses, float(w[-1]), side)
        ends.append(there.residual(moved)[system.n :])
    return np.asarray((ends[0] - ends[1]) / (2 * DISTANCE))
