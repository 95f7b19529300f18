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
from typing import Annotated, Any, TypeVar

from psmr.errors import InputError, SchemeError, StudyError, nearest
from psmr.grid.start.conversion import load_shares
from psmr.io.read import CaseFile
from psmr.io.toml.document import Document, read_document, shown
from psmr.io.toml.fields import specification
from psmr.study.events import Event
from psmr.study.file.recipe import Recipe, Split
from psmr.study.file.tables import EVENTS, HEAD, MONITORS, SCHEMES, SIMULATION, SPLIT
from psmr.study.monitors.monitors import Monitor

Row = TypeVar("Row")

FORMAT, VERSION = "psmr-study", 1
TABLES = ("scheme", "simulation", "event", "monitor", "output")
FIGURES = ("png", "svg", "pdf", "none")


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
    figure: Annotated[str, FIGURES] = "none"
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
    document = read_document(path, StudyError)
    head = _head(document)
    name = head.pop("name", document.path.stem)
    events = _rows(document, "event", EVENTS)
    monitors = _rows(document, "monitor", MONITORS)
    given = document.table("simulation")
    simulation = {} if given is None else document.values(("simulation",), given, SIMULATION)
    t_end = simulation.get("t_end")
    if t_end is not None and t_end <= 0:
        document.fail(f"t_end = {t_end:g}: must be > 0 in s", ("simulation",), "t_end")
    for table, rows in (("event", events), ("monitor", monitors)):
        if rows and t_end is None:
            document.fail(f"{table}s need a run; add [simulation] with t_end", (table, 0))
    return Study(
        name,
        CaseFile(**head),
        _recipe(document),
        events=events,
        monitors=monitors,
        output=_output(document),
        source=str(document.path),
        **simulation,
    )


def is_study(path: str | os.PathLike[str]) -> bool:
    """Return whether a file says that it is a study.

    Raises
    ------
    StudyError
        When it ends in .toml and cannot be read.
    """
    if Path(path).suffix.lower() != ".toml":
        return False
    return bool(read_document(path, StudyError).content.get("format") == FORMAT)


def _head(document: Document) -> dict[str, Any]:
    case = document.content.get("format") == "psmr-case"
    hint = "; this is a case file, try `psmr deformation` or `psmr modes`" if case else ""
    head = document.head(FORMAT, VERSION, HEAD, TABLES, hint)
    for key, name in (("case", "path"), ("dynamics", "dynamics")):
        if name in head and not os.path.isfile(head[name]):
            folder = head[name].parent
            beside = [p.name for p in folder.glob("*") if p.is_file()] if os.path.isdir(folder) else []
            document.fail(
                f"{key} = {shown(document.content[key])}: there is no such file beside the study"
                f"{nearest(head[name].name, beside)}",
                (),
                key,
            )
    if "loads" in head:
        try:
            head["loads"] = str(load_shares(head["loads"]))
        except InputError as error:
            raise StudyError(f"{document.where((), 'loads')}: {error}") from error
    return head


def _recipe(document: Document) -> Recipe:
    place = ("scheme",)
    given = document.table("scheme")
    if given is None:
        raise StudyError(
            f"{document.path}: the table [scheme] is missing; add it with type, step sizes and so on"
        )
    kind = document.choice(place, given, SCHEMES)
    spec = SCHEMES[kind]
    values = document.values(place, _beside_type(given), spec)
    try:
        split = None
        if spec.keys() >= SPLIT.keys():
            split = Split(**{key: values.pop(key) for key in SPLIT if key in values})
        recipe = Recipe(values, split, kind)
        recipe.check()
    except SchemeError as error:
        raise StudyError(f"{document.where(place)}: {error}") from error
    return recipe


def _rows(document: Document, name: str, known: Mapping[str, Callable[..., Row]]) -> tuple[Row, ...]:
    """Return what the tables [[name]] stand for, in the order of the file."""
    found = []
    for i, given in enumerate(document.rows(name)):
        place = (name, i)
        make = known[document.choice(place, given, known)]
        values = document.values(place, _beside_type(given), specification(make))
        try:
            found.append(make(**values))
        except InputError as error:
            raise StudyError(f"{document.where(place)}: {error}") from error
    return tuple(found)


def _beside_type(given: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in given.items() if key != "type"}


def _output(document: Document) -> Output | None:
    given = document.table("output")
    return None if given is None else Output(**document.values(("output",), given, specification(Output)))
