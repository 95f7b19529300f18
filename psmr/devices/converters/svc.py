"""The static var compensator of the standard library."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from psmr.dae.declare.component import Component, Parameter, Terms, crossed, improper, nonnegative, positive
from psmr.devices.blocks import lead_lag
from psmr.devices.machines.textbook import S_BASE, S_N


class CSVGN1(Component):
    """Static var compensator: a capacitor beside a reactor whose current thyristors control.

    ::

        |v| - v_ref -> k (1 + s t_1)/(1 + s t_3) -> (1 + s t_2)/(1 + s t_4), limits [v_min, v_max] -> demand
        s_n demand -> 1/(1 + s t_5), limits [r_min, s_n] -> reactor
        i = -j ((c_base - reactor)/s_base) v - g v

    reactor and c_base are in Mvar at rated voltage, i is the current into the bus. s_n is the reactor's size:
    the generator's base in the network file. The limits [v_min, v_max] hold for the output of the second
    lead-lag and, without windup, for its state. The held input g is the conductance that takes the active
    power which the power flow gives the generator, zero for a compensator as such. Source: PSS/E, Model
    Library, CSVGN1 (static shunt compensator).
    """

    role = "converter"
    records = ("CSVGN1 k t_1 t_2 t_3 t_4 t_5 r_min v_max v_min c_base",)
    grid = "follows"
    states = ("x_3", "x_4", "reactor")
    inputs = ("v_re", "v_im", "v_ref", "g")
    outputs = ("i_re", "i_im")
    limits = {"x_4": ("v_min", "v_max"), "reactor": ("r_min", "s_n")}
    lags = {"x_3": ("t_3",), "x_4": ("t_4",), "reactor": ("t_5",)}
    units = {"reactor": "Mvar"}

    s_n = S_N
    s_base = S_BASE
    k = Parameter("pu per pu", "gain", positive)
    t_1 = Parameter("s", "first lead", nonnegative)
    t_2 = Parameter("s", "second lead", nonnegative)
    t_3 = Parameter("s", "first lag", nonnegative)
    t_4 = Parameter("s", "second lag", nonnegative)
    t_5 = Parameter("s", "time constant of the thyristors", nonnegative)
    r_min = Parameter("Mvar", "least power of the reactor")
    v_max = Parameter("pu of the reactor", "upper limit of the regulator")
    v_min = Parameter("pu of the reactor", "lower limit of the regulator")
    c_base = Parameter("Mvar", "power of the capacitor")

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to leads without their lags and to crossed limits."""
        limits = (("v_min", "v_max"), ("r_min", "s_n"))
        return crossed(p, *limits) or improper(p, ("t_1", "t_3"), ("t_2", "t_4"))

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of lead-lags and reactor, and the current into the bus."""
        error = p.k * (m.sqrt(v.v_re**2 + v.v_im**2) - v.v_ref)
        first, d_3 = lead_lag(error, v.x_3, p.t_1, p.t_3)
        second, d_4 = lead_lag(first, v.x_4, p.t_2, p.t_4)
        demand = m.clip(second, p.v_min, p.v_max)
        b = (p.c_base - v.reactor) / p.s_base
        derivatives = (d_3, d_4, (p.s_n * demand - v.reactor) / p.t_5)
        return derivatives, (), (b * v.v_im - v.g * v.v_re, -b * v.v_re - v.g * v.v_im)

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium for the power that the power flow gives."""
        power = terminal.voltage * np.conj(terminal.current)
        square = np.abs(terminal.voltage) ** 2
        reactor = p.c_base - power.imag / square * p.s_base
        demand = reactor / p.s_n
        v_ref = np.abs(terminal.voltage) - demand / p.k
        return {"x_3": demand, "x_4": demand, "reactor": reactor, "v_ref": v_ref, "g": -power.real / square}
