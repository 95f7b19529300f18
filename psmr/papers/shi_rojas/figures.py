"""The figures of Shi and Rojas, drawn anew."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from psmr.papers.shi_rojas.evidence import FIGURE_3, T_END, Evidence, reduced
from psmr.study.output.canvas import COLOURS, FAINT, INK, close, new_figure, save, styled


def trajectories(evidence: Evidence, path: Path) -> Path:
    """Draw y, z and their errors over time: three runs of Table I, forward Euler and the reference."""
    t = np.linspace(0.0, T_END, 2001)
    exact = evidence.reference(t)
    with styled():
        figure = new_figure(8.2, 5.6)
        axes = figure.subplots(2, 2, sharex=True)
        (top_y, top_z), (low_y, low_z) = axes
        for place, (axis, name) in zip((0, 2), ((top_y, "y"), (top_z, "z")), strict=True):
            axis.plot(t, exact[place], color=INK, linewidth=2.6, alpha=0.25, label="reference")
            axis.set(ylabel=name)
        for colour, (h, micro) in zip(COLOURS, FIGURE_3, strict=False):
            run = evidence.runs[h, micro]
            label, shown = f"SMFE({h:g}, {micro})", outline(len(run.t), micro)
            settled = np.arange(
                micro, len(run.t), micro + 1
            )  # after the micro steps, where the paper's figure is drawn
            for place, above, below in ((0, top_y, low_y), (2, top_z, low_z)):
                above.plot(run.t[shown], run.x[shown, place], color=colour, linewidth=1.1, label=label)
                error = np.abs(run.x[settled, place] - evidence.reference(run.t[settled])[place])
                below.semilogy(
                    run.t[settled],
                    error,
                    color=colour,
                    marker="o" if h > 0.05 else None,
                    markersize=2.2,
                    linewidth=0.9,
                )
        euler, label = evidence.euler, "FEM, step ε"
        for place, above, below in ((0, top_y, low_y), (2, top_z, low_z)):
            above.plot(euler.t, euler.x[:, place], color=COLOURS[3], lw=1.1, ls=(0, (1.2, 1.6)), label=label)
            error = np.abs(euler.x[1:, place] - evidence.reference(euler.t[1:])[place])
            below.semilogy(euler.t[1:], error, color=COLOURS[3], lw=0.9)
        top_y.legend(loc="upper right")
        top_y.set_title("y follows with the error of forward Euler")
        top_z.set_title("z leaves its manifold at each long step")
        top_z.set_ylim(-0.24, 0.02)
        low_y.set(xlabel="t [s]", ylabel="error of y after the micro steps", ylim=(1e-10, 1e-1))
        low_z.set(xlabel="t [s]", ylabel="error of z after the micro steps", ylim=(1e-10, 1e-1))
    save(figure, path)
    close(figure)
    return path


def outline(points: int, micro: int) -> NDArray[np.intp]:
    """Return the points to draw of a run: those after 1, 2, 4, ... micro steps of each macro step.

    The micro steps approach the manifold geometrically; all half a million of them would only make a large
    file.
    """
    within = np.unique(np.append(2 ** np.arange(int(np.log2(micro)) + 1), [micro, micro + 1]))
    places = np.arange(0, points - 1, micro + 1)[:, None] + within
    return np.append(0, places.ravel()).astype(np.intp)


def plane(evidence: Evidence, path: Path) -> Path:
    """Draw z over y: SMFE on the full system beside forward Euler with the same step on the reduced one."""
    t = np.linspace(0.0, T_END, 4001)
    y, _, z = evidence.reference(t)
    with styled():
        figure = new_figure(8.2, 3.2)
        for axis, (h, micro) in zip(figure.subplots(1, 3, sharex=True, sharey=True), FIGURE_3, strict=True):
            run = evidence.runs[h, micro]
            euler = reduced(h)
            axis.plot(y, z, color=INK, linewidth=3.0, alpha=0.22, label="manifold (reference)")
            shown = outline(len(run.t), micro)
            axis.plot(
                run.x[shown, 0], run.x[shown, 2], color=COLOURS[1], linewidth=0.8, label="SMFE, full system"
            )
            axis.plot(
                euler.x[:, 0], euler.y[:, 0], color=COLOURS[0], linewidth=0, marker="o", markersize=2.6,
                markevery=max(1, len(euler.t) // 26), label="FEM, reduced system",
            )  # fmt: skip
            axis.set(xlabel="y", title=f"Δ = {h:g} s, N = {micro}")
        first = figure.axes[0]
        first.set_ylabel("z")
        first.set_ylim(-0.3, 0.012)
        first.legend(loc="lower left")
        first.annotate(
            "micro steps\nback to the\nmanifold", xy=(0.8, -0.185), xytext=(0.84, -0.262),
            color=FAINT, fontsize=7.5,
            arrowprops={"arrowstyle": "-", "color": FAINT, "linewidth": 0.6},
        )  # fmt: skip
    save(figure, path)
    close(figure)
    return path
