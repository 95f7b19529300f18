"""The simplified excitation system of the standard library."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from psmr.dae.declare.component import Component, Parameter, Terms, improper, nonnegative, positive
from psmr.devices.blocks import lag, lead_lag
from psmr.devices.exciters.compensator import regulated_voltage


class SEXS(Component):
    """Simplified excitation system: a lead-lag and a gain with one lag, non-windup limits on v_f.

    ::

        v_ref + v_s - |v| -> (1 + s t_a)/(1 + s t_b) -> k/(1 + s t_e), limits [e_min, e_max] -> v_f

    The standard gives t_a/t_b in the place of t_a. Source: PSS/E, Model Library, SEXS.
    """

    role = "exciter"
    records = ("SEXS ta_tb t_b k t_e e_min e_max",)
    states = ("x_l", "v_f")
    inputs = ("v_re", "v_im", "v_s", "v_ref")
    optional = {"v_s": 0.0}
    limits = {"v_f": ("e_min", "e_max")}
    lags = {"x_l": ("t_b",), "v_f": ("t_e",)}

    t_a = Parameter("s", "lead time constant", nonnegative)
    t_b = Parameter("s", "lag time constant", nonnegative)
    k = Parameter("pu", "gain", positive)
    t_e = Parameter("s", "time constant of the exciter", nonnegative)
    e_min = Parameter("pu", "lower limit of the field voltage")
    e_max = Parameter("pu", "upper limit of the field voltage")

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to a lead without its lag."""
        return improper(p, ("t_a", "t_b"))

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of lead-lag and exciter."""
        error = v.v_ref + v.v_s - regulated_voltage(m, v)
        led, d_l = lead_lag(error, v.x_l, p.t_a, p.t_b)
        return (d_l, lag(p.k * led, v.v_f, p.t_e)), (), ()

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium for the field voltage that the machine needs."""
        v_f = terminal.signals.get("v_f", 1.0)
        return {"x_l": v_f / p.k, "v_f": v_f, "v_ref": np.abs(terminal.voltage) + v_f / p.k}
