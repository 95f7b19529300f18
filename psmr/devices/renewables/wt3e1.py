"""The electrical control of the first generic models of doubly fed wind turbines (type 3)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from psmr.dae.declare.component import Parameter, Terms, crossed, fraction, nonnegative, positive, whole
from psmr.dae.declare.mathematics import NumericMath
from psmr.devices.blocks import lag, limited_where, through_points
from psmr.devices.machines import S_N
from psmr.devices.renewables.electrical import V_LEAST
from psmr.devices.renewables.regca1 import PU
from psmr.devices.renewables.wind_var import WindVar, asked_of, reactive_orders, what_acts
from psmr.devices.renewables.wt3g1 import WT3G1


class WT3E1(WindVar):
    """Electrical control of type 3 wind turbines of the first generation: torque and reactive power.

    ::

        |v_r| - x_c |i| -> 1/(1 + s t_rv) -> v_m      e = (v_ref - v_m)/on_line
        k_iv/s e, limits [q_min, q_max], + k_pv/(1 + s t_v) e -> limits [q_min, q_max]
        -> 1/(1 + s t_fv) -> q_v
        q_cmd = q_v with var_flag = 1, q_ext with 0, q_ext p_e/(1 + s t_p) with -1
        q_cmd -> limits [q_min, q_max] -> - q_e -> k_qi/s, limits [v_min, v_max] -> x_q
        vlt_flag = 1, 2: x_q - |v| -> k_qv/s, limits [e_low, e_high] -> eq_cmd      vlt_flag = 0: eq_cmd = x_q
        [e_low, e_high] = [xiq_min, xiq_max], with vlt_flag = 1 above |v|

        p_e -> polygon (p_min, w_pmin), (0.2, w_p20), (0.4, w_p40), (0.6, w_p60), (p_full, w_p100)
        -> 1/(1 + s t_power) -> omega_ref
        omega_g - omega_ref -> k_pp + k_ip/s -> times omega_g -> - p_ord -> 1/t_fp -> limits [rp_min, rp_max]
        -> 1/s, limits [p_min, p_max] -> p_ord      p_ord/|v| -> at most i_p_max -> ip_cmd

    With k_qi = 0 x_q rests at its start, and nothing before it acts. v_r is the voltage of the bus that is
    regulated, omega_g the speed of the generator, which is held where
    the plant has no turbine. Powers and ip_cmd are here per unit on the rating of the turbines on line,
    on_line turbines p_rated; the polygon is constant beyond its ends. Source: WECC, Wind Power Plant Dynamic
    Modeling Guide (2010), WT3E; PSS/E, Model Library, WT3E1; OpenIPSL and InterPSS, WT3E1, for the order of
    the values too. They differ on the first point of the polygon: p_min in OpenIPSL, 0 in InterPSS.
    """

    role = "electrical_control"
    records = (
        "WT3E1 bus_v var_flag vlt_flag -from_bus -to_bus -circuit t_fv k_pv k_iv x_c t_fp k_pp k_ip p_max "
        "p_min q_max q_min i_p_max t_rv rp_max rp_min t_power k_qi v_min v_max k_qv xiq_min xiq_max t_v t_p "
        "on_line w_pmin w_p20 w_p40 w_p60 p_full w_p100",
    )
    shared = ("s_n", "turbines", "p_rated")
    states = (*WindVar.states, "x_e", "omega_ref", "x_t", "p_ord")
    algebraic = ("ip_cmd", "eq_cmd", "e_low", "e_high")
    inputs = (*WindVar.inputs[:-2], "omega_g", "v_ref")
    limits = {**WindVar.limits, "x_e": ("e_low", "e_high"), "p_ord": ("p_min", "p_max")}
    lags = {**WindVar.lags, "omega_ref": ("t_power",)}
    integrals = {**WindVar.integrals, "x_e": "vlt_flag"}
    together = (("x_e", "eq_cmd", "e_low", "e_high"),)

    s_n, turbines, p_rated = S_N, WT3G1.turbines, WT3G1.p_rated
    var_flag = Parameter("code", "1: voltage control, 0: reactive power, -1: power factor", whole(-1, 1))
    vlt_flag = Parameter(
        "code", "second loop: 1 limits above the voltage, 2 fixed limits, 0 none", whole(0, 2)
    )
    x_c = Parameter(PU, "reactance of the line drop compensation", nonnegative)
    t_fp = Parameter("s", "time constant of the power order", positive)
    k_pp = Parameter("pu", "proportional gain of the speed control", nonnegative)
    k_ip = Parameter("pu/s", "integral gain of the speed control", positive)
    p_max = Parameter(PU, "upper limit of the power order")
    p_min = Parameter(PU, "lower limit of the power order")
    i_p_max = Parameter(PU, "limit of the active current", positive)
    rp_max = Parameter(f"{PU}/s", "largest rate at which the power order rises", positive)
    rp_min = Parameter(f"{PU}/s", "largest rate at which it falls, below zero")
    t_power = Parameter("s", "time constant of the speed reference", nonnegative)
    k_qv = Parameter("1/s", "integral gain of the second loop", nonnegative)
    xiq_min = Parameter("pu", "lower limit of the second loop")
    xiq_max = Parameter("pu", "upper limit of the second loop")
    on_line = Parameter("1", "part of the turbines that are on line", fraction)
    w_pmin = Parameter("pu", "speed at the least power", positive)
    w_p20 = Parameter("pu", "speed at 20 % of the power", positive)
    w_p40 = Parameter("pu", "speed at 40 % of the power", positive)
    w_p60 = Parameter("pu", "speed at 60 % of the power", positive)
    p_full = Parameter("pu", "least power with full speed", positive)
    w_p100 = Parameter("pu", "full speed", positive)

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to limits, a loop without gain, no turbines on line, a polygon that does not rise."""
        if p["on_line"] == 0:
            return "on_line = 0: must be > 0, or no turbine is on line"
        if p["vlt_flag"] and p["k_qv"] == 0:
            return "k_qv = 0: must be > 0 where vlt_flag is not 0"
        if p["p_min"] >= POINTS[0] or p["p_full"] <= POINTS[-1]:
            return (
                f"p_min = {p['p_min']:g} and p_full = {p['p_full']:g}: must be below {POINTS[0]:g} and above"
                f" {POINTS[-1]:g}, between which the other speeds are given"
            )
        limits = (("p_min", "p_max"), ("rp_min", "rp_max"), ("xiq_min", "xiq_max"))
        return crossed(p, *limits) or WindVar.conflict(p)

    @staticmethod
    def shape(*choice: int) -> Mapping[str, Any]:
        """Return the variables of the controls that var_flag and k_qi leave."""
        return what_acts(WT3E1, *choice)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives, and the residuals of commands and limits."""
        base, magnitude = _base(m, p), m.sqrt(v.v_re**2 + v.v_im**2)
        floored = m.max(magnitude, V_LEAST)
        power, reactive = v.p_e / base, v.q_e / base
        # The small number keeps the root differentiable at zero; it is far below the rounding of any current.
        dropped = p.x_c * m.sqrt(power**2 + reactive**2 + 1e-30) / floored
        held = m.sqrt(v.v_re_r**2 + v.v_im_r**2) - dropped
        orders = reactive_orders(m, v, p, (power, reactive), held, m.le(p.var_flag, -1), p.on_line)
        above = m.where(m.le(p.vlt_flag, 1), magnitude, 0)
        looping = m.ge(p.vlt_flag, 1)
        error = v.omega_g - v.omega_ref
        torque = v.x_t + p.k_pp * error
        derivatives = (
            *orders,
            p.k_qv * (v.x_q - magnitude),
            lag(through_points(m, power, _points(p)), v.omega_ref, p.t_power),
            p.k_ip * error,
            m.clip((torque * v.omega_g - v.p_ord) / p.t_fp, p.rp_min, p.rp_max),
        )
        residuals = (
            base * m.min(v.p_ord / floored, p.i_p_max) - v.ip_cmd,
            m.where(looping, limited_where(m, looping, v.x_e, v.e_low, v.e_high), v.x_q) - v.eq_cmd,
            above + p.xiq_min - v.e_low,
            above + p.xiq_max - v.e_high,
        )
        return derivatives, residuals, ()

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium without limits, for the converter's commands."""
        known, voltage, base = terminal.signals, np.abs(terminal.voltage), _base(NumericMath, p)
        power, q, e_q = known.get("p_e", 0.0) / base, known.get("q_e", 0.0) / base, known.get("eq_cmd", 1.0)
        speed = through_points(NumericMath, power, _points(p))
        order = known.get("ip_cmd", 0.0) * voltage / base
        above = np.where(p.vlt_flag <= 1, voltage, 0.0)
        held = voltage - p.x_c * np.hypot(power, q) / voltage
        return {
            **asked_of(held, power, q, p.var_flag < 0, p),
            "x_q": np.where(p.vlt_flag > 0, voltage, e_q),
            "x_e": e_q,
            "eq_cmd": e_q,
            "omega_ref": speed,
            "omega_g": speed,
            "x_t": order / speed,
            "p_ord": order,
            "ip_cmd": known.get("ip_cmd", 0.0),
            "e_low": above + p.xiq_min,
            "e_high": above + p.xiq_max,
        }


POINTS = (0.2, 0.4, 0.6)
"""Powers of the polygon that the model fixes."""


def _points(p: Any) -> tuple[tuple[Any, Any], ...]:
    speeds = p.w_p20, p.w_p40, p.w_p60
    return ((p.p_min, p.w_pmin), *zip(POINTS, speeds, strict=True), (p.p_full, p.w_p100))


def _base(m: Any, p: Any) -> Any:
    """Return the rating of the turbines on line by the base of the converter."""
    none = m.le(p.p_rated, 0)
    return p.on_line * m.where(none, 1, p.turbines * p.p_rated / p.s_n)
