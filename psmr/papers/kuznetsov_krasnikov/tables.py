"""The tables of Kuznetsov and Krasnikov: Table 1, and the work on Edsberg's and van der Pol's problems."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from psmr.numerics.run.integrate import integrate
from psmr.numerics.run.trajectory import Trajectory
from psmr.numerics.schemes.adaptive import Adaptive
from psmr.numerics.schemes.arc_length import ArcLength
from psmr.numerics.schemes.single_rate import SingleRate
from psmr.papers.kuznetsov_krasnikov.evidence import FARTHER, TABLE_1, Work
from psmr.papers.systems import boundary_layer as layer
from psmr.papers.systems import edsberg
from psmr.papers.systems.van_der_pol import van_der_pol

Reals = NDArray[np.float64]
Field = Callable[[float, Reals], Reals]

# Van der Pol, example 2: end in s, tolerances, and the longest step along the arc (unit: that of y2 and of t
# together).
VDP_END, TOLERANCES, LONGEST = 0.01, (1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8), 1.0
# Example 1: end in s and accuracy.
EDSBERG_END, EDSBERG_TOLERANCE = 1.0, 1e-10
# The comparison with VODE gives up here; nothing needs half as many.
MOST_CALLS = 300_000


def table_one() -> tuple[dict[tuple[str, float], Trajectory], pd.DataFrame]:
    """Return the runs and Table 1: largest error over the steps, steps, share of steps that turned back."""
    runs, rows = {}, []
    for method, h, printed, steps in TABLE_1:
        scheme = ArcLength("FEM", h) if method == "BP" else SingleRate("FEM", h)
        run = runs[method, h] = integrate(layer.boundary_layer(), scheme, 1.0)
        error = float(np.abs(run.x[:, 0] - layer.exact(run.t)).max())
        rows.append(
            {
                "method": method,
                "h": h,
                "error, paper": printed,
                "error, ours": error,
                "steps, paper": steps,
                "steps, ours": run.counters.steps,
                "turned back": run.counters.chatter if method == "BP" else np.nan,
            }
        )
    return runs, pd.DataFrame(rows)


def van_der_pol_table() -> pd.DataFrame:
    """Return evaluations along time and along the arc by tolerance, of three programs."""
    wanted, field = _van_der_pol_exact(), _van_der_pol_field
    rows: list[dict[str, Any]] = []
    for tolerance in TOLERANCES:
        for name in ("Adams", "RK54"):
            method = Adaptive(name, tolerance, tolerance, tolerance=min(tolerance, 1e-10))
            plain, arc = (integrate(van_der_pol(), s, VDP_END) for s in (method, ArcLength(method, LONGEST)))
            work = [run.counters.residuals["step"] for run in (plain, arc)]
            errors = [float(np.abs(run.x[-1] - wanted).max()) for run in (plain, arc)]
            rows.append(_ratio(f"psmr {name}", tolerance, work, errors, arc.counters.chatter))
        plain_work, plain_error = _vode(field, [2.0, -0.66], tolerance, wanted, arc=False)
        arc_work, arc_error = _vode(_along_arc(field), [2.0, -0.66, 0.0], tolerance, wanted, arc=True)
        rows.append(
            _ratio("scipy VODE-Adams", tolerance, [plain_work, arc_work], [plain_error, arc_error], np.nan)
        )
    return pd.DataFrame(rows).sort_values(["method", "tolerance"], ascending=[True, False], ignore_index=True)


def farther() -> tuple[Trajectory, Trajectory]:
    """Return runs of van der Pol's equation to t = 0.05 s, along time and along the arc."""
    method = Adaptive("Adams", 1e-4, 1e-4)
    return integrate(van_der_pol(), method, FARTHER), integrate(
        van_der_pol(), ArcLength(method, LONGEST), FARTHER
    )


def multipliers() -> dict[float, float]:
    """Return by h what a step of Euler along the arc multiplies a small deviation with, example 3 at t = 1 s.

    Near x = 2.5 the right-hand side is small and dλ = dt, so that the step is Euler's with s = -(1 + t) / ε.
    """
    return {h: 1.0 - 2.0 * h / layer.EPSILON for method, h, _, _ in TABLE_1 if method == "BP"}


