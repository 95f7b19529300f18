"""A TOML file that is taken apart by what records declare: every value checked, every message with its line.

The record that a table fills says names, types and choices in its annotations, and by their defaults which
fields must be there. Choices are ``Literal["a", "b"]``, or ``Annotated[str, CHOICES]`` by their name.
"""

from __future__ import annotations

import dataclasses
import math
import os
import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

from psmr.base.arguments import other_name
from psmr.base.declared import ValueKind, declared, option_of
from psmr.base.errors import (
    CaseError,
    InputError,
    Mistakes,
    errors_at,
    has_control_characters,
    in_line,
    nearest,
    shown,
)
from psmr.dae.declare.component import Component
from psmr.files.text import parsed_toml, read_utf8
from psmr.files.toml.lines import Lines
from psmr.files.toml.lines import Path as TablePath

WORDS: Mapping[Any, str] = {
    float: "a number",
    int: "a whole number",
    str: "a text in quotes",
    bool: "true or false",
    dict: "a table",
    list: "a list of tables",
    Path: "the path of a file, relative to this one, in quotes",
    list[str]: 'a list of texts, ["...", "..."]',
    list[int]: "a list of whole numbers",
    list[float]: "a list of numbers",
}
"""The types that a file knows, in words."""


@dataclass(frozen=True)
class Field:
    """What a field of a file may hold: types of `WORDS`, whether it is needed, the only texts it may be.

    `fills` is the field of the record, where the file calls it otherwise, `help` what the record says of it.
    """

    kinds: tuple[Any, ...]
    needed: bool = False
    among: tuple[str, ...] = ()
    fills: str = ""
    help: str = ""

    def right(self, finite: bool) -> str:
        """Return what would be right; `finite` where numbers must be."""
        choices = [f'"{choice}"' for choice in self.among]
        if choices and self.kinds == (str,):
            return f"one of {', '.join(choices)}"
        words = [WORDS[kind] for kind in self.kinds if kind is not str or not choices]
        return " or ".join([*words, *choices]).replace(
            "a number", "a finite number" if finite else "a number"
        )


Spec = Mapping[str, Field]


def specification(
    *makers: Callable[..., Any], without: Collection[str] = (), called: Mapping[str, str] | None = None
) -> dict[str, Field]:
    """Return the fields of a table from the arguments of what it makes; TypeError for what no file holds.

    Of several makers, ways to make the same, a field is needed only if all need it. `without` are arguments
    that do not come from the table, `called` says what the file calls one, where that is another name.
    """
    found = [_arguments(maker, without) for maker in makers]
    fields: dict[str, Field] = {}
    for name, field in ((name, field) for arguments in found for name, field in arguments.items()):
        needed = all(name in arguments and arguments[name].needed for arguments in found)
        fields.setdefault((called or {}).get(name, name), replace(field, needed=needed, fills=name))
    return fields


def _arguments(maker: Callable[..., Any], without: Collection[str]) -> dict[str, Field]:
    found = {}
    for each in declared(maker):
        if each.name in without:
            continue
        kinds = each.kinds
        # A path may be written as a text, too: in a file both are the same.
        held = (Path,) if "Path" in kinds else tuple(filter(None, map(_held, kinds, kinds.values())))
        if not held:
            raise TypeError(f"{maker.__qualname__}: {each.name}: {each.annotation}: no file can hold this")
        among = kinds["Literal"].choices if "Literal" in kinds else ()
        found[each.name] = Field(held, each.needed, among, help=option_of(each.notes).help or "")
    return found


_HELD = {"float": float, "int": int, "str": str, "bool": bool, "dict": dict, "Literal": str}


def _held(name: str, kind: ValueKind) -> Any:
    """Return the type that a file has for what an annotation names; None where it has none."""
    if name != "list":
        return _HELD.get(name)
    held = next((_HELD[part] for part in kind.parts if part in _HELD), None)
    return held and list[held]  # type: ignore[valid-type]


_HEAD: Spec = {"format": Field((str,), needed=True), "version": Field((int,), needed=True)}
"""What every file begins with."""

_READERS = {
    "psmr-case": "`psmr check` or `psmr modes`",
    "psmr-study": "`psmr run`",
    "psmr-sweep": "`psmr sweep`",
}
"""Which command reads a file that calls itself so."""

_WHOLE = 2**63
"""Whole numbers of TOML lie below this in magnitude."""


