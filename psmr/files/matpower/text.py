"""The assignments of a MATPOWER case file: numbers and matrices of numbers, each with its line."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from psmr.base.errors import CaseError
from psmr.files.text import read_text

_NUMBER = re.compile(r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eEdD][+-]?[0-9]+)?|Inf|inf)")
_ASSIGN = re.compile(r"(\w+)\.(\w+)\s*=\s*(.*)", re.DOTALL)
_MATRICES = ("bus", "gen", "branch")
_OPEN, _CLOSE = "[{", "]}"


@dataclass(frozen=True)
class Line:
    """Numbers that stand on one line; `value` is the first."""

    number: int
    values: tuple[float, ...]

    @property
    def value(self) -> float:
        """The first number."""
        return self.values[0]


@dataclass(frozen=True)
class _Statement:
    number: int
    text: str
    lines: tuple[tuple[int, str], ...]


def read_fields(path: str | Path) -> tuple[dict[str, Line], dict[str, list[Line]]]:
    """Return the scalars (baseMVA) and the matrices (bus, gen, branch) of a file.

    Raises
    ------
    CaseError
        For another version, a field that is missing or given twice, a bracket without its partner, a value
        that is not a number, a statement that does more than assign.
    """
    scalars: dict[str, Line] = {}
    matrices: dict[str, list[Line]] = {}
    version = False
    statements = _statements(str(path), read_text(path))
    for statement in statements:
        place = f"{path}:{statement.number}"
        if re.match(r"function\b", statement.text) or statement.text in ("end", "return"):
            continue
        match = _ASSIGN.fullmatch(statement.text)
        if not match or match[1] != "mpc":
            raise CaseError(
                f"{place}: {statement.text[:40]!r} is not understood; psmr reads assignments of numbers to"
                " mpc.version, mpc.baseMVA, mpc.bus, mpc.gen and mpc.branch"
            )
        name, value = match[2], match[3].strip()
        if name in scalars or name in matrices or (name == "version" and version):
            raise CaseError(f"{place}: mpc.{name} is given twice")
        if name == "version":
            version = True
            if value.strip("'\"") != "2":
                raise CaseError(f"{place}: mpc.version = {value[:20]}: psmr reads version '2'")
        elif name == "baseMVA":
            scalars[name] = Line(statement.number, (_number(place, name, value),))
        elif name in _MATRICES:
            matrices[name] = _matrix(str(path), name, statement)
    for name in ("version", "baseMVA", *_MATRICES):
        if not (name in scalars or name in matrices or (name == "version" and version)):
            last = statements[-1].number if statements else 1
            raise CaseError(f"{path}:{last}: mpc.{name} is missing; is this a MATPOWER case of version 2?")
    return scalars, matrices


def _number(place: str, name: str, text: str) -> float:
    if not _NUMBER.fullmatch(text):
        raise CaseError(f"{place} (mpc.{name}): {text[:30]!r} is not a number; psmr computes no expressions")
    value = float(text.replace("D", "e").replace("d", "e"))
    if value in (float("inf"), float("-inf")) and "nf" not in text:
        raise CaseError(f"{place} (mpc.{name}): {text[:30]!r} is too large for a number")
    return value


def _matrix(path: str, name: str, statement: _Statement) -> list[Line]:
    """Return the rows of a matrix; they end at a semicolon or at the end of a line."""
    rows = []
    inside = False
    for number, text in statement.lines:
        place = f"{path}:{number}"
        if not inside:
            before, bracket, text = text.partition("[")
            if not bracket:
                if before.partition("=")[2].strip():
                    raise CaseError(f"{place} (mpc.{name}): must be a matrix in brackets")
                continue
            inside = True
        text, bracket, after = text.partition("]")
        for part in text.split(";"):
            values = tuple(_number(place, name, word) for word in re.split(r"[\s,]+", part.strip()) if word)
            if values:
                rows.append(Line(number, values))
        if bracket:
            if after.strip(" ;\t"):
                raise CaseError(f"{place} (mpc.{name}): {after[:20]!r} after the matrix is not understood")
            break
    if not inside:
        raise CaseError(f"{path}:{statement.number} (mpc.{name}): must be a matrix in brackets")
    return rows


def _statements(path: str, lines: list[str]) -> list[_Statement]:
    """Cut a file into statements, without comments; a bracket keeps a statement open over lines."""
    statements: list[_Statement] = []
    held: list[tuple[int, str]] = []
    depth = 0
    comment = 0
    for number, raw in enumerate(lines, start=1):
        if raw.strip() in ("%{", "%}"):
            comment += 1 if raw.strip() == "%{" else -1
            continue
        if comment > 0:
            continue
        text, continued = _code(raw)
        if not held and not text.strip():
            continue
        for piece, ended in _pieces(text, depth):
            depth += _balance(piece)
            if depth < 0:
                raise CaseError(f"{path}:{number}: a bracket closes that was not opened")
            if piece.strip() or held:
                held.append((number, piece))
            if ended and depth == 0 and held:
                statements.append(_joined(held))
                held = []
        if depth == 0 and held and not continued:
            statements.append(_joined(held))
            held = []
    if held:
        raise CaseError(f"{path}:{held[0][0]}: the bracket that opens here is not closed; is the file whole?")
    return [statement for statement in statements if statement.text]


def _joined(held: list[tuple[int, str]]) -> _Statement:
    text = "\n".join(piece for _, piece in held).strip().rstrip(";").strip()
    return _Statement(held[0][0], text, tuple(held))


def _pieces(text: str, depth: int) -> list[tuple[str, bool]]:
    """Return the parts of a line between the semicolons that end statements, and whether one ends each."""
    pieces, start, quoted = [], 0, False
    for position, letter in enumerate(text):
        if letter == "'":
            quoted = not quoted
        elif not quoted:
            depth += (letter in _OPEN) - (letter in _CLOSE)
            if letter == ";" and depth == 0:
                pieces.append((text[start:position], True))
                start = position + 1
    return [*pieces, (text[start:], False)]


def _balance(text: str) -> int:
    text = re.sub(r"'[^']*'", "", text)
    return sum((letter in _OPEN) - (letter in _CLOSE) for letter in text)


def _code(line: str) -> tuple[str, bool]:
    """Return a line without its comment, and whether three dots continue it."""
    quoted = False
    for position, letter in enumerate(line):
        if letter == "'":
            quoted = not quoted
        elif not quoted and letter == "%":
            return line[:position], False
        elif not quoted and line.startswith("...", position):
            return line[:position], True
    return line, False
