"""Events from a list in a CSV file."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from psmr.base.arguments import settle_fields
from psmr.base.errors import EventError, InputError, StudyError, nearest, shown
from psmr.base.keywords import explains_keywords
from psmr.base.numbers import real_in, whole_in
from psmr.files.csv_rows import csv_rows
from psmr.files.toml.fields import Field, specification
from psmr.study.events import Event
from psmr.study.events.schedule import schedule
from psmr.study.file.tables import EVENTS
from psmr.sweep.axes.axis import EVENT, Base
from psmr.sweep.variation import Points, Variation


@explains_keywords(StudyError)
@dataclass(frozen=True)
class ListedEvents:
    """A run for each row of a CSV file, or for all rows that share their entry in a column ``run``.

    Parameters
    ----------
    file
        CSV file. The column ``type`` names the event as a study does (``fault``, ``line-trip``, ...), the
        others are its fields; empty cells are left out.
    beside, together
        As in `BranchOutages`.
    """

    file: str | os.PathLike[str]
    beside: bool = False
    together: str = ""

    kind: ClassVar[str] = "events"
    rank: ClassVar[int] = EVENT

    def __post_init__(self) -> None:
        settle_fields(self, StudyError)

    def points(self, base: Base) -> Points:
        """See `Axis`."""
        runs: dict[str, list[Event]] = {}
        places: dict[int, str] = {}
        rows = self._rows()
        taken = {row["run"] for _, row in rows if "run" in row}
        free = (str(number) for number in itertools.count(1) if str(number) not in taken)
        for number, row in rows:
            where = f"{self.file}:{number}"
            name = row.pop("run", None) or next(free)
            event = event_of(where, row)
            places[id(event)] = where
            runs.setdefault(name, []).append(event)
        for events in runs.values():
            self._check(events, places, base)
        return [
            Variation((("run_name", name),), events=tuple(events), beside=self.beside)
            for name, events in runs.items()
        ]

    def _check(self, events: list[Event], places: Mapping[int, str], base: Base) -> None:
        """Raise StudyError, with its row, for an event of a run that cannot happen."""
        together = [*base.study.events, *events] if self.beside else events
        t_end = math.inf if base.study.t_end is None else base.study.t_end
        try:
            schedule(base.system, together, t_end)
        except EventError as error:
            where = places.get(id(error.event), places[id(events[0])])
            raise StudyError(f"{where}: {error}") from error

    def _rows(self) -> list[tuple[int, dict[str, str]]]:
        head, rows = csv_rows(Path(self.file), StudyError)
        _check_head(str(self.file), head)
        for line, cells in rows:
            if len(cells) > len(head):
                raise StudyError(
                    f"{self.file}:{line}: more cells than columns; name every column in the first line"
                )
        if not rows:
            raise StudyError(f"{self.file}: has no row under its column names; give at least one event")
        named = ((line, zip(head, map(str.strip, cells), strict=False)) for line, cells in rows)
        return [(line, {name: cell for name, cell in pairs if cell}) for line, pairs in named]


def _check_head(file: str, head: list[str]) -> None:
    """Raise StudyError for names of columns that leave open what a cell means."""
    for k, name in enumerate(head):
        if not name:
            raise StudyError(f"{file}:1: column {k + 1} has no name; name it, or remove it")
        if name in head[:k]:
            raise StudyError(f"{file}:1: two columns are called {shown(name)}; leave one of them out")
    if head and "type" not in head:
        raise StudyError(
            f"{file}:1: there is no column 'type'{nearest('type', head)}; it names the event of a row: "
            f"{', '.join(EVENTS)}"
        )


def event_of(where: str, row: Mapping[str, str]) -> Event:
    """Return the event of a row of the list, whose cells are texts; `where` is its place for messages."""
    kind = row.get("type", "")
    if kind not in EVENTS:
        raise StudyError(f"{where}: type = {shown(kind)}{nearest(kind, EVENTS)}; known: {', '.join(EVENTS)}")
    fields = specification(EVENTS[kind])
    values: dict[str, Any] = {}
    for name, cell in row.items():
        if name == "type":
            continue
        if name not in fields:
            raise StudyError(f"{where}: {kind} has no field {shown(name)}{nearest(name, fields)}")
        values[fields[name].fills or name] = _value(where, name, cell, fields[name])
    for name, field in fields.items():
        if field.needed and (field.fills or name) not in values:
            raise StudyError(f"{where}: {name} is missing; {kind} needs it")
    try:
        return EVENTS[kind](**values)
    except (EventError, InputError) as error:
        raise StudyError(f"{where}: {error}") from error


def _value(where: str, name: str, cell: str, field: Field) -> Any:
    """Return a cell as the first kind that it can be."""
    for kind, read in ((int, whole_in), (float, real_in)):
        if kind in field.kinds:
            try:
                return read(cell)
            except ValueError:
                continue
    if bool in field.kinds:
        if cell.lower() in ("true", "false"):
            return cell.lower() == "true"
    elif str in field.kinds or Path in field.kinds:
        return cell
    raise StudyError(f"{where}: {name} = {shown(cell)}: must be {field.right(True)}")
