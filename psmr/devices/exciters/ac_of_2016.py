"""Exciters with alternators of IEEE 421.5-2016: AC3C, AC5C, AC7C."""

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
from psmr.devices.blocks import error_at_rest, lag, lead_lag, washout
from psmr.devices.exciters.alternator import (
    Alternator,
    alternator_at_start,
    alternator_current,
    alternator_output,
)
from psmr.devices.exciters.compensator import regulated_voltage
from psmr.devices.exciters.compound import (
    NO_LIMIT,
    ExciterSource,
    exciter_source,
    potential_at_start,
    potential_now,
)


class AC3C(Alternator):
    """Alternator with rectifier that feeds its own regulator, IEEE types AC3A (1992) and AC3C (2016).

    ::

        |v| -> 1/(1 + s t_r) -> v_m      e = v_ref + v_s - v_m
        e -> k_pr + k_ir/s + s k_dr/(1 + s t_dr), limits [v_pid_min, v_pid_max] -> (1 + s t_c)/(1 + s t_b)
        -> - feedback -> k_a/(1 + s t_a), limits [v_a_min, v_a_max] -> v_a
        k_r v_f v_a - v_fe -> 1/(s t_e), at least v_e_min, with v_fe at most v_fe_max -> v_e
        v_fe = (k_e + S_E(v_e)) v_e + k_d i_f      v_f = v_e F_EX(k_c i_f/v_e)
        feedback = s/(1 + s t_f) v_n,  v_n = k_f v_f up to v_f = e_fdn, of the slope k_n above

    The limits of the PID hold for its integral part, without windup, and for its output. v_e_max is the v_e
    at which v_fe would be v_fe_max. The gates of limiters are left out: OEL and UEL, the first two numbers of
    the record AC3C, which place them, change nothing. The record ESAC3A has no PID: k_pr = 1. Source: IEEE
    Std 421.5-2005, type AC3A; IEEE Std 421.5-2016, type AC3C; PowerWorld, AC3C and ESAC3A; the places of the
    blocks are those of InterPSS, the orders of the values those of its records of PSS/E 36.
    """

    role = "exciter"
    records = (
        "ESAC3A t_r t_b t_c k_a t_a v_a_max v_a_min t_e v_e_min k_r k_f t_f k_n e_fdn k_c k_d k_e v_fe_max "
        "e_1 se_1 e_2 se_2",
        "AC3C -oel -uel t_r t_b t_c k_a t_a v_a_max v_a_min t_e v_e_min k_r k_f t_f k_n e_fdn k_c k_d k_e "
        "v_fe_max e_1 se_1 e_2 se_2 k_pr k_ir k_dr t_dr v_pid_max v_pid_min",
    )
    states = ("v_m", "x_i", "x_d", "x_l", "v_a", "v_e", "x_f")
    algebraic = ("v_f", "v_e_max")
    limits = {
        "x_i": ("v_pid_min", "v_pid_max"),
        "v_a": ("v_a_min", "v_a_max"),
        "v_e": ("v_e_min", "v_e_max"),
    }
    lags = {"v_m": ("t_r",), "x_d": ("t_dr",), "x_l": ("t_b",), "v_a": ("t_a",)}
    integrals = {"x_i": "k_ir"}

    t_b = Parameter("s", "lag time constant before the regulator", nonnegative)
    t_c = Parameter("s", "lead time constant before the regulator", nonnegative)
    k_a = Parameter("pu", "gain of the regulator", positive)
    t_a = Parameter("s", "time constant of the regulator", nonnegative)
    v_a_max = Parameter("pu", "upper limit of the regulator")
    v_a_min = Parameter("pu", "lower limit of the regulator")
    k_r = Parameter("pu", "supply of the regulator by the field voltage", positive)
    k_f = Parameter("s", "gain of the rate feedback up to e_fdn", nonnegative)
    k_n = Parameter("s", "gain of the rate feedback above e_fdn", nonnegative)
    t_f = Parameter("s", "time constant of the rate feedback", positive)
    e_fdn = Parameter("pu", "field voltage at which the gain of the feedback changes")
    k_e = Parameter("pu", "constant of the exciter (1 where separately excited)", positive)
    v_fe_max = Parameter("pu", "upper limit of the exciter's field current", positive)
    k_pr = Parameter("pu", "proportional gain of the PID", nonnegative, 1.0)
    k_ir = Parameter("pu/s", "integral gain of the PID", nonnegative, 0.0)
    k_dr = Parameter("pu s", "derivative gain of the PID", nonnegative, 0.0)
    t_dr = Parameter("s", "time constant of the derivative", nonnegative, 0.0)
    v_pid_max = Parameter("pu", "upper limit of the PID's output", default=NO_LIMIT)
    v_pid_min = Parameter("pu", "lower limit of the PID's output", default=-NO_LIMIT)

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to a PID without a gain, leads without their lags, crossed limits, saturation."""
        wrong = ungained(p, ("k_pr", "k_ir")) or improper(p, ("t_c", "t_b"), ("k_dr", "t_dr"))
        limits = (("v_pid_min", "v_pid_max"), ("v_a_min", "v_a_max"))
        return wrong or crossed(p, *limits) or Alternator.conflict(p)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of transducer, regulator, exciter, feedback; field voltage, limit of v_e."""
        error = v.v_ref + v.v_s - v.v_m
        washed, d_d = washout(error, v.x_d, p.t_dr)
        regulated = m.clip(p.k_pr * error + v.x_i + p.k_dr / p.t_dr * washed, p.v_pid_min, p.v_pid_max)
        led, d_l = lead_lag(regulated, v.x_l, p.t_c, p.t_b)
        fed_back, d_f = washout(_fed_back(m, v.v_f, p), v.x_f, p.t_f)
        derivatives = (
            lag(regulated_voltage(m, v), v.v_m, p.t_r),
            p.k_ir * error,
            d_d,
            d_l,
            lag(p.k_a * (led - fed_back / p.t_f), v.v_a, p.t_a),
            (p.k_r * v.v_f * v.v_a - alternator_current(m, v.v_e, v.i_f, p)) / p.t_e,
            d_f,
        )
        return derivatives, alternator_output(m, v, p), ()

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium for the field voltage that the machine needs."""
        v_f, v_e, v_fe = alternator_at_start(terminal, p)
        v_a = v_fe / (p.k_r * v_f)
        regulated = v_a / p.k_a
        error = error_at_rest(regulated, p.k_pr, p.k_ir)
        v_m, i_f = np.abs(terminal.voltage), terminal.signals.get("i_f", 1.0)
        fed_back = np.where(v_f <= p.e_fdn, p.k_f * v_f, p.k_f * p.e_fdn + p.k_n * (v_f - p.e_fdn))
        found = {"v_m": v_m, "x_i": regulated, "x_d": error, "x_l": regulated, "v_a": v_a, "v_e": v_e}
        v_e_max = (p.v_fe_max - p.k_d * i_f) / p.k_e
        return found | {"x_f": fed_back, "v_f": v_f, "v_e_max": v_e_max, "v_ref": v_m + error}


def _fed_back(m: Any, v_f: Any, p: Any) -> Any:
    """Return v_n, whose slope changes at e_fdn."""
    return p.k_f * m.min(v_f, p.e_fdn) + p.k_n * m.max(v_f - p.e_fdn, 0)


class AC5C(Alternator):
    """Brushless excitation system, IEEE type AC5C (2016): `ESAC5A` with an alternator and its rectifier.

    ::

        |v| -> 1/(1 + s t_r) -> v_m
        v_ref + v_s - v_m - feedback -> k_a/(1 + s t_a), limits [v_r_min, v_r_max] -> v_r
        v_r -> s k_f/(1 + s t_f) (1 + s t_f3)/(1 + s t_f2) -> feedback
        v_r - v_fe -> 1/(s t_e), at least v_e_min, with v_fe at most v_fe_max -> v_e
        v_fe = (k_e + S_E(v_e)) v_e + k_d i_f      v_f = v_e F_EX(k_c i_f/v_e)

    The gates of limiters are left out: OEL and UEL, the record's first two numbers, which place them, change
    nothing. Source: IEEE Std 421.5-2016, type AC5C; PowerWorld, AC5C; the place of the feedback and the order
    of the values are those of InterPSS, which has a record of PSS/E 36 in its public test data.
    """

    role = "exciter"
    records = (
        "AC5C -oel -uel t_r k_a t_a v_r_max v_r_min k_e t_e k_f t_f t_f2 t_f3 e_1 se_1 e_2 se_2 k_c k_d "
        "v_fe_max v_e_min",
    )
    states = ("v_m", "v_r", "v_e", "x_f", "x_f2")
    algebraic = ("v_f", "v_e_max")
    limits = {"v_r": ("v_r_min", "v_r_max"), "v_e": ("v_e_min", "v_e_max")}
    lags = {"v_m": ("t_r",), "v_r": ("t_a",), "x_f2": ("t_f2",)}

    k_a = Parameter("pu", "gain of the regulator", positive)
    t_a = Parameter("s", "time constant of the regulator", nonnegative)
    v_r_max = Parameter("pu", "upper limit of the regulator's output")
    v_r_min = Parameter("pu", "lower limit of the regulator's output")
    k_e = Parameter("pu", "constant of the exciter (1 where separately excited)", positive)
    k_f = Parameter("pu", "gain of the rate feedback", nonnegative)
    t_f = Parameter("s", "time constant of the rate feedback", positive)
    t_f2 = Parameter("s", "second lag time constant of the feedback", nonnegative)
    t_f3 = Parameter("s", "lead time constant of the feedback", nonnegative)
    v_fe_max = Parameter("pu", "upper limit of the exciter's field current", positive)

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to a lead without its lag, to crossed limits and to an impossible saturation curve."""
        return improper(p, ("t_f3", "t_f2")) or crossed(p, ("v_r_min", "v_r_max")) or Alternator.conflict(p)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of transducer, regulator, exciter, feedback; field voltage, limit of v_e."""
        washed, d_f = washout(v.v_r, v.x_f, p.t_f)
        feedback, d_f2 = lead_lag(p.k_f / p.t_f * washed, v.x_f2, p.t_f3, p.t_f2)
        derivatives = (
            lag(regulated_voltage(m, v), v.v_m, p.t_r),
            lag(p.k_a * (v.v_ref + v.v_s - v.v_m - feedback), v.v_r, p.t_a),
            (v.v_r - alternator_current(m, v.v_e, v.i_f, p)) / p.t_e,
            d_f,
            d_f2,
        )
        return derivatives, alternator_output(m, v, p), ()

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium for the field voltage that the machine needs."""
        v_f, v_e, v_fe = alternator_at_start(terminal, p)
        v_m, i_f = np.abs(terminal.voltage), terminal.signals.get("i_f", 1.0)
        found = {"v_m": v_m, "v_r": v_fe, "v_e": v_e, "x_f": v_fe, "v_f": v_f}
        return found | {"v_e_max": (p.v_fe_max - p.k_d * i_f) / p.k_e, "v_ref": v_m + v_fe / p.k_a}


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
