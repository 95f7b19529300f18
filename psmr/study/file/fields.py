"""Fields of a TOML file, checked: known name, right type, and the line for the message."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from psmr.errors import CaseError, StudyError, nearest
from psmr.io.text import decoded, parsed_toml
from psmr.io.toml.lines import Lines
from psmr.io.toml.lines import Path as TablePath

KINDS = {
    "number": ("a finite number", (int, float)),
    "whole": ("a whole number", (int,)),
    "text": ("a text in quotes", (str,)),
    "file": ("the path of a file, relative to this one, in quotes", (str,)),
    "flag": ("true or false", (bool,)),
    "list": ('a list of texts, for instance ["*.omega"]', (list,)),
    "name": ("a number or a text in quotes", (int, str)),
    "count": ("a whole number or a text in quotes", (int, str)),
}


@dataclass(frozen=True)
class Field:
    """What a field may hold: its kind, whether it must be there, and the texts it may be."""

    kind: str
    needed: bool = False
    among: tuple[str, ...] = ()


@dataclass(frozen=True)
class Document:
    """A parsed TOML file that knows where everything stands."""

    path: Path
    content: Mapping[str, Any]
    lines: Lines

    def where(self, table: TablePath, key: str | None = None) -> str:
        """Return file, line and table for a message."""
        line = self.lines.table(table) if key is None else self.lines.key(table, key)
        header = ""
        if table:
            header = f" [[{table[0]}]]" if len(table) > 1 else f" [{table[0]}]"
        return f"{self.path}:{max(line, 1)}{header}"

    def fields(self, table: TablePath, given: Mapping[str, Any], spec: Mapping[str, Field]) -> dict[str, Any]:
        """Return the values of a table after checking names, presence, types and choices.

        Raises
        ------
        StudyError
            For the first field that is unknown, missing, of a wrong type or not among its choices.
        """
        for key in given:
            if key not in spec:
                hint = nearest(key, spec) or f"; known: {', '.join(spec)}"
                raise StudyError(f"{self.where(table, key)}: there is no field {key!r}{hint}")
        for key, field in spec.items():
            if field.needed and key not in given:
                raise StudyError(f"{self.where(table)}: {key} is missing; add it as {self._right(field)}")
        return {key: self._checked(table, key, value, spec[key]) for key, value in given.items()}

    def _checked(self, table: TablePath, key: str, value: Any, field: Field) -> Any:
        types = KINDS[field.kind][1]
        good = isinstance(value, types) and (bool in types or not isinstance(value, bool))
        if good and isinstance(value, float):
            good = math.isfinite(value)
        if good and isinstance(value, list):
            good = bool(value) and all(isinstance(part, str) for part in value)
        if good and field.among and isinstance(value, str):
            good = value in field.among
        if not good:
            hint = nearest(value, field.among) if isinstance(value, str) else ""
            raise StudyError(
                f"{self.where(table, key)}: {key} = {value!r}: must be {self._right(field)}{hint}"
            )
        if field.kind == "file":
            return str(self.path.parent / value)
        return float(value) if field.kind == "number" else value

    @staticmethod
    def _right(field: Field) -> str:
        if field.among and field.kind == "text":
            return "one of " + ", ".join(f'"{choice}"' for choice in field.among)
        return KINDS[field.kind][0] + "".join(f', or "{choice}"' for choice in field.among)


def read_document(path: str | os.PathLike[str]) -> Document:
    """Return a parsed TOML file.

    Raises
    ------
    StudyError
        When it cannot be read, or is no TOML (with the line).
    """
    place = Path(path)
    try:
        text = decoded(place)
        return Document(place, parsed_toml(place, text), Lines(text))
    except CaseError as error:
        raise StudyError(str(error)) from error
