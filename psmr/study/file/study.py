"""A study: one TOML file that names case, scheme, events and outputs; and its system.

`EVENTS` and the like say which table makes which record. `load_system` makes the system, with phases in its
region where events need them, and `check_signals` refuses what a study names and the case has not.

::

    format = "psmr-study"
    version = 1
    case = "wscc9.toml"            # beside this file, or a name that `psmr cases` lists; for a .raw file
                                   # dynamics = "wscc9.dyr" as well
    modules = ["mine"]             # Python modules beside this file with components and schemes of your own,
                                   # which are imported where whoever reads it allows that

    [scheme]                       # left out: a variable step with tolerance 1e-4
    type = "multirate"
    delta = 20.0
    h_slow = 0.05
    h_fast = 0.005

    [simulation]
    t_end = 10.0

    [[event]]
    type = "fault"
    bus = 5
    start = 1.0
    clear = 1.1
    trip = "5-7"

    [output]
    folder = "results/fault"       # in the current folder; left out, results/NAME after this file
"""

from __future__ import annotations

import importlib
import pkgutil
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, NoReturn, TypeVar

import psmr.study.events
from psmr.base.declared import Option
from psmr.base.errors import EventError, Mistakes, PsmrWarning, StudyError, errors_at
from psmr.dae.system.system import System
from psmr.files.case_file import CaseFile
from psmr.files.toml.document import Field, Spec, specification
from psmr.network.case.case import Case
from psmr.network.dynamic.switching import dynamic_elements
from psmr.network.powerflow.powerflow import PowerFlow
from psmr.network.signals.signals import Signals
from psmr.network.topology.network import find_branch, find_bus
from psmr.study.criteria import USUAL as USUAL_CRITERIA
from psmr.study.criteria import Criteria
from psmr.study.detectors.detection import Monitor
from psmr.study.events import Event, Fault, LineTrip, OpenPhases, When
from psmr.study.file.recipe import Recipe
from psmr.study.record.record import Record

Row = TypeVar("Row")

FORMAT, VERSION = "psmr-study", 1
TABLES = ("scheme", "dynamic", "delays", "simulation", "event", "monitor", "criteria", "output")
FIGURES = ("png", "svg", "pdf", "none")


@dataclass(frozen=True)
class Output:
    """What a run leaves behind.

    Attributes
    ----------
    folder
        Where, relative to the current folder; in a file that says nothing ``results/NAME``, after the file.
    signals
        Names or patterns for the files and the figure; None: every signal, and for the figure what is worth
        seeing.
    csv, parquet, html, save
        Whether ``run.csv``, ``run.parquet``, ``report.html``, ``run.psmr`` (the whole run) are written.
    interactive
        Whether the report has figures to zoom and hover over as well.
    network
        Whether the report says what leaving out dynamics of the network does to the modes, also where the
        study has no region with them.
    figure
        Format of ``run.<format>``, ``"none"`` for none.
    """

    folder: str
    signals: Annotated[
        tuple[str, ...] | None, "what to write and draw, in place of the study's signals", "NAME"
    ] = None
    csv: bool = True
    parquet: bool = False
    figure: Annotated[str, FIGURES] = "none"
    html: bool = True
    save: Annotated[bool, "write run.psmr, the whole run for `psmr plot`"] = False
    interactive: Annotated[
        bool,
        "write report.html with figures to zoom and hover over as well (needs bokeh: psmr[report])",
        Option(either="page"),
    ] = False
    network: Annotated[
        bool, "say in report.html what leaving out dynamics of the network does to the modes"
    ] = False


@dataclass(frozen=True)
class StudyPositions:
    """Where in its file a study says what can only be checked against the case: file, line and table."""

    events: tuple[str, ...] = ()
    scheme: str = ""
    signals: str = ""
    record: str = ""


@dataclass(frozen=True)
class Study:
    """A checked study file; the case is not read yet.

    Attributes
    ----------
    name
        Title, the file's name where it has none.
    case
        The case file, how to read it and how to solve its power flow.
    recipe
        How to make the scheme for the system.
    t_end
        Length of the run in s; None for a study without a simulation (a deformation report).
    events, monitors
        In the order of the file.
    criteria
        The limits by which the run is judged.
    output
        What to write; None: nothing.
    fast_points
        Whether the fast points within macro steps are recorded.
    record
        What the run keeps; None: every point, whole.
    source, text
        The file, and what it says.
    places
        Where in the file events, scheme and signals stand, for what is said of them later.
    """

    name: str
    case: CaseFile
    recipe: Recipe
    t_end: float | None = None
    events: tuple[Event, ...] = ()
    monitors: tuple[Monitor, ...] = ()
    criteria: Criteria = USUAL_CRITERIA
    output: Output | None = None
    fast_points: bool = False
    record: Record | None = None
    source: str = field(default="", compare=False)
    text: str = field(default="", compare=False, repr=False)
    places: StudyPositions = field(default=StudyPositions(), compare=False, repr=False)


