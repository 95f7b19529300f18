"""What a study names and the case must have: buses, branches and devices of its events, its signals."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import NoReturn

from psmr.base.errors import EventError, InputError, Mistakes, PsmrWarning, StudyError, placed
from psmr.dae.system.system import System
from psmr.files.read import CaseFile
from psmr.network.case.case import Case
from psmr.network.powerflow.powerflow import PowerFlow
from psmr.network.signals.signals import Signals
from psmr.study.events import Event
from psmr.study.file.phases import with_phases
from psmr.study.file.study import Study

FAR = 1e-3
"""Distance of voltages in pu, as vectors, from which a solution is another one than the stored one."""


def load_system(file: CaseFile, events: Iterable[Event] = ()) -> System:
    """Return the system of a case file at its equilibrium, with phases in its region where events need them.

    Warns
    -----
    PsmrWarning
        Where the power flow is further than `FAR` from the solution that the file stores, with the worst
        buses.
    """
    case = file.read()
    flow = file.solve(case)
    stored = flow.stored
    if stored is not None and stored.largest > FAR:
        words = f"{case.source or case.name}: the power flow is {stored}"
        warnings.warn(words, PsmrWarning, stacklevel=2)
    return started(file, case, flow, events)


def started(file: CaseFile, case: Case, flow: PowerFlow, events: Iterable[Event]) -> System:
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
    """Raise StudyError for every event that names what is not there; called where events were refused."""
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
    try:
        known.select([name])
    except InputError as error:
        raise placed(error, StudyError, place) from error


def _changes(event: Event, system: System, place: str) -> None:
    try:
        event.changes(system)
    except InputError as error:
        raise placed(error, StudyError, place) from error
