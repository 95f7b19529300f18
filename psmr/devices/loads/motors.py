"""Induction motors: the single cage with its rotor's transients.

The motor's circuit, per unit on the motor base `s_n`, and what follows from it::

    V --- r_s --- x_s --+-- x_r --- r_r/slip       x_0 = x_s + x_m
                        |                          x' = x_s + x_m x_r/(x_m + x_r)
                       x_m                         t_0' = (x_m + x_r)/(2 pi f_n r_r)
                        |
                       ---

The stator has no transients, as the network has none. The rotor's flux appears as the voltage E' behind
r_s + j x'; in a frame that turns at nominal frequency, of which `slip` is the part that the rotor lacks,

    i = (V - E')/(r_s + j x')
    dE'/dt = -j 2 pi f_n slip E' - (E' - j (x_0 - x') i)/t_0'
    2 h dslip/dt = t_m - Re(E' conj(i))
    t_m = t_0 (torque_a w^2 + torque_b w + torque_c),   w = 1 - slip,   torque_c = 1 - torque_a - torque_b

with the current i into the motor and the load torque t_0 at synchronous speed. The load is passive: its
torque brings the rotor to rest (slip 1) and holds it there, and does not turn it backwards.

The power flow gives P and V; slip and t_0 follow. So does the reactive power that the motor takes: what is
left of the load's Q is `b_shunt`, a constant susceptance at the bus that belongs to the load (positive for a
capacitor) and is one of its set-points.

A motor stands for many alike. Of these a relay that sheds load takes a part off the bus, with their part of
`b_shunt`: the current into the bus is (1 - shed) times that of the motor, and the others go on.

Source: P. Kundur, Power System Stability and Control (1994), section 7.2, induction motors: equivalent
circuit, representation in stability studies without stator transients, load torque.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from psmr.dae.declare.component import Component, Parameter, Terms, fraction, nonnegative, positive
from psmr.devices.machines.textbook import F_N, S_BASE, S_N

PU = "pu on motor base"

SHED = Parameter("1", "part of the motors that relays have shed", fraction, default=0.0)

STANDSTILL = Parameter("1", "slip of the shaft at rest, beyond which no passive load turns it", positive, 1.0)
"""A load torque opposes the rotation: it slows a shaft down to rest and holds it there."""


class InductionMotor(Component):
    """Third-order induction motor with one cage; circuit, equations and source: module text."""

    role = "motor"
    states = ("slip", "e_re", "e_im")
    inputs = ("v_re", "v_im", "t_0", "b_shunt")
    outputs = ("i_re", "i_im")
    together = (("e_re", "e_im"),)
    limits = {"slip": (None, "standstill")}
    units = {"t_0": PU}

    s_n = S_N
    s_base = S_BASE
    f_n = F_N
    r_s = Parameter(PU, "stator resistance", nonnegative)
    x_s = Parameter(PU, "stator leakage reactance", positive)
    x_m = Parameter(PU, "magnetising reactance", positive)
    r_r = Parameter(PU, "rotor resistance", positive)
    x_r = Parameter(PU, "rotor leakage reactance", positive)
    h = Parameter("s", "inertia constant of motor and load on the motor base", positive)
    torque_a = Parameter("1", "part of the load torque with the square of the speed", fraction)
    torque_b = Parameter("1", "part of the load torque with the speed", fraction)
    standstill = STANDSTILL
    shed = SHED

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives and the current into the bus."""
        x_0, x_1 = reactances(p)
        d_re, d_im = v.v_re - v.e_re, v.v_im - v.e_im
        square = p.r_s**2 + x_1**2
        i_re, i_im = (p.r_s * d_re + x_1 * d_im) / square, (p.r_s * d_im - x_1 * d_re) / square
        speed = 1 - v.slip
        load = v.t_0 * (p.torque_a * speed**2 + p.torque_b * speed + 1 - p.torque_a - p.torque_b)
        turning = 2 * np.pi * p.f_n * v.slip
        decay = 2 * np.pi * p.f_n * p.r_r / (p.x_m + p.x_r)
        derivatives = (
            (load - (v.e_re * i_re + v.e_im * i_im)) / (2 * p.h),
            turning * v.e_im - decay * (v.e_re + (x_0 - x_1) * i_im),
            -turning * v.e_re - decay * (v.e_im - (x_0 - x_1) * i_re),
        )
        return derivatives, (), into_bus(v, p, i_re, i_im)

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Return the objection to parts of the torque that are more than the whole."""
        if p["torque_a"] + p["torque_b"] > 1:
            return (
                f"torque_a + torque_b = {p['torque_a'] + p['torque_b']:g}: must be at most 1; the rest is the"
                " part of constant torque"
            )
        return None

    @staticmethod
    def most_power(p: Any, voltage: float) -> float:
        """Return the most power that the motor takes at a voltage, pu on the motor base."""
        return float(pull_out_power(p, voltage))

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the steady state of the equivalent circuit below the pull-out slip."""
        power = -(terminal.voltage * np.conj(terminal.current))
        slip = steady_slip(p, power.real * p.s_base / p.s_n, np.abs(terminal.voltage))
        current = terminal.voltage / impedance(p, slip)
        _, x_1 = reactances(p)
        e = terminal.voltage - (p.r_s + 1j * x_1) * current
        speed = 1 - slip
        shape = p.torque_a * speed**2 + p.torque_b * speed + 1 - p.torque_a - p.torque_b
        taken = (terminal.voltage * np.conj(current)).imag * p.s_n / p.s_base
        return {
            "slip": slip,
            "e_re": e.real,
            "e_im": e.imag,
            "t_0": (e * np.conj(current)).real / shape,
            "b_shunt": (taken - power.imag) / np.abs(terminal.voltage) ** 2,
        }


