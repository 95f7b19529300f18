"""Hydraulic turbines and their governors: HYGOV, HYGOV4, IEEEG2, IEEEG3, PIDGOV, WPIDHY, WEHGOV."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from psmr.dae.declare.component import NumericMath, Parameter, flag, nonnegative, positive
from psmr.devices.blocks import lead_lag, through_points
from psmr.devices.governors import Governor
from psmr.devices.machines.textbook import S_N
from psmr.devices.stabilisers.signals import POWER, machine_power


class HYGOV(Governor):
    """Hydro turbine: temporary droop, gate limits in rate and position, one penstock with inelastic water.

    The rate that is limited is that of the whole governor, e'/r_temp + e/(r_temp t_r): its proportional part
    moves the gate too. Source: PSS/E, Model Library, HYGOV; PES-TR1, Dynamic Models for
    Turbine-Governors in Power System Studies (2013).
    """

    records = ("HYGOV r_perm r_temp t_r t_f t_g velm g_max g_min t_w a_t d_turb q_nl",)

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

    @classmethod
    def diagram(cls, b: Any, v: Any, p: Any) -> None:
        """Connect filter, governor, gate and water."""
        slip = v.omega - 1
        e = b.lag("e", p.r_perm * (v.p_ref - v.gate_ref) - slip, "t_f")
        rate = b.named("rate", (b.slopes["e"] + e / p.t_r) / p.r_temp, "(s e + e/t_r)/r_temp")
        gate_ref = b.integrator("gate_ref", b.clip(rate, -p.velm, p.velm), limits=("g_min", "g_max"))
        gate = b.lag("gate", gate_ref, "t_g")
        head = b.named("head", (v.flow / gate) ** 2)
        flow = b.integrator("flow", 1 - head, t="t_w")
        b.output("t_m", p.a_t * head * (flow - p.q_nl) - p.d_turb * gate * slip)

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium for the torque that the machine needs."""
        t_m = terminal.signals.get("t_m", 0.0)
        flow = np.asarray(t_m / p.a_t + p.q_nl)
        return {"gate_ref": flow, "gate": flow, "flow": flow, "t_m": t_m, "p_ref": flow}


POINTS = range(6)


class HYGOV4(Governor):
    """Hydro turbine: pilot servo, dashpot, gate limits in rate and position, inelastic water.

    Without points (gv_5 = 0) the opening is the gate. The dead bands db1, eps and db2 and the blades of a
    Kaplan turbine are not modelled. Sources: what the parameters are, PowerWorld, Governor HYGOV4 (a model of
    PSLF); the blocks, the implementations of ANDES and GridDyn. The order of a PSS/E record is not public.
    """

    states = ("pilot", "gate", "x_r", "flow")

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
    def objection(p: Mapping[str, float]) -> str | None:
        """Object to a curve that does not rise."""
        if not p["gv_5"]:
            return None
        for kind in ("gv", "pgv"):
            for k in POINTS[1:]:
                if p[f"{kind}_{k}"] <= p[f"{kind}_{k - 1}"]:
                    return f"{kind}_{k} = {p[f'{kind}_{k}']:g}: must be above {kind}_{k - 1}"
        return None

    @classmethod
    def diagram(cls, b: Any, v: Any, p: Any) -> None:
        """Connect dashpot, pilot, gate and water."""
        b.ordered("p_min", "p_max")
        slip = v.omega - 1
        moving = b.washout("x_r", v.gate, "t_r")
        pilot = b.lag("pilot", p.r_perm * (v.p_ref - v.gate) - p.r_temp * moving - slip, "t_p")
        gate = b.integrator("gate", b.limit(pilot / p.t_g, "u_c", "u_o"), limits=("p_min", "p_max"))
        points = [(getattr(p, f"gv_{k}"), getattr(p, f"pgv_{k}")) for k in POINTS]
        opening = b.where(b.le(p.gv_5, 0), gate, b.polygon(gate, points))
        opening = b.named("opening", opening, "polygon (gv_k, pgv_k) of the gate")
        head = b.named("head", (v.flow / opening) ** 2)
        flow = b.integrator("flow", p.h_dam - head, t="t_w")
        b.output("t_m", p.a_t * head * (flow - p.q_nl) - p.d_turb * gate * slip)

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


