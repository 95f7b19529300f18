"""A trace: signals over time that another program computed, from a text file."""

from __future__ import annotations

import csv
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from psmr.base.arguments import check_arguments
from psmr.base.arrays import Reals
from psmr.base.errors import InputError, nearest, shown
from psmr.base.numbers import real_in
from psmr.files.text import read_utf8
from psmr.study.trace.columns import Column, split_unit
from psmr.study.trace.table import Table, read_table

TIMES = ("t", "time")
"""What the column of times is called, letters of either case."""
DIGITS = "+-.0123456789"
SECONDS = {"": 1.0, "s": 1.0, "sec": 1.0, "seconds": 1.0, "ms": 1e-3}


@dataclass(frozen=True, eq=False)
class Trace:
    """Signals over time.

    Attributes
    ----------
    t
        (K,) times in s, ascending; one that stands twice is before and after an event.
    values
        (K,) values by signal, NaN where the trace has a gap.
    source
        The file.
    columns
        By signal the column that it was read from; one that has a `unit` is still to be converted.
    """

    t: Reals
    values: Mapping[str, Reals]
    source: str = ""
    columns: Mapping[str, Column] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Trace({self.source!r}, {len(self.t)} points, {len(self.values)} signals)"


def read_trace(
    path: str | os.PathLike[str], columns: str | os.PathLike[str] | None = None, shift: float = 0.0
) -> Trace:
    """Return the trace in a text file: names, then lines of numbers; the first column or ``time`` has times.

    `psmr.study.trace.table` says which forms of text are read.

    Parameters
    ----------
    path
        The file.
    columns
        CSV file that says which columns, by name or number, are which signals: lines ``column,signal``,
        ``column,signal,unit`` or ``column,signal,scale,offset`` (offset 0 where it is left out), the signal
        being scale times the column plus offset, in psmr's unit. None: each column has the name of its
        signal, or that of PSS/E's channel.
    shift
        Added to the times, in s.

    Raises
    ------
    InputError
        For a file that cannot be read, an entry that is no number, times that descend, and a column that is
        not there; with file and line.
    """
    check_arguments(read_trace, locals())
    table = read_table(Path(path))
    time, t = _times(path, table, shift)
    own = [split_unit(name) for name in table.names]
    every = {
        k: Column(name, own[k][0], unit=table.units[k] or own[k][1])
        for k, name in enumerate(table.names)
        if k != time
    }
    given = list(every.items())
    if columns is not None:
        given = list(_mapped(path, table, every, columns))
    values = {column.signal: column.scale * table.numbers[:, k] + column.offset for k, column in given}
    if twice := [name for name, n in Counter(column.signal for _, column in given).items() if n > 1]:
        raise InputError(f"{path}: {twice[0]!r} is the signal of two columns; say which: --map FILE")
    if empty := [name for name, found in values.items() if np.isnan(found).all()]:
        raise InputError(f"{path}: {empty[0]!r} has no number")
    return Trace(t, values, str(path), {column.signal: column for _, column in given})


def _times(path: str | os.PathLike[str], table: Table, shift: float) -> tuple[int, Reals]:
    """Return the place of the column of times, and the times in s."""
    named = [split_unit(name) for name in table.names]
    place = next((k for k, (name, _) in enumerate(named) if name.lower() in TIMES), 0)
    unit = (table.units[place] or named[place][1]).lower()
    what = f"the times are {table.names[place]!r}"
    if unit not in SECONDS:
        raise InputError(f"{path}: {what}: {unit!r} must be one of {', '.join(filter(None, SECONDS))}")
    t = table.numbers[:, place] * SECONDS[unit] + shift
    if missing := np.flatnonzero(np.isnan(t)).tolist():
        raise InputError(f"{path}:{table.lines[missing[0]]}: {what}, and this line has none")
    if wrong := np.flatnonzero(np.diff(t) < 0.0).tolist():
        at = wrong[0] + 1
        raise InputError(f"{path}:{table.lines[at]}: {what}: t = {t[at]:g} s: times must not descend")
    return place, t


def _mapped(
    path: str | os.PathLike[str], table: Table, every: Mapping[int, Column], columns: str | os.PathLike[str]
) -> Iterator[tuple[int, Column]]:
    """Yield the place of each column that a map names, and what it is."""
    for number, line in enumerate(read_utf8(Path(columns)).splitlines(), 1):
        by = next((separator for separator in (";", "\t") if separator in line), ",")
        parts = [part.strip() for part in next(csv.reader([line], delimiter=by, skipinitialspace=True), [])]
        if not line.strip() or line.startswith("#") or parts[:2] == ["column", "signal"]:
            continue
        where = f"{columns}:{number}: {shown(line)}"
        if len(parts) not in (2, 3, 4) or not all(parts):
            raise InputError(
                f"{where}: must be column,signal and, where it needs them, a unit or scale,offset"
            )
        name, signal = parts[:2]
        place = _place(path, table, every, name)
        if len(parts) == 2 or (len(parts) == 3 and parts[2][0] not in DIGITS):
            yield (
                place,
                replace(every[place], signal=signal, unit=parts[2] if parts[2:] else every[place].unit),
            )
            continue
        try:
            numbers = [real_in(part) for part in parts[2:]]
        except ValueError as error:
            raise InputError(f"{where}: scale and offset: {error}") from error
        if numbers[0] == 0.0:
            raise InputError(f"{where}: scale = 0: must not be 0")
        yield place, Column(every[place].column, signal, numbers[0], numbers[1] if len(numbers) > 1 else 0.0)


def _place(path: str | os.PathLike[str], table: Table, every: Mapping[int, Column], name: str) -> int:
    """Return the place of a column by its name, with its unit or without, or by its number from 1."""
    places = [k for k, own in every.items() if name in (own.column, own.signal)]
    if not places and name.isdecimal() and int(name) - 1 in every:
        return int(name) - 1
    if len(places) != 1:
        known = [column.column for column in every.values()]
        what = f"there are {len(places)} columns" if places else "there is no column"
        remedy = "; name it by its number, from 1" if places else nearest(name, known)
        raise InputError(f"{path}: {what} {shown(name)}{remedy}")
    return places[0]
