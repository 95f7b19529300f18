"""The steam turbine with fast valving of the standard library."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from psmr.dae.declare.component import Component, Parameter, Terms, crossed, nonnegative, positive
from psmr.devices.blocks import lag


class TGOV2(Component):
    """Steam turbine: droop, a valve with limits, a part of the power behind reheater and intercept valves.

    ::

        p_ref - (omega - 1)/r -> 1/(1 + s t_1), limits [v_min, v_max] -> valve
        (1 - k) valve -> 1/(1 + s t_3) -> x_3 -> 1/(1 + s t_t) -> x_t
        t_m = k valve + x_t - d_t (omega - 1)

    x_3 is the pressure of the reheater, x_t the power of the stages behind the intercept valves, which are
    open. They close in fast valving, which a command of the study starts in PSS/E: there is none here, and
    its times TA, TB and TC change nothing. Source: PSS/E, Model Library, TGOV2; IEC 61970-302, GovSteamFV2,
    for the parameters; PowerWorld, TGOV2, for their order.
    """

    role = "governor"
    records = ("TGOV2 r t_1 v_max v_min k t_3 d_t t_t -t_a -t_b -t_c",)
    states = ("valve", "x_3", "x_t")
    algebraic = ("t_m",)
    inputs = ("omega", "p_ref")
    limits = {"valve": ("v_min", "v_max")}
    lags = {"valve": ("t_1",), "x_3": ("t_3",), "x_t": ("t_t",)}

    r = Parameter("pu speed per pu power on machine base", "droop", positive)
    t_1 = Parameter("s", "time constant of the valve", nonnegative)
    v_max = Parameter("pu on machine base", "upper limit of the valve")
    v_min = Parameter("pu on machine base", "lower limit of the valve")
    k = Parameter("1", "part of the power that the intercept valves do not pass")
    t_3 = Parameter("s", "time constant of the reheater", nonnegative)
    d_t = Parameter("pu on machine base", "damping of the turbine", nonnegative)
    t_t = Parameter("s", "time constant of the stages behind the intercept valves", nonnegative)

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to crossed limits."""
        return crossed(p, ("v_min", "v_max"))

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of valve, reheater and stages, and the torque."""
        slip = v.omega - 1
        derivatives = (
            lag(v.p_ref - slip / p.r, v.valve, p.t_1),
            lag((1 - p.k) * v.valve, v.x_3, p.t_3),
            lag(v.x_3, v.x_t, p.t_t),
        )
        return derivatives, (p.k * v.valve + v.x_t - p.d_t * slip - v.t_m,), ()

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium for the torque that the machine needs."""
        t_m = terminal.signals.get("t_m", 0.0)
        behind = (1 - p.k) * t_m
        return {"valve": t_m, "x_3": behind, "x_t": behind, "t_m": t_m, "p_ref": t_m}
