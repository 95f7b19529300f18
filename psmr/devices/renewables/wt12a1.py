"""The aerodynamics of type 1 and 2 wind turbines, as a governor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from psmr.dae.declare.component import Component, Parameter, Terms, crossed, nonnegative, positive
from psmr.devices.blocks import lag


class WT12A1(Component):
    """Mechanical power of type 1 and 2 wind turbines, as of a governor of speed and power.

    ::

        p_e -> 1/(1 + s t_p) -> p_m
        ref - omega_t - droop p_m -> k_p + 1/(s t_i), limits [y_min, y_max] -> y
        y -> 1/(1 + s t_1) -> 1/(1 + s t_2) -> p_mech

    The set-point `ref` is the speed reference plus `droop` times that of the power. The limits hold for the
    integral part, without windup, and for the output. Source: WECC, Wind Power Plant Dynamic Modeling Guide
    (2010), WT1P; PSS/E, Model Library, WT12A1; for the order of the values InterPSS.
    """

    role = "aerodynamics"
    records = ("WT12A1 droop k_p t_i t_1 t_2 t_p y_max y_min",)
    states = ("p_m", "x", "y_1", "p_mech")
    inputs = ("p_e", "omega_t", "ref")
    limits = {"x": ("y_min", "y_max")}
    lags = {"p_m": ("t_p",), "y_1": ("t_1",), "p_mech": ("t_2",)}

    droop = Parameter("pu", "droop of the speed with the power", nonnegative)
    k_p = Parameter("pu", "proportional gain", nonnegative)
    t_i = Parameter("s", "time constant of the integral part", positive)
    t_1 = Parameter("s", "first time constant of the power", nonnegative)
    t_2 = Parameter("s", "second time constant of the power", nonnegative)
    t_p = Parameter("s", "time constant of the measured power", nonnegative)
    y_max = Parameter("pu", "upper limit of the power")
    y_min = Parameter("pu", "lower limit of the power")

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to crossed limits."""
        return crossed(p, ("y_min", "y_max"))

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of the measured power, the integral part and the lags."""
        error = v.ref - v.omega_t - p.droop * v.p_m
        y = m.clip(v.x + p.k_p * error, p.y_min, p.y_max)
        derivatives = (lag(v.p_e, v.p_m, p.t_p), error / p.t_i, lag(y, v.y_1, p.t_1))
        return (*derivatives, lag(v.y_1, v.p_mech, p.t_2)), (), ()

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium at the generator's power and speed."""
        power, speed = terminal.signals.get("p_e", 0.0), terminal.signals.get("omega_g", 1.0)
        return {"ref": speed + p.droop * power, **dict.fromkeys(WT12A1.states, power)}
