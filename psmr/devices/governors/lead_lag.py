"""Turbine governors: they read the speed of the machine and give it its mechanical torque `t_m`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from psmr.dae.declare.component import Component, Parameter, Terms, nonnegative, positive
from psmr.devices.blocks import lead_lag


class GovernorLeadLag(Component):
    """Droop, a gate with limits, and one lead-lag for servo, steam chest and reheater together.

    ::

        p_ref - (omega - 1)/droop -> limits [p_min, p_max] -> (1 + s t_1)/(1 + s t_2) -> t_m

    The limits stand before the lead-lag: nothing winds up, and with t_1 <= t_2 the torque stays within them
    too. Per unit on the machine base. Source: F. Milano, Power System Modelling and Scripting (2010),
    turbine governors, type II.
    """

    role = "governor"
    states = ("x_g",)
    algebraic = ("t_m",)
    inputs = ("omega", "p_ref")

    droop = Parameter("pu speed per pu power on machine base", "droop", positive)
    t_1 = Parameter("s", "lead time constant (transient gain)", nonnegative)
    t_2 = Parameter("s", "lag time constant", positive)
    p_min = Parameter("pu on machine base", "lower limit of the gate")
    p_max = Parameter("pu on machine base", "upper limit of the gate")

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivative of the lag and the torque."""
        gate = m.clip(v.p_ref - (v.omega - 1) / p.droop, p.p_min, p.p_max)
        torque, derivative = lead_lag(gate, v.x_g, p.t_1, p.t_2)
        return (derivative,), (torque - v.t_m,), ()

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium for the torque that the machine needs."""
        t_m = terminal.signals.get("t_m", 0.0)
        return {"x_g": t_m, "t_m": t_m, "p_ref": t_m}
