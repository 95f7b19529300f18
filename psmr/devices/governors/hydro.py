"""Hydraulic turbines and their governors: HYGOV, HYGOV4, IEEEG3, WPIDHY, PIDGOV."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from psmr.dae.declare.component import Component, Parameter, Terms, crossed, flag, nonnegative, positive
from psmr.devices.blocks import lag, lead_lag, through_points, washout
from psmr.devices.machines.textbook import S_N
from psmr.devices.stabilisers.signals import POWER, electrical_power


class HYGOV(Component):
    """Hydro turbine: temporary droop, gate limits in rate and position, one penstock with inelastic water.

    ::

        r_perm (p_ref - gate_ref) - (omega - 1) -> 1/(1 + s t_f) -> e
        e -> (1 + s t_r)/(s t_r r_temp), rate within [-velm, velm], limits [g_min, g_max] -> gate_ref
        gate_ref -> 1/(1 + s t_g) -> gate      head = (flow/gate)^2      t_w flow' = 1 - head
        t_m = a_t head (flow - q_nl) - d_turb gate (omega - 1)

    The rate that is limited is that of the whole governor, e'/r_temp + e/(r_temp t_r): its proportional part
    moves the gate too. Source: PSS/E, Model Library, HYGOV; PES-TR1, Dynamic Models for
    Turbine-Governors in Power System Studies (2013).
    """

    role = "governor"
    records = ("HYGOV r_perm r_temp t_r t_f t_g velm g_max g_min t_w a_t d_turb q_nl",)
    states = ("e", "gate_ref", "gate", "flow")
    algebraic = ("t_m",)
    inputs = ("omega", "p_ref")
    limits = {"gate_ref": ("g_min", "g_max")}
    lags = {"gate": ("t_g",)}

    r_perm = Parameter("pu speed per pu gate", "permanent droop", positive)
    r_temp = Parameter("pu speed per pu gate", "temporary droop", positive)
    t_r = Parameter("s", "reset time of the temporary droop", positive)
    t_f = Parameter("s", "time constant of the filter", positive)
    t_g = Parameter("s", "time constant of the gate servo", nonnegative)
    velm = Parameter("pu/s", "limit of the gate's rate", positive)
    g_max = Parameter("pu", "upper limit of the gate")
    g_min = Parameter("pu", "lower limit of the gate", nonnegative)
    t_w = Parameter("s", "water starting time", positive)
    a_t = Parameter("pu on machine base", "gain of the turbine", positive)
    d_turb = Parameter("pu on machine base", "damping of the turbine", nonnegative)
    q_nl = Parameter("pu", "flow at no load", nonnegative)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of filter, governor, gate and flow, and the torque."""
        slip = v.omega - 1
        d_e = lag(p.r_perm * (v.p_ref - v.gate_ref) - slip, v.e, p.t_f)
        rate = m.clip((d_e + v.e / p.t_r) / p.r_temp, -p.velm, p.velm)
        head = (v.flow / v.gate) ** 2
        torque = p.a_t * head * (v.flow - p.q_nl) - p.d_turb * v.gate * slip
        derivatives = (d_e, rate, lag(v.gate_ref, v.gate, p.t_g), (1 - head) / p.t_w)
        return derivatives, (torque - v.t_m,), ()

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium for the torque that the machine needs."""
        t_m = terminal.signals.get("t_m", 0.0)
        flow = np.asarray(t_m / p.a_t + p.q_nl)
        return {"gate_ref": flow, "gate": flow, "flow": flow, "t_m": t_m, "p_ref": flow}


POINTS = range(6)


class HYGOV4(Component):
    """Hydro turbine: pilot servo, dashpot, gate limits in rate and position, inelastic water.

    ::

        r_perm (p_ref - gate) - r_temp s t_r/(1 + s t_r) gate - (omega - 1) -> 1/(1 + s t_p) -> pilot
        pilot/t_g, limits [u_c, u_o] -> 1/s, limits [p_min, p_max] -> gate -> polygon (gv_k, pgv_k) -> opening
        head = (flow/opening)^2      t_w flow' = h_dam - head
        t_m = a_t head (flow - q_nl) - d_turb gate (omega - 1)

    Without points (gv_5 = 0) the opening is the gate. The dead bands db1, eps and db2 and the blades of a
    Kaplan turbine are not modelled. Sources: what the parameters are, PowerWorld, Governor HYGOV4 (a model of
    PSLF); the blocks, the implementations of ANDES and GridDyn. The order of a PSS/E record is not public.
    """

    role = "governor"
    states = ("pilot", "gate", "x_r", "flow")
    algebraic = ("t_m",)
    inputs = ("omega", "p_ref")
    limits = {"gate": ("p_min", "p_max")}
    lags = {"pilot": ("t_p",)}

    t_g = Parameter("s", "time constant of the gate servo", positive)
    t_p = Parameter("s", "time constant of the pilot servo", nonnegative)
    u_o = Parameter("pu/s", "largest rate of the gate", positive)
    u_c = Parameter("pu/s", "smallest rate of the gate, below zero")
    p_max = Parameter("pu", "upper limit of the gate")
    p_min = Parameter("pu", "lower limit of the gate", nonnegative)
    r_perm = Parameter("pu speed per pu gate", "permanent droop", positive)
    r_temp = Parameter("pu speed per pu gate", "temporary droop", nonnegative)
    t_r = Parameter("s", "time constant of the dashpot", positive)
    t_w = Parameter("s", "water starting time", positive)
    a_t = Parameter("pu on machine base", "gain of the turbine", positive)
    d_turb = Parameter("pu on machine base", "damping of the turbine", nonnegative)
    h_dam = Parameter("pu", "head at the dam", positive, default=1.0)
    q_nl = Parameter("pu", "flow at no load at nominal head", nonnegative)
    gv_0, gv_1, gv_2, gv_3, gv_4, gv_5 = (
        Parameter("pu", f"gate of point {k} of the curve", nonnegative, 0.0) for k in POINTS
    )
    pgv_0, pgv_1, pgv_2, pgv_3, pgv_4, pgv_5 = (
        Parameter("pu", f"opening of point {k} of the curve", nonnegative, 0.0) for k in POINTS
    )

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to crossed limits and to a curve that does not rise."""
        wrong = crossed(p, ("p_min", "p_max"), ("u_c", "u_o"))
        if wrong or not p["gv_5"]:
            return wrong
        for kind in ("gv", "pgv"):
            for k in POINTS[1:]:
                if p[f"{kind}_{k}"] <= p[f"{kind}_{k - 1}"]:
                    return f"{kind}_{k} = {p[f'{kind}_{k}']:g}: must be above {kind}_{k - 1}"
        return None

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of pilot, gate, dashpot and flow, and the torque."""
        slip = v.omega - 1
        moving, d_r = washout(v.gate, v.x_r, p.t_r)
        error = p.r_perm * (v.p_ref - v.gate) - p.r_temp * moving - slip
        rate = m.clip(v.pilot / p.t_g, p.u_c, p.u_o)
        points = [(getattr(p, f"gv_{k}"), getattr(p, f"pgv_{k}")) for k in POINTS]
        opening = m.where(m.le(p.gv_5, 0), v.gate, through_points(m, v.gate, points))
        head = (v.flow / opening) ** 2
        torque = p.a_t * head * (v.flow - p.q_nl) - p.d_turb * v.gate * slip
        return (lag(error, v.pilot, p.t_p), rate, d_r, (p.h_dam - head) / p.t_w), (torque - v.t_m,), ()

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium for the torque that the machine needs."""
        t_m = terminal.signals.get("t_m", 0.0)
        flow = np.asarray(t_m / (p.a_t * p.h_dam) + p.q_nl)
        opening = flow / np.sqrt(p.h_dam)
        gates, openings = (
            np.stack([np.broadcast_to(getattr(p, f"{kind}_{k}"), opening.shape) for k in POINTS], axis=-1)
            for kind in ("gv", "pgv")
        )
        rows = zip(opening.ravel(), gates.reshape(-1, 6), openings.reshape(-1, 6), strict=True)
        found = [np.interp(o, y, x) if x[-1] > 0 else o for o, x, y in rows]
        gate = np.reshape(found, opening.shape)
        return {"gate": gate, "x_r": gate, "flow": flow, "t_m": t_m, "p_ref": gate}