def into_bus(v: Any, p: Any, i_re: Any, i_im: Any) -> Terms:
    """Return the current into the bus of the motors that are left, each with a current in pu on its base."""
    base, left = p.s_n / p.s_base, 1 - p.shed
    return left * (v.b_shunt * v.v_im - base * i_re), left * (-base * i_im - v.b_shunt * v.v_re)


def reactances(p: Any) -> tuple[Any, Any]:
    """Return (x_0, x'): the reactance with the rotor open, and that of the first moment."""
    return p.x_s + p.x_m, p.x_s + p.x_m * p.x_r / (p.x_m + p.x_r)


def impedance(p: Any, slip: Any) -> Any:
    """Return the complex impedance of the equivalent circuit, pu on the motor base."""
    rotor = slip / p.r_r
    magnetised = 1j * p.x_m * (1 + 1j * rotor * p.x_r) / (1 + 1j * rotor * (p.x_m + p.x_r))
    return p.r_s + 1j * p.x_s + magnetised


def pull_out_slip(p: Any) -> Any:
    """Return the slip of the largest torque: r_r over the impedance that the circuit offers to r_r/slip."""
    x_0, x_1 = reactances(p)
    return p.r_r / (p.x_m + p.x_r) * np.sqrt((p.r_s**2 + x_0**2) / (p.r_s**2 + x_1**2))


def pull_out_power(p: Any, voltage: Any) -> Any:
    """Return the power taken at the largest torque: the most a motor can start with, pu on the motor base."""
    return voltage**2 * (1 / impedance(p, pull_out_slip(p))).real


def steady_slip(p: Any, power: Any, voltage: Any) -> Any:
    """Return the slip on the stable side at which the motor takes a power; NaN where there is none.

    With u = slip (x_m + x_r)/r_r the power of the equivalent circuit is V^2 (r_s + d u + r_s u^2) over
    (r_s^2 + x_0^2) + 2 r_s d u + (r_s^2 + x'^2) u^2, d = x_0 - x': a quadratic in u. The smaller root is that
    of the running motor.
    """
    x_0, x_1 = reactances(p)
    d, g = x_0 - x_1, power / voltage**2
    a, b, c = p.r_s - g * (p.r_s**2 + x_1**2), d * (1 - 2 * g * p.r_s), p.r_s - g * (p.r_s**2 + x_0**2)
    with np.errstate(invalid="ignore"):
        root = np.sqrt(b**2 - 4 * a * c)
    return -2 * c / (b + root) * p.r_r / (p.x_m + p.x_r)
