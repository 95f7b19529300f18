"""Curves and points over a number that varied."""

from __future__ import annotations

from typing import TYPE_CHECKING

from psmr.figures.chart import BLUE, FAINT, RED, Axis, Dots, Drawing, Line, Mark, Panel, across
from psmr.figures.scales import LINEAR, Log
from psmr.figures.sweep.layout import WIDTH, Layout
from psmr.study.criteria import Criteria

if TYPE_CHECKING:
    import pandas as pd


def outcomes(laid: Layout) -> Drawing:
    """Return angle spread, lowest voltage and nadir; runs that lost synchronism in red."""
    assert laid.over is not None
    table = laid.table.sort_values(laid.over)
    lost = table["synchronism"] == "lost"
    kept = table.loc[~lost, "angle_spread"]
    # What fell out of step turned on without end: how far says nothing.
    top = 1.1 * max(Criteria.angle_deg, float(kept.max() if len(kept) else 0.0))
    x = Axis(laid.words(laid.over), Axis().ends(table[laid.over].to_numpy(dtype=float)))
    panels = [
        Panel(_points(table, laid.over, column, lost), x, Axis(words, limits))
        for column, words, limits in (
            ("angle_spread", "angle spread [deg]", (0.0, top) if lost.any() else None),
            ("lowest_voltage", "lowest voltage [pu]", None),
            ("nadir", "nadir [Hz]", None),
        )
    ]
    title = f"{laid.title}   (red: lost synchronism)" if lost.any() else laid.title
    return Drawing(panels, WIDTH, 5.6, title, shared=True)


def stability(laid: Layout) -> Drawing:
    """Return spectral radius and deformation; unstable schemes in red."""
    over = laid.over
    table = laid.table.assign(_place=range(len(laid.table))) if over is None else laid.table.sort_values(over)
    table["_percent"] = 100 * table["deformation"]
    unstable, along = table["stable"] == False, over or "_place"  # noqa: E712
    x = Axis(laid.words(over) or laid.lines or "", Axis().ends(table[along].to_numpy(dtype=float)))
    radius = [*_points(table, along, "spectral_radius", unstable), across("y", 1.0, FAINT, 0.8)]
    scale = Log() if (table["_percent"] > 0).any() else LINEAR
    shown = table[table["_percent"] > 0] if isinstance(scale, Log) else table
    panels = (
        Panel(radius, x, Axis("spectral radius")),
        Panel(_points(shown, along, "_percent", unstable), x, Axis("deformation [%]", scale=scale)),
    )
    title = f"{laid.title}   (red: unstable)" if unstable.any() else laid.title
    return Drawing(panels, WIDTH, 4.2, title, shared=True)


def _points(table: pd.DataFrame, over: str, column: str, bad: pd.Series) -> list[Mark]:
    once = not table[over].duplicated().any() and len(table) <= 200
    marks: list[Mark] = [Line(table[over], table[column], BLUE, 1.0)] if once else []
    bad = bad[table.index]
    for chosen, colour, z in ((~bad, BLUE, 2.0), (bad, RED, 3.0)):
        if chosen.any():
            rows, size = table[chosen], 4.2 if once else 2.5
            marks.append(Dots(rows[over], rows[column], "o", size, colour, "none", z=z))
    return marks
