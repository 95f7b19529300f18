"""Detectors and monitors on the points of a run, as they come or afterwards."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from psmr.base.arrays import Reals
from psmr.dae.system.system import System
from psmr.integrate.run.late_inputs import LateInputs
from psmr.integrate.run.trajectory import Change
from psmr.study.criteria import Criteria
from psmr.study.detectors.angles import Angles
from psmr.study.detectors.converters import Converters
from psmr.study.detectors.detector import Detector, Measurement, connections_in
from psmr.study.detectors.finding import Finding, Stop, dead_part
from psmr.study.detectors.frequency import Frequency
from psmr.study.detectors.limits import Limits
from psmr.study.detectors.motors import Motors
from psmr.study.detectors.settling import EndOfRun
from psmr.study.detectors.voltages import Voltages, bands_of
from psmr.study.events.spans import Span, Spans

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
        return (
            self.angles, self.converters, self.voltages, self.frequency, self.motors, self.limits, self.end,
        )  # fmt: skip

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

    Parameters
    ----------
    system, changes
        The system at the start of the run, and what the events do, in order of time.
    detectors
        What looks at every point that counts.
    monitors
        What ends the run.
    islanding
        Whether the run ends where a device that acts by itself leaves buses without a source.

    Attributes
    ----------
    span
        The span that began last.
    stop
        What ended the run, None while it goes on.
    """

    def __init__(
        self,
        system: System,
        changes: Sequence[Change],
        detectors: Iterable[Detector] = (),
        monitors: Iterable[Monitor] = (),
        islanding: bool = False,
        late: LateInputs | None = None,
    ) -> None:
        self.system, self.islanding = system, islanding
        self.spans, self._late = Spans(system, changes, late), late
        self.span: Span
        self.stop: Stop | None = None
        self._detectors, self._measurement = tuple(detectors), Measurement(system)
        made = ((monitor, monitor.detector(system)) for monitor in monitors)
        self._monitors = [(monitor, detector) for monitor, detector in made if detector is not None]

    @property
    def ends(self) -> bool:
        """See `Follower`."""
        return bool(self._monitors) or self.islanding

    def begin(self, t: float) -> None:
        """See `Follower`."""
        self.span = self.spans.begin(t)
        if self._late is not None:
            self._late.begin()
        self._connections = connections_in(self.system, self.span)
        for detector in (*self._detectors, *(detector for _, detector in self._monitors)):
            detector.begin(self.span, self._connections)

    def change(self, change: Change) -> bool:
        """See `Follower`."""
        self.spans.add(change)
        if self.islanding and self.stop is None:
            self.stop = dead_part(self.system, [known for known in self.spans.changes if known.t <= change.t])
        return self.stop is not None

    def points(self, t: Reals, points: Reals) -> int | None:
        """See `Follower`."""
        if self._late is not None:
            self._late.forget(float(t[0]))
            self._late.add(t, points)
        return self.take(t, points[:, : self.system.n], points[:, self.system.n :])

    def take(self, t: Reals, x: Reals, y: Reals) -> int | None:
        """See `Follower.points`; states and algebraic variables apart."""
        points, last = self._measurement.points(self._connections, t, x, y), None
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


def detect(detection: Detection, t: Reals, x: Reals, y: Reals) -> Detection:
    """Look at the (K,) times, (K, n) states and (K, m) algebraic variables of a finished run.

    The instant of a change stands twice; a span begins with its second row.
    """
    begins = [0, *(1 + np.flatnonzero(np.diff(t) == 0.0)).tolist(), len(t)]
    for begin, end in itertools.pairwise(begins):
        detection.begin(float(t[begin]))
        for first in range(begin, end, AT_ONCE):
            rows = slice(first, min(first + AT_ONCE, end))
            detection.take(t[rows], x[rows], y[rows])
    return detection
