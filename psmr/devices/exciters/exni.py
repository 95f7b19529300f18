"""The static excitation system of type NI, whose rate feedback is of the regulator's output."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from psmr.dae.declare.component import Component, Parameter, Terms, crossed, flag, nonnegative, positive
from psmr.devices.blocks import lag, washout
from psmr.devices.exciters.compensator import regulated_voltage
from psmr.devices.exciters.static import through_bridge


class EXNI(Component):
    """Static exciter fed from the bus or from a battery, with rate feedback and a diode bridge.

    ::

        |v| -> 1/(1 + s t_r) -> v_m
        v_ref + v_s - v_m - x_f2 -> k_a/(1 + s t_a), limits [v_r_min, v_r_max] -> v_r
        v_r -> s k_f/(1 + s t_f1) 1/(1 + s t_f2) -> x_f2
        v_f = |v| v_r with c_switch = 0, v_r with c_switch = 1; -rc_rfd i_f while i_f < 0 and rc_rfd > 0

    The bridge is that of `SCRX`. The field voltage is within 8e-5 pu of PSS/E's 9 s after steps of the load
    and of the reference (docs/conformance.md). Source: PSS/E, Model Library, EXNI; for the place of the
    feedback and the order of the values OpenIPSL, EXNI.
    """

    role = "exciter"
    records = ("EXNI t_r k_a t_a v_r_max v_r_min k_f t_f1 t_f2 c_switch rc_rfd",)
    states = ("v_m", "v_r", "x_f", "x_f2")
    algebraic = ("v_f",)
    inputs = ("v_re", "v_im", "v_s", "i_f", "v_ref")
    optional = {"v_s": 0.0}
    limits: ClassVar[Mapping[str, Any]] = {"v_r": ("v_r_min", "v_r_max")}
    lags = {"v_m": ("t_r",), "v_r": ("t_a",), "x_f": ("t_f1",), "x_f2": ("t_f2",)}

    t_r = Parameter("s", "time constant of the voltage transducer", nonnegative)
    k_a = Parameter("pu", "gain of the regulator", positive)
    t_a = Parameter("s", "time constant of the regulator", nonnegative)
    v_r_max = Parameter("pu", "upper limit of the regulator's output")
    v_r_min = Parameter("pu", "lower limit of the regulator's output")
    k_f = Parameter("pu", "gain of the rate feedback", nonnegative)
    t_f1 = Parameter("s", "first time constant of the rate feedback", nonnegative)
    t_f2 = Parameter("s", "second time constant of the rate feedback", nonnegative)
    c_switch = Parameter("1", "0 fed from the bus, 1 from a constant source", flag)
    rc_rfd = Parameter("1", "crowbar by field resistance, 0 for a bridge of both currents", nonnegative)

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to crossed limits, and to rate feedback without its time constant."""
        if p["t_f1"] == 0 != p["k_f"]:
            return f"t_f1 = 0 and k_f = {p['k_f']:g}: t_f1 must be > 0 where k_f is not 0"
        return crossed(p, ("v_r_min", "v_r_max"))

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of transducer, regulator and feedback, and the field voltage."""
        washed, d_f = washout(v.v_r, v.x_f, p.t_f1)
        regulated = lag(p.k_a * (v.v_ref + v.v_s - v.v_m - v.x_f2), v.v_r, p.t_a)
        fed_back = lag(p.k_f / p.t_f1 * washed, v.x_f2, p.t_f2)
        derivatives = (lag(regulated_voltage(m, v), v.v_m, p.t_r), regulated, d_f, fed_back)
        return derivatives, (through_bridge(m, v, p, v.v_r) - v.v_f,), ()

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium for the field voltage that the machine needs."""
        v_f, v_m = terminal.signals.get("v_f", 1.0), np.abs(terminal.voltage)
        v_r = v_f / np.where(p.c_switch > 0, 1.0, v_m)
        return {"v_m": v_m, "v_r": v_r, "x_f": v_r, "x_f2": 0.0, "v_f": v_f, "v_ref": v_m + v_r / p.k_a}
