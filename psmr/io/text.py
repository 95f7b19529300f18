"""The text of a data file, and the lines that a message names."""

from __future__ import annotations

import re
from pathlib import Path

from psmr.errors import CaseError

_CONTROL = re.compile(r"[^\t\n\r\x20-\x7e\x85\xa0-\U0010ffff]")


def read_text(path: str | Path) -> list[str]:
    """Return the lines of a text file in UTF-8, without their ends.

    Raises
    ------
    CaseError
        For a file that cannot be read, is not in UTF-8, is empty, or has control characters in it; with
        the line.
    """
    path = Path(path)
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise CaseError(f"{path}: cannot be read: {error.strerror}; is the path right?") from error
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise CaseError(
            f"{path}:{line}: is no text in UTF-8 (byte {error.start}, {raw[error.start]:#04x});"
            " save the file as UTF-8 or ASCII"
        ) from error
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
