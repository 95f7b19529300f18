"""A table of numbers that another program wrote as text: its separator, names, units and numbers.

Separators are commas, semicolons, tabs or blanks; the decimal sign is a point, or a comma where commas do not
separate. Lines before the numbers are a title, names, and units if every entry of the last one is a unit.
PSCAD's ``.out`` files have their names in the ``.inf`` file beside them.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from psmr.base.arrays import Reals
from psmr.base.errors import InputError, shown
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
class Table:
    """Columns of numbers.

    Attributes
    ----------
    names, units
        Of each column; the number of the column, from 1, where the file names none, and ``""`` for no unit.
    numbers
        (K, m) numbers; NaN where there is none.
    lines
        (K,) lines of the file.
    """

    names: tuple[str, ...]
    units: tuple[str, ...]
    numbers: Reals
    lines: Sequence[int]


def read_table(path: Path) -> Table:
    """Return the numbers in a text file, with the names above them.

    Raises
    ------
    InputError
        For a file without numbers, an entry that is none, and a line of another length; with file and line.
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
    return Table(
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