class IEEEG3(Component):
    """Hydro turbine: pilot valve and gate servo with temporary droop, linear water column.

    ::

        sigma (p_ref - gate) - delta s t_r/(1 + s t_r) gate - (omega - 1) -> 1/(t_g (1 + s t_p))
        -> limits [u_c, u_o] -> 1/s, limits [p_min, p_max] -> gate
        gate -> a_23 (1 + (a_11 - a_13 a_21/a_23) s t_w)/(1 + a_11 s t_w) -> t_m

    Source: IEEE Committee Report, Dynamic Models for Steam and Hydro Turbines in Power System Studies (1973);
    PSS/E, Model Library, IEEEG3.
    """

    role = "governor"
    records = ("IEEEG3 t_g t_p u_o u_c p_max p_min sigma delta t_r t_w a_11 a_13 a_21 a_23",)
    states = ("pilot", "gate", "x_r", "water")
    algebraic = ("t_m",)
    inputs = ("omega", "p_ref")
    limits = {"gate": ("p_min", "p_max")}
    lags = {"pilot": ("t_p",), "water": ("t_w",)}

    t_g = Parameter("s", "time constant of the gate servo", positive)
    t_p = Parameter("s", "time constant of the pilot valve", nonnegative)
    u_o = Parameter("pu/s", "largest rate at which the gate opens", positive)
    u_c = Parameter("pu/s", "largest rate at which the gate closes, below zero")
    p_max = Parameter("pu", "upper limit of the gate")
    p_min = Parameter("pu", "lower limit of the gate")
    sigma = Parameter("pu speed per pu gate", "permanent droop", positive)
    delta = Parameter("pu speed per pu gate", "temporary droop", nonnegative)
    t_r = Parameter("s", "reset time of the temporary droop", positive)
    t_w = Parameter("s", "water starting time", nonnegative)
    a_11 = Parameter("1", "flow by head of the turbine", positive)
    a_13 = Parameter("1", "flow by gate of the turbine")
    a_21 = Parameter("1", "torque by head of the turbine")
    a_23 = Parameter("1", "torque by gate of the turbine", positive)

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to a gate that cannot close."""
        if p["u_c"] >= 0:
            return f"u_c = {p['u_c']:g}: must be < 0, the gate closes at this rate"
        return None

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of pilot valve, gate, temporary droop and water, and the torque."""
        washed, d_r = washout(v.gate, v.x_r, p.t_r)
        error = p.sigma * (v.p_ref - v.gate) - p.delta * washed - (v.omega - 1)
        turned, d_w = lead_lag(v.gate, v.water, 1 - p.a_13 * p.a_21 / (p.a_11 * p.a_23), 1)
        rate = m.clip(v.pilot, p.u_c, p.u_o)
        derivatives = (lag(error / p.t_g, v.pilot, p.t_p), rate, d_r, d_w / (p.a_11 * p.t_w))
        return derivatives, (p.a_23 * turned - v.t_m,), ()

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium for the torque that the machine needs."""
        t_m = terminal.signals.get("t_m", 0.0)
        return {"t_m": t_m} | dict.fromkeys(("gate", "x_r", "water", "p_ref"), t_m / p.a_23)


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


class WPIDHY(ThreeTermGate):
    """Woodward hydro governor: feedback of the electrical power, a three-term control of the gate's rate.

    ::

        reg (p_e - p_ref) -> 1/(1 + s t_reg) -> minus (omega - 1) -> e
        e -> (k_p + k_i/s + k_d s)/(1 + s t_a)^2 -> 1/(1 + s t_b) -> limits [vel_min, vel_max]
        -> 1/s, limits [g_min, g_max] -> gate -> polygon (g_0, 0), (g_1, p_1), (g_2, p_2), (1, p_3)
        -> (1 - s t_w)/(1 + s t_w/2) -> limits [p_min, p_max] -> minus d (omega - 1) -> t_m

    reg is below zero. The polygon is constant beyond its ends. Source: PSS/E, Model Library, WPIDHY; PES-TR1,
    Dynamic Models for Turbine-Governors in Power System Studies (2013); IEC 61970-302, GovHydroWPID.
    """

    role = "governor"
    records = (
        "WPIDHY t_reg reg k_p k_i k_d t_a t_b vel_max vel_min g_max g_min t_w p_max p_min d g_0 g_1 p_1 g_2 "
        "p_2 p_3",
    )
    states = ("x_reg", "x_a", "x_b", "x_i", "velocity", "gate", "x_w")
    algebraic = ("t_m",)
    inputs = ("omega", "p_ref", *POWER)
    limits = {"gate": ("g_min", "g_max")}
    lags = {"x_reg": ("t_reg",), "velocity": ("t_b",)}

    reg = Parameter("pu", "permanent droop, below zero", lambda x: None if x < 0 else "must be < 0")
    t_b = Parameter("s", "time constant of the gate servo", nonnegative)
    a_tw = Parameter("1", "factor of t_w", positive, default=1.0)
    p_max = Parameter("pu", "upper limit of the power")
    p_min = Parameter("pu", "lower limit of the power")
    d = Parameter("pu", "damping of the turbine", nonnegative)

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to crossed limits and to a curve that does not rise."""
        return crossed(p, ("g_min", "g_max"), ("vel_min", "vel_max"), ("p_min", "p_max")) or falling(p)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of feedback, control, gate and water, and the torque."""
        slip = v.omega - 1
        power = electrical_power(m, v, p, None)[0]
        d_b = lag(v.x_a, v.x_b, p.t_a)
        asked = p.k_p * v.x_b + v.x_i + p.k_d * d_b
        water, d_w = penstock(m, v, p)
        derivatives = (
            lag(p.reg * (power - v.p_ref), v.x_reg, p.t_reg),
            lag(v.x_reg - slip, v.x_a, p.t_a),
            d_b,
            p.k_i * v.x_b,
            lag(asked, v.velocity, p.t_b),
            m.clip(v.velocity, p.vel_min, p.vel_max),
            d_w,
        )
        return derivatives, (m.clip(water, p.p_min, p.p_max) - p.d * slip - v.t_m,), ()

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium for the torque that the machine needs."""
        t_m = terminal.signals.get("t_m", 0.0)
        return {"gate": gate_of(t_m, p), "x_w": t_m, "t_m": t_m, "p_ref": t_m}
