"""Loads that are lost, and loads that grow or shrink."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from psmr.base.arguments import settle_fields
from psmr.base.errors import EventError
from psmr.base.slips import explains_slips
from psmr.dae.declare.device import Device
from psmr.integrate.run.trajectory import Change
from psmr.network.topology.network import find_loaded_buses, find_loads, is_motor
from psmr.study.events.event import bus_words, check_after, check_finite, check_time

if TYPE_CHECKING:
    from psmr.dae.system.system import System


@explains_slips(EventError)
@dataclass(frozen=True)
class LoadTrip:
    """Part of the load at a bus is lost and, if asked for, comes back.

    A motor among the loads goes out of service as a whole, which only the whole load (`fraction` 1) can do,
    and does not come back.

    Parameters
    ----------
    bus
        Bus as ``5`` or ``"bus5"``, or a pattern: ``"*"`` for all loads, ``"bus[56]"`` for some.
    start
        Time of the trip in s.
    fraction
        Part that is lost, of what the loads at the bus draw at that time by their data: above 0, at most 1.
    reconnect
        Time in s at which the load is whole again; None: never.

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
            When the bus is not there or has no load, or when a part of a motor would trip or come back.
        """
        bus, tripped = _loads(system, self.bus, str(self))
        motors = tuple(d.name for d in tripped if is_motor(d))
        if motors and (self.fraction < 1 or self.reconnect is not None):
            raise EventError(
                f"{self}: {' and '.join(motors)} at {bus} is a motor, which trips as a whole and for good;"
                " give fraction = 1 and no reconnect, or give the motor a bus of its own"
            )
        whole = tuple(demand for d in tripped if not is_motor(d) for demand in _demand(system, d))
        left = tuple((device, q, (1 - self.fraction) * value) for device, q, value in whole)
        label = f"{100 * self.fraction:g} % of the load at {bus} trips"
        first = Change(self.start, parameters=left, label=label, out=motors)
        if self.reconnect is None:
            return (first,)
        return first, Change(self.reconnect, parameters=whole, label=f"load at {bus} reconnected")


def _loads(system: System, bus: int | str, what: str) -> tuple[str, tuple[Device, ...]]:
    """Return what a message calls the buses that an event names, and the loads there."""
    found = find_loaded_buses(system, bus, what)
    loads = tuple(load for name in found for load in find_loads(system, name, what))
    return found[0] if len(found) == 1 else f"{len(found)} buses", loads


def _demand(system: System, load: Device) -> tuple[tuple[str, str, float], ...]:
    """Return (device, parameter, value) of what a static load draws, with its rates where it ramps."""
    values = [(load.name, q, system.parameter(load.name, q)) for q in ("p", "q", "p_rate", "q_rate")]
    return tuple(entry for entry in values if entry[1] in ("p", "q") or entry[2] != 0)


@explains_slips(EventError)
@dataclass(frozen=True)
class LoadRamp:
    """The load at a bus grows or shrinks linearly to a multiple of what it is, and stays there.

    Parameters
    ----------
    bus
        Bus as ``5`` or ``"bus5"``, or a pattern: ``"*"`` for all loads.
    start, end
        Times in s at which the ramp begins and ends.
    factor
        Multiple of what the loads at the bus draw at the start, by their data: 1.2 adds a fifth, 0 takes all.
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
            raise EventError(f"{self}: factor = 1: the load would stay as it is; give another factor")

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
        begin: list[tuple[str, str, float]] = []
        stop: list[tuple[str, str, float]] = []
        for load in loads:
            if is_motor(load):
                raise EventError(
                    f"{self}: {load.name} at {bus} is a motor, which draws what its shaft asks for; let its "
                    "load torque t_0 follow a time series, or give it a bus of its own"
                )
            for name, factor in zip(("p", "q"), self._factors, strict=True):
                value = system.parameter(load.name, name)
                rate = (factor - 1) * value / (self.end - self.start)
                begin += ramp(system, load.name, name, self.start, value, rate)
                stop += ramp(system, load.name, name, self.end, factor * value, 0.0)
        words = " and ".join(
            f"{name} x {factor:g}" for name, factor in zip("PQ", self._factors, strict=True) if factor != 1
        )
        return (
            Change(self.start, parameters=tuple(begin), label=f"load at {bus} ramps to {words}"),
            Change(self.end, parameters=tuple(stop), label=f"load ramp at {bus} ends"),
        )


def ramp(
    system: System, load: str, name: str, t: float, value: float, rate: float
) -> tuple[tuple[str, str, float], ...]:
    """Return the parameters with which P or Q (`name` p or q) is `value` at t and grows at `rate` in pu/s.

    The time t_ramp stays as it is, so that P and Q can ramp without regard to each other.
    """
    since = t - system.parameter(load, "t_ramp")
    return (load, name, value - rate * since), (load, f"{name}_rate", rate)
