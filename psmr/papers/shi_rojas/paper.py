"""The paper: example (22), Table I, figures 2 and 3, the claims of sections IV to VIII, their numbers.

Adaptive control of an unstable plant with a parasitic lag, (22), is from Kokotovic, Khalil and O'Reilly,
Singular Perturbation Methods in Control, there with the stability proof of Narendra, Lin and Valavani (1980).
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from psmr.base.arrays import Reals
from psmr.dae.declare.component import Component, Parameter, positive
from psmr.dae.declare.device import Device
from psmr.dae.system.assemble import assemble
from psmr.dae.system.system import System
from psmr.figures.chart import COLOURS, FAINT, INK
from psmr.figures.with_matplotlib import new_figure
from psmr.integrate.run.integrate import integrate
from psmr.integrate.run.trajectory import Trajectory
from psmr.integrate.schemes.one_step import SingleRate
from psmr.integrate.tableaux import EXPLICIT
from psmr.papers.catalogue import Paper, Results
from psmr.papers.shi_rojas.smes import Smes, smallest_micro

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class AdaptiveControl(Component):
    """Plant y, adjustable gain k, and an actuator z that lags the control -k y by epsilon."""

    states = ("y", "k", "z")
    a = Parameter(unit="1/s", doc="pole of the plant", default=-1.0)
    epsilon = Parameter(unit="s", doc="time constant of the actuator", check=positive)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> Any:
        """Return the right-hand sides of (22)."""
        return (p.a * v.y + v.z, v.y**2, (-v.z - v.k * v.y) / p.epsilon), (), ()


class ReducedControl(Component):
    """The same with epsilon = 0, where the actuator is an algebraic equation: system (23)."""

    states = ("y", "k")
    algebraic = ("z",)
    a = Parameter(unit="1/s", doc="pole of the plant", default=-1.0)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> Any:
        """Return the right-hand sides of (23)."""
        return (p.a * v.y + v.z, v.y**2), (v.z + v.k * v.y,), ()


def adaptive_control(epsilon: float = 1e-6, y: float = 1.0, k: float = 0.0, z: float = 0.0) -> System:
    """Return system (22) from the given start; epsilon in s."""
    device = Device("control", AdaptiveControl, {"epsilon": epsilon})
    return assemble([device], {"control.y": y, "control.k": k, "control.z": z}, "adaptive control (22)")


def reduced_control(y: float = 1.0, k: float = 0.0) -> System:
    """Return system (23), the limit of (22) for epsilon = 0, as a DAE."""
    device = Device("control", ReducedControl, {})
    return assemble([device], {"control.y": y, "control.k": k, "control.z": -k * y}, "adaptive control (23)")


Reference = Callable[[Reals], Reals]
"""Solution of high accuracy, (K,) times in s -> (3, K)."""
Case = tuple[float, int]
"""Delta in s and N."""
Points = tuple[Reals, Reals]
"""(K,) times in s and (K, 3) states."""

EPSILON, T_END = 1e-6, 5.0
# Table I: iterations as printed, mean square error as printed.
TABLE_I: Mapping[Case, tuple[str, str]] = {
    (0.2, 70): ("1.78e3", "8.29e-4"),
    (0.2, 140): ("3.53e3", "8.26e-4"),
    (0.2, 1120): ("2.80e4", "8.25e-4"),
    (0.1, 140): ("7.05e3", "1.97e-4"),
    (0.1, 1120): ("5.60e4", "1.96e-4"),
    (0.01, 1120): ("5.61e5", "1.89e-6"),
}
FORWARD_EULER = ("5.00e6", "1.90e-14")
DRAWN: tuple[Case, ...] = ((0.2, 70), (0.1, 140), (0.01, 1120))  # in figures 2 and 3
# The paper does not say on which grid the mean is taken; others move it (last columns of the table).
GRID, OTHER_GRIDS = 50_001, (1_001, 2_001, 5_001, 10_001, 500_001)
STEPS = (0.01, 0.1, 0.2, 0.5, 1.0, 1.5)
# Forward Euler goes in parts, so that five million points are never in memory at once; some are kept.
PARTS, KEPT = 10, 2_500


def field(w: Reals) -> Reals:
    """Return the right-hand side of (22)."""
    return np.array([-w[0] + w[2], w[0] ** 2, (-w[2] - w[1] * w[0]) / EPSILON])


def exact(y: float = 1.0, z: float = 0.0) -> Reference:
    """Return the solution of (22), by scipy's Radau at a relative tolerance of 1e-12."""
    from scipy.integrate import solve_ivp

    def jacobian(t: float, w: Reals) -> Reals:
        return np.array([[-1, 0, 1], [2 * w[0], 0, 0], [-w[1] / EPSILON, -w[0] / EPSILON, -1 / EPSILON]])

    tight = {"rtol": 1e-12, "atol": 1e-15, "jac": jacobian, "dense_output": True}
    solution: Reference = solve_ivp(lambda t, w: field(w), (0.0, T_END), [y, 0.0, z], "Radau", **tight).sol
    return solution


