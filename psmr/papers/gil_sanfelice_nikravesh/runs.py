"""Stability limits and local errors on the linear test equation, and the pendulum by each method."""

from __future__ import annotations

import functools
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import scipy.linalg

import partitioning
from psmr.base.arrays import Reals
from psmr.integrate.run.integrate import integrate
from psmr.integrate.schemes.one_step import SingleRate
from psmr.papers.gil_sanfelice_nikravesh import formulas, pendulum
from psmr.papers.gil_sanfelice_nikravesh import linear_two_scales as two_scales
from psmr.papers.gil_sanfelice_nikravesh.slow_manifold import SlowManifold
from psmr.pencil.operator.step_operator import step_operator

# Figures 2 and 3: rays of the left half plane on which the extent of the region is given.
RAYS = (180, 150, 120, 100, 95)
STABILITY_PAIRS = ((10, 0.1), (100, 0.1), (1000, 0.1), (10, 0.0), (10, 0.3), (10, 0.5))
# Figures 4 and 5.
STEPS = 10.0 ** np.arange(-5.0, -0.9, 0.25)
ERROR_PAIRS = ((10, 0.1), (100, 0.1), (1000, 0.1), (10, 0.01), (10, 0.3))
# Figures 7 and 8; the paper gives h. The text has no start and no end: a bar at π/4 and at rest, over 5 s, is
# assumed here (see the finding).
H, T_END = 0.005, 5.0
OTHER_ANGLES = (np.pi / 6, np.pi / 2)
# Of the reference: four decades below the errors that are measured with it; steps of at most a fifth of the
# fast period.
TIGHT: dict[str, Any] = {"rtol": 1e-11, "atol": 1e-13, "max_step": 2e-3}


def stability_table() -> pd.DataFrame:
    """Return |ξ| at the end of stability along `RAYS`, for the algorithm and the printed formulas."""

    def alone(alpha: float, beta: float, xi: Any) -> Any:
        return np.asarray(formulas.rk4(xi))[..., None, None] * np.eye(2)

    def row(kind: str, formula: Any, alpha: float, beta: float) -> dict[str, Any]:
        limits = {f"{ray} deg": formulas.stability_limit(formula, alpha, beta, ray) for ray in RAYS}
        return {"formula": kind, "alpha": alpha, "beta": beta} | limits

    kinds: dict[str, Any] = {
        "algorithm": formulas.algorithm,
        "(55), (56) as printed": formulas.printed_55_56,
        "(57) as printed": formulas.printed_57,
    }
    rows = [row("RK4, (49)", alone, 1.0, 0.0) | {"alpha": np.nan, "beta": np.nan}]
    rows += [row(kind, formula, *pair) for kind, formula in kinds.items() for pair in STABILITY_PAIRS]
    return pd.DataFrame(rows).round(6)


def local_errors() -> pd.DataFrame:
    """Return the local errors (61) of x and z over `STEPS`, by step operator of the scheme and of RK4.

    λ_s = -1 + j, x(0) = z(0) = 1, as in (62).
    """
    rows = []
    for alpha, beta in ERROR_PAIRS:
        system = two_scales.linear_two_scales(alpha, beta)
        linear = system.linearise()
        split = partitioning.by_hand(linear, fast=two_scales.FAST)
        A, one = linear.state_matrix(), np.eye(linear.n)
        for h in map(float, STEPS):
            hA, exact = h * A, scipy.linalg.expm(A * h) @ system.x0
            ours = step_operator(linear, SlowManifold(split, h))[: linear.n, : linear.n] @ system.x0
            rk4 = one + hA @ (one + hA @ (one + hA @ (one + hA / 4) / 3) / 2)  # (49) of a matrix
            row: dict[str, float] = {"alpha": alpha, "beta": beta, "h": h}
            for name, w in (("scheme", ours), ("RK4", rk4 @ system.x0)):
                row[f"x, {name}"] = float(np.hypot(*(w - exact)[:2]))
                row[f"z, {name}"] = float(np.hypot(*(w - exact)[2:]))
            rows.append(row)
    return pd.DataFrame(rows)


