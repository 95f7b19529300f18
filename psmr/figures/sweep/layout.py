"""How the rows of a sweep lie on paper: what goes along, what down."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from psmr.sweep.swept import Swept

# Inches: width of a figure, also on a narrow page; height of a row of it, and width of a letter beside it.
WIDTH, HIGH, LETTER = 5.2, 0.19, 0.075

# Most rows of a map or bars of a chart that can be read; of more the worst are shown.
MOST_ROWS = 60

# Values of a number above which it is a sample, not a grid.
MOST_COLUMNS = 200


@dataclass(frozen=True, eq=False)
class Layout:
    """Rows that were carried out, and how they are laid out.

    Attributes
    ----------
    title
        Of the sweep.
    table
        The rows, the worst first; column ``_line`` has what stands down the side.
    over
        Label of the number that goes along; None where no number varied.
    lines
        Words for what stands down the side; None where nothing else varied.
    grid
        Two labels that are numbers and make a grid: down and along; empty otherwise.
    left_out
        Lines that are not shown.
    units
        Units of the numbers that varied.
    """

    title: str
    table: pd.DataFrame
    over: str | None
    lines: str | None
    grid: tuple[str, str] | tuple[()] = ()
    left_out: int = 0
    units: Mapping[str, str] = field(default_factory=dict)

    def words(self, label: str | None) -> str:
        """Return what an axis says of a number that varied."""
        unit = self.units.get(label or "")
        return f"{label} [{unit}]" if unit else label or ""


def layout_of(swept: Swept) -> Layout:
    """Return how the rows of a sweep lie on paper."""
    table = swept.ranked()
    table = table[table["status"] == "done"].copy()
    numbers = [
        name
        for name in swept.labels
        if pd.api.types.is_numeric_dtype(table[name]) and table[name].nunique() > 1
    ]
    gridded = [name for name in numbers if table[name].nunique() <= MOST_COLUMNS]
    words = [name for name in swept.labels if name not in numbers and table[name].nunique() > 1]
    title = swept.sweep.name
    if not words and len(gridded) == 2 and _complete(table, gridded):
        return Layout(title, table, gridded[1], None, (gridded[0], gridded[1]))
    over = numbers[-1] if numbers else None
    down = (
        [*numbers[:-1], *words]
        if numbers and _complete(table, [*numbers[:-1], numbers[-1]], words)
        else words
    )
    if not down:
        return Layout(title, table, over, None)
    table["_line"] = _lines(table, down)
    lines = list(dict.fromkeys(table["_line"]))
    shown = lines[:MOST_ROWS]
    kept = table[table["_line"].isin(shown)]
    return Layout(title, kept, over, ", ".join(down), left_out=len(lines) - len(shown))


def _lines(table: pd.DataFrame, names: list[str]) -> pd.Series:
    if names == ["branch", "bus"]:
        return table["branch"] + ", fault at " + table["bus"]
    columns = [
        table[name].map(lambda value: f"{value:g}" if isinstance(value, float) else str(value))
        for name in names
    ]
    found = columns[0]
    for column in columns[1:]:
        found = found + ", " + column
    return found


def _complete(table: pd.DataFrame, numbers: list[str], words: list[str] | None = None) -> bool:
    """Return whether every combination of the numbers is there, as on a grid, not as in samples."""
    combinations = np.prod([float(table[name].nunique()) for name in numbers])
    return bool(combinations <= len(table) and combinations < 1e5)
