"""The pendulum with a particle on a spring of Gil, Sanfelice and Nikravesh: an index-1 DAE, and its runs."""

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
from psmr.dae.declare.component import Component, Parameter, positive
from psmr.dae.declare.device import Device
from psmr.dae.system.assemble import assemble
from psmr.dae.system.system import System
from psmr.integrate.run.integrate import integrate
from psmr.integrate.schemes.one_step import SingleRate
from psmr.papers.gil_sanfelice_nikravesh.slow_manifold import SlowManifold

GRAVITY = 9.81
# Figures 7 and 8; the paper gives h. The text has no start and no end: a bar at π/4 and at rest, over 5 s, is
# assumed here (see the finding).
H, T_END = 0.005, 5.0
OTHER_ANGLES = (np.pi / 6, np.pi / 2)
# Of the reference: four decades below the errors that are measured with it; steps of at most a fifth of the
# fast period.
TIGHT: dict[str, Any] = {"rtol": 1e-11, "atol": 1e-13, "max_step": 2e-3}


class Pendulum(Component):
    """A bar hung at its end, and a light particle on a spring at the other end (equations (63) to (66)).

    The joint r1 = s(θ), (64), is taken on the level of accelerations, D q'' = -D' q', which with (63a) makes
    five algebraic equations for the accelerations and the joint force. Equation (66) is written with the row
    r2' = v2 and the sign of gravity that follow from (63b).
    """

    states = ("x", "y", "theta", "v_x", "v_y", "omega", "r_x", "r_y", "u_x", "u_y")
    algebraic = ("a_x", "a_y", "alpha", "force_x", "force_y")
    units = {
        **dict.fromkeys(("x", "y", "r_x", "r_y"), "m"),
        **dict.fromkeys(("v_x", "v_y", "u_x", "u_y"), "m/s"),
        **dict.fromkeys(("a_x", "a_y"), "m/s2"),
        **dict.fromkeys(("force_x", "force_y"), "N"),
        "theta": "rad",
        "omega": "rad/s",
        "alpha": "rad/s2",
    }
    m1 = Parameter(unit="kg", doc="mass of the bar", check=positive, default=100.0)
    J1 = Parameter(unit="kg m2", doc="inertia of the bar", check=positive, default=100.0)
    L = Parameter(unit="m", doc="length of the bar", check=positive, default=1.0)
    m2 = Parameter(unit="kg", doc="mass of the particle", check=positive, default=1e-5)
    k = Parameter(unit="N/m", doc="stiffness of the spring", check=positive, default=5.0)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> Any:
        """Return derivatives and residuals: (63a) and (64) for the bar, (63b) for the particle."""
        s_x, s_y = p.L / 2 * m.sin(v.theta), -p.L / 2 * m.cos(v.theta)
        f_x, f_y = p.k * (v.r_x - v.x - s_x), p.k * (v.r_y - v.y - s_y)
        # The joint (64) fixes x - s_x and y - s_y, and d s / d theta = (-s_y, s_x).
        derivatives = (
            v.v_x,
            v.v_y,
            v.omega,
            v.a_x,
            v.a_y,
            v.alpha,
            v.u_x,
            v.u_y,
            -f_x / p.m2,
            -f_y / p.m2 - GRAVITY,
        )
        residuals = (
            p.m1 * v.a_x - v.force_x - f_x,
            p.m1 * v.a_y - v.force_y - f_y + p.m1 * GRAVITY,
            p.J1 * v.alpha - s_y * v.force_x + s_x * v.force_y - s_x * f_y + s_y * f_x,
            v.a_x + s_y * v.alpha + s_x * v.omega**2,
            v.a_y - s_x * v.alpha + s_y * v.omega**2,
        )
        return derivatives, residuals, ()


FAST = ("P.r_x", "P.r_y", "P.u_x", "P.u_y")


def pendulum(theta: float = np.pi / 4) -> System:
    """Return the system at rest, bar at `theta` (rad) from hanging, spring without force."""
    s_x, s_y = np.sin(theta) / 2, -np.cos(theta) / 2  # L = 1 m
    start = {"x": s_x, "y": s_y, "theta": theta, "r_x": 2 * s_x, "r_y": 2 * s_y}
    return assemble(
        [Device("P", Pendulum, {})], {f"P.{k}": v for k, v in start.items()}, name="pendulum with particle"
    )


