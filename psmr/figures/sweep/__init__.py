"""Figures of a sweep, chosen by what was measured and what varied."""

from __future__ import annotations

from collections.abc import Mapping
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
    return [NamedFigure(*found) for found in _DRAWN[swept.sweep.measure.kind](laid)]


def _outcomes(laid: Layout) -> list[tuple[str, Drawing, str]]:
    if laid.over is not None and laid.lines is None and not laid.grid:
        return [("outcomes", plots.outcome_plot(laid), "Outcome over what varied")]
    return [
        (
            "angle-spread",
            maps.angle_spread_map(laid),
            "Largest angle spread by what varied; lost synchronism in red",
        )
    ]


def _clearing(laid: Layout) -> list[tuple[str, Drawing, str]]:
    if laid.over is not None:
        return [("clearing-times", maps.clearing_map(laid), "Critical clearing times by what varied")]
    return [("clearing-times", plots.clearing_plot(laid), "Critical clearing times, the shortest first")]


def _margin(laid: Layout) -> list[tuple[str, Drawing, str]]:
    return [("load-margins", plots.margin_plot(laid), "Load margins, the smallest first")]


def _damping(laid: Layout) -> list[tuple[str, Drawing, str]]:
    if laid.grid:
        return [
            ("damping", maps.damping_map(laid), "Damping ratio of the least damped mode by two parameters")
        ]
    if laid.over is not None and laid.lines is None:
        return [("root-locus", plots.root_locus(laid), "Modes in the complex plane as one parameter varies")]
    return [
        ("damping", plots.damping_plot(laid), "Damping ratio of the least damped mode, the smallest first")
    ]


def _stability(laid: Layout) -> list[tuple[str, Drawing, str]]:
    if laid.grid:
        return [
            ("stability", maps.stability_map(laid), "Deformation of the dominant mode; unstable steps in red")
        ]
    return [("stability", plots.stability_plot(laid), "Spectral radius and deformation over what varied")]


_DRAWN = {
    "outcomes": _outcomes,
    "clearing-time": _clearing,
    "load-margin": _margin,
    "damping": _damping,
    "stability": _stability,
}
