"""Monitors: what ends a run before its time, with everything that was simulated kept.

A monitor is a frozen record. It looks at the accepted points (of a multirate scheme: the macro points); the
first one at which its condition holds is the last one of the run, and `Run.stopped` says what was seen.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from psmr.arguments import settle_fields
from psmr.dae.system.system import System
from psmr.errors import InputError
from psmr.numerics.run.trajectory import Change
from psmr.study.monitors.watching import AngleLook, Look, VoltageLook


class Monitor(Protocol):
    """What every monitor offers."""

    def at_work(self, system: System, changes: Sequence[Change]) -> Look | None:
        """Return it at work in a run with these changes; None where no point decides."""


@dataclass(frozen=True)
class AngleSpread:
    """End the run when two machines, or a machine and a grid-forming converter, fall out of step.

    Parameters
    ----------
    limit_deg
        Largest difference in degrees between the angles of two sources that are in service and in one island:
        rotor angles of machines, the angles of converters that form the voltage, that of an infinite bus.

    Raises
    ------
    InputError
        For a limit that is not a number above zero.
    """

    limit_deg: float = 180.0

    def __post_init__(self) -> None:
        settle_fields(self)
        _positive(self, "limit_deg", self.limit_deg, "in degrees")

    def at_work(self, system: System, changes: Sequence[Change]) -> Look | None:
        """See `Monitor`."""
        return AngleLook(math.radians(self.limit_deg), system, changes)


@dataclass(frozen=True)
class VoltageCollapse:
    """End the run when the voltage at a bus stays low.

    Parameters
    ----------
    v_min
        Voltage in pu below which it is low.
    duration
        Time in s for which it must be low without a break; 0: one point is enough. The time at which a fault
        is on at the bus does not count.

    Raises
    ------
    InputError
        For a voltage that is not a number above zero and a duration that is not a number, or below zero.
    """

    v_min: float = 0.7
    duration: float = 0.5

    def __post_init__(self) -> None:
        settle_fields(self)
        _positive(self, "v_min", self.v_min, "in pu")
        number = isinstance(self.duration, int | float) and not isinstance(self.duration, bool)
        if not number or not math.isfinite(self.duration) or self.duration < 0:
            raise InputError(f"{self}: duration = {self.duration!r}: must be a finite number >= 0 in s")

    def at_work(self, system: System, changes: Sequence[Change]) -> Look | None:
        """See `Monitor`."""
        return VoltageLook(self.v_min, self.duration, system, changes)


@dataclass(frozen=True)
class Island:
    """End the run where an event leaves part of the network without a source.

    A source is a machine, or a converter that does not follow the voltage of others. Without this monitor
    such an event is refused before the run. The run ends at the instant of the event, before it.
    """

    def at_work(self, system: System, changes: Sequence[Change]) -> Look | None:
        """Return None: the events say it before the run."""
        return None


def _positive(monitor: object, field: str, value: object, unit: str) -> None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not math.isfinite(value) or value <= 0:  # type: ignore[arg-type, operator]
        raise InputError(f"{monitor}: {field} = {value!r}: must be a finite number > 0 {unit}")
