"""Excitation systems with an alternator and diodes, types AC1, AC1A, AC2 and AC6A of the standard library."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from psmr.dae.declare.component import Parameter, Terms, crossed, improper, nonnegative, positive
from psmr.devices.blocks import lag, lead_lag, rectified, washout
from psmr.devices.exciters.alternator import Alternator, alternator_at_start, alternator_current
from psmr.devices.exciters.compensator import regulated_voltage


class RateFeedback(Alternator):
    """What types AC1, AC1A and AC2 share: lead-lag, regulator, and feedback of v_fe by its rate."""

    t_b = Parameter("s", "lag time constant before the regulator", nonnegative)
    t_c = Parameter("s", "lead time constant before the regulator", nonnegative)
    k_a = Parameter("pu", "gain of the regulator", positive)
    t_a = Parameter("s", "time constant of the regulator", nonnegative)
    k_f = Parameter("pu", "gain of the rate feedback", nonnegative)
    t_f = Parameter("s", "time constant of the rate feedback", positive)

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to a lead without its lag, to crossed limits and to an impossible saturation curve."""
        crossing = crossed(p, ("v_r_min", "v_r_max")) if "v_a_max" in p else None
        return improper(p, ("t_c", "t_b")) or crossing or Alternator.conflict(p)


def rate_feedback(
    m: Any, v: Any, p: Any, regulated: Any, v_r: Callable[[Any], Any]
) -> tuple[Terms, Terms, Terms]:
    """Return the derivatives of transducer, lead-lag, regulator, exciter, feedback; the field voltage.

    `regulated` is the state of the regulator, and v_r what drives the exciter where v_fe is its argument.
    """
    v_fe = alternator_current(m, v.v_e, v.i_f, p)
    washed, d_f = washout(v_fe, v.x_f, p.t_f)
    led, d_l = lead_lag(v.v_ref + v.v_s - v.v_m - p.k_f / p.t_f * washed, v.x_l, p.t_c, p.t_b)
    derivatives = (
        lag(regulated_voltage(m, v), v.v_m, p.t_r),
        d_l,
        lag(p.k_a * led, regulated, p.t_a),
        (v_r(v_fe) - v_fe) / p.t_e,
        d_f,
    )
    return derivatives, (rectified(m, v.v_e, p.k_c * v.i_f) - v.v_f,), ()


def rate_feedback_at_start(
    terminal: Any, p: Any, regulator: str, regulated: Callable[[Any], Any] = lambda v_fe: v_fe
) -> Mapping[str, Any]:
    """Return the equilibrium for the field voltage of the machine, with what a v_fe asks of the regulator."""
    v_f, v_e, v_fe = alternator_at_start(terminal, p)
    v_m, v_a = np.abs(terminal.voltage), regulated(v_fe)
    found = {"v_m": v_m, regulator: v_a, "v_e": v_e, "x_f": v_fe, "v_f": v_f}
    return found | {"x_l": v_a / p.k_a, "v_ref": v_m + v_a / p.k_a}


class EXAC1(RateFeedback):
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

    v_r_max = Parameter("pu", "upper limit of the regulator's output")
    v_r_min = Parameter("pu", "lower limit of the regulator's output")

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of transducer, lead-lag, regulator, exciter, feedback; the field voltage."""
        return rate_feedback(m, v, p, v.v_r, lambda v_fe: v.v_r)

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium for the field voltage that the machine needs."""
        return rate_feedback_at_start(terminal, p, "v_r")


