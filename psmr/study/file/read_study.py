"""Read a study file: what it says, or all its mistakes at once, each with file and line."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from psmr.base.arguments import check_arguments
from psmr.base.errors import Mistakes, SchemeError, StudyError, errors_at, nearest, shown, warn
from psmr.base.modules import load_modules
from psmr.files.case_file import CaseFile
from psmr.files.shipped import shipped_cases
from psmr.files.text import STANDARD_INPUT
from psmr.files.toml.document import Document, Field, read_document, specification
from psmr.files.toml.lines import Path as TablePath
from psmr.files.toml.region import read_region
from psmr.integrate.schemes.scheme import Scheme
from psmr.network.start.conversion import load_shares
from psmr.study.criteria import Criteria
from psmr.study.detectors.detection import MONITORS
from psmr.study.events import Fault, When
from psmr.study.file.recipe import (
    HOMES,
    SPLIT,
    Recipe,
    Split,
    fields_of,
    needs_split,
    own_schemes,
    scheme_class,
    scheme_fields,
)
from psmr.study.file.study import (
    EVENTS,
    FORMAT,
    HEAD,
    RECORD,
    SIMULATION,
    TABLES,
    VERSION,
    Output,
    Study,
    StudyPositions,
)
from psmr.study.record.record import Record

IN_S = "times are in s, not in ms"

# The type of a scheme that is not named.
USUAL = "variable"


def read_study(path: str | os.PathLike[str], allow_code: bool = False) -> Study:
    """Return the study in a TOML file, or in standard input (``-``).

    Parameters
    ----------
    path
        The file. The paths in it are relative to its folder, those of standard input to the current one.
    allow_code
        Whether the modules are imported that the study, or later its case, names, which runs them: for files
        whose authors you trust.

    Raises
    ------
    StudyError
        For modules that are not allowed, a file that cannot be read or is no TOML, a missing, misspelt or
        mistyped field and a value that cannot be; the message names file, line, table, field and value.
    """
    check_arguments(read_study, locals(), StudyError)
    return study_of(read_document(path, StudyError), allow_code)


def study_of(
    document: Document,
    allow_code: bool,
    format: str = FORMAT,
    version: int = VERSION,
    without: tuple[str, ...] = (),
    beside: tuple[str, ...] = (),
) -> Study:
    """Return the study in a document that calls itself by a format and version.

    `without` are tables of a study that mean something else in it, `beside` those that it has more.
    """
    mistakes = Mistakes(StudyError)
    if document.content.get("format") != format:
        # Of a file of another kind the rest would say nothing.
        _head(document, format, version, beside)
    head = mistakes.attempt(_head, document, format, version, beside)
    events, monitors = (document.each(name, _row, mistakes) for name in ("event", "monitor"))
    simulation = mistakes.attempt(_simulation, document)
    if simulation is not None and simulation.get("t_end") is None:
        for table in ("event", "monitor"):
            if table in document.content:
                words = f"{table}s need a run; add [simulation] with t_end"
                mistakes.attempt(document.fail, words, (table, 0))
    schemes: Mapping[str, type[Scheme]] | None = {}
    if head and "modules" in head:
        head["folder"] = document.path.parent
        folders = document.path.parent, Path()
        where = document.where((), "modules")
        schemes = mistakes.attempt(_own_schemes, head["modules"], folders, where, allow_code)
    region = mistakes.attempt(read_region, document)
    delays = mistakes.attempt(_delays, document)
    recipe = None if schemes is None else mistakes.attempt(_recipe, document, schemes)
    judged = mistakes.attempt(document.table, "criteria") or {}
    criteria = mistakes.attempt(document.fill, ("criteria",), judged, Criteria)
    output = None if "output" in without else mistakes.attempt(_output, document)
    mistakes.finish()
    assert head is not None
    assert simulation is not None
    assert recipe is not None
    assert criteria is not None
    _doubt_units(document, simulation.get("t_end"), events, recipe)
    name = head.pop("name", _stem(document.path))
    return Study(
        name,
        CaseFile(**head, dynamic=region, delays=delays or (), allow_code=allow_code),
        recipe,
        events=events,
        monitors=monitors,
        criteria=criteria,
        output=output,
        source=str(document.path),
        text=document.text,
        places=StudyPositions(
            tuple(document.where(("event", i)) for i in range(len(events))),
            document.where(("scheme",)),
            document.where(("output",), "signals"),
            document.where(("simulation",), "record"),
        ),
        **simulation,
    )


def _simulation(document: Document) -> dict[str, Any]:
    """Return what the table [simulation] says, and what is kept of the run."""
    given = document.table("simulation")
    simulation = {} if given is None else document.values(("simulation",), given, SIMULATION)
    record = _record(document, simulation)
    t_end = simulation.get("t_end")
    if t_end is not None and t_end <= 0:
        document.fail(f"t_end = {t_end:g}: must be > 0 in s", ("simulation",), "t_end")
    return {**simulation, "record": record}


# In s: a run and a step that are longer are doubted, and how many times as long as until its last event.
LONG_RUN, LONG_STEP, LONG_AFTER, LONG_FAULT = 1000.0, 1.0, 200.0, 2.0


def _doubt_units(document: Document, t_end: float | None, events: tuple[Any, ...], recipe: Recipe) -> None:
    """Warn of times that look like milliseconds."""
    if t_end is None:
        return
    last = max(
        (t_end if isinstance(event, When) else event.end or event.start for event in events), default=0.0
    )
    if t_end >= LONG_RUN and 0.0 < last < t_end / LONG_AFTER:
        where = document.where(("simulation",), "t_end")
        warn(f"{where}: the last event is at t = {last:g} s and the run goes on to {t_end:g} s; {IN_S}")
    for place, event in enumerate(events):
        if isinstance(event, Fault) and event.end is not None and event.end - event.start > LONG_FAULT:
            lasts = f"the fault lasts {event.end - event.start:g} s"
            warn(f"{document.where(('event', place))}: {lasts}; {IN_S}")
    for name in ("h", "h_slow"):
        step = recipe.choices.get(name)
        if recipe.kind != "quasi-steady" and isinstance(step, float) and step >= LONG_STEP:
            warn(f"{document.where(('scheme',), name)}: {name} = {step:g}: a step of {step:g} s; {IN_S}")


def is_study(path: str | os.PathLike[str]) -> bool:
    """Return whether a file, or standard input (``-``), says that it is a study."""
    if str(path) != STANDARD_INPUT and Path(path).suffix.lower() != ".toml":
        return False
    return bool(read_document(path, StudyError).content.get("format") == FORMAT)


def _head(document: Document, format: str, version: int, beside: tuple[str, ...]) -> dict[str, Any]:
    head = document.head(format, version, HEAD, (*TABLES, *beside))
    if "path" in head and not os.path.exists(head["path"]):
        # The name of a case that ships with psmr, where no such file is beside the study.
        head["path"] = shipped_cases().get(document.content["case"], head["path"])
    for key, name in (("case", "path"), ("dynamics", "dynamics"), ("sequence", "sequence")):
        if name in head and not os.path.isfile(head[name]):
            words = f"{key} = {shown(document.content[key])}: "
            if os.path.isdir(head[name]):
                document.fail(f"{words}is a folder; name the file in it", (), key)
            folder = head[name].parent
            there = [p.name for p in folder.glob("*") if p.is_file()] if os.path.isdir(folder) else []
            there += shipped_cases() if key == "case" else ()
            hint = nearest(head[name].name, there)
            document.fail(f"{words}there is no such file beside the study{hint}", (), key)
    if "loads" in head:
        with errors_at(StudyError, document.where((), "loads")):
            head["loads"] = str(load_shares(head["loads"]))
    return head


def _own_schemes(
    names: tuple[str, ...], folders: tuple[Path, ...], where: str, allowed: bool
) -> dict[str, type[Scheme]]:
    """Return the schemes in modules of the user's own."""
    with errors_at(StudyError):
        return own_schemes(load_modules(names, folders, where, allowed))


