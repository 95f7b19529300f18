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


DARK = 1e-6
"""Voltage in pu below which the magnitude is held, whose derivative has no value at zero."""


def conductance(m: Any, v: Any, threshold: Any) -> Any:
    """Return current over voltage, per unit current, of a constant current that bends to zero at low voltage.

    Above the threshold that is 1/v; below, with x = v / threshold, the current is x (2 - x): a curve of the
    form that PSS/E documents, which leaves the constant one with the same slope.
    """
    inverse = 1 / m.max(v, threshold)
    return inverse * (2 - v * inverse)


class ZipLoad(StaticLoad):
    """A load with parts of constant impedance, constant current and constant power, for P and Q each.

    The active power is P (p_z (V/v_0)^2 + p_i V/v_0 + p_p), and the same for Q. P is p while the load does
    not ramp; a load trip multiplies it. At low voltage neither current nor power can stay: below the voltage
    `v_min_current` the constant current is multiplied with x (2 - x), x = V / v_min_current, and below
    `v_min` the constant power with its square, x = V / v_min. Both leave the constant value with its slope
    and end as an impedance at zero volts, as PSS/E's characteristics below 0.5 pu and PQBRAK = 0.7 pu do;
    their formula is not public. Per unit on the system base. Sources: Kundur (1994), section 7.1, static load
    models; OpenIPSL's fit of PSS/E's curves (Electrical.Loads.PSSE, characteristic 2), from which these
    differ by at most 0.03 of the power and 0.09 of the current. Its characteristic 1, of power alone, is made
    of two parabolas, 2 x^2 up to x = 1/2 and 1 - 2 (1 - x)^2 from there: at most 0.09 below this one.
    """

    v_0 = Parameter("pu", "voltage to which p and q belong, from the power flow", positive)
    p_z = Parameter("1", "part of constant impedance in p", fraction)
    p_i = Parameter("1", "part of constant current in p", fraction)
    p_p = Parameter("1", "part of constant power in p", fraction)
    q_z = Parameter("1", "part of constant impedance in q", fraction)
    q_i = Parameter("1", "part of constant current in q", fraction)
    q_p = Parameter("1", "part of constant power in q", fraction)
    v_min = Parameter("pu", "voltage below which the constant power bends to zero", positive, default=0.7)
    v_min_current = Parameter("pu", "the same of the constant current", positive, default=0.5)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the current into the bus, -(g + j b) v with the admittance that belongs to the voltage."""
        active, reactive = demand(v, p)
        magnitude = m.sqrt(m.max(v.v_re**2 + v.v_im**2, DARK**2))
        of_current = conductance(m, magnitude, p.v_min_current) / p.v_0
        of_power = conductance(m, magnitude, p.v_min) ** 2
        g = active * (p.p_z / p.v_0**2 + p.p_i * of_current + p.p_p * of_power)
        b = -reactive * (p.q_z / p.v_0**2 + p.q_i * of_current + p.q_p * of_power)
        return (), (), (-(g * v.v_re - b * v.v_im), -(g * v.v_im + b * v.v_re))
