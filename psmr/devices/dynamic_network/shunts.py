"""Capacitors, reactors and loads of constant impedance at buses whose voltages are states.

Source: P. C. Krause, O. Wasynczuk and S. D. Sudhoff, Analysis of Electric Machinery and Drive Systems (2002),
chapter 3, resistances, inductances and capacitances in a turning frame.
"""

from __future__ import annotations

from typing import Any

from psmr.dae.declare.component import Parameter, Terms, nonzero, positive
from psmr.devices.dynamic_network.bus import STORAGE, rate_of
from psmr.devices.loads.zip import StaticLoad, demand
from psmr.devices.machines.textbook import F_N
from psmr.devices.network import Shunt


class DynamicCapacitor(Shunt):
    """A capacitor, b > 0, whose susceptance belongs to the capacitance of a `DynamicBus`."""

    outputs = ("i_re", "i_im", "b")

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the current of the conductance into the bus, and the susceptance."""
        g = p.status * p.g
        return (), (), (-g * v.v_re, -g * v.v_im, p.status * p.b)


class DynamicReactor(Shunt):
    """A reactor, b < 0, with its current i as a state: di/dt = w0 (-b v - j i)."""

    states = ("i_l_re", "i_l_im")
    together = (("i_l_re", "i_l_im"),)

    f_n = F_N
    storage = STORAGE

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivative of the reactor's current and the current into the bus."""
        w, on = rate_of(p), p.status
        derivatives = w * (-on * p.b * v.v_re + v.i_l_im), w * (-on * p.b * v.v_im - v.i_l_re)
        return derivatives, (), (-on * (v.i_l_re + p.g * v.v_re), -on * (v.i_l_im + p.g * v.v_im))


class DynamicLoad(StaticLoad):
    """A load of constant impedance as a resistance and an inductance in series.

    (x / w0) di/dt = v - (r + j x) i,   r + j x = v_0^2 / (p_0 - j q_0)
    current into the bus: -(P - j Q) / (p_0 - j q_0) i

    A load that is shed or grows is a number of such branches in parallel, of which more or fewer are
    connected: what is disconnected has no current at once.
    """

    states = ("i_l_re", "i_l_im")
    together = (("i_l_re", "i_l_im"),)

    f_n = F_N
    v_0 = Parameter("pu", "voltage to which p_0 and q_0 belong", positive)
    p_0 = Parameter("pu", "active power of the branches at the voltage v_0")
    q_0 = Parameter("pu", "reactive power of the branches at the voltage v_0", nonzero)
    storage = STORAGE

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivative of the branches' current and the current into the bus."""
        w, square = rate_of(p), p.p_0**2 + p.q_0**2
        # r / x = p_0 / q_0 and 1 / x = (p_0^2 + q_0^2) / (v_0^2 q_0).
        k = square / (p.v_0**2 * p.q_0)
        derivatives = (
            w * (k * v.v_re - p.p_0 / p.q_0 * v.i_l_re + v.i_l_im),
            w * (k * v.v_im - p.p_0 / p.q_0 * v.i_l_im - v.i_l_re),
        )
        active, reactive = demand(p)
        c, s = (active * p.p_0 + reactive * p.q_0) / square, (active * p.q_0 - reactive * p.p_0) / square
        return derivatives, (), (-(c * v.i_l_re - s * v.i_l_im), -(c * v.i_l_im + s * v.i_l_re))
