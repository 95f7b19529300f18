"""What every measure offers, and what it is given at a point."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Protocol

from psmr.base.errors import StudyError
from psmr.dae.system.system import System
from psmr.study.certificate.certificate import Certificate, Scheme
from psmr.study.criteria import USUAL, Criteria
from psmr.study.detectors.detection import Monitor
from psmr.study.events import Event
from psmr.study.run.run import Run
from psmr.study.run.simulate import simulate

if TYPE_CHECKING:
    from psmr.study.file.study import Study


class Column(NamedTuple):
    """A column of the table: its name, what it holds, its unit and what it says."""

    name: str
    holds: Literal["number", "count", "text", "flag", "numbers"]
    unit: str
    doc: str


@dataclass(frozen=True, eq=False)
class Start:
    """The base of one run.

    Attributes
    ----------
    system, scheme
        At the parameters and choices of the point.
    events, monitors, t_end
        Of the run; `t_end` is None where the study has no simulation.
    certify
        Returns the certificate of the scheme on the system, computed once for all runs that share them; of a
        scheme that chooses its steps that at the steps of a run, where one is given.
    criteria
        The limits by which a run is judged.
    """

    system: System
    scheme: Scheme
    events: tuple[Event, ...]
    monitors: tuple[Monitor, ...]
    t_end: float | None
    certify: Callable[[Run | None], Certificate]
    criteria: Criteria = USUAL

    def run(self, events: tuple[Event, ...] | None = None, monitors: tuple[Monitor, ...] = ()) -> Run:
        """Simulate, with other events or with further monitors where given."""
        assert self.t_end is not None  # a measure that simulates has asked for it
        return simulate(
            self.system,
            self.scheme,
            self.t_end,
            self.events if events is None else events,
            certify=False,
            monitors=(*self.monitors, *monitors),
            criteria=self.criteria,
        )


class Measure(Protocol):
    """What every measure offers.

    Attributes
    ----------
    kind
        What a sweep file calls it.
    order
        The columns that order the rows, the worst first, and whether small is bad.
    shown
        The columns that a reader sees first.
    longest_fault
        For how long it lets the fault of a point last at most, in s, where it finds the clearing time itself;
        None where faults last as their axes say.
    columns
        What it fills, beside the labels, `run`, `status` and `message`.
    """

    kind: ClassVar[str]
    order: ClassVar[tuple[tuple[str, bool], ...]]
    shown: ClassVar[tuple[str, ...]]

    @property
    def longest_fault(self) -> float | None: ...  # noqa: D102
    @property
    def columns(self) -> tuple[Column, ...]: ...  # noqa: D102

    def check(self, study: Study, events: bool) -> None:
        """Raise StudyError for a study that it cannot measure; `events` where an axis has some."""

    def of(self, start: Start) -> tuple[Mapping[str, Any], Run | None]:
        """Return the values of the columns, and the run whose signals are kept, if any."""


def needs_simulation(kind: str, study: Study) -> None:
    """Raise StudyError for a study without a simulation."""
    if study.t_end is None:
        raise StudyError(f"{kind} needs runs; add [simulation] with t_end (s)")


def refuses_events(kind: str, study: Study, events: bool) -> None:
    """Raise StudyError for a study with events, where nothing is simulated."""
    if events or study.events:
        raise StudyError(f"{kind} is about small motions at the start; leave the events out")
