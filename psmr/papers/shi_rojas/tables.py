"""The tables of Shi and Rojas: Table I, the smallest numbers of micro steps, the order of base methods."""

from __future__ import annotations

import math
import time

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from psmr.errors import SimulationError
from psmr.numerics.run.integrate import integrate
from psmr.numerics.run.trajectory import Trajectory
from psmr.numerics.schemes.single_rate import SingleRate
from psmr.numerics.schemes.smes import Smes
from psmr.numerics.schemes.smes_search import smallest_micro
from psmr.papers.shi_rojas.evidence import (
    EPSILON,
    GRID,
    T_END,
    Euler,
    Reference,
    exact,
    own_error,
    smfe,
    square_error,
)
from psmr.papers.systems.adaptive_control import adaptive_control

Reals = NDArray[np.float64]

# Table I: (Delta, N), iterations as printed, mean square error as printed.
TABLE_I = {
    (0.2, 70): ("1.78e3", "8.29e-4"),
    (0.2, 140): ("3.53e3", "8.26e-4"),
    (0.2, 1120): ("2.80e4", "8.25e-4"),
    (0.1, 140): ("7.05e3", "1.97e-4"),
    (0.1, 1120): ("5.60e4", "1.96e-4"),
    (0.01, 1120): ("5.61e5", "1.89e-6"),
}
FORWARD_EULER = ("5.00e6", "1.90e-14")

# Grids of the mean beside `GRID`.
OTHER_GRIDS = (1_001, 2_001, 5_001, 10_001, 500_001)

STEPS = (0.01, 0.1, 0.2, 0.5, 1.0, 1.5)
# The run of forward Euler goes in parts, so that five million points are never in memory at once.
PARTS = 10
# Of them every so many points are kept, for figure 2.
KEPT = 2_500


def table_one(
    reference: Reference,
) -> tuple[dict[tuple[float, int], Trajectory], Euler, pd.DataFrame]:
    """Return the runs, forward Euler's trace, and Table I, ours beside the paper's.

    The last columns are by how much another uniform grid of 1,001 to 500,001 times moves the mean, and the
    mean over the run's own points.
    """
    euler, first = forward_euler(reference)
    runs, rows = {}, [first]
    smfe(*min(TABLE_I))  # compiles
    for (h, micro), (iterations, error) in TABLE_I.items():
        run = runs[h, micro] = smfe(h, micro)
        began = time.perf_counter()
        smfe(h, micro, every=False)
        seconds = time.perf_counter() - began
        mean = square_error(run, reference)
        moved = max(abs(square_error(run, reference, points) / mean - 1.0) for points in OTHER_GRIDS)
        rows.append(
            _row(
                f"SMFE({h:g}, {micro})",
                float(iterations),
                run.counters.residuals["step"],
                float(error),
                mean,
                seconds,
            )
            | {"other grids, %": 100.0 * moved, "MSE, own points": own_error(run, reference)}
        )
    return runs, euler, pd.DataFrame(rows)


def _row(
    method: str, printed: float, iterations: int, printed_error: float, error: float, seconds: float
) -> dict[str, object]:
    return {
        "method": method,
        "iterations, paper": printed,
        "iterations, ours": iterations,
        "MSE, paper": printed_error,
        "MSE, ours": error,
        "difference, %": 100 * (error / printed_error - 1),
        "seconds": seconds,
    }


