"""Static exciters of IEEE 421.5-2005 and -2016: ST5B, ST6B, ST8C."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from psmr.dae.declare.component import (
    Component,
    Parameter,
    Terms,
    crossed,
    improper,
    nonnegative,
    positive,
    ungained,
)
from psmr.dae.declare.mathematics import NumericMath
from psmr.devices.blocks import error_at_rest, lag, lead_lag, rectified, washout
from psmr.devices.exciters.compensator import regulated_voltage


class ST5B(Component):
    """Bus-fed static excitation system, IEEE type ST5B: two limited lead-lags, a gain, the bridge.

    ::

        |v| -> 1/(1 + s t_r) -> v_m      v_ref + v_s - v_m
        -> (1 + s t_c1)/(1 + s t_b1), limits [v_r_min/k_r, v_r_max/k_r]
        -> (1 + s t_c2)/(1 + s t_b2), limits [v_r_min/k_r, v_r_max/k_r] -> k_r -> v_r
        v_r - k_c i_f -> 1/(1 + s t_1), limits [|v| v_r_min, |v| v_r_max] -> v_f

    i_f is the field current of the machine. The limits of a lead-lag hold for its output and, without windup,
    for its state (here by k_r). The gates of over- and underexcitation limiters are left out, and with them
    the lead-lags that would be in force beyond a gate: the record's values TUC1 to TOB2 change nothing. The
    record URST5T is the same system without them. Source: IEEE Std 421.5-2005, type ST5B; PSS/E, Model
    Library, ST5B and URST5T.
    """

    role = "exciter"
    records = (
        "ST5B t_r t_c1 t_b1 t_c2 t_b2 k_r v_r_max v_r_min t_1 k_c -t_uc1 -t_ub1 -t_uc2 -t_ub2 -t_oc1 -t_ob1 "
        "-t_oc2 -t_ob2",
        "URST5T t_r t_c1 t_b1 t_c2 t_b2 k_r v_r_max v_r_min t_1 k_c",
    )
    states = ("v_m", "x_1", "x_2", "v_f")
    algebraic = ("v_f_low", "v_f_high")
    inputs = ("v_re", "v_im", "v_s", "i_f", "v_ref")
    optional = {"v_s": 0.0}
    limits = {"x_1": ("v_r_min", "v_r_max"), "x_2": ("v_r_min", "v_r_max"), "v_f": ("v_f_low", "v_f_high")}
    lags = {"v_m": ("t_r",), "x_1": ("t_b1",), "x_2": ("t_b2",), "v_f": ("t_1",)}

    t_r = Parameter("s", "time constant of the voltage transducer", nonnegative)
    t_c1 = Parameter("s", "first lead time constant", nonnegative)
    t_b1 = Parameter("s", "first lag time constant", nonnegative)
    t_c2 = Parameter("s", "second lead time constant", nonnegative)
    t_b2 = Parameter("s", "second lag time constant", nonnegative)
    k_r = Parameter("pu", "gain of the regulator", positive)
    v_r_max = Parameter("pu", "upper limit of the regulator, and of v_f at rated bus voltage")
    v_r_min = Parameter("pu", "lower limit of the regulator, and of v_f at rated bus voltage")
    t_1 = Parameter("s", "time constant of the bridge's firing", nonnegative)
    k_c = Parameter("pu", "regulation of the rectifier", nonnegative)

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to leads without their lags and to crossed limits."""
        return crossed(p, ("v_r_min", "v_r_max")) or improper(p, ("t_c1", "t_b1"), ("t_c2", "t_b2"))

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of transducer, lead-lags and bridge; the moving limits."""
        magnitude = m.sqrt(v.v_re**2 + v.v_im**2)
        first, d_1 = lead_lag(p.k_r * (v.v_ref + v.v_s - v.v_m), v.x_1, p.t_c1, p.t_b1)
        second, d_2 = lead_lag(m.clip(first, p.v_r_min, p.v_r_max), v.x_2, p.t_c2, p.t_b2)
        v_r = m.clip(second, p.v_r_min, p.v_r_max)
        derivatives = (
            lag(regulated_voltage(m, v), v.v_m, p.t_r),
            d_1,
            d_2,
            lag(v_r - p.k_c * v.i_f, v.v_f, p.t_1),
        )
        return derivatives, (magnitude * p.v_r_min - v.v_f_low, magnitude * p.v_r_max - v.v_f_high), ()

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium for the field voltage that the machine needs."""
        v_f, i_f = terminal.signals.get("v_f", 1.0), terminal.signals.get("i_f", 1.0)
        v_m, v_r = np.abs(terminal.voltage), v_f + p.k_c * i_f
        limits = {"v_f_low": v_m * p.v_r_min, "v_f_high": v_m * p.v_r_max}
        return limits | {"v_m": v_m, "x_1": v_r, "x_2": v_r, "v_f": v_f, "v_ref": v_m + v_r / p.k_r}


