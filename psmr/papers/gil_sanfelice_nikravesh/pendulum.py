"""The pendulum with a particle on a spring of Gil, Sanfelice and Nikravesh, as an index-1 DAE."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from psmr.base.arrays import Reals
from psmr.dae.declare.component import Component, Parameter, positive
from psmr.dae.declare.device import Device
from psmr.dae.system.assemble import assemble
from psmr.dae.system.system import System

GRAVITY = 9.81


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
