"""A sweep file: a study, or the name of one, with axes.

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
from dataclasses import dataclass
from typing import Any

from psmr.base.arguments import check_arguments
from psmr.base.errors import InputError, StudyError, shown
from psmr.files.toml.document import Document, read_document
from psmr.files.toml.fields import Field, Spec, specification
from psmr.study.file.read_study import read_study, study_of
from psmr.study.file.study import TABLES, Study
from psmr.sweep.axes import (
    Axis,
    BranchOutages,
    BusFaults,
    CaseAxis,
    GeneratorTrips,
    ListedEvents,
    ParameterAxis,
    SampleAxis,
    SchemeAxis,
)
from psmr.sweep.measures import ClearingTime, Damping, Measure, Outcomes, Stability
from psmr.sweep.sweep import Places, Sweep

FORMAT, VERSION = "psmr-sweep", 1

_AXES = (
    ParameterAxis, SampleAxis, SchemeAxis, CaseAxis, BranchOutages, BusFaults, GeneratorTrips, ListedEvents,
)  # fmt: skip
_MEASURES = (Outcomes, ClearingTime, Damping, Stability)

AXES: Mapping[str, Callable[..., Axis]] = {axis.kind: axis for axis in _AXES}
MEASURES: Mapping[str, Callable[..., Measure]] = {measure.kind: measure for measure in _MEASURES}


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
    axes = tuple(_made(document, ("axis", k), given, AXES) for k, given in enumerate(document.rows("axis")))
    if not axes:
        document.fail("nothing varies; add [[axis]] tables")
    given = document.table("measure")
    measure = Outcomes() if given is None else _made(document, ("measure",), given, MEASURES)
    output = document.table("output")
    chosen = {} if output is None else document.values(("output",), output, specification(SweepOutput))
    kept = SweepOutput(**chosen)
    name = document.content.get("name", document.path.stem)
    places = Places(
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
        document.fail(
            f"study = {shown(document.content['study'])}: there is no such file beside the sweep", (), "study"
        )
    return read_study(head["study"], allow_code)


@dataclass(frozen=True)
class _Named:
    study: os.PathLike[str]


def _made(
    document: Document,
    place: tuple[str | int, ...],
    given: Mapping[str, Any],
    known: Mapping[str, Callable[..., Any]],
) -> Any:
    make = known[document.choice(place, given, known)]
    written = {key: value for key, value in given.items() if key != "type"}
    values = document.values(place, written, specification(make))
    try:
        return make(**values)
    except InputError as error:
        raise StudyError(f"{document.where(place)}: {error}") from error