class ST6B(Component):
    """Bus-fed static excitation system, IEEE type ST6B, with its limiter of the field current.

    ::

        |v| -> 1/(1 + s t_r) -> v_m      e = v_ref + v_s - v_m
        e -> k_pa + k_ia/s + s k_da/(1 + s t_da), limits [v_a_min, v_a_max] -> v_a
        (v_a - v_g) k_m + k_ff v_a -> limits [v_r_min, min(v_r_max, v_lr)] -> v_r
        v_lr = max((k_ci i_lr - i_f) k_lr, v_r_min), without effect where k_lr = 0
        v_f = v_r |v|      k_g/(1 + s t_g) v_f -> v_g

    i_f is the field current of the machine. The limits of the regulator hold for its integral part, without
    windup, and for its output. The gate of an overexcitation limiter is left out: the record's number OEL,
    which places it, changes nothing. Source: IEEE Std 421.5-2005, type ST6B; IEEE Std 421.5-2016, type ST6C;
    PSS/E, Model Library, ST6B.
    """

    role = "exciter"
    records = (
        "ST6B -oel t_r k_pa k_ia k_da t_da v_a_max v_a_min k_ff k_m k_ci k_lr i_lr v_r_max v_r_min k_g t_g",
    )
    states = ("v_m", "x_i", "x_d", "v_g")
    algebraic = ("v_f",)
    inputs = ("v_re", "v_im", "v_s", "i_f", "v_ref")
    optional = {"v_s": 0.0}
    limits = {"x_i": ("v_a_min", "v_a_max")}
    lags = {"v_m": ("t_r",), "x_d": ("t_da",), "v_g": ("t_g",)}
    integrals = {"x_i": "k_ia"}

    t_r = Parameter("s", "time constant of the voltage transducer", nonnegative)
    k_pa = Parameter("pu", "proportional gain of the regulator", nonnegative)
    k_ia = Parameter("pu/s", "integral gain of the regulator", nonnegative)
    k_da = Parameter("pu s", "derivative gain of the regulator", nonnegative)
    t_da = Parameter("s", "time constant of the derivative", nonnegative)
    v_a_max = Parameter("pu", "upper limit of the regulator")
    v_a_min = Parameter("pu", "lower limit of the regulator")
    k_ff = Parameter("pu", "gain of the feedforward", nonnegative)
    k_m = Parameter("pu", "gain of the inner loop", nonnegative)
    k_ci = Parameter("1", "factor of i_lr", nonnegative)
    k_lr = Parameter("pu", "gain of the limiter of the field current", nonnegative)
    i_lr = Parameter("pu", "field current of the limiter")
    v_r_max = Parameter("pu", "upper limit of the field voltage at rated bus voltage")
    v_r_min = Parameter("pu", "lower limit of the field voltage at rated bus voltage")
    k_g = Parameter("pu", "gain of the inner feedback", nonnegative)
    t_g = Parameter("s", "time constant of the inner feedback", nonnegative)

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to a regulator without gains, a derivative without its lag, and crossed limits."""
        if wrong := ungained(p, ("k_m", "k_ff")):
            return f"{wrong}, or the regulator acts on nothing"
        wrong = ungained(p, ("k_pa", "k_ia")) or improper(p, ("k_da", "t_da"))
        return wrong or crossed(p, ("v_a_min", "v_a_max"), ("v_r_min", "v_r_max"))

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of transducer, regulator and inner feedback, and the field voltage."""
        error = v.v_ref + v.v_s - v.v_m
        washed, d_d = washout(error, v.x_d, p.t_da)
        v_a = m.clip(p.k_pa * error + v.x_i + p.k_da / p.t_da * washed, p.v_a_min, p.v_a_max)
        limiter = m.max((p.k_ci * p.i_lr - v.i_f) * p.k_lr, p.v_r_min)
        upper = m.where(m.le(p.k_lr, 0), p.v_r_max, m.min(limiter, p.v_r_max))
        regulated = m.clip((v_a - v.v_g) * p.k_m + p.k_ff * v_a, p.v_r_min, upper)
        magnitude = m.sqrt(v.v_re**2 + v.v_im**2)
        derivatives = (
            lag(regulated_voltage(m, v), v.v_m, p.t_r),
            p.k_ia * error,
            d_d,
            lag(p.k_g * v.v_f, v.v_g, p.t_g),
        )
        return derivatives, (magnitude * regulated - v.v_f,), ()

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium for the field voltage that the machine needs."""
        v_f, v_m = terminal.signals.get("v_f", 1.0), np.abs(terminal.voltage)
        v_g = p.k_g * v_f
        v_a = (v_f / v_m + p.k_m * v_g) / (p.k_m + p.k_ff)
        error = error_at_rest(v_a, p.k_pa, p.k_ia)
        return {"v_m": v_m, "x_i": v_a, "x_d": error, "v_g": v_g, "v_f": v_f, "v_ref": v_m + error}


class ST8C(Component):
    """Static excitation system, IEEE type ST8C, whose source is independent of the bus.

    ::

        |v| -> 1/(1 + s t_r) -> v_m      e = v_ref + v_s - v_m
        e -> k_pr + k_ir/s, limits [v_pi_min, v_pi_max] -> i_ref
        i_ref - k_f/(1 + s t_f) i_f -> k_pa + k_ia/s, limits [v_a_min, v_a_max]
        -> k_a/(1 + s t_a), limits [v_r_min, v_r_max] -> v_r
        v_f = v_b v_r      v_b = min(k_p F_EX(k_c1 i_f/k_p), v_b1_max)

    i_f is the field current of the machine. The limits of a PI regulator hold for its integral part, without
    windup, and for its output. The switch SW1 has to be 0 (a source of its own, k_p), and the compounding
    from the machine's current has to be off (K_I2 = 0). The gates of limiters are left out: the record's
    numbers OEL, UEL and SCL, which place them, change nothing. Source: IEEE Std 421.5-2016, type ST8C; PSS/E,
    Model Library, ST8C.
    """

    role = "exciter"
    records = (
        "ST8C -oel -uel -scl sw1=0 t_r k_pr k_ir v_pi_max v_pi_min k_pa k_ia v_a_max v_a_min k_a t_a v_r_max "
        "v_r_min k_f t_f k_c1 k_p -k_i1 -x_l -theta_p v_b1_max -k_c2 k_i2=0 -v_b2_max",
    )
    states = ("v_m", "x_r", "x_a", "v_r", "i_m")
    algebraic = ("v_f",)
    inputs = ("v_re", "v_im", "v_s", "i_f", "v_ref")
    optional = {"v_s": 0.0}
    limits = {"x_r": ("v_pi_min", "v_pi_max"), "x_a": ("v_a_min", "v_a_max"), "v_r": ("v_r_min", "v_r_max")}
    lags = {"v_m": ("t_r",), "v_r": ("t_a",), "i_m": ("t_f",)}
    integrals = {"x_r": "k_ir", "x_a": "k_ia"}

    t_r = Parameter("s", "time constant of the voltage transducer", nonnegative)
    k_pr = Parameter("pu", "proportional gain of the voltage regulator", nonnegative)
    k_ir = Parameter("pu/s", "integral gain of the voltage regulator", nonnegative)
    v_pi_max = Parameter("pu", "upper limit of the voltage regulator")
    v_pi_min = Parameter("pu", "lower limit of the voltage regulator")
    k_pa = Parameter("pu", "proportional gain of the current regulator", nonnegative)
    k_ia = Parameter("pu/s", "integral gain of the current regulator", nonnegative)
    v_a_max = Parameter("pu", "upper limit of the current regulator")
    v_a_min = Parameter("pu", "lower limit of the current regulator")
    k_a = Parameter("pu", "gain of the bridge", positive)
    t_a = Parameter("s", "time constant of the bridge", nonnegative)
    v_r_max = Parameter("pu", "upper limit of the bridge")
    v_r_min = Parameter("pu", "lower limit of the bridge")
    k_f = Parameter("pu", "gain of the measured field current", nonnegative)
    t_f = Parameter("s", "time constant of the measured field current", nonnegative)
    k_c1 = Parameter("pu", "regulation of the rectifier", nonnegative)
    k_p = Parameter("pu", "voltage of the source", positive)
    v_b1_max = Parameter("pu", "upper limit of the source's voltage", positive)

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to regulators without any gain and to crossed limits."""
        limits = (("v_pi_min", "v_pi_max"), ("v_a_min", "v_a_max"), ("v_r_min", "v_r_max"))
        return ungained(p, ("k_pr", "k_ir"), ("k_pa", "k_ia")) or crossed(p, *limits)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of transducer, regulators, bridge and measured current; field voltage."""
        error = v.v_ref + v.v_s - v.v_m
        asked = m.clip(p.k_pr * error + v.x_r, p.v_pi_min, p.v_pi_max)
        inner = asked - v.i_m
        regulated = m.clip(p.k_pa * inner + v.x_a, p.v_a_min, p.v_a_max)
        derivatives = (
            lag(regulated_voltage(m, v), v.v_m, p.t_r),
            p.k_ir * error,
            p.k_ia * inner,
            lag(p.k_a * regulated, v.v_r, p.t_a),
            lag(p.k_f * v.i_f, v.i_m, p.t_f),
        )
        return derivatives, (_source(m, v.i_f, p) * v.v_r - v.v_f,), ()

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium for the field voltage that the machine needs."""
        v_f, i_f = terminal.signals.get("v_f", 1.0), terminal.signals.get("i_f", 1.0)
        v_r = v_f / _source(NumericMath, i_f, p)
        x_a, i_m = v_r / p.k_a, p.k_f * i_f
        asked = i_m + error_at_rest(x_a, p.k_pa, p.k_ia)
        v_m = np.abs(terminal.voltage)
        found = {"v_m": v_m, "x_r": asked, "x_a": x_a, "v_r": v_r, "i_m": i_m, "v_f": v_f}
        return found | {"v_ref": v_m + error_at_rest(asked, p.k_pr, p.k_ir)}


def _source(m: Any, i_f: Any, p: Any) -> Any:
    """Return the voltage of the source behind its rectifier."""
    return m.min(rectified(m, p.k_p, p.k_c1 * i_f), p.v_b1_max)
