"""A trace: signals over time that another program computed, from a text file.

A table of numbers that another program wrote as text: its separator, names, units and numbers.

Separators are commas, semicolons, tabs or blanks; the decimal sign is a point, or a comma where commas do not
separate. Lines before the numbers are a title, names, and units if every entry of the last one is a unit.
PSCAD's ``.out`` files have their names in the ``.inf`` file beside them.

What a column of a trace is: the signal, and how its numbers become those of psmr.
"""

from __future__ import annotations

import csv
import math
import os
import re
from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated

import numpy as np

from psmr.base.arguments import check_arguments
from psmr.base.arrays import Reals
from psmr.base.declared import Option
from psmr.base.errors import InputError, nearest, shown
from psmr.base.numbers import real_in
from psmr.files.text import read_utf8

SEPARATORS = (";", "\t", ",", " ")
COMMENTS = ("#", "//", "%")
GAPS = ("", "nan", "na", "n/a", "#n/a", "null", "-")
"""Entries that say that there is no number."""
UNITS = re.compile(
    r"[\[(]?(s|sec|seconds|ms|pu|p\.u\.|puu?|hz|deg(rees)?|°|rad(/s)?|[kmg]?w|[kmg]?var|kv|ka|%|)[\])]?"
)
SAMPLE = 50
"""Lines by which the separator is found."""
PSCAD_COLUMNS = 10
"""Channels in one of PSCAD's files, beside the time."""


@dataclass(frozen=True, eq=False)
class TraceTable:
    """Columns of numbers.

    `names`, `units`: of each column; the number of the column, from 1, where the file names none, and ``""``
      for no unit.
    `numbers`: (K, m) numbers; NaN where there is none.
    `lines`: (K,) lines of the file.
    """

    names: tuple[str, ...]
    units: tuple[str, ...]
    numbers: Reals
    lines: Sequence[int]


def read_table(path: Path) -> TraceTable:
    """Return the numbers in a text file, with the names above them.

    Raises InputError for a file without numbers, an entry that is none, and a line of another length; with
    file and line.
    """
    lines = [
        (number, line)
        for number, line in enumerate(read_utf8(path).splitlines(), 1)
        if line.strip() and not line.lstrip().startswith(COMMENTS)
    ]
    separator = max(SEPARATORS, key=lambda by: sum(_is_data(line, by) for _, line in lines[-SAMPLE:]))
    first = next((k for k, (_, line) in enumerate(lines) if _is_data(line, separator)), len(lines))
    if len(lines) < first + 2:
        raise InputError(f"{path}: a trace has a line of names and at least two lines of numbers")
    count = len(_entries(lines[first][1], separator))
    names, units = _head([_entries(line, separator) for _, line in lines[:first]], count)
    names = _pscad_names(path, count) or names
    numbers = np.array([_numbers(path, at, line, separator, names) for at, line in lines[first:]])
    kept = [k for k, name in enumerate(names) if name or not np.isnan(numbers[:, k]).all()]
    return TraceTable(
        tuple(names[k] or str(k + 1) for k in kept),
        tuple(units[k] for k in kept),
        numbers[:, kept],
        [at for at, _ in lines[first:]],
    )


def _entries(line: str, separator: str) -> list[str]:
    if separator == " ":
        return line.split()
    return [entry.strip() for entry in next(csv.reader([line], delimiter=separator, skipinitialspace=True))]


def _number(entry: str) -> float:
    """Return a number, with the exponents of Fortran; NaN for a gap."""
    if entry.lower() in GAPS:
        return np.nan
    entry = entry.replace(",", ".") if entry.count(",") == 1 and "." not in entry else entry
    return float(re.sub(r"(?<=[\d.])[dD](?=[-+\d])", "e", entry))


def _is_data(line: str, separator: str) -> bool:
    """Return whether a line has a number first, and at least one more or a gap."""
    try:
        values = [_number(entry) for entry in _entries(line, separator)]
    except ValueError:
        return False
    return len(values) > 1 and bool(np.isfinite(values[0]))


def _head(lines: list[list[str]], count: int) -> tuple[list[str], list[str]]:
    """Return names and units from the lines before the numbers, the nearest of the right length."""
    fitting = [line for line in lines if len(line) == count]
    units = [""] * count
    if len(fitting) > 1 and all(UNITS.fullmatch(entry.lower()) for entry in fitting[-1]):
        units = [entry.strip("[]()") for entry in fitting.pop()]
    return (fitting[-1] if fitting else [str(k + 1) for k in range(count)]), units


