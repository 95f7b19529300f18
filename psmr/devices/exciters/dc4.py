"""The direct-current exciter with a PID regulator of the standard library.

The direct-current exciter with a PID regulator and a source of its own, IEEE type DC4C.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from psmr.dae.declare.component import Parameter, Terms, crossed, improper, nonnegative, ungained
from psmr.dae.declare.mathematics import NumericMath
from psmr.devices.blocks import error_at_rest, lag, washout
from psmr.devices.exciters.compensator import regulated_voltage
from psmr.devices.exciters.compound import (
    ExciterSource,
    exciter_source,
    potential_at_start,
    potential_now,
)
from psmr.devices.exciters.dc import DirectCurrent, exciter_current, exciter_slope, guess_direct_current


class DC4B(DirectCurrent):
    """Direct-current exciter with a PID regulator fed from the terminals, IEEE type DC4B (2005).

    ::

        |v| -> 1/(1 + s t_r) -> v_m      e = v_ref + v_s - v_m - feedback
        e -> k_a (k_pr + k_ir/s + s k_dr/(1 + s t_dr)), limits [v_r_min, v_r_max] -> x_r
        |v| x_r -> 1/(1 + s t_a), limits [|v| v_r_min, |v| v_r_max] -> v_r
        v_r -> 1/(k_e + S_E(v_f) + s t_e), at least v_f_min -> v_f      feedback = s k_f/(1 + s t_f) v_f

    The limits of the PID hold for its integral part x_i (here with k_a), without windup, and for its output.
    The gates of over- and underexcitation limiters, which the record's first two numbers place, are left out.
    Source: IEEE Std 421.5-2005, type DC4B; PSS/E, Model Library, DC4B.
    """

    role = "exciter"
    records = (
        "DC4B -oel -uel t_r k_pr k_ir k_dr t_dr v_r_max v_r_min k_a t_a k_e t_e k_f t_f v_f_min e_1 "
        "se_1 e_2 se_2",
    )
    states = ("v_m", "x_i", "x_d", "v_r", "v_f", "x_f")
    algebraic: ClassVar[tuple[str, ...]] = ("v_r_low", "v_r_high")
    limits = {
        "x_i": ("v_r_min", "v_r_max"),
        "v_r": ("v_r_low", "v_r_high"),
        "v_f": ("v_f_min", None),
    }
    lags = {"v_m": ("t_r",), "x_d": ("t_dr",), "v_r": ("t_a",)}
    integrals = {"x_i": "k_ir"}

    k_pr = Parameter("pu", "proportional gain of the regulator", nonnegative)
    k_ir = Parameter("pu/s", "integral gain of the regulator", nonnegative)
    k_dr = Parameter("pu s", "derivative gain of the regulator", nonnegative)
    t_dr = Parameter("s", "time constant of the derivative", nonnegative)
    v_f_min = Parameter("pu", "lower limit of the field voltage", default=0.0)

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to a regulator without a gain, a derivative without its lag, crossed limits, saturation."""
        wrong = ungained(p, ("k_pr", "k_ir")) or improper(p, ("k_dr", "t_dr"))
        return wrong or crossed(p, ("v_r_min", "v_r_max")) or DirectCurrent.conflict(p)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of transducer, PID, regulator, exciter, feedback; the moving limits."""
        magnitude = m.sqrt(v.v_re**2 + v.v_im**2)
        fed_back, d_f = washout(v.v_f, v.x_f, p.t_f)
        error = v.v_ref + v.v_s - v.v_m - p.k_f / p.t_f * fed_back
        washed, d_d = washout(error, v.x_d, p.t_dr)
        direct = p.k_a * (p.k_pr * error + p.k_dr / p.t_dr * washed)
        regulated = m.clip(direct + v.x_i, p.v_r_min, p.v_r_max)
        derivatives = (
            lag(regulated_voltage(m, v), v.v_m, p.t_r),
            p.k_a * p.k_ir * error,
            d_d,
            lag(magnitude * regulated, v.v_r, p.t_a),
            exciter_slope(m, v, p),
            d_f,
        )
        return derivatives, (magnitude * p.v_r_min - v.v_r_low, magnitude * p.v_r_max - v.v_r_high), ()

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium for the field voltage that the machine needs."""
        found = guess_direct_current(terminal, p)
        magnitude = found["v_m"]
        regulated = found["v_r"] / magnitude
        error = error_at_rest(regulated, p.k_a * p.k_pr, p.k_ir)
        limits = {"v_r_low": magnitude * p.v_r_min, "v_r_high": magnitude * p.v_r_max}
        return found | limits | {"x_i": regulated, "x_d": error, "v_ref": magnitude + error}


