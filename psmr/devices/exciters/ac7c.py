"""The brushless excitation system with a field regulator of the standard library, IEEE type AC7C."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from psmr.dae.declare.component import (
    Parameter,
    Terms,
    crossed,
    improper,
    nonnegative,
    positive,
    ungained,
    whole,
)
from psmr.dae.declare.mathematics import NumericMath
from psmr.devices.blocks import error_at_rest, lag, washout
from psmr.devices.exciters.alternator import (
    Alternator,
    alternator_at_start,
    alternator_current,
    alternator_output,
)
from psmr.devices.exciters.compensator import regulated_voltage
from psmr.devices.exciters.compound import (
    ExciterSource,
    exciter_source,
    potential_at_start,
    potential_now,
)


class AC7C(Alternator, ExciterSource):
    """Alternator with uncontrolled rectifier, PID voltage regulator and PI field regulator, IEEE type AC7C.

    ::

        |v| -> 1/(1 + s t_r) -> v_m      e = v_ref + v_s - v_m - s k_f3/(1 + s t_f) v_fe
        e -> k_pr + k_ir/s + s k_dr/(1 + s t_dr), limits [v_r_min, v_r_max] -> v_r
        v_r - k_f1 v_f - k_f2 v_fe -> k_pa + k_ia/s, limits [v_a_min, v_a_max] -> v_a
        max(v_x v_a, -k_l v_fe) - v_fe -> 1/(s t_e), at least v_e_min, with v_fe at most v_fe_max -> v_e
        v_fe = (k_e + S_E(v_e)) v_e + k_d i_f      v_f = v_e F_EX(k_c i_f/v_e)

        sw_2 = 1: v_x = min(u F_EX(k_c1 v_fe/u), v_b_max)     sw_2 = 2: v_x = k_r v_f
        sw_1 = 1: u = |K v + j (k_i + K x_l) i|, K = k_p e^(j theta_p)     sw_1 = 2: u = k_p

    The limits of both regulators hold for their integral parts, without windup, and for their outputs.
    v_e_max is the v_e at which v_fe would be v_fe_max. The gates of limiters are left out: the record's
    numbers OEL and UEL, which place them, change nothing, and neither does VOS, which places the stabiliser
    before or behind such a gate. The record AC7B is sw_1 = sw_2 = 1 with k_i = x_l = k_c1 = 0: v_x = k_p |v|.
    Source: IEEE Std 421.5-2005, type AC7B; IEEE Std 421.5-2016, type AC7C; PSS/E, Model Library, AC7B and
    AC7C; for the order of their values OpenIPSL's verification script and InterPSS.
    """

    role = "exciter"
    records = (
        "AC7B t_r k_pr k_ir k_dr t_dr v_r_max v_r_min k_pa k_ia v_a_max v_a_min k_p k_l k_f1 k_f2 k_f3 t_f "
        "k_c k_d k_e t_e v_fe_max v_e_min e_1 se_1 e_2 se_2",
        "AC7C -oel -uel -vos sw_1 sw_2 t_r k_pr k_ir k_dr t_dr v_r_max v_r_min k_pa k_ia v_a_max v_a_min k_p "
        "k_l k_f1 k_f2 k_f3 t_f k_c k_d k_e t_e v_fe_max v_e_min e_1 se_1 e_2 se_2 k_i x_l theta_p_deg k_c1 "
        "v_b_max k_r",
    )
    states = ("v_m", "x_i", "x_d", "x_a", "v_e", "x_f")
    algebraic = ("v_f", "v_e_max")
    inputs = ExciterSource.inputs
    limits = {"x_i": ("v_r_min", "v_r_max"), "x_a": ("v_a_min", "v_a_max"), "v_e": ("v_e_min", "v_e_max")}
    lags = {"v_m": ("t_r",), "x_d": ("t_dr",), "x_f": ("t_f",)}
    integrals = {"x_i": "k_ir", "x_a": "k_ia"}

    sw_2 = Parameter("code", "supply of the regulator: 1 the source, 2 the field voltage", whole(1, 2), 1.0)
    k_pr = Parameter("pu", "proportional gain of the voltage regulator", nonnegative)
    k_ir = Parameter("pu/s", "integral gain of the voltage regulator", nonnegative)
    k_dr = Parameter("pu s", "derivative gain of the voltage regulator", nonnegative)
    t_dr = Parameter("s", "time constant of the derivative", nonnegative)
    v_r_max = Parameter("pu", "upper limit of the voltage regulator")
    v_r_min = Parameter("pu", "lower limit of the voltage regulator")
    k_pa = Parameter("pu", "proportional gain of the field regulator", nonnegative)
    k_ia = Parameter("pu/s", "integral gain of the field regulator", nonnegative)
    v_a_max = Parameter("pu", "upper limit of the field regulator")
    v_a_min = Parameter("pu", "lower limit of the field regulator")
    k_l = Parameter("pu", "lower limit of the exciter's input by v_fe", nonnegative)
    k_f1 = Parameter("pu", "feedback of the field voltage", nonnegative)
    k_f2 = Parameter("pu", "feedback of the exciter's field current", nonnegative)
    k_f3 = Parameter("pu s", "gain of the rate feedback", nonnegative)
    t_f = Parameter("s", "time constant of the rate feedback", nonnegative)
    k_e = Parameter("pu", "constant of the exciter (1 where separately excited)", positive)
    v_fe_max = Parameter("pu", "upper limit of the exciter's field current", positive)
    k_r = Parameter("pu", "supply by the field voltage", nonnegative, 0.0)

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to regulators without a gain, leads without lags, a missing supply, limits, saturation."""
        wrong = ungained(p, ("k_pr", "k_ir"), ("k_pa", "k_ia"))
        if wrong := wrong or improper(p, ("k_dr", "t_dr"), ("k_f3", "t_f")):
            return wrong
        if p["sw_2"] == 2 and p["k_r"] == 0:
            return "k_r = 0: must be > 0 where sw_2 is 2, or the field regulator has no supply"
        limits = (("v_r_min", "v_r_max"), ("v_a_min", "v_a_max"))
        return crossed(p, *limits) or Alternator.conflict(p)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of regulators, exciter and lags; the field voltage and the limit of v_e."""
        v_fe = alternator_current(m, v.v_e, v.i_f, p)
        fed_back, d_f = washout(v_fe, v.x_f, p.t_f)
        error = v.v_ref + v.v_s - v.v_m - p.k_f3 / p.t_f * fed_back
        washed, d_d = washout(error, v.x_d, p.t_dr)
        regulated = m.clip(p.k_pr * error + v.x_i + p.k_dr / p.t_dr * washed, p.v_r_min, p.v_r_max)
        inner = regulated - p.k_f1 * v.v_f - p.k_f2 * v_fe
        v_a = m.clip(p.k_pa * inner + v.x_a, p.v_a_min, p.v_a_max)
        driven = m.max(_supply(m, potential_now(m, v, p), v.v_f, v_fe, p) * v_a, -p.k_l * v_fe)
        derivatives = (
            lag(regulated_voltage(m, v), v.v_m, p.t_r),
            p.k_ir * error,
            d_d,
            p.k_ia * inner,
            (driven - v_fe) / p.t_e,
            d_f,
        )
        return derivatives, alternator_output(m, v, p), ()

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium for the field voltage that the machine needs."""
        v_f, v_e, v_fe = alternator_at_start(terminal, p)
        v_a = v_fe / _supply(NumericMath, potential_at_start(terminal, p), v_f, v_fe, p)
        inner = error_at_rest(v_a, p.k_pa, p.k_ia)
        v_r = p.k_f1 * v_f + p.k_f2 * v_fe + inner
        error = error_at_rest(v_r, p.k_pr, p.k_ir)
        v_m, i_f = np.abs(terminal.voltage), terminal.signals.get("i_f", 1.0)
        found = {"v_m": v_m, "x_i": v_r, "x_d": error, "x_a": v_a, "v_e": v_e, "x_f": v_fe, "v_f": v_f}
        return found | {"v_e_max": (p.v_fe_max - p.k_d * i_f) / p.k_e, "v_ref": v_m + error}


def _supply(m: Any, u: Any, v_f: Any, v_fe: Any, p: Any) -> Any:
    """Return the voltage that the field regulator scales."""
    return m.where(m.ge(p.sw_2, 2), p.k_r * v_f, exciter_source(m, u, v_fe, p))
