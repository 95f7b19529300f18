"""Figures for Kuznetsov and Krasnikov, whose paper has none."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from psmr.papers.systems import boundary_layer as layer
from psmr.study.output.canvas import COLOURS, FAINT, INK, close, new_figure, save, styled

if TYPE_CHECKING:
    from psmr.papers.kuznetsov_krasnikov.evidence import Evidence


def example_three(evidence: Evidence, path: Path) -> Path:
    """Draw the boundary layer of example 3 by both methods, and the chatter beyond it."""
    t = np.linspace(0.0, 0.03, 1501)
    with styled():
        figure = new_figure(8.2, 3.6)
        left, right = figure.subplots(1, 2)
        left.plot(t, layer.exact(t), color=INK, linewidth=3.0, alpha=0.25, label="exact")
        shown = (("E", 0.002, "Euler along time, h = 0.002"), ("BP", 0.2, "along the arc, h = 0.2"))
        for colour, (method, h, label) in zip((COLOURS[0], COLOURS[1]), shown, strict=True):
            run = evidence.runs[method, h]
            inside = run.t <= 0.03
            left.plot(
                run.t[inside],
                run.x[inside, 0],
                color=colour,
                marker="o",
                markersize=3,
                linewidth=0.9,
                label=label,
            )
        left.set(
            xlabel="t [s]",
            ylabel="x",
            title="In the layer the arc resolves what time steps over",
            xlim=(0, 0.03),
        )
        left.legend(loc="lower right")
        right.axhline(0.0, color=INK, linewidth=3.0, alpha=0.25)
        for colour, h in zip((COLOURS[1], COLOURS[3], COLOURS[2]), (0.2, 0.05, 0.01), strict=True):
            run = evidence.runs["BP", h]
            beyond = (run.t >= 0.5) & (run.t <= 0.56)
            off = run.x[beyond, 0] - layer.exact(run.t[beyond])
            right.plot(
                run.t[beyond],
                off,
                color=colour,
                marker="o",
                markersize=2.6,
                linewidth=0.8,
                label=f"h = {h:g}",
            )
            for sign in (-0.5, 0.5):
                right.axhline(sign * h, color=colour, linewidth=0.7, linestyle=(0, (4, 3)))
        right.set(xlabel="t [s]", ylabel="x minus exact", title="On the manifold it chatters between ± h/2")
        right.set_ylim(-0.15, 0.15)
        right.legend(loc="upper right", ncols=3)
    save(figure, path)
    close(figure)
    return path


def gain(evidence: Evidence, path: Path) -> Path:
    """Draw evaluations along time over evaluations along the arc, and the share of steps that turn back."""
    table = evidence.van_der_pol
    with styled():
        figure = new_figure(8.2, 3.3)
        left, right = figure.subplots(1, 2, sharex=True)
        styles = (
            ("scipy VODE-Adams", COLOURS[3], "s"),
            ("psmr Adams", COLOURS[1], "o"),
            ("psmr RK54", COLOURS[0], "^"),
        )
        for method, colour, marker in styles:
            rows = table[table["method"] == method]
            options = {
                "color": colour,
                "marker": marker,
                "markersize": 4.5,
                "linewidth": 1.1,
                "label": method,
            }
            left.loglog(rows["tolerance"], rows["ratio"], **options)
            if rows["turned back"].notna().any():
                right.semilogx(rows["tolerance"], 100 * rows["turned back"], **options)
        left.axhline(20.0, color=FAINT, linewidth=0.8, linestyle=(0, (4, 3)))
        left.text(1e-8, 21.0, "the paper's twenty", color=FAINT, fontsize=7.5)
        left.axhline(1.0, color=FAINT, linewidth=0.8)
        left.set(
            xlabel="tolerance",
            ylabel="evaluations, time / arc",
            title="The gain ends where the tolerance is tight ...",
        )
        left.set_ylim(0.7, 32)
        left.set_yticks([1, 2, 5, 10, 20], ["1", "2", "5", "10", "20"])
        left.minorticks_off()
        left.legend(loc="lower right")
        right.set(
            xlabel="tolerance",
            ylabel="steps that turn back [%]",
            title="... and with it the chatter that it comes from",
        )
        right.legend(loc="lower right")
        right.set_ylim(-3, 103)
    save(figure, path)
    close(figure)
    return path