class DC4C(ExciterSource, DC4B):
    """Direct-current exciter with a PID regulator and a source of its own, IEEE type DC4C (2016).

    ::

        |v| -> 1/(1 + s t_r) -> v_m      e = v_ref + v_s - v_m - feedback
        e -> k_a (k_pr + k_ir/s + s k_dr/(1 + s t_dr)), limits [v_r_min, v_r_max]
        -> 1/(1 + s t_a), limits [v_r_min, v_r_max] -> v_r
        v_b v_r -> 1/(k_e + S_E(v_f) + s t_e), at least v_f_min -> v_f      feedback = s k_f/(1 + s t_f) v_f
        v_fe = (k_e + S_E(v_f)) v_f      v_b = min(u F_EX(k_c1 v_fe/u), v_b_max)
        sw_1 = 1: u = |K v + j (k_i + K x_l) i|, K = k_p e^(j theta_p)     sw_1 = 2: u = k_p

    The limits of the PID hold for its integral part x_i (here with k_a), without windup, and for its output.
    The gates of limiters, which the record's first three numbers place, are left out. Source: IEEE Std
    421.5-2016, type DC4C; PowerWorld, DC4C, in whose order a record of PSS/E 36 in InterPSS' public test data
    has its values; InterPSS has v_fe in the source's rectifier.
    """

    role = "exciter"
    records = (
        "DC4C -oel -uel -scl sw_1 t_r k_pr k_ir k_dr t_dr v_r_max v_r_min k_a t_a k_e t_e k_f t_f v_f_min "
        "e_1 se_1 e_2 se_2 k_p k_i x_l theta_p_deg k_c1 v_b_max",
    )
    algebraic = ()
    inputs = tuple(name for name in ExciterSource.inputs if name != "i_f")
    limits = {"x_i": ("v_r_min", "v_r_max"), "v_r": ("v_r_min", "v_r_max"), "v_f": ("v_f_min", None)}

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of transducer, PID, regulator, exciter, feedback."""
        fed_back, d_f = washout(v.v_f, v.x_f, p.t_f)
        error = v.v_ref + v.v_s - v.v_m - p.k_f / p.t_f * fed_back
        washed, d_d = washout(error, v.x_d, p.t_dr)
        direct = p.k_a * (p.k_pr * error + p.k_dr / p.t_dr * washed)
        v_fe = exciter_current(m, v.v_f, p)
        supply = exciter_source(m, potential_now(m, v, p), v_fe, p)
        derivatives = (
            lag(regulated_voltage(m, v), v.v_m, p.t_r),
            p.k_a * p.k_ir * error,
            d_d,
            lag(m.clip(direct + v.x_i, p.v_r_min, p.v_r_max), v.v_r, p.t_a),
            (supply * v.v_r - v_fe) / p.t_e,
            d_f,
        )
        return derivatives, (), ()

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium for the field voltage that the machine needs."""
        found = guess_direct_current(terminal, p)
        v_fe = found["v_r"]
        v_r = v_fe / exciter_source(NumericMath, potential_at_start(terminal, p), v_fe, p)
        error = error_at_rest(v_r, p.k_a * p.k_pr, p.k_ir)
        return found | {"v_r": v_r, "x_i": v_r, "x_d": error, "v_ref": found["v_m"] + error}
