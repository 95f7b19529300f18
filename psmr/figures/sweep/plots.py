"""Figures of a sweep along one axis: bars of contingencies, curves, and eigenvalues that move."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from psmr.figures.chart import (
    BLUE,
    COLOURS,
    FAINT,
    GRID,
    LINEAR,
    RED,
    Area,
    Dots,
    Drawing,
    Line,
    LogScale,
    Mark,
    Panel,
    PanelAxis,
    Text,
    line_across,
)
from psmr.figures.sweep.maps import BLUE_TO_VIOLET, HIGH, LETTER, Layout, parts_of, shades, strip
from psmr.study.criteria import Criteria

if TYPE_CHECKING:
    import pandas as pd


def clearing_plot(laid: Layout) -> Drawing:
    """Return critical clearing times; one that no trial exceeded ends open."""
    return _bars(laid, laid.table["critical_clearing_time"], "critical clearing time [s]", "{:.4g} s")


def margin_plot(laid: Layout) -> Drawing:
    """Return margins of load; one that no trial exceeded ends open."""
    return _bars(laid, laid.table["load_margin"], "load margin [MW]", "{:.4g} MW")


def damping_plot(laid: Layout) -> Drawing:
    """Return the damping ratio of the least damped mode in percent."""
    return _bars(laid, 100 * laid.table["damping_ratio"], "damping ratio [%]", "{:.3g} %")


def _bars(laid: Layout, values: pd.Series, words: str, shape: str) -> Drawing:
    open_ended = laid.table.get("bounded", values) == False  # noqa: E712
    names = laid.table["_line"].tolist() if laid.lines is not None else [laid.title] * len(values)
    marks: list[Mark] = []
    for k, (value, flag) in enumerate(zip(values.tolist(), open_ended.tolist(), strict=True)):
        colour, text = (COLOURS[5], f"> {shape.format(value)}") if flag else (BLUE, shape.format(value))
        marks.append(Area([0.0, value, value, 0.0], [k - 0.35, k - 0.35, k + 0.35, k + 0.35], colour))
        marks.append(Text(text, (max(value, 0.0), k), shift=(3, 0), size=7.5, colour=FAINT, va="center"))
    more = f"{laid.left_out} more not shown" if laid.left_out else ""
    beside = min(LETTER * max(len(str(name)) for name in names) + 0.2, 0.6 * laid.width) / laid.width
    height = max(1.4, HIGH * len(names))
    low, high = min(0.0, 1.1 * float(values.min())), 1.25 * max(float(values.max()), 1e-9)
    ticks = list(enumerate(map(str, names)))
    panel = Panel(
        marks,
        PanelAxis(words, (low, high)),
        PanelAxis(limits=(len(names) - 0.4, -0.6), ticks=ticks, size=8.0, length=0.0),
        title=more,
        grid="x",
        place=(beside, 0.55 / (height + 1.0), 1.0 - beside, height / (height + 1.0)),
    )
    return Drawing((panel,), laid.width, height + 1.0, laid.title)


def outcome_plot(laid: Layout) -> Drawing:
    """Return angle spread, lowest voltage and nadir; runs that lost synchronism in red."""
    assert laid.over is not None
    table = laid.table.sort_values(laid.over)
    lost = table["synchronism"] == "lost"
    kept = table.loc[~lost, "angle_spread"]
    # What fell out of step turned on without end: how far says nothing.
    top = 1.1 * max(Criteria.angle_deg, float(kept.max() if len(kept) else 0.0))
    x = PanelAxis(laid.words(laid.over), PanelAxis().ends(table[laid.over].to_numpy(dtype=float)))
    panels = [
        Panel(_points(table, laid.over, column, lost), x, PanelAxis(words, limits))
        for column, words, limits in (
            ("angle_spread", "angle spread [deg]", (0.0, top) if lost.any() else None),
            ("lowest_voltage", "lowest voltage [pu]", None),
            ("nadir", "nadir [Hz]", None),
        )
    ]
    panels[0] = replace(panels[0], title="red: lost synchronism" if lost.any() else "")
    return Drawing(panels, laid.width, 5.6, laid.title, shared=True)


def stability_plot(laid: Layout) -> Drawing:
    """Return spectral radius and deformation; unstable schemes in red."""
    over = laid.over
    table = laid.table.assign(_place=range(len(laid.table))) if over is None else laid.table.sort_values(over)
    table["_percent"] = 100 * table["deformation"]
    unstable, along = table["stable"] == False, over or "_place"  # noqa: E712
    x = PanelAxis(laid.words(over) or laid.lines or "", PanelAxis().ends(table[along].to_numpy(dtype=float)))
    radius = [*_points(table, along, "spectral_radius", unstable), line_across("y", 1.0, FAINT, 0.8)]
    scale = LogScale() if (table["_percent"] > 0).any() else LINEAR
    shown = table[table["_percent"] > 0] if isinstance(scale, LogScale) else table
    panels = (
        Panel(radius, x, PanelAxis("spectral radius"), "red: unstable" if unstable.any() else ""),
        Panel(_points(shown, along, "_percent", unstable), x, PanelAxis("deformation [%]", scale=scale)),
    )
    return Drawing(panels, laid.width, 4.2, laid.title, shared=True)


def _points(table: pd.DataFrame, over: str, column: str, bad: pd.Series) -> list[Mark]:
    once = not table[over].duplicated().any() and len(table) <= 200
    marks: list[Mark] = [Line(table[over], table[column], BLUE, 1.0)] if once else []
    bad = bad[table.index]
    for chosen, colour, z in ((~bad, BLUE, 2.0), (bad, RED, 3.0)):
        if chosen.any():
            rows, size = table[chosen], 4.2 if once else 2.5
            marks.append(Dots(rows[over], rows[column], "o", size, colour, "none", z=z))
    return marks


# Lines of constant damping ratio.
RATIOS = (0.0, 0.05, 0.1, 0.2)


def root_locus(laid: Layout) -> Drawing:
    """Return all modes of the band, coloured by the parameter, with lines of constant damping."""
    assert laid.over is not None
    table = laid.table.sort_values(laid.over)
    counts = table["real"].map(len)
    value = np.repeat(table[laid.over].to_numpy(dtype=float), counts)
    real = np.concatenate([np.asarray(part, dtype=float) for part in table["real"]])
    hertz = np.concatenate([np.asarray(part, dtype=float) for part in table["imag"]]) / (2 * np.pi)
    top = 1.05 * float(hertz.max(initial=1.0))
    left = min(float(real.min(initial=0.0)) * 1.08, -0.1)
    marks: list[Mark] = []
    for ratio in RATIOS:
        end = -ratio / np.sqrt(1 - ratio**2) * 2 * np.pi * top
        marks.append(Line([0.0, end], [0.0, top], FAINT if ratio == 0 else GRID, 0.9, z=1.0))
        if left < end <= 0:
            look: dict[str, Any] = {"ha": "center", "va": "bottom", "shift": (0, 2)}
            marks.append(Text(f"{100 * ratio:g} %", (end, top), size=7.5, colour=FAINT, **look))
    low, high = float(value.min()), float(value.max())
    colours = np.array(shades(parts_of(value, low, high, LINEAR), BLUE_TO_VIOLET))
    for colour in dict.fromkeys(colours.tolist()):
        chosen = colours == colour
        marks.append(Dots(real[chosen], hertz[chosen], "o", 4.2, colour, "none"))
    panel = Panel(
        marks,
        PanelAxis("real part [1/s]", (left, max(0.05 * -left, 1.15 * float(real.max(initial=0.0))))),
        PanelAxis("frequency [Hz]", (0.0, top)),
        place=(0.09, 0.27, 0.82, 0.62),
    )
    key = strip(low, high, laid.words(laid.over), (0.09, 0.1, 0.6, 0.025), LINEAR, BLUE_TO_VIOLET)
    return Drawing((panel, key), laid.width, 4.4, laid.title)
