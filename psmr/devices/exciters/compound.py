"""The source of compound excitation systems, terminal voltage and current, and the exciters it feeds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from psmr.dae.declare.component import Parameter, nonnegative, positive, whole
from psmr.devices.blocks import (
    machine_frame,
    quadratic_saturation,
    rectified,
    remaining,
    saturation_conflict,
)
from psmr.devices.exciters.exciter import Exciter, measured

WITH_CURRENTS = ("v_re", "v_im", "v_s", "delta", "i_d", "i_q", "i_f", "v_ref")
"""Inputs of an exciter that is fed from the voltage and the current of the machine."""
NO_LIMIT = 999.0
"""A voltage in pu that no source reaches."""
POTENTIAL = "|K v + j (k_i + K x_l) i|, K = k_p e^(j theta_p)"


class Potential(Exciter, part=True):
    """Inputs and parameters of the power source before its rectifier; the machine gives its currents."""

    inputs: ClassVar[tuple[str, ...]] = WITH_CURRENTS

    k_p = Parameter("pu", "gain of the potential circuit", positive)
    theta_p = Parameter("rad", "angle of the potential circuit", default=0.0)
    k_i = Parameter("pu", "gain of the current circuit", nonnegative)
    x_l = Parameter("pu on machine base", "reactance of the potential source", nonnegative)


class ExciterSource(Potential, part=True):
    """Inputs and parameters of the source that feeds an exciter's regulator."""

    sw_1 = Parameter("code", "source: 1 the terminals, 2 a constant voltage k_p", whole(1, 2), 1.0)
    k_i = Parameter("pu", "gain of the current circuit", nonnegative, 0.0)
    x_l = Parameter("pu on machine base", "reactance of the potential source", nonnegative, 0.0)
    k_c1 = Parameter("pu", "regulation of the source's rectifier", nonnegative, 0.0)
    v_b_max = Parameter("pu", "upper limit of the source's voltage", positive, NO_LIMIT)


class Compound(Potential, part=True):
    """Inputs and parameters of the power source behind its rectifier."""

    k_c = Parameter("pu", "regulation of the rectifier", nonnegative)
    v_b_max = Parameter("pu", "upper limit of the source's voltage", positive)


def potential(b: Any, v: Any, p: Any) -> Any:
    """Return u = |K v + j (k_i + K x_l) i| with K = k_p e^(j theta_p)."""
    a, c = p.k_p * b.cos(p.theta_p), p.k_p * b.sin(p.theta_p)
    v_d, v_q = machine_frame(b, v.v_re, v.v_im, v.delta)
    # j (k_i + (a + j c) x_l) = -c x_l + j (k_i + a x_l)
    d, e = -c * p.x_l, p.k_i + a * p.x_l
    re = a * v_d - c * v_q + d * v.i_d - e * v.i_q
    im = a * v_q + c * v_d + d * v.i_q + e * v.i_d
    return b.named("u", b.sqrt(re**2 + im**2), POTENTIAL)


def exciter_source(b: Any, v: Any, v_fe: Any, p: Any) -> Any:
    """Return min(u F_EX(k_c1 v_fe/u), v_b_max), where u is k_p with sw_1 = 2 and v_fe the exciter's current.

    Source: IEEE Std 421.5-2016, types AC7C, AC8C and DC4C.
    """
    source = b.where(b.ge(p.sw_1, 2), p.k_p, potential(b, v, p))
    words = "min(u F_EX(k_c1 v_fe/u), v_b_max), u = k_p with sw_1 = 2"
    return b.named("v_b", b.min(rectified(b, source, p.k_c1 * v_fe), p.v_b_max), words)


def source(b: Any, v: Any, p: Any) -> Any:
    """Return the voltage v_b = min(u F_EX(k_c i_f/u), v_b_max) of the source.

    Source: IEEE Std 421.5-2016, types ST3 and ST4.
    """
    behind = b.min(rectified(b, potential(b, v, p), p.k_c * v.i_f), p.v_b_max)
    return b.named("v_b", behind, "min(u F_EX(k_c i_f/u), v_b_max)")


class ESST3A(Compound):
    """Compound-fed static excitation system, IEEE type ST3A, with an inner loop on the field voltage.

    v_b is that of the source, from |v|, the machine's current and its field current. The gates of over-
    and underexcitation limiters are behind the limits of the error. Source: IEEE Std 421.5-2005, type
    ST3A; PSS/E, Model Library, ESST3A.
    """

    records = (
        "ESST3A t_r v_i_max v_i_min k_m t_c t_b k_a t_a v_r_max v_r_min k_g k_p k_i v_b_max k_c x_l "
        "v_g_max theta_p_deg t_m v_m_max v_m_min",
    )
    places = {"oel": 2, "uel": 2}

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

    @classmethod
    def diagram(cls, b: Any, v: Any, p: Any) -> None:
        """Connect transducer, lead-lag, regulator, inner loop and source."""
        error = b.limit(v.v_ref + v.v_s - measured(b, v), "v_i_min", "v_i_max")
        led = b.lead_lag("x_c", b.gated(error), "t_c", "t_b")
        v_r = b.lag("v_r", p.k_a * led, "t_a", ("v_r_min", "v_r_max"))
        fed_back = b.named("v_g", b.min(p.k_g * v.v_f, p.v_g_max))
        v_inner = b.lag("v_inner", p.k_m * (v_r - fed_back), "t_m", ("v_m_min", "v_m_max"))
        b.output("v_f", source(b, v, p) * v_inner)


