"""Wind turbines of type 4, WT4G1 and WT4E1, and the reactive control that those of type 3 have too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from psmr.dae.declare.component import (
    Component,
    Parameter,
    Terms,
    crossed,
    flag,
    improper,
    nonnegative,
    positive,
    whole,
)
from psmr.devices.blocks import error_at_rest, lag, remaining, washout
from psmr.devices.renewables.converters import NONE, PU, REGCA1, current_source, without_states
from psmr.devices.renewables.electrical import V_LEAST


class WindVar(Component):
    """Parameters and variables of a voltage control, a power-factor control and a control of the power.

    The set-point is a voltage v_ref with var_flag = 1, otherwise a reactive power or the tangent of the power
    factor's angle. With k_qi = 0 nothing of these acts: x_q rests, and is the set-point itself.
    """

    states: ClassVar[tuple[str, ...]] = ("v_m", "x_v", "x_i", "q_v", "p_f", "x_q")
    inputs: ClassVar[tuple[str, ...]] = (
        "v_re",
        "v_im",
        "v_re_r",
        "v_im_r",
        "p_e",
        "q_e",
        "p_ref",
        "v_ref",
    )
    buses = {"bus_v": ("v_re_r", "v_im_r")}
    limits: ClassVar[Mapping[str, tuple[str | None, str | None]]] = {
        "x_i": ("q_min", "q_max"),
        "x_q": ("v_min", "v_max"),
    }
    lags: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "v_m": ("t_rv",),
        "x_v": ("t_v",),
        "q_v": ("t_fv",),
        "p_f": ("t_p",),
    }
    integrals: ClassVar[Mapping[str, Any]] = {"x_i": "k_iv"}
    structural = ("var_flag",)
    switched = ("k_qi",)

    bus_v = Parameter(
        "number", "bus whose voltage is regulated, 0 for the plant's own", whole(0, 999999), 0.0
    )
    t_fv = Parameter("s", "time constant of the filter behind the voltage control", nonnegative)
    k_pv = Parameter(f"{PU} per pu", "proportional gain of the voltage control", nonnegative)
    k_iv = Parameter(f"{PU} per pu and s", "integral gain of the voltage control", nonnegative)
    q_max = Parameter(PU, "upper limit of the reactive power that is asked for")
    q_min = Parameter(PU, "lower limit of the reactive power that is asked for")
    t_rv = Parameter("s", "time constant of the voltage filter", nonnegative)
    k_qi = Parameter(
        "pu per pu and s", "integral gain of the reactive-power control, 0 for none", nonnegative
    )
    v_min = Parameter("pu", "lower limit of the voltage that is asked for")
    v_max = Parameter("pu", "upper limit of the voltage that is asked for")
    t_v = Parameter("s", "time constant of the proportional part of the voltage control", nonnegative)
    t_p = Parameter("s", "time constant of the power in the power-factor control", nonnegative)

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to crossed limits and to a voltage control without a gain."""
        if p["var_flag"] == 1 and p["k_qi"] and p["k_pv"] == 0 == p["k_iv"]:
            return "k_pv = k_iv = 0: one of them must be > 0 where var_flag is 1"
        return crossed(p, ("q_min", "q_max"), ("v_min", "v_max"))


OF_VOLTAGE = ("v_m", "x_v", "x_i", "q_v")
"""States of the voltage control."""

OF_POWER = (*OF_VOLTAGE, "p_f", "x_q")
"""States of all of it."""


def acting_variables(kind: type[WindVar], var_flag: int, on: int) -> Mapping[str, Any]:
    """Return the variables of a control without voltage control, or without what k_qi = 0 leaves out.

    The set-point is q_ext, or x_q.
    """
    if on and var_flag == 1:
        return {}
    left_out, asked = (OF_VOLTAGE, "q_ext") if on else (OF_POWER, "x_q")
    return {"inputs": (*kind.inputs[:-1], asked), **without_states(kind, left_out)}


def reactive_orders(
    m: Any, v: Any, p: Any, power: tuple[Any, Any], held: Any, by_factor: Any, part: Any = 1
) -> Terms:
    """Return the derivatives of the states of `WindVar`, of those that act.

    `power`: active and reactive power; `held`: what the voltage control holds, before its filter;
    `by_factor`: whether the set-point q_ext is a tangent; `part`: part of the plant that is on line, by which
    the voltage's error is divided.
    """
    p_e, q_e = power
    voltage_control: Terms = ()
    if not hasattr(v, "p_f"):
        return ()
    if hasattr(v, "q_ext"):
        command = v.q_ext * m.where(by_factor, v.p_f, 1)
    else:
        error, command = (v.v_ref - v.v_m) / part, v.q_v
        voltage_control = (
            lag(held, v.v_m, p.t_rv),
            lag(p.k_pv * error, v.x_v, p.t_v),
            p.k_iv * error,
            lag(m.clip(v.x_i + v.x_v, p.q_min, p.q_max), v.q_v, p.t_fv),
        )
    limited = m.clip(command, p.q_min, p.q_max)
    return (*voltage_control, lag(p_e, v.p_f, p.t_p), p.k_qi * (limited - q_e))


