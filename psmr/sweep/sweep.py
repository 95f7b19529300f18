"""A sweep: a base study, axes, what is found out at each point, and where it goes; and its file.

::

    format = "psmr-sweep"
    version = 1
    case = "new-england.toml"      # or study = "fault.toml": case, scheme, events and the rest from there

    [simulation]
    t_end = 10.0

    [measure]                      # left out: the outcome of a run at each point
    type = "clearing-time"
    precision = 0.001

    [[axis]]
    type = "n-1"
    start = 1.0

    [output]
    folder = "results/n-1"
    signals = ["*.omega"]
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

from psmr.base.arguments import check_arguments, explains_keywords, settle_fields
from psmr.base.errors import InputError, StudyError, error_at, nearest, shown
from psmr.files.case_file import CaseFile
from psmr.files.toml.document import Document, Field, Spec, read_document, specification
from psmr.study.file.read_study import read_study, study_of
from psmr.study.file.study import TABLES, Study
from psmr.sweep.axes import AXES
from psmr.sweep.axes.axis import EVENT, Axis
from psmr.sweep.axes.values import CaseAxis
from psmr.sweep.clearing_time import ClearingTime
from psmr.sweep.load_margin import LoadMargin
from psmr.sweep.measures import Damping, Measure, Outcomes, Stability


@dataclass(frozen=True)
class SweepPositions:
    """File, line and table of what a sweep consists of, for messages; empty where it was given in Python."""

    axes: tuple[str, ...] = ()
    measure: str = ""
    signals: str = ""
    worst: str = ""


@explains_keywords(StudyError)
@dataclass(frozen=True)
class Sweep:
    """A checked sweep; the cases are not read yet.

    Attributes
    ----------
    study
        The base: case, scheme, length of a run, events and monitors. Its outputs are not written.
    axes
        What varies. All combinations are run, but for axes that advance together.
    measure
        What is found out at each point.
    signals
        Names or patterns of signals that are kept of every run; None: none.
    worst
        Number of runs of which reports are written.
    name
        Title.
    folder
        Where the results go; None: ``results/NAME``.
    places
        Where in its file all this stands; of the axes of the first ones.
    """

    study: Study
    axes: tuple[Axis, ...]
    measure: Measure = field(default_factory=Outcomes)
    signals: tuple[str, ...] | None = None
    worst: int = 5
    name: str = ""
    folder: str | None = None
    places: SweepPositions = field(default=SweepPositions(), compare=False, repr=False)

    def __post_init__(self) -> None:
        signals: object = self.signals
        if isinstance(signals, str):
            object.__setattr__(self, "signals", (signals,))
        settle_fields(self, StudyError, numbers=True)
        measure: object = self.measure
        if not _is_made(measure, "of"):
            raise StudyError(
                f"measure is of the type {type(measure).__name__}: must be psmr.Outcomes(), "
                "ClearingTime(), LoadMargin(), Damping() or Stability()"
            )
        for axis in self.axes:
            if not _is_made(axis, "points"):
                raise StudyError(
                    f"axes: {shown(axis)} is no axis; use psmr.ParameterAxis, LoadAxis, SampleAxis, "
                    "SchemeAxis, CaseAxis, BranchOutages, BusFaults, GeneratorTrips or ListedEvents"
                )
        try:
            self.measure.check(self.study, self.has_events)
        except InputError as error:
            raise error_at(error, StudyError, self.places.measure) from error
        for axis in self.axes:
            if isinstance(axis, CaseAxis):
                self._check_cases(axis)
            clearing = getattr(axis, "clearing", None)
            if self.finds_clearing and clearing is not None:
                raise StudyError(
                    f"{self.place_of(axis)}{axis.kind}: clearing = {shown(list(clearing))}: "
                    f"{self.measure.kind} finds the clearing time itself; leave clearing out (longest, of "
                    "the measure, is the longest that is tried)"
                )
        if self.worst < 0:
            words = StudyError(f"worst = {self.worst}: must be >= 0")
            raise error_at(words, StudyError, self.places.worst)

    def _check_cases(self, axis: CaseAxis) -> None:
        """Raise StudyError for a case that is not there."""
        for case in axis.cases:
            place = self._beside(case)
            if not os.path.isfile(place):
                there = [p.name for p in place.parent.glob("*") if p.is_file()]
                raise StudyError(
                    f"{self.place_of(axis)}{axis.kind}: {shown(case)}: there is no such file in "
                    f"{place.parent}{nearest(place.name, there)}"
                )

    @property
    def cases(self) -> tuple[CaseFile, ...]:
        """The cases, the study's own where no axis has others."""
        for axis in self.axes:
            if isinstance(axis, CaseAxis):
                return tuple(replace(self.study.case, path=self._beside(case)) for case in axis.cases)
        return (self.study.case,)

    def _beside(self, case: str) -> Path:
        """Return where a case of an axis is: beside the study's own."""
        return Path(self.study.case.path).parent / case

    def place_of(self, axis: Axis) -> str:
        """Return what a message about an axis begins with: its place in the file and a colon, or nothing."""
        k = next(k for k, other in enumerate(self.axes) if other is axis)
        return f"{self.places.axes[k]}: " if k < len(self.places.axes) else ""

    @property
    def finds_clearing(self) -> bool:
        """Whether the measure finds the clearing time of its faults itself."""
        return self.measure.longest_fault is not None

    @property
    def has_events(self) -> bool:
        """Whether an axis is one of events."""
        return any(axis.rank == EVENT for axis in self.axes)

    def definition(self) -> dict[str, Any]:
        """Return what determines the rows, as plain values; two sweeps with equal ones have equal rows."""
        study = self.study
        return {
            "case": json_form(study.case),
            "scheme": {
                "type": study.recipe.kind,
                **json_form(study.recipe.choices),
                "split": json_form(study.recipe.split),
            },
            "t_end": study.t_end,
            "event": [record_with_type(event) for event in study.events],
            "monitor": [record_with_type(monitor) for monitor in study.monitors],
            "criteria": json_form(study.criteria),
            "axis": [record_with_type(axis) for axis in self.axes],
            "measure": record_with_type(self.measure),
            "signals": json_form(self.signals),
        }


