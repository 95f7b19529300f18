"""Figures for Kuznetsov and Krasnikov, whose paper has none."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from psmr.figures.canvas import new_figure, styled
from psmr.figures.chart import COLOURS, FAINT, INK
from psmr.papers.kuznetsov_krasnikov.systems import layer_exact
from psmr.papers.reproduction import Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def example_three(r: Results) -> Figure:
    """Draw the boundary layer of example 3 by both methods, and the chatter beyond it."""
    t = np.linspace(0.0, 0.03, 1501)
    with styled():
        figure = new_figure(8.2, 3.6)
        left, right = figure.subplots(1, 2)
        left.plot(t, layer_exact(t), color=INK, linewidth=3.0, alpha=0.25, label="exact")
        shown = (("E", 0.002, "Euler along time, h = 0.002"), ("BP", 0.2, "along the arc, h = 0.2"))
        for colour, (method, h, label) in zip(COLOURS, shown, strict=False):
            run = r.runs[method, h]
            inside = run.t <= 0.03
            look = {"color": colour, "marker": "o", "markersize": 3, "linewidth": 0.9}
            left.plot(run.t[inside], run.x[inside, 0], label=label, **look)
        left.set(xlabel="t [s]", ylabel="x", xlim=(0, 0.03))
        left.set_title("In the layer the arc resolves what time steps over")
        left.legend(loc="lower right")
        right.axhline(0.0, color=INK, linewidth=3.0, alpha=0.25)
        for colour, h in zip((COLOURS[1], COLOURS[3], COLOURS[2]), (0.2, 0.05, 0.01), strict=True):
            run = r.runs["BP", h]
            beyond = (run.t >= 0.5) & (run.t <= 0.56)
            off = run.x[beyond, 0] - layer_exact(run.t[beyond])
            look = {"color": colour, "marker": "o", "markersize": 2.6, "linewidth": 0.8}
            right.plot(run.t[beyond], off, label=f"h = {h:g}", **look)
            for sign in (-0.5, 0.5):
                right.axhline(sign * h, color=colour, linewidth=0.7, linestyle=(0, (4, 3)))
        right.set(xlabel="t [s]", ylabel="x minus exact", ylim=(-0.15, 0.15))
        right.set_title("On the manifold it chatters between ± h/2")
        right.legend(loc="upper right", ncols=3)
    return figure


def gain(r: Results) -> Figure:
    """Draw evaluations along time over evaluations along the arc, and the share of steps that turn back."""
    styles = {"scipy VODE-Adams": (3, "s"), "psmr Adams": (1, "o"), "psmr RK54": (0, "^")}
    with styled():
        figure = new_figure(8.2, 3.3)
        left, right = figure.subplots(1, 2, sharex=True)
        for method, (colour, marker) in styles.items():
            rows = r.van_der_pol[r.van_der_pol["method"] == method]
            look = {"color": COLOURS[colour], "marker": marker, "markersize": 4.5, "linewidth": 1.1}
            left.loglog(rows["tolerance"], rows["ratio"], label=method, **look)
            if rows["turned back"].notna().any():
                right.semilogx(rows["tolerance"], 100 * rows["turned back"], label=method, **look)
        left.axhline(20.0, color=FAINT, linewidth=0.8, linestyle=(0, (4, 3)))
        left.text(1e-8, 21.0, "the paper's twenty", color=FAINT, fontsize=7.5)
        left.axhline(1.0, color=FAINT, linewidth=0.8)
        left.set(xlabel="tolerance", ylabel="evaluations, time / arc", ylim=(0.7, 32))
        left.set_title("The gain ends where the tolerance is tight ...")
        left.set_yticks([1, 2, 5, 10, 20], ["1", "2", "5", "10", "20"])
        left.minorticks_off()
        left.legend(loc="lower right")
        right.set(xlabel="tolerance", ylabel="steps that turn back [%]", ylim=(-3, 103))
        right.set_title("... and with it the chatter that it comes from")
        right.legend(loc="lower right")
    return figure
