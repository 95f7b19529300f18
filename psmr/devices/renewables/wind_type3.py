"""Wind turbines of type 3: WT3G1, WT3G2 and WT3E1."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from psmr.dae.declare.component import (
    Component,
    NumericMath,
    Parameter,
    Terms,
    crossed,
    fraction,
    nonnegative,
    positive,
    whole,
)
from psmr.devices.blocks import lag, limited_where, rotate, through_points
from psmr.devices.machines.textbook import F_N, S_BASE, S_N
from psmr.devices.renewables.converters import NONE, PU, V_FLOOR, without_states
from psmr.devices.renewables.electrical import V_LEAST
from psmr.devices.renewables.wind_type4 import WindVar, acting_variables, reactive_orders, rest_of_control

T_CONVERTER = 0.02
"""Time constant in s of both commands, which the model fixes."""


class WT3G1(Component):
    """Generator and converter of type 3 wind turbines of the first generation.

    ::

        ip_cmd -> 1/(1 + 0.02 s) -> i_p      eq_cmd -> 1/(1 + 0.02 s) -> e_q
        v_y = Im(v exp(-j theta_pll))
        k_pll v_y/(2 pi f_n) -> 1 + k_ipll/s, limits [-p_llmax, p_llmax] -> 2 pi f_n/s -> theta_pll
        i_re + j i_im = (i_p - j e_q/x_eq) exp(j theta_pll) - v/(j x_eq)

    e_q is the voltage behind x_eq: a higher one gives more reactive power. The limits of the phase-locked
    loop hold for its integral part, without windup, and for its output; with k_pll = 0 there is none, and
    theta_pll is the phase of v. The number of turbines and their rating in MW are the base of the electrical
    control. Source: WECC, Wind Power Plant Dynamic Modeling Guide
    (2010), WT3G; PSS/E, Model Library, WT3G1; OpenIPSL and InterPSS, WT3G1.
    """

    role = "converter"
    records = ("WT3G1 turbines x_eq k_pll k_ipll p_llmax p_rated",)
    grid = "follows"
    states = ("i_p", "e_q", "x_pll", "theta_pll")
    algebraic = ("p_e", "q_e", "p_llmin")
    inputs = ("v_re", "v_im", "ip_cmd", "eq_cmd")
    outputs = ("i_re", "i_im")
    limits = {"x_pll": ("p_llmin", "p_llmax")}
    integrals = {"x_pll": "k_ipll"}
    switched = ("k_pll",)
    together = (("i_p", "e_q"),)
    units = {"theta_pll": "rad"}

    s_n, s_base, f_n = S_N, S_BASE, F_N
    turbines = Parameter("number", "number of turbines", positive)
    x_eq = Parameter(PU, "equivalent reactance of the generator", positive)
    k_pll = Parameter("rad/s per pu", "gain of the phase-locked loop, 0 for none", nonnegative)
    k_ipll = Parameter("1/s", "integral gain of the phase-locked loop by its gain", nonnegative)
    p_llmax = Parameter("pu", "limit of the phase-locked loop, a deviation of speed", positive)
    p_rated = Parameter("MW", "rating of a turbine, 0 for the converter's base", nonnegative)

    @staticmethod
    def shape(*choice: int) -> Mapping[str, Any]:
        """Return the variables without the phase-locked loop where k_pll is 0."""
        return without_loop(WT3G1, *choice)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives, the residuals of powers and limit, and the current into the bus."""
        commands = lag(v.ip_cmd, v.i_p, T_CONVERTER), lag(v.eq_cmd, v.e_q, T_CONVERTER)
        loop, residuals, injection = doubly_fed(m, v, p, v.i_p, v.e_q / p.x_eq, p.x_eq)
        return (*commands, *loop), residuals, injection

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium."""
        voltage = np.abs(terminal.voltage)
        i = terminal.current * p.s_base / p.s_n * voltage / terminal.voltage
        e_q = voltage - p.x_eq * i.imag
        return {
            "i_p": i.real,
            "ip_cmd": i.real,
            "e_q": e_q,
            "eq_cmd": e_q,
            "theta_pll": np.angle(terminal.voltage),
            "p_e": voltage * i.real,
            "q_e": -voltage * i.imag,
            "p_llmin": -p.p_llmax,
        }


LOOP = ("x_pll", "theta_pll")
"""States of the phase-locked loop."""


def without_loop(kind: type[Component], on: int) -> Mapping[str, Any]:
    """Return the variables of a converter without phase-locked loop."""
    own = tuple(name for name in kind.algebraic if name != "p_llmin")
    return {} if on else {"algebraic": own, **without_states(kind, LOOP)}


def doubly_fed(
    m: Any, v: Any, p: Any, active: Any, reactive: Any, x_eq: Any
) -> tuple[Terms, Terms, tuple[Any, Any]]:
    """Return the equations of a source active - j reactive in the frame of the loop, beside 1/(j x_eq).

    These are the derivatives of the loop, the residuals of the powers and of its limit, and the current.
    """
    loop: Terms = ()
    limit: Terms = ()
    if hasattr(v, "theta_pll"):
        base_speed = 2 * np.pi * p.f_n
        _, v_y = rotate(m, v.v_re, v.v_im, v.theta_pll)
        slip = p.k_pll * v_y / base_speed
        loop = p.k_ipll * slip, base_speed * m.clip(slip + v.x_pll, -p.p_llmax, p.p_llmax)
        limit = (-p.p_llmax - v.p_llmin,)
        c, s = m.cos(v.theta_pll), m.sin(v.theta_pll)
    else:
        size = m.max(m.sqrt(v.v_re**2 + v.v_im**2), V_FLOOR)
        c, s = v.v_re / size, v.v_im / size
    i_re = active * c + reactive * s - v.v_im / x_eq
    i_im = active * s - reactive * c + v.v_re / x_eq
    power, susceptive = v.v_re * i_re + v.v_im * i_im, v.v_im * i_re - v.v_re * i_im
    base = p.s_n / p.s_base
    return loop, (power - v.p_e, susceptive - v.q_e, *limit), (base * i_re, base * i_im)


class WT3G2(Component):
    """Generator and converter of type 3 wind turbines: WT3G1 with what WT4G1 does at low and high voltage.

    ::

        |v| -> 1/(1 + s t_fltr) -> v_lv -> polygon (zerox, 0), (brkpt, lvpl1) -> lvpl
        ip_cmd -> 1/(1 + s t_g), limit lvpl, |i_p| grows by at most rrpwr -> i_p
        eq_cmd -> 1/(1 + s t_eq) -> e_q
        active = i_p polygon(|v|; (0.4, 0), (0.8, 1)),   reactive = e_q/x_e - max(k_hv (|v| - v_olim), 0)
        i_re + j i_im = (active - j reactive) exp(j theta_pll) - v/(j x_e)

    The phase-locked loop is that of WT3G1, the reactance x_e that of the generator in the network file (ZX).
    t_eq, t_g, zerox, brkpt, lvpl1, v_olim, k_hv, rrpwr and t_fltr are the record's TEQCMD, TIPCMD, VLVPL1,
    VLVPL2, GLVPL, VHVRCR, CURHVRCR, RIP_LVPL and T_LVPL. Public texts differ on CURHVRCR: a gain here, as in
    InterPSS, which was compared with PSS/E; a limit of the reactive current in STEPS. Source: PSS/E, Model
    Library, WT3G2; InterPSS and STEPS, WT3G2, for the order of the values STEPS.
    """

    role = "converter"
    records = (
        "WT3G2 turbines t_eq t_g k_pll k_ipll p_llmax p_rated zerox brkpt lvpl1 v_olim k_hv rrpwr t_fltr",
    )
    grid = "follows"
    states: ClassVar[tuple[str, ...]] = ("i_p", "e_q", "v_lv", "x_pll", "theta_pll")
    algebraic: ClassVar[tuple[str, ...]] = ("lvpl", "p_e", "q_e", "p_llmin")
    inputs, outputs = WT3G1.inputs, WT3G1.outputs
    limits = {"i_p": (None, "lvpl"), **WT3G1.limits}
    lags = {"i_p": ("t_g",), "e_q": ("t_eq",), "v_lv": ("t_fltr",)}
    integrals, switched, units = WT3G1.integrals, WT3G1.switched, WT3G1.units
    together = (("i_p", "e_q", "v_lv", "lvpl"),)

    s_n, s_base, f_n = S_N, S_BASE, F_N
    turbines, p_rated = WT3G1.turbines, WT3G1.p_rated
    k_pll, k_ipll, p_llmax = WT3G1.k_pll, WT3G1.k_ipll, WT3G1.p_llmax
    x_e = Parameter(PU, "equivalent reactance of the generator", positive)
    t_eq = Parameter("s", "time constant of the voltage behind x_e", nonnegative)
    t_g = Parameter("s", "time constant of the active current", nonnegative)
    zerox = Parameter("pu", "voltage below which the low-voltage power logic allows no current", nonnegative)
    brkpt = Parameter("pu", "voltage above which it allows lvpl1")
    lvpl1 = Parameter(PU, "largest active current that it allows", nonnegative)
    v_olim = Parameter("pu", "voltage above which reactive current is taken away", positive)
    k_hv = Parameter(f"{PU} per pu", "gain of the reactive current taken away", nonnegative)
    rrpwr = Parameter(f"{PU}/s", "largest rate at which the active current grows", positive)
    t_fltr = Parameter("s", "time constant of the voltage filter", nonnegative)

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to a polygon without width and to a rate limit without a lag."""
        if p["t_g"] == 0 and p["rrpwr"] < NONE:
            return f"t_g = 0 and rrpwr = {p['rrpwr']:g}: a rate needs a lag; t_g must be > 0"
        return crossed(p, ("zerox", "brkpt"))

    @staticmethod
    def shape(*choice: int) -> Mapping[str, Any]:
        """Return the variables without the phase-locked loop where k_pll is 0."""
        return without_loop(WT3G2, *choice)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives, the residuals of limits and powers, and the current into the bus."""
        voltage = m.sqrt(v.v_re**2 + v.v_im**2)
        active = v.i_p * through_points(m, voltage, ((0.4, 0), (0.8, 1)))
        reactive = v.e_q / p.x_e - m.max(p.k_hv * (voltage - p.v_olim), 0)
        ceiling = through_points(m, v.v_lv, ((p.zerox, 0), (p.brkpt, p.lvpl1)))
        generating = m.ge(v.i_p, 0)
        fastest = m.where(generating, -NONE / p.t_g, -p.rrpwr), m.where(generating, p.rrpwr, NONE / p.t_g)
        loop, residuals, injection = doubly_fed(m, v, p, active, reactive, p.x_e)
        derivatives = (
            m.clip(lag(v.ip_cmd, v.i_p, p.t_g), *fastest),
            lag(v.eq_cmd, v.e_q, p.t_eq),
            lag(voltage, v.v_lv, p.t_fltr),
            *loop,
        )
        return derivatives, (ceiling - v.lvpl, *residuals), injection

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium without limits."""
        voltage = np.abs(terminal.voltage)
        i = terminal.current * p.s_base / p.s_n * voltage / terminal.voltage
        i_p = i.real / np.clip((voltage - 0.4) / 0.4, 0.01, 1.0)
        e_q = voltage - p.x_e * (i.imag - np.maximum(p.k_hv * (voltage - p.v_olim), 0.0))
        return {
            "i_p": i_p,
            "ip_cmd": i_p,
            "e_q": e_q,
            "eq_cmd": e_q,
            "v_lv": voltage,
            "theta_pll": np.angle(terminal.voltage),
            "p_e": voltage * i.real,
            "q_e": -voltage * i.imag,
            "p_llmin": -p.p_llmax,
            "lvpl": p.lvpl1 * np.clip((voltage - p.zerox) / (p.brkpt - p.zerox), 0.0, 1.0),
        }


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
        return acting_variables(WT3E1, *choice)

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
            **rest_of_control(held, power, q, p.var_flag < 0, p),
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
