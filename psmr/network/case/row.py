"""A row of a table of a case: where it was read, and the checks that every row needs."""

from __future__ import annotations

import math
import re
from dataclasses import KW_ONLY, dataclass, field, fields
from typing import Any

from psmr.base.errors import CaseError
from psmr.base.printable import in_line

LARGEST = 1e9
"""Largest magnitude of a number that is no limit; no constant of a plant or a network comes near it."""

TOO_LARGE = f"must be between -{LARGEST:g} and {LARGEST:g}; is it in another unit?"


@dataclass(frozen=True)
class Row:
    """A row of a table; `where` says where it was read and takes no part in comparison."""

    _: KW_ONLY
    where: str = field(default="", compare=False, repr=False)

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            if isinstance(value, float) and "limit" not in item.metadata:
                self.require(math.isfinite(value), item.name, "must be finite")
                self.require(abs(value) <= LARGEST, item.name, TOO_LARGE)

    def require(self, good: bool, name: str, right: str) -> None:
        """Raise CaseError naming the row, the field, its value and what would be right, unless `good`."""
        if not good:
            value = getattr(self, name)
            raise CaseError(f"{self.place}: {name} = {value!r}: {right}")

    @property
    def place(self) -> str:
        """Where the row is: file and line where it was read, otherwise its kind and name."""
        name = getattr(self, "name", "")
        return f"{self.where or type(self).__name__}{f' ({in_line(str(name))})' if name else ''}"


def check_name(row: Any) -> None:
    """Raise CaseError for a row whose name signals could not begin with."""
    right = "must be a name without dots, blanks and control characters"
    good = isinstance(row.name, str) and bool(re.fullmatch(r"[^\s.]+", row.name)) and row.name.isprintable()
    row.require(good, "name", right)