def energy(x: Reals) -> Reals:
    """Return the total energy (68) in J of states (..., 10) with the published parameters."""
    s_x, s_y = np.sin(x[..., 2]) / 2, -np.cos(x[..., 2]) / 2
    kinetic = 50.0 * (x[..., 3] ** 2 + x[..., 4] ** 2 + x[..., 5] ** 2) + 5e-6 * (
        x[..., 8] ** 2 + x[..., 9] ** 2
    )
    spring = 2.5 * ((x[..., 6] - x[..., 0] - s_x) ** 2 + (x[..., 7] - x[..., 1] - s_y) ** 2)
    return np.asarray(kinetic + GRAVITY * (100.0 * x[..., 1] + 1e-5 * x[..., 7]) + spring)


def minimal(t: float, q: Reals) -> list[float]:
    """Return the derivative of (θ, ω, r2, v2): the same physics in the least coordinates."""
    theta, omega, r_x, r_y, u_x, u_y = q
    sin, cos = np.sin(theta), np.cos(theta)
    f_x, f_y = 5.0 * (r_x - sin), 5.0 * (r_y + cos)  # the end of the bar is at 2 s = (sin, -cos)
    # About the joint: inertia J1 + m1 (L/2)^2 = 125 kg m2, weight at L/2, spring force at L.
    alpha = (-100.0 * GRAVITY * sin / 2 + cos * f_x + sin * f_y) / 125.0
    return [omega, alpha, u_x, u_y, -f_x / 1e-5, -f_y / 1e-5 - GRAVITY]


def full(q: Reals) -> Reals:
    """Return the ten states (..., 10) that belong to (θ, ω, r2, v2), (..., 6)."""
    theta, omega = q[..., 0], q[..., 1]
    s_x, s_y = np.sin(theta) / 2, -np.cos(theta) / 2
    return np.stack(
        [s_x, s_y, theta, -s_y * omega, s_x * omega, omega, q[..., 2], q[..., 3], q[..., 4], q[..., 5]],
        axis=-1,
    )


def published_step(q: Reals, h: float, printed: bool = True) -> Reals:
    """Return one step of the scheme in the least coordinates, with (47) as printed or corrected.

    It is here for evidence only; `psmr.SlowManifold` is the scheme.
    """
    n, k = 2, 4
    jacobian = np.empty((6, 6))
    for j in range(6):  # complex step: exact to rounding
        moved = q.astype(complex)
        moved[j] += 1e-30j
        jacobian[:, j] = np.imag(minimal(0.0, moved)) / 1e-30
    fz, gx, gz = jacobian[:n, n:], jacobian[n:, :n], jacobian[n:, n:]
    start = np.array(minimal(0.0, q))
    K = np.linalg.solve(gz, gx)
    sigma = np.linalg.solve(gz, start[n:])

    def reduced(x: Reals) -> Reals:
        return np.array(minimal(0.0, np.concatenate([x, q[n:] - K @ (x - q[:n]) - sigma])))[:n]

    def corner(A: Reals, first: Reals, second: Reals) -> Reals:
        """Return the upper right entry of exp(h [A first second; 0 0 1; 0 0 0])."""
        block = np.zeros((k + 2, k + 2))
        block[:k, :k], block[:k, k], block[:k, k + 1], block[k, k + 1] = A, first, second, 1.0
        return np.asarray(scipy.linalg.expm(h * block)[:k, k + 1])

    integral = corner(gz, K @ start[:n], sigma)
    x = q[:n]
    k1 = reduced(x)
    k2 = reduced(x + h / 2 * k1)
    k3 = reduced(x + h / 2 * k2)
    k4 = reduced(x + h * k3)
    new = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4) + fz @ integral
    A = gz + K @ fz
    B, C = A @ sigma + K @ k1, K @ (reduced(new) - k1) / h
    y = sigma + (corner(A, B, C) if printed else corner(A, C, B))
    return np.concatenate([new, q[n:] - K @ (new - x) - sigma + y])


def change_of_energy(x: Reals) -> Reals:
    """Return the energy (68) of states (K, 10) less that of the first, in J."""
    total = energy(x)
    return np.asarray(total - total[0])


def largest_change(x: Reals) -> float:
    """Return the largest size of `change_of_energy`; (K, 6) points are in the least coordinates."""
    return float(np.abs(change_of_energy(full(x) if x.shape[1] == 6 else x)).max())


