"""The paper: Table 1, examples 1 to 3, what it says of limit points, figures, the numbers of its claims."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from psmr.figures.chart import COLOURS, FAINT, INK
from psmr.figures.with_matplotlib import new_figure
from psmr.papers.catalogue import Paper, Results
from psmr.papers.kuznetsov_krasnikov import runs
from psmr.papers.kuznetsov_krasnikov.runs import EPSILON, EXACT_END, TABLE_1, layer_exact

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def example_three(r: Results) -> Figure:
    """Draw the boundary layer of example 3 by both methods, and the chatter beyond it."""
    t = np.linspace(0.0, 0.03, 1501)
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


OVERFLOW = (
    "Finite, since there are only 200 steps: each multiplies the error by up to 1 - h (1 + t)/ε = -2.2."
)
CUT = "The paper cuts digits off, it does not round."


def numbers(r: Results) -> dict[str, Any]:
    """Return the numbers by their names in ``claims.toml``."""
    more, t = r.conditions[:, 1] / r.conditions[:, 0], np.linspace(0.0, 1.0, 20_001)
    multiplier = r.multipliers[0.2]
    return {
        "least_condition": more.min(),
        "median_condition": np.median(more),
        "largest_condition": more.max(),
        "circle": r.transformed,
        "free": r.homogeneous,
        "edsberg": r.edsberg.set_index("method")["ratio"].to_dict(),
        **_saved(r.van_der_pol),
        "work": r.work,
        "end": r.end,
        "end_x": r.end.x[-1],
        "end_time": float(r.end.t[-1]),
        "end_error": float(np.abs(r.end.x[-1] - EXACT_END).max()),
        "exact_end": EXACT_END,
        "farther": r.farther,
        "reached": r.farther[0].t[-1],
        "apart": float(np.abs(_second_order(t) - layer_exact(t)).max()),
        "errors": [float(error) for error in r.table["error, ours"]],
        "table": [_row(*both) for both in zip(TABLE_1, r.table.to_dict("records"), strict=True)],
        "turned": float(r.table["turned back"][0]),
        "multiplier": multiplier,
        "multiplier_size": abs(multiplier),
    }


def _saved(table: pd.DataFrame) -> dict[str, Any]:
    """Return what the arc saves of van der Pol's evaluations, by program and tolerance."""

    def of(method: str, column: str = "ratio") -> dict[float, float]:
        rows = table[table["method"] == method]
        return dict(zip(rows["tolerance"], rows[column], strict=True))

    ours, vode = of("psmr Adams"), of("scipy VODE-Adams")
    return {
        "adams": [f"{t:.0e}: {n:.1f}" for t, n in ours.items()],
        "vode": [f"{t:.0e}: {n:.1f}" for t, n in vode.items()],
        "ours_best": max(ours.values()),
        "vode_best": max(vode.values()),
        "saved": max((*vode.values(), *ours.values())),
        "tight": [vode[1e-7], vode[1e-8], ours[1e-7], ours[1e-8]],
        "time": of("psmr Adams", "evaluations, time")[1e-4],
        "arc": of("psmr Adams", "evaluations, arc")[1e-4],
    }


def _row(stated: tuple[str, float, str, int], row: dict[Any, Any]) -> dict[str, Any]:
    """Return a row of Table 1; it is held against digits, or against an error that has none."""
    method, h, printed, steps = stated
    endless = printed == "∞"
    found = {"error": float(row["error, ours"]), "taken": int(row["steps, ours"]), "note": CUT}
    found |= {"method": method, "h": h, "printed": printed, "steps": steps}
    return found | (
        {"finite": [], "endless": [{}], "note": OVERFLOW} if endless else {"finite": [{}], "endless": []}
    )


def _second_order(t: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return x of the equation of example 3 as printed, from x = -1, x' = 0."""
    from scipy.integrate import solve_ivp

    def field(time: float, w: NDArray[np.float64]) -> list[float]:
        return [w[1], (1.0 + time) * (2.5 - w[0]) / EPSILON]

    solved = solve_ivp(field, (0.0, 1.0), [-1.0, 0.0], "DOP853", rtol=1e-10, atol=1e-12, t_eval=t)
    return np.asarray(solved.y[0])


PAPER = Paper(
    name="kuznetsov-krasnikov",
    citation="E. B. Kuznetsov, S. D. Krasnikov, To numerical solution of singular perturbed equations "
    "transformed to the best argument, ICCS 2003, LNCS 2658, pp. 500-506",
    parts={
        "Table 1": lambda r: dict(zip(("runs", "table"), runs.table_one(), strict=True)),
        "Edsberg": lambda r: {"edsberg": runs.edsberg_table()},
        "van der Pol to 0.01 s": lambda r: {
            "van_der_pol": runs.van_der_pol_table(),
            "work": runs.time_and_step(),
        },
        "van der Pol to 2 s": lambda r: {"end": runs.to_the_end()},
        "limit points, conditions": lambda r: {
            "farther": runs.farther(),
            "multipliers": runs.multipliers(),
            "transformed": runs.limit_point(homogeneous=False),
            "homogeneous": runs.limit_point(homogeneous=True),
            "conditions": runs.conditions(),
        },
    },
    tables=lambda r: {
        "Table 1: example 3, Euler along time (E) and along the arc (BP)": r.table,
        "Van der Pol, evaluations to t = 0.01 s": r.van_der_pol,
        "Edsberg, evaluations to t = 1 s": r.edsberg,
        "Claims beyond the tables: conditions, limit points, long runs": runs.claims_table(r),
    },
    figures={
        "Example 3: boundary layer and chatter": ("kuznetsov-layer.svg", example_three),
        "Van der Pol: where the gain ends": ("kuznetsov-gain.svg", gain),
    },
    numbers=numbers,
)
