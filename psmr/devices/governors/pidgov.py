"""The hydro governor with a three-term control of the standard library."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from psmr.dae.declare.component import Component, Parameter, Terms, crossed, flag, nonnegative, positive
from psmr.devices.blocks import lag, lead_lag, through_points, washout
from psmr.devices.machines.textbook import S_N
from psmr.devices.stabilisers.signals import POWER, electrical_power


class ThreeTermGate(Component):
    """Parameters of a three-term control of a gate, its penstock, and its curve of power over gate."""

    s_n = S_N
    t_reg = Parameter("s", "time constant of the feedback", nonnegative)
    k_p = Parameter("pu", "proportional gain", nonnegative)
    k_i = Parameter("pu/s", "integral gain", positive)
    k_d = Parameter("pu s", "derivative gain", nonnegative)
    t_a = Parameter("s", "time constant of the control", positive)
    g_0 = Parameter("pu", "gate at no load")
    g_1 = Parameter("pu", "first gate of the curve")
    p_1 = Parameter("pu", "power at g_1", positive)
    g_2 = Parameter("pu", "second gate of the curve")
    p_2 = Parameter("pu", "power at g_2")
    p_3 = Parameter("pu", "power at the full gate")
    g_max = Parameter("pu", "upper limit of the gate")
    g_min = Parameter("pu", "lower limit of the gate")
    t_w = Parameter("s", "water starting time", positive)
    vel_max = Parameter("pu/s", "largest rate at which the gate opens", positive)
    vel_min = Parameter("pu/s", "largest rate at which the gate closes, below zero")


class PIDGOV(ThreeTermGate):
    """Hydro turbine with a three-term governor, a gate servo and one penstock.

    ::

        r_perm (p_ref - back) -> 1/(1 + s t_reg) -> minus (omega - 1) -> e
        back = gate with feedback = 1, the electrical power with 0
        (k_p + k_i/s) e/(1 + s t_a) + k_d s e/(1 + s t_a) -> 1/(1 + s t_a) -> x_5
        (x_5 - gate)/t_b -> limits [vel_min, vel_max] -> 1/s, limits [g_min, g_max] -> gate
        gate -> polygon (g_0, 0), (g_1, p_1), (g_2, p_2), (1, p_3)
        -> (1 - s a_tw t_w)/(1 + s a_tw t_w/2) -> minus d_turb (omega - 1) -> t_m

    The polygon is constant beyond its ends. Source: PSS/E, Model Library, PIDGOV; PES-TR1, Dynamic Models for
    Turbine-Governors in Power System Studies (2013); IEC 61970-302, GovHydroPID2.
    """

    role = "governor"
    records = (
        "PIDGOV feedback r_perm t_reg k_p k_i k_d t_a t_b d_turb g_0 g_1 p_1 g_2 p_2 p_3 g_max g_min a_tw "
        "t_w vel_max vel_min",
    )
    states = ("x_reg", "x_i", "x_p", "x_d", "x_5", "gate", "x_w")
    algebraic = ("t_m",)
    inputs = ("omega", "p_ref", *POWER)
    limits = {"gate": ("g_min", "g_max")}
    lags = {"x_reg": ("t_reg",)}

    feedback = Parameter("1", "1: feedback of the gate, 0: of the electrical power", flag)
    r_perm = Parameter("pu", "permanent droop", positive)
    t_b = Parameter("s", "time constant of the gate servo", positive)
    d_turb = Parameter("pu", "damping of the turbine", nonnegative)
    a_tw = Parameter("1", "factor of t_w", positive)

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to crossed limits and to a curve that does not rise."""
        return crossed(p, ("g_min", "g_max"), ("vel_min", "vel_max")) or falling(p)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of feedback, control, gate and water, and the torque."""
        slip = v.omega - 1
        power = electrical_power(m, v, p, None)[0]
        back = m.where(m.ge(p.feedback, 1), v.gate, power)
        error = v.x_reg - slip
        washed, d_d = washout(error, v.x_d, p.t_a)
        water, d_w = penstock(m, v, p)
        derivatives = (
            lag(p.r_perm * (v.p_ref - back), v.x_reg, p.t_reg),
            p.k_i * error,
            lag(p.k_p * error + v.x_i, v.x_p, p.t_a),
            d_d,
            lag(v.x_p + p.k_d / p.t_a * washed, v.x_5, p.t_a),
            m.clip((v.x_5 - v.gate) / p.t_b, p.vel_min, p.vel_max),
            d_w,
        )
        return derivatives, (water - p.d_turb * slip - v.t_m,), ()

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium for the torque that the machine needs."""
        t_m = terminal.signals.get("t_m", 0.0)
        gate = gate_of(t_m, p)
        found = dict.fromkeys(("x_i", "x_p", "x_5", "gate"), gate)
        return found | {"x_w": t_m, "t_m": t_m, "p_ref": np.where(p.feedback > 0, gate, t_m)}


def penstock(m: Any, v: Any, p: Any) -> tuple[Any, Any]:
    """Return the power of the water at a gate, and the derivative of its state x_w."""
    points = ((p.g_0, 0), (p.g_1, p.p_1), (p.g_2, p.p_2), (1, p.p_3))
    inertia = p.a_tw * p.t_w
    return lead_lag(through_points(m, v.gate, points), v.x_w, -inertia, inertia / 2)


def gate_of(power: Any, p: Any) -> Any:
    """Return the gate at which the curve has a power."""
    points = ((p.g_0, 0.0), (p.g_1, p.p_1), (p.g_2, p.p_2), (1.0, p.p_3))
    gate = points[0][0]
    for (g_1, p_1), (g_2, p_2) in pairwise(points):
        gate = gate + np.clip((power - p_1) / (p_2 - p_1), 0.0, 1.0) * (g_2 - g_1)
    return gate


def falling(p: Mapping[str, float]) -> str | None:
    """Return the objection to a curve of power over gate that does not rise."""
    for low, high in (("g_0", "g_1"), ("g_1", "g_2"), ("p_1", "p_2"), ("p_2", "p_3")):
        if p[high] <= p[low]:
            return f"{high} = {p[high]:g}: must be above {low} = {p[low]:g}"
    return None if p["g_2"] < 1 else f"g_2 = {p['g_2']:g}: must be below 1, where the power is p_3"
