"""Grid-forming converters: voltage sources that share load by droop.

Per unit on the converter's own base `s_n`; angles in rad against a frame that turns at nominal frequency;
time in s. All d and q quantities are in the converter's own frame, whose d axis is at `theta`.

Circuit and control diagram (v_b is the voltage of the bus, v_c that of the filter's capacitor)::

    u --- r_f + j x_f --- i --> --+-- v_c --- r_c + j x_c --- i_o --> v_b + v_2 + v_5 + v_7
                                  |
                               j b_f

    p -> 1/(1 + s t_p) -> p_m      w = 1 + m_p (p_ref - p_m)      w - 1 -> 2 pi f_n/s -> theta
    q -> 1/(1 + s t_p) -> q_m      v* = v_ref - n_q q_m - (r_v + j x_v) i_o

    v* - v_c -> kp_v + ki_v/s ---> + ---> limit i_max ---> i_cmd
               f_i i_o + j b_f v_c --^

    i_cmd - i -> kp_i + ki_i/s --> + ---> u
               f_v v_c + j x_f i ----^

p and q are those of v_c and i_o. The converter acts as the voltage u that its modulator is asked for,
averaged over the switching. The integrators are x_d, x_q (voltage) and y_d, y_q (current). The limit keeps
the angle of the current and shortens it to i_max; what it cuts off is fed back to the integrators of the
voltage with the gain k_aw, so that they do not wind up in a fault.

v_2, v_5 and v_7 are the negative sequence and harmonics of the voltage at the bus, see
`psmr.devices.converters.filtered`.

Set-points are p_ref and v_ref. Two such converters at one bus share its load by their droops.

The current i_o is a state, and the network around it an algebraic one. Where there is no other source than
such converters, the loads must tell the voltage from the current: impedances and motors do. Constant
currents alone leave the voltage undetermined, and constant powers alone are unstable within microseconds, as
a negative resistance behind a reactor is.

Sources: N. Pogaku, M. Prodanovic and T. C. Green, Modeling, analysis and testing of autonomous operation of
an inverter-based microgrid, IEEE Trans. Power Electronics 22(2), 2007, section II (power, voltage and current
controllers, filter; there f_v = 0 and no limit); A. Yazdani and R. Iravani, Voltage-Sourced Converters in
Power Systems (2010), chapters 8 and 9 (feed-forward of the voltage, limit of the current reference); K. J.
Astrom and T. Hagglund, Advanced PID Control (2006), chapter 3 (anti-windup).

The droop-controlled grid-forming converter from which the generic one grew.

The droop-controlled grid-forming converter of the generic models.
"""

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
    fraction,
    nonnegative,
    positive,
)
from psmr.devices.blocks import lag, limit_magnitude, rotate
from psmr.devices.converters.filtered import HARMONICS, V_2, V_5, V_7, lcl_filter, with_harmonics
from psmr.devices.converters.following import PU
from psmr.devices.machines.textbook import F_N, S_BASE, S_N
from psmr.devices.renewables.converters import NONE, V_0

DROOP_V = "pu voltage per pu power"