def _is_made(record: object, method: str) -> bool:
    """Return whether something has a method and is not the class that declares it."""
    return not isinstance(record, type) and callable(getattr(record, method, None))


def record_with_type(record: Any) -> dict[str, Any]:
    """Return a record as plain values, with its type."""
    return {"type": type(record).__name__, **json_form(record)}


def json_form(value: Any) -> Any:
    """Return a value as JSON would give it back."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: json_form(getattr(value, field.name)) for field in fields(value) if field.compare}
    if isinstance(value, Mapping):
        return {str(key): json_form(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [json_form(part) for part in value]
    if isinstance(value, Path):
        return value.as_posix()
    return value


FORMAT, VERSION = "psmr-sweep", 1

MEASURES: Mapping[str, Callable[..., Measure]] = {
    measure.kind: measure for measure in (Outcomes, ClearingTime, LoadMargin, Damping, Stability)
}


@dataclass(frozen=True)
class SweepOutput:
    """The output of a sweep; see `Sweep`."""

    folder: str | None = None
    signals: tuple[str, ...] | None = None
    worst: int = 5


def read_sweep(path: str | os.PathLike[str], allow_code: bool = False) -> Sweep:
    """Return the sweep in a TOML file; `allow_code` as in `read_study`, for what its workers read as well.

    Raises
    ------
    StudyError
        As `read_study`, for the axes, the measure and the outputs too.
    """
    check_arguments(read_sweep, locals(), StudyError)
    document = read_document(path, StudyError)
    study = _study(document, allow_code)
    axes = tuple(document.made(("axis", k), given, AXES) for k, given in enumerate(document.rows("axis")))
    if not axes:
        document.fail("nothing varies; add [[axis]] tables")
    given = document.table("measure")
    measure = Outcomes() if given is None else document.made(("measure",), given, MEASURES)
    output = document.table("output")
    kept = document.fill(("output",), output or {}, SweepOutput)
    name = document.content.get("name", document.path.stem)
    places = SweepPositions(
        tuple(document.where(("axis", k)) for k in range(len(axes))),
        document.where(() if given is None else ("measure",)),
        document.where(("output",), "signals"),
        document.where(("output",), "worst"),
    )
    return Sweep(study, axes, measure, kept.signals, kept.worst, name, kept.folder, places)


def _study(document: Document, allow_code: bool) -> Study:
    """Return the study that the file names, or that it is itself."""
    own = ("axis", "measure", "output")
    if "study" not in document.content:
        return study_of(
            document, allow_code, FORMAT, VERSION, without=("output",), beside=("axis", "measure")
        )
    spec: Spec = {"name": Field((str,)), "study": specification(_Named)["study"]}
    head = document.head(FORMAT, VERSION, spec, (*own, *TABLES))
    for table in TABLES:
        if table in document.content and table not in own:
            document.fail(f"{table} belongs into the study that is named, or leave study out", (), table)
    if not os.path.isfile(head["study"]):
        hint = nearest(head["study"].name, [place.name for place in head["study"].parent.glob("*.toml")])
        words = f"study = {shown(document.content['study'])}: there is no such file beside the sweep{hint}"
        document.fail(words, (), "study")
    return read_study(head["study"], allow_code)


@dataclass(frozen=True)
class _Named:
    study: os.PathLike[str]
