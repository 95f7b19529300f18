"""The simplest steam turbine of the standard library."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from psmr.dae.declare.component import Component, Parameter, Terms, improper, nonnegative, positive
from psmr.devices.blocks import lag, lead_lag


class TGOV1(Component):
    """Steam turbine: droop, a valve with non-windup limits, one lead-lag for the reheater.

    ::

        p_ref - (omega - 1)/r -> 1/(1 + s t_1), limits [v_min, v_max] -> valve
        valve -> (1 + s t_2)/(1 + s t_3) -> minus d_t (omega - 1) -> t_m

    Source: PSS/E, Model Library, TGOV1; PES-TR1, Dynamic Models for Turbine-Governors in Power
    System Studies (2013).
    """

    role = "governor"
    records = ("TGOV1 r t_1 v_max v_min t_2 t_3 d_t",)
    states = ("valve", "x_t")
    algebraic = ("t_m",)
    inputs = ("omega", "p_ref")
    limits = {"valve": ("v_min", "v_max")}
    lags = {"valve": ("t_1",), "x_t": ("t_3",)}

    r = Parameter("pu speed per pu power on machine base", "droop", positive)
    t_1 = Parameter("s", "time constant of the valve", nonnegative)
    v_max = Parameter("pu on machine base", "upper limit of the valve")
    v_min = Parameter("pu on machine base", "lower limit of the valve")
    t_2 = Parameter("s", "lead time constant (high-pressure fraction times t_3)", nonnegative)
    t_3 = Parameter("s", "time constant of the reheater", nonnegative)
    d_t = Parameter("pu on machine base", "damping of the turbine", nonnegative)

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to a lead without its lag."""
        return improper(p, ("t_2", "t_3"))

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of valve and reheater, and the torque."""
        slip = v.omega - 1
        torque, d_t = lead_lag(v.valve, v.x_t, p.t_2, p.t_3)
        return (lag(v.p_ref - slip / p.r, v.valve, p.t_1), d_t), (torque - p.d_t * slip - v.t_m,), ()

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium for the torque that the machine needs."""
        t_m = terminal.signals.get("t_m", 0.0)
        return {"valve": t_m, "x_t": t_m, "t_m": t_m, "p_ref": t_m}