def smfe(h: float, micro: int, every: bool = True, y: float = 1.0, z: float = 0.0) -> Trajectory:
    """Return the run of SMFE(Delta, N) with the paper's micro step epsilon * Delta."""
    return integrate(adaptive_control(EPSILON, y=y, z=z), Smes(h, EPSILON * h, micro), T_END, every=every)


def square_error(run: Trajectory, reference: Reference, points: int | None = GRID) -> float:
    """Return MSE(y) + MSE(z), the run interpolated linearly onto uniform times; None: at its own."""
    grid = run.t if points is None else np.linspace(0.0, T_END, points)
    wanted = reference(grid)
    return float(sum(((np.interp(grid, run.t, run.x[:, i]) - wanted[i]) ** 2).mean() for i in (0, 2)))


def reduced(h: float) -> Trajectory:
    """Return forward Euler on the reduced system (23), as in figure 3."""
    return integrate(reduced_control(), SingleRate("FEM", h), T_END)


def distances(runs: Mapping[Case, Trajectory]) -> dict[float, float]:
    """Return the largest distance in y of SMFE, after its micro steps, to forward Euler on (23), by Delta."""
    found = {}
    for h, micro in DRAWN:
        run, euler, settled = runs[h, micro], reduced(h), slice(micro, None, micro + 1)
        there = np.interp(run.t[settled], euler.t, euler.x[:, 0])
        found[h] = float(np.abs(run.x[settled, 0] - there).max())
    return found


def table_one(reference: Reference) -> tuple[dict[Case, Trajectory], Points, pd.DataFrame]:
    """Return the runs with every micro point, forward Euler thinned for figure 2, and Table I with ours.

    The last columns are by how much another uniform grid of 1,001 to 500,001 times moves the mean, and the
    mean over the run's own points.
    """
    euler, first = forward_euler(reference)
    runs, rows = {}, [first]
    smfe(*min(TABLE_I))  # compiles
    for (h, micro), texts in TABLE_I.items():
        run = runs[h, micro] = smfe(h, micro)
        began = time.perf_counter()
        smfe(h, micro, every=False)
        seconds = time.perf_counter() - began
        mean = square_error(run, reference)
        moved = max(abs(square_error(run, reference, points) / mean - 1.0) for points in OTHER_GRIDS)
        row = _row(f"SMFE({h:g}, {micro})", texts, run.counters.residuals["step"], mean, seconds)
        own = square_error(run, reference, None)
        rows.append(row | {"other grids, %": 100.0 * moved, "MSE, own points": own})
    return runs, euler, pd.DataFrame(rows)


def _row(method: str, texts: tuple[str, str], count: int, error: float, seconds: float) -> dict[str, object]:
    iterations, stated = map(float, texts)
    return {
        "method": method,
        "iterations, paper": iterations,
        "iterations, ours": count,
        "MSE, paper": stated,
        "MSE, ours": error,
        "difference, %": 100 * (error / stated - 1),
        "seconds": seconds,
    }


