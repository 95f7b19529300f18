"""Maps: a value by what goes along and what down, bad ones in red."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from psmr.figures.run.canvas import COLOURS, FAINT, INK, new_figure
from psmr.figures.sweep.laid_out import Layout
from psmr.study.criteria import Criteria

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

Reals = NDArray[np.float64]

RED = COLOURS[1]
NOTHING = "#e3e5e8"
PALE = "#f4f6f8"


def spread(laid: Layout) -> Figure:
    """Draw the largest angle spread, with lost synchronism in red."""
    lost = laid.table["synchronism"] == "lost"
    values = laid.table.assign(_bad=lost)
    note = f"red: lost synchronism (time in s); colour scale ends at {Criteria.angle_deg:g} deg"
    return _map(
        laid, values, "angle_spread", "largest angle spread [deg]", note,
        limits=(0.0, Criteria.angle_deg), written="lost_at",
    )  # fmt: skip


def clearing(laid: Layout) -> Figure:
    """Draw critical clearing times; above the longest one that was tried in grey."""
    values = laid.table.assign(_bad=laid.table["critical_clearing_time"] <= 0)
    return _map(
        laid, values, "critical_clearing_time", "critical clearing time [s]", "red: lost at once",
        written="critical_clearing_time", reverse=True,
    )  # fmt: skip


def damping(laid: Layout) -> Figure:
    """Draw the damping ratio of the least damped mode over two parameters, with the lines of 0 and 5 %."""
    table = laid.table.assign(_percent=100 * laid.table["damping_ratio"])
    table["_bad"] = table["_percent"] < 0
    _, _, grid, _ = _gridded(laid, table, "_percent")
    crossed = min(grid.shape) > 1 and bool(np.nanmin(grid) < 5 < np.nanmax(grid))
    notes = ["red: grows"] * bool(table["_bad"].any()) + ["line: 5 %"] * crossed
    figure = _map(
        laid, table, "_percent", "damping ratio of the least damped mode [%]", "; ".join(notes), reverse=True
    )
    if crossed:
        figure.axes[0].contour(
            np.arange(grid.shape[1]), np.arange(grid.shape[0]), grid, [5.0], colors=[INK], linewidths=1.2
        )
    return figure


def stability(laid: Layout) -> Figure:
    """Draw the deformation of the dominant mode in percent, on a scale of decades, unstable steps in red."""
    table = laid.table.assign(_percent=(100 * laid.table["deformation"]).clip(lower=1e-8))
    table["_bad"] = table["stable"] == False  # noqa: E712
    words = "deformation of the least damped mode [%]"
    note = "red: unstable; grey: the mode is not represented"
    return _map(laid, table, "_percent", words, note, decades=True)


def _map(
    laid: Layout,
    table: pd.DataFrame,
    column: str,
    words: str,
    note: str,
    limits: tuple[float, float] | None = None,
    written: str | None = None,
    reverse: bool = False,
    decades: bool = False,
) -> Figure:
    from matplotlib.colors import LinearSegmentedColormap, LogNorm, Normalize

    down, along, grid, bad = _gridded(laid, table, column)
    letters = 0.075 * max(len(str(line)) for line in down) + 0.3
    width, height = min(10.0, max(5.0, 0.5 * len(along))), max(1.6, 0.19 * len(down))
    figure = new_figure(letters + width, height + 1.5)
    # Placed by hand, in inches: the automatic layout gives up where labels are longer than a panel is wide.
    figure.set_layout_engine("none")
    whole = letters + width, height + 1.5
    axes = figure.add_axes((letters / whole[0], 1.0 / whole[1], width / whole[0], height / whole[1]))
    below = figure.add_axes((letters / whole[0], 0.4 / whole[1], 0.6 * width / whole[0], 0.1 / whole[1]))
    shades = [PALE, "#a9c4dd", "#1f4e79"]
    colours = LinearSegmentedColormap.from_list("shades", shades[::-1] if reverse else shades).with_extremes(
        bad=NOTHING
    )
    red = LinearSegmentedColormap.from_list("red", [RED, RED])
    low, high = limits or _ends(grid)
    norm = LogNorm(low, high) if decades and low > 0 else Normalize(low, high)
    shape: dict[str, Any] = {"aspect": "auto", "interpolation": "nearest", "origin": "upper"}
    image = axes.imshow(np.ma.masked_invalid(grid), cmap=colours, norm=norm, **shape)
    axes.imshow(np.ma.masked_where(~bad, np.ones(bad.shape)), cmap=red, **shape)
    _ticks(axes, down, along)
    axes.set_xlabel(laid.over or "")
    axes.grid(False)
    if written is not None and len(along) <= 12:
        _write(axes, laid, table, written, (bad, norm, reverse, column), down, along)
    if laid.grid:
        axes.invert_yaxis()
        axes.set_ylabel(laid.grid[0])
    bar = figure.colorbar(image, cax=below, orientation="horizontal")
    bar.set_label(words)
    bar.outline.set_visible(False)
    more = f"; {laid.left_out} less severe lines not shown" if laid.left_out else ""
    axes.set_title(f"{laid.title}\n", loc="left")
    axes.annotate(
        f"{note}{more}",
        (0, 1),
        (0, 2),
        "axes fraction",
        "offset points",
        va="bottom",
        color=FAINT,
        fontsize=8,
    )
    return figure


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


def _ticks(axes: Any, down: Sequence[Any], along: Sequence[Any]) -> None:
    for axis, values in ((axes.xaxis, along), (axes.yaxis, down)):
        numbers = all(isinstance(value, float | int | np.number) for value in values)
        every = max(1, len(values) // 12) if numbers else 1
        axis.set_ticks(range(0, len(values), every))
        axis.set_ticklabels([f"{v:.4g}" if numbers else str(v) for v in values[::every]], fontsize=8)
    axes.tick_params(length=0)


def _write(
    axes: Any,
    laid: Layout,
    table: pd.DataFrame,
    column: str,
    shading: tuple[NDArray[np.bool_], Any, bool, str],
    down: Sequence[Any],
    along: Sequence[Any],
) -> None:
    """Write a value into each place that has one, light on dark."""
    bad, norm, reverse, shaded = shading
    line = laid.grid[0] if laid.grid else "_line"
    if line not in table:
        return
    place = {value: k for k, value in enumerate(down)}
    for row in table[table[column].notna() & table[line].isin(down)].to_dict("records"):
        k, j = place[row[line]], along.index(row[laid.over]) if laid.over is not None else 0
        part = float(norm(row[shaded]))
        dark = bad[k, j] or (part < 0.4 if reverse else part > 0.6)
        colour = "#ffffff" if dark else INK
        axes.text(j, k, f"{row[column]:.3g}", color=colour, fontsize=7, ha="center", va="center")
