"""Generators that trip, whole or in parts, and plants that return to the network.

What is left of a load or a unit is the product of what each event has left of it. Everything else that sets
its data, a ramp, a series, a step, sets those of the whole, of which what is left has its part. What a plant
becomes that returns depends on the voltage that it finds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from psmr.base.arguments import explains_keywords, settle_fields
from psmr.base.errors import EventError, InitialisationError, shown
from psmr.dae.declare.device import Device
from psmr.dae.system.system import System
from psmr.integrate.solve.courses import Course
from psmr.integrate.timeline.span import Change
from psmr.network.start import equilibrium
from psmr.network.start.equilibrium import set_points, solve_plants
from psmr.network.start.limits import margins
from psmr.network.topology.islands import Plant, find_plant
from psmr.network.topology.network import find_branch, is_load, is_motor
from psmr.study.events.branch import in_service
from psmr.study.events.event import check_after, check_finite, check_time

if TYPE_CHECKING:
    from psmr.dae.system.system import System


@dataclass(frozen=True, kw_only=True)
class Synchronisation(Change):
    """A plant returns without power, and goes to its set-points; see `psmr.study.run.dependent_changes`.

    `plant`: The plant.
    `ramp`: Time in s in which it does.
    `set_points`: Full names of these held inputs.
    """

    plant: Plant
    ramp: float
    set_points: tuple[str, ...]

    @property
    def until(self) -> float:
        """Time in s at which it is at its set-points."""
        return self.t + self.ramp

    def refuse_impossible(self, system: System) -> None:
        """Raise EventError where the plant cannot be at rest without power, at the voltage of the start."""
        try:
            without_power(system, self.plant, 0.0)
        except InitialisationError as error:
            words = f"{self.label}: it cannot be at rest without power, from which it returns: {error}"
            raise EventError(f"{words}; drop reconnect, or widen that limit") from error


def synchronisation(system: System, t: float, plant: Plant, ramp: float) -> Synchronisation:
    """Return the synchronisation of a plant at t in s."""
    members = [device for device in system.devices if device.name in plant.devices]
    wanted = tuple(f"{device.name}.{name}" for device in members for name in set_points(device))
    label = f"{plant.name} synchronised"
    return Synchronisation(t, label=label, plant=plant, ramp=ramp, set_points=wanted)


def without_power(system: System, plant: Plant, turning: float) -> dict[str, float]:
    """Return a plant's variables and set-points without power, by full name; its angles turn in rad/s.

    Raises InitialisationError where it has no such equilibrium, or one outside its limits.
    """
    members = [
        replace(device, parameters=system.parameters_at(device.name))
        for device in system.devices
        if device.name in plant.devices
    ]
    variables = frozenset((*system.names_x, *system.names_y, *system.names_u[: system.s]))
    read = [target for device in members for target in device.connections.values()]
    outside = [name for name in read if name.rpartition(".")[0] not in plant.devices]
    given = {name: float(system.w0[system.index(name)]) for name in outside if name in variables}
    voltage = voltage_at(system, plant.bus)
    found = equilibrium.StartingPlant(plant.name, tuple(members), voltage, 0j, flows=given, turning=turning)
    start = solve_plants([found])
    w = system.w0.copy()
    for name, value in start.items():
        w[system.index(name)] = value
    beyond = [str(margin) for margin in margins(replace(system, w0=w), members) if margin.outside]
    if beyond:
        raise InitialisationError("; ".join(beyond))
    return start


def voltage_at(system: System, bus: str) -> complex:
    """Return the voltage of a bus at the start of a system."""
    re, im = (float(system.w0[system.index(f"{bus}.v_{part}")]) for part in ("re", "im"))
    return complex(re, im)


POWERS = ("p", "q")
"""Parameters of a static load that are in proportion to what is connected of it."""

RATINGS = ("s_n", "t_rate", "turbines")
"""Those of a unit: fewer equal units of the same per-unit data."""


def scaling(
    system: System, t: float, label: str, parts: Iterable[tuple[str, float]], out: tuple[str, ...] = ()
) -> Change:
    """Return the change at t in s that leaves (device, part) pairs connected and takes devices out."""
    parts = tuple(parts)
    wholes = [
        (device, name, part, system.parameter(device, name))
        for device, part in parts
        for name in scaled_names(system.device(device))
    ]
    alone = [(device, name, part * whole) for device, name, part, whole in wholes if whole != 0]
    return Change(t, tuple(alone), label=label, out=out, parts=parts)


def scaled_names(device: Device) -> tuple[str, ...]:
    """Return the parameters of a device that are in proportion to what is connected of it."""
    names = POWERS if is_load(device) and not is_motor(device) else RATINGS
    return tuple(name for name in names if name in device.parameters)


class Connected:
    """What is connected of devices as events trip parts of them and bring them back, and their whole data.

    `system`: The system before any of them.
    """

    def __init__(self, system: System) -> None:
        self._system = system
        self._names: dict[str, tuple[str, ...]] = {}
        self._values: dict[tuple[str, str], float | Course] = {}
        self._parts: dict[str, dict[int, float]] = {}

    def plain(self, change: Change, event: int) -> Change:
        """Return a change of an event, the next in order of time, with the values that hold.

        `event` tells the events apart that trip parts.
        """
        touched: dict[tuple[str, str], float | Course] = {}
        if not change.parts:
            touched |= {(device, name): value for device, name, value in change.parameters}
        for full, course in change.courses:
            device, _, name = full.rpartition(".")
            touched[device, name] = course
        for device, part in change.parts:
            self._parts.setdefault(device, {})[event] = part
            self._names[device] = scaled_names(self._system.device(device))
            for name in self._names[device]:
                value = self._values.get((device, name), self._system.parameter(device, name))
                touched.setdefault((device, name), value)
        self._values |= touched
        return _plain(
            change, touched, {d: math.prod(left.values()) for d, left in self._parts.items()}, self._names
        )

    def whole(self, system: System, t: float) -> System:
        """Return a system of t in s with the data of the wholes, where parts of devices are tripped."""
        return system.with_values(
            (device, name, float(value.at(t)) if isinstance(value, Course) else value)
            for (device, name), value in self._values.items()
            if name in self._names.get(device, ())
        )


def resolved_changes(system: System, changes: Iterable[tuple[Change, object]]) -> Iterator[Change]:
    """Yield plain changes of the values that hold, for (change, its event) pairs in order of time.

    Synchronisations stay as they are.
    """
    connected = Connected(system)
    for change, event in changes:
        yield change if isinstance(change, Synchronisation) else connected.plain(change, id(event))


def _plain(
    change: Change,
    touched: dict[tuple[str, str], float | Course],
    left: dict[str, float],
    names: dict[str, tuple[str, ...]],
) -> Change:
    """Return a change that sets what is touched, scaled where a part of the device is left."""
    if not any(device in left for device, _ in touched):
        return change
    parameters, courses = [], []
    for (device, name), value in touched.items():
        part = left.get(device, 1.0) if name in names.get(device, ()) else 1.0
        if isinstance(value, Course) and part:
            courses.append((f"{device}.{name}", Course(value.t, part * value.value, part * value.rate)))
        else:
            parameters.append((device, name, 0.0 if isinstance(value, Course) else part * value))
    return replace(change, parameters=tuple(parameters), courses=tuple(courses), parts=())


@explains_keywords(EventError)
@dataclass(frozen=True)
class GeneratorTrip:
    """A generator's breaker opens: the plant, machine or converter with its controllers, is lost, or a part.

    Parameters
    ----------
    generator
        Plant by name, ``"G2"``, or by its bus, ``2`` or ``"bus2"``. A bus with several generators needs the
        name.
    start
        Time of the trip in s.
    fraction
        Part of the plant that is lost: above 0, at most 1. Less than 1 is one or more of several equal units,
        or turbines, by the rating; the others go on as they are.
    transformer
        Branch that trips with it, its step-up transformer, as ``"1-4"`` or ``"transformer1-4"``; it closes
        with it again.
    reconnect
        Time in s at which the whole plant is synchronised; None: never.
    ramp
        Time in s in which it goes from no power back to its set-points after that; given with `reconnect`.

    Raises
    ------
    EventError
        For times that are no numbers, below zero or out of order, and a fraction out of range.

    Notes
    -----
    The plant injects nothing from the trip on, and its variables keep their last values: what the machine
    does behind the open breaker is not simulated. It comes back as `psmr.study.run.dependent_changes` says.
    """

    kind: ClassVar[str] = "generator-trip"

    generator: int | str
    start: float
    fraction: float = 1.0
    transformer: str | None = None
    reconnect: float | None = None
    ramp: float | None = None

    def __post_init__(self) -> None:
        settle_fields(self, EventError)
        check_time(self, "start", self.start)
        check_finite(self, "fraction", self.fraction)
        if not 0 < self.fraction <= 1:
            raise EventError(
                f"{self}: fraction = {self.fraction!r}; must be above 0 and at most 1 "
                "(0.5 trips one of two equal units)"
            )
        if self.transformer is not None and self.fraction < 1:
            raise EventError(f"{self}: transformer trips with the whole plant; leave it or fraction out")
        if self.reconnect is None:
            if self.ramp is not None:
                raise EventError(f"{self}: ramp = {shown(self.ramp)} without reconnect; give both or neither")
            return
        check_after(self, "reconnect", self.reconnect, self.start)
        if self.fraction < 1:
            raise EventError(f"{self}: reconnect is of the whole plant; leave it or fraction out")
        if self.ramp is None:
            raise EventError(f"{self}: reconnect = {self.reconnect:g} s without ramp; give both or neither")
        check_finite(self, "ramp", self.ramp)
        if self.ramp <= 0:
            raise EventError(
                f"{self}: ramp = {self.ramp:g} s; must be above 0, the plant returns without power"
            )

    def __str__(self) -> str:
        return f"trip of generator {self.generator}"

    @property
    def end(self) -> float | None:
        """Time of reconnection in s."""
        return self.reconnect

    def changes(self, system: System) -> tuple[Change, ...]:
        """Return the trip, and the return.

        Raises
        ------
        EventError
            When the generator is not there, or its bus has several; when the transformer is not there, or
            not at its bus.
        """
        plant = find_plant(system, self.generator, str(self))
        if self.fraction < 1:
            rated = [d.name for d in system.devices if d.name in plant.devices and scaled_names(d)]
            label = f"{100 * self.fraction:g} % of {plant.name} tripped"
            return (scaling(system, self.start, label, ((n, 1 - self.fraction) for n in rated)),)
        back: tuple[Change, ...] = ()
        if self.reconnect is not None and self.ramp is not None:
            back = (synchronisation(system, self.reconnect, plant, self.ramp),)
        if self.transformer is None:
            return Change(self.start, out=plant.devices, label=f"{plant.name} tripped"), *back
        branch = in_service(system, find_branch(system, self.transformer, str(self)), str(self))
        if plant.bus not in branch.ends:
            raise EventError(f"{self}: {branch.name} is not at {plant.bus}, where {plant.name} is")
        opened = ((branch.name, "status", 0.0),)
        label = f"{plant.name} and {branch.name} tripped"
        trip = Change(self.start, opened, out=plant.devices, label=label)
        if self.reconnect is None:
            return (trip,)
        closed = ((branch.name, "status", 1.0),)
        return trip, Change(self.reconnect, closed, label=f"{branch.name} closed"), *back