def forward_euler(reference: Reference) -> tuple[Euler, dict[str, object]]:
    """Return the trace and the first row: forward Euler with the step epsilon."""
    system = adaptive_control(EPSILON)
    part, state, total, iterations, seconds = T_END / PARTS, system.x0, 0.0, 0, 0.0
    grid = np.linspace(0.0, T_END, GRID)
    inside = np.array_split(grid, PARTS)
    t, x = [np.zeros(1)], [system.x0[None, :]]
    for k in range(PARTS):
        run = integrate(system, SingleRate("FEM", EPSILON), part, start=(state, []))
        here = inside[k]
        wanted = reference(here)
        # The system does not depend on time, so that each part starts its own clock.
        total += sum(
            float(((np.interp(here - k * part, run.t, run.x[:, i]) - wanted[i]) ** 2).sum()) for i in (0, 2)
        )
        iterations, seconds = iterations + run.counters.steps, seconds + run.counters.seconds
        state = run.x[-1].copy()
        t.append(k * part + run.t[KEPT::KEPT])
        x.append(run.x[KEPT::KEPT].copy())
    row = _row(
        "Forward Euler",
        float(FORWARD_EULER[0]),
        iterations,
        float(FORWARD_EULER[1]),
        total / GRID,
        seconds,
    )
    return Euler(np.concatenate(t), np.concatenate(x)), row


def micro_table() -> pd.DataFrame:
    """Return the smallest N for several Delta: by (17), and by (14) for two choices of delta."""
    fast, slow = -1.0 / EPSILON, -1.0
    rows = []
    for h in STEPS:
        scaled = h * EPSILON * fast
        estimate = np.nan if scaled == -1.0 else -math.log(h / EPSILON) / math.log(abs(1.0 + scaled))
        rows.append(
            {
                "Delta": h,
                "(17)": estimate,
                "(14), delta = epsilon Delta": smallest_micro([fast, slow], h, EPSILON * h),
                "(14), delta = epsilon": smallest_micro([fast, slow], h, EPSILON),
            }
        )
    return pd.DataFrame(rows)


def order_table(reference: Reference) -> pd.DataFrame:
    """Return the error of y at the end by base method and macro step, and the order between two steps."""
    wanted, rows = reference(np.array([T_END]))[0, 0], []
    for base, nodes in (
        ("FEM", "macro"),
        ("RK2", "macro"),
        ("RK2", "settled"),
        ("RK4", "macro"),
        ("RK4", "settled"),
    ):
        last = np.nan
        for h in (0.2, 0.1, 0.05, 0.025, 0.0125):
            run = integrate(adaptive_control(EPSILON), Smes(h, 0.9 * EPSILON, 7, base, nodes=nodes), T_END)
            error = abs(float(run.x[-1, 0]) - wanted)
            rows.append(
                {
                    "base": base,
                    "nodes": nodes,
                    "Delta": h,
                    "evaluations": run.counters.residuals["step"],
                    "error of y": error,
                    "order": math.log2(last / error),
                }
            )
            last = error
    return pd.DataFrame(rows)


def naive_runge_kutta(base: str, h: float = 0.2, micro: int = 480) -> float:
    """Return the largest magnitude reached where both the micro steps and the long step are those of `base`.

    480 micro steps are many times what condition (14) asks of the stability polynomial.
    """
    system, largest = adaptive_control(EPSILON), 0.0
    state = system.x0
    for _ in range(round(T_END / h)):
        for step, count in ((EPSILON * h, micro), (h - micro * EPSILON * h, 1)):
            try:
                state = _plain(system, base, step, count, state)
            except SimulationError:
                return math.inf
            largest = max(largest, float(np.abs(state).max()))
            if not math.isfinite(largest):
                return math.inf
    return largest


def _plain(system: object, base: str, step: float, count: int, state: Reals) -> Reals:
    """Take `count` plain Runge-Kutta steps on (22)."""
    from psmr.numerics.schemes.runge_kutta import EXPLICIT

    tableau = EXPLICIT[base]

    def f(w: Reals) -> Reals:
        return np.array([-w[0] + w[2], w[0] ** 2, (-w[2] - w[1] * w[0]) / EPSILON])

    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(count):
            rates = np.zeros((tableau.stages, 3))
            for i in range(tableau.stages):
                rates[i] = f(state + step * tableau.A[i, :i] @ rates[:i])
            state = state + step * tableau.b @ rates
    return state


def printed_start() -> float:
    """Return the mean square error of SMFE(0.2, 70) from the start as printed, [0, 0, 1]."""
    return square_error(smfe(0.2, 70, y=0.0, z=1.0), exact(y=0.0, z=1.0))
