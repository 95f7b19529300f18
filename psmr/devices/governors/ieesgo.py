"""The general-purpose turbine of the standard library."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from psmr.dae.declare.component import Component, Parameter, Terms, fraction, improper, nonnegative
from psmr.devices.blocks import lag, lead_lag


class IEESGO(Component):
    """General-purpose turbine: a governor with two lags and a lead, three stages.

    ::

        omega - 1 -> k_1 (1 + s t_2)/((1 + s t_1)(1 + s t_3)) -> c
        p_ref - c -> limits [p_min, p_max] -> 1/(1 + s t_4) -> x_4
        x_4 -> k_2/(1 + s t_5) -> x_5      x_5 -> k_3/(1 + s t_6) -> x_6
        t_m = (1 - k_2) x_4 + (1 - k_3) x_5 + x_6

    Source: IEEE Committee Report, Dynamic Models for Steam and Hydro Turbines in Power System Studies (1973);
    PSS/E, Model Library, IEESGO.
    """

    role = "governor"
    records = ("IEESGO t_1 t_2 t_3 t_4 t_5 t_6 k_1 k_2 k_3 p_max p_min",)
    states = ("x_1", "x_3", "x_4", "x_5", "x_6")
    algebraic = ("t_m",)
    inputs = ("omega", "p_ref")
    lags = {"x_1": ("t_1",), "x_3": ("t_3",), "x_4": ("t_4",), "x_5": ("t_5",), "x_6": ("t_6",)}

    t_1 = Parameter("s", "first lag of the governor", nonnegative)
    t_2 = Parameter("s", "lead of the governor", nonnegative)
    t_3 = Parameter("s", "second lag of the governor", nonnegative)
    t_4 = Parameter("s", "time constant of the steam chest", nonnegative)
    t_5 = Parameter("s", "time constant of the reheater", nonnegative)
    t_6 = Parameter("s", "time constant of the crossover", nonnegative)
    k_1 = Parameter("pu power on machine base per pu speed", "gain, the inverse of the droop", nonnegative)
    k_2 = Parameter("1", "fraction of the power behind the reheater")
    k_3 = Parameter("1", "fraction of the reheater's power behind the crossover")
    p_max = Parameter("pu on machine base", "upper limit of the valve")
    p_min = Parameter("pu on machine base", "lower limit of the valve")

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to a lead without its lag; lead and first lag are one block, t_3 is the other."""
        return improper(p, ("t_2", "t_1"))

    @staticmethod
    def unlikely(p: Mapping[str, float]) -> Iterator[str]:
        """Yield what is no fraction; the stages have the gain 1 together, whatever k_2 and k_3 are."""
        for name in ("k_2", "k_3"):
            if wrong := fraction(p[name]):
                yield f"{name} = {p[name]:g}: a fraction {wrong}; the torque overshoots by it"

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of governor and stages, and the torque."""
        led, d_1 = lead_lag(p.k_1 * (v.omega - 1), v.x_1, p.t_2, p.t_1)
        derivatives = (
            d_1,
            lag(led, v.x_3, p.t_3),
            lag(m.clip(v.p_ref - v.x_3, p.p_min, p.p_max), v.x_4, p.t_4),
            lag(p.k_2 * v.x_4, v.x_5, p.t_5),
            lag(p.k_3 * v.x_5, v.x_6, p.t_6),
        )
        return derivatives, ((1 - p.k_2) * v.x_4 + (1 - p.k_3) * v.x_5 + v.x_6 - v.t_m,), ()

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium for the torque that the machine needs."""
        t_m = terminal.signals.get("t_m", 0.0)
        return {"x_4": t_m, "x_5": p.k_2 * t_m, "x_6": p.k_3 * p.k_2 * t_m, "t_m": t_m, "p_ref": t_m}
