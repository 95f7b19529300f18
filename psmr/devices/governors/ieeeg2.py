"""The simplified IEEE hydro turbine of the standard library."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from psmr.dae.declare.component import Component, Parameter, Terms, crossed, improper, nonnegative
from psmr.devices.blocks import lag, lead_lag


class IEEEG2(Component):
    """Hydro turbine: a governor with two lags and a lead, a limit of the gate, a linear water column.

    ::

        omega - 1 -> k (1 + s t_2)/((1 + s t_1)(1 + s t_3)) -> c
        p_ref - c -> limits [p_min, p_max] -> (1 - s t_4)/(1 + s t_4/2) -> t_m

    Source: IEEE Committee Report, Dynamic Models for Steam and Hydro Turbines in Power System Studies (1973);
    PSS/E, Model Library, IEEEG2; OpenIPSL, which was compared with PSS/E, and STEPS, IEEEG2, for the order of
    the values too; IEC 61970-302, GovHydroIEEE0.
    """

    role = "governor"
    records = ("IEEEG2 k t_1 t_2 t_3 p_max p_min t_4",)
    states = ("x_1", "x_3", "water")
    algebraic = ("t_m",)
    inputs = ("omega", "p_ref")
    lags = {"x_1": ("t_1",), "x_3": ("t_3",), "water": ("t_4",)}

    k = Parameter("pu power on machine base per pu speed", "gain, the inverse of the droop", nonnegative)
    t_1 = Parameter("s", "first lag of the governor", nonnegative)
    t_2 = Parameter("s", "lead of the governor", nonnegative)
    t_3 = Parameter("s", "second lag of the governor", nonnegative)
    p_max = Parameter("pu on machine base", "upper limit of the gate")
    p_min = Parameter("pu on machine base", "lower limit of the gate")
    t_4 = Parameter("s", "water starting time", nonnegative)

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to a lead without its lag and to crossed limits."""
        return improper(p, ("t_2", "t_1")) or crossed(p, ("p_min", "p_max"))

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of governor and water, and the torque."""
        led, d_1 = lead_lag(p.k * (v.omega - 1), v.x_1, p.t_2, p.t_1)
        gate = m.clip(v.p_ref - v.x_3, p.p_min, p.p_max)
        torque, d_w = lead_lag(gate, v.water, -1, 0.5)
        return (d_1, lag(led, v.x_3, p.t_3), d_w / p.t_4), (torque - v.t_m,), ()

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium for the torque that the machine needs."""
        t_m = terminal.signals.get("t_m", 0.0)
        return {"water": t_m, "t_m": t_m, "p_ref": t_m}