class ESAC1A(RateFeedback):
    """Alternator with uncontrolled rectifier, IEEE type AC1A (1992), without its limiters' gates.

    ::

        |v| -> 1/(1 + s t_r) -> v_m
        v_ref + v_s - v_m - feedback -> (1 + s t_c)/(1 + s t_b) -> k_a/(1 + s t_a),
        limits [v_a_min, v_a_max] -> v_a -> limits [v_r_min, v_r_max] -> v_r
        v_r - v_fe -> 1/(s t_e), at least v_e_min -> v_e      feedback = s k_f/(1 + s t_f) v_fe
        v_fe = (k_e + S_E(v_e)) v_e + k_d i_f      v_f = v_e F_EX(k_c i_f/v_e)

    Source: IEEE Std 421.5-2005, type AC1A; PSS/E, Model Library, ESAC1A.
    """

    role = "exciter"
    records = (
        "ESAC1A t_r t_b t_c k_a t_a v_a_max v_a_min t_e k_f t_f k_c k_d k_e e_1 se_1 e_2 se_2 v_r_max "
        "v_r_min",
    )
    states = ("v_m", "x_l", "v_a", "v_e", "x_f")
    limits = {"v_a": ("v_a_min", "v_a_max"), "v_e": ("v_e_min", None)}
    lags = {"v_m": ("t_r",), "x_l": ("t_b",), "v_a": ("t_a",)}

    v_a_max = Parameter("pu", "upper limit of the regulator")
    v_a_min = Parameter("pu", "lower limit of the regulator")
    v_r_max = Parameter("pu", "upper limit of the exciter's input")
    v_r_min = Parameter("pu", "lower limit of the exciter's input")

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of transducer, lead-lag, regulator, exciter, feedback; the field voltage."""
        return rate_feedback(m, v, p, v.v_a, lambda v_fe: m.clip(v.v_a, p.v_r_min, p.v_r_max))

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium for the field voltage that the machine needs."""
        return rate_feedback_at_start(terminal, p, "v_a")


class EXAC2(RateFeedback):
    """Alternator with uncontrolled rectifier, IEEE type AC2 (1981): feedback and limit of its field current.

    ::

        |v| -> 1/(1 + s t_r) -> v_m
        v_ref + v_s - v_m - feedback -> (1 + s t_c)/(1 + s t_b) -> k_a/(1 + s t_a),
        limits [v_a_min, v_a_max] -> v_a
        the lower of v_a - k_h v_fe and k_l (v_lr - v_fe) -> k_b -> limits [v_r_min, v_r_max] -> v_r
        v_r - v_fe -> 1/(s t_e), at least v_e_min -> v_e      feedback = s k_f/(1 + s t_f) v_fe
        v_fe = (k_e + S_E(v_e)) v_e + k_d i_f      v_f = v_e F_EX(k_c i_f/v_e)

    Source: IEEE Committee Report, Excitation System Models for Power System Stability Studies (1981), type
    AC2; PSS/E, Model Library, EXAC2.
    """

    role = "exciter"
    records = (
        "EXAC2 t_r t_b t_c k_a t_a v_a_max v_a_min k_b v_r_max v_r_min t_e k_l k_h k_f t_f k_c k_d "
        "k_e v_lr e_1 se_1 e_2 se_2",
    )
    states = ("v_m", "x_l", "v_a", "v_e", "x_f")
    limits = {"v_a": ("v_a_min", "v_a_max"), "v_e": ("v_e_min", None)}
    lags = {"v_m": ("t_r",), "x_l": ("t_b",), "v_a": ("t_a",)}

    v_a_max = Parameter("pu", "upper limit of the regulator")
    v_a_min = Parameter("pu", "lower limit of the regulator")
    k_b = Parameter("pu", "gain of the second stage", positive)
    v_r_max = Parameter("pu", "upper limit of the exciter's input")
    v_r_min = Parameter("pu", "lower limit of the exciter's input")
    k_l = Parameter("pu", "gain of the limiter of the exciter's field current", nonnegative)
    k_h = Parameter("pu", "gain of the feedback of the exciter's field current", nonnegative)
    v_lr = Parameter("pu", "limit of the exciter's field current")

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of transducer, lead-lag, regulator, exciter, feedback; the field voltage."""

        def v_r(v_fe: Any) -> Any:
            lower = m.min(v.v_a - p.k_h * v_fe, p.k_l * (p.v_lr - v_fe))
            return m.clip(p.k_b * lower, p.v_r_min, p.v_r_max)

        return rate_feedback(m, v, p, v.v_a, v_r)

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium for the field voltage that the machine needs."""
        return rate_feedback_at_start(terminal, p, "v_a", lambda v_fe: v_fe / p.k_b + p.k_h * v_fe)


