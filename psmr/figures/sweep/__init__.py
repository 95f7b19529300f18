"""Figures of a sweep, chosen by what was measured and what varied."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from psmr.figures.chart import Drawing
from psmr.figures.sweep import maps, plots
from psmr.figures.sweep.maps import WIDTH, Layout, layout_of

if TYPE_CHECKING:
    from psmr.sweep.swept import Swept


class NamedFigure(NamedTuple):
    """A figure, the name of its file, and what it shows in words."""

    name: str
    figure: Drawing
    words: str


def figures_of(swept: Swept, units: Mapping[str, str], width: float = WIDTH) -> list[NamedFigure]:
    """Return the figures of a sweep with the units of what varied; none where no point was carried out."""
    laid = replace(layout_of(swept), units=units, width=width)
    if laid.table.empty:
        return []
    name, draw, words = _kind(swept.sweep.measure.kind, laid)
    return [NamedFigure(name, draw(laid), words)]


def _kind(measure: str, laid: Layout) -> tuple[str, Callable[[Layout], Drawing], str]:
    """Return name, function and words of the figure of a measure."""
    along_one = laid.over is not None and laid.lines is None and not laid.grid
    match measure:
        case "outcomes" if along_one:
            return "outcomes", plots.outcome_plot, "Outcome over what varied"
        case "outcomes":
            words = "Largest angle spread by what varied; lost synchronism in red"
            return "angle-spread", maps.angle_spread_map, words
        case "clearing-time" if laid.over is not None:
            return "clearing-times", maps.clearing_map, "Critical clearing times by what varied"
        case "clearing-time":
            return "clearing-times", plots.clearing_plot, "Critical clearing times, the shortest first"
        case "load-margin":
            return "load-margins", plots.margin_plot, "Load margins, the smallest first"
        case "damping" if laid.grid:
            words = "Damping ratio of the least damped mode by two parameters"
            return "damping", maps.damping_map, words
        case "damping" if along_one:
            return "root-locus", plots.root_locus, "Modes in the complex plane as one parameter varies"
        case "damping":
            return "damping", plots.damping_plot, "Damping ratio of the least damped mode, the smallest first"
        case "stability" if laid.grid:
            return "stability", maps.stability_map, "Deformation of the dominant mode; unstable steps in red"
        case _:
            return "stability", plots.stability_plot, "Spectral radius and deformation over what varied"