def slope_table(errors: pd.DataFrame) -> pd.DataFrame:
    """Return the slopes of the local errors where α|ξ| < 0.03 and where it is > 30; NaN without such h."""
    rows = []
    for alpha, beta in ERROR_PAIRS:
        part = errors[(errors["alpha"] == alpha) & (errors["beta"] == beta)]
        size = alpha * part["h"] * np.sqrt(2.0)  # |λ_s| = sqrt(2)
        row: dict[str, Any] = {"alpha": alpha, "beta": beta}
        for column in ("x, scheme", "z, scheme"):
            for words, where in (("alpha |xi| < 0.03", size < 0.03), ("alpha |xi| > 30", size > 30.0)):
                h, error = np.log(part["h"][where]), np.log(part[column][where])
                row[f"{column}, {words}"] = float(np.polyfit(h, error, 1)[0]) if len(h) >= 3 else np.nan
        rows.append(row)
    return pd.DataFrame(rows)


@dataclass(frozen=True, eq=False)
class PendulumRuns:
    """The pendulum by each method: states (K, 10) and what they cost.

    Attributes
    ----------
    t, ours, kept
        Slow-manifold runs, linearised at every step and kept.
    rk4_t, rk4
        Runge-Kutta 4 with the same step, as far as it goes.
    reference
        (θ, ω, r2, v2), (K, 6): DOP853, tolerance 1e-11.
    fine_t, fine
        The same at every 0.1 ms of the first 60 ms.
    ode45_t, ode45
        RK45 of scipy at its default tolerances, (θ, ω, r2, v2), with a dense output.
    evaluations
        Derivatives evaluated, by method; a Jacobian by differences takes one for each of the 10 states.
    linearisations
        Linearisations of the scheme, at every step and kept.
    time_ratio
        Time of the scheme over that of RK45, both in Python in the least coordinates: medians of five.
    other_starts
        Derivatives of RK45 from other angles of the bar, by angle in rad.
    printed_energy, flipped_energy, exact_energy
        Largest change of energy in J with the printed block matrix (47), and of the exact motion with the
        sign of gravity of the printed (66) and with the right one.
    """

    t: Reals
    ours: Reals
    kept: Reals
    rk4_t: Reals
    rk4: Reals
    reference: Reals
    fine_t: Reals
    fine: Reals
    ode45_t: Reals
    ode45: Reals
    evaluations: dict[str, int]
    linearisations: dict[str, int]
    time_ratio: float
    other_starts: dict[float, int]
    printed_energy: float
    flipped_energy: float
    exact_energy: float

    def energy_error(self, x: Reals) -> Reals:
        """Return energy minus that of the start, in J."""
        energy = pendulum.energy(x)
        return np.asarray(energy - energy[0])

    def angle_error(self, x: Reals) -> float:
        """Return the largest difference of θ from the reference, in rad."""
        return float(np.abs(x[:, 2] - self.reference[:, 0]).max())


