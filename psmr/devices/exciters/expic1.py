"""The excitation system with a proportional and integral regulator of the standard library."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from psmr.dae.declare.component import Component, Parameter, Terms, crossed, improper, nonnegative, positive
from psmr.dae.declare.mathematics import NumericMath
from psmr.devices.blocks import (
    lag,
    lead_lag,
    machine_frame,
    quadratic_saturation,
    rectified,
    saturation_conflict,
    washout,
)
from psmr.devices.exciters.compensator import regulated_voltage


class EXPIC1(Component):
    """Proportional and integral regulator with a compound source, static or with a rotating exciter.

    ::

        |v| -> 1/(1 + s t_r) -> v_m      e = v_ref + v_s - v_m - feedback
        e -> k_a (1 + s t_a1)/s, limits [v_r2, v_r1] -> x_a
        x_a -> (1 + s t_a3)/((1 + s t_a2)(1 + s t_a4)) -> limits [v_r_min, v_r_max] -> v_r
        v_b v_r -> limits [efd_min, efd_max] -> e_0 -> 1/(k_e + S_E(v_f) + s t_e) -> v_f
        v_b = v_e F_EX(k_c i_f/v_e), v_e = |k_p v + j k_i i|; v_b = 1 with k_p = k_i = 0
        feedback = s k_f/((1 + s t_f1)(1 + s t_f2)) v_f

    With t_e = 0 the exciter is static, v_f = e_0, which is what the equations say with k_e = 1 and no
    saturation. The limits [v_r2, v_r1] hold for the integral part, without windup, and for the output. v and
    i are phasors of the machine, i_f is its field current. Source: PSS/E, Model Library, EXPIC1, as
    PowerWorld's block diagrams (Transient Models, EXPIC1) reproduce it.
    """

    role = "exciter"
    records = (
        "EXPIC1 t_r k_a t_a1 v_r1 v_r2 t_a2 t_a3 t_a4 v_r_max v_r_min k_f t_f1 t_f2 efd_max efd_min "
        "k_e t_e e_1 se_1 e_2 se_2 k_p k_i k_c",
    )
    states = ("v_m", "x_i", "x_2", "x_4", "v_f", "x_f1", "x_f2")
    inputs = ("v_re", "v_im", "v_s", "delta", "i_d", "i_q", "i_f", "v_ref")
    optional = {"v_s": 0.0}
    limits = {"x_i": ("v_r2", "v_r1")}
    lags = {
        "v_m": ("t_r",),
        "x_2": ("t_a2",),
        "x_4": ("t_a4",),
        "v_f": ("t_e",),
        "x_f1": ("t_f1",),
        "x_f2": ("t_f2",),
    }

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
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to crossed limits, leads without their lags, and what a static exciter does not have."""
        limits = (("v_r2", "v_r1"), ("v_r_min", "v_r_max"), ("efd_min", "efd_max"))
        if wrong := crossed(p, *limits) or improper(p, ("t_a3", "t_a4")):
            return wrong
        if p["t_f1"] == 0 != p["k_f"]:
            return f"t_f1 = 0 and k_f = {p['k_f']:g}: t_f1 must be > 0 where k_f is not 0"
        if p["t_e"] == 0 and (p["k_e"] != 1 or p["se_1"] or p["se_2"]):
            return (
                f"t_e = 0, k_e = {p['k_e']:g}, se_1 = {p['se_1']:g} and se_2 = {p['se_2']:g}: a static"
                " exciter (t_e = 0) must have k_e = 1 and no saturation"
            )
        return saturation_conflict(p, p["e_1"], "se_1", p["e_2"], "se_2")

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of transducer, regulator, its lags, exciter and feedback."""
        error = v.v_ref + v.v_s - v.v_m - v.x_f2
        regulated = m.clip(p.k_a * p.t_a1 * error + v.x_i, p.v_r2, p.v_r1)
        led, d_4 = lead_lag(v.x_2, v.x_4, p.t_a3, p.t_a4)
        v_dq = machine_frame(m, v.v_re, v.v_im, v.delta)
        v_b = _source(m, v_dq, (v.i_d, v.i_q), v.i_f, p)
        e_0 = m.clip(v_b * m.clip(led, p.v_r_min, p.v_r_max), p.efd_min, p.efd_max)
        saturated = quadratic_saturation(m, v.v_f, p.e_1, p.se_1, p.e_2, p.se_2)
        washed, d_f1 = washout(v.v_f, v.x_f1, p.t_f1)
        derivatives = (
            lag(regulated_voltage(m, v), v.v_m, p.t_r),
            p.k_a * error,
            lag(regulated, v.x_2, p.t_a2),
            d_4,
            (e_0 - p.k_e * v.v_f - saturated) / p.t_e,
            d_f1,
            lag(p.k_f / p.t_f1 * washed, v.x_f2, p.t_f2),
        )
        return derivatives, (), ()

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium for the field voltage that the machine needs."""
        signals = terminal.signals
        v_f = signals.get("v_f", 1.0)
        v_dq = machine_frame(np, terminal.voltage.real, terminal.voltage.imag, signals.get("delta", 0.0))
        i_dq = signals.get("i_d", 0.0), signals.get("i_q", 0.0)
        v_b = _source(NumericMath, v_dq, i_dq, signals.get("i_f", 1.0), p)
        saturated = quadratic_saturation(NumericMath, v_f, p.e_1, p.se_1, p.e_2, p.se_2)
        v_m, v_r = np.abs(terminal.voltage), (p.k_e * v_f + saturated) / v_b
        found = {"v_m": v_m, "v_ref": v_m, "x_i": v_r, "x_2": v_r, "x_4": v_r}
        return found | {"v_f": v_f, "x_f1": v_f}


def _source(m: Any, v_dq: tuple[Any, Any], i_dq: tuple[Any, Any], i_f: Any, p: Any) -> Any:
    """Return the voltage v_b of the source; 1 where both gains are zero."""
    (v_d, v_q), (i_d, i_q) = v_dq, i_dq
    re, im = p.k_p * v_d - p.k_i * i_q, p.k_p * v_q + p.k_i * i_d
    none = m.le(p.k_p + p.k_i, 0)
    magnitude = m.sqrt(m.where(none, 1, re**2 + im**2))
    return m.where(none, 1, rectified(m, magnitude, p.k_c * i_f))