class ESST4B(Compound):
    """Compound-fed static excitation system, IEEE type ST4B: a PI regulator and an inner PI controller.

    v_b is that of the source, from |v|, the machine's current and its field current. The limits of a PI
    controller hold for its integral part, without windup, and for its output. A gain k_ir or k_im of zero
    leaves the integral part out. The gate of an overexcitation limiter is behind both. Source: IEEE Std
    421.5-2005, type ST4B; PSS/E, Model Library, ESST4B.
    """

    records = (
        "ESST4B t_r k_pr k_ir v_r_max v_r_min t_a k_pm k_im v_m_max v_m_min k_g k_p k_i v_b_max k_c "
        "x_l theta_p_deg",
    )
    places = {"oel": 2}

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

    @classmethod
    def diagram(cls, b: Any, v: Any, p: Any) -> None:
        """Connect transducer, both controllers and source."""
        error = v.v_ref + v.v_s - measured(b, v)
        v_a = b.lag("v_a", b.pi("x_r", error, "k_pr", "k_ir", ("v_r_min", "v_r_max")), "t_a")
        inner = b.pi("x_m", v_a - p.k_g * v.v_f, "k_pm", "k_im", ("v_m_min", "v_m_max"))
        b.output("v_f", source(b, v, p) * b.named("v_inner", b.gated(inner)))


DROP = 0.78
"""Commutating reactance of the rectifier in pu of field current, which the report fixes."""
WORDS_OF_DROP = "sqrt(u^2 - (0.78 i_f)^2), 0 where u < 0.78 i_f"


class IEEET3(Potential):
    """Compound-fed static exciter, IEEE type 3 (1968).

    i_f is the field current of the machine. Source: IEEE Committee Report, Computer Representation of
    Excitation Systems (1968), type 3; PSS/E, Model Library, IEEET3; for the order of its values OpenIPSL's
    verification script.
    """

    records = ("IEEET3 t_r k_a t_a v_r_max v_r_min t_e k_f t_f k_p k_i v_b_max k_e",)
    states = ("v_m", "v_r", "v_f", "x_f")

    x_l = Parameter("pu on machine base", "reactance of the potential source", nonnegative, 0.0)
    t_r = Parameter("s", "time constant of the voltage transducer", nonnegative)
    k_a = Parameter("pu", "gain of the regulator", positive)
    t_a = Parameter("s", "time constant of the regulator", nonnegative)
    v_r_max = Parameter("pu", "upper limit of the regulator's output")
    v_r_min = Parameter("pu", "lower limit of the regulator's output")
    t_e = Parameter("s", "time constant of the exciter", positive)
    k_f = Parameter("pu", "gain of the rate feedback", nonnegative)
    t_f = Parameter("s", "time constant of the rate feedback", positive)
    v_b_max = Parameter("pu", "upper limit of the exciter's input", positive)
    k_e = Parameter("pu", "constant of the exciter", positive)

    @classmethod
    def diagram(cls, b: Any, v: Any, p: Any) -> None:
        """Connect transducer, regulator, source, exciter and rate feedback."""
        error = v.v_ref + v.v_s - measured(b, v) - b.rate("x_f", v.v_f, "k_f", "t_f")
        v_r = b.lag("v_r", p.k_a * error, "t_a", ("v_r_min", "v_r_max"))
        left = b.named("v_b", remaining(b, potential(b, v, p), DROP * v.i_f), WORDS_OF_DROP)
        driven = b.clip(v_r + left, 0, p.v_b_max)
        b.integrator("v_f", b.named("e", driven) - p.k_e * v.v_f, t="t_e")


def _source_of_expic1(b: Any, v: Any, p: Any) -> Any:
    """Return the voltage v_b of the source; 1 where both gains are zero."""
    v_d, v_q = machine_frame(b, v.v_re, v.v_im, v.delta)
    re, im = p.k_p * v_d - p.k_i * v.i_q, p.k_p * v_q + p.k_i * v.i_d
    none = b.le(p.k_p + p.k_i, 0)
    magnitude = b.sqrt(b.where(none, 1, re**2 + im**2))
    words = "u F_EX(k_c i_f/u), u = |k_p v + j k_i i|; v_b = 1 with k_p = k_i = 0"
    return b.named("v_b", b.where(none, 1, rectified(b, magnitude, p.k_c * v.i_f)), words)


