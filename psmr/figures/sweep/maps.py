"""Maps: how the rows of a sweep lie on paper, what goes along and what down, bad ones in red."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from psmr.base.arrays import Reals
from psmr.figures.chart import (
    FAINT,
    INK,
    LINEAR,
    PANEL,
    RED,
    Cells,
    Drawing,
    Line,
    LinearScale,
    LogScale,
    Mark,
    Panel,
    PanelAxis,
    Text,
    tick_texts,
)
from psmr.study.criteria import Criteria

if TYPE_CHECKING:
    import pandas as pd

    from psmr.sweep.swept import Swept


# Inches: width of a figure on a narrow and on a wide page; height of a row, and width of a letter beside it.
WIDTH, WIDE, HIGH, LETTER = 4.4, 10.0, 0.19, 0.075

# Most rows of a map or bars of a chart that can be read; of more the worst are shown.
MOST_ROWS = 60

# Values of a number above which it is a sample, not a grid.
MOST_COLUMNS = 200


@dataclass(frozen=True, eq=False)
class Layout:
    """Rows of the sweep of this title that were carried out, and how they are laid out.

    The worst stand first, with what stands down the side in column ``_line``; `over` is the label of the
    number that goes along, `lines` words for what stands down the side, None where nothing does; `grid` the
    two labels, down and along, of numbers that make one. `left_out` lines are not shown; `units` are those of
    the numbers that varied, `width` that of the figure in inches.
    """

    title: str
    table: pd.DataFrame
    over: str | None
    lines: str | None
    grid: tuple[str, str] | tuple[()] = ()
    left_out: int = 0
    units: Mapping[str, str] = field(default_factory=dict)
    width: float = WIDTH

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


PALE_TO_DARK = ("#f4f6f8", "#a9c4dd", "#1f4e79")
# Told apart on white and on black paper.
BLUE_TO_VIOLET = ("#8fb8de", "#2e6aa3", "#a23b72")

# Shades that an eye tells from one another.
STEPS = 32
# Values written below a strip, at most.
TICKS = 5


def shades(parts: Reals, colours: Sequence[str] = PALE_TO_DARK) -> list[str]:
    """Return the colours of parts from 0 to 1, between colours that are equally far apart."""
    known = np.array([[int(colour[k : k + 2], 16) for k in (1, 3, 5)] for colour in colours], dtype=float)
    # Whole steps: what is drawn in one colour is drawn at once.
    at = np.round(np.clip(np.asarray(parts, dtype=float), 0.0, 1.0) * STEPS) / STEPS
    mixed = np.column_stack([np.interp(at, np.linspace(0.0, 1.0, len(known)), part) for part in known.T])
    return ["#{:02x}{:02x}{:02x}".format(*row) for row in np.round(mixed).astype(int).tolist()]


def parts_of(values: Reals, low: float, high: float, scale: LinearScale | LogScale) -> Reals:
    """Return where values are between two ends of a scale, 0 to 1."""
    a, b = scale.forward([low, high])
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((scale.forward(values) - a) / (b - a))


def strip(
    low: float,
    high: float,
    words: str,
    place: tuple[float, float, float, float],
    scale: LinearScale | LogScale,
    colours: Sequence[str] = PALE_TO_DARK,
) -> Panel:
    """Return the panel that says which shade is which value."""
    cells = Cells((shades(np.arange(STEPS) / (STEPS - 1), colours),))
    values = scale.ticks(low, high, TICKS)
    places = parts_of(np.array(values), low, high, scale) * STEPS - 0.5
    x = PanelAxis(
        words, (-0.5, STEPS - 0.5), ticks=list(zip(places.tolist(), tick_texts(values), strict=True))
    )
    return Panel([cells], x, PanelAxis(limits=(-0.5, 0.5), ticks=()), grid="", place=place)


NOTHING = "#d5d9de"
INCH = 72.0

# Inches below a map for its axis and its strip, and above it for title and note.
BELOW, ABOVE = 1.0, 0.55
# Points of a cell in which a value can be written, and of a tick.
WRITTEN, TICK = 24.0, 30.0


def angle_spread_map(laid: Layout) -> Drawing:
    """Return the largest angle spread, with lost synchronism in red."""
    values = laid.table.assign(_bad=laid.table["synchronism"] == "lost")
    note = f"red: lost synchronism (time in s); colour scale ends at {Criteria.angle_deg:g} deg"
    return _map(
        laid, values, "angle_spread", "largest angle spread [deg]", note,
        limits=(0.0, Criteria.angle_deg), written="lost_at",
    )  # fmt: skip


def clearing_map(laid: Layout) -> Drawing:
    """Return critical clearing times; above the longest one that was tried in grey."""
    values = laid.table.assign(_bad=laid.table["critical_clearing_time"] <= 0)
    return _map(
        laid, values, "critical_clearing_time", "critical clearing time [s]", "red: lost at once",
        written="critical_clearing_time", reverse=True,
    )  # fmt: skip


def damping_map(laid: Layout) -> Drawing:
    """Return the damping ratio of the least damped mode over two parameters, with the lines of 0 and 5 %."""
    table = laid.table.assign(_percent=100 * laid.table["damping_ratio"])
    table["_bad"] = table["_percent"] < 0
    _, _, grid, _ = _gridded(laid, table, "_percent")
    crossed = min(grid.shape) > 1 and bool(np.nanmin(grid) < 5 < np.nanmax(grid))
    notes = ["red: grows"] * bool(table["_bad"].any()) + ["line: 5 %"] * crossed
    words = "damping ratio of the least damped mode [%]"
    above = _contour(grid, 5.0) if crossed else []
    return _map(laid, table, "_percent", words, "; ".join(notes), reverse=True, above=above)


def stability_map(laid: Layout) -> Drawing:
    """Return the deformation of the dominant mode in percent, by decades; unstable steps in red."""
    table = laid.table.assign(_percent=(100 * laid.table["deformation"]).clip(lower=1e-8))
    table["_bad"] = table["stable"] == False  # noqa: E712
    words = "deformation of the least damped mode [%]"
    note = "red: unstable; grey: the mode is not represented"
    return _map(laid, table, "_percent", words, note, scale=LogScale())


def _map(
    laid: Layout,
    table: pd.DataFrame,
    column: str,
    words: str,
    note: str,
    limits: tuple[float, float] | None = None,
    written: str | None = None,
    reverse: bool = False,
    scale: LinearScale | LogScale = LINEAR,
    above: Sequence[Mark] = (),
) -> Drawing:
    down, along, grid, bad = _gridded(laid, table, column)
    beside = min(LETTER * max(len(str(line)) for line in down) + 0.4, 0.6 * laid.width)
    width, height = laid.width - beside, max(1.6, HIGH * len(down))
    whole = height + BELOW + ABOVE
    low, high = limits or _ends(grid)
    if isinstance(scale, LogScale) and not low > 0:
        scale = LINEAR
    colours = PALE_TO_DARK[::-1] if reverse else PALE_TO_DARK
    parts = parts_of(grid, low, high, scale)
    shaded = [shades(row, colours) for row in np.nan_to_num(parts)]
    cells = [
        [RED if bad[k, j] else NOTHING if np.isnan(grid[k, j]) else shaded[k][j] for j in range(len(along))]
        for k in range(len(down))
    ]
    more = f"; {laid.left_out} less severe lines not shown" if laid.left_out else ""
    note = textwrap.fill(f"{note}{more}", int(width / 0.062))
    marks: list[Mark] = [Cells(cells), *above]
    marks.append(Text(note, (0.0, 1.0), PANEL, (0, 3), colour=FAINT, va="bottom"))
    if written is not None and width * INCH / len(along) >= WRITTEN:
        marks += _written(laid, table, written, bad, parts, reverse, down, along)
    y = (-0.5, len(down) - 0.5) if laid.grid else (len(down) - 0.5, -0.5)
    panel = Panel(
        marks,
        PanelAxis(
            laid.words(laid.over),
            (-0.5, len(along) - 0.5),
            ticks=_ticks(along, int(width * INCH / TICK)),
            size=8.0,
            length=0.0,
        ),
        PanelAxis(
            laid.words(laid.grid[0]) if laid.grid else "", y, ticks=_ticks(down, 12), size=8.0, length=0.0
        ),
        grid="",
        place=(beside / laid.width, BELOW / whole, width / laid.width, height / whole),
    )
    key = (beside / laid.width, 0.45 / whole, 0.75 * width / laid.width, 0.1 / whole)
    return Drawing((panel, strip(low, high, words, key, scale, colours)), laid.width, whole, laid.title)


def _contour(grid: Reals, value: float) -> list[Mark]:
    """Return the lines on which a grid has a value."""
    from contourpy import contour_generator

    found: Any = contour_generator(z=grid).lines(value)
    return [Line(line[:, 0], line[:, 1], INK, 1.2) for line in found]


def _ends(grid: Reals) -> tuple[float, float]:
    low, high = float(np.nanmin(grid)), float(np.nanmax(grid))
    return (low, high) if high > low else (low, low + max(abs(low), 1.0) * 1e-6)


def _gridded(
    laid: Layout, table: pd.DataFrame, column: str
) -> tuple[list[Any], list[Any], Reals, NDArray[np.bool_]]:
    """Return what is down and along, and (down, along) values and which of them are bad."""
    if laid.grid:
        table = table.assign(_line=table[laid.grid[0]])
    elif laid.lines is None:
        table = table.assign(_line="")
    if laid.over is None:
        table = table.assign(_over="")
    over = laid.over or "_over"
    along = sorted(table[over].unique())
    down = sorted(table["_line"].unique()) if laid.grid else list(dict.fromkeys(table["_line"]))
    rows = table["_line"].map({line: k for k, line in enumerate(down)}).to_numpy()
    columns = table[over].map({value: k for k, value in enumerate(along)}).to_numpy()
    grid = np.full((len(down), len(along)), np.nan)
    bad = np.zeros(grid.shape, dtype=bool)
    # Of several points in one place the worst counts: the rows come with the worst first.
    grid[rows[::-1], columns[::-1]] = table[column].to_numpy(dtype=float)[::-1]
    np.logical_or.at(bad, (rows, columns), table["_bad"].to_numpy(dtype=bool))
    return down, along, grid, bad


def _ticks(values: Sequence[Any], most: int) -> list[tuple[float, str]]:
    """Return what is written at the whole numbers: every text, and of many numbers some."""
    numbers = all(isinstance(value, float | int | np.number) for value in values)
    every = -(-len(values) // max(most, 1)) if numbers else 1
    return [(k, f"{v:.4g}" if numbers else str(v)) for k, v in list(enumerate(values))[::every]]


def _written(
    laid: Layout,
    table: pd.DataFrame,
    column: str,
    bad: NDArray[np.bool_],
    parts: Reals,
    reverse: bool,
    down: Sequence[Any],
    along: Sequence[Any],
) -> list[Mark]:
    """Return a value for each place that has one, light on dark."""
    line = laid.grid[0] if laid.grid else "_line"
    if line not in table:
        return []
    place = {value: k for k, value in enumerate(down)}
    marks: list[Mark] = []
    for row in table[table[column].notna() & table[line].isin(down)].to_dict("records"):
        k, j = place[row[line]], along.index(row[laid.over]) if laid.over is not None else 0
        dark = bad[k, j] or (parts[k, j] < 0.4 if reverse else parts[k, j] > 0.6)
        look: dict[str, Any] = {"size": 7.0, "ha": "center", "va": "center", "fixed": True}
        marks.append(Text(f"{row[column]:.3g}", (j, k), colour="#ffffff" if dark else INK, **look))
    return marks
