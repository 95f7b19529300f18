"""Loads as functions of the voltage at their bus."""

from __future__ import annotations

import math
from typing import Any

from psmr.dae.declare.component import Component, Parameter, Terms, fraction, positive
from psmr.dae.declare.mathematics import NumericMath


class StaticLoad(Component):
    """A load whose current follows the voltage at its bus, without states of its own.

    What it draws at its nominal voltage, P and Q, is what a load trip scales, a ramp moves and a relay sheds:
    P = (1 - shed) p, Q = (1 - shed) q.
    """

    inputs = ("v_re", "v_im")
    outputs = ("i_re", "i_im")
    courses = ("p", "q")

    p = Parameter("pu", "active power at the voltage v_0")
    q = Parameter("pu", "reactive power at the voltage v_0")
    shed = Parameter("1", "part of the load that relays have shed", fraction, default=0.0)


def demand(p: Any) -> tuple[Any, Any]:
    """Return (P, Q) of a `StaticLoad` at the nominal voltage."""
    left = 1 - p.shed
    return left * p.p, left * p.q


DARK = 1e-6
"""Voltage in pu below which the magnitude is held, whose derivative has no value at zero."""


PEAK = 1.0 + 2.0 / math.sqrt(3.0) * math.cos(math.radians(70.0))
"""Voltage v_min over that at which a constant power that bends has its largest current: the root at which
the ellipse meets the hyperbola I = 1 / V with its slope, 3 u^3 - 3 u + 1 = 0 for u = PEAK - 1."""


def of_ellipse(m: Any, u: Any) -> Any:
    """Return I(u) / u on the ellipse (I + 1)^2 / 4 + 3 (u - 1)^2 / 4 = 1, for u of 0 or more.

    That is I = 2 sqrt(1 - 3/4 (1 - u)^2) - 1, from I(0) = 0 to I(1) = 1, its largest value, written so that
    nothing cancels at u = 0, where the quotient is 3.
    """
    rest = 2 - u
    return 3 * rest / (1 + m.sqrt(1 + 3 * u * rest))


def of_current(m: Any, v: Any, threshold: Any) -> Any:
    """Return current over voltage, per unit current, of a constant current: its ellipse below a threshold."""
    inverse = 1 / m.max(v, threshold)
    return inverse * of_ellipse(m, v * inverse)


def of_power(m: Any, v: Any, threshold: Any) -> Any:
    """Return power over the square of the voltage of a constant power: its ellipse below a threshold."""
    inverse = 1 / m.max(v, threshold)
    return inverse**2 * of_ellipse(m, PEAK * v * inverse) / of_ellipse(NumericMath, PEAK)


class ZipLoad(StaticLoad):
    """A load with parts of constant impedance, constant current and constant power, for P and Q each.

    The active power is P (p_z (V/v_0)^2 + p_i V/v_0 + p_p), and the same for Q. At low
    voltage neither current nor power can stay: both go on along
    PSS/E's ellipse of current over voltage, I(u) = 2 sqrt(1 - 3/4 (1 - u)^2) - 1, and end as impedances at
    zero volts. Below the voltage `v_min_current` the constant current is multiplied with I(V /
    v_min_current); below `v_min` the constant power is that of a current I(1.3949 V / v_min) / I(1.3949) /
    v_min, which of all multiples of the ellipse meets 1 / V with its slope. PSS/E's manuals say that there
    is an ellipse below 0.5 pu and PQBRAK = 0.7 pu, not which. That of the current was found from a trace
    (docs/benchmarks/psse.md); of the power there is none: the same form is taken, which keeps within 0.009
    of the power to OpenIPSL's fit of PSS/E's curve (Electrical.Loads.PSSE, characteristic 2). Per unit on
    the system base. Source for the parts: Kundur (1994), section 7.1, static load models.
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
        active, reactive = demand(p)
        magnitude = m.sqrt(m.max(v.v_re**2 + v.v_im**2, DARK**2))
        current = of_current(m, magnitude, p.v_min_current) / p.v_0
        power = of_power(m, magnitude, p.v_min)
        g = active * (p.p_z / p.v_0**2 + p.p_i * current + p.p_p * power)
        b = -reactive * (p.q_z / p.v_0**2 + p.q_i * current + p.q_p * power)
        return (), (), (-(g * v.v_re - b * v.v_im), -(g * v.v_im + b * v.v_re))