def forward_euler(reference: Reference) -> tuple[Points, dict[str, object]]:
    """Return the thinned points and the first row: forward Euler with the step epsilon."""
    system = adaptive_control(EPSILON)
    part, state, total, iterations, seconds = T_END / PARTS, system.x0, 0.0, 0, 0.0
    t, x = [np.zeros(1)], [system.x0[None, :]]
    for k, times in enumerate(np.array_split(np.linspace(0.0, T_END, GRID), PARTS)):
        run = integrate(system, SingleRate("FEM", EPSILON), part, start=(state, []))
        wanted = reference(times)
        # The system does not depend on time, so that each part starts its own clock.
        ours = [np.interp(times - k * part, run.t, run.x[:, i]) for i in (0, 2)]
        total += sum(float(((y - wanted[i]) ** 2).sum()) for y, i in zip(ours, (0, 2), strict=True))
        iterations, seconds = iterations + run.counters.steps, seconds + run.counters.seconds
        state = run.x[-1].copy()
        t.append(k * part + run.t[KEPT::KEPT])
        x.append(run.x[KEPT::KEPT].copy())
    row = _row("Forward Euler", FORWARD_EULER, iterations, total / GRID, seconds)
    return (np.concatenate(t), np.concatenate(x)), row


def micro_table() -> pd.DataFrame:
    """Return the smallest N for several Delta: by (17), and by (14) for two choices of delta."""
    fast, slow = -1.0 / EPSILON, -1.0
    rows = []
    for h in STEPS:
        scaled = h * EPSILON * fast
        estimate = np.nan if scaled == -1.0 else -math.log(h / EPSILON) / math.log(abs(1.0 + scaled))
        steps = {"delta = epsilon Delta": EPSILON * h, "delta = epsilon": EPSILON}
        least = {f"(14), {name}": smallest_micro([fast, slow], h, step) for name, step in steps.items()}
        rows.append({"Delta": h, "(17)": estimate} | least)
    return pd.DataFrame(rows)


def order_table(reference: Reference) -> pd.DataFrame:
    """Return the error of y at the end by base method and macro step, and the order between two steps."""
    wanted, rows = reference(np.array([T_END]))[0, 0], []
    pairs = itertools.product(("RK2", "RK4"), ("macro", "settled"))
    for base, nodes in (("FEM", "macro"), *pairs):
        last = np.nan
        for h in (0.2, 0.1, 0.05, 0.025, 0.0125):
            run = integrate(adaptive_control(EPSILON), Smes(h, 0.9 * EPSILON, 7, base, nodes=nodes), T_END)
            error, count = abs(float(run.x[-1, 0]) - wanted), run.counters.residuals["step"]
            rows.append((base, nodes, h, count, error, math.log2(last / error)))
            last = error
    return pd.DataFrame(rows, columns=["base", "nodes", "Delta", "evaluations", "error of y", "order"])


def naive_runge_kutta(base: str, h: float = 0.2, micro: int = 480) -> float:
    """Return the largest magnitude reached where both the micro steps and the long step are those of `base`.

    480 micro steps are many times what condition (14) asks of the stability polynomial.
    """
    tableau, state, largest = EXPLICIT[base], adaptive_control(EPSILON).x0, 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(round(T_END / h)):
            for step, count in ((EPSILON * h, micro), (h - micro * EPSILON * h, 1)):
                for _ in range(count):
                    rates = np.zeros((tableau.stages, 3))
                    for i in range(tableau.stages):
                        rates[i] = field(state + step * tableau.A[i, :i] @ rates[:i])
                    state = state + step * tableau.b @ rates
                largest = max(largest, float(np.abs(state).max()))
                if not math.isfinite(largest):
                    return math.inf
    return largest


PLACES = (0, 2)  # of y and z among the states


def trajectories(r: Results) -> Figure:
    """Draw y, z and their errors over time: three runs of Table I, forward Euler and the reference."""
    t = np.linspace(0.0, T_END, 2001)
    exact = r.reference(t)
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
    listed = [_claimed(row, texts) for row, texts in zip(rows, TABLE_I.values(), strict=True)]
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


def _claimed(row: dict[str, Any], texts: tuple[str, str]) -> dict[str, Any]:
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
        "reference": lambda r: {"reference": exact()},
        "Table I": lambda r: dict(zip(("runs", "euler", "table"), table_one(r.reference), strict=True)),
        "numbers of micro steps": lambda r: {"micro": micro_table()},
        "base methods": lambda r: {
            "order": order_table(r.reference),
            "printed_start": square_error(smfe(0.2, 70, y=0.0, z=1.0), exact(y=0.0, z=1.0)),
            "naive": {base: naive_runge_kutta(base) for base in ("RK2", "RK4")},
            "distances": distances(r.runs),
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
