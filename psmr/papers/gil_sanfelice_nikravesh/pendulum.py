"""The pendulum with a particle of Gil, Sanfelice and Nikravesh (figures 7 and 8), by each method."""

from __future__ import annotations

import functools
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import partitioning
from psmr.numerics.run.integrate import integrate
from psmr.numerics.schemes.single_rate import SingleRate
from psmr.numerics.schemes.slow_manifold import SlowManifold
from psmr.papers.systems import pendulum

Reals = NDArray[np.float64]

# Figures 7 and 8; the paper gives h. The text has no start and no end: a bar at π/4 and at rest, over 5 s, is
# assumed here (see the finding).
H, T_END = 0.005, 5.0
OTHER_ANGLES = (np.pi / 6, np.pi / 2)
# Of the reference: four decades below the errors that are measured with it; steps of at most a fifth of the
# fast period.
TIGHT: dict[str, Any] = {"rtol": 1e-11, "atol": 1e-13, "max_step": 2e-3}


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
        linearisations={
            "step": int(ours.counters.factorisations_by_role["linearisation"]),
            "kept": int(kept.counters.factorisations_by_role["linearisation"]),
        },
        printed_energy=_printed_energy(start),
        time_ratio=_time_ratio(start),
        other_starts={angle: _evaluations(angle) for angle in OTHER_ANGLES},
        flipped_energy=_exact_energy(start, -1.0),
        exact_energy=_exact_energy(start, 1.0),
    )


def _printed_energy(start: list[float]) -> float:
    """Return the largest change of energy in J when the block matrix of (47) is taken as printed."""
    q = np.array(start)
    energies = [float(pendulum.energy(pendulum.full(q)))]
    for _ in range(round(T_END / H)):
        q = pendulum.published_step(q, H)
        energies.append(float(pendulum.energy(pendulum.full(q))))
    return float(np.abs(np.array(energies) - energies[0]).max())


def _exact_energy(start: list[float], sign: float) -> float:
    """Return the largest change of the energy (68) in J along a solution of (66) with a sign of gravity."""
    from scipy.integrate import solve_ivp

    def field(t: float, q: Reals) -> list[float]:
        derivative = pendulum.minimal(t, q)
        derivative[5] += (1.0 - sign) * pendulum.GRAVITY  # g points down: its component is negative
        return derivative

    solution = solve_ivp(field, (0, T_END), start, "DOP853", **TIGHT)
    energy = pendulum.energy(pendulum.full(solution.y.T))
    return float(np.abs(energy - energy[0]).max())


def _evaluations(angle: float) -> int:
    """Return the derivatives that RK45 at its default tolerances takes from another angle in rad."""
    from scipy.integrate import solve_ivp

    start = [angle, 0.0, np.sin(angle), -np.cos(angle), 0.0, 0.0]
    return int(solve_ivp(pendulum.minimal, (0, T_END), start, "RK45").nfev)


def _time_ratio(start: list[float], runs: int = 5) -> float:
    """Return the median time of the scheme over that of RK45, both in Python, in runs that take turns."""
    from scipy.integrate import solve_ivp

    times: dict[str, list[float]] = {"scheme": [], "RK45": []}
    for _ in range(runs):
        began = time.perf_counter()
        solve_ivp(pendulum.minimal, (0, T_END), start, "RK45")
        between = time.perf_counter()
        q = np.array(start)
        for _ in range(round(T_END / H)):
            q = pendulum.published_step(q, H, printed=False)
        times["RK45"].append(between - began)
        times["scheme"].append(time.perf_counter() - between)
    return float(np.median(times["scheme"]) / np.median(times["RK45"]))


def pendulum_table(runs: PendulumRuns) -> pd.DataFrame:
    """Return energy and angle errors and the cost of each method."""
    from scipy.interpolate import CubicSpline

    # Cubic between points 5 ms apart: 1e-10 rad, where a straight line would show 1e-5.
    reference = CubicSpline(runs.t, runs.reference[:, 0])(runs.ode45_t)
    ode45_angle = float(np.abs(reference - runs.ode45[:, 2]).max())
    steps, made, count = len(runs.t) - 1, runs.evaluations["slow manifold"], runs.linearisations
    theirs = runs.evaluations["RK45 (ode45)"]
    angle, kept_angle = runs.angle_error(runs.ours), runs.angle_error(runs.kept)
    energy = [float(np.abs(runs.energy_error(x)).max()) for x in (runs.ours, runs.kept, runs.ode45)]
    rows = [
        ("slow manifold", steps, made, count["step"], energy[0], angle),
        ("slow manifold, linearisation kept", steps, made, count["kept"], energy[1], kept_angle),
        ("RK45 at default tolerances", len(runs.ode45_t) - 1, theirs, np.nan, energy[2], ode45_angle),
    ]  # fmt: skip
    columns = [
        "method",
        "steps",
        "derivatives",
        "linearisations",
        "largest energy error [J]",
        "largest angle error [rad]",
    ]
    return pd.DataFrame(rows, columns=columns)