@dataclass(frozen=True, eq=False)
class PendulumRuns:
    """The pendulum by each method: states (K, 10) and what they cost.

    Attributes
    ----------
    t, ours, kept
        Slow-manifold runs, linearised at every step and kept.
    rk4_t, rk4
        Runge-Kutta 4 with the same step, as far as it goes.
    reference, fine_t, fine
        (θ, ω, r2, v2), (K, 6): DOP853, tolerance 1e-11; and at every 0.1 ms of the first 60 ms.
    ode45_t, ode45
        RK45 of scipy at its default tolerances.
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

    def angle_error(self, x: Reals) -> float:
        """Return the largest difference of θ from the reference, in rad."""
        return float(np.abs(x[:, 2] - self.reference[:, 0]).max())


def _solved(method: str, start: Any, t_end: float = T_END, field: Any = minimal, **options: Any) -> Any:
    """Return scipy's solution of the motion in the least coordinates."""
    from scipy.integrate import solve_ivp

    return solve_ivp(field, (0, t_end), start, method, **options)


@functools.cache
def pendulum_runs() -> PendulumRuns:
    """Run the pendulum by each method, once in a process: it takes most of the paper's time."""
    system = pendulum()
    split = partitioning.by_hand(system.linearise(), fast=FAST)
    ours = integrate(system, SlowManifold(split, H), T_END)
    kept = integrate(system, SlowManifold(split, H, jacobian="kept"), T_END)
    # Up to 0.08 s: the paper's figure ends where Runge-Kutta 4 leaves it.
    rk4 = integrate(system, SingleRate("RK4", H), 0.08)
    start = [system.x0[2], system.x0[5], *system.x0[6:]]
    fine_t = np.asarray(np.arange(601) * 1e-4, dtype=float)
    ode45, steps = _solved("RK45", start), len(ours.t) - 1
    made = {"step": ours, "kept": kept}
    return PendulumRuns(
        t=ours.t,
        ours=ours.x,
        kept=kept.x,
        rk4_t=rk4.t,
        rk4=rk4.x,
        reference=_solved("DOP853", start, t_eval=ours.t, **TIGHT).y.T,
        fine_t=fine_t,
        fine=_solved("DOP853", start, 0.06, t_eval=np.minimum(fine_t, 0.06), **TIGHT).y.T,
        ode45_t=ode45.t,
        ode45=full(ode45.y.T),
        evaluations={
            "slow manifold": 6 * steps,
            "slow manifold, Jacobians by differences": (6 + len(system.x0)) * steps,
            "RK45 (ode45)": int(ode45.nfev),
        },
        linearisations={k: int(v.counters.factorisations_by_role["linearisation"]) for k, v in made.items()},
        time_ratio=_time_ratio(start),
        other_starts={
            a: int(_solved("RK45", [a, 0.0, np.sin(a), -np.cos(a), 0.0, 0.0]).nfev) for a in OTHER_ANGLES
        },
        printed_energy=largest_change(_by_published_steps(start, printed=True)),
        flipped_energy=largest_change(_solved("DOP853", start, field=_flipped, **TIGHT).y.T),
        exact_energy=largest_change(_solved("DOP853", start, **TIGHT).y.T),
    )


def _flipped(t: float, q: Reals) -> list[float]:
    """Return the derivative with the sign of gravity that (66) has for the particle, as printed."""
    derivative = minimal(t, q)
    derivative[5] += 2.0 * GRAVITY  # g points down: its component is negative
    return derivative


def _by_published_steps(start: list[float], printed: bool) -> Reals:
    """Return (K, 6) points of the scheme in the least coordinates, (47) as printed or corrected."""
    points = [np.array(start)]
    for _ in range(round(T_END / H)):
        points.append(published_step(points[-1], H, printed))
    return np.array(points)


def _time_ratio(start: list[float], runs: int = 5) -> float:
    """Return the median time of the scheme over that of RK45, both in Python, in runs that take turns."""
    clock = []
    for _ in range(runs):
        began = time.perf_counter()
        _solved("RK45", start)
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
            "largest energy error [J]": [*map(largest_change, (runs.ours, runs.kept, runs.ode45))],
            "largest angle error [rad]": angles,
        }
    )
