"""Events from a list in a CSV file."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from psmr.arguments import settle_fields
from psmr.errors import CaseError, EventError, InputError, StudyError, nearest, shown
from psmr.io.text import decoded, require_file
from psmr.io.toml.fields import Field, specification
from psmr.study.events import Event
from psmr.study.file.tables import EVENTS
from psmr.study.sweep.axes.axis import EVENT, Base
from psmr.study.sweep.variation import Points, Variation


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
        for number, row in self._rows():
            where = f"{self.file}:{number}"
            name = row.pop("run", None) or str(len(runs) + 1)
            runs.setdefault(name, []).append(_event(where, row))
        return [
            Variation((("run_name", name),), events=tuple(events), beside=self.beside)
            for name, events in runs.items()
        ]

    def _rows(self) -> list[tuple[int, dict[str, str]]]:
        rows = []
        try:
            require_file(Path(self.file))
            reader = csv.DictReader(io.StringIO(decoded(Path(self.file)), newline=""))
            for cells in reader:
                if None in cells:
                    raise StudyError(
                        f"{self.file}:{reader.line_num}: more cells than columns; name every column in "
                        "the first line"
                    )
                given = {k.strip(): v.strip() for k, v in cells.items() if v is not None and v.strip()}
                if given:
                    rows.append((reader.line_num, given))
        except CaseError as error:
            raise StudyError(str(error)) from error
        except (
            csv.Error
        ) as error:  # a cell of more than 131,072 characters: a quotation mark that is not closed
            raise StudyError(
                f"{self.file}:{reader.line_num}: is no CSV: {error}; is a quote not closed?"
            ) from error
        if not rows:
            raise StudyError(f"{self.file}: has no row under its column names; give at least one event")
        return rows


def _event(where: str, row: Mapping[str, str]) -> Event:
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
    for kind in (int, float):
        if kind in field.kinds:
            try:
                return kind(cell)
            except ValueError:
                continue
    if bool in field.kinds:
        if cell.lower() in ("true", "false"):
            return cell.lower() == "true"
    elif str in field.kinds or Path in field.kinds:
        return cell
    raise StudyError(f"{where}: {name} = {shown(cell)}: must be {field.right(True)}")
