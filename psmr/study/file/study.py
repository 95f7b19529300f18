"""A study: one TOML file that names case, scheme, events and outputs.

::

    format = "psmr-study"
    version = 1
    case = "wscc9.toml"            # beside this file; with a .raw file, dynamics = "wscc9.dyr"

    [scheme]
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
    folder = "results/fault"       # in the current folder
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from psmr.errors import InputError, SchemeError, StudyError, nearest
from psmr.grid.case.tables import MECHANICAL
from psmr.grid.equilibrium.beyond import CHOICES, REFUSE
from psmr.grid.start.conversion import load_shares
from psmr.io.read import CaseFile
from psmr.study.events import Event
from psmr.study.file.event_tables import EVENTS
from psmr.study.file.fields import Document, Field, read_document
from psmr.study.file.monitor_tables import MONITORS
from psmr.study.file.recipe import Recipe, Split
from psmr.study.file.scheme_tables import SCHEMES
from psmr.study.monitors.monitors import Monitor

Row = TypeVar("Row")

FORMAT, VERSION = "psmr-study", 1

HEAD: Mapping[str, Field] = {
    "format": Field("text", needed=True),
    "version": Field("whole", needed=True),
    "case": Field("text", needed=True),
    "dynamics": Field("text"),
    "skip_unknown_models": Field("flag"),
    "frequency_hz": Field("number"),
    "reactive_limits": Field("flag"),
    "loads": Field("text"),
    "net_unmodelled": Field("flag"),
    "mechanical": Field("text", among=MECHANICAL),
    "start_at_limits": Field("text", among=CHOICES),
    "name": Field("text"),
}
TABLES = ("scheme", "simulation", "event", "monitor", "output")
SIMULATION: Mapping[str, Field] = {"t_end": Field("number", needed=True), "fast_points": Field("flag")}
OUTPUT: Mapping[str, Field] = {
    "folder": Field("text", needed=True),
    "signals": Field("list"),
    "csv": Field("flag"),
    "parquet": Field("flag"),
    "figure": Field("text", among=("png", "svg", "pdf", "none")),
    "html": Field("flag"),
    "save": Field("flag"),
    "interactive": Field("flag"),
}


@dataclass(frozen=True)
class Output:
    """What a run leaves behind.

    Attributes
    ----------
    folder
        Where, relative to the current folder.
    signals
        Names or patterns for the files and the figure; None: every signal, and for the figure what is worth
        seeing.
    csv, parquet, html, save
        Whether ``run.csv``, ``run.parquet``, ``report.html``, ``run.psmr`` (the whole run) are written.
    interactive
        Whether the report has figures to zoom and hover over as well.
    figure
        Format of ``run.<format>``, ``"none"`` for none.
    """

    folder: str
    signals: tuple[str, ...] | None = None
    csv: bool = True
    parquet: bool = False
    figure: str = "none"
    html: bool = True
    save: bool = False
    interactive: bool = False


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
    output
        What to write; None: nothing.
    fast_points
        Whether the fast points within macro steps are recorded.
    """

    name: str
    case: CaseFile
    recipe: Recipe
    t_end: float | None = None
    events: tuple[Event, ...] = ()
    monitors: tuple[Monitor, ...] = ()
    output: Output | None = None
    fast_points: bool = False
    source: str = field(default="", compare=False)


def read_study(path: str | os.PathLike[str]) -> Study:
    """Return the study in a TOML file.

    Raises
    ------
    StudyError
        For a file that cannot be read or is no TOML, a missing, misspelt or mistyped field and a value that
        cannot be; the message names file, line, table, field and value.
    """
    document = read_document(path)
    head = _head(document)
    events = _rows(document, "event", EVENTS)
    monitors = _rows(document, "monitor", MONITORS)
    simulation = (
        document.fields(("simulation",), _table(document, "simulation"), SIMULATION)
        if _has(document, "simulation")
        else {}
    )
    t_end = simulation.get("t_end")
    if t_end is not None and t_end <= 0:
        raise StudyError(f"{document.where(('simulation',), 't_end')}: t_end = {t_end:g}: must be > 0 in s")
    for name, rows in (("event", events), ("monitor", monitors)):
        if rows and t_end is None:
            raise StudyError(f"{document.where((name, 0))}: {name}s need a run; add [simulation] with t_end")
    return Study(
        name=head.get("name", document.path.stem),
        case=_case(document, head),
        recipe=_recipe(document),
        t_end=t_end,
        events=events,
        monitors=monitors,
        output=_output(document),
        fast_points=simulation.get("fast_points", False),
        source=str(document.path),
    )


def is_study(path: str | os.PathLike[str]) -> bool:
    """Return whether a file says that it is a study.

    Raises
    ------
    StudyError
        When it ends in .toml and cannot be read.
    """
    return Path(path).suffix.lower() == ".toml" and read_document(path).content.get("format") == FORMAT


