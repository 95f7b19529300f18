"""The aerodynamics of wind turbines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from psmr.dae.declare.component import Component, Parameter, Terms, nonnegative
from psmr.devices.machines.textbook import S_BASE, S_N


class WTARA1(Component):
    """Aerodynamics of wind turbines, linear in the pitch about a constant wind.

    ::

        p_mech = p_m0 - k_a theta (theta - theta_0)

    p_m0 is the power of the power flow; the pitch starts at theta_0. Source: WECC, Second Generation of Wind
    Turbine Models (2014), WTGAR_A; PSS/E Model Library, WTARA1.
    """

    role = "aerodynamics"
    records = ("WTARA1 k_a theta_0",)
    shared = ("s_n",)
    algebraic = ("p_mech",)
    inputs = ("theta",)

    s_n, s_base = S_N, S_BASE
    p_0 = Parameter("pu on system base", "power of the power flow at the terminals", default=0.0)
    k_a = Parameter("pu/deg^2", "aerodynamic gain", nonnegative)
    theta_0 = Parameter("deg", "pitch at the start")

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the residual of the mechanical power; at the start that of the pitch, which is theta_0."""
        if getattr(m, "opened", False):
            return (), (p.theta_0 - v.theta,), ()
        power = p.p_0 * p.s_base / p.s_n
        return (), (power - p.k_a * v.theta * (v.theta - p.theta_0) - v.p_mech,), ()

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the power at the start."""
        return {"p_mech": terminal.signals.get("p_e", 0.0)}
