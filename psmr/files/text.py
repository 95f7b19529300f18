"""The text of a data file with the lines that a message names, rows of CSV, and what rounding leaves."""

from __future__ import annotations

import codecs
import csv
import functools
import io
import math
import re
import stat
import sys
import tomllib
from pathlib import Path
from typing import Any, TextIO

from psmr.base.errors import CaseError, InputError, warn
from psmr.base.files import abridged, unreadable

_CONTROL = re.compile(r"[^\t\n\r\x20-\x7e\x85\xa0-\U0010ffff]")


def read_text(path: str | Path, other: str | None = None) -> list[str]:
    """Return the lines of a text file in UTF-8, without their ends; `other` as in `read_utf8`.

    Raises CaseError for a file that cannot be read, is neither in UTF-8 nor, with its mark, in UTF-16, is
    empty, or has control characters in it; with the line.
    """
    # Programs of DOS end a text with Ctrl-Z.
    text = re.sub(r"\x1a\s*\Z", "", read_utf8(path, other))
    found = _CONTROL.search(text)
    if found:
        line = text.count("\n", 0, found.start()) + 1
        raise CaseError(
            f"{path}:{line}: has the control character {found[0]!r}; is this a text file, and whole?"
        )
    # Only these end a line; `splitlines` would also break at characters that a name can have.
    lines = re.split(r"\r\n|\r|\n", text)
    if not any(line.strip() for line in lines):
        raise CaseError(f"{path}:1: the file is empty")
    return lines


STANDARD_INPUT = "-"
"""The path that means standard input."""

_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)

LONGEST = 2**30
"""Bytes of standard input at most: what is longer may never end."""

WINDOWS = "cp1252"
"""The encoding of files of programs that write in that of the system, Windows of the West: ISO 8859-1, and
more. Bytes that it has no letter for, of Chinese names or of a letter that was cut, become U+FFFD."""


def read_utf8(path: str | Path, other: str | None = None) -> str:
    """Return the text of a regular file, or of standard input (``-``), in UTF-8.

    It may have a byte-order mark, and with one be in UTF-16, as PowerShell writes. Standard input is read
    once and remembered: who asks again gets the same. `other` is the encoding of a file that is not in UTF-8,
    for formats that say nothing of it and whose data are ASCII, so that names for display alone depend on it.

    Warns for a file that is read in the other encoding. Raises CaseError for a path that leads nowhere, to a
    folder, a pipe or a device, and for bytes that are no text.
    """
    shown = abridged(path)
    if str(path) == STANDARD_INPUT:
        raw = _standard_input(sys.stdin)
    else:
        require_file(path)
        try:
            raw = Path(path).read_bytes()
        except OSError as error:
            raise CaseError(unreadable(path, error)) from error
    encoding, name = ("utf-16", "UTF-16") if raw.startswith(_UTF_16) else ("utf-8-sig", "UTF-8")
    try:
        return raw.decode(encoding)
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        what = f"{shown}:{line}: is not text in {name} (byte {error.start}, {raw[error.start]:#04x})"
        if other is None or encoding == "utf-16":
            raise CaseError(f"{what}; save the file as UTF-8 or ASCII") from error
        warn(f"{what}; read as {other}, on which names may depend")
        return raw.decode(other, errors="replace")


def require_file(path: str | Path) -> None:
    """Raise CaseError for a path that leads nowhere, or to something that is no regular file.

    A pipe or device is refused before it is opened: it may block, or never end.
    """
    shown = abridged(path)
    try:
        kind = Path(path).stat().st_mode
    except (OSError, ValueError) as error:  # of a path with a NUL in it
        raise CaseError(unreadable(path, error)) from error
    if not stat.S_ISREG(kind):
        what = "a folder" if stat.S_ISDIR(kind) else "no regular file (a pipe or device)"
        raise CaseError(f"{shown}: cannot be read: it is {what}; give a file, or - for standard input")


@functools.lru_cache(maxsize=1)
def _standard_input(stream: TextIO | None) -> bytes:
    """Return everything that standard input has, up to its end."""
    if stream is None or stream.closed:
        raise CaseError("-: standard input is closed; give a file, or pipe one in")
    try:
        given = getattr(stream, "buffer", stream).read(LONGEST + 1)
    except OSError as error:
        raise CaseError(f"-: standard input cannot be read: {error.strerror}; give a file") from error
    # A stream in its place, of a notebook or a test, has text alone.
    raw = given.encode("utf-8") if isinstance(given, str) else given
    if len(raw) > LONGEST:
        raise CaseError("-: standard input has more than 1 GiB; is it the right one?")
    return raw