class IEEEG2(Governor):
    """Hydro turbine: a governor with two lags and a lead, a limit of the gate, a linear water column.

    ::

        omega - 1 -> k (1 + s t_2)/((1 + s t_1)(1 + s t_3)) -> c
        p_ref - c -> limits [p_min, p_max] -> (1 - s t_4)/(1 + s t_4/2) -> t_m

    Source: IEEE Committee Report, Dynamic Models for Steam and Hydro Turbines in Power System Studies (1973);
    PSS/E, Model Library, IEEEG2; OpenIPSL, which was compared with PSS/E, and STEPS, IEEEG2, for the order of
    the values too; IEC 61970-302, GovHydroIEEE0.
    """

    records = ("IEEEG2 k t_1 t_2 t_3 p_max p_min t_4",)

    k = Parameter("pu power on machine base per pu speed", "gain, the inverse of the droop", nonnegative)
    t_1 = Parameter("s", "first lag of the governor", nonnegative)
    t_2 = Parameter("s", "lead of the governor", nonnegative)
    t_3 = Parameter("s", "second lag of the governor", nonnegative)
    p_max = Parameter("pu on machine base", "upper limit of the gate")
    p_min = Parameter("pu on machine base", "lower limit of the gate")
    t_4 = Parameter("s", "water starting time", nonnegative)

    @classmethod
    def diagram(cls, b: Any, v: Any, p: Any) -> None:
        """Connect governor, gate and water."""
        led = b.lead_lag("x_1", p.k * (v.omega - 1), "t_2", "t_1")
        gate = b.limit(v.p_ref - b.lag("x_3", led, "t_3"), "p_min", "p_max")
        torque, slope = lead_lag(gate, v.water, -1, 0.5)
        b.state("water", slope / p.t_4, lags=("t_4",))
        b.output("t_m", torque)

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium for the torque that the machine needs."""
        t_m = terminal.signals.get("t_m", 0.0)
        return {"water": t_m, "t_m": t_m, "p_ref": t_m}


class IEEEG3(Governor):
    """Hydro turbine: pilot valve and gate servo with temporary droop, linear water column.

    ::

        sigma (p_ref - gate) - delta s t_r/(1 + s t_r) gate - (omega - 1) -> 1/(t_g (1 + s t_p))
        -> limits [u_c, u_o] -> 1/s, limits [p_min, p_max] -> gate
        gate -> a_23 (1 + (a_11 - a_13 a_21/a_23) s t_w)/(1 + a_11 s t_w) -> t_m

    Source: IEEE Committee Report, Dynamic Models for Steam and Hydro Turbines in Power System Studies (1973);
    PSS/E, Model Library, IEEEG3.
    """

    records = ("IEEEG3 t_g t_p u_o u_c p_max p_min sigma delta t_r t_w a_11 a_13 a_21 a_23",)
    states = ("pilot", "gate", "x_r", "water")

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
    def objection(p: Mapping[str, float]) -> str | None:
        """Object to a gate that cannot close."""
        if p["u_c"] >= 0:
            return f"u_c = {p['u_c']:g}: must be < 0, the gate closes at this rate"
        return None

    @classmethod
    def diagram(cls, b: Any, v: Any, p: Any) -> None:
        """Connect temporary droop, pilot valve, gate and water."""
        moving = b.washout("x_r", v.gate, "t_r")
        error = p.sigma * (v.p_ref - v.gate) - p.delta * moving - (v.omega - 1)
        pilot = b.lag("pilot", error / p.t_g, "t_p")
        gate = b.integrator("gate", b.clip(pilot, p.u_c, p.u_o), limits=("p_min", "p_max"))
        turned, slope = lead_lag(gate, v.water, 1 - p.a_13 * p.a_21 / (p.a_11 * p.a_23), 1)
        b.state("water", slope / (p.a_11 * p.t_w), lags=("t_w",))
        b.output("t_m", p.a_23 * turned)

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium for the torque that the machine needs."""
        t_m = terminal.signals.get("t_m", 0.0)
        return {"t_m": t_m} | dict.fromkeys(("gate", "x_r", "water", "p_ref"), t_m / p.a_23)


def _penstock(b: Any, p: Any, gate: Any) -> Any:
    """Return the power of the water at a gate."""
    inertia = p.a_tw * p.t_w
    curve = ((p.g_0, 0), (p.g_1, p.p_1), (p.g_2, p.p_2), (1, p.p_3))
    return b.lead_lag("x_w", b.polygon(gate, curve), -inertia, inertia / 2)


def _gate_of(power: Any, p: Any) -> Any:
    """Return the gate at which the curve has a power."""
    return through_points(NumericMath, power, ((0, p.g_0), (p.p_1, p.g_1), (p.p_2, p.g_2), (p.p_3, 1)))


