"""Curves and points over a number that varied."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from psmr.figures.run.canvas import COLOURS, FAINT, new_figure
from psmr.figures.sweep.laid_out import Layout
from psmr.study.criteria import Criteria

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


def outcomes(laid: Layout) -> Figure:
    """Draw angle spread, lowest voltage and nadir; runs that lost synchronism in red."""
    assert laid.over is not None
    table = laid.table.sort_values(laid.over)
    figure = new_figure(7.2, 5.4)
    panels = figure.subplots(3, 1, sharex=True)
    rows = (
        ("angle_spread", "angle spread [deg]"),
        ("lowest_voltage", "lowest voltage [pu]"),
        ("nadir", "nadir [Hz]"),
    )
    for axes, (column, words) in zip(panels, rows, strict=True):
        _points(axes, table, laid.over, column, table["synchronism"] == "lost")
        axes.set_ylabel(words)
    kept = table.loc[table["synchronism"] != "lost", "angle_spread"]
    if (table["synchronism"] == "lost").any():
        # What fell out of step turned on without end: how far says nothing.
        panels[0].set_ylim(0, max(Criteria.angle_deg * 1.1, 1.1 * float(kept.max() if len(kept) else 0.0)))
        panels[0].set_title(f"{laid.title}   (red: lost synchronism)", loc="left")
    else:
        panels[0].set_title(laid.title, loc="left")
    panels[-1].set_xlabel(laid.over)
    return figure


def stability(laid: Layout) -> Figure:
    """Draw spectral radius and deformation; unstable schemes in red."""
    over = laid.over
    table = laid.table.assign(_place=range(len(laid.table))) if over is None else laid.table.sort_values(over)
    figure = new_figure(7.2, 4.4)
    upper, lower = figure.subplots(2, 1, sharex=True)
    unstable = table["stable"] == False  # noqa: E712
    _points(upper, table, over or "_place", "spectral_radius", unstable)
    upper.axhline(1.0, color=FAINT, lw=0.8)
    upper.set_ylabel("spectral radius")
    _points(lower, table.assign(_percent=100 * table["deformation"]), over or "_place", "_percent", unstable)
    lower.set_ylabel("deformation [%]")
    if (table["deformation"] > 0).any():
        lower.set_yscale("log")
    upper.set_title(f"{laid.title}   (red: unstable)" if unstable.any() else laid.title, loc="left")
    lower.set_xlabel(over or laid.lines or "")
    return figure


def _points(axes: Any, table: pd.DataFrame, over: str, column: str, bad: pd.Series) -> None:
    once = not table[over].duplicated().any() and len(table) <= 200
    if once:
        axes.plot(table[over], table[column], color=COLOURS[0], lw=1.0)
    size = 14 if once else 5
    axes.scatter(table.loc[~bad, over], table.loc[~bad, column], s=size, color=COLOURS[0], linewidths=0)
    axes.scatter(
        table.loc[bad, over], table.loc[bad, column], s=size, color=COLOURS[1], linewidths=0, zorder=3
    )
