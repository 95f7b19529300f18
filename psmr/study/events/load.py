"""Loads that are lost, and loads that grow or shrink.

Capacitors and reactors that are switched.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from psmr.base.arguments import explains_keywords, settle_fields
from psmr.base.errors import EventError, nearest, shown
from psmr.dae.declare.device import Device
from psmr.integrate.solve.courses import Course
from psmr.integrate.timeline.span import Change
from psmr.network.topology.network import find_loaded_buses, find_loads, is_motor, shunts
from psmr.study.events.branch import closing_values, opening_values
from psmr.study.events.event import Lasting, bus_words, check_after, check_finite, check_time
from psmr.study.events.generator import scaled_names, scaling

if TYPE_CHECKING:
    from psmr.dae.system.system import System


@explains_keywords(EventError)
@dataclass(frozen=True)
class LoadTrip:
    """Part of the load at a bus is lost and, if asked for, comes back.

    Of a motor the same part trips, as one of several equal motors, or all of it; motors do not come back.

    Parameters
    ----------
    bus
        Bus as ``5`` or ``"bus5"``, ``"area 2"``, ``"zone 7"``, or a pattern: ``"*"`` for all loads.
    start
        Time of the trip in s. In a region with `zero_sequence` a load with a current as a state, tripped as a
        whole, opens in each phase at the first zero of its current after it.
    fraction
        Part that is lost, of what is connected at that time: above 0, at most 1. What ramps or follows a
        series goes on doing so with the part that is left.
    reconnect
        Time in s at which what this event took of the static loads is there again; None: never.

    Raises
    ------
    EventError
        For times that are out of order and for a fraction out of range.
    """

    kind: ClassVar[str] = "load-trip"

    bus: int | str
    start: float
    fraction: float
    reconnect: float | None = None

    def __post_init__(self) -> None:
        settle_fields(self, EventError)
        check_time(self, "start", self.start)
        check_finite(self, "fraction", self.fraction)
        if not 0 < self.fraction <= 1:
            raise EventError(
                f"{self}: fraction = {self.fraction!r}; must be above 0 and at most 1 "
                "(0.5 trips half of the load)"
            )
        if self.reconnect is not None:
            check_after(self, "reconnect", self.reconnect, self.start)

    def __str__(self) -> str:
        return f"load trip at {bus_words(self.bus)}"

    @property
    def end(self) -> float | None:
        """Time of reconnection in s."""
        return self.reconnect

    def changes(self, system: System) -> tuple[Change, ...]:
        """Return the loss of load and its return.

        Raises
        ------
        EventError
            When the bus is not there or has no load, when a part of a composite load would trip, or when only
            motors, which stay out, are to come back.
        """
        bus, tripped = _loads(system, self.bus, str(self))
        motors = tuple(d.name for d in tripped if is_motor(d))
        loads = tuple(d.name for d in tripped if not is_motor(d))
        whole = [d.name for d in tripped if self.fraction < 1 and not scaled_names(d)]
        if whole:
            raise EventError(
                f"{self}: {' and '.join(whole)} at {bus} is a composite load, which trips as a whole; give "
                "fraction = 1, or split it into two in the case"
            )
        if self.reconnect is not None and not loads:
            raise EventError(
                f"{self}: reconnect = {self.reconnect:g} s: {' and '.join(motors)} at {bus} would have to "
                "start from standstill, and motors stay out once they have tripped; drop reconnect"
            )
        label = f"{100 * self.fraction:g} % of the load at {bus} trips"
        out = motors if self.fraction == 1 else ()
        left = tuple((name, 1 - self.fraction) for name in (*loads, *motors) if name not in out)
        first = scaling(system, self.start, label, left, out)
        if self.reconnect is None:
            return (first,)
        label = f"load at {bus} reconnected{' but for its motors' if motors else ''}"
        return first, scaling(system, self.reconnect, label, ((name, 1.0) for name in loads))


def _loads(system: System, bus: int | str, what: str) -> tuple[str, tuple[Device, ...]]:
    """Return what a message calls the buses that an event names, and the loads there."""
    found = find_loaded_buses(system, bus, what)
    loads = tuple(load for name in found for load in find_loads(system, name, what))
    return found[0] if len(found) == 1 else f"{len(found)} buses", loads


@explains_keywords(EventError)
@dataclass(frozen=True)
class LoadRamp:
    """The load at a bus grows or shrinks linearly to a multiple of what it is, and stays there.

    Parameters
    ----------
    bus
        Bus as ``5`` or ``"bus5"``, ``"area 2"``, ``"zone 7"``, or a pattern: ``"*"`` for all loads.
    start, end
        Times in s at which the ramp begins and ends.
    factor
        Multiple of what the loads at the bus draw when the ramp begins, by their data: 1.2 adds a fifth, 0
        takes all.
    factor_q
        The same for the reactive power alone; None: as the active power. With ``factor_q=1`` only the active
        power ramps.

    Raises
    ------
    EventError
        For times that are out of order, a factor below zero, and a ramp that changes nothing.
    """

    kind: ClassVar[str] = "load-ramp"

    bus: int | str
    start: float
    end: float
    factor: float
    factor_q: float | None = None

    def __post_init__(self) -> None:
        settle_fields(self, EventError)
        check_time(self, "start", self.start)
        check_after(self, "end", self.end, self.start)
        for field, value in zip(("factor", "factor_q"), self._factors, strict=True):
            check_finite(self, field, value)
            if value < 0:
                raise EventError(
                    f"{self}: {field} = {value:g}; must be >= 0 (1.2 adds a fifth, 0 takes all of it)"
                )
        if self._factors == (1, 1):
            raise EventError(
                f"{self}: factor = 1: the load would stay as it is when the ramp begins; back from"
                " a ramp by 1.25 leads factor = 0.8"
            )

    def __str__(self) -> str:
        return f"load ramp at {bus_words(self.bus)}"

    @property
    def _factors(self) -> tuple[float, float]:
        return self.factor, self.factor if self.factor_q is None else self.factor_q

    def changes(self, system: System) -> tuple[Change, ...]:
        """Return the start and the end of the ramp.

        Raises
        ------
        EventError
            When the bus is not there, has no load, or has a motor, which has no P and Q to ramp.
        """
        bus, loads = _loads(system, self.bus, str(self))
        courses: list[tuple[str, Course]] = []
        ends: list[tuple[str, str, float]] = []
        for load in loads:
            if is_motor(load):
                raise EventError(
                    f"{self}: {load.name} at {bus} is a motor, which draws what its shaft asks for; let its "
                    "load torque t_0 follow a time series, or give it a bus of its own"
                )
            for name, factor in zip(("p", "q"), self._factors, strict=True):
                if factor != 1:
                    value = system.parameter(load.name, name)
                    course = Course.through((self.start, self.end), (value, factor * value))
                    courses.append((f"{load.name}.{name}", course))
                    ends.append((load.name, name, factor * value))
        words = " and ".join(
            f"{name} x {factor:g}" for name, factor in zip("PQ", self._factors, strict=True) if factor != 1
        )
        return (
            Change(self.start, courses=tuple(courses), label=f"load at {bus} ramps to {words}"),
            Change(self.end, parameters=tuple(ends), label=f"load ramp at {bus} ends"),
        )


@explains_keywords(EventError)
@dataclass(frozen=True)
class ShuntSwitch(Lasting):
    """A shunt, capacitor or reactor, is switched on or off.

    Parameters
    ----------
    shunt
        Device name, ``"shunt5"``.
    start
        Time of the switching in s. In a region with `zero_sequence` each phase of a reactor opens at the
        first zero of its current after it.
    on
        Whether it is on afterwards. One that the case has out of service (``status = 0``) can be switched on.

    Raises
    ------
    EventError
        For a time that is not a number or is below zero, and for `on` other than True or False.
    """

    kind: ClassVar[str] = "shunt"

    shunt: str
    start: float
    on: bool = True

    def __post_init__(self) -> None:
        settle_fields(self, EventError)
        check_time(self, "start", self.start)

    def __str__(self) -> str:
        return f"switching of {self.shunt}"

    def changes(self, system: System) -> tuple[Change, ...]:
        """Return the switching.

        Raises
        ------
        EventError
            When the shunt is not there, or is as it should be already.
        """
        known = shunts(system)
        if self.shunt not in known:
            listed = f"; shunts: {', '.join(known)}" if known else "; it has none"
            raise EventError(
                f"{self}: there is no shunt {shown(self.shunt)}{nearest(str(self.shunt), known)}{listed}"
            )
        words = "on" if self.on else "off"
        if system.parameter(self.shunt, "status") == self.on:
            raise EventError(
                f"{self}: {self.shunt} is {words} already at t = {self.start:g} s; drop the event"
            )
        status = (
            closing_values(system, self.shunt)
            if self.on
            else opening_values(system, self.shunt, None, str(self))
        )
        return (Change(self.start, parameters=status, label=f"{self.shunt} switched {words}"),)