def _falling(p: Mapping[str, float]) -> str | None:
    """Return the objection to a curve of power over gate that does not rise."""
    for low, high in (("g_0", "g_1"), ("g_1", "g_2"), ("p_1", "p_2"), ("p_2", "p_3")):
        if p[high] <= p[low]:
            return f"{high} = {p[high]:g}: must be above {low} = {p[low]:g}"
    return None if p["g_2"] < 1 else f"g_2 = {p['g_2']:g}: must be below 1, where the power is p_3"


class ThreeTermGate(Governor, part=True):
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

    @staticmethod
    def objection(p: Mapping[str, float]) -> str | None:
        """Object to a curve that does not rise."""
        return _falling(p)


class PIDGOV(ThreeTermGate):
    """Hydro turbine with a three-term governor, a gate servo and one penstock.

    The polygon is constant beyond its ends. Source: PSS/E, Model Library, PIDGOV; PES-TR1, Dynamic Models for
    Turbine-Governors in Power System Studies (2013); IEC 61970-302, GovHydroPID2.
    """

    records = (
        "PIDGOV feedback r_perm t_reg k_p k_i k_d t_a t_b d_turb g_0 g_1 p_1 g_2 p_2 p_3 g_max g_min a_tw "
        "t_w vel_max vel_min",
    )
    inputs = ("omega", "p_ref", *POWER)

    feedback = Parameter("1", "1: feedback of the gate, 0: of the electrical power", flag)
    r_perm = Parameter("pu", "permanent droop", positive)
    t_b = Parameter("s", "time constant of the gate servo", positive)
    d_turb = Parameter("pu", "damping of the turbine", nonnegative)
    a_tw = Parameter("1", "factor of t_w", positive)

    @classmethod
    def diagram(cls, b: Any, v: Any, p: Any) -> None:
        """Connect feedback, control, gate and water."""
        slip, power = v.omega - 1, machine_power(b, v)
        back = b.where(b.ge(p.feedback, 1), v.gate, power)
        x_reg = b.lag(
            "x_reg",
            p.r_perm
            * (v.p_ref - b.named("back", back, "the gate with feedback = 1, the electrical power with 0")),
            "t_reg",
        )
        error = b.named("e", x_reg - slip)
        x_i = b.integrator("x_i", error, gain="k_i")
        x_p = b.lag("x_p", p.k_p * error + x_i, "t_a")
        x_5 = b.lag("x_5", x_p + b.rate("x_d", error, "k_d", "t_a"), "t_a")
        rate = b.limit((x_5 - v.gate) / p.t_b, "vel_min", "vel_max")
        gate = b.integrator("gate", rate, limits=("g_min", "g_max"))
        b.ordered("g_min", "g_max")
        b.output("t_m", b.named("p_turb", _penstock(b, p, gate)) - p.d_turb * slip)

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium for the torque that the machine needs."""
        t_m = terminal.signals.get("t_m", 0.0)
        gate = _gate_of(t_m, p)
        found = dict.fromkeys(("x_i", "x_p", "x_5", "gate"), gate)
        return found | {"x_w": t_m, "t_m": t_m, "p_ref": np.where(p.feedback > 0, gate, t_m)}


class WPIDHY(ThreeTermGate):
    """Woodward hydro governor: feedback of the electrical power, a three-term control of the gate's rate.

    reg is below zero. The polygon is constant beyond its ends. Source: PSS/E, Model Library, WPIDHY; PES-TR1,
    Dynamic Models for Turbine-Governors in Power System Studies (2013); IEC 61970-302, GovHydroWPID.
    """

    records = (
        "WPIDHY t_reg reg k_p k_i k_d t_a t_b vel_max vel_min g_max g_min t_w p_max p_min d g_0 g_1 p_1 g_2 "
        "p_2 p_3",
    )
    inputs = ("omega", "p_ref", *POWER)

    reg = Parameter("pu", "permanent droop, below zero", lambda x: None if x < 0 else "must be < 0")
    t_b = Parameter("s", "time constant of the gate servo", nonnegative)
    a_tw = Parameter("1", "factor of t_w", positive, default=1.0)
    p_max = Parameter("pu", "upper limit of the power")
    p_min = Parameter("pu", "lower limit of the power")
    d = Parameter("pu", "damping of the turbine", nonnegative)

    @classmethod
    def diagram(cls, b: Any, v: Any, p: Any) -> None:
        """Connect feedback, control, gate and water."""
        power = machine_power(b, v)
        x_reg = b.lag("x_reg", p.reg * (power - v.p_ref), "t_reg")
        x_a = b.lag("x_a", x_reg - (v.omega - 1), "t_a")
        x_b = b.lag("x_b", x_a, "t_a")
        x_i = b.integrator("x_i", x_b, gain="k_i")
        velocity = b.lag("velocity", p.k_p * x_b + x_i + p.k_d * b.slopes["x_b"], "t_b")
        gate = b.integrator("gate", b.limit(velocity, "vel_min", "vel_max"), limits=("g_min", "g_max"))
        b.ordered("g_min", "g_max")
        water = b.named("p_turb", b.limit(_penstock(b, p, gate), "p_min", "p_max"))
        b.output("t_m", water - p.d * (v.omega - 1))

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium for the torque that the machine needs."""
        t_m = terminal.signals.get("t_m", 0.0)
        return {
            "gate": _gate_of(t_m, p),
            "x_w": t_m,
            "t_m": t_m,
            "p_ref": t_m,
        }


