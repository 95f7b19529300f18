"""Exciters with alternators of IEEE 421.5-1992 and -2005: AC1A to AC6A with their PSS/E names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from psmr.dae.declare.component import Component, Parameter, Terms, crossed, improper, nonnegative, positive
from psmr.devices.blocks import lag, lead_lag, rectified, washout
from psmr.devices.exciters.alternator import (
    Alternator,
    alternator_at_start,
    alternator_current,
    alternator_output,
)
from psmr.devices.exciters.compensator import regulated_voltage
from psmr.devices.exciters.dc import DirectCurrent, exciter_slope, guess_direct_current


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


class ESAC2A(RateFeedback):
    """Alternator with uncontrolled rectifier, IEEE types AC2A, AC1C, AC2C, with feedback of its current.

    ::

        |v| -> 1/(1 + s t_r) -> v_m
        v_ref + v_s - v_m - feedback -> (1 + s t_c)/(1 + s t_b) -> k_a/(1 + s t_a),
        limits [v_a_min, v_a_max] -> v_a
        k_b (v_a - k_h v_fe) -> limits [v_r_min, v_r_max] -> v_r
        v_r - v_fe -> 1/(s t_e), at least v_e_min, with v_fe at most v_fe_max -> v_e
        v_fe = (k_e + S_E(v_e)) v_e + k_d i_f      v_f = v_e F_EX(k_c i_f/v_e)
        feedback = s k_f/(1 + s t_f) v_fe

    v_e_max is the v_e at which v_fe would be v_fe_max. The gates of limiters are left out: OEL and UEL, the
    first two numbers of AC1C and AC2C, which place them, change nothing. AC1C is k_b = 1 and k_h = 0. Source:
    IEEE Std 421.5-2005, type AC2A; IEEE Std 421.5-2016, types AC1C and AC2C, whose E_FEmax is v_r_max; PSS/E,
    Model Library, ESAC2A; the orders of the values are those of records of PSS/E 36 in InterPSS' public test
    data.
    """

    role = "exciter"
    records = (
        "AC1C -oel -uel t_r t_b t_c k_a t_a v_a_max v_a_min t_e k_f t_f k_c k_d k_e e_1 se_1 e_2 se_2 "
        "v_r_max v_r_min v_fe_max v_e_min",
        "AC2C -oel -uel t_r t_b t_c k_a t_a v_a_max v_a_min k_b v_r_max v_r_min t_e v_fe_max k_h k_f t_f k_c "
        "k_d k_e e_1 se_1 e_2 se_2 v_e_min",
        "ESAC2A t_r t_b t_c k_a t_a v_a_max v_a_min k_b v_r_max v_r_min t_e v_fe_max k_h k_f t_f k_c k_d "
        "k_e e_1 se_1 e_2 se_2",
    )
    states = ("v_m", "x_l", "v_a", "v_e", "x_f")
    algebraic = ("v_f", "v_e_max")
    limits = {"v_a": ("v_a_min", "v_a_max"), "v_e": ("v_e_min", "v_e_max")}
    lags = {"v_m": ("t_r",), "x_l": ("t_b",), "v_a": ("t_a",)}

    v_a_max = Parameter("pu", "upper limit of the regulator")
    v_a_min = Parameter("pu", "lower limit of the regulator")
    k_b = Parameter("pu", "gain of the second stage", positive, 1.0)
    v_r_max = Parameter("pu", "upper limit of the exciter's input")
    v_r_min = Parameter("pu", "lower limit of the exciter's input")
    k_e = Parameter("pu", "constant of the exciter (1 where separately excited)", positive)
    v_fe_max = Parameter("pu", "upper limit of the exciter's field current", positive)
    k_h = Parameter("pu", "gain of the feedback of the exciter's field current", nonnegative, 0.0)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of `rate_feedback`; the field voltage and the limit of v_e."""

        def v_r(v_fe: Any) -> Any:
            return m.clip(p.k_b * (v.v_a - p.k_h * v_fe), p.v_r_min, p.v_r_max)

        derivatives, _, _ = rate_feedback(m, v, p, v.v_a, v_r)
        return derivatives, alternator_output(m, v, p), ()

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium for the field voltage that the machine needs."""
        found = rate_feedback_at_start(terminal, p, "v_a", lambda v_fe: v_fe / p.k_b + p.k_h * v_fe)
        i_f = terminal.signals.get("i_f", 1.0)
        return dict(found) | {"v_e_max": (p.v_fe_max - p.k_d * i_f) / p.k_e}


class ESAC4A(Component):
    """Alternator with controlled rectifier, IEEE types AC4 (1981), AC4A (1992) and AC4C (2016).

    ::

        |v| -> 1/(1 + s t_r) -> v_m
        v_ref + v_s - v_m -> limits [v_i_min, v_i_max] -> (1 + s t_c)/(1 + s t_b) -> k_a/(1 + s t_a),
        limits [v_r_min, v_r_max - k_c i_f] -> v_f

    The limits hold without windup; i_f is the field current of the machine. The gates of limiters are left
    out: OEL and UEL, the first two numbers of AC4C, which place them, change nothing. Source: IEEE Std
    421.5-2005, type AC4A; IEEE Std 421.5-2016, type AC4C; PSS/E, Model Library, ESAC4A, EXAC4; the orders of
    the values are those of records of PSS/E 36 in InterPSS' public test data.
    """

    role = "exciter"
    records = tuple(
        f"{model} t_r v_i_max v_i_min t_c t_b k_a t_a v_r_max v_r_min k_c"
        for model in ("AC4C -oel -uel", "ESAC4A", "EXAC4")
    )
    states = ("v_m", "x_l", "v_r")
    algebraic = ("v_f", "v_r_high")
    inputs = ("v_re", "v_im", "v_s", "i_f", "v_ref")
    optional = {"v_s": 0.0}
    limits = {"v_r": ("v_r_min", "v_r_high")}
    lags = {"v_m": ("t_r",), "x_l": ("t_b",), "v_r": ("t_a",)}

    t_r = Parameter("s", "time constant of the voltage transducer", nonnegative)
    v_i_max = Parameter("pu", "upper limit of the voltage error", positive)
    v_i_min = Parameter("pu", "lower limit of the voltage error")
    t_c = Parameter("s", "lead time constant before the regulator", nonnegative)
    t_b = Parameter("s", "lag time constant before the regulator", nonnegative)
    k_a = Parameter("pu", "gain of the regulator", positive)
    t_a = Parameter("s", "time constant of the regulator", nonnegative)
    v_r_max = Parameter("pu", "upper limit of the field voltage without field current")
    v_r_min = Parameter("pu", "lower limit of the field voltage")
    k_c = Parameter("pu", "regulation of the rectifier", nonnegative)

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to a lead without its lag and to crossed limits."""
        return improper(p, ("t_c", "t_b")) or crossed(p, ("v_i_min", "v_i_max"), ("v_r_min", "v_r_max"))

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of transducer, lead-lag and regulator; the field voltage and its limit."""
        error = m.clip(v.v_ref + v.v_s - v.v_m, p.v_i_min, p.v_i_max)
        led, d_l = lead_lag(error, v.x_l, p.t_c, p.t_b)
        derivatives = (lag(regulated_voltage(m, v), v.v_m, p.t_r), d_l, lag(p.k_a * led, v.v_r, p.t_a))
        return derivatives, (v.v_r - v.v_f, p.v_r_max - p.k_c * v.i_f - v.v_r_high), ()

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium for the field voltage that the machine needs."""
        v_f, v_m = terminal.signals.get("v_f", 1.0), np.abs(terminal.voltage)
        error = v_f / p.k_a
        high = p.v_r_max - p.k_c * terminal.signals.get("i_f", 1.0)
        found = {"v_m": v_m, "x_l": error, "v_r": v_f, "v_f": v_f, "v_r_high": high}
        return found | {"v_ref": v_m + error}