class EXPIC1(Exciter):
    """Proportional and integral regulator with a compound source, static or with a rotating exciter.

    With t_e = 0 the exciter is static, v_f = e_0, which is what the equations say with k_e = 1 and no
    saturation. The limits [v_r2, v_r1] hold for the integral part, without windup, and for the output. v and
    i are phasors of the machine, i_f is its field current. Source: PSS/E, Model Library, EXPIC1, as
    PowerWorld's block diagrams (Transient Models, EXPIC1) reproduce it.
    """

    records = (
        "EXPIC1 t_r k_a t_a1 v_r1 v_r2 t_a2 t_a3 t_a4 v_r_max v_r_min k_f t_f1 t_f2 efd_max efd_min "
        "k_e t_e e_1 se_1 e_2 se_2 k_p k_i k_c",
    )
    states = ("v_m", "x_i", "x_2", "x_4", "v_f", "x_f1", "x_f2")
    inputs = WITH_CURRENTS

    t_r = Parameter("s", "time constant of the voltage transducer", nonnegative)
    k_a = Parameter("pu/s", "integral gain of the regulator", positive)
    t_a1 = Parameter("s", "proportional by integral gain of the regulator", nonnegative)
    v_r1 = Parameter("pu", "upper limit of the regulator")
    v_r2 = Parameter("pu", "lower limit of the regulator")
    t_a2 = Parameter("s", "first lag behind the regulator", nonnegative)
    t_a3 = Parameter("s", "lead behind the regulator", nonnegative)
    t_a4 = Parameter("s", "second lag behind the regulator", nonnegative)
    v_r_max = Parameter("pu", "upper limit of what the source is multiplied by")
    v_r_min = Parameter("pu", "lower limit of what the source is multiplied by")
    k_f = Parameter("pu", "gain of the rate feedback", nonnegative)
    t_f1 = Parameter("s", "first time constant of the rate feedback", nonnegative)
    t_f2 = Parameter("s", "second time constant of the rate feedback", nonnegative)
    efd_max = Parameter("pu", "upper limit of the exciter's input")
    efd_min = Parameter("pu", "lower limit of the exciter's input")
    k_e = Parameter("pu", "constant of the exciter, 1 where t_e = 0")
    t_e = Parameter("s", "time constant of the exciter, 0 for a static one", nonnegative)
    e_1 = Parameter("pu", "first field voltage of the saturation curve", nonnegative)
    se_1 = Parameter("1", "saturation at e_1", nonnegative)
    e_2 = Parameter("pu", "second field voltage of the saturation curve", nonnegative)
    se_2 = Parameter("1", "saturation at e_2", nonnegative)
    k_p = Parameter("pu", "gain of the potential circuit", nonnegative)
    k_i = Parameter("pu", "gain of the current circuit", nonnegative)
    k_c = Parameter("pu", "regulation of the rectifier", nonnegative)

    @staticmethod
    def objection(p: Mapping[str, float]) -> str | None:
        """Object to what a static exciter does not have, and to an impossible saturation curve."""
        if p["t_e"] == 0 and (p["k_e"] != 1 or p["se_1"] or p["se_2"]):
            return (
                f"t_e = 0, k_e = {p['k_e']:g}, se_1 = {p['se_1']:g} and se_2 = {p['se_2']:g}: a static"
                " exciter (t_e = 0) must have k_e = 1 and no saturation"
            )
        return saturation_conflict(p, p["e_1"], "se_1", p["e_2"], "se_2")

    @classmethod
    def diagram(cls, b: Any, v: Any, p: Any) -> None:
        """Connect transducer, regulator, its lags, source, exciter and feedback."""
        fed_back = b.lag("x_f2", b.rate("x_f1", v.v_f, "k_f", "t_f1"), "t_f2")
        error = b.named("e", v.v_ref + v.v_s - measured(b, v) - fed_back)
        x_i = b.integrator("x_i", error, gain="k_a", limits=("v_r2", "v_r1"))
        regulated = b.limit(p.k_a * p.t_a1 * error + x_i, "v_r2", "v_r1")
        led = b.lead_lag("x_4", b.lag("x_2", regulated, "t_a2"), "t_a3", "t_a4")
        v_r = b.named("v_r", b.limit(led, "v_r_min", "v_r_max"))
        e_0 = b.named("e_0", b.limit(_source_of_expic1(b, v, p) * v_r, "efd_min", "efd_max"))
        saturated = quadratic_saturation(b, v.v_f, p.e_1, p.se_1, p.e_2, p.se_2)
        driven = e_0 - p.k_e * v.v_f - b.named("v_x", saturated, "S_E(v_f) v_f")
        b.state("v_f", driven / p.t_e, lags=("t_e",))