GATES, FLOWS = 5, 10
"""Points of the curves of the flow over the gate, and of the power over the flow."""


def _curves() -> dict[str, Parameter]:
    """Return the parameters of both curves."""
    found = {f"gate_{k}": Parameter("pu", f"gate {k} of the flow's curve") for k in range(1, GATES + 1)}
    found |= {f"flow_g{k}": Parameter("pu", f"flow at gate_{k}") for k in range(1, GATES + 1)}
    found |= {f"flow_p{k}": Parameter("pu", f"flow {k} of the power's curve") for k in range(1, FLOWS + 1)}
    return found | {f"p_mech{k}": Parameter("pu", f"power at flow_p{k}") for k in range(1, FLOWS + 1)}


_NAMES = " ".join(_curves())


def _points(p: Any, x: str, y: str, count: int) -> list[tuple[Any, Any]]:
    """Return the points of a curve."""
    return [(getattr(p, f"{x}{k}"), getattr(p, f"{y}{k}")) for k in range(1, count + 1)]


def _limits(p: Any) -> dict[str, Any]:
    """Return the limits of integrator, pilot valve and distribution valve."""
    return {
        "i_low": p.g_min - p.dicn,
        "i_high": p.g_max + p.dicn,
        "p_low": p.g_min - p.dpv,
        "p_high": p.g_max + p.dpv,
        "d_low": p.gtmxcl * p.t_g,
        "d_high": p.gtmxop * p.t_g,
    }