@dataclass(frozen=True)
class Document:
    """A parsed TOML file that knows where everything stands, and raises `error` for anything wrong.

    With `finite` a number must be finite; otherwise the record says which may be infinite. `own` are
    components of the user's own that it may name; with `allow_code` it may name files that run.
    """

    path: Path
    content: Mapping[str, Any]
    lines: Lines
    error: type[InputError]
    finite: bool
    text: str = ""
    own: Mapping[str, type[Component]] = dataclasses.field(default_factory=dict)
    allow_code: bool = False

    def where(self, table: TablePath = (), key: str | None = None) -> str:
        """Return file, line and table for a message."""
        line = self.lines.table(table) if key is None else self.lines.key(table, key)
        names = in_line(".".join(part for part in table if isinstance(part, str)))
        row = len(table) == 2 and isinstance(table[1], int)
        return f"{self.path}:{max(line, 1)}" + (f" [[{names}]]" if row else f" [{names}]" if names else "")

    def fail(self, words: str, table: TablePath = (), key: str | None = None) -> NoReturn:
        """Raise the file's error with the place of a table or key."""
        raise self.error(f"{self.where(table, key)}: {words}")

    def head(self, format: str, version: int, spec: Spec, tables: Collection[str]) -> dict[str, Any]:
        """Return the values beside the tables, after a look at what the file says that it is."""
        found = self.content.get("format")
        if found != format:
            kind = format.removeprefix("psmr-")
            right = f'must be "{format}" for a {kind} file'
            if not self.content:
                self.fail(f"the file is empty; {right.replace('must be', 'begin with format =')}")
            if found is None:
                self.fail(f"format is missing: {right}")
            reader = _READERS.get(found) if isinstance(found, str) else None
            hint = f"; this is a {found.removeprefix('psmr-')} file, try {reader}" if reader else ""
            if reader and format == "psmr-case" and "case" in self.content:
                hint += f", or give its case, {shown(self.content['case'])}"
            self.fail(f"format = {shown(found)}: {right}{hint}", (), "format")
        given = {key: value for key, value in self.content.items() if key not in tables}
        values = self.values((), given, {**_HEAD, **spec}, tables)
        if values["version"] != version:
            self.fail(
                f"version = {values['version']}: this psmr reads version {version}; update psmr, or write the"
                " file in that version",
                (),
                "version",
            )
        return {key: value for key, value in values.items() if key not in _HEAD}

    def table(self, name: str) -> Mapping[str, Any] | None:
        """Return the table [name]; None where there is none."""
        found = self.content.get(name)
        if found is not None and not isinstance(found, dict):
            self.fail(f"{name} must be a table; write [{name}]", (), name)
        return found

    def rows(self, name: str) -> list[Mapping[str, Any]]:
        """Return the tables [[name]]."""
        found = self.content.get(name, [])
        if not isinstance(found, list) or not all(isinstance(row, dict) for row in found):
            given = name if isinstance(found, list | dict) else f"{name} = {shown(found)}:"
            self.fail(f"{given} must be a list of tables; write [[{name}]] for each", (), name)
        return found

    def each(
        self, name: str, make: Callable[[Document, TablePath, Mapping[str, Any]], Any], mistakes: Mistakes
    ) -> tuple[Any, ...]:
        """Return what the tables [[name]] stand for, in order, and keep what is wrong with the others."""
        tables = enumerate(mistakes.attempt(self.rows, name) or ())
        found = [mistakes.attempt(make, self, (name, i), given) for i, given in tables]
        return tuple(row for row in found if row is not None)

    def choice(self, table: TablePath, given: Mapping[str, Any], known: Collection[str]) -> str:
        """Return the type that a table says it is of."""
        types = {key: value for key, value in given.items() if key == "type"}
        spec = {"type": Field((str,), needed=True, among=tuple(known))}
        return str(self.values(table, types, spec)["type"])

    def values(
        self, table: TablePath, given: Mapping[str, Any], spec: Spec, tables: Collection[str] = ()
    ) -> dict[str, Any]:
        """Return the values of a table, by the record's names, after checking names, presence and values.

        `tables` are names that may stand beside the fields. Raises the file's error for all fields that are
        unknown, missing, of a wrong type or not among their choices.
        """
        mistakes, found = Mistakes(self.error), {}
        for key, value in given.items():
            if key in spec:
                found[spec[key].fills or key] = mistakes.attempt(self._checked, table, key, value, spec[key])
            else:
                mistakes.attempt(self._unknown, table, key, given, (*spec, *tables), bool(tables))
        for key, field in spec.items():
            if field.needed and key not in given:
                words = f"{key} is missing; add it as {field.right(self.finite)}"
                mistakes.attempt(self.fail, words, table)
        mistakes.finish()
        return found

    def fill(self, table: TablePath, given: Mapping[str, Any], make: Callable[..., Any]) -> Any:
        """Return what the values of a table make; what it objects to is said with its place."""
        values = self.values(table, given, specification(make))
        with errors_at(self.error, self.where(table)):
            return make(**values)

    def made(
        self, table: TablePath, given: Mapping[str, Any], known: Mapping[str, Callable[..., Any]]
    ) -> Any:
        """Return what a table of one of the types known stands for."""
        make = known[self.choice(table, given, known)]
        return self.fill(table, {key: value for key, value in given.items() if key != "type"}, make)

    def _unknown(
        self, table: TablePath, key: str, given: Mapping[str, Any], known: Collection[str], tables: bool
    ) -> NoReturn:
        words = other_name(key, given, known)
        hint = (f"; {words}" if words else nearest(key, known)) or (
            f"; known: {', '.join(known)}" if known else "; it has none"
        )
        self.fail(f"there is no {'field or table' if tables else 'field'} {shown(key)}{hint}", table, key)

    def _checked(self, table: TablePath, key: str, value: Any, field: Field) -> Any:
        texts = [value] if isinstance(value, str) else value if isinstance(value, list) else []
        if Path not in field.kinds and any(
            isinstance(text, str) and has_control_characters(text) for text in texts
        ):
            hint = "; between single quotes a backslash stands for itself" if "\\" in repr(value) else ""
            self.fail(f"{key} = {shown(value)}: has a character that cannot be printed{hint}", table, key)
        for kind in field.kinds:
            if kind == list[float] and isinstance(value, list):
                return tuple(self._checked(table, key, part, Field((float,))) for part in value)
            if _fits(value, kind, field.among, self.finite):
                return _taken(value, kind, self.path.parent)
        hint = nearest(value, field.among) if isinstance(value, str) else ""
        if isinstance(value, str) and value[:1].isdigit() and {int, float} & set(field.kinds):
            hint = hint or "; a number stands without quotes and without its unit"
        if isinstance(value, list) and not value and {list[str], list[float]} & set(field.kinds):
            hint = f"; this one is empty: name at least one, or leave {key} out"
        if isinstance(value, int) and abs(value) >= _WHOLE and {int, float} & set(field.kinds):
            hint = "; this one has too many digits"
        if field.kinds == (Path,) and isinstance(value, str):
            hint = "; this one has a NUL character in it"
        self.fail(f"{key} = {shown(value)}: must be {field.right(self.finite)}{hint}", table, key)


