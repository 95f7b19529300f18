"""The bus-fed static excitation system with a PI regulator and an inner feedback of the standard library."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from psmr.dae.declare.component import Component, Parameter, Terms, crossed, improper, nonnegative, ungained
from psmr.devices.blocks import error_at_rest, lag, washout
from psmr.devices.exciters.compensator import regulated_voltage


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