class WEHGOV(Governor):
    """Hydro turbine with a three-term governor, pilot and distribution valves, and curves of the turbine.

    ::

        p_e -> r_pe/(1 + s t_pe) -> x_pe
        p_ref - (omega - 1) - back - r_gate gate_back -> dead band [-band, band] -> e
        feedback = 0: back = x_pe, gate_back = gate;    feedback = 1: back = 0, gate_back = asked
        asked = k_p e + x_i + k_d s e/(1 + s t_d),  k_i e -> 1/s, limits [g_min - dicn, g_max + dicn] -> x_i
        asked -> 1/(1 + s t_p), limits [g_min - dpv, g_max + dpv] -> pilot
        pilot - gate - valve -> 1/(s t_dv), limits [gtmxcl t_g, gtmxop t_g] -> valve
        valve -> 1/(s t_g), limits [g_min, g_max] -> gate
        head = (flow/polygon(gate; (gate_k, flow_gk)))^2,    t_w flow' = 1 - head
        t_m = head polygon(flow; (flow_pk, p_mechk)) - d_turb gate (omega - 1)

    Polygons are constant beyond their ends; points at zero after the last are left out. Source: PSS/E, Model
    Library, WEHGOV; for the diagram OpenIPSL, which was compared with PSS/E at feedback = 0 and r_gate = 0;
    for the order of the values PowerWorld, WEHGOV.
    """

    records = (
        "WEHGOV feedback r_gate r_pe t_pe k_p k_i k_d t_d t_p t_dv t_g gtmxop gtmxcl g_max g_min d_turb "
        f"t_w band dpv dicn {_NAMES}",
    )
    inputs = ("omega", "p_ref", *POWER)

    s_n = S_N
    feedback = Parameter("1", "0: feedback of the electrical power, 1: of the gate that is asked for", flag)
    r_gate = Parameter("pu speed per pu gate", "permanent droop of the gate", nonnegative)
    r_pe = Parameter("pu speed per pu power", "permanent droop of the electrical power", nonnegative)
    t_pe = Parameter("s", "time constant of the power transducer", nonnegative)
    k_p = Parameter("pu", "proportional gain", nonnegative)
    k_i = Parameter("pu/s", "integral gain", positive)
    k_d = Parameter("pu s", "derivative gain", nonnegative)
    t_d = Parameter("s", "time constant of the derivative", nonnegative)
    t_p = Parameter("s", "time constant of the pilot valve", nonnegative)
    t_dv = Parameter("s", "time constant of the distribution valve", positive)
    t_g = Parameter("s", "time constant of the gate servo", positive)
    gtmxop = Parameter("pu/s", "largest rate at which the gate opens", positive)
    gtmxcl = Parameter("pu/s", "largest rate at which the gate closes, below zero")
    g_max = Parameter("pu", "upper limit of the gate")
    g_min = Parameter("pu", "lower limit of the gate")
    d_turb = Parameter("pu", "damping of the turbine", nonnegative)
    t_w = Parameter("s", "water starting time", positive)
    band = Parameter("pu", "half of the speed's dead band", nonnegative)
    dpv = Parameter("pu", "room of the pilot valve beyond the gate's limits", nonnegative)
    dicn = Parameter("pu", "room of the integrator beyond the gate's limits", nonnegative)
    locals().update(_curves())

    @staticmethod
    def objection(p: Mapping[str, float]) -> str | None:
        """Object to a governor without droop, a gate that cannot close, curves that fall."""
        if p["r_gate"] == 0 and (p["feedback"] or p["r_pe"] == 0):
            return "r_gate = 0: one of the droops must be > 0, that of the power with feedback = 0"
        if p["gtmxcl"] >= 0:
            return f"gtmxcl = {p['gtmxcl']:g}: must be < 0, the gate closes at this rate"
        for x, y, count in (("gate_", "flow_g", GATES), ("flow_p", "p_mech", FLOWS)):
            for first, second in pairwise(range(1, count + 1)):
                low, high = p[f"{x}{first}"], p[f"{x}{second}"]
                if (second == 2 or high > low) and (high <= low or p[f"{y}{second}"] < p[f"{y}{first}"]):
                    return f"{x}{second} = {high:g}, {y}{second} = {p[f'{y}{second}']:g}: a curve has to rise"
        return None

    @classmethod
    def diagram(cls, b: Any, v: Any, p: Any) -> None:
        """Connect feedback, governor, valves, gate and water; declare the torque, the error and limits."""
        slip, of_gate, e = v.omega - 1, b.ge(p.feedback, 1), v.e
        b.ordered("g_min", "g_max")
        x_pe = b.lag("x_pe", p.r_pe * machine_power(b, v), "t_pe")
        derived = b.rate("x_d", e, "k_d", "t_d")
        x_i = b.integrator("x_i", e, gain="k_i", limits=("i_low", "i_high"))
        asked = p.k_p * e + x_i + derived
        pilot = b.lag("pilot", asked, "t_p", ("p_low", "p_high"))
        valve = b.integrator("valve", pilot - v.gate - v.valve, t="t_dv", limits=("d_low", "d_high"))
        gate = b.integrator("gate", valve, t="t_g", limits=("g_min", "g_max"))
        head = (v.flow / b.polygon(gate, _points(p, "gate_", "flow_g", GATES))) ** 2
        flow = b.integrator("flow", 1 - head, t="t_w")
        torque = head * b.polygon(flow, _points(p, "flow_p", "p_mech", FLOWS))
        back = p.r_gate * b.where(of_gate, asked, gate) + b.where(of_gate, 0, x_pe)
        b.output("t_m", torque - p.d_turb * gate * slip)
        b.output("e", b.dead_band(v.p_ref - slip - back, -p.band, p.band, regulated=True))
        for name, value in _limits(p).items():
            b.output(name, value)

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium for the torque that the machine needs."""
        t_m = terminal.signals.get("t_m", 0.0)
        flow = through_points(NumericMath, t_m, _points(p, "p_mech", "flow_p", FLOWS))
        gate = through_points(NumericMath, flow, _points(p, "flow_g", "gate_", GATES))
        back = np.where(p.feedback > 0, 0.0, p.r_pe * t_m)
        rest = {"x_pe": p.r_pe * t_m, "flow": flow, "t_m": t_m, "p_ref": back + p.r_gate * gate}
        return rest | dict.fromkeys(("x_i", "pilot", "gate"), gate) | _limits(p)
