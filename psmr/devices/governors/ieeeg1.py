"""The IEEE steam turbine of the standard library."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from psmr.dae.declare.component import Component, Parameter, Terms, improper, nonnegative, positive
from psmr.devices.blocks import lag, lead_lag


class IEEEG1(Component):
    """Steam turbine with up to four stages, of which each gives a fraction of the torque.

    ::

        omega - 1 -> k (1 + s t_2)/(1 + s t_1) -> c      p_ref - c - valve -> 1/t_3 -> limits [u_c, u_o]
        -> 1/s, limits [p_min, p_max] -> valve
        valve -> 1/(1 + s t_4) -> x_4 -> 1/(1 + s t_5) -> x_5 -> 1/(1 + s t_6) -> x_6 -> 1/(1 + s t_7) -> x_7
        t_m = k_1 x_4 + k_3 x_5 + k_5 x_6 + k_7 x_7

    The fractions k_2, k_4, k_6 and k_8 of a second shaft are left out: one machine is driven. Source: IEEE
    Committee Report, Dynamic Models for Steam and Hydro Turbines in Power System Studies (1973); PSS/E, Model
    Library, IEEEG1.
    """

    role = "governor"
    records = (
        "IEEEG1 bus2=0 -id2 k t_1 t_2 t_3 u_o u_c p_max p_min t_4 k_1 k_2=0 t_5 k_3 k_4=0 t_6 k_5 "
        "k_6=0 t_7 k_7 k_8=0",
    )
    states = ("x_s", "valve", "x_4", "x_5", "x_6", "x_7")
    algebraic: ClassVar[tuple[str, ...]] = ("t_m",)
    inputs = ("omega", "p_ref")
    limits = {"valve": ("p_min", "p_max")}
    lags = {"x_s": ("t_1",), "x_4": ("t_4",), "x_5": ("t_5",), "x_6": ("t_6",), "x_7": ("t_7",)}

    k = Parameter("pu power on machine base per pu speed", "gain, the inverse of the droop", nonnegative)
    t_1 = Parameter("s", "lag time constant of the governor", nonnegative)
    t_2 = Parameter("s", "lead time constant of the governor", nonnegative)
    t_3 = Parameter("s", "time constant of the valve", positive)
    u_o = Parameter("pu/s", "largest rate at which the valve opens", positive)
    u_c = Parameter("pu/s", "largest rate at which the valve closes, below zero")
    p_max = Parameter("pu on machine base", "upper limit of the valve")
    p_min = Parameter("pu on machine base", "lower limit of the valve")
    t_4 = Parameter("s", "time constant of the steam chest", nonnegative)
    k_1 = Parameter("1", "fraction of the torque after t_4", nonnegative)
    t_5 = Parameter("s", "time constant of the second stage", nonnegative)
    k_3 = Parameter("1", "fraction of the torque after t_5", nonnegative)
    t_6 = Parameter("s", "time constant of the third stage", nonnegative)
    k_5 = Parameter("1", "fraction of the torque after t_6", nonnegative)
    t_7 = Parameter("s", "time constant of the fourth stage", nonnegative)
    k_7 = Parameter("1", "fraction of the torque after t_7", nonnegative)

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to a lead without its lag, to a valve that cannot close, to a turbine without torque."""
        if p["u_c"] >= 0:
            return f"u_c = {p['u_c']:g}: must be < 0, the valve closes at this rate"
        if p["k_1"] + p["k_3"] + p["k_5"] + p["k_7"] == 0:
            return "k_1, k_3, k_5 and k_7 are 0: one of them must be > 0, otherwise there is no torque"
        return improper(p, ("t_2", "t_1"))

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of governor, valve and stages, and the torque."""
        led, d_s = lead_lag(p.k * (v.omega - 1), v.x_s, p.t_2, p.t_1)
        derivatives = (
            d_s,
            m.clip((v.p_ref - led - v.valve) / p.t_3, p.u_c, p.u_o),
            lag(v.valve, v.x_4, p.t_4),
            lag(v.x_4, v.x_5, p.t_5),
            lag(v.x_5, v.x_6, p.t_6),
            lag(v.x_6, v.x_7, p.t_7),
        )
        torque = p.k_1 * v.x_4 + p.k_3 * v.x_5 + p.k_5 * v.x_6 + p.k_7 * v.x_7
        return derivatives, (torque - v.t_m,), ()

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium for the torque that the machine needs."""
        t_m = terminal.signals.get("t_m", 0.0)
        valve = t_m / (p.k_1 + p.k_3 + p.k_5 + p.k_7)
        return {"t_m": t_m} | dict.fromkeys(("valve", "x_4", "x_5", "x_6", "x_7", "p_ref"), valve)