def rest_of_control(held: Any, power: Any, q: Any, by_factor: Any, p: Any) -> dict[str, Any]:
    """Return the states and set-points at rest for a voltage that is held and powers."""
    error, factor = error_at_rest(q, p.k_pv, p.k_iv), np.where(by_factor, power, 1.0)
    return {
        "v_m": held,
        "x_v": p.k_pv * error,
        "x_i": q - p.k_pv * error,
        "q_v": q,
        "p_f": power,
        "v_ref": held + error,
        "q_ext": q / np.where(factor == 0, 1.0, factor),
    }


class WT4G1(REGCA1):
    """Converter of type 4 wind turbines of the first generation: REGCA1 with a lag for each current.

    ::

        |v| -> 1/(1 + s t_fltr) -> v_lv -> polygon (zerox, 0), (brkpt, lvpl1) -> lvpl
        ip_cmd -> 1/(1 + s t_g), limit lvpl, |i_p| grows by at most rrpwr -> i_p
        iq_cmd -> 1/(1 + s t_iq) -> i_q

        active   = i_p polygon(|v|; (0.4, 0), (0.8, 1))
        reactive = i_q - max(k_hv (|v| - v_olim), 0)
        i_re + j i_im = (active - j reactive) (v_re + j v_im)/|v|

    t_g, zerox, brkpt, lvpl1, v_olim, k_hv, rrpwr and t_fltr are the record's TIPCMD, VLVPL1, VLVPL2, GLVPL,
    VHVRCR, CURHVRCR, RIP_LVPL and T_LVPL. Public texts differ on CURHVRCR: a gain here, as in InterPSS, which
    was compared with PSS/E; the reactive current above VHVRCR in OpenIPSL. Source: PSS/E, Model Library,
    WT4G1; OpenIPSL, InterPSS and PowerWorld, WT4G1; for the order of the values OpenIPSL's verification
    script.
    """

    role = "converter"
    records = ("WT4G1 t_iq t_g zerox brkpt lvpl1 v_olim k_hv rrpwr t_fltr",)
    lags = {**REGCA1.lags, "i_q": ("t_iq",)}

    t_iq = Parameter("s", "time constant of the reactive current", nonnegative)
    lvplsw = Parameter("1", "1 with low-voltage power logic, 0 without", flag, 1.0)
    lvpnt1 = Parameter("pu", "voltage above which the whole active current flows", None, 0.8)
    lvpnt0 = Parameter("pu", "voltage below which no active current flows", None, 0.4)
    i_olim = Parameter(PU, "lower limit of the reactive current at high voltage", None, -NONE)
    iqrmax = Parameter(f"{PU}/s", "largest rate at which reactive current rises", positive, NONE)
    iqrmin = Parameter(f"{PU}/s", "largest rate at which it falls, below zero", None, -NONE)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives, the residuals of limit and powers, and the current into the bus."""
        return current_source(m, v, p, p.t_iq)


LOW_VOLTAGE = 1.6
"""Reactive current in pu that the limit in terms of the voltage allows at a voltage of zero."""


class WT4E1(WindVar):
    """Electrical control of type 4 wind turbines of the first generation.

    ::

        |v_r| -> 1/(1 + s t_rv) -> v_m      e = v_ref - v_m
        k_iv/s e, limits [q_min, q_max], + k_pv/(1 + s t_v) e -> limits [q_min, q_max]
        -> 1/(1 + s t_fv) -> q_v
        q_cmd = q_v with var_flag = 1; else q_ext, with pf_flag = 1 q_ext p_e/(1 + s t_p)
        q_cmd -> limits [q_min, q_max] -> - q_e -> k_qi/s, limits [v_min, v_max] -> - |v|
        -> k_vi/s, limits [-iq_max, iq_max] -> iq_cmd

        p_e/(1 + s t_power) - p_ref - s k_f/(1 + s t_f) dp -> k_pp + k_ip/s, limits [dp_min, dp_max] -> dp
        (p_ref - dp)/|v| -> at most ip_max -> ip_cmd

        iq_v = (q_max - 1.6)(|v| - 1) + q_max
        pq_flag = 0: iq_max = min(i_td, iq_hl, iq_v),    ip_max = min(sqrt(i_td^2 - iq_cmd^2), ip_hl, i_p_max)
        pq_flag = 1: iq_max = min(sqrt(i_td^2 - ip_cmd^2), iq_hl, iq_v),    ip_max = min(i_td, ip_hl, i_p_max)

    With k_qi = 0 x_q rests at its start, and nothing before it acts. v_r is the voltage of the bus that is
    regulated. The limits of the control of dp hold for its integral
    part, without windup, and for its output. Source: PSS/E, Model Library, WT4E1; OpenIPSL and InterPSS,
    WT4E1 (which differ on the sign of dp: here, as in OpenIPSL, it takes power away where there is too much);
    for the order of the values OpenIPSL's verification script.
    """

    role = "electrical_control"
    records = (
        "WT4E1 bus_v pf_flag var_flag pq_flag t_fv k_pv k_iv k_pp k_ip k_f t_f q_max q_min i_p_max t_rv "
        "dp_max dp_min t_power k_qi v_min v_max k_vi t_v t_p i_td ip_hl iq_hl",
    )
    states = (*WindVar.states, "x_iq", "p_m", "x_p", "x_f")
    algebraic = ("ip_cmd", "iq_cmd", "ip_max", "iq_max", "iq_min", "dp")
    limits = {**WindVar.limits, "x_iq": ("iq_min", "iq_max"), "x_p": ("dp_min", "dp_max")}
    lags = {**WindVar.lags, "p_m": ("t_power",), "x_f": ("t_f",)}
    integrals = {**WindVar.integrals, "x_p": "k_ip"}
    together = (("x_iq", "ip_cmd", "iq_cmd", "ip_max", "iq_max", "iq_min"),)

    pf_flag = Parameter("1", "1: q_ext is the tangent of the power factor's angle", flag)
    var_flag = Parameter("1", "1: voltage control, 0: reactive power or power factor", whole(0, 1))
    pq_flag = Parameter("1", "priority of the current limit: 1 active, 0 reactive", flag)
    k_pp = Parameter("1", "proportional gain of the power control", nonnegative)
    k_ip = Parameter("1/s", "integral gain of the power control", nonnegative)
    k_f = Parameter("s", "gain of the rate feedback", nonnegative)
    t_f = Parameter("s", "time constant of the rate feedback", nonnegative)
    i_p_max = Parameter(PU, "limit of the active current", positive)
    dp_max = Parameter(PU, "upper limit of the power control", positive)
    dp_min = Parameter(PU, "lower limit of the power control")
    t_power = Parameter("s", "time constant of the power filter", nonnegative)
    k_vi = Parameter(f"{PU} per pu and s", "integral gain of the voltage loop", positive)
    i_td = Parameter(PU, "limit of the converter's current", positive)
    ip_hl = Parameter(PU, "hard limit of the active current", positive)
    iq_hl = Parameter(PU, "hard limit of the reactive current", positive)

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to a feedback without its lag and to crossed limits."""
        return improper(p, ("k_f", "t_f")) or crossed(p, ("dp_min", "dp_max")) or WindVar.conflict(p)

    @staticmethod
    def shape(*choice: int) -> Mapping[str, Any]:
        """Return the variables of the controls that var_flag and k_qi leave."""
        return acting_variables(WT4E1, *choice)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives, and the residuals of commands, limits and power control."""
        magnitude = m.sqrt(v.v_re**2 + v.v_im**2)
        regulated = m.sqrt(v.v_re_r**2 + v.v_im_r**2)
        orders = reactive_orders(m, v, p, (v.p_e, v.q_e), regulated, m.ge(p.pf_flag, 1))
        washed, d_f = washout(v.dp, v.x_f, p.t_f)
        error = v.p_m - v.p_ref - p.k_f / p.t_f * washed
        active_first = m.ge(p.pq_flag, 1)
        by_voltage = (p.q_max - LOW_VOLTAGE) * (magnitude - 1) + p.q_max
        room_p = m.where(active_first, p.i_td, remaining(m, p.i_td, v.iq_cmd))
        room_q = m.where(active_first, remaining(m, p.i_td, v.ip_cmd), p.i_td)
        residuals = (
            m.min((v.p_ref - v.dp) / m.max(magnitude, V_LEAST), v.ip_max) - v.ip_cmd,
            m.clip(v.x_iq, v.iq_min, v.iq_max) - v.iq_cmd,
            m.min(room_p, m.min(p.ip_hl, p.i_p_max)) - v.ip_max,
            m.min(room_q, m.min(p.iq_hl, by_voltage)) - v.iq_max,
            -v.iq_max - v.iq_min,
            m.clip(p.k_pp * error + v.x_p, p.dp_min, p.dp_max) - v.dp,
        )
        return (
            (*orders, p.k_vi * (v.x_q - magnitude), lag(v.p_e, v.p_m, p.t_power), p.k_ip * error, d_f),
            residuals,
            (),
        )

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium without limits, for the converter's commands."""
        known, voltage = terminal.signals, np.abs(terminal.voltage)
        power, i_p, i_q = known.get("p_e", 0.0), known.get("ip_cmd", 0.0), known.get("iq_cmd", 0.0)
        most = np.minimum(np.minimum(p.i_td, p.iq_hl), (p.q_max - LOW_VOLTAGE) * (voltage - 1) + p.q_max)
        excess = error_at_rest(0.0, p.k_pp, p.k_ip)
        return {
            **rest_of_control(voltage, power, known.get("q_e", 0.0), p.pf_flag > 0, p),
            "x_q": voltage,
            "x_iq": i_q,
            "iq_cmd": i_q,
            "ip_cmd": i_p,
            "p_m": power,
            "x_p": excess,
            "ip_max": np.minimum(p.ip_hl, p.i_p_max),
            "iq_max": most,
            "iq_min": -most,
            "p_ref": power,
        }
