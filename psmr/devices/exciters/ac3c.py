"""The alternator that feeds its own regulator, IEEE types AC3A and AC3C."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from psmr.dae.declare.component import Parameter, Terms, crossed, improper, nonnegative, positive, ungained
from psmr.devices.blocks import error_at_rest, lag, lead_lag, washout
from psmr.devices.exciters.alternator import (
    Alternator,
    alternator_at_start,
    alternator_current,
    alternator_output,
)
from psmr.devices.exciters.compensator import regulated_voltage
from psmr.devices.exciters.compound import NO_LIMIT


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
