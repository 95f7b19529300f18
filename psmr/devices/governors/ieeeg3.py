"""The IEEE hydro turbine of the standard library."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from psmr.dae.declare.component import Component, Parameter, Terms, nonnegative, positive
from psmr.devices.blocks import lag, lead_lag, washout


class IEEEG3(Component):
    """Hydro turbine: pilot valve and gate servo with temporary droop, linear water column.

    ::

        sigma (p_ref - gate) - delta s t_r/(1 + s t_r) gate - (omega - 1) -> 1/(t_g (1 + s t_p))
        -> limits [u_c, u_o] -> 1/s, limits [p_min, p_max] -> gate
        gate -> a_23 (1 + (a_11 - a_13 a_21/a_23) s t_w)/(1 + a_11 s t_w) -> t_m

    Source: IEEE Committee Report, Dynamic Models for Steam and Hydro Turbines in Power System Studies (1973);
    PSS/E, Model Library, IEEEG3.
    """

    role = "governor"
    records = ("IEEEG3 t_g t_p u_o u_c p_max p_min sigma delta t_r t_w a_11 a_13 a_21 a_23",)
    states = ("pilot", "gate", "x_r", "water")
    algebraic = ("t_m",)
    inputs = ("omega", "p_ref")
    limits = {"gate": ("p_min", "p_max")}
    lags = {"pilot": ("t_p",), "water": ("t_w",)}

    t_g = Parameter("s", "time constant of the gate servo", positive)
    t_p = Parameter("s", "time constant of the pilot valve", nonnegative)
    u_o = Parameter("pu/s", "largest rate at which the gate opens", positive)
    u_c = Parameter("pu/s", "largest rate at which the gate closes, below zero")
    p_max = Parameter("pu", "upper limit of the gate")
    p_min = Parameter("pu", "lower limit of the gate")
    sigma = Parameter("pu speed per pu gate", "permanent droop", positive)
    delta = Parameter("pu speed per pu gate", "temporary droop", nonnegative)
    t_r = Parameter("s", "reset time of the temporary droop", positive)
    t_w = Parameter("s", "water starting time", nonnegative)
    a_11 = Parameter("1", "flow by head of the turbine", positive)
    a_13 = Parameter("1", "flow by gate of the turbine")
    a_21 = Parameter("1", "torque by head of the turbine")
    a_23 = Parameter("1", "torque by gate of the turbine", positive)

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to a gate that cannot close."""
        if p["u_c"] >= 0:
            return f"u_c = {p['u_c']:g}: must be < 0, the gate closes at this rate"
        return None

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of pilot valve, gate, temporary droop and water, and the torque."""
        washed, d_r = washout(v.gate, v.x_r, p.t_r)
        error = p.sigma * (v.p_ref - v.gate) - p.delta * washed - (v.omega - 1)
        turned, d_w = lead_lag(v.gate, v.water, 1 - p.a_13 * p.a_21 / (p.a_11 * p.a_23), 1)
        rate = m.clip(v.pilot, p.u_c, p.u_o)
        derivatives = (lag(error / p.t_g, v.pilot, p.t_p), rate, d_r, d_w / (p.a_11 * p.t_w))
        return derivatives, (p.a_23 * turned - v.t_m,), ()

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium for the torque that the machine needs."""
        t_m = terminal.signals.get("t_m", 0.0)
        return {"t_m": t_m} | dict.fromkeys(("gate", "x_r", "water", "p_ref"), t_m / p.a_23)