def _numbers(path: Path, at: int, line: str, separator: str, names: Sequence[str]) -> list[float]:
    entries = _entries(line, separator)
    if len(entries) != len(names):
        raise InputError(f"{path}:{at}: {len(entries)} entries; the first line of numbers has {len(names)}")
    values = []
    for name, entry in zip(names, entries, strict=True):
        try:
            values.append(_number(entry))
        except ValueError:
            raise InputError(f"{path}:{at}: {name} = {shown(entry)} is not a number") from None
    if np.isinf(values).any():
        raise InputError(f"{path}:{at}: every entry must be a finite number")
    return values


def _pscad_names(path: Path, count: int) -> list[str]:
    """Return the names in PSCAD's .inf file beside an .out file ``case_01.out``; none where there is none."""
    found = re.fullmatch(r"(.*?)(?:_(\d+))?\.out", path.name, re.IGNORECASE)
    beside = path.with_name(f"{found[1]}.inf") if found else path
    if not found or not beside.is_file():
        return []
    text = read_utf8(beside)
    channels = {
        number: f"{name} [{unit}]" if unit else name
        for number, name, unit in re.findall(
            r'PGB\((\d+)\).*?Desc="([^"]*)"(?:.*?Units\s*=\s*"([^"]*)")?', text
        )
    }
    before = PSCAD_COLUMNS * (int(found[2] or 1) - 1)
    return ["time"] + [channels.get(str(before + k), str(k + 1)) for k in range(1, count)]


UNIT = re.compile(r"(.*?)\s*[\[(]([^\[\]()]*)[\])]")
"""A name that ends with a unit in brackets."""

POWERS = {"w": 1e-6, "kw": 1e-3, "mw": 1.0, "gw": 1e3, "var": 1e-6, "kvar": 1e-3, "mvar": 1.0, "gvar": 1e3}
ANGLES = {"deg": math.pi / 180.0, "degree": math.pi / 180.0, "degrees": math.pi / 180.0, "°": math.pi / 180.0}
PER_UNIT = ("pu", "p.u.", "puu")

PSSE = re.compile(r"(SPD|SPEED|POWR|VARS|ETRM|VOLT|EFD|FREQ)\s*(\d+)\s*(?:\[.*\])?\s*(\w*)", re.IGNORECASE)
"""The identifiers that PSS/E gives its channels: what, bus, and machine."""


@dataclass(frozen=True)
class TraceColumn:
    """How a column of a trace becomes a signal of psmr: scale times the column, plus offset, in its unit.

    `unit` is one that is still to be converted, ``""`` for psmr's own.
    """

    column: str
    signal: str
    scale: float = 1.0
    offset: float = 0.0
    unit: str = ""

    @property
    def is_named(self) -> bool:
        """Whether the signal is the column's own name, not one that a map gives it."""
        return self.signal in (self.column, split_unit(self.column)[0])

    def __str__(self) -> str:
        scale = "" if self.scale == 1.0 else f"{self.scale:.6g} "
        offset = f" + {self.offset:.6g}" if self.offset else ""
        return f"{self.signal} = {scale}{self.column!r}{offset}"


def split_unit(name: str) -> tuple[str, str]:
    """Return a name without the unit in brackets at its end, and that unit."""
    found = UNIT.fullmatch(name)
    return (found[1], found[2].strip()) if found and found[1] else (name, "")


def recognised_names(
    column: TraceColumn, known: Container[str], base_mva: float, frequency_hz: float
) -> TraceColumn | None:
    """Return the column of a signal of the run for one that bears a name of PSS/E; None for another name.

    PSS/E has deviations of speed and frequency, and powers, in per unit of the system's base.
    """
    found = PSSE.fullmatch(column.signal.strip())
    if found is None:
        return None
    what, bus, machine = found[1].upper(), found[2], found[3]
    plant = f"{bus}-{machine}" if f"G{bus}-{machine}.p" in known else bus
    signal, scale, offset = {
        "SPD": (f"G{plant}.omega", 1.0, 1.0),
        "SPEED": (f"G{plant}.omega", 1.0, 1.0),
        "POWR": (f"G{plant}.p", base_mva, 0.0),
        "VARS": (f"G{plant}.q", base_mva, 0.0),
        "ETRM": (f"bus{bus}.v", 1.0, 0.0),
        "VOLT": (f"bus{bus}.v", 1.0, 0.0),
        "EFD": (f"AVR{plant}.v_f", 1.0, 0.0),
        "FREQ": (f"bus{bus}.frequency", frequency_hz, frequency_hz),
    }[what]
    return replace(column, signal=signal, scale=scale, offset=offset, unit="") if signal in known else None


