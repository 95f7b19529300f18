"""Critical clearing times by bisection."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from psmr.errors import SimulationError, SingularError, StudyError
from psmr.study.events import Event, Fault
from psmr.study.monitors.monitors import AngleSpread
from psmr.study.outcome.synchronism import STEP_OUT_DEG
from psmr.study.run.run import Run
from psmr.study.sweep.measures.measure import Column, Start, needs_simulation

if TYPE_CHECKING:
    from psmr.study.file.study import Study


@dataclass(frozen=True)
class ClearingTime:
    """The critical clearing time of the fault of each point: the longest one that keeps synchronism.

    A time is a multiple of the precision, found by bisection between none and the longest one: at the time
    that is returned synchronism is kept, at the next it is lost, or the run has no solution any more.

    Parameters
    ----------
    precision
        In s.
    longest
        Longest clearing time that is tried, in s.

    Raises
    ------
    StudyError
        For a precision or longest time that cannot be.
    """

    precision: float = 1e-3
    longest: float = 1.0

    kind: ClassVar[str] = "clearing-time"
    replaces: ClassVar[tuple[str, ...]] = ("clearing",)

    def __post_init__(self) -> None:
        for name in ("precision", "longest"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0):
                raise StudyError(f"{self.kind}: {name} = {value!r}: must be a finite number > 0 in s")
        if self.longest < self.precision:
            raise StudyError(
                f"{self.kind}: longest = {self.longest:g} s is below precision = {self.precision:g} s"
            )

    @property
    def columns(self) -> tuple[Column, ...]:
        """See `Measure`."""
        return COLUMNS

    def check(self, study: Study, events: bool) -> None:
        """See `Measure`."""
        needs_simulation(self.kind, study)

    def of(self, start: Start) -> tuple[Mapping[str, Any], Run | None]:
        """See `Measure`."""
        fault = self._fault(start)
        trials = 0
        kept: Run | None = None
        why = ""

        def survives(count: int) -> bool:
            nonlocal trials, kept, why
            trials += 1
            run, reason = _tried(start, fault, fault.start + count * self.precision)
            if reason:
                why = reason
            else:
                kept = run
            return not reason

        # Multiples of the precision: kept up to `low`, not at `high`.
        low, high = 0, math.floor(self.longest / self.precision * (1 + 1e-12))
        if survives(high):
            low = high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if survives(middle) else (low, middle)
        values = {
            "critical_clearing_time": low * self.precision,
            "bounded": low != high,
            "lost_then": why if low != high else None,
            "trials": trials,
        }
        return values, kept

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


COLUMNS = (
    Column("critical_clearing_time", "number", "s", "longest clearing time that keeps synchronism"),
    Column("bounded", "flag", "", "whether a longer one that was tried loses it"),
    Column("lost_then", "text", "", "how, at the shortest one that does"),
    Column("trials", "count", "", "runs of the bisection"),
)


def _tried(start: Start, fault: Fault, clear: float) -> tuple[Run | None, str]:
    """Return the run with a clearing at a time in s, and how synchronism was lost in it, "" where kept."""
    events: tuple[Event, ...] = tuple(
        replace(event, clear=clear) if event is fault else event for event in start.events
    )
    try:
        # What has fallen out of step need not be followed further.
        run = start.run(events, monitors=(AngleSpread(limit_deg=STEP_OUT_DEG),))
    except (SimulationError, SingularError) as error:
        return None, f"no solution: {error}"
    lost = run.outcome.lost
    if lost is not None:
        return run, str(lost)
    return run, "" if run.stopped is None else str(run.stopped)