def _fits(value: Any, kind: Any, among: Collection[str], finite: bool) -> bool:
    """Return whether a value is of a kind; a whole number may stand for a real one."""
    if kind is float:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if isinstance(value, int):
            return number and value.bit_length() < sys.float_info.max_exp
        return number and (not finite or math.isfinite(value))
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool) and -_WHOLE <= value < _WHOLE
    if kind == list[str]:
        return isinstance(value, list) and bool(value) and all(isinstance(part, str) for part in value)
    if kind == list[int]:
        return isinstance(value, list) and bool(value) and all(_fits(part, int, (), finite) for part in value)
    if kind is list:
        return isinstance(value, list) and bool(value) and all(isinstance(part, dict) for part in value)
    if kind is str and among:
        return isinstance(value, str) and value in among
    if kind is Path:
        return isinstance(value, str) and "\0" not in value
    return kind in (str, bool, dict) and isinstance(value, kind)


def _taken(value: Any, kind: Any, folder: Path) -> Any:
    if kind is float:
        return float(value)
    if kind is Path:
        return folder / value
    return tuple(value) if isinstance(value, list) else value


def read_document(path: str | os.PathLike[str], error: type[InputError], finite: bool = True) -> Document:
    """Return a parsed TOML file; raises the error when it cannot be read, or is no TOML (with the line)."""
    place = Path(path)
    try:
        text = read_utf8(place)
        return Document(place, parsed_toml(place, text), Lines(text), error, finite, text)
    except CaseError as wrong:
        raise error(str(wrong)) from wrong