class REGFMA1(Component):
    """Grid-forming converter: a voltage behind a reactance with droops of frequency and voltage.

    ::

        p -> 1/(1 + s t_pf) -> p_m      q -> 1/(1 + s t_qf) -> q_m      |v| -> 1/(1 + s t_vf) -> v_m

        m_p (p_ref - p_m) + least(p_max - p_m) + most(p_min - p_m) -> 2 pi f_n/s -> theta
        qv_flag = 0: v_0 + m_q (q_ext - q_m)  }
        qv_flag = 1: v_ref - m_q q_m          } + least(q_max - q_m) + most(q_min - q_m) -> v_cmd
        v_flag = 1: v_cmd - v_m -> k_pv + k_iv/s, limits [e_min, e_max] -> e
        v_flag = 0: v_cmd -> limits [e_min, e_max] -> e

        least(x): x -> k_p + k_i/s, at most 0        most(x): x -> k_p + k_i/s, at least 0
                  with k_ppmax, k_ipmax for the powers, k_pqmax, k_iqmax for the reactive powers

        i_re + j i_im = (e exp(j theta) - v)/(r_e + j x_e), its magnitude at most i_max, its angle kept
        p + j q = v (i_re - j i_im)

    The integral parts of the four overload controls follow the limited output while that is 0:
    x' = (output - x) k_i/k_p, which is k_i times the error while it is not. i_max = 0 is none. The set-point
    is q_ext or v_ref, as qv_flag says. v_0 is the power flow's voltage. The impedance is that of the
    generator in the network file (ZR + j ZX).

    Source: W. Du, Y. Liu et al., Model Specification of Droop-Controlled, Grid-Forming Inverters (REGFM_A1),
    PNNL-32278 (2023), approved by the WECC; parameters and modes as PowerWorld lists them, the record
    REGFMA1 as GridPACK reads it.
    """

    role = "converter"
    records: ClassVar[tuple[str, ...]] = (
        "REGFMA1 v_flag qv_flag t_pf t_qf t_vf i_max e_max e_min p_max p_min q_max q_min m_p m_q "
        "k_ppmax k_ipmax k_pqmax k_iqmax k_pv k_iv",
        "REGFMA1 v_flag t_pf t_qf t_vf i_max e_max e_min p_max p_min q_max q_min m_p m_q k_ppmax "
        "k_ipmax k_pqmax k_iqmax k_pv k_iv",
    )
    grid = "forms"
    states = ("theta", "p_m", "q_m", "v_m", "x_v", "x_ph", "x_pl", "x_qh", "x_ql")
    algebraic = ("p_e", "q_e")
    inputs = ("v_re", "v_im", "p_ref", "q_ext")
    outputs = ("i_re", "i_im")
    limits = {"x_v": ("e_min", "e_max")}
    lags = {"p_m": ("t_pf",), "q_m": ("t_qf",), "v_m": ("t_vf",)}
    integrals = {
        "x_v": "v_flag",
        "v_m": "v_flag",
        **dict.fromkeys(("x_ph", "x_pl"), "k_ipmax"),
        **dict.fromkeys(("x_qh", "x_ql"), "k_iqmax"),
    }
    structural = ("qv_flag",)
    units = {"theta": "rad"}

    s_n = S_N
    s_base = S_BASE
    f_n = F_N
    v_0 = V_0
    r_e = Parameter(PU, "coupling resistance", nonnegative)
    x_e = Parameter(PU, "coupling reactance", positive)
    v_flag = Parameter("1", "1: control of the terminal voltage, 0: of the internal one", flag)
    qv_flag = Parameter(
        "1", "set-point of the voltage control: 1 a voltage v_ref, 0 a reactive power q_ext", flag, 0.0
    )
    t_pf = Parameter("s", "time constant of the power measurement", nonnegative)
    t_qf = Parameter("s", "time constant of the reactive-power measurement", nonnegative)
    t_vf = Parameter("s", "time constant of the voltage measurement", nonnegative)
    i_max = Parameter(PU, "limit of the current's magnitude, 0 for none", nonnegative)
    e_max = Parameter("pu", "upper limit of the internal voltage")
    e_min = Parameter("pu", "lower limit of the internal voltage")
    p_max = Parameter(PU, "power above which the overload control acts")
    p_min = Parameter(PU, "power below which it acts")
    q_max = Parameter(PU, "reactive power above which the overload control acts")
    q_min = Parameter(PU, "reactive power below which it acts")
    m_p = Parameter("pu speed per pu power", "droop of the frequency", nonnegative)
    m_q = Parameter(DROOP_V, "droop of the voltage", nonnegative)
    k_ppmax = Parameter("pu speed per pu power", "proportional gain of the power's limits", nonnegative)
    k_ipmax = Parameter("pu speed per pu power and s", "integral gain of the power's limits", nonnegative)
    k_pqmax = Parameter(DROOP_V, "proportional gain of the reactive power's limits", nonnegative)
    k_iqmax = Parameter(f"{DROOP_V} and s", "integral gain of the reactive power's limits", nonnegative)
    k_pv = Parameter("1", "proportional gain of the voltage control", nonnegative)
    k_iv = Parameter("1/s", "integral gain of the voltage control", nonnegative)

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to crossed limits, to controls without what they need, to a set-point without effect."""
        for name in ("p", "q"):
            gains = f"k_p{name}max", f"k_i{name}max"
            if p[gains[1]] > 0 == p[gains[0]]:
                return f"{gains[0]} = 0: must be > 0 where {gains[1]} is"
        if p["v_flag"] and p["k_iv"] == 0:
            return "k_iv = 0: must be > 0 where v_flag is 1"
        if not p["qv_flag"] and p["m_q"] == 0:
            return "m_q = 0: must be > 0 where qv_flag is 0, or q_ext has no effect; set qv_flag = 1"
        return crossed(p, ("e_min", "e_max"), ("p_min", "p_max"), ("q_min", "q_max"))

    @staticmethod
    def shape(*choice: int) -> Mapping[str, Any]:
        """Return the inputs with the set-point that qv_flag names."""
        (qv_flag,) = choice
        return {"inputs": ("v_re", "v_im", "p_ref", "v_ref" if qv_flag else "q_ext")}

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives, the residuals of the powers, and the current into the bus."""
        voltage = m.sqrt(v.v_re**2 + v.v_im**2)
        high_p, d_ph = _overload(m.min, p.p_max - v.p_m, v.x_ph, p.k_ppmax, p.k_ipmax)
        low_p, d_pl = _overload(m.max, p.p_min - v.p_m, v.x_pl, p.k_ppmax, p.k_ipmax)
        high_q, d_qh = _overload(m.min, p.q_max - v.q_m, v.x_qh, p.k_pqmax, p.k_iqmax)
        low_q, d_ql = _overload(m.max, p.q_min - v.q_m, v.x_ql, p.k_pqmax, p.k_iqmax)
        slip = p.m_p * (v.p_ref - v.p_m) + high_p + low_p
        asked = v.v_ref - p.m_q * v.q_m if hasattr(v, "v_ref") else p.v_0 + p.m_q * (v.q_ext - v.q_m)
        v_cmd = asked + high_q + low_q
        regulating = m.ge(p.v_flag, 1)
        error = v_cmd - v.v_m
        e = m.clip(m.where(regulating, p.k_pv * error + v.x_v, v_cmd), p.e_min, p.e_max)

        square = p.r_e**2 + p.x_e**2
        u_re, u_im = e * m.cos(v.theta) - v.v_re, e * m.sin(v.theta) - v.v_im
        most = m.where(m.le(p.i_max, 0), NONE, p.i_max)
        i_re, i_im = limit_magnitude(
            m, (p.r_e * u_re + p.x_e * u_im) / square, (p.r_e * u_im - p.x_e * u_re) / square, most
        )
        power, reactive = v.v_re * i_re + v.v_im * i_im, v.v_im * i_re - v.v_re * i_im
        derivatives = (
            2 * np.pi * p.f_n * slip,
            lag(power, v.p_m, p.t_pf),
            lag(reactive, v.q_m, p.t_qf),
            lag(voltage, v.v_m, p.t_vf),
            p.k_iv * error,
            d_ph,
            d_pl,
            d_qh,
            d_ql,
        )
        base = p.s_n / p.s_base
        return derivatives, (power - v.p_e, reactive - v.q_e), (base * i_re, base * i_im)

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium without limits."""
        i = terminal.current * p.s_base / p.s_n
        source = terminal.voltage + (p.r_e + 1j * p.x_e) * i
        power = terminal.voltage * np.conj(i)
        voltage, e = np.abs(terminal.voltage), np.abs(source)
        held = np.where(p.v_flag > 0, voltage, e)
        droop = np.where(p.m_q > 0, p.m_q, 1.0)
        return {
            "theta": np.angle(source),
            "p_m": power.real,
            "q_m": power.imag,
            "v_m": voltage,
            "x_v": e,
            **dict.fromkeys(("x_ph", "x_pl", "x_qh", "x_ql"), 0.0),
            "p_e": power.real,
            "q_e": power.imag,
            "p_ref": power.real,
            "v_ref": held + p.m_q * power.imag,
            "q_ext": power.imag + (held - p.v_0) / droop,
        }


def _overload(limiter: Any, error: Any, x: Any, k_p: Any, k_i: Any) -> tuple[Any, Any]:
    """Return (output, derivative of x) of a PI control whose output is limited at 0 on one side."""
    output = limiter(k_p * error + x, 0)
    return output, (output - x) * k_i / k_p


class GridFormingConverter(Component):
    """Grid-forming converter with droop, filter and nested loops; diagram and sources: module text."""

    role = "converter"
    grid = "forms"
    states = (
        "theta",
        "p_m",
        "q_m",
        "x_d",
        "x_q",
        "y_d",
        "y_q",
        "i_d",
        "i_q",
        "v_cd",
        "v_cq",
        "i_od",
        "i_oq",
    )
    inputs = ("v_re", "v_im", "p_ref", "v_ref")
    outputs = ("i_re", "i_im")
    together = (("i_d", "i_q"), ("v_cd", "v_cq"), ("i_od", "i_oq"))
    units = {"theta": "rad"}
    ramps = HARMONICS

    s_n = S_N
    s_base = S_BASE
    f_n = F_N
    m_p = Parameter("pu speed per pu power", "droop of the frequency", nonnegative)
    n_q = Parameter("pu voltage per pu power", "droop of the voltage", nonnegative)
    t_p = Parameter("s", "time constant of the power measurements", positive)
    r_v = Parameter(PU, "virtual resistance", nonnegative, default=0.0)
    x_v = Parameter(PU, "virtual reactance", nonnegative, default=0.0)
    kp_v = Parameter("pu current per pu voltage", "proportional gain of the voltage control", nonnegative)
    ki_v = Parameter("1/s", "integral gain of the voltage control", positive)
    f_i = Parameter("1", "part of the output current that is fed forward", fraction)
    kp_i = Parameter("pu voltage per pu current", "proportional gain of the current control", positive)
    ki_i = Parameter("1/s", "integral gain of the current control", positive)
    f_v = Parameter("1", "part of the capacitor's voltage that is fed forward", fraction, default=0.0)
    r_f = Parameter(PU, "resistance of the filter's reactor", nonnegative)
    x_f = Parameter(PU, "reactance of the filter's reactor", positive)
    b_f = Parameter(PU, "susceptance of the filter's capacitor", positive)
    r_c = Parameter(PU, "resistance between filter and bus", nonnegative)
    x_c = Parameter(PU, "reactance between filter and bus", positive)
    i_max = Parameter(PU, "limit of the current's magnitude", positive)
    k_aw = Parameter("1/s", "gain of the anti-windup feedback", nonnegative)
    v_2, v_5, v_7 = V_2, V_5, V_7

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives and the current into the bus."""
        v_d, v_q = rotate(m, *with_harmonics(m, v, p), v.theta)
        w = 1 + p.m_p * (v.p_ref - v.p_m)
        p_e, q_e = v.v_cd * v.i_od + v.v_cq * v.i_oq, v.v_cq * v.i_od - v.v_cd * v.i_oq
        # Voltage control: its reference, its error, the current that it asks for.
        e_d = v.v_ref - p.n_q * v.q_m - p.r_v * v.i_od + p.x_v * v.i_oq - v.v_cd
        e_q = -p.r_v * v.i_oq - p.x_v * v.i_od - v.v_cq
        d_ref = p.f_i * v.i_od - p.b_f * v.v_cq + p.kp_v * e_d + v.x_d
        q_ref = p.f_i * v.i_oq + p.b_f * v.v_cd + p.kp_v * e_q + v.x_q
        d_cmd, q_cmd = limit_magnitude(m, d_ref, q_ref, p.i_max)
        # Current control: the voltage that it asks for.
        u_d = p.f_v * v.v_cd - p.x_f * v.i_q + p.kp_i * (d_cmd - v.i_d) + v.y_d
        u_q = p.f_v * v.v_cq + p.x_f * v.i_d + p.kp_i * (q_cmd - v.i_q) + v.y_q
        w_n = 2 * np.pi * p.f_n
        derivatives = (
            w_n * (w - 1),
            lag(p_e, v.p_m, p.t_p),
            lag(q_e, v.q_m, p.t_p),
            p.ki_v * e_d + p.k_aw * (d_cmd - d_ref),
            p.ki_v * e_q + p.k_aw * (q_cmd - q_ref),
            p.ki_i * (d_cmd - v.i_d),
            p.ki_i * (q_cmd - v.i_q),
            *lcl_filter(v, p, w, (u_d, u_q), (v_d, v_q), (p.r_c, p.x_c)),
        )
        base = p.s_n / p.s_base
        i_re, i_im = rotate(m, v.i_od, v.i_oq, -v.theta)
        return derivatives, (), (base * i_re, base * i_im)

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium without limits."""
        i_o = terminal.current * p.s_base / p.s_n
        v_c = terminal.voltage + (p.r_c + 1j * p.x_c) * i_o
        source = v_c + (p.r_v + 1j * p.x_v) * i_o
        theta = np.angle(source)
        power = v_c * np.conj(i_o)
        turn = np.exp(-1j * theta)
        i_o, v_c = i_o * turn, v_c * turn
        i = i_o + 1j * p.b_f * v_c
        x, y = (1 - p.f_i) * i_o, (1 - p.f_v) * v_c + p.r_f * i
        pairs = {"x_": x, "y_": y, "i_": i, "v_c": v_c, "i_o": i_o}
        return {
            **{f"{name}d": value.real for name, value in pairs.items()},
            **{f"{name}q": value.imag for name, value in pairs.items()},
            "theta": theta,
            "p_m": power.real,
            "q_m": power.imag,
            "p_ref": power.real,
            "v_ref": np.abs(source) + p.n_q * power.imag,
        }


class GDFORM(REGFMA1):
    """Grid-forming converter: a voltage behind a reactance with droops of frequency and voltage.

    The equations are those of REGFMA1 with a voltage as set-point (qv_flag = 1); the record has its values in
    another order. Source: W. Du, Z. Chen, K. Schneider, R. Lasseter et al., A Comparative Study of Two Widely
    Used Grid-Forming Droop Controls on Microgrid Small-Signal Stability (2020); the record as GridPACK
    reads it.
    """

    role = "converter"
    records = (
        "GDFORM m_q k_pv k_iv m_p k_ppmax k_ipmax p_max p_min e_max e_min t_pf i_max q_max q_min k_pqmax "
        "k_iqmax t_qf t_vf v_flag",
    )

    qv_flag = Parameter("1", "set-point of the voltage control: 1 a voltage v_ref", flag, 1.0)
