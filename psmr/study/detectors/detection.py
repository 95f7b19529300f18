"""Detectors and monitors on the points of a run, as they come or afterwards."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Protocol

import numpy as np

from psmr.base.arrays import Reals
from psmr.dae.system.system import System
from psmr.integrate.timeline.span import Span
from psmr.network.signals.points import Points, Speeds, variables_of
from psmr.network.topology.connections import Connections
from psmr.network.topology.islands import sources_of
from psmr.study.criteria import Criteria
from psmr.study.detectors.angles import Angles
from psmr.study.detectors.converters import Converters, Motors
from psmr.study.detectors.dead_parts import cut_off
from psmr.study.detectors.detector import Detector, Finding, Stop
from psmr.study.detectors.frequency import Frequency
from psmr.study.detectors.settling import EndOfRun
from psmr.study.detectors.voltages import Limits, Voltages, bands_of

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
    """A detector with a limit that ends a run."""

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
            detector.begin(self.span, self._connections)

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