def converted_values(
    column: TraceColumn, unit: str, base_mva: float, frequency_hz: float, source: str
) -> TraceColumn:
    """Return the column with its unit converted to that of the signal.

    Raises InputError for a unit that does not become that of the signal.
    """
    if not column.unit:
        return column
    word, own = column.unit.lower(), unit.lower()
    scale = math.nan
    if word == own or (word in PER_UNIT and own == "pu"):
        scale = 1.0
    elif own in ("mw", "mvar"):
        scale = base_mva if word in PER_UNIT else POWERS.get(word, math.nan)
    elif own == "rad":
        scale = ANGLES.get(word, math.nan)
    elif own == "pu" and column.signal.endswith(".omega"):
        scale = {"hz": 1.0 / frequency_hz, "rad/s": 0.5 / math.pi / frequency_hz}.get(word, math.nan)
    elif own == "hz":
        scale = frequency_hz if word in PER_UNIT else {"rad/s": 0.5 / math.pi}.get(word, math.nan)
    scale = 0.01 if word == "%" and own == "pu" else scale
    if math.isnan(scale):
        what = f"{column.unit!r} is no unit of {column.signal}, which is in {unit}"
        raise InputError(f"{source}: {column.column!r}: {what}; give scale and offset: --map FILE")
    return replace(column, scale=scale * column.scale, unit="")


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
    columns: Mapping[str, TraceColumn] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Trace({self.source!r}, {len(self.t)} points, {len(self.values)} signals)"


def read_trace(
    path: str | os.PathLike[str],
    columns: Annotated[
        str | os.PathLike[str] | None,
        "CSV that says which column is which signal: column,signal and a unit or scale,offset",
        "FILE",
        Option(name="map"),
    ] = None,
    shift: Annotated[float, "added to the times of the trace", "S"] = 0.0,
) -> Trace:
    """Return the trace in a text file: names, then lines of numbers; the first column or ``time`` has times.

    `psmr.study.trace.trace` says which forms of text are read.

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

    What a map leaves out has the signal of its own name, where the map gives that to no other column.

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
        k: TraceColumn(name, own[k][0], unit=table.units[k] or own[k][1])
        for k, name in enumerate(table.names)
        if k != time
    }
    given = list(every.items())
    if columns is not None:
        given = list(_mapped(path, table, every, columns))
        mapped, taken = {k for k, _ in given}, {column.signal for _, column in given}
        names = Counter(column.signal for k, column in every.items() if k not in mapped)
        given += [
            (k, column)
            for k, column in every.items()
            if k not in mapped
            and column.signal not in taken
            and names[column.signal] == 1
            and not np.isnan(table.numbers[:, k]).all()
        ]
    values = {column.signal: column.scale * table.numbers[:, k] + column.offset for k, column in given}
    if twice := [name for name, n in Counter(column.signal for _, column in given).items() if n > 1]:
        raise InputError(f"{path}: {twice[0]!r} is the signal of two columns; say which: --map FILE")
    if empty := [name for name, found in values.items() if np.isnan(found).all()]:
        raise InputError(f"{path}: {empty[0]!r} has no number")
    return Trace(t, values, str(path), {column.signal: column for _, column in given})


def _times(path: str | os.PathLike[str], table: TraceTable, shift: float) -> tuple[int, Reals]:
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
    path: str | os.PathLike[str],
    table: TraceTable,
    every: Mapping[int, TraceColumn],
    columns: str | os.PathLike[str],
) -> Iterator[tuple[int, TraceColumn]]:
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
        yield (
            place,
            TraceColumn(every[place].column, signal, numbers[0], numbers[1] if len(numbers) > 1 else 0.0),
        )


def _place(
    path: str | os.PathLike[str], table: TraceTable, every: Mapping[int, TraceColumn], name: str
) -> int:
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
