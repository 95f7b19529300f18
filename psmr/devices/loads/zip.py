"""Loads as functions of the voltage at their bus."""

from __future__ import annotations

from typing import Any

from psmr.dae.declare.component import Component, Parameter, Terms, fraction, positive


class StaticLoad(Component):
    """A load whose current follows the voltage at its bus, without states of its own.

    What it draws at its nominal voltage, P and Q, is what a load trip scales, a ramp moves and a relay sheds:

    P = (1 - shed) (p + p_rate (t - t_ramp)),    Q = (1 - shed) (q + q_rate (t - t_ramp))
    """

    inputs = ("v_re", "v_im")
    outputs = ("i_re", "i_im")
    ramps = ("p_rate", "q_rate")

    p = Parameter("pu", "active power at the voltage v_0")
    q = Parameter("pu", "reactive power at the voltage v_0")
    p_rate = Parameter("pu/s", "rate at which the active power grows", default=0.0)
    q_rate = Parameter("pu/s", "rate at which the reactive power grows", default=0.0)
    t_ramp = Parameter("s", "time at which the load draws p and q", default=0.0)
    shed = Parameter("1", "part of the load that relays have shed", fraction, default=0.0)


def demand(v: Any, p: Any) -> tuple[Any, Any]:
    """Return (P, Q) of a `StaticLoad` at the nominal voltage and the time ``v.t``."""
    since, left = v.t - p.t_ramp, 1 - p.shed
    return left * (p.p + p.p_rate * since), left * (p.q + p.q_rate * since)


class ZipLoad(StaticLoad):
    """A load with parts of constant impedance, constant current and constant power, for P and Q each.

    The active power is P (p_z (V/v_0)^2 + p_i V/v_0 + p_p), and the same for Q. P is p while the load does
    not ramp; a load trip multiplies it. Below the voltage `v_min` the current and power parts go on as the
    impedances they are at `v_min`, continuously: at a bolted fault a constant power has no solution. Per unit
    on the system base. Source: Kundur (1994), section 7.1, static load models.
    """

    v_0 = Parameter("pu", "voltage to which p and q belong, from the power flow", positive)
    p_z = Parameter("1", "part of constant impedance in p", fraction)
    p_i = Parameter("1", "part of constant current in p", fraction)
    p_p = Parameter("1", "part of constant power in p", fraction)
    q_z = Parameter("1", "part of constant impedance in q", fraction)
    q_i = Parameter("1", "part of constant current in q", fraction)
    q_p = Parameter("1", "part of constant power in q", fraction)
    v_min = Parameter("pu", "voltage below which all parts are impedances", positive, default=0.7)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the current into the bus, -(g + j b) v with the admittance that belongs to the voltage."""
        active, reactive = demand(v, p)
        square = m.max(v.v_re**2 + v.v_im**2, p.v_min**2)
        magnitude = m.sqrt(square)
        g = active * (p.p_z / p.v_0**2 + p.p_i / (p.v_0 * magnitude) + p.p_p / square)
        b = -reactive * (p.q_z / p.v_0**2 + p.q_i / (p.v_0 * magnitude) + p.q_p / square)
        return (), (), (-(g * v.v_re - b * v.v_im), -(g * v.v_im + b * v.v_re))
