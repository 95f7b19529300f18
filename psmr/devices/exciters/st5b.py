"""The bus-fed static excitation system with two lead-lags of the standard library, IEEE type ST5B."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from psmr.dae.declare.component import Component, Parameter, Terms, crossed, improper, nonnegative, positive
from psmr.devices.blocks import lag, lead_lag
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