def parsed_toml(path: str | Path, text: str) -> dict[str, Any]:
    """Return a TOML text as tables.

    Raises CaseError for a text that is no TOML (with the line), is nested too deep, or has a number of too
    many digits or a name of too many parts.
    """
    if found := _DEEP_KEY.search(text):
        row = text.count("\n", 0, found.start(1)) + 1
        raise CaseError(f"{path}:{row}: has a name of more than 32 parts, and no field has so many")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        place = f"{path}:{found[1]}" if (found := re.search(r"\(at line (\d+), ", str(error))) else str(path)
        line = text.splitlines()[int(found[1]) - 1 :][:1] if found else []
        raise CaseError(f"{place}: is not valid TOML: {error}{_slip(''.join(line)[:LINE])}") from error
    except RecursionError as error:
        raise CaseError(f"{path}{deepest_bracket(text)}: is not valid TOML: {TOO_DEEP}") from error
    except ValueError as error:
        raise CaseError(f"{path}{longest_number(text)}: is not valid TOML: {TOO_LONG}") from error


# The time and memory to read a name grow with the square of its parts.
_DEEP_KEY = re.compile(
    r"""(?:^|[\[{,])[ \t]*+((?:(?:[\w-]++|"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){32})""", re.M
)

_SLIPS = tuple(
    (re.compile(pattern), hint)
    for pattern, hint in (
        (r"\s*[\w.-]+\s*=\s*([+-]?\d+),(\d+)\s*", r"a decimal has a point: \1.\2"),
        (r"\s*[\w.-]+\s*=\s*([+-]?[\d.]+)\s*[A-Za-z%]+\s*", r"a number stands without its unit: \1"),
        (r".*[\u201c-\u201f\u2018\u2019].*", "quotes are straight ones"),
        (r".*[\"'].*", "a text begins and ends with the same quote"),
        (r"\s*[\w.-]+\s*=\s*([TF])(rue|alse)\s*", "write true or false, in small letters"),
        (r"\s*[\w.-]+\s*=\s*[A-Za-z][\w .-]*", "a text stands in quotes"),
        (r"\s*[\w.-]+\s*==.*|\s*[\w.-]+\s*:(?!.*=).*", "one = stands between name and value"),
        (r".*;\s*", "a line ends without a semicolon"),
        (r".*//.*", "a comment begins with #"),
    )
)
"""Usual slips in a line that is no TOML, without its texts and comment, and what would be right."""

LINE = 500
"""Characters of a line that are looked at for a slip; the time grows with their square."""


def _slip(line: str) -> str:
    """Return what is wrong in a line that is no TOML, where it is a usual slip."""
    bare = _STRINGS.sub("", line.partition("#")[0])
    found = next(((hint, match) for slip, hint in _SLIPS if (match := slip.fullmatch(bare))), None)
    if found is not None:
        return f"; {found[1].expand(found[0])}"
    if re.fullmatch(r"\s*[\w.-]+\s*=\s*", line.partition("#")[0]):
        return "; a value is missing behind ="
    return "; between single quotes a backslash stands for itself" if "\\" in line else ""


TOO_DEEP = "brackets are nested too deep; close some of them"
TOO_LONG = "a number has too many digits; a whole number has at most 19"
"""What is wrong with a text that Python's readers of TOML and JSON give up on."""

_STRINGS = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'')


def deepest_bracket(text: str) -> str:
    """Return the place, ``":LINE"``, of the bracket that is nested deepest in TOML or JSON."""
    depth, most, line = 0, 0, 1
    for number, row in enumerate(text.split("\n"), 1):
        for sign in re.findall(r"[\[\]{}]", _STRINGS.sub("", row)):
            depth += 1 if sign in "[{" else -1
            if depth > most:
                most, line = depth, number
    return f":{line}"


def longest_number(text: str) -> str:
    """Return the place, ``":LINE"``, of the first number of more digits than Python reads, 4,300."""
    found = re.search(r"[0-9](?:_?[0-9]){4300}", text)
    return f":{text.count(chr(10), 0, found.start()) + 1}" if found else ""


def csv_rows(file: Path, error: type[InputError]) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """Return the names of columns, and the line and cells of each row that has something in it.

    Raises InputError of the given type: for a file that cannot be read, is no CSV, or has other marks between
    its cells.
    """
    try:
        require_file(file)
        reader = csv.reader(io.StringIO(read_utf8(file), newline=""))
        head = [cell.strip() for cell in next(reader, [])]
        rows = [(reader.line_num, cells) for cells in reader if any(cell.strip() for cell in cells)]
    except CaseError as wrong:
        raise error(str(wrong)) from wrong
    except csv.Error as wrong:  # a cell of more than 131,072 characters: a quotation mark that is not closed
        raise error(f"{file}:{reader.line_num}: is no CSV: {wrong}; is a quote not closed?") from wrong
    apart = next((mark for mark in (";", "\t") if mark in head[0]), None) if len(head) == 1 else None
    if apart is not None:
        raise error(
            f"{file}:1: cells are separated by {'semicolons' if apart == ';' else 'tabs'}; separate them by "
            "commas, and write numbers with a decimal point"
        )
    return head, rows


ROUNDING = 1e-6
"""How far two numbers may be apart, relatively and absolutely, and be one: solvers and texts round there."""


def in_order(low: float, high: float) -> tuple[float, float] | None:
    """Return two limits, both the first where the second is below it by rounding; None for a wrong order."""
    if low <= high:
        return low, high
    near = abs(low) < math.inf and low - high <= ROUNDING * max(1.0, abs(low))
    return (low, low) if near else None
