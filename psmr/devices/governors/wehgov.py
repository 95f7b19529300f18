"""The Woodward electric hydro governor of the standard library."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from psmr.dae.declare.component import Component, Parameter, Terms, crossed, flag, nonnegative, positive
from psmr.devices.blocks import error_band, lag, through_points, washout
from psmr.devices.machines.textbook import S_N
from psmr.devices.stabilisers.signals import POWER, electrical_power

GATES, FLOWS = 5, 10
"""Points of the curves of the flow over the gate, and of the power over the flow."""


def _curves() -> dict[str, Parameter]:
    """Return the parameters of both curves."""
    found = {f"gate_{k}": Parameter("pu", f"gate {k} of the flow's curve") for k in range(1, GATES + 1)}
    found |= {f"flow_g{k}": Parameter("pu", f"flow at gate_{k}") for k in range(1, GATES + 1)}
    found |= {f"flow_p{k}": Parameter("pu", f"flow {k} of the power's curve") for k in range(1, FLOWS + 1)}
    return found | {f"p_mech{k}": Parameter("pu", f"power at flow_p{k}") for k in range(1, FLOWS + 1)}


_NAMES = " ".join(_curves())


class WEHGOV(Component):
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

    role = "governor"
    records = (
        "WEHGOV feedback r_gate r_pe t_pe k_p k_i k_d t_d t_p t_dv t_g gtmxop gtmxcl g_max g_min d_turb "
        f"t_w band dpv dicn {_NAMES}",
    )
    states = ("x_pe", "x_d", "x_i", "pilot", "valve", "gate", "flow")
    algebraic = ("t_m", "e", "i_low", "i_high", "p_low", "p_high", "d_low", "d_high")
    inputs = ("omega", "p_ref", *POWER)
    limits = {
        "x_i": ("i_low", "i_high"),
        "pilot": ("p_low", "p_high"),
        "valve": ("d_low", "d_high"),
        "gate": ("g_min", "g_max"),
    }
    lags = {"x_pe": ("t_pe",), "x_d": ("t_d",), "pilot": ("t_p",)}

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
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to a governor without droop, a derivative without lag, crossed limits, curves that fall."""
        if p["r_gate"] == 0 and (p["feedback"] or p["r_pe"] == 0):
            return "r_gate = 0: one of the droops must be > 0, that of the power with feedback = 0"
        if p["t_d"] == 0 != p["k_d"]:
            return f"t_d = 0 and k_d = {p['k_d']:g}: t_d must be > 0 where k_d is not 0"
        if p["gtmxcl"] >= 0:
            return f"gtmxcl = {p['gtmxcl']:g}: must be < 0, the gate closes at this rate"
        for x, y, count in (("gate_", "flow_g", GATES), ("flow_p", "p_mech", FLOWS)):
            for first, second in pairwise(range(1, count + 1)):
                low, high = p[f"{x}{first}"], p[f"{x}{second}"]
                if (second == 2 or high > low) and (high <= low or p[f"{y}{second}"] < p[f"{y}{first}"]):
                    return f"{x}{second} = {high:g}, {y}{second} = {p[f'{y}{second}']:g}: a curve has to rise"
        return crossed(p, ("g_min", "g_max"))

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of governor, valves, gate and water; the torque, the error and limits."""
        slip = v.omega - 1
        of_gate = m.ge(p.feedback, 1)
        washed, d_d = washout(v.e, v.x_d, p.t_d)
        asked = p.k_p * v.e + v.x_i + p.k_d / p.t_d * washed
        back = p.r_gate * m.where(of_gate, asked, v.gate) + m.where(of_gate, 0, v.x_pe)
        power = electrical_power(m, v, p, None)[0]
        head = (v.flow / through_points(m, v.gate, _points(p, "gate_", "flow_g", GATES))) ** 2
        derivatives = (
            lag(p.r_pe * power, v.x_pe, p.t_pe),
            d_d,
            p.k_i * v.e,
            lag(asked, v.pilot, p.t_p),
            (v.pilot - v.gate - v.valve) / p.t_dv,
            v.valve / p.t_g,
            (1 - head) / p.t_w,
        )
        torque = head * through_points(m, v.flow, _points(p, "flow_p", "p_mech", FLOWS))
        residuals = (
            torque - p.d_turb * v.gate * slip - v.t_m,
            error_band(m, v.p_ref - slip - back, -p.band, p.band) - v.e,
            p.g_min - p.dicn - v.i_low,
            p.g_max + p.dicn - v.i_high,
            p.g_min - p.dpv - v.p_low,
            p.g_max + p.dpv - v.p_high,
            p.gtmxcl * p.t_g - v.d_low,
            p.gtmxop * p.t_g - v.d_high,
        )
        return derivatives, residuals, ()

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium for the torque that the machine needs."""
        t_m = terminal.signals.get("t_m", 0.0)
        flow = _at(t_m, p, "p_mech", "flow_p", FLOWS)
        gate = _at(flow, p, "flow_g", "gate_", GATES)
        back = np.where(p.feedback > 0, 0.0, p.r_pe * t_m)
        return {
            "x_pe": p.r_pe * t_m,
            **dict.fromkeys(("x_i", "pilot", "gate"), gate),
            "flow": flow,
            "t_m": t_m,
            "p_ref": back + p.r_gate * gate,
            "i_low": p.g_min - p.dicn,
            "i_high": p.g_max + p.dicn,
            "p_low": p.g_min - p.dpv,
            "p_high": p.g_max + p.dpv,
            "d_low": p.gtmxcl * p.t_g,
            "d_high": p.gtmxop * p.t_g,
        }


def _points(p: Any, x: str, y: str, count: int) -> list[tuple[Any, Any]]:
    """Return the points of a curve."""
    return [(getattr(p, f"{x}{k}"), getattr(p, f"{y}{k}")) for k in range(1, count + 1)]


def _at(value: Any, p: Any, x: str, y: str, count: int) -> Any:
    """Return where a curve that rises has a value: y over x, with x the values of the curve."""
    points = _points(p, x, y, count)
    found = points[0][1]
    for (x_1, y_1), (x_2, y_2) in pairwise(points):
        rises = np.asarray((x_2 > x_1) & (y_2 > y_1))
        part = np.clip((value - x_1) / np.where(rises, x_2 - x_1, 1.0), 0.0, 1.0)
        found = found + np.where(rises, part * (y_2 - y_1), 0.0)
    return found
