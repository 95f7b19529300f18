"""The aerodynamics of wind turbines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from psmr.dae.declare.component import Component, Parameter, Terms, nonnegative


class WTARA1(Component):
    """Aerodynamics of wind turbines, linear in the pitch about a constant wind.

    ::

        p_mech = p_m0 - k_a theta (theta - theta_0)

    p_m0 is the power that the drive train needs at the start; the pitch starts at theta_0. Source: WECC,
    Second Generation of Wind Turbine Models (2014), WTGAR_A; PSS/E Model Library, WTARA1.
    """

    role = "aerodynamics"
    records = ("WTARA1 k_a theta_0",)
    memory = ("p_m0",)
    algebraic = ("p_mech",)
    inputs = ("theta",)

    p_m0 = Parameter("pu", "power at the start", default=0.0)
    k_a = Parameter("pu/deg^2", "aerodynamic gain", nonnegative)
    theta_0 = Parameter("deg", "pitch at the start")

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the residual of the mechanical power; at the start that of the pitch, which is theta_0."""
        if getattr(m, "opened", False):
            return (), (p.theta_0 - v.theta,), ()
        return (), (aerodynamic_power(p.p_m0, p.k_a, v.theta, p.theta_0) - v.p_mech,), ()

    @staticmethod
    def at_start(v: Mapping[str, float], p: Mapping[str, float]) -> Mapping[str, float]:
        """Return the power that the drive train needs."""
        return {"p_m0": v["p_mech"]}

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the power at the start."""
        return {"p_mech": terminal.signals.get("p_e", 0.0)}


def aerodynamic_power(power: Any, k_a: Any, theta: Any, theta_0: Any) -> Any:
    """Return the power of a constant wind, which is `power` at the pitch theta_0."""
    return power - k_a * theta * (theta - theta_0)
