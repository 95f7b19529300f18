"""The tables of docs/conformance.md: written from what was computed, and read again."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path

from tests.programs.conformance.lists import Published
from tests.programs.conformance.quoted import Off
from tests.programs.conformance.traces import Row

FIGURES = Path(__file__).parents[3] / "docs" / "figures"
TRACES, LISTS = FIGURES / "conformance-traces.inc", FIGURES / "conformance-lists.inc"
QUOTED = FIGURES / "conformance-quoted.inc"

TRACE_HEAD = (
    *("trace", "rms", "largest", "of its range", "numerics", "mode", "model", "in its own step"),
    *("most different", "what the model part is"),
)
QUOTED_HEAD = (
    *("trace", "rows", "angle, degrees", "power, pu", "output, pu", "speed, pu", "voltage, pu"),
    *("numerics, degrees", "what the difference is"),
)
LIST_HEAD = ("list", "numbers", "largest difference", "what it is")


def write(rows: Sequence[Row], lists: Sequence[Published], quoted: Sequence[Off]) -> None:
    """Write the tables."""
    QUOTED.write_text(_table(QUOTED_HEAD, [quoted_cells(row) for row in quoted]), encoding="utf-8")
    TRACES.write_text(_table(TRACE_HEAD, [trace_cells(row) for row in rows]), encoding="utf-8")
    LISTS.write_text(_table(LIST_HEAD, [list_cells(entry) for entry in lists]), encoding="utf-8")


def trace_cells(row: Row) -> tuple[str, ...]:
    """Return the cells of a trace's row."""
    return _unbroken(
        f"**{row.program}** {row.name} [{row.unit}]",
        *(f"{row.rms:.1e}", f"{row.largest:.1e}", f"{100 * row.part:.2g} %", f"{row.numerics:.0e}"),
        *(f"{100 * row.mode:.0e} %", f"{row.model:.1e}", _or_nothing(row.own_step), row.device, row.cause),
    )


def quoted_cells(row: Off) -> tuple[str, ...]:
    """Return the cells of a quoted trace's row."""
    differences = (row.angle, row.power, row.out, row.speed, row.voltage)
    return _unbroken(
        f"**{row.model}** {row.event}",
        *(str(row.rows), *map(_or_nothing, differences), f"{row.numerics:.0e}", row.cause),
    )


def list_cells(entry: Published) -> tuple[str, ...]:
    """Return the cells of a list's row."""
    return _unbroken(
        f"**{entry.program}** {entry.name}",
        *(str(entry.count), f"{entry.largest:.1e} {entry.unit}", entry.cause),
    )


def cells(table: Path) -> list[list[str]]:
    """Return the cells of a table, without its head."""
    lines = table.read_text(encoding="utf-8").splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def number(cell: str) -> float:
    """Return the number at the beginning of a cell."""
    found = re.match(r"[-+.\de]+", cell.replace("\N{MINUS SIGN}", "-"))
    if found is None:
        raise ValueError(f"{cell!r} does not begin with a number")
    return float(found[0])


def _unbroken(*cells: str) -> tuple[str, ...]:
    """Return cells whose numbers do not break at a minus sign or before a per cent sign."""
    whole = (re.sub(r"(?<=\de)-(?=\d)", "\N{MINUS SIGN}", cell) for cell in cells)
    return tuple(re.sub(r"(?<=\d) %", "\N{NO-BREAK SPACE}%", cell) for cell in whole)


def _or_nothing(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.1e}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)
