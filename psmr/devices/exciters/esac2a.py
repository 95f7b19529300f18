"""The high initial response alternator with an uncontrolled rectifier of the standard library."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from psmr.dae.declare.component import Parameter, Terms, nonnegative, positive
from psmr.devices.exciters.ac import RateFeedback, rate_feedback, rate_feedback_at_start
from psmr.devices.exciters.alternator import alternator_output


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
