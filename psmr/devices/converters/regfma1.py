"""The droop-controlled grid-forming converter of the generic models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from psmr.dae.declare.component import Component, Parameter, Terms, crossed, flag, nonnegative, positive
from psmr.devices.blocks import lag, limit_magnitude
from psmr.devices.converters.following import PU
from psmr.devices.machines import F_N, S_BASE, S_N
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
