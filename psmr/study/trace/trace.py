"""A trace: signals over time that another program computed, from a CSV file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from psmr.base.arguments import check_arguments
from psmr.base.arrays import Reals
from psmr.base.errors import InputError, nearest, shown
from psmr.files.text import read_utf8

TIMES = ("t", "time", "time [s]", "time(s)", "time (s)", "t [s]")
"""What the column of times is called, letters of either case."""


@dataclass(frozen=True)
class Column:
    """How a column of a trace becomes a signal of psmr: scale times the column, plus offset, in its unit."""

    column: str
    signal: str
    scale: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True, eq=False)
class Trace:
    """Signals over time.

    Attributes
    ----------
    t
        (K,) times in s, ascending; one that stands twice is before and after an event.
    values
        (K,) values by signal.
    source
        The file.
    """

    t: Reals
    values: Mapping[str, Reals]
    source: str = ""

    def __repr__(self) -> str:
        return f"Trace({self.source!r}, {len(self.t)} points, {len(self.values)} signals)"


def read_trace(
    path: str | os.PathLike[str], columns: str | os.PathLike[str] | None = None, shift: float = 0.0
) -> Trace:
    """Return the trace in a CSV file: a line of names, then numbers; the first column or ``time`` has times.

    Parameters
    ----------
    path
        The file.
    columns
        CSV file that says which columns are which signals: lines ``column,signal`` or
        ``column,signal,scale,offset``, the signal being scale times the column plus offset, in psmr's unit.
        None: each column has the name of its signal.
    shift
        Added to the times, in s.

    Raises
    ------
    InputError
        For a file that cannot be read, an entry that is no number, times that descend, and a column that is
        not there; with file and line.
    """
    check_arguments(read_trace, locals())
    lines = [
        (number, line)
        for number, line in enumerate(read_utf8(Path(path)).splitlines(), 1)
        if line.strip() and not line.startswith("#")
    ]
    if len(lines) < 3:
        raise InputError(f"{path}: a trace has a line of names and at least two lines of numbers")
    names = [name.strip().strip('"') for name in lines[0][1].split(",")]
    table = np.array([_numbers(path, number, line, len(names)) for number, line in lines[1:]])
    time = next((k for k, name in enumerate(names) if name.lower() in TIMES), 0)
    t = table[:, time] + shift
    if (wrong := np.flatnonzero(np.diff(t) < 0.0)).size:
        raise InputError(
            f"{path}:{lines[wrong[0] + 2][0]}: t = {t[wrong[0] + 1]:g} s: times must not descend"
        )
    own = tuple(Column(name, name) for k, name in enumerate(names) if k != time)
    given = own if columns is None else _read_columns(columns)
    values: dict[str, Reals] = {}
    for column in given:
        if column.column not in names:
            raise InputError(
                f"{path}: there is no column {shown(column.column)}{nearest(column.column, names)}"
            )
        values[column.signal] = column.scale * table[:, names.index(column.column)] + column.offset
    return Trace(t, values, str(path))


def _read_columns(path: str | os.PathLike[str]) -> tuple[Column, ...]:
    """Return which columns of a trace are which signals."""
    found = []
    for number, line in enumerate(read_utf8(Path(path)).splitlines(), 1):
        parts = [part.strip().strip('"') for part in line.split(",")]
        if not line.strip() or line.startswith("#") or parts[:2] == ["column", "signal"]:
            continue
        if len(parts) not in (2, 4) or not all(parts):
            raise InputError(
                f"{path}:{number}: {shown(line)}: must be column,signal or column,signal,scale,offset"
            )
        found.append(Column(parts[0], parts[1], *_numbers(path, number, ",".join(parts[2:]), len(parts) - 2)))
    return tuple(found)


def _numbers(path: str | os.PathLike[str] | Path, number: int, line: str, count: int) -> list[float]:
    """Return the numbers of a line of a CSV file, of which there must be so many."""
    parts = line.split(",") if count else []
    if len(parts) != count:
        raise InputError(f"{path}:{number}: {len(parts)} entries; the line of names has {count}")
    try:
        values = [float(part) for part in parts]
    except ValueError as error:
        raise InputError(f"{path}:{number}: {error}; every entry must be a number") from error
    if not np.isfinite(values).all():
        raise InputError(f"{path}:{number}: every entry must be a finite number")
    return values
