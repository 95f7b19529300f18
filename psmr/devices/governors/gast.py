"""The gas turbine of the standard library."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from psmr.dae.declare.component import Component, Parameter, Terms, nonnegative, positive
from psmr.devices.blocks import lag


class GAST(Component):
    """Gas turbine: droop or exhaust-temperature limit, whichever asks for less fuel.

    ::

        p_ref - (omega - 1)/r      a_t + k_t (a_t - temperature)   -> the lower of both -> demand
        demand -> 1/(1 + s t_1), limits [v_min, v_max] -> fuel -> 1/(1 + s t_2) -> flow
        flow -> 1/(1 + s t_3) -> temperature      flow - d_turb (omega - 1) -> t_m

    Source: PSS/E, Model Library, GAST; PES-TR1, Dynamic Models for Turbine-Governors in Power
    System Studies (2013).
    """

    role = "governor"
    records = ("GAST r t_1 t_2 t_3 a_t k_t v_max v_min d_turb",)
    states = ("fuel", "flow", "temperature")
    algebraic = ("t_m",)
    inputs = ("omega", "p_ref")
    limits = {"fuel": ("v_min", "v_max")}
    lags = {"fuel": ("t_1",), "flow": ("t_2",), "temperature": ("t_3",)}
    references = ("a_t",)

    r = Parameter("pu speed per pu power on machine base", "droop", positive)
    t_1 = Parameter("s", "time constant of the fuel valve", nonnegative)
    t_2 = Parameter("s", "time constant of the turbine", nonnegative)
    t_3 = Parameter("s", "time constant of the exhaust temperature", nonnegative)
    a_t = Parameter("pu on machine base", "ambient-temperature load limit", positive)
    k_t = Parameter("1", "gain of the temperature limiter", nonnegative)
    v_max = Parameter("pu on machine base", "upper limit of the fuel valve")
    v_min = Parameter("pu on machine base", "lower limit of the fuel valve")
    d_turb = Parameter("pu on machine base", "damping of the turbine", nonnegative)

    @staticmethod
    def rest_limits(p: Mapping[str, float]) -> Mapping[str, float]:
        """Return the most that the gate lets pass at rest, where fuel and temperature are the same."""
        return {"temperature": p["a_t"]}

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of fuel valve, turbine and temperature, and the torque."""
        slip = v.omega - 1
        asked, load_limit = v.p_ref - slip / p.r, p.a_t + p.k_t * (p.a_t - v.temperature)
        demand = asked if getattr(m, "opened", False) else m.min(asked, load_limit)
        derivatives = (
            lag(demand, v.fuel, p.t_1),
            lag(v.fuel, v.flow, p.t_2),
            lag(v.flow, v.temperature, p.t_3),
        )
        return derivatives, (v.flow - p.d_turb * slip - v.t_m,), ()

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium for the torque that the machine needs, with the temperature limit open."""
        t_m = terminal.signals.get("t_m", 0.0)
        return {"fuel": t_m, "flow": t_m, "temperature": t_m, "t_m": t_m, "p_ref": t_m}