@functools.cache
def pendulum_runs() -> PendulumRuns:
    """Run the pendulum by each method, once in a process: it takes most of the paper's time."""
    from scipy.integrate import solve_ivp

    system = pendulum.pendulum()
    split = partitioning.by_hand(system.linearise(), fast=pendulum.FAST)
    ours = integrate(system, SlowManifold(split, H), T_END)
    kept = integrate(system, SlowManifold(split, H, jacobian="kept"), T_END)
    # Up to 0.08 s: the paper's figure ends where Runge-Kutta 4 leaves it.
    rk4 = integrate(system, SingleRate("RK4", H), 0.08)
    start = [system.x0[2], system.x0[5], *system.x0[6:]]
    reference = solve_ivp(pendulum.minimal, (0, T_END), start, "DOP853", t_eval=ours.t, **TIGHT)
    fine_t = np.arange(601) * 1e-4
    fine = solve_ivp(pendulum.minimal, (0, 0.06), start, "DOP853", t_eval=np.minimum(fine_t, 0.06), **TIGHT)
    ode45 = solve_ivp(pendulum.minimal, (0, T_END), start, "RK45")
    steps = len(ours.t) - 1
    made = {"step": ours, "kept": kept}
    return PendulumRuns(
        t=ours.t,
        ours=ours.x,
        kept=kept.x,
        rk4_t=rk4.t,
        rk4=rk4.x,
        reference=reference.y.T,
        fine_t=np.asarray(fine_t, dtype=float),
        fine=fine.y.T,
        ode45_t=ode45.t,
        ode45=pendulum.full(ode45.y.T),
        evaluations={
            "slow manifold": 6 * steps,
            "slow manifold, Jacobians by differences": (6 + len(system.x0)) * steps,
            "RK45 (ode45)": int(ode45.nfev),
        },
        linearisations={k: int(v.counters.factorisations_by_role["linearisation"]) for k, v in made.items()},
        time_ratio=_time_ratio(start),
        other_starts={
            angle: int(
                solve_ivp(
                    pendulum.minimal,
                    (0, T_END),
                    [angle, 0.0, np.sin(angle), -np.cos(angle), 0.0, 0.0],
                    "RK45",
                ).nfev
            )
            for angle in OTHER_ANGLES
        },
        printed_energy=_change(_by_published_steps(start, printed=True)),
        flipped_energy=_exact_energy(start, -1.0),
        exact_energy=_exact_energy(start, 1.0),
    )


def _by_published_steps(start: list[float], printed: bool) -> Reals:
    """Return (K, 6) points of the scheme in the least coordinates, (47) as printed or corrected."""
    points = [np.array(start)]
    for _ in range(round(T_END / H)):
        points.append(pendulum.published_step(points[-1], H, printed))
    return np.array(points)


def _change(q: Reals) -> float:
    """Return the largest change of the energy (68) in J along (K, 6) points in the least coordinates."""
    energy = pendulum.energy(pendulum.full(q))
    return float(np.abs(energy - energy[0]).max())


def _exact_energy(start: list[float], sign: float) -> float:
    """Return the largest change of the energy (68) in J along a solution of (66) with a sign of gravity."""
    from scipy.integrate import solve_ivp

    def field(t: float, q: Reals) -> list[float]:
        derivative = pendulum.minimal(t, q)
        derivative[5] += (1.0 - sign) * pendulum.GRAVITY  # g points down: its component is negative
        return derivative

    return _change(solve_ivp(field, (0, T_END), start, "DOP853", **TIGHT).y.T)


def _time_ratio(start: list[float], runs: int = 5) -> float:
    """Return the median time of the scheme over that of RK45, both in Python, in runs that take turns."""
    from scipy.integrate import solve_ivp

    clock = []
    for _ in range(runs):
        began = time.perf_counter()
        solve_ivp(pendulum.minimal, (0, T_END), start, "RK45")
        between = time.perf_counter()
        _by_published_steps(start, printed=False)
        clock.append((between - began, time.perf_counter() - between))
    theirs, ours = np.median(clock, axis=0)
    return float(ours / theirs)


def pendulum_table(runs: PendulumRuns) -> pd.DataFrame:
    """Return energy and angle errors and the cost of each method."""
    from scipy.interpolate import CubicSpline

    # Cubic between points 5 ms apart: 1e-10 rad, where a straight line would show 1e-5.
    reference = CubicSpline(runs.t, runs.reference[:, 0])(runs.ode45_t)
    angles = [runs.angle_error(runs.ours), runs.angle_error(runs.kept)]
    angles.append(float(np.abs(reference - runs.ode45[:, 2]).max()))
    steps, made, count = len(runs.t) - 1, runs.evaluations, runs.linearisations
    return pd.DataFrame(
        {
            "method": ["slow manifold", "slow manifold, linearisation kept", "RK45 at default tolerances"],
            "steps": [steps, steps, len(runs.ode45_t) - 1],
            "derivatives": [made["slow manifold"], made["slow manifold"], made["RK45 (ode45)"]],
            "linearisations": [count["step"], count["kept"], np.nan],
            "largest energy error [J]": [
                float(np.abs(runs.energy_error(x)).max()) for x in (runs.ours, runs.kept, runs.ode45)
            ],
            "largest angle error [rad]": angles,
        }
    )
