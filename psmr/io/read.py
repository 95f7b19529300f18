"""Read a case file of whatever format its suffix says."""

from __future__ import annotations

from pathlib import Path

from psmr.errors import CaseError
from psmr.grid.case import Case
from psmr.io.toml import read_toml

READERS = {".toml": read_toml}


def read_case(path: str | Path) -> Case:
    """Return the checked case in a file; the suffix says the format (``.toml``).

    Raises
    ------
    CaseError
        For a suffix that is not known, and for everything the reader and `Case` object to.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in READERS:
        raise CaseError(
            f"{path}: psmr reads {', '.join(READERS)} and knows no format {suffix!r}; rename or convert"
            " the file"
        )
    return READERS[suffix](path)
