"""Monitors: detectors with a limit that ends a run, with everything that was simulated kept.

A monitor is a frozen record. The first point at which its condition holds is the last one of the run, and
`Run.stopped` says what was seen. Points are the accepted ones (of a multirate scheme: the macro points).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from psmr.base.arguments import explains_keywords, settle_fields
from psmr.base.errors import InputError
from psmr.dae.system.system import System
from psmr.network.topology.islands import sources_of
from psmr.study.criteria import Criteria
from psmr.study.detectors.angles import Angles
from psmr.study.detectors.detector import Finding, Stop
from psmr.study.detectors.frequency import Frequency
from psmr.study.detectors.voltages import Band, Voltages


@explains_keywords(InputError)
@dataclass(frozen=True)
class AngleSpread:
    """End the run when two machines, or a machine and a grid-forming converter, fall out of step.

    Parameters
    ----------
    limit_deg
        By how much in degrees two sources of one island may move apart from where they were when they were
        connected; see `psmr.study.detectors.angles`.

    Raises
    ------
    InputError
        For a limit that is not a number above zero.
    """

    limit_deg: float = 180.0

    def __post_init__(self) -> None:
        settle_fields(self)
        _positive(self, "limit_deg", self.limit_deg, "in degrees")

    def detector(self, system: System) -> Angles:
        """See `Monitor`; raise InputError for a system with fewer than two sources with an angle."""
        names = [source.name for source in sources_of(system)]
        if len(names) < 2:
            raise InputError(
                f"monitor {self}: {system.name or 'the system'} has {names[0] if names else 'no source'}"
                f"{' alone' if names else ''} with an angle of its own (machines, infinite buses, converters "
                "that form the voltage), and a spread takes two; drop the monitor"
            )
        return Angles(system, self.limit_deg)

    def stop(self, finding: Finding) -> Stop:
        """See `Monitor`."""
        return Stop(
            finding.t, "angle spread", finding.where, finding.value, self.limit_deg, "deg", "since connected"
        )


@explains_keywords(InputError)
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

    def detector(self, system: System) -> Voltages:
        """See `Monitor`."""
        return Voltages(system, [Band("voltage collapse", self.v_min, False, self.duration)])

    def stop(self, finding: Finding) -> Stop:
        """See `Monitor`."""
        words = f"{finding.where} below {self.v_min:g} pu for {self.duration:g} s"
        return Stop(finding.t, finding.what, words)


@explains_keywords(InputError)
@dataclass(frozen=True)
class FrequencyOutside:
    """End the run when the frequency of an island leaves a band.

    Parameters
    ----------
    f_low, f_high
        Limits in parts of the nominal frequency; see `psmr.study.detectors.frequency`.

    Raises
    ------
    InputError
        For limits that are not numbers above zero, the first below the second.
    """

    f_low: float = Criteria.f_low
    f_high: float = Criteria.f_high

    def __post_init__(self) -> None:
        settle_fields(self)
        _positive(self, "f_low", self.f_low, "in parts of the nominal frequency")
        _positive(self, "f_high", self.f_high, "in parts of the nominal frequency")
        if self.f_low >= self.f_high:
            raise InputError(f"{self}: f_low = {self.f_low:g} must be below f_high = {self.f_high:g}")

    def detector(self, system: System) -> Frequency:
        """See `Monitor`; raise InputError for a system in which nothing turns."""
        if not any(math.isfinite(source.weight) for source in sources_of(system)):
            raise InputError(
                f"monitor {self}: {system.name or 'the system'} has no machine and no converter that forms "
                "the voltage, so that no frequency of it can leave a band; drop the monitor"
            )
        return Frequency(system, (self.f_low, self.f_high))

    def stop(self, finding: Finding) -> Stop:
        """See `Monitor`."""
        where = finding.where or "the island"
        return Stop(finding.t, finding.what, where, finding.began, finding.limit, finding.unit)


@dataclass(frozen=True)
class Island:
    """End the run where an event leaves part of the network without a source.

    A source is a machine, or a converter that does not follow the voltage of others. Without this monitor
    that part is dead and the rest runs on. The run ends at the instant of the event, before it.
    """

    def detector(self, system: System) -> None:
        """Return None: the events say it before the run."""

    def stop(self, finding: Finding) -> Stop:
        """See `Monitor`; never called, since there is no detector."""
        raise NotImplementedError


def _positive(monitor: object, field: str, value: object, unit: str) -> None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not math.isfinite(value) or value <= 0:  # type: ignore[arg-type, operator]
        raise InputError(f"{monitor}: {field} = {value!r}: must be a finite number > 0 {unit}")
