"""The excitation system with an alternator and diodes of the standard library."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from psmr.dae.declare.component import Parameter, Terms, improper, nonnegative, positive
from psmr.devices.blocks import lag, lead_lag, rectified, washout
from psmr.devices.exciters.alternator import Alternator, alternator_at_start, alternator_current
from psmr.devices.exciters.compensator import regulated_voltage


class EXAC1(Alternator):
    """Alternator with uncontrolled rectifier, IEEE type AC1 (1981).

    ::

        |v| -> 1/(1 + s t_r) -> v_m
        v_ref + v_s - v_m - feedback -> (1 + s t_c)/(1 + s t_b) -> k_a/(1 + s t_a),
        limits [v_r_min, v_r_max] -> v_r      v_r - v_fe -> 1/(s t_e), at least v_e_min -> v_e
        v_fe = (k_e + S_E(v_e)) v_e + k_d i_f      feedback = s k_f/(1 + s t_f) v_fe
        v_f = v_e F_EX(k_c i_f/v_e)

    i_f is the field current of the machine. Source: IEEE Committee Report, Excitation System Models for Power
    System Stability Studies (1981), type AC1; PSS/E, Model Library, EXAC1.
    """

    role = "exciter"
    records = ("EXAC1 t_r t_b t_c k_a t_a v_r_max v_r_min t_e k_f t_f k_c k_d k_e e_1 se_1 e_2 se_2",)
    states = ("v_m", "x_l", "v_r", "v_e", "x_f")
    limits = {"v_r": ("v_r_min", "v_r_max"), "v_e": ("v_e_min", None)}
    lags = {"v_m": ("t_r",), "x_l": ("t_b",), "v_r": ("t_a",)}

    t_b = Parameter("s", "lag time constant before the regulator", nonnegative)
    t_c = Parameter("s", "lead time constant before the regulator", nonnegative)
    k_a = Parameter("pu", "gain of the regulator", positive)
    t_a = Parameter("s", "time constant of the regulator", nonnegative)
    v_r_max = Parameter("pu", "upper limit of the regulator's output")
    v_r_min = Parameter("pu", "lower limit of the regulator's output")
    k_f = Parameter("pu", "gain of the rate feedback", nonnegative)
    t_f = Parameter("s", "time constant of the rate feedback", positive)

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to a lead without its lag and to an impossible saturation curve."""
        return improper(p, ("t_c", "t_b")) or Alternator.conflict(p)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of transducer, lead-lag, regulator, exciter, feedback; the field voltage."""
        v_fe = alternator_current(m, v.v_e, v.i_f, p)
        washed, d_f = washout(v_fe, v.x_f, p.t_f)
        led, d_l = lead_lag(v.v_ref + v.v_s - v.v_m - p.k_f / p.t_f * washed, v.x_l, p.t_c, p.t_b)
        derivatives = (
            lag(regulated_voltage(m, v), v.v_m, p.t_r),
            d_l,
            lag(p.k_a * led, v.v_r, p.t_a),
            (v.v_r - v_fe) / p.t_e,
            d_f,
        )
        return derivatives, (rectified(m, v.v_e, p.k_c * v.i_f) - v.v_f,), ()

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium for the field voltage that the machine needs."""
        v_f, v_e, v_fe = alternator_at_start(terminal, p)
        v_m = np.abs(terminal.voltage)
        found = {"v_m": v_m, "v_r": v_fe, "v_e": v_e, "x_f": v_fe, "v_f": v_f}
        return found | {"x_l": v_fe / p.k_a, "v_ref": v_m + v_fe / p.k_a}
