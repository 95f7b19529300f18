"""Events: what happens to the system during a run, and when.

An event is a frozen record. `changes` turns it into instants at which parameters or held inputs of devices
take new values; everything it names is looked up there, so that a wrong name is an error before any time is
simulated.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

from psmr.dae.system import System
from psmr.errors import EventError, nearest
from psmr.numerics.march import Change
from psmr.study.network import Branch, at_buses, find_branch, find_bus, is_load, is_motor, loads


class Event(Protocol):
    """What every event offers."""

    @property
    def start(self) -> float:
        """Time of the first change in s."""

    @property
    def end(self) -> float | None:
        """Time at which it is undone in s, None if never."""

    def changes(self, system: System) -> tuple[Change, ...]:
        """Return the changes it makes, in order of time."""


@dataclass(frozen=True)
class Fault:
    """A three-phase short circuit at a bus through an impedance, cleared with or without a branch trip.

    Parameters
    ----------
    bus
        Bus as ``5`` or ``"bus5"``.
    start, clear
        Times in s at which the fault begins and ends.
    trip
        Branch that the clearing takes out of service, as ``"5-7"`` or ``"line5-7"``; None leaves the network
        whole.
    r, x
        Fault resistance and reactance in pu on the system base. The default, j 1e-4 pu, leaves about 0.1 % of
        the voltage on a bus with a short-circuit power of ten times the base: a bolted fault for every
        purpose, and a bus voltage that stays well defined.

    Raises
    ------
    EventError
        For times that are out of order and for an impedance that is zero or has a negative resistance.
    """

    bus: int | str
    start: float
    clear: float
    trip: str | None = None
    r: float = 0.0
    x: float = 1e-4

    def __post_init__(self) -> None:
        _time(self, "start", self.start)
        _after(self, "clear", self.clear, self.start)
        _finite(self, "r", self.r)
        _finite(self, "x", self.x)
        if self.r < 0 or self.r == self.x == 0:
            raise EventError(
                f"{self}: fault impedance r + jx = {self.r:g} + j{self.x:g} pu; "
                "r must be >= 0 and not both may be 0, a bolted fault is x = 1e-4"
            )

    def __str__(self) -> str:
        return f"fault at {_bus(self.bus)}"

    @property
    def end(self) -> float | None:
        """Time of clearing in s."""
        return self.clear

    def changes(self, system: System) -> tuple[Change, ...]:
        """Return the closing and the opening of the fault's admittance to ground.

        Raises
        ------
        EventError
            When the bus or the branch is not there.
        """
        bus = find_bus(system, self.bus, str(self))
        square = self.r**2 + self.x**2
        on = ((bus, "g_fault", self.r / square), (bus, "b_fault", -self.x / square))
        off: tuple[tuple[str, str, float], ...] = ((bus, "g_fault", 0.0), (bus, "b_fault", 0.0))
        label = f"fault at {bus} cleared"
        if self.trip is not None:
            line = _in_service(system, find_branch(system, self.trip, str(self)), str(self))
            off = (*off, (line.name, "status", 0.0))
            label += f", {line.name} tripped"
        return (
            Change(self.start, parameters=on, label=f"fault at {bus}"),
            Change(self.clear, parameters=off, label=label),
        )


@dataclass(frozen=True)
class LoadTrip:
    """Part of the load at a bus is lost and, if asked for, comes back.

    A motor among the loads goes out of service as a whole, which only the whole load (`fraction` 1) can do,
    and does not come back.

    Parameters
    ----------
    bus
        Bus as ``5`` or ``"bus5"``.
    start
        Time of the trip in s.
    fraction
        Part that is lost, of what the loads at the bus draw by their data: above 0, at most 1.
    reconnect
        Time in s at which the load is whole again; None: never.

    Raises
    ------
    EventError
        For times that are out of order and for a fraction out of range.
    """

    bus: int | str
    start: float
    fraction: float
    reconnect: float | None = None

    def __post_init__(self) -> None:
        _time(self, "start", self.start)
        _finite(self, "fraction", self.fraction)
        if not 0 < self.fraction <= 1:
            raise EventError(
                f"{self}: fraction = {self.fraction!r}; must be above 0 and at most 1 "
                "(0.5 trips half of the load)"
            )
        if self.reconnect is not None:
            _after(self, "reconnect", self.reconnect, self.start)

    def __str__(self) -> str:
        return f"load trip at {_bus(self.bus)}"

    @property
    def end(self) -> float | None:
        """Time of reconnection in s."""
        return self.reconnect

    def changes(self, system: System) -> tuple[Change, ...]:
        """Return the loss of load and its return.

        Raises
        ------
        EventError
            When the bus is not there or has no load, or when a part of a motor would trip or come back.
        """
        bus = find_bus(system, self.bus, str(self))
        motors = tuple(d.name for d in at_buses(system)[bus] if is_motor(d))
        if motors and (self.fraction < 1 or self.reconnect is not None):
            raise EventError(
                f"{self}: {' and '.join(motors)} at {bus} is a motor, which trips as a whole and for good;"
                " give fraction = 1 and no reconnect, or give the motor a bus of its own"
            )
        tripped = loads(system, bus)
        if not (tripped or motors):
            loaded = [name for name, there in at_buses(system).items() if any(map(is_load, there))]
            raise EventError(f"{self}: {bus} has no load; there are loads at {', '.join(loaded) or 'no bus'}")
        whole = tuple((d.name, q, system.parameter(d.name, q)) for d in tripped for q in ("p", "q"))
        left = tuple((device, q, (1 - self.fraction) * value) for device, q, value in whole)
        first = Change(
            self.start,
            parameters=left,
            label=f"{100 * self.fraction:g} % of the load at {bus} trips",
            out=motors,
        )
        if self.reconnect is None:
            return (first,)
        return first, Change(self.reconnect, parameters=whole, label=f"load at {bus} reconnected")


@dataclass(frozen=True)
class LineTrip:
    """A line or transformer is taken out of service and, if asked for, put back.

    Parameters
    ----------
    line
        Branch by its buses, ``"5-7"``, or by name, ``"line5-7"``.
    start
        Time of the trip in s.
    reclose
        Time in s at which it is in service again; None: never.

    Raises
    ------
    EventError
        For times that are out of order.
    """

    line: str
    start: float
    reclose: float | None = None

    def __post_init__(self) -> None:
        _time(self, "start", self.start)
        if self.reclose is not None:
            _after(self, "reclose", self.reclose, self.start)

    def __str__(self) -> str:
        return f"trip of line {str(self.line).removeprefix('line')}"

    @property
    def end(self) -> float | None:
        """Time of reclosing in s."""
        return self.reclose

    def changes(self, system: System) -> tuple[Change, ...]:
        """Return the trip and the reclosing.

        Raises
        ------
        EventError
            When the branch is not there or is out of service already.
        """
        line = _in_service(system, find_branch(system, self.line, str(self)), str(self)).name
        first = Change(self.start, parameters=((line, "status", 0.0),), label=f"{line} tripped")
        if self.reclose is None:
            return (first,)
        return first, Change(self.reclose, parameters=((line, "status", 1.0),), label=f"{line} reclosed")


@dataclass(frozen=True)
class SetPoint:
    """A held input of a device (a reference, for instance ``v_ref`` or ``p_ref``) steps to a new value.

    Parameters
    ----------
    device, name
        Device and its held input.
    value
        New value in the input's unit.
    start
        Time of the step in s.

    Raises
    ------
    EventError
        For a value or time that is not a number.
    """

    device: str
    name: str
    value: float
    start: float

    def __post_init__(self) -> None:
        _time(self, "start", self.start)
        _finite(self, "value", self.value)

    def __str__(self) -> str:
        return f"step of {self.device}.{self.name}"

    @property
    def end(self) -> float | None:
        """None: a step is not undone."""
        return None

    def changes(self, system: System) -> tuple[Change, ...]:
        """Return the step.

        Raises
        ------
        EventError
            When the device has no such held input.
        """
        full = f"{self.device}.{self.name}"
        if full in system.names_u:
            return (Change(self.start, inputs=((full, self.value),), label=f"{full} = {self.value:g}"),)
        devices = {d.name: d for d in system.devices}
        if self.device not in devices:
            raise EventError(f"{self}: there is no device {self.device!r}{nearest(self.device, devices)}")
        held = [u.rpartition(".")[2] for u in system.names_u if u.rpartition(".")[0] == self.device]
        provider = devices[self.device].connections.get(self.name)
        if provider:
            raise EventError(
                f"{self}: {full} is no set-point, {provider} provides it; step a reference of that device"
            )
        raise EventError(
            f"{self}: {self.device} has no set-point {self.name!r}{nearest(self.name, held)}; "
            f"its set-points: {', '.join(held) or 'none'}"
        )


def _bus(bus: int | str) -> str:
    return f"bus{bus}" if str(bus).isdigit() else str(bus)


def _in_service(system: System, branch: Branch, what: str) -> Branch:
    if system.parameter(branch.name, "status") == 0:
        raise EventError(
            f"{what}: {branch.name} is out of service from the start; a trip of it would do nothing"
        )
    return branch


def _finite(event: object, field: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise EventError(f"{event}: {field} = {value!r}; must be a finite number")


def _time(event: object, field: str, value: float) -> None:
    _finite(event, field, value)
    if value < 0:
        raise EventError(f"{event}: {field} = {value:g} s; must be >= 0, a run starts at t = 0")


def _after(event: object, field: str, value: float, start: float) -> None:
    _finite(event, field, value)
    if value <= start:
        raise EventError(f"{event}: {field} = {value:g} s; must be after start = {start:g} s")
