"""The power source of compound excitation systems: terminal voltage and current behind a rectifier.

The compound-fed static excitation system with field-voltage control of the standard library.

The compound-fed static excitation system with two PI controllers of the standard library.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

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
    whole,
)
from psmr.dae.declare.mathematics import NumericMath
from psmr.devices.blocks import error_at_rest, lag, lead_lag, machine_frame, rectified
from psmr.devices.exciters.compensator import regulated_voltage


class Potential(Component):
    """Inputs and parameters of the power source before its rectifier; the machine gives its currents."""

    inputs: ClassVar[tuple[str, ...]] = ("v_re", "v_im", "v_s", "delta", "i_d", "i_q", "i_f", "v_ref")
    optional = {"v_s": 0.0}

    k_p = Parameter("pu", "gain of the potential circuit", positive)
    theta_p = Parameter("rad", "angle of the potential circuit", default=0.0)
    k_i = Parameter("pu", "gain of the current circuit", nonnegative)
    x_l = Parameter("pu on machine base", "reactance of the potential source", nonnegative)


NO_LIMIT = 999.0
"""A voltage in pu that no source reaches."""


class ExciterSource(Potential):
    """Inputs and parameters of the source that feeds an exciter's regulator."""

    sw_1 = Parameter("code", "source: 1 the terminals, 2 a constant voltage k_p", whole(1, 2), 1.0)
    k_i = Parameter("pu", "gain of the current circuit", nonnegative, 0.0)
    x_l = Parameter("pu on machine base", "reactance of the potential source", nonnegative, 0.0)
    k_c1 = Parameter("pu", "regulation of the source's rectifier", nonnegative, 0.0)
    v_b_max = Parameter("pu", "upper limit of the source's voltage", positive, NO_LIMIT)


class Compound(Potential):
    """Inputs and parameters of the power source behind its rectifier."""

    k_c = Parameter("pu", "regulation of the rectifier", nonnegative)
    v_b_max = Parameter("pu", "upper limit of the source's voltage", positive)


def potential(m: Any, v_dq: tuple[Any, Any], i_dq: tuple[Any, Any], p: Any) -> Any:
    """Return v_e = |K v + j (k_i + K x_l) i| with K = k_p e^(j theta_p), v and i in one frame."""
    a, b = p.k_p * m.cos(p.theta_p), p.k_p * m.sin(p.theta_p)
    (v_d, v_q), (i_d, i_q) = v_dq, i_dq
    # j (k_i + (a + j b) x_l) = -b x_l + j (k_i + a x_l)
    c, d = -b * p.x_l, p.k_i + a * p.x_l
    re = a * v_d - b * v_q + c * i_d - d * i_q
    im = a * v_q + b * v_d + c * i_q + d * i_d
    return m.sqrt(re**2 + im**2)


def potential_now(m: Any, v: Any, p: Any) -> Any:
    """Return v_e from a device's variables."""
    return potential(m, machine_frame(m, v.v_re, v.v_im, v.delta), (v.i_d, v.i_q), p)


def potential_at_start(terminal: Any, p: Any) -> Any:
    """Return v_e for a guess."""
    signals = terminal.signals
    v_dq = machine_frame(np, terminal.voltage.real, terminal.voltage.imag, signals.get("delta", 0.0))
    return potential(NumericMath, v_dq, (signals.get("i_d", 0.0), signals.get("i_q", 0.0)), p)


def exciter_source(m: Any, u: Any, v_fe: Any, p: Any) -> Any:
    """Return min(u F_EX(k_c1 v_fe/u), v_b_max), where u is k_p with sw_1 = 2 and v_fe the exciter's current.

    Source: IEEE Std 421.5-2016, types AC7C, AC8C and DC4C.
    """
    source = m.where(m.ge(p.sw_1, 2), p.k_p, u)
    return m.min(rectified(m, source, p.k_c1 * v_fe), p.v_b_max)


def source_now(m: Any, v: Any, p: Any) -> Any:
    """Return the voltage v_b = min(v_e F_EX(k_c i_f/v_e), v_b_max) of the source.

    Source: IEEE Std 421.5-2016, types ST3 and ST4.
    """
    return m.min(rectified(m, potential_now(m, v, p), p.k_c * v.i_f), p.v_b_max)


def source_at_start(terminal: Any, p: Any) -> Any:
    """Return the voltage of the source for a guess."""
    drop = p.k_c * terminal.signals.get("i_f", 1.0)
    return np.minimum(rectified(NumericMath, potential_at_start(terminal, p), drop), p.v_b_max)


class ESST3A(Compound):
    """Compound-fed static excitation system, IEEE type ST3A, with an inner loop on the field voltage.

    ::

        |v| -> 1/(1 + s t_r) -> v_m      v_ref + v_s - v_m -> limits [v_i_min, v_i_max]
        -> (1 + s t_c)/(1 + s t_b) -> k_a/(1 + s t_a), limits [v_r_min, v_r_max] -> v_r
        v_r - v_g -> k_m/(1 + s t_m), limits [v_m_min, v_m_max] -> v_inner      v_g = min(k_g v_f, v_g_max)
        v_f = v_b v_inner      v_b: the source, from |v|, the machine's current and its field current

    The gates of over- and underexcitation limiters are left out. Source: IEEE Std 421.5-2005, type ST3A;
    PSS/E, Model Library, ESST3A.
    """

    role = "exciter"
    records = (
        "ESST3A t_r v_i_max v_i_min k_m t_c t_b k_a t_a v_r_max v_r_min k_g k_p k_i v_b_max k_c x_l "
        "v_g_max theta_p_deg t_m v_m_max v_m_min",
    )
    states = ("v_m", "x_c", "v_r", "v_inner")
    algebraic = ("v_f",)
    limits = {"v_r": ("v_r_min", "v_r_max"), "v_inner": ("v_m_min", "v_m_max")}
    lags = {"v_m": ("t_r",), "x_c": ("t_b",), "v_r": ("t_a",), "v_inner": ("t_m",)}

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

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to a lead without its lag and to crossed limits of the error."""
        return crossed(p, ("v_i_min", "v_i_max")) or improper(p, ("t_c", "t_b"))

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of transducer, lead-lag, regulator and inner loop, and the field voltage."""
        error = m.clip(v.v_ref + v.v_s - v.v_m, p.v_i_min, p.v_i_max)
        led, d_c = lead_lag(error, v.x_c, p.t_c, p.t_b)
        feedback = m.min(p.k_g * v.v_f, p.v_g_max)
        derivatives = (
            lag(regulated_voltage(m, v), v.v_m, p.t_r),
            d_c,
            lag(p.k_a * led, v.v_r, p.t_a),
            lag(p.k_m * (v.v_r - feedback), v.v_inner, p.t_m),
        )
        return derivatives, (source_now(m, v, p) * v.v_inner - v.v_f,), ()

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium for the field voltage that the machine needs."""
        v_f = terminal.signals.get("v_f", 1.0)
        v_inner = v_f / source_at_start(terminal, p)
        v_r = v_inner / p.k_m + np.minimum(p.k_g * v_f, p.v_g_max)
        v_m = np.abs(terminal.voltage)
        found = {"v_m": v_m, "x_c": v_r / p.k_a, "v_r": v_r, "v_inner": v_inner, "v_f": v_f}
        return found | {"v_ref": v_m + v_r / p.k_a}


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