def _recipe(document: Document, own: Mapping[str, type[Scheme]]) -> Recipe:
    place = ("scheme",)
    given = document.table("scheme") or {}
    if given.get("type") == "self-adjusting":
        words = (
            'type = "self-adjusting": this scheme was removed, it took the steps of psmr.VariableStep; write '
            'type = "variable", which has the same fields'
        )
        document.fail(words, place, "type")
    # With nothing said but a tolerance the steps follow the error.
    usual = "type" not in given and given.keys() <= scheme_fields(USUAL).keys()
    kind = USUAL if usual else document.choice(place, given, (*HOMES, *own))
    spec = fields_of(own[kind]) if kind in own else scheme_fields(kind)
    values = document.values(place, _beside_type(given), spec)
    try:
        split = None
        if spec.keys() >= SPLIT.keys():
            found = {key: values.pop(key) for key in SPLIT if key in values}
            split = Split(**found) if found or needs_split(own.get(kind) or scheme_class(kind)) else None
        recipe = Recipe(values, split, kind, own.get(kind), usual)
        recipe.check()
    except SchemeError as error:
        field = error.field if error.field in given else None
        raise StudyError(f"{document.where(place, field)}: {error}") from error
    return recipe


def _delays(document: Document) -> tuple[tuple[str, float], ...]:
    """Return what the table [delays] says: "device.input" = delay in s."""
    given = document.table("delays") or {}
    for name, tau in given.items():
        if isinstance(tau, Mapping):
            words = f'{name} is a table: put the name in quotes, "{name}.{next(iter(tau), "v")}" = 0.03'
            document.fail(words, ("delays",), name)
    found = document.values(("delays",), given, dict.fromkeys(given, Field((float,))))
    for name, tau in found.items():
        if not (math.isfinite(tau) and tau >= 0.0):
            words = f"{name} = {tau}: must be a finite time in s of at least 0, by which the signal is late"
            document.fail(words, ("delays",), name)
    return tuple((name, float(tau)) for name, tau in found.items())


