"""The grid-forming converter of the generic models that behaves as a virtual synchronous machine.

The grid-forming converter of the generic models with a grid-forming and a grid-following branch.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from psmr.dae.declare.component import (
    Component,
    NumericMath,
    Parameter,
    Terms,
    crossed,
    flag,
    fraction,
    nonnegative,
    positive,
)
from psmr.devices.blocks import dead_band, gate, lag, limit_magnitude, limited_where, remaining, rotate
from psmr.devices.converters.following import PU
from psmr.devices.machines.textbook import F_N, S_BASE, S_N
from psmr.devices.renewables.converters import NONE, V_0

SPEED = "pu speed"

VALUES = (
    "w_flag vdrp_flag qv_flag pq_flag f_flag es_flag m_q k_pv k_iv m_p dw_max dw_min k_ppll k_ipll dwpll_max "
    "dwpll_min t_p h d_1 d_2 w_d i_ss k_f k_i i_fault t_pf t_qf t_vf t_if k_e v_frz"
)
"""The record's values: the library's REGFMB1, and REGFMB1U as a user-written model."""


class REGFMB1(Component):
    """Grid-forming converter: a virtual synchronous machine behind a reactance, its current limited.

    ::

        p, q, |v|, and i_d, i_q in the frame of the phase-locked loop -> lags t_pf, t_qf, t_vf, t_if
        v_q = Im(v exp(-j theta_pll)) -> k_ppll + k_ipll/s, limits [dwpll_min, dwpll_max] -> dw_pll
        2 pi f_n dw_pll -> 1/s -> theta_pll      (both rest while |v| < v_frz)

        p_cmd = p_ref - f_flag/m_p 1/(1 + s t_p) (dw, with w_flag = 1 dw_pll)
        p_cmd - p_m - d_1 dw - d_2 s/(s + w_d) dw -> 1/(2 h s), limits [dw_min, dw_max] -> dw
        2 pi f_n dw -> 1/s, limits theta_pll + [-es_flag (least), most] -> theta
        most  = asin(x_e i_ss) less k_i/s (i_dm - i_d_max), at least 0 and at most asin(x_e i_ss)
        least = asin(x_e i_ss) less k_i/s (-k_e i_d_max - i_dm), likewise

        pq_flag = 1: i_d_max = k_f i_ss,    i_q_max = sqrt(i_ss^2 - i_dm^2)
        pq_flag = 0: i_q_max = k_f i_ss,    i_d_max = sqrt(i_ss^2 - i_qm^2)
        e_max, e_min = |v_m +- x_e i_q_max + j x_e i_dm|
        qv_flag = 0: v_0 + m_q (q_ext - q_m) -> v_cmd
        qv_flag = 1: v_ref - m_q (q_m, with vdrp_flag = 1 i_qm) -> v_cmd
        v_cmd - v_m -> k_pv + k_iv/s, limits [e_min, e_max] -> e

        i_re + j i_im = (e exp(j theta) - v)/(r_e + j x_e), its magnitude at most i_fault, its angle kept

    i_q is positive where the converter gives reactive power. The limits of a PI control hold for its integral
    part, without windup, and for its output; the phase-locked loop slows down over the last 1e-3 pu above
    v_frz. i_fault = 0 is none. v_0 is the power flow's voltage. The impedance is that of the generator in the
    network file (ZR + j ZX). Source: W. Du et al., Virtual Synchronous Machine Grid-Forming Inverter Model
    Specification (REGFM_B1), NREL/TP-5D00-90260 (2024), approved by the WECC; PowerWorld, REGFM_B1; for the
    order of the values a script of PNNL that sets them in PSS/E (REGFMB1U).
    """

    role = "converter"
    records = (f"REGFMB1 {VALUES}", f"REGFMB1U {VALUES}")
    grid = "forms"
    states = (
        "theta",
        "dw",
        "x_droop",
        "x_d",
        "theta_pll",
        "x_pll",
        "less_most",
        "less_least",
        "p_m",
        "q_m",
        "v_m",
        "i_dm",
        "i_qm",
        "x_v",
    )
    algebraic = ("p_e", "q_e", "theta_low", "theta_high", "e_min", "e_max", "none", "swing")
    inputs = ("v_re", "v_im", "p_ref", "q_ext")
    outputs = ("i_re", "i_im")
    limits = {
        "theta": ("theta_low", "theta_high"),
        "dw": ("dw_min", "dw_max"),
        "x_v": ("e_min", "e_max"),
        "x_pll": ("dwpll_min", "dwpll_max"),
        **dict.fromkeys(("less_most", "less_least"), ("none", "swing")),
    }
    lags = {
        "x_droop": ("t_p",),
        "p_m": ("t_pf",),
        "q_m": ("t_qf",),
        "v_m": ("t_vf",),
        **dict.fromkeys(("i_dm", "i_qm"), ("t_if",)),
    }
    integrals = {"less_least": "es_flag"}
    structural = ("qv_flag",)
    units = dict.fromkeys(
        ("theta", "theta_pll", "less_most", "less_least", "theta_low", "theta_high", "none", "swing"), "rad"
    )

    s_n = S_N
    s_base = S_BASE
    f_n = F_N
    v_0 = V_0
    r_e = Parameter(PU, "coupling resistance", nonnegative)
    x_e = Parameter(PU, "coupling reactance", positive)
    w_flag = Parameter("1", "droop by the speed of the phase-locked loop (1) or of the machine (0)", flag)
    vdrp_flag = Parameter("1", "droop of the voltage by the reactive current (1) or power (0)", flag)
    qv_flag = Parameter("1", "set-point: 1 a voltage v_ref, 0 a reactive power q_ext", flag)
    pq_flag = Parameter("1", "priority of the steady current limit: 1 active, 0 reactive", flag)
    f_flag = Parameter("1", "1 with droop of the frequency, 0 without", flag)
    es_flag = Parameter("1", "1 with storage: the angle may be negative", flag)
    m_q = Parameter("pu voltage per pu power", "droop of the voltage", nonnegative)
    k_pv = Parameter("1", "proportional gain of the voltage control", nonnegative)
    k_iv = Parameter("1/s", "integral gain of the voltage control", positive)
    m_p = Parameter(f"{SPEED} per pu power", "droop of the frequency", positive)
    dw_max = Parameter("pu", "upper limit of the speed's deviation", positive)
    dw_min = Parameter("pu", "lower limit of the speed's deviation")
    k_ppll = Parameter(f"{SPEED} per pu voltage", "proportional gain of the phase-locked loop", nonnegative)
    k_ipll = Parameter("1/s", "integral gain of the phase-locked loop", positive)
    dwpll_max = Parameter("pu", "upper limit of the phase-locked loop", positive)
    dwpll_min = Parameter("pu", "lower limit of the phase-locked loop")
    t_p = Parameter("s", "time constant of the droop", nonnegative)
    h = Parameter("s", "inertia constant", positive)
    d_1 = Parameter(f"pu power per {SPEED}", "damping", nonnegative)
    d_2 = Parameter(f"pu power per {SPEED}", "transient damping", nonnegative)
    w_d = Parameter("1/s", "corner of the transient damping", positive)
    i_ss = Parameter(PU, "steady limit of the current", positive)
    k_f = Parameter("1", "part of it that the current without priority, or with it, has", positive)
    k_i = Parameter("rad per pu and s", "integral gain of the active current's limits", positive)
    i_fault = Parameter(PU, "limit of the current's magnitude, 0 for none", nonnegative)
    t_pf = Parameter("s", "time constant of the power measurement", nonnegative)
    t_qf = Parameter("s", "time constant of the reactive-power measurement", nonnegative)
    t_vf = Parameter("s", "time constant of the voltage measurement", nonnegative)
    t_if = Parameter("s", "time constant of the current measurement", nonnegative)
    k_e = Parameter("1", "negative limit of the active current by the positive one", fraction)
    v_frz = Parameter("pu", "voltage below which the phase-locked loop rests", nonnegative)

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to crossed limits, to a current beyond the reactance, to a set-point without effect."""
        if p["x_e"] * p["i_ss"] > 1:
            return f"i_ss = {p['i_ss']:g}: must be at most 1/x_e = {1 / p['x_e']:g}, which 90 degrees give"
        if not p["qv_flag"] and p["m_q"] == 0:
            return "m_q = 0: must be > 0 where qv_flag is 0, or q_ext has no effect; set qv_flag = 1"
        return crossed(p, ("dw_min", "dw_max"), ("dwpll_min", "dwpll_max"))

    @staticmethod
    def shape(*choice: int) -> Mapping[str, Any]:
        """Return the inputs with the set-point that qv_flag names."""
        (qv_flag,) = choice
        return {"inputs": (*REGFMB1.inputs[:-1], "v_ref" if qv_flag else "q_ext")}

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives, the residuals of powers and limits, and the current into the bus."""
        voltage, base_speed = m.sqrt(v.v_re**2 + v.v_im**2), 2 * np.pi * p.f_n
        _, v_q = rotate(m, v.v_re, v.v_im, v.theta_pll)
        awake = gate(m, voltage - p.v_frz)
        dw_pll = m.clip(p.k_ppll * v_q + v.x_pll, p.dwpll_min, p.dwpll_max)

        p_cmd = v.p_ref - m.where(m.ge(p.f_flag, 1), v.x_droop / p.m_p, 0)
        accelerating = p_cmd - v.p_m - p.d_1 * v.dw - p.d_2 * (v.dw - v.x_d)

        active_first = m.ge(p.pq_flag, 1)
        i_d_max = m.where(active_first, p.k_f * p.i_ss, remaining(m, p.i_ss, v.i_qm))
        i_q_max = m.where(active_first, remaining(m, p.i_ss, v.i_dm), p.k_f * p.i_ss)
        droop = p.m_q * m.where(m.ge(p.vdrp_flag, 1), v.i_qm, v.q_m)
        v_cmd = v.v_ref - droop if hasattr(v, "v_ref") else p.v_0 + p.m_q * (v.q_ext - v.q_m)
        error = v_cmd - v.v_m
        e = m.clip(p.k_pv * error + v.x_v, v.e_min, v.e_max)

        square = p.r_e**2 + p.x_e**2
        u_re, u_im = e * m.cos(v.theta) - v.v_re, e * m.sin(v.theta) - v.v_im
        i_re, i_im = limit_magnitude(
            m,
            (p.r_e * u_re + p.x_e * u_im) / square,
            (p.r_e * u_im - p.x_e * u_re) / square,
            m.where(m.le(p.i_fault, 0), NONE, p.i_fault),
        )
        i_d, i_a = rotate(m, i_re, i_im, v.theta_pll)
        power, reactive = v.v_re * i_re + v.v_im * i_im, v.v_im * i_re - v.v_re * i_im
        derivatives = (
            base_speed * v.dw,
            accelerating / (2 * p.h),
            lag(m.where(m.ge(p.w_flag, 1), dw_pll, v.dw), v.x_droop, p.t_p),
            p.w_d * (v.dw - v.x_d),
            base_speed * dw_pll * awake,
            p.k_ipll * v_q * awake,
            _less(m, v.less_most, p.k_i * (v.i_dm - i_d_max)),
            _less(m, v.less_least, p.k_i * (-p.k_e * i_d_max - v.i_dm)),
            lag(power, v.p_m, p.t_pf),
            lag(reactive, v.q_m, p.t_qf),
            lag(voltage, v.v_m, p.t_vf),
            lag(i_d, v.i_dm, p.t_if),
            lag(-i_a, v.i_qm, p.t_if),
            p.k_iv * error,
        )
        across = (p.x_e * v.i_dm) ** 2
        residuals = (
            power - v.p_e,
            reactive - v.q_e,
            v.theta_pll - p.es_flag * (v.swing - v.less_least) - v.theta_low,
            v.theta_pll + v.swing - v.less_most - v.theta_high,
            m.sqrt((v.v_m - p.x_e * i_q_max) ** 2 + across + SMALL) - v.e_min,
            m.sqrt((v.v_m + p.x_e * i_q_max) ** 2 + across + SMALL) - v.e_max,
            -v.none,
            _swing(m, p) - v.swing,
        )
        base = p.s_n / p.s_base
        return derivatives, residuals, (base * i_re, base * i_im)

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium without limits."""
        i = terminal.current * p.s_base / p.s_n
        source = terminal.voltage + (p.r_e + 1j * p.x_e) * i
        power, turned = terminal.voltage * np.conj(i), i * np.abs(terminal.voltage) / terminal.voltage
        voltage, angle, swing = np.abs(terminal.voltage), np.angle(terminal.voltage), _swing(NumericMath, p)
        droop = np.where(p.vdrp_flag > 0, -turned.imag, power.imag)
        return {
            "theta": np.angle(source),
            "theta_pll": angle,
            "x_v": np.abs(source),
            "v_m": voltage,
            "p_m": power.real,
            "q_m": power.imag,
            "p_e": power.real,
            "q_e": power.imag,
            "i_dm": turned.real,
            "i_qm": -turned.imag,
            "p_ref": power.real,
            "q_ext": power.imag,
            "swing": swing,
            "theta_high": angle + swing,
            "theta_low": angle - swing * p.es_flag,
            "e_min": 0.0,
            "e_max": 2.0,
            "v_ref": voltage + p.m_q * droop,
        }


