"""The rotor resistance control of type 2 wind turbines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from psmr.dae.declare.component import Component, Parameter, Terms, crossed, nonnegative, positive
from psmr.devices.blocks import lag, through_points
from psmr.devices.renewables.wt2g1 import POINTS, polygon, powers


class WT2E1(Component):
    """Control of the rotor resistance of type 2 wind turbines: of the power, which is to follow the speed.

    ::

        omega_g -> 1/(1 + s t_sp) -> - 1 -> polygon (slip_1, p_1) ... -> p_asked
        p_e -> 1/(1 + s t_pe) -> - p_asked -> k_p + 1/(s t_i), limits [out_min, out_max] -> r_control

    The limits hold for the integral part, without windup, and for the output. The polygon is the generator's.
    Source: WECC, Wind Power Plant Dynamic Modeling Guide (2010), WT2E; PSS/E, Model Library, WT2E1; for the
    order of the values InterPSS.
    """

    role = "electrical_control"
    records = ("WT2E1 t_sp t_pe t_i k_p out_max out_min",)
    shared = tuple(f"{name}_{k}" for name in ("p", "slip") for k in range(1, POINTS + 1))
    states = ("omega_m", "p_m", "x")
    algebraic = ("r_control",)
    inputs = ("omega_g", "p_e")
    limits = {"x": ("out_min", "out_max")}
    lags = {"omega_m": ("t_sp",), "p_m": ("t_pe",)}

    t_sp = Parameter("s", "time constant of the speed", nonnegative)
    t_pe = Parameter("s", "time constant of the power", nonnegative)
    t_i = Parameter("s", "time constant of the integral part", positive)
    k_p = Parameter("1", "proportional gain", nonnegative)
    out_max = Parameter("1", "upper limit, as a part of the resistance that can be added")
    out_min = Parameter("1", "lower limit")
    locals().update(polygon())

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to crossed limits."""
        return crossed(p, ("out_min", "out_max"))

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives, and the residual of the output."""
        error = v.p_m - through_points(m, v.omega_m - 1, powers(p))
        derivatives = lag(v.omega_g, v.omega_m, p.t_sp), lag(v.p_e, v.p_m, p.t_pe), error / p.t_i
        return derivatives, (m.clip(v.x + p.k_p * error, p.out_min, p.out_max) - v.r_control,), ()

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium at the generator's speed and power."""
        known = terminal.signals
        control = known.get("r_control", 0.0)
        measured = {"omega_m": known.get("omega_g", 1.0), "p_m": known.get("p_e", 0.0)}
        return {**measured, "x": control, "r_control": control}
