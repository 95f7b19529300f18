"""The generic generator and converter with its current control and its phase-locked loop."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from psmr.dae.declare.component import Parameter, Terms, crossed, nonnegative, positive
from psmr.devices.blocks import lag, rotate
from psmr.devices.renewables.regcb1 import REGCB1, limited_currents

ANGULAR = "rad/s"


class REGCC1(REGCB1):
    """Converter as a voltage source behind an impedance, with its current control and phase-locked loop.

    ::

        |v|, ip_cmd, iq_cmd -> rates, lags and limit of the current as in REGCB1 -> p, q

        v_d + j v_q = v exp(-j theta_pll)     i_d + j i_q = (e_d + j e_q - v_d - j v_q)/(r_e + j x_e)
        v_q -> k_ppll + k_ipll/s, limits [w_min, w_max] -> 1/s -> theta_pll
        p - i_d -> k_ip + k_ii/s -> c_d      -q - i_q -> k_ip + k_ii/s -> c_q
        v_d + j v_q + (r_e + j x_e)(c_d + j c_q) -> 1/(1 + s t_e) -> e_d + j e_q
        i_re + j i_im = (i_d + j i_q) exp(j theta_pll)

    The limits of the phase-locked loop hold for its integral part, without windup, and for its output, the
    deviation of its speed. A positive iq_cmd gives reactive power. The impedance is that of the generator in
    the network file (ZR + j ZX). Source: EPRI 3002027129, Model User Guide for Generic Renewable Energy
    System Models (2023), REGC_C; PSS/E Model Library, REGCC1, with its record and its loops as GridPACK has
    them.
    """

    role = "converter"
    records = (
        "REGCC1 rate_flag pq_flag t_g t_fltr iqrmax iqrmin rrpwr t_e i_max k_ip k_ii k_ppll k_ipll w_max "
        "w_min",
    )
    states = ("x_p", "i_q", "v_m", "x_d", "x_q", "e_d", "e_q", "x_pll", "theta_pll")
    limits = {"x_pll": ("w_min", "w_max")}
    together = (("x_p", "i_q", "x_d", "x_q", "e_d", "e_q"),)
    units = {"x_pll": ANGULAR, "theta_pll": "rad"}

    k_ip = Parameter("1", "proportional gain of the current control", nonnegative)
    k_ii = Parameter("1/s", "integral gain of the current control", positive)
    k_ppll = Parameter(f"{ANGULAR} per pu", "proportional gain of the phase-locked loop", nonnegative)
    k_ipll = Parameter(f"{ANGULAR} per pu and s", "integral gain of the phase-locked loop", positive)
    w_max = Parameter(ANGULAR, "upper limit of the phase-locked loop", positive)
    w_min = Parameter(ANGULAR, "lower limit of the phase-locked loop")

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to a rate of the wrong sign and to crossed limits."""
        return REGCB1.conflict(p) or crossed(p, ("w_min", "w_max"))

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives, the residuals of the powers, and the current into the bus."""
        voltage = m.sqrt(v.v_re**2 + v.v_im**2)
        active, reactive, references = limited_currents(m, v, p, voltage)
        v_d, v_q = rotate(m, v.v_re, v.v_im, v.theta_pll)
        square = p.r_e**2 + p.x_e**2
        u_d, u_q = v.e_d - v_d, v.e_q - v_q
        i_d, i_q = (p.r_e * u_d + p.x_e * u_q) / square, (p.r_e * u_q - p.x_e * u_d) / square
        error_d, error_q = active - i_d, -reactive - i_q
        c_d, c_q = p.k_ip * error_d + v.x_d, p.k_ip * error_q + v.x_q
        derivatives = (
            *references,
            p.k_ii * error_d,
            p.k_ii * error_q,
            lag(v_d + p.r_e * c_d - p.x_e * c_q, v.e_d, p.t_e),
            lag(v_q + p.x_e * c_d + p.r_e * c_q, v.e_q, p.t_e),
            p.k_ipll * v_q,
            m.clip(p.k_ppll * v_q + v.x_pll, p.w_min, p.w_max),
        )
        residuals = (v_d * i_d + v_q * i_q - v.p_e, v_q * i_d - v_d * i_q - v.q_e)
        i_re, i_im = rotate(m, i_d, i_q, -v.theta_pll)
        base = p.s_n / p.s_base
        return derivatives, residuals, (base * i_re, base * i_im)

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium without limits."""
        found = REGCB1.guess(terminal, p)
        return {
            **found,
            "x_d": found["ip_cmd"],
            "x_q": -found["iq_cmd"],
            "theta_pll": np.angle(terminal.voltage),
        }
