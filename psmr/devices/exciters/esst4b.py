"""The compound-fed static excitation system with two PI controllers of the standard library."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from psmr.dae.declare.component import Parameter, Terms, crossed, nonnegative, ungained
from psmr.devices.blocks import error_at_rest, lag
from psmr.devices.exciters.compensator import regulated_voltage
from psmr.devices.exciters.compound import Compound, source_at_start, source_now


class ESST4B(Compound):
    """Compound-fed static excitation system, IEEE type ST4B: a PI regulator and an inner PI controller.

    ::

        |v| -> 1/(1 + s t_r) -> v_m      v_ref + v_s - v_m -> k_pr + k_ir/s, limits [v_r_min, v_r_max]
        -> 1/(1 + s t_a) -> v_a      v_a - k_g v_f -> k_pm + k_im/s, limits [v_m_min, v_m_max] -> v_inner
        v_f = v_b v_inner      v_b: the source, from |v|, the machine's current and its field current

    The limits of a PI controller hold for its integral part, without windup, and for its output. A gain k_ir
    or k_im of zero leaves the integral part out. The gate of an overexcitation limiter is left out. Source:
    IEEE Std 421.5-2005, type ST4B; PSS/E, Model Library, ESST4B.
    """

    role = "exciter"
    records = (
        "ESST4B t_r k_pr k_ir v_r_max v_r_min t_a k_pm k_im v_m_max v_m_min k_g k_p k_i v_b_max k_c "
        "x_l theta_p_deg",
    )
    states = ("v_m", "x_r", "v_a", "x_m")
    algebraic = ("v_f",)
    limits = {"x_r": ("v_r_min", "v_r_max"), "x_m": ("v_m_min", "v_m_max")}
    lags = {"v_m": ("t_r",), "v_a": ("t_a",)}
    integrals = {"x_r": "k_ir", "x_m": "k_im"}

    t_r = Parameter("s", "time constant of the voltage transducer", nonnegative)
    k_pr = Parameter("pu", "proportional gain of the regulator", nonnegative)
    k_ir = Parameter("1/s", "integral gain of the regulator", nonnegative)
    v_r_max = Parameter("pu", "upper limit of the regulator's output")
    v_r_min = Parameter("pu", "lower limit of the regulator's output")
    t_a = Parameter("s", "time constant of the regulator", nonnegative)
    k_pm = Parameter("pu", "proportional gain of the inner controller", nonnegative)
    k_im = Parameter("1/s", "integral gain of the inner controller", nonnegative)
    v_m_max = Parameter("pu", "upper limit of the inner controller's output")
    v_m_min = Parameter("pu", "lower limit of the inner controller's output")
    k_g = Parameter("pu", "gain of the inner feedback", nonnegative)

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to controllers without any gain and to an inner integrator without feedback."""
        limits = (("v_r_min", "v_r_max"), ("v_m_min", "v_m_max"))
        return ungained(p, ("k_pr", "k_ir"), ("k_pm", "k_im")) or crossed(p, *limits)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of transducer, integrators and lag, and the field voltage."""
        error = v.v_ref + v.v_s - v.v_m
        regulated = m.clip(p.k_pr * error + v.x_r, p.v_r_min, p.v_r_max)
        inner_error = v.v_a - p.k_g * v.v_f
        inner = m.clip(p.k_pm * inner_error + v.x_m, p.v_m_min, p.v_m_max)
        derivatives = (
            lag(regulated_voltage(m, v), v.v_m, p.t_r),
            p.k_ir * error,
            lag(regulated, v.v_a, p.t_a),
            p.k_im * inner_error,
        )
        return derivatives, (source_now(m, v, p) * inner - v.v_f,), ()

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium for the field voltage that the machine needs."""
        v_f = terminal.signals.get("v_f", 1.0)
        inner = v_f / source_at_start(terminal, p)
        v_a = error_at_rest(inner, p.k_pm, p.k_im) + p.k_g * v_f
        v_m = np.abs(terminal.voltage)
        found = {"v_m": v_m, "x_r": v_a, "v_a": v_a, "x_m": inner, "v_f": v_f}
        return found | {"v_ref": v_m + error_at_rest(v_a, p.k_pr, p.k_ir)}
