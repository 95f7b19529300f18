"""Critical clearing times by bisection."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from psmr.base.arguments import explains_keywords, settle_fields
from psmr.base.errors import PsmrWarning, SchemeError, SimulationError, SingularError, StudyError
from psmr.integrate.schemes.scheme import Scheme
from psmr.network.topology.islands import sources_of
from psmr.study.detectors.converters import Slip
from psmr.study.detectors.detection import AngleSpread
from psmr.study.events import Event, Fault
from psmr.study.run.run import Run
from psmr.sweep.bisection import confirmed_border, last_survivor
from psmr.sweep.measures import MeasureColumn, Start, needs_simulation

if TYPE_CHECKING:
    from psmr.study.file.study import Study


# Of the tolerance, with which the two runs at the border are repeated.
CLOSER = 0.01


@explains_keywords(StudyError)
@dataclass(frozen=True)
class ClearingTime:
    """The critical clearing time of the fault of each point: the longest one that keeps synchronism.

    A time is a multiple of the precision, found by bisection between none and the longest one: at the time
    that is returned synchronism is kept, at the next it is lost, or the run has no solution any more. Both of
    these runs are then repeated with a hundredth of the tolerance, where the scheme chooses its steps by one,
    and their neighbours where that says otherwise: a run beside the border stays for long near the unstable
    equilibrium, and its error moves the border by as much as a tenth of a millisecond. The error of fixed
    steps stays in the time, which a warning of the point says.

    Parameters
    ----------
    precision
        In s.
    longest
        Longest clearing time that is tried, in s.

    Raises
    ------
    StudyError
        For an invalid precision or longest time.
    """

    precision: float = 1e-3
    longest: float = 1.0

    kind: ClassVar[str] = "clearing-time"
    order: ClassVar[tuple[tuple[str, bool], ...]] = (("critical_clearing_time", True),)
    shown: ClassVar[tuple[str, ...]] = ("critical_clearing_time", "instability_above")

    columns: ClassVar[tuple[MeasureColumn, ...]] = (
        MeasureColumn(
            "critical_clearing_time", "number", "s", "longest clearing time that keeps synchronism"
        ),
        MeasureColumn("bounded", "flag", "", "whether a longer one that was tried loses it"),
        MeasureColumn("instability_above", "text", "", "instability just above the critical clearing time"),
        MeasureColumn("trials", "count", "", "runs of the bisection"),
    )

    def __post_init__(self) -> None:
        settle_fields(self, StudyError, numbers=True)
        for name in ("precision", "longest"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0):
                raise StudyError(f"{self.kind}: {name} = {value!r}: must be a finite number > 0 in s")
        if self.longest < self.precision:
            raise StudyError(
                f"{self.kind}: longest = {self.longest:g} s is below precision = {self.precision:g} s"
            )

    @property
    def longest_fault(self) -> float:
        """See `Measure`."""
        return self.longest

    def check(self, study: Study, events: bool) -> None:
        """See `Measure`."""
        needs_simulation(self.kind, study)
        if not events and not any(isinstance(event, Fault) for event in study.events):
            raise StudyError(
                f"{self.kind} is about a fault, and there is none; add an axis of faults (n-1, bus-faults, "
                "events), or a fault to the study's own events"
            )

    def of(self, start: Start) -> tuple[Mapping[str, Any], Run | None]:
        """See `Measure`."""
        fault = self._fault(start)
        if start.scheme.step_choice is None:
            warnings.warn(
                "the steps of the scheme are fixed, and their error is in the critical clearing time; take "
                "shorter ones, or a scheme that chooses its steps by the error (VariableStep)",
                PsmrWarning,
                stacklevel=2,
            )
        trials = _Trials(start, fault, self.precision)
        # Multiples of the precision: kept up to `low`, not at `high`.
        most = math.floor(self.longest / self.precision * (1 + 1e-12))
        low = last_survivor(most, trials.survives)
        closer = _closer(start.scheme)
        if closer is not None:
            trials.start = replace(start, scheme=closer)
            low = confirmed_border(low, most, trials.survives)
        values = {
            "critical_clearing_time": low * self.precision,
            "bounded": low < most,
            "instability_above": trials.lost.get(low + 1),
            "trials": trials.count,
        }
        return values, trials.kept

    def _fault(self, start: Start) -> Fault:
        faults = [event for event in start.events if isinstance(event, Fault)]
        if len(faults) != 1:
            raise StudyError(
                f"{self.kind}: the point has {len(faults)} faults; give each one fault, by an axis of faults "
                "or by the study's own event"
            )
        assert start.t_end is not None
        if faults[0].start + self.longest >= start.t_end:
            raise StudyError(
                f"{self.kind}: a fault at {faults[0].start:g} s that lasts {self.longest:g} s does not end "
                f"before t_end = {start.t_end:g} s; lengthen the run by what a swing takes, some seconds"
            )
        return faults[0]


class _Trials:
    """The runs of a bisection: how many, how synchronism was lost in each, and the last that kept it."""

    def __init__(self, start: Start, fault: Fault, precision: float) -> None:
        self.start, self.fault, self.precision = start, fault, precision
        self.count = 0
        self.lost: dict[int, str] = {}
        self.kept: Run | None = None

    def survives(self, count: int) -> bool:
        """Return whether synchronism is kept where the fault lasts so many times the precision."""
        self.count += 1
        run, reason = _tried(self.start, self.fault, self.fault.start + count * self.precision)
        if reason:
            self.lost[count] = reason
        else:
            self.lost.pop(count, None)
            self.kept = run
        return not reason


def _closer(scheme: Scheme) -> Scheme | None:
    """Return a scheme that chooses its steps by a smaller tolerance; None where it has none."""
    if scheme.step_choice is None:
        return None
    try:
        return replace(scheme, tolerance=CLOSER * scheme.tolerance)  # type: ignore[type-var]
    except SchemeError:  # it is at the rounding of the numbers
        return None


def _tried(start: Start, fault: Fault, clear: float) -> tuple[Run | None, str]:
    """Return the run with a clearing at a time in s, and how synchronism was lost in it, "" where kept."""
    events: tuple[Event, ...] = tuple(
        replace(event, clear=clear) if event is fault else event for event in start.events
    )
    # What has fallen out of step need not be followed further.
    monitors = (AngleSpread(limit_deg=start.criteria.angle_deg),) if len(sources_of(start.system)) > 1 else ()
    try:
        run = start.run(events, monitors=monitors)
    except (SimulationError, SingularError) as error:
        return None, f"no solution: {error}"
    lost = run.outcome.out_of_step
    if lost is not None:
        return run, f"lost synchronism: {lost}" if isinstance(lost, Slip) else str(lost)
    return run, "" if run.stopped is None else str(run.stopped)
