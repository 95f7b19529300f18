"""Loads as functions of the voltage at their bus.

Loads whose power is a power of the voltage at their bus.

Loads of the standard library that are polynomials of the voltage and linear in the frequency.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from psmr.dae.declare.component import Component, NumericMath, Parameter, Terms, fraction, positive
from psmr.devices.blocks import phasor_frequency
from psmr.devices.machines.textbook import F_N


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
        # Behind a branch, since of thousands of loads many are impedances alone.
        constant = m.ge(0, p.p_i + p.p_p + p.q_i + p.q_p)
        g = active * (p.p_z / p.v_0**2 + m.where(constant, 0, p.p_i * current + p.p_p * power))
        b = -reactive * (p.q_z / p.v_0**2 + m.where(constant, 0, p.q_i * current + p.q_p * power))
        return (), (), (-(g * v.v_re - b * v.v_im), -(g * v.v_im + b * v.v_re))


class ExponentialLoad(StaticLoad):
    """A load whose P and Q each follow a power of the voltage.

    The active power is P (V/v_0)^exponent_p, the reactive power Q (V/v_0)^exponent_q.
    The exponents 0, 1 and 2 are constant power, current and impedance; measured exponents lie
    between and beyond them. Below the voltage `v_min` both powers go on as those of the impedances
    they are at `v_min`, continuously, as the parts of `ZipLoad` do. Per unit on the
    system base. Source: Kundur (1994), section 7.1, static load models.
    """

    v_0 = Parameter("pu", "voltage to which p and q belong, from the power flow", positive)
    exponent_p = Parameter("1", "exponent of the voltage in the active power")
    exponent_q = Parameter("1", "exponent of the voltage in the reactive power")
    v_min = Parameter("pu", "voltage below which both powers are those of impedances", positive, default=0.7)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the current into the bus, -(g + j b) v with the admittance that belongs to the voltage."""
        active, reactive = demand(p)
        square = m.max(v.v_re**2 + v.v_im**2, p.v_min**2) / p.v_0**2
        g = active / p.v_0**2 * square ** (p.exponent_p / 2 - 1)
        b = -reactive / p.v_0**2 * square ** (p.exponent_q / 2 - 1)
        return (), (), (-(g * v.v_re - b * v.v_im), -(g * v.v_im + b * v.v_re))


class LoadCharacteristic(StaticLoad):
    """The load characteristic IEEL without its parts that follow the frequency.

    ::

        P = p (a_1 V^n_1 + a_2 V^n_2 + a_3 V^n_3) / (the same at v_0)
        Q = q (a_4 V^n_4 + a_5 V^n_5 + a_6 V^n_6) / (the same at v_0)

    V is the voltage in pu. What the load draws in the power flow it draws at the start: the sums are divided
    by their value at the power flow's voltage, so that the parts need not add up to 1. P is p while the load
    does not ramp; a load trip multiplies it. Below the voltage `v_min` both powers go on as those of the
    impedances they are at `v_min`. Per unit on the system base. Source: PSS/E, Model Library, IEELBL; IEEE
    Task Force on Load Representation, Standard Load Models for Power Flow and Dynamic Performance
    Simulation, IEEE Trans. Power Systems 10(3), 1995.
    """

    role = "characteristic"

    v_0 = Parameter("pu", "voltage of the power flow", positive)
    a_1 = Parameter("1", "first part of the active power", default=1.0)
    a_2 = Parameter("1", "second part of the active power", default=0.0)
    a_3 = Parameter("1", "third part of the active power", default=0.0)
    a_4 = Parameter("1", "first part of the reactive power", default=1.0)
    a_5 = Parameter("1", "second part of the reactive power", default=0.0)
    a_6 = Parameter("1", "third part of the reactive power", default=0.0)
    n_1 = Parameter("1", "exponent of the voltage in the first part of P", default=0.0)
    n_2 = Parameter("1", "exponent of the voltage in the second part of P", default=0.0)
    n_3 = Parameter("1", "exponent of the voltage in the third part of P", default=0.0)
    n_4 = Parameter("1", "exponent of the voltage in the first part of Q", default=0.0)
    n_5 = Parameter("1", "exponent of the voltage in the second part of Q", default=0.0)
    n_6 = Parameter("1", "exponent of the voltage in the third part of Q", default=0.0)
    v_min = Parameter("pu", "voltage below which both powers are those of impedances", positive, default=0.7)

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to parts that cancel each other: there is no power that they are parts of."""
        for sides in ((1, 2, 3), (4, 5, 6)):
            parts = [f"a_{k}" for k in sides]
            if sum(p[name] for name in parts) <= 0:
                said = " + ".join(parts)
                return f"{said} = {sum(p[name] for name in parts):g}: must be > 0; they are parts of a power"
        return None

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the current into the bus, -(g + j b) v with the admittance that belongs to the voltage."""
        return (), (), drawn(m, v, p, 1, 1)


class FrequencyCharacteristic(LoadCharacteristic):
    """The load characteristic IEEL, whose powers follow voltage and frequency of the bus.

    ::

        P = p (a_1 V^n_1 + a_2 V^n_2 + a_3 V^n_3) (1 + a_7 f) / (the same at v_0)
        Q = q (a_4 V^n_4 + a_5 V^n_5 + a_6 V^n_6) (1 + a_8 f) / (the same at v_0)
        f = s/(1 + s t_f) of the phase of the bus voltage, in pu of the nominal frequency

    The time constant t_f stands for the filter that PSS/E has in its bus frequencies, four of its steps by
    default; a record does not give it. Otherwise as `LoadCharacteristic`. Source: PSS/E, Model Library,
    IEELBL.
    """

    role = "characteristic"
    states = ("angle",)
    units = {"angle": "rad"}

    f_n = F_N
    a_7 = Parameter("1", "change of the active power with the frequency, in pu of both", default=0.0)
    a_8 = Parameter("1", "change of the reactive power with the frequency, in pu of both", default=0.0)
    t_f = Parameter("s", "time constant of the measured frequency", positive, default=0.02)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivative of the measured angle and the current into the bus."""
        f, d_angle = phasor_frequency(m, v.v_re, v.v_im, v.angle, p.t_f, p.f_n)
        return (d_angle,), (), drawn(m, v, p, 1 + p.a_7 * f, 1 + p.a_8 * f)

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, float]:
        """Return the phase of the bus voltage."""
        return {"angle": math.atan2(terminal.voltage.imag, terminal.voltage.real)}


def drawn(m: Any, v: Any, p: Any, with_p: Any, with_q: Any) -> Terms:
    """Return the current into the bus of a characteristic whose powers are multiplied by two factors."""
    active, reactive = demand(p)
    square = m.max(v.v_re**2 + v.v_im**2, p.v_min**2)
    g = active * with_p * _by_square(square, p, (1, 2, 3)) / (_by_square(p.v_0**2, p, (1, 2, 3)) * p.v_0**2)
    b = reactive * with_q * _by_square(square, p, (4, 5, 6)) / (_by_square(p.v_0**2, p, (4, 5, 6)) * p.v_0**2)
    return -(g * v.v_re + b * v.v_im), -(g * v.v_im - b * v.v_re)


def _by_square(square: Any, p: Any, parts: tuple[int, ...]) -> Any:
    """Return the sum of the parts a V^n over V^2."""
    terms = (getattr(p, f"a_{k}") * square ** (getattr(p, f"n_{k}") / 2 - 1) for k in parts)
    return sum(terms)