def with_phases(case: Case, system: System, events: Iterable[Event]) -> Case:
    """Return a case whose region has its phases where events need them in it, the same case otherwise.

    `system` is the case's. Warns (PsmrWarning) of what it does and by which event.
    """
    region = case.dynamic
    if region is None or region.zero_sequence:
        return case
    for event in events:
        if not _needs_phases(event.event if isinstance(event, When) else event, system):
            continue
        warnings.warn(
            f"{event}: phases are unequal, or open at zeros of their currents, in the region with dynamics"
            " of the network: its zero sequence is simulated (zero_sequence = true)",
            PsmrWarning,
            stacklevel=3,
        )
        return replace(case, dynamic=replace(region, zero_sequence=True))
    return case


def _needs_phases(event: Event, system: System) -> bool:
    """Return whether an event has to do with single phases to ground, or their zeros, in a region."""
    if not isinstance(event, Fault | LineTrip | OpenPhases):
        return False
    unequal = isinstance(event, OpenPhases) or (isinstance(event, Fault) and "g" in event.phases)
    if not unequal and not getattr(event, "at_zero", False):
        return False
    try:
        if isinstance(event, Fault) and event.bus is not None:
            name = find_bus(system, event.bus, str(event))
        else:
            name = find_branch(system, event.line or "", str(event)).name
    except EventError:
        return False  # said where its changes are made
    return name in dynamic_elements(system)


FAR = 1e-3
"""Distance of voltages in pu, as vectors, from which a solution is another one than the stored one."""


def load_system(file: CaseFile, events: Iterable[Event] = ()) -> System:
    """Return the system of a case file at its equilibrium, with phases in its region where events need them.

    Warns where the power flow is further than `FAR` from the solution that the file stores, with the worst
    buses.
    """
    case = file.read()
    flow = file.solve(case)
    stored = flow.stored
    if stored is not None and stored.largest > FAR:
        words = f"{case.source or case.name}: the power flow is {stored}"
        warnings.warn(words, PsmrWarning, stacklevel=2)
    return system_at(file, case, flow, events)


def system_at(file: CaseFile, case: Case, flow: PowerFlow, events: Iterable[Event]) -> System:
    """Return the system of a file's case, or of one made of it, at the equilibrium of a power flow.

    Its region has phases where events need them, and its inputs the delays of the file.
    """
    from psmr.dae.system.assemble import with_delays
    from psmr.network.start.initialise import build

    system = build(case, flow, start_at_limits=file.start_at_limits)
    phases = with_phases(case, system, events)
    if phases is not case:
        system = build(phases, flow, start_at_limits=file.start_at_limits)
    return with_delays(system, dict(file.delays)) if file.delays else system


def check_signals(
    study: Study, system: System, signals: tuple[str, ...] | None, recorded: tuple[str, ...] | None = None
) -> None:
    """Raise StudyError for signals that the system does not have, and for what else the study misnames.

    `signals` are those of the outputs, `recorded` those that the run keeps.

    Every mistake is listed, with file and line where the study was read from a file.
    """
    mistakes, known = Mistakes(StudyError), Signals.of(system)
    for name in signals or ():
        given = study.output is not None and name in (study.output.signals or ())
        mistakes.attempt(_select, known, name, study.places.signals if given else "")
    for name in recorded or ():
        given = study.record is not None and name in (study.record.signals or ())
        mistakes.attempt(_select, known, name, study.places.record if given else "")
    if mistakes.found:
        _check_events(study, system, mistakes)
    mistakes.finish()


def refuse_events(study: Study, system: System) -> None:
    """Raise StudyError for every event that names what is not there."""
    mistakes = Mistakes(StudyError)
    _check_events(study, system, mistakes)
    mistakes.finish()


def refuse_event(study: Study, system: System, error: EventError) -> NoReturn:
    """Raise the error of an event that a run refuses, with file and line where it has them.

    Where events name what is not there, all of them are listed instead.
    """
    refuse_events(study, system)
    for event, where in zip(study.events, study.places.events, strict=False):
        if event is error.event:
            raise StudyError(f"{where}: {error}") from error
    raise error


def _check_events(study: Study, system: System, mistakes: Mistakes) -> None:
    places = study.places.events or ("",) * len(study.events)
    for event, place in zip(study.events, places, strict=True):
        mistakes.attempt(_changes, event, system, place)


def _select(known: Signals, name: str, place: str) -> None:
    with errors_at(StudyError, place):
        known.select([name])


def _changes(event: Event, system: System, place: str) -> None:
    with errors_at(StudyError, place):
        event.changes(system)


HEAD: Spec = {
    "name": Field((str,)),
    **specification(
        CaseFile, without=("format", "folder", "dynamic", "delays", "allow_code"), called={"path": "case"}
    ),
}

RECORD: Spec = specification(Record, without=("files",), called={"signals": "record"})

SIMULATION: Spec = {"t_end": Field((float,), needed=True), "fast_points": Field((bool,)), **RECORD}


EVENTS: Mapping[str, Callable[..., Event]] = {
    vars(kind)["kind"]: kind
    for entry in pkgutil.iter_modules(psmr.study.events.__path__, "psmr.study.events.")
    for kind in vars(importlib.import_module(entry.name)).values()
    if isinstance(kind, type) and kind.__module__ == entry.name and isinstance(vars(kind).get("kind"), str)
}
"""What the modules of `psmr.study.events` declare."""