def _head(document: Document) -> dict[str, Any]:
    found = document.content.get("format")
    if found != FORMAT:
        hint = "; this is a case file, try `psmr deformation` or `psmr modes`" if found == "psmr-case" else ""
        where = document.where((), "format")
        raise StudyError(f'{where}: format = {found!r}: must be "{FORMAT}" for a study file{hint}')
    for key in document.content:
        if key not in HEAD and key not in TABLES:
            known = (*HEAD, *TABLES)
            hint = nearest(key, known) or f"; known: {', '.join(known)}"
            table = isinstance(document.content[key], dict | list)
            where = f"{document.path}:{document.lines.table((key,))}" if table else document.where((), key)
            raise StudyError(f"{where}: there is no field or table {key!r}{hint}")
    head = document.fields((), {k: v for k, v in document.content.items() if k not in TABLES}, HEAD)
    if head["version"] != VERSION:
        raise StudyError(
            f"{document.where((), 'version')}: version = {head['version']}: this psmr reads version "
            f"{VERSION}; update psmr, or write the file in that version"
        )
    return head


def _has(document: Document, name: str) -> bool:
    return name in document.content


def _table(document: Document, name: str) -> Mapping[str, Any]:
    table = document.content[name]
    if not isinstance(table, dict):
        raise StudyError(f"{document.where((), name)}: {name} must be a table; write [{name}]")
    return table


def _case(document: Document, head: Mapping[str, Any]) -> CaseFile:
    return CaseFile(
        _beside(document, "case", head["case"]),
        _beside(document, "dynamics", head["dynamics"]) if "dynamics" in head else None,
        head.get("skip_unknown_models", False),
        head.get("frequency_hz"),
        head.get("reactive_limits", False),
        loads=_loads(document, head),
        net_unmodelled=head.get("net_unmodelled", False),
        mechanical=head.get("mechanical"),
        start_at_limits=head.get("start_at_limits", REFUSE),
    )


def _loads(document: Document, head: Mapping[str, Any]) -> str | None:
    """Return what loads become, after a look whether that can be."""
    loads: str | None = head.get("loads")
    try:
        return None if loads is None else str(load_shares(loads))
    except InputError as error:
        raise StudyError(f"{document.where((), 'loads')}: {error}") from error


def _beside(document: Document, field: str, name: str) -> Path:
    """Return the path of a file that a study names."""
    path = document.path.parent / name
    if not path.is_file():
        beside = [p.name for p in path.parent.glob("*") if p.is_file()] if path.parent.is_dir() else []
        where = document.where((), field)
        raise StudyError(
            f"{where}: {field} = {name!r}: there is no such file beside the study{nearest(path.name, beside)}"
        )
    return path


def _choose(
    document: Document, table: tuple[str | int, ...], given: Mapping[str, Any], known: Mapping[str, Any]
) -> str:
    kind = given.get("type")
    listed = ", ".join(f'"{choice}"' for choice in known)
    if kind is None:
        raise StudyError(f"{document.where(table)}: type is missing; add it as one of {listed}")
    if kind not in known:
        where = document.where(table, "type")
        raise StudyError(f"{where}: type = {kind!r}: must be one of {listed}{nearest(str(kind), known)}")
    return str(kind)


def _recipe(document: Document) -> Recipe:
    place = ("scheme",)
    if not _has(document, "scheme"):
        raise StudyError(
            f"{document.path}: the table [scheme] is missing; add it with type, step sizes and so on"
        )
    given = _table(document, "scheme")
    kind = _choose(document, place, given, SCHEMES)
    values = document.fields(place, given, SCHEMES[kind])
    values.pop("type")
    try:
        split = None
        if kind in ("multirate", "slow-manifold"):
            keys = ("delta", "algebraic", "fast_devices", "fast_variables")
            chosen: dict[str, Any] = {key: values.pop(key) for key in keys if key in values}
            chosen = {k: tuple(v) if isinstance(v, list) else v for k, v in chosen.items()}
            split = Split(**chosen)
        recipe = Recipe(values, split, kind)
        recipe.check()
    except SchemeError as error:
        raise StudyError(f"{document.where(place)}: {error}") from error
    return recipe


def _rows(
    document: Document, name: str, known: Mapping[str, tuple[Callable[..., Row], Mapping[str, Field]]]
) -> tuple[Row, ...]:
    """Return what the tables [[name]] stand for, in the order of the file."""
    rows = document.content.get(name, [])
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise StudyError(
            f"{document.where((), name)}: {name} must be a list of tables; write [[{name}]] for each"
        )
    found = []
    for i, row in enumerate(rows):
        place = (name, i)
        make, spec = known[_choose(document, place, row, known)]
        values = document.fields(place, row, spec)
        values.pop("type")
        try:
            found.append(make(**values))
        except InputError as error:
            raise StudyError(f"{document.where(place)}: {error}") from error
    return tuple(found)


def _output(document: Document) -> Output | None:
    if not _has(document, "output"):
        return None
    values = document.fields(("output",), _table(document, "output"), OUTPUT)
    if "signals" in values:
        values["signals"] = tuple(values["signals"])
    return Output(**values)
