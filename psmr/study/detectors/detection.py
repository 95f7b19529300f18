"""Detectors on the points of a run, as they come or afterwards, and monitors: what ends a run by them.

A monitor is a detector with a limit that ends a run, with everything that was simulated kept. The first point
at which its condition holds is the last one of the run, and `Run.stopped` says what was seen. Points are the
accepted ones (of a multirate scheme: the macro points).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import ClassVar, Protocol

import numpy as np

from psmr.base.arguments import explains_keywords, settle_fields
from psmr.base.arrays import Reals
from psmr.base.errors import InputError
from psmr.dae.system.system import System
from psmr.integrate.timeline.span import Span
from psmr.network.signals.points import Points, Speeds, variables_of
from psmr.network.topology.connections import Connections
from psmr.network.topology.islands import sources_of
from psmr.study.criteria import Criteria
from psmr.study.detectors.angles import ANGLE_SPREAD, Angles
from psmr.study.detectors.converters import Converters, Motors
from psmr.study.detectors.dead_parts import cut_off
from psmr.study.detectors.detector import Detector, Finding, Stop
from psmr.study.detectors.frequency import Frequency
from psmr.study.detectors.settling import EndOfRun
from psmr.study.detectors.voltages import Band, Limits, Voltages, bands_of

# Points of a finished run that are looked at together, so that what is computed of them stays small.
AT_ONCE = 1024


@dataclass(frozen=True, eq=False)
class Detectors:
    """One detector of each kind, by the criteria of a run."""

    angles: Angles
    converters: Converters
    voltages: Voltages
    frequency: Frequency
    motors: Motors
    limits: Limits
    end: EndOfRun

    @classmethod
    def of(cls, system: System, criteria: Criteria, t_end: float) -> Detectors:
        """Return the detectors of a run that is to end at t_end in s."""
        return cls(
            Angles(system, criteria.angle_deg),
            Converters(system),
            Voltages(system, bands_of(criteria), (criteria.v_end_low, criteria.v_end_high)),
            Frequency(
                system,
                (criteria.f_low, criteria.f_high),
                (criteria.f_end_low, criteria.f_end_high),
            ),
            Motors(system, criteria),
            Limits(system),
            EndOfRun(system, criteria, t_end),
        )

    @property
    def all(self) -> tuple[Detector, ...]:
        """All of them."""
        return tuple(getattr(self, field.name) for field in fields(self))

    def findings(self, complete: bool = False) -> tuple[Finding, ...]:
        """Return what is beyond a limit, in order of time; how the run ends only of one that is complete."""
        found = itertools.chain.from_iterable(detector.findings() for detector in self.all)
        kept = (finding for finding in found if complete or not finding.at_end)
        return tuple(sorted(kept, key=lambda finding: finding.t))


class Monitor(Protocol):
    """A detector with a limit that ends a run; `kind` is its type in study files."""

    kind: ClassVar[str]

    def detector(self, system: System) -> Detector | None:
        """Return the detector; None where no point decides."""

    def stop(self, finding: Finding) -> Stop:
        """Return what ends the run where the detector has found something."""


class Detection:
    """Detectors and monitors on the points of a run; see `psmr.integrate.run.trajectory.Follower`.

    `system`: the system at the start of the run.
    `detectors`: what looks at every point that counts.
    `monitors`: what ends the run.
    `islanding`: whether the run ends where a device that acts by itself leaves buses without a source.

    `span`: the span that began last.
    `stop`: what ended the run, None while it goes on.
    """

    def __init__(
        self,
        system: System,
        detectors: Iterable[Detector] = (),
        monitors: Iterable[Monitor] = (),
        islanding: bool = False,
    ) -> None:
        self.system, self.islanding = system, islanding
        self.span: Span
        self.stop: Stop | None = None
        self._detectors, self._speeds = tuple(detectors), Speeds(system, sources_of(system))
        made = ((monitor, monitor.detector(system)) for monitor in monitors)
        self._monitors = [(monitor, detector) for monitor, detector in made if detector is not None]

    @property
    def ends(self) -> bool:
        """See `Follower`."""
        return bool(self._monitors) or self.islanding

    def begin(self, span: Span) -> None:
        """See `Follower`."""
        self.span = span
        self._connections = Connections(self.system, self.span)
        for detector in (*self._detectors, *(detector for _, detector in self._monitors)):
            detector.begin(self._connections)

    def stops_before(self, span: Span) -> bool:
        """See `Follower`."""
        if self.islanding and self.stop is None:
            self.stop = cut_off(self.span, span)
        return self.stop is not None

    def points(self, t: Reals, points: Reals) -> int | None:
        """See `Follower`."""
        return self.take(t, points[:, : self.system.n], points[:, self.system.n :])

    def take(self, t: Reals, x: Reals, y: Reals) -> int | None:
        """See `Follower.points`; states and algebraic variables apart."""
        variables, speeds = variables_of(self.system), self._speeds.of(t, x)
        points, last = Points(t, x, y, variables, self._connections, known_speeds=speeds), None
        for monitor, detector in self._monitors:
            detector.take(points)
            for finding in sorted(detector.findings(), key=lambda found: found.t)[:1]:
                row = min(int(np.searchsorted(t, finding.t)), len(t) - 1)
                if last is None or row < last:
                    last, self.stop = row, monitor.stop(finding)
        points = points if last is None else points[: last + 1]
        for detector in self._detectors:
            detector.take(points)
        return last


def detect(detection: Detection, spans: Iterable[Span], t: Reals, x: Reals, y: Reals) -> Detection:
    """Look at (K,) times, (K, n) states and (K, m) algebraic variables of a finished run, span by span."""
    for span in spans:
        detection.begin(span)
        for first in range(span.first, span.last, AT_ONCE):
            rows = slice(first, min(first + AT_ONCE, span.last))
            detection.take(t[rows], x[rows], y[rows])
    return detection


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

    kind: ClassVar[str] = "angle-spread"

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
            finding.t, ANGLE_SPREAD, finding.where, finding.value, self.limit_deg, "deg", "since connected"
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

    kind: ClassVar[str] = "voltage-collapse"

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

    kind: ClassVar[str] = "frequency-outside"

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

    kind: ClassVar[str] = "island"

    def detector(self, system: System) -> None:
        """Return None: the events say it before the run."""

    def stop(self, finding: Finding) -> Stop:
        """See `Monitor`; never called, since there is no detector."""
        raise NotImplementedError


def _positive(monitor: object, field: str, value: object, unit: str) -> None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not math.isfinite(value) or value <= 0:  # type: ignore[arg-type, operator]
        raise InputError(f"{monitor}: {field} = {value!r}: must be a finite number > 0 {unit}")


_EVERY: tuple[type[Monitor], ...] = (AngleSpread, VoltageCollapse, FrequencyOutside, Island)

MONITORS: Mapping[str, type[Monitor]] = {monitor.kind: monitor for monitor in _EVERY}
"""Every monitor by its type in study files."""
