"""The compound-fed static excitation system with field-voltage control of the standard library."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from psmr.dae.declare.component import Parameter, Terms, crossed, improper, nonnegative, positive
from psmr.devices.blocks import lag, lead_lag
from psmr.devices.exciters.compensator import regulated_voltage
from psmr.devices.exciters.compound import Compound, source_at_start, source_now


class ESST3A(Compound):
    """Compound-fed static excitation system, IEEE type ST3A, with an inner loop on the field voltage.

    ::

        |v| -> 1/(1 + s t_r) -> v_m      v_ref + v_s - v_m -> limits [v_i_min, v_i_max]
        -> (1 + s t_c)/(1 + s t_b) -> k_a/(1 + s t_a), limits [v_r_min, v_r_max] -> v_r
        v_r - v_g -> k_m/(1 + s t_m), limits [v_m_min, v_m_max] -> v_inner      v_g = min(k_g v_f, v_g_max)
        v_f = v_b v_inner      v_b: the source, from |v|, the machine's current and its field current

    The gates of over- and underexcitation limiters are left out. Source: IEEE Std 421.5-2005, type ST3A;
    PSS/E, Model Library, ESST3A.
    """

    role = "exciter"
    records = (
        "ESST3A t_r v_i_max v_i_min k_m t_c t_b k_a t_a v_r_max v_r_min k_g k_p k_i v_b_max k_c x_l "
        "v_g_max theta_p_deg t_m v_m_max v_m_min",
    )
    states = ("v_m", "x_c", "v_r", "v_inner")
    algebraic = ("v_f",)
    limits = {"v_r": ("v_r_min", "v_r_max"), "v_inner": ("v_m_min", "v_m_max")}
    lags = {"v_m": ("t_r",), "x_c": ("t_b",), "v_r": ("t_a",), "v_inner": ("t_m",)}

    t_r = Parameter("s", "time constant of the voltage transducer", nonnegative)
    v_i_max = Parameter("pu", "upper limit of the voltage error", positive)
    v_i_min = Parameter("pu", "lower limit of the voltage error")
    k_m = Parameter("pu", "gain of the inner loop", positive)
    t_c = Parameter("s", "lead time constant", nonnegative)
    t_b = Parameter("s", "lag time constant", nonnegative)
    k_a = Parameter("pu", "gain of the regulator", positive)
    t_a = Parameter("s", "time constant of the regulator", nonnegative)
    v_r_max = Parameter("pu", "upper limit of the regulator's output")
    v_r_min = Parameter("pu", "lower limit of the regulator's output")
    k_g = Parameter("pu", "gain of the inner feedback", nonnegative)
    v_g_max = Parameter("pu", "upper limit of the inner feedback", positive)
    t_m = Parameter("s", "time constant of the inner loop", nonnegative)
    v_m_max = Parameter("pu", "upper limit of the inner loop's output")
    v_m_min = Parameter("pu", "lower limit of the inner loop's output")

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to a lead without its lag and to crossed limits of the error."""
        return crossed(p, ("v_i_min", "v_i_max")) or improper(p, ("t_c", "t_b"))

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of transducer, lead-lag, regulator and inner loop, and the field voltage."""
        error = m.clip(v.v_ref + v.v_s - v.v_m, p.v_i_min, p.v_i_max)
        led, d_c = lead_lag(error, v.x_c, p.t_c, p.t_b)
        feedback = m.min(p.k_g * v.v_f, p.v_g_max)
        derivatives = (
            lag(regulated_voltage(m, v), v.v_m, p.t_r),
            d_c,
            lag(p.k_a * led, v.v_r, p.t_a),
            lag(p.k_m * (v.v_r - feedback), v.v_inner, p.t_m),
        )
        return derivatives, (source_now(m, v, p) * v.v_inner - v.v_f,), ()

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium for the field voltage that the machine needs."""
        v_f = terminal.signals.get("v_f", 1.0)
        v_inner = v_f / source_at_start(terminal, p)
        v_r = v_inner / p.k_m + np.minimum(p.k_g * v_f, p.v_g_max)
        v_m = np.abs(terminal.voltage)
        found = {"v_m": v_m, "x_c": v_r / p.k_a, "v_r": v_r, "v_inner": v_inner, "v_f": v_f}
        return found | {"v_ref": v_m + v_r / p.k_a}
