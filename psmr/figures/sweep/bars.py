"""Bars, the worst on top."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from psmr.figures.run.canvas import COLOURS, FAINT, new_figure
from psmr.figures.sweep.laid_out import Layout

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


def clearing(laid: Layout) -> Figure:
    """Draw critical clearing times; one that no trial exceeded ends open."""
    table = laid.table
    open_ended = table["bounded"].to_numpy() == False  # noqa: E712
    return _bars(laid, table["critical_clearing_time"], "critical clearing time [s]", "{:.4g} s", open_ended)


def damping(laid: Layout) -> Figure:
    """Draw the damping ratio of the least damped mode in percent."""
    values = 100 * laid.table["damping_ratio"]
    return _bars(laid, values, "damping ratio [%]", "{:.3g} %", np.zeros(len(values), dtype=bool))


def _bars(laid: Layout, values: pd.Series, words: str, shape: str, open_ended: np.ndarray) -> Figure:
    names = laid.table["_line"].tolist() if laid.lines is not None else [laid.title] * len(values)
    figure = new_figure(7.2, max(2.2, 0.2 * len(names) + 1.2))
    axes = figure.subplots()
    places = np.arange(len(names))
    colours = [COLOURS[5] if flag else COLOURS[0] for flag in open_ended]
    axes.barh(places, values, color=colours, height=0.7)
    for place, value, flag in zip(places.tolist(), values, open_ended, strict=True):
        text = shape.format(value)
        axes.annotate(
            f"> {text}" if flag else text,
            (value, place),
            xytext=(3, 0),
            textcoords="offset points",
            va="center",
            fontsize=7,
            color=FAINT,
        )
    axes.set_yticks(places, names, fontsize=8)
    axes.tick_params(axis="y", length=0)
    axes.invert_yaxis()
    axes.grid(False, axis="y")
    axes.margins(x=0.12)
    axes.set_xlabel(words)
    more = f", {laid.left_out} more not shown" if laid.left_out else ""
    axes.set_title(f"{laid.title}{more}", loc="left")
    return figure
