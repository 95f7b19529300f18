"""Bars, the worst on top."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from psmr.figures.chart import BLUE, COLOURS, FAINT, Area, Axis, Drawing, Mark, Panel, Words
from psmr.figures.sweep.layout import HIGH, LETTER, WIDTH, Layout

if TYPE_CHECKING:
    import pandas as pd


def clearing(laid: Layout) -> Drawing:
    """Return critical clearing times; one that no trial exceeded ends open."""
    table = laid.table
    open_ended = table["bounded"].to_numpy() == False  # noqa: E712
    return _bars(laid, table["critical_clearing_time"], "critical clearing time [s]", "{:.4g} s", open_ended)


def damping(laid: Layout) -> Drawing:
    """Return the damping ratio of the least damped mode in percent."""
    values = 100 * laid.table["damping_ratio"]
    return _bars(laid, values, "damping ratio [%]", "{:.3g} %", np.zeros(len(values), dtype=bool))


def _bars(laid: Layout, values: pd.Series, words: str, shape: str, open_ended: np.ndarray) -> Drawing:
    names = laid.table["_line"].tolist() if laid.lines is not None else [laid.title] * len(values)
    marks: list[Mark] = []
    for k, (value, flag) in enumerate(zip(values.tolist(), open_ended.tolist(), strict=True)):
        colour, text = (COLOURS[5], f"> {shape.format(value)}") if flag else (BLUE, shape.format(value))
        marks.append(Area([0.0, value, value, 0.0], [k - 0.35, k - 0.35, k + 0.35, k + 0.35], colour))
        marks.append(Words(text, (max(value, 0.0), k), shift=(3, 0), size=7.5, colour=FAINT, va="center"))
    more = f", {laid.left_out} more not shown" if laid.left_out else ""
    beside = min(LETTER * max(len(str(name)) for name in names) + 0.2, 0.6 * WIDTH)
    height = max(1.4, HIGH * len(names))
    low, high = min(0.0, 1.1 * float(values.min())), 1.25 * max(float(values.max()), 1e-9)
    ticks = list(enumerate(map(str, names)))
    panel = Panel(
        marks,
        Axis(words, (low, high)),
        Axis(limits=(len(names) - 0.4, -0.6), ticks=ticks, size=8.0, length=0.0),
        title=f"{laid.title}{more}",
        grid="x",
        place=(beside / WIDTH, 0.55 / (height + 1.0), (WIDTH - beside) / WIDTH, height / (height + 1.0)),
    )
    return Drawing((panel,), WIDTH, height + 1.0)