class ESAC6A(Alternator):
    """Alternator with uncontrolled rectifier, IEEE type AC6A (1992), with a limiter of its field current.

    ::

        |v| -> 1/(1 + s t_r) -> v_m
        v_ref + v_s - v_m -> k_a (1 + s t_k)/(1 + s t_a), limits [v_a_min, v_a_max] -> v_a
        v_a -> (1 + s t_c)/(1 + s t_b) -> - v_h -> limits [|v| v_r_min, |v| v_r_max] -> v_r
        v_fe - v_fe_lim -> k_h -> limits [0, v_h_max] -> (1 + s t_j)/(1 + s t_h) -> v_h
        v_r - v_fe -> 1/(s t_e), at least v_e_min -> v_e
        v_fe = (k_e + S_E(v_e)) v_e + k_d i_f      v_f = v_e F_EX(k_c i_f/v_e)

    The limits [v_a_min, v_a_max] hold for the output of the regulator's lead-lag and, without windup, for its
    state. Source: IEEE Std 421.5-2005, type AC6A, without its overexcitation limiter's gate; PSS/E, Model
    Library, ESAC6A.
    """

    role = "exciter"
    records = (
        "ESAC6A t_r k_a t_a t_k t_b t_c v_a_max v_a_min v_r_max v_r_min t_e v_fe_lim k_h v_h_max t_h "
        "t_j k_c k_d k_e e_1 se_1 e_2 se_2",
    )
    states = ("v_m", "x_a", "x_l", "x_h", "v_e")
    limits = {"x_a": ("v_a_min", "v_a_max"), "v_e": ("v_e_min", None)}
    lags = {"v_m": ("t_r",), "x_a": ("t_a",), "x_l": ("t_b",), "x_h": ("t_h",)}

    k_a = Parameter("pu", "gain of the regulator", positive)
    t_a = Parameter("s", "lag time constant of the regulator", nonnegative)
    t_k = Parameter("s", "lead time constant of the regulator", nonnegative)
    t_b = Parameter("s", "lag time constant behind the regulator", nonnegative)
    t_c = Parameter("s", "lead time constant behind the regulator", nonnegative)
    v_a_max = Parameter("pu", "upper limit of the regulator")
    v_a_min = Parameter("pu", "lower limit of the regulator")
    v_r_max = Parameter("pu", "upper limit of the exciter's input at rated bus voltage")
    v_r_min = Parameter("pu", "lower limit of the exciter's input at rated bus voltage")
    v_fe_lim = Parameter("pu", "field current of the exciter at which its limiter begins")
    k_h = Parameter("pu", "gain of the limiter of the exciter's field current", nonnegative)
    v_h_max = Parameter("pu", "upper limit of this limiter's output", nonnegative)
    t_h = Parameter("s", "lag time constant of this limiter", nonnegative)
    t_j = Parameter("s", "lead time constant of this limiter", nonnegative)

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to leads without their lags, to crossed limits and to an impossible saturation curve."""
        wrong = improper(p, ("t_k", "t_a"), ("t_c", "t_b"), ("t_j", "t_h"))
        limits = (("v_a_min", "v_a_max"), ("v_r_min", "v_r_max"))
        return wrong or crossed(p, *limits) or Alternator.conflict(p)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of transducer, regulator, lead-lags, exciter; the field voltage."""
        magnitude = m.sqrt(v.v_re**2 + v.v_im**2)
        v_fe = alternator_current(m, v.v_e, v.i_f, p)
        regulated, d_a = lead_lag(p.k_a * (v.v_ref + v.v_s - v.v_m), v.x_a, p.t_k, p.t_a)
        led, d_l = lead_lag(m.clip(regulated, p.v_a_min, p.v_a_max), v.x_l, p.t_c, p.t_b)
        beyond = m.min(m.max(p.k_h * (v_fe - p.v_fe_lim), 0), p.v_h_max)
        held, d_h = lead_lag(beyond, v.x_h, p.t_j, p.t_h)
        v_r = m.clip(led - held, magnitude * p.v_r_min, magnitude * p.v_r_max)
        derivatives = (lag(regulated_voltage(m, v), v.v_m, p.t_r), d_a, d_l, d_h, (v_r - v_fe) / p.t_e)
        return derivatives, (rectified(m, v.v_e, p.k_c * v.i_f) - v.v_f,), ()

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium for the field voltage that the machine needs."""
        v_f, v_e, v_fe = alternator_at_start(terminal, p)
        held = np.clip(p.k_h * (v_fe - p.v_fe_lim), 0, p.v_h_max)
        v_m, v_a = np.abs(terminal.voltage), v_fe + held
        found = {"v_m": v_m, "x_a": v_a, "x_l": v_a, "x_h": held, "v_e": v_e, "v_f": v_f}
        return found | {"v_ref": v_m + v_a / p.k_a}
