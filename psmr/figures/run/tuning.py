"""The figure of a tuning: what accuracy costs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from psmr.base.files import OutputTransaction
from psmr.figures.canvas import forget_figure, save
from psmr.figures.chart import (
    BLUE,
    COLOURS,
    FAINT,
    INK,
    RED,
    TOP,
    Axis,
    Dots,
    Drawing,
    Line,
    Mark,
    Panel,
    Words,
    across,
)
from psmr.figures.scales import Log
from psmr.figures.with_matplotlib import to_matplotlib
from psmr.study.tuning.tuning import Tuning

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def save_pareto(tuning: Tuning, path: Path, transaction: OutputTransaction) -> None:
    """Write the figure of a tuning into a file."""
    figure = pareto(tuning)
    try:
        save(figure, path, transaction)
    finally:
        forget_figure(figure)


def pareto(tuning: Tuning) -> Figure:
    """Draw cost against deformation: every stable candidate, both frontiers, the bound and the winner."""
    stable = [c for c in tuning.candidates if c.stable is not False and np.isfinite(c.deformation)]
    marks: list[Mark] = []
    for words, kind, colour, shape in (
        ("multirate", True, RED, "o"),
        ("single rate", False, BLUE, "s"),
    ):
        points = np.array([(100 * c.deformation, 1e3 * c.cost) for c in stable if c.scheme.has_ratio == kind])
        if len(points):
            marks.append(
                Dots(points[:, 0], points[:, 1], shape, 4.0, colour, "none", alpha=0.35, label=words)
            )
            steps = _frontier(points)
            along = np.repeat(steps[:, 0], 2)[1:], np.repeat(steps[:, 1], 2)[:-1]
            marks.append(Line(*along, colour, 1.4))
    place = 100 * tuning.winner.deformation, 1e3 * tuning.winner.cost
    star = Dots(
        [place[0]], [place[1]], "*", 13.0, COLOURS[3], INK, 0.8, z=5.0, label="cheapest that meets it"
    )
    marks.append(star)
    if tuning.target.accuracy is not None:
        asked = 100 * tuning.target.accuracy
        marks.append(across("x", asked, width=1.0, dashes=(4.0, 3.0)))
        marks.append(Words(f"asked: {asked:g} %", (asked, 0.98), TOP, (4, 0), 9.0, FAINT, va="top"))
    least, most = (100 * end(c.deformation for c in stable) for end in (min, max))
    # What is a thousand times better than asked says nothing about the choice.
    x = max(0.7 * least, 1e-3 * place[0]), 1.4 * most
    words = f"largest deformation of a mode up to {tuning.target.up_to:g} Hz [%]"
    axes = Axis(words, x, Log()), Axis("work per simulated second [ms]", scale=Log())
    return to_matplotlib(Drawing((Panel(marks, *axes, tuning.name, legend="lower left"),), 7.2, 4.6))


def _frontier(points: np.ndarray) -> np.ndarray:
    """Return the points that no other one beats in both, from the most accurate to the cheapest."""
    points = points[np.lexsort((points[:, 1], points[:, 0]))]
    best = np.minimum.accumulate(points[:, 1])
    keep = np.concatenate([[True], best[1:] < best[:-1]])
    return points[keep]
