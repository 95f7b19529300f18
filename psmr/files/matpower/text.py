"""The text of a MATPOWER case file, cut into statements."""

from __future__ import annotations

import re
from pathlib import Path

from psmr.base.errors import CaseError
from psmr.files.matpower.statements import NEEDED, Line, Statement, Workspace
from psmr.files.text import WINDOWS, read_text

_OPEN, _CLOSE = "[{(", "]})"


def read_fields(path: str | Path) -> tuple[dict[str, Line], dict[str, list[Line]]]:
    """Return the scalars (baseMVA) and the matrices (bus, gen, branch, perhaps dcline) of a file.

    Files of version 1 have the same columns, as far as a case needs them, and often no version.

    Raises
    ------
    CaseError
        For another version, a field that is missing or given twice, a bracket without its partner, a value
        that is not a number, a statement that may change a number and is not understood.
    """
    statements = _statements(str(path), read_text(path, WINDOWS))
    space = Workspace(str(path))
    for statement in statements:
        space.carry_out(statement)
    version = space.scalars.pop("version", None)
    if version is not None and version.value not in (1.0, 2.0):
        where = f"{path}:{version.number}"
        raise CaseError(f"{where}: mpc.version = '{version.value:g}': psmr reads versions '1' and '2'")
    for name in ("baseMVA", *NEEDED):
        if not (name in space.scalars or name in space.matrices):
            last = statements[-1].number if statements else 1
            raise CaseError(f"{path}:{last}: mpc.{name} is missing; is this a MATPOWER case?")
    return space.scalars, space.matrices


def _statements(path: str, lines: list[str]) -> list[Statement]:
    """Cut a file into statements, without comments; a bracket keeps a statement open over lines."""
    statements: list[Statement] = []
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


def _joined(held: list[tuple[int, str]]) -> Statement:
    text = "\n".join(piece for _, piece in held).strip().rstrip(";").strip()
    return Statement(held[0][0], text, tuple(held))


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