class ESAC5A(DirectCurrent):
    """Brushless excitation system, IEEE type AC5A (1992).

    ::

        |v| -> 1/(1 + s t_r) -> v_m      v_ref + v_s - v_m - feedback -> k_a/(1 + s t_a),
        limits [v_r_min, v_r_max] -> v_r      v_r -> 1/(k_e + S_E(v_f) + s t_e), at least 0 -> v_f
        v_r -> s k_f/(1 + s t_f) (1 + s t_f3)/(1 + s t_f2) -> feedback

    The exciter has no brushes, so the feedback is of what drives it. With k_e = 0 the constant of the
    exciter is the one with which v_r is v_r_max / 10 at the start. Source: IEEE Std 421.5-2005, type AC5A;
    PSS/E, Model Library, ESAC5A, whose TF1 is t_f; the place of the feedback is that of InterPSS and ANDES,
    the order of the values that of a record of PSS/E 36 in InterPSS' public test data.
    """

    role = "exciter"
    records = ("ESAC5A t_r k_a t_a v_r_max v_r_min k_e t_e k_f t_f t_f2 t_f3 e_1 se_1 e_2 se_2",)
    states = ("v_m", "v_r", "v_f", "x_f", "x_f2")
    limits = {"v_r": ("v_r_min", "v_r_max"), "v_f": ("v_f_min", None)}
    lags = {"v_m": ("t_r",), "v_r": ("t_a",), "x_f2": ("t_f2",)}

    t_f2 = Parameter("s", "second lag time constant of the feedback", nonnegative)
    t_f3 = Parameter("s", "lead time constant of the feedback", nonnegative)
    v_f_min = Parameter("pu", "lower limit of the field voltage: the diodes", default=0.0)

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to a lead without its lag, to crossed limits and to an impossible saturation curve."""
        return (
            improper(p, ("t_f3", "t_f2")) or crossed(p, ("v_r_min", "v_r_max")) or DirectCurrent.conflict(p)
        )

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of transducer, regulator, exciter and both parts of the feedback."""
        washed, d_f = washout(v.v_r, v.x_f, p.t_f)
        feedback, d_f2 = lead_lag(p.k_f / p.t_f * washed, v.x_f2, p.t_f3, p.t_f2)
        regulated = lag(p.k_a * (v.v_ref + v.v_s - v.v_m - feedback), v.v_r, p.t_a)
        measured = lag(regulated_voltage(m, v), v.v_m, p.t_r)
        return (measured, regulated, exciter_slope(m, v, p), d_f, d_f2), (), ()

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium for the field voltage that the machine needs."""
        found = guess_direct_current(terminal, p)
        return found | {"x_f": found["v_r"]}
