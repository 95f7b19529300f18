"""The figures of Shi and Rojas, drawn anew."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from psmr.figures.canvas import new_figure, styled
from psmr.figures.chart import COLOURS, FAINT, INK
from psmr.papers.reproduction import Results
from psmr.papers.shi_rojas.runs import DRAWN, T_END, reduced

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PLACES = (0, 2)  # of y and z among the states


def trajectories(r: Results) -> Figure:
    """Draw y, z and their errors over time: three runs of Table I, forward Euler and the reference."""
    t = np.linspace(0.0, T_END, 2001)
    exact = r.reference(t)
    with styled():
        figure = new_figure(8.2, 5.6)
        panels = figure.subplots(2, 2, sharex=True)
        for place, name, (above, below) in zip(PLACES, "yz", panels.T, strict=True):
            above.plot(t, exact[place], color=INK, linewidth=2.6, alpha=0.25, label="reference")
            above.set(ylabel=name)
            for colour, (h, micro) in zip(COLOURS, DRAWN, strict=False):
                run, label = r.runs[h, micro], f"SMFE({h:g}, {micro})"
                shown = outline(len(run.t), micro)
                above.plot(run.t[shown], run.x[shown, place], color=colour, linewidth=1.1, label=label)
                # After the micro steps, where the paper's figure is drawn.
                settled = np.arange(micro, len(run.t), micro + 1)
                error = np.abs(run.x[settled, place] - r.reference(run.t[settled])[place])
                look = {"marker": "o" if h > 0.05 else None, "markersize": 2.2, "linewidth": 0.9}
                below.semilogy(run.t[settled], error, color=colour, **look)
            times, x = r.euler
            above.plot(times, x[:, place], color=COLOURS[3], lw=1.1, ls=(0, (1.2, 1.6)), label="FEM, step ε")
            error = np.abs(x[1:, place] - r.reference(times[1:])[place])
            below.semilogy(times[1:], error, color=COLOURS[3], lw=0.9)
            below.set(xlabel="t [s]", ylabel=f"error of {name} after the micro steps", ylim=(1e-10, 1e-1))
        (y, z), _ = panels
        y.legend(loc="upper right")
        y.set_title("y follows with the error of forward Euler")
        z.set_title("z leaves its manifold at each long step")
        z.set_ylim(-0.24, 0.02)
    return figure


def outline(points: int, micro: int) -> NDArray[np.intp]:
    """Return the points to draw of a run: those after 1, 2, 4, ... micro steps of each macro step.

    The micro steps approach the manifold geometrically; all half a million of them would only make a large
    file.
    """
    within = np.unique(np.append(2 ** np.arange(int(np.log2(micro)) + 1), [micro, micro + 1]))
    places = np.arange(0, points - 1, micro + 1)[:, None] + within
    return np.append(0, places.ravel()).astype(np.intp)


def plane(r: Results) -> Figure:
    """Draw z over y: SMFE on the full system and forward Euler with the same step on the reduced one."""
    y, _, z = r.reference(np.linspace(0.0, T_END, 4001))
    with styled():
        figure = new_figure(8.2, 3.2)
        for axis, (h, micro) in zip(figure.subplots(1, 3, sharex=True, sharey=True), DRAWN, strict=True):
            run, euler = r.runs[h, micro], reduced(h)
            shown = outline(len(run.t), micro)
            axis.plot(y, z, color=INK, linewidth=3.0, alpha=0.22, label="manifold (reference)")
            line = {"color": COLOURS[1], "linewidth": 0.8, "label": "SMFE, full system"}
            axis.plot(run.x[shown, 0], run.x[shown, 2], **line)
            dots = {"color": COLOURS[0], "linewidth": 0, "marker": "o", "markersize": 2.6}
            every = max(1, len(euler.t) // 26)
            axis.plot(euler.x[:, 0], euler.y[:, 0], **dots, markevery=every, label="FEM, reduced system")
            axis.set(xlabel="y", title=f"Δ = {h:g} s, N = {micro}")
        first = figure.axes[0]
        first.set(ylabel="z", ylim=(-0.3, 0.012))
        first.legend(loc="lower left")
        first.annotate(
            "micro steps\nback to the\nmanifold", (0.8, -0.185), (0.84, -0.262), color=FAINT, fontsize=7.5,
            arrowprops={"arrowstyle": "-", "color": FAINT, "linewidth": 0.6},
        )  # fmt: skip
    return figure