SMALL = 1e-30
"""Keeps a root differentiable at zero; far below the rounding of any voltage."""


def _swing(m: Any, p: Any) -> Any:
    """Return the angle across the reactance that the steady limit of the current gives."""
    sine = p.x_e * p.i_ss
    return m.atan2(sine, m.sqrt(1 - sine**2))


def _less(m: Any, x: Any, rate: Any) -> Any:
    """Return the rate of what a current beyond its limit takes from an angle: at nothing it only grows."""
    if getattr(m, "opened", False):
        return -x
    # No limiter, which a start would be warned of: nothing is taken away in the usual case.
    return m.where(m.le(x, 0), m.where(m.le(rate, 0), 0, rate), rate)


class REGFMC1(Component):
    """Grid-forming converter with hybrid control: a virtual machine beside a source of current.

    ::

        |v| -> 1/(1 + s t_vf) -> v_m
        i_vsm = (e exp(j theta) - v)/(r_e + j x_e),  i_vsm conj(v)/|v| = i_d - j i_q
        |v| i_d -> 1/(1 + s t_pf) -> p_m       i_q -> 1/(1 + s t_if) -> i_qm

        v_gfm -> 1/(1 + s t_vr) -> v_r          w_gfm -> 1/(1 + s t_wr) -> w_r
        v_flag (v_0 + v_r - v_m)/m_q - i_qm -> k_pe + k_ie/s, limits [de_min, de_max] -> + v_0 + v_r
            -> 1/(1 + s t_vsm) -> e
        f_flag (w_r - 1/(1 + s t_wm) dw)/m_p, limits [dp_min, dp_max] -> p_cmd
        d_1 dw + d_2 s/(s + w_d) dw, limits [dpd_min, dpd_max] -> p_d
        p_cmd - p_m - p_d -> 1/(2 h s), limits [dw_min, dw_max] -> dw
        2 pi f_n dw -> 1/s -> theta

        p_ref, limits [p_min, p_max] -> / max(v_m, v_min) -> i_p
        q_ext, limits [q_min, q_max] -> / max(v_m, v_min)
            + k_qv (v_ref0 - v_m beyond [db_l, db_h]) -> i_r
        pq_flag = 1: |i_p| at most k_f i_max, |i_r| at most sqrt(i_max^2 - i_p^2);  0: the other way round

        i_re + j i_im = i_vsm + (i_p - j i_r) v/|v|, its magnitude at most i_max, its angle kept

    The set-points are those of the source of current; the machine gives no power at rest. Its plant
    control REPCGFM_C1 moves its references by v_gfm and w_gfm; without, they are those of the start, the
    voltage v_0 and the nominal frequency. v_ref0 = 0 is v_0. The limits of a PI control hold for
    its integral part, without windup, and for its output. Source: PNNL, NREL et al., Standard Library
    Grid-Forming Hybrid Control Inverter-Based Resource Model (REGFM_C1), NREL/TP-5D00-97443 (2025), approved
    by the WECC, after PowerWorld, REGFM_C1, for the values and what they limit, and public implementations
    for ANDES for the blocks. What these leave open is psmr's reading: v_flag = 0 takes the voltage's droop
    out as f_flag = 0 does the frequency's, commands are divided by the measured voltage, and the machine
    measures its power and current before the limit of the whole. The order of the values is PowerWorld's.
    """

    role = "converter"
    records = (
        "REGFMC1 f_flag v_flag pq_flag r_e x_e m_q k_pe k_ie de_max de_min dpd_max dpd_min t_vr t_vsm "
        "dp_max dp_min t_wr t_wm m_p dw_max dw_min h d_1 d_2 w_d t_vf t_pf t_if v_min v_ref0 db_l db_h k_qv "
        "i_max k_f p_max p_min q_max q_min",
    )
    grid = "forms"
    states = ("theta", "dw", "x_d", "w_m", "p_m", "v_m", "i_qm", "x_e", "e", "v_r", "w_r")
    algebraic = ("p_e", "q_e")
    inputs = ("v_re", "v_im", "p_ref", "q_ext", "v_gfm", "w_gfm")
    optional = {"v_gfm": 0.0, "w_gfm": 0.0}
    outputs = ("i_re", "i_im")
    limits = {"dw": ("dw_min", "dw_max"), "x_e": ("de_min", "de_max")}
    lags = {
        "w_m": ("t_wm",),
        "p_m": ("t_pf",),
        "v_m": ("t_vf",),
        "i_qm": ("t_if",),
        "e": ("t_vsm",),
        "v_r": ("t_vr",),
        "w_r": ("t_wr",),
    }
    units = {"theta": "rad"}

    s_n, s_base, f_n, v_0 = S_N, S_BASE, F_N, V_0
    r_e = Parameter(PU, "virtual resistance", nonnegative)
    x_e = Parameter(PU, "virtual reactance", positive)
    f_flag = Parameter("1", "1 with droop of the frequency, 0 without", flag)
    v_flag = Parameter("1", "1 with droop of the voltage, 0 without", flag)
    pq_flag = Parameter("1", "priority of the current: 1 active, 0 reactive", flag)
    m_q = Parameter("pu voltage per pu current", "droop of the voltage", positive)
    k_pe = Parameter("1", "proportional gain of the voltage control", nonnegative)
    k_ie = Parameter("1/s", "integral gain of the voltage control", positive)
    de_max = Parameter("pu", "upper limit of the voltage control", positive)
    de_min = Parameter("pu", "lower limit of the voltage control")
    dpd_max = Parameter(PU, "upper limit of the damping power", positive)
    dpd_min = Parameter(PU, "lower limit of the damping power")
    t_vr = Parameter("s", "time constant of the voltage reference", nonnegative, 0.0)
    t_wr = Parameter("s", "time constant of the frequency reference", nonnegative, 0.0)
    t_vsm = Parameter("s", "time constant of the internal voltage", nonnegative)
    dp_max = Parameter(PU, "upper limit of the droop of the frequency", positive)
    dp_min = Parameter(PU, "lower limit of the droop of the frequency")
    t_wm = Parameter("s", "time constant of the speed that droops", nonnegative)
    m_p = Parameter(f"{SPEED} per pu power", "droop of the frequency", positive)
    dw_max = Parameter("pu", "upper limit of the speed's deviation", positive)
    dw_min = Parameter("pu", "lower limit of the speed's deviation")
    h = Parameter("s", "inertia constant", positive)
    d_1 = Parameter(f"pu power per {SPEED}", "damping", nonnegative)
    d_2 = Parameter(f"pu power per {SPEED}", "transient damping", nonnegative)
    w_d = Parameter("1/s", "corner of the transient damping", positive)
    t_vf = Parameter("s", "time constant of the voltage measurement", nonnegative)
    t_pf = Parameter("s", "time constant of the power measurement", nonnegative)
    t_if = Parameter("s", "time constant of the current measurement", nonnegative)
    v_min = Parameter("pu", "least voltage by which commands are divided", positive)
    v_ref0 = Parameter(
        "pu", "reference of the voltage control by reactive current, 0 for v_0", nonnegative, 0.0
    )
    db_l = Parameter("pu", "lower end of its dead band")
    db_h = Parameter("pu", "upper end of its dead band")
    k_qv = Parameter("pu current per pu voltage", "its gain", nonnegative)
    i_max = Parameter(PU, "limit of the current's magnitude", positive)
    k_f = Parameter("1", "part of it that the current with priority has", positive)
    p_max = Parameter(PU, "upper limit of the active power command")
    p_min = Parameter(PU, "lower limit of the active power command")
    q_max = Parameter(PU, "upper limit of the reactive power command")
    q_min = Parameter(PU, "lower limit of the reactive power command")

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to crossed limits."""
        return crossed(
            p, *((f"{name}_min", f"{name}_max") for name in ("de", "dpd", "dp", "dw", "p", "q"))
        ) or (
            f"db_l = {p['db_l']:g}: must be at most db_h = {p['db_h']:g}" if p["db_l"] > p["db_h"] else None
        )

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives, the residuals of the powers, and the current into the bus."""
        # The small number keeps the root differentiable at zero; it is far below the rounding of any voltage.
        voltage, square = m.sqrt(v.v_re**2 + v.v_im**2 + 1e-30), p.r_e**2 + p.x_e**2
        c, s = v.v_re / voltage, v.v_im / voltage
        u_re, u_im = v.e * m.cos(v.theta) - v.v_re, v.e * m.sin(v.theta) - v.v_im
        own_re, own_im = (p.r_e * u_re + p.x_e * u_im) / square, (p.r_e * u_im - p.x_e * u_re) / square
        i_d, i_q = c * own_re + s * own_im, s * own_re - c * own_im

        error = p.v_flag * (p.v_0 + v.v_r - v.v_m) / p.m_q - v.i_qm
        e = p.v_0 + v.v_r + m.clip(p.k_pe * error + v.x_e, p.de_min, p.de_max)
        p_cmd = m.clip(p.f_flag * (v.w_r - v.w_m) / p.m_p, p.dp_min, p.dp_max)
        damping = m.clip(p.d_1 * v.dw + p.d_2 * (v.dw - v.x_d), p.dpd_min, p.dpd_max)

        divided = m.max(v.v_m, p.v_min)
        reference = m.where(m.le(p.v_ref0, 0), p.v_0, p.v_ref0)
        asked_p = m.clip(v.p_ref, p.p_min, p.p_max) / divided
        asked_q = m.clip(v.q_ext, p.q_min, p.q_max) / divided
        asked_q += p.k_qv * dead_band(m, reference - v.v_m, p.db_l, p.db_h)
        active_first, most = m.ge(p.pq_flag, 1), p.k_f * p.i_max
        first_p = limited_where(m, active_first, asked_p, -most, most)
        first_q = limited_where(m, m.le(p.pq_flag, 0), asked_q, -most, most)
        rest = remaining(m, p.i_max, m.where(active_first, first_p, first_q))
        other = m.clip(m.where(active_first, asked_q, asked_p), -rest, rest)
        i_p, i_r = m.where(active_first, first_p, other), m.where(active_first, other, first_q)

        i_re, i_im = limit_magnitude(m, own_re + i_p * c + i_r * s, own_im + i_p * s - i_r * c, p.i_max)
        power, reactive = v.v_re * i_re + v.v_im * i_im, v.v_im * i_re - v.v_re * i_im
        derivatives = (
            2 * np.pi * p.f_n * v.dw,
            (p_cmd - v.p_m - damping) / (2 * p.h),
            p.w_d * (v.dw - v.x_d),
            lag(v.dw, v.w_m, p.t_wm),
            lag(voltage * i_d, v.p_m, p.t_pf),
            lag(voltage, v.v_m, p.t_vf),
            lag(i_q, v.i_qm, p.t_if),
            p.k_ie * error,
            lag(e, v.e, p.t_vsm),
            lag(v.v_gfm, v.v_r, p.t_vr),
            lag(v.w_gfm, v.w_r, p.t_wr),
        )
        base = p.s_n / p.s_base
        return derivatives, (power - v.p_e, reactive - v.q_e), (base * i_re, base * i_im)

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium without limits: the source of current gives all."""
        power = terminal.voltage * np.conj(terminal.current) * p.s_base / p.s_n
        voltage = np.abs(terminal.voltage)
        return {
            "theta": np.angle(terminal.voltage),
            "e": voltage,
            "v_m": voltage,
            "p_e": power.real,
            "q_e": power.imag,
            "p_ref": power.real,
            "q_ext": power.imag,
        }