def _row(document: Document, place: TablePath, given: Mapping[str, Any]) -> Any:
    """Return the event or monitor that a table stands for."""
    if place[0] == "monitor":
        return document.made(place, given, MONITORS)
    make = EVENTS[document.choice(place, given, EVENTS)]
    fields = {**specification(make), "when": Field((str,))}
    if "when" in given and "start" in fields:
        given = {"start": 0.0, **given}
    values = document.values(place, _beside_type(given), fields)
    condition = values.pop("when", None)
    with errors_at(StudyError, document.where(place)):
        row = make(**values)
        return row if condition is None else When(condition, row)


def _record(document: Document, simulation: dict[str, Any]) -> Record | None:
    """Take what the table [simulation] says of what is kept out of its values."""
    names = [field.fills for field in RECORD.values() if field.fills in simulation]
    given = {name: simulation.pop(name) for name in names}
    with errors_at(StudyError, document.where(("simulation",))):
        return Record(**given) if given else None


def _beside_type(given: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in given.items() if key != "type"}


def _output(document: Document) -> Output | None:
    given = document.table("output")
    if given is None:
        return None
    values = {"folder": str(usual_folder(document.path)), **given}
    return cast(Output, document.fill(("output",), values, Output))


def usual_folder(source: str | os.PathLike[str]) -> Path:
    """Return where a run of a study file is written that names no folder: ``results/NAME``."""
    return Path("results") / _stem(Path(source))


def _stem(path: Path) -> str:
    """Return what a study is called after its file."""
    return "stdin" if str(path) == STANDARD_INPUT else path.stem
