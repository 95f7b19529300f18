"""The paper: Table I, figures 2 and 3, the claims of sections IV to VIII, and the numbers they are about.

The figures of Shi and Rojas, drawn anew.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from psmr.figures.canvas import new_figure, styled
from psmr.figures.chart import COLOURS, FAINT, INK
from psmr.papers.reproduction import Paper, Results
from psmr.papers.shi_rojas import runs
from psmr.papers.shi_rojas.runs import DRAWN, FORWARD_EULER, T_END, TABLE_I, reduced

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


def numbers(r: Results) -> dict[str, Any]:
    """Return the numbers by their names in ``claims.toml``."""
    euler, *rows = r.table.to_dict("records")
    own = r.table.set_index("method")["MSE, own points"]
    mean = {case: float(row["MSE, ours"]) for case, row in zip(TABLE_I, rows, strict=True)}
    best = [mean[h, 1120] for h in (0.2, 0.1, 0.01)]
    tied, free = (r.micro[f"(14), delta = epsilon{more}"] for more in (" Delta", ""))
    known = r.micro["(17)"].notna()
    second = r.order[(r.order["base"] == "RK2") & (r.order["nodes"] == "macro")]
    least = r.order.groupby(["base", "nodes"])["error of y"].min()
    listed = [_row(row, texts) for row, texts in zip(rows, TABLE_I.values(), strict=True)]
    return {
        "rows": listed,
        "first": listed[0],
        "texts": [iterations for iterations, _ in TABLE_I.values()],
        "taken": [row["taken"] for row in listed],
        "formula": [round((micro + 1) * T_END / h) for h, micro in TABLE_I],
        "printed_euler": FORWARD_EULER,
        "euler": (euler["iterations, ours"], euler["MSE, ours"]),
        "printed_start": r.printed_start,
        "at_200_ms": [mean[0.2, n] for n in (70, 140, 1120)],
        "at_100_ms": [mean[0.1, n] for n in (140, 1120)],
        "own_points": [float(own[f"SMFE(0.2, {n})"]) for n in (70, 140, 1120)],
        "slopes": (math.log2(best[0] / best[1]), math.log10(best[1] / best[2])),
        "apart": [r.distances[h] for h, _ in reversed(DRAWN)],
        "least": [f"{h:g}: {n}" for h, n in zip(r.micro["Delta"], tied, strict=True)],
        "known": tied[known],
        "bound": np.ceil(r.micro["(17)"][known]),
        "tied": tied,
        "free": free,
        "free_values": sorted(set(free)),
        "orders": [float(v) for v in second["order"].dropna()],
        "rk2": float(least["RK2", "macro"]),
        "rk4": float(least["RK4", "macro"]),
        "settled": float(least["RK4", "settled"]),
        "naive": r.naive,
    }


def _row(row: dict[str, Any], texts: tuple[str, str]) -> dict[str, Any]:
    """Return a row of Table I; `reach` is half the last printed digit and what other grids move the mean."""
    printed, mean, grids = row["MSE, paper"], row["MSE, ours"], row["other grids, %"]
    return {
        "method": row["method"],
        "iterations": texts[0],
        "taken": round(row["iterations, ours"]),
        "stated": texts[1],
        "mean": mean,
        "printed_mean": printed,
        "difference": row["difference, %"],
        "grids": grids,
        "reach": 0.5 * 10.0 ** (math.floor(math.log10(printed)) - 2) + grids / 100.0 * mean,
    }


PAPER = Paper(
    name="shi-rojas",
    citation="Y. Shi, C. R. Rojas, Efficient simulation of singularly perturbed systems using a stabilized "
    "multirate explicit scheme (edition with tables)",
    parts={
        "reference": lambda r: {"reference": runs.exact()},
        "Table I": lambda r: dict(
            zip(("runs", "euler", "table"), runs.table_one(r.reference), strict=True),
        ),
        "numbers of micro steps": lambda r: {"micro": runs.micro_table()},
        "base methods": lambda r: {
            "order": runs.order_table(r.reference),
            "printed_start": runs.square_error(runs.smfe(0.2, 70, y=0.0, z=1.0), runs.exact(y=0.0, z=1.0)),
            "naive": {base: runs.naive_runge_kutta(base) for base in ("RK2", "RK4")},
            "distances": runs.distances(r.runs),
        },
    },
    tables=lambda r: {
        "Table I: iterations and mean square error": r.table,
        "Smallest stable N by condition (14)": r.micro,
        "Error at t = 5 s by base method": r.order,
    },
    figures={
        "Trajectories and errors (figure 2)": ("shi-trajectories.svg", trajectories),
        "y-z plane (figure 3)": ("shi-plane.svg", plane),
    },
    numbers=numbers,
)
