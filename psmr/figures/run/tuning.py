"""The figure of a tuning: what accuracy costs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from psmr.base.files import OutputTransaction
from psmr.figures.run.canvas import COLOURS, FAINT, INK, close, new_figure, save, styled
from psmr.study.tuning.tuning import Tuning

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def save_pareto(tuning: Tuning, path: Path, transaction: OutputTransaction) -> None:
    """Write the figure of a tuning into a file."""
    figure = pareto(tuning)
    try:
        save(figure, path, transaction)
    finally:
        close(figure)


def pareto(tuning: Tuning) -> Figure:
    """Draw cost against deformation: every stable candidate, both frontiers, the bound and the winner."""
    stable = [c for c in tuning.candidates if c.stable is not False and np.isfinite(c.deformation)]
    with styled():
        figure = new_figure(7.2, 4.6)
        ax = figure.subplots()
        kinds = (("multirate", True, COLOURS[1], "o"), ("single rate", False, COLOURS[0], "s"))
        for words, kind, colour, marker in kinds:
            points = np.array(
                [(100 * c.deformation, 1e3 * c.cost) for c in stable if c.scheme.has_ratio == kind]
            )
            if not len(points):
                continue
            ax.scatter(
                points[:, 0],
                points[:, 1],
                s=16,
                color=colour,
                marker=marker,
                alpha=0.35,
                linewidths=0,
                label=words,
            )
            ax.step(*_frontier(points).T, where="post", color=colour, lw=1.4)
        winner = tuning.winner
        place = (100 * winner.deformation, 1e3 * winner.cost)
        star: dict[str, Any] = {"marker": "*", "color": "#e09f3e", "edgecolor": INK, "lw": 0.8, "zorder": 5}
        ax.scatter(*place, s=170, label="cheapest that meets it", **star)
        if tuning.target.accuracy is not None:
            ax.axvline(100 * tuning.target.accuracy, color=FAINT, lw=1.0, ls="--")
            ax.annotate(
                f"asked: {100 * tuning.target.accuracy:g} %", (100 * tuning.target.accuracy, 0.98),
                xycoords=("data", "axes fraction"), xytext=(4, 0), textcoords="offset points", va="top",
                color=FAINT,
            )  # fmt: skip
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_xlabel(f"largest deformation of a mode up to {tuning.target.up_to:g} Hz [%]")
        least = min(100 * c.deformation for c in stable)
        # What is a thousand times better than asked says nothing about the choice.
        ax.set_xlim(left=max(0.7 * least, 1e-3 * place[0]))
        ax.set_ylabel("work per simulated second [ms]")
        ax.set_title(tuning.name, loc="left")
        ax.legend(loc="lower left")
    return figure


def _frontier(points: np.ndarray) -> np.ndarray:
    """Return the points that no other one beats in both, from the most accurate to the cheapest."""
    points = points[np.lexsort((points[:, 1], points[:, 0]))]
    best = np.minimum.accumulate(points[:, 1])
    keep = np.concatenate([[True], best[1:] < best[:-1]])
    return points[keep]