def time_and_step(tolerance: float = 1e-4, runs: int = 5) -> Work:
    """Return time and mean step along time over those along the arc: van der Pol, Adams, runs in turn."""
    method = Adaptive("Adams", tolerance, tolerance, tolerance=1e-10)
    schemes: dict[str, Adaptive | ArcLength] = {"time": method, "arc": ArcLength(method, LONGEST)}
    seconds: dict[str, list[float]] = {name: [] for name in schemes}
    steps = {}
    for _ in range(runs):
        for name, scheme in schemes.items():
            run = integrate(van_der_pol(), scheme, VDP_END)
            seconds[name].append(run.counters.seconds)
            steps[name] = run.counters.steps
    return Work(
        tolerance=tolerance,
        time_ratio=float(np.median(seconds["time"]) / np.median(seconds["arc"])),
        step_ratio=steps["time"] / steps["arc"],
    )


def _ratio(
    name: str, tolerance: float, work: list[int], errors: list[float], chatter: float
) -> dict[str, Any]:
    return {
        "method": name,
        "tolerance": tolerance,
        "evaluations, time": work[0],
        "evaluations, arc": work[1],
        "ratio": work[0] / work[1],
        "error, time": errors[0],
        "error, arc": errors[1],
        "turned back": chatter,
    }


def edsberg_table() -> pd.DataFrame:
    """Return evaluations of example 1 along time and along the arc at the paper's accuracy."""
    rows = []
    wanted = float(edsberg.exact(EDSBERG_END))
    for name in ("Adams", "RK54"):
        method = Adaptive(name, EDSBERG_TOLERANCE, EDSBERG_TOLERANCE)
        plain, arc = (
            integrate(edsberg.edsberg(), s, EDSBERG_END) for s in (method, ArcLength(method, LONGEST))
        )
        work = [run.counters.residuals["step"] for run in (plain, arc)]
        errors = [abs(float(run.x[-1, 0]) - wanted) for run in (plain, arc)]
        rows.append(_ratio(f"psmr {name}", EDSBERG_TOLERANCE, work, errors, arc.counters.chatter))
    return pd.DataFrame(rows)


def _van_der_pol_field(t: float, y: Reals) -> Reals:
    return np.array([y[1], ((1.0 - y[0] ** 2) * y[1] - y[0]) / 1e-6])


def _van_der_pol_exact() -> Reals:
    """Return (y1, y2) at the end, by scipy's Radau at a relative tolerance of 1e-12."""
    from scipy.integrate import solve_ivp

    found = solve_ivp(
        _van_der_pol_field,
        (0.0, VDP_END),
        [2.0, -0.66],
        method="Radau",
        rtol=1e-12,
        atol=1e-13,
        t_eval=[VDP_END],
    )
    return np.asarray(found.y[:, -1])


def _along_arc(field: Field) -> Field:
    """Return the field (13): states and time over the arc length."""

    def transformed(s: float, z: Reals) -> Reals:
        rate = np.append(field(float(z[-1]), z[:-1]), 1.0)
        return np.asarray(rate / np.sqrt(rate @ rate))

    return transformed


def _vode(field: Field, start: list[float], tolerance: float, wanted: Reals, arc: bool) -> tuple[int, float]:
    """Return (evaluations until t >= 0.01 s, error there) of VODE's Adams formulas with functional iteration.

    Its last step may pass the end; the error is then taken by linear interpolation of the last step.
    """
    from scipy.integrate import ode

    calls = [0]

    def counted(s: float, z: Reals) -> Reals:
        calls[0] += 1
        return field(s, z)

    solver = ode(counted).set_integrator(
        "vode",
        method="adams",
        with_jacobian=False,
        rtol=tolerance,
        atol=tolerance,
        nsteps=1,
        max_step=LONGEST,
    )
    solver.set_initial_value(start, 0.0)

    def point() -> tuple[float, Reals]:
        return (float(solver.y[-1]), solver.y[:-1].copy()) if arc else (float(solver.t), solver.y.copy())

    before = now = point()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # one step at a time, VODE warns that one step was not enough
        while now[0] < VDP_END and calls[0] < MOST_CALLS:
            solver.integrate(1e6 if arc else VDP_END, step=True)
            before, now = now, point()
    share = (VDP_END - before[0]) / (now[0] - before[0])
    end = before[1] + share * (now[1] - before[1])
    return calls[0], float(np.abs(end - wanted).max())
