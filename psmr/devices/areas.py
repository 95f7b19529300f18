"""Control of areas: generation control by the area control error, and what it reads and sets.

An area's control has rows to which others add: tie lines their flows, units what they are asked to give and
what they can. So it has any number of either.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from psmr.dae.declare.component import (
    Component,
    Parameter,
    Terms,
    crossed,
    flag,
    nonnegative,
    positive,
    whole,
)
from psmr.dae.declare.derived import derived
from psmr.dae.declare.samples import Samples
from psmr.devices.blocks import lag, phasor_frequency
from psmr.devices.machines.textbook import F_N, S_BASE

NO_LIMIT = 1e6
"""Power in MW, and rate in MW/min, beyond all others."""

EQUAL = 1e-9
"""Power in pu by which a sum may be beyond another one that it is equal to."""

OFFERED = ("given", "free", "least", "most")
"""Rows to which units add: what they are asked for, the parts of those within their limits, the limits."""


class TieLine(Component):
    """The flow through a tie line, added to an area's interchange.

    ::

        interchange += direction Re(v conj(i))

    i is the current into the branch at the end where it is metered, v the voltage there; direction is 1 for
    the area that this end is in, and -1 for the area at the other end where both go by one meter. Source:
    NERC, Balancing and Frequency Control (2021), on net actual interchange and common meters.
    """

    inputs = ("v_re", "v_im", "m_re", "m_im")
    outputs = ("interchange",)
    direction = Parameter("1", "1 for power out of the area at the meter, -1 for power into it", default=1.0)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return what it adds to the interchange."""
        return (), (), (p.direction * (v.v_re * v.m_re + v.v_im * v.m_im),)


class Meter(Component):
    """A reading, added to a sum of another device: total += factor reading.

    Of a line-commutated converter of a DC tie what it takes from its AC bus, of a DC line that is held at its
    powers a constant; factor is then the direction, 1 for the area that it is in, and -1 for the area at the
    other end where both go by one meter. Source: NERC, Balancing and Frequency Control (2021).
    """

    inputs = ("reading",)
    outputs = ("total",)
    factor = Parameter("1", "direction, or the unit of the sum", default=1.0)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return what it adds."""
        return (), (), (p.factor * v.reading,)


class SourceTie(Component):
    """The power of a voltage-source converter of a DC tie, added to an area's interchange.

    ::

        interchange += direction |v| i_p

    i_p is the active current that it takes from its AC bus, within its limit; direction as of
    `TieLine`. Source: NERC, Balancing and Frequency Control (2021).
    """

    inputs = ("v_re", "v_im", "i_p")
    outputs = ("interchange",)
    direction = TieLine.direction

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return what it adds to the interchange."""
        return (), (), (p.direction * m.sqrt(v.v_re * v.v_re + v.v_im * v.v_im) * v.i_p,)


class GenerationControl(Component):
    """Automatic generation control of an area: PI on its filtered area control error, every few seconds.

    ::

        ace = (interchange - schedule) + 10 bias (f - f_n)/s_base          pu, every T from T_0 on
        ace_f += (1 - exp(-T/t_ace)) (ace - ace_f)
        e = ace_f, 0 where |ace_f| < band/s_base
        integral -= k_i T e,   wanted = integral - k_p e,                  both between least and most
        level += (wanted - given)/free                                     on the side of 0 that wanted is on
        a unit is asked for its part times the level, between its limits (`Participation`)

    Export is positive and bias, in MW/0.1 Hz, too: ace > 0 is too much generation. NERC's equation
    (NIA - NIS) - 10 B (FA - FS) has the same value with its B < 0. Where no unit is at a limit the level is
    what is wanted. Else `given`, the sum of what units are asked for, lacks some of it, and the level takes a
    Newton step on given(level) = wanted, with `free`, the sum of the parts of the units within their limits,
    as its slope: the others are asked for the rest at the next cycles. given is concave above 0 and convex
    below, so that steps from below converge from one side; one from beyond, which may go too far, goes at
    most half the way of the chord from 0. f is s/(1 + s t_f) on the angle of a bus voltage.

    Sources: NERC BAL-001, area control error; P. Kundur, Power System Stability and Control (1994), section
    11.1.5; T. Haines, PST 4 (2020), `agc`, for the order of filter, cycle and parts.
    """

    role = "area_control"
    states = ("angle",)
    algebraic = ("f", "interchange", *OFFERED)
    inputs = ("v_re", "v_im", "schedule")
    sampled_states = ("ace_f", "integral")
    sampled_outputs = ("ace", "level")
    samples = Samples(period="T", offset="T_0")
    buses = {"bus": ("v_re", "v_im")}
    units = {"angle": "rad", "f": "Hz"}

    s_base, f_n = S_BASE, F_N
    T = Parameter("s", "cycle", positive, 4.0)
    T_0 = Parameter("s", "first cycle", nonnegative, 0.0)
    bias = Parameter("MW/0.1 Hz", "frequency bias", nonnegative)
    k_p = Parameter("1", "proportional gain", nonnegative, 0.0)
    k_i = Parameter("1/s", "integral gain", positive)
    t_ace = Parameter("s", "time constant of the filter, 0 for none", nonnegative, 0.0)
    band = Parameter("MW", "filtered error below which nothing is done", nonnegative, 0.0)
    bus = Parameter(
        "number", "bus where the frequency is measured, 0: that of the largest part", whole(0, 999_999), 0.0
    )
    t_f = Parameter("s", "time constant of the frequency, measured up to 1/(2 t_f) off f_n", positive, 0.05)
    own_meters = Parameter("1", "1 for ties metered at the area's own ends, 0 at their from buses", flag, 0.0)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivative of the measured angle, and the residuals of frequency and sums."""
        deviation, d_angle = phasor_frequency(m, v.v_re, v.v_im, v.angle, p.t_f, p.f_n)
        sums = (v.interchange, v.given, v.free, v.least, v.most)
        return (d_angle,), (p.f_n * (1 + deviation) - v.f, *(-total for total in sums)), ()

    @staticmethod
    def sample(m: Any, v: Any, p: Any) -> tuple[Terms, Terms]:
        """Return the filtered error and its integral, the error and the level."""
        ace = v.interchange - v.schedule + 10 * p.bias * (v.f - p.f_n) / p.s_base
        part = m.where(m.le(p.t_ace, 0), 1, 1 - m.exp(-p.T / m.where(m.le(p.t_ace, 0), 1, p.t_ace)))
        filtered = v.ace_f + part * (ace - v.ace_f)
        error = m.where(m.ge(m.abs(filtered), p.band / p.s_base), filtered, 0)
        integral = m.min(m.max(v.integral - p.k_i * p.T * error, v.least), v.most)
        wanted = m.min(m.max(integral - p.k_p * error, v.least), v.most)
        return (filtered, integral), (ace, _next_level(m, v, wanted))


def _next_level(m: Any, v: Any, wanted: Any) -> Any:
    """Return the level after one more step on given(level) = wanted."""
    side = m.where(m.ge(wanted, 0), 1, -1)
    level, wanted, given = side * v.level, side * wanted, side * v.given
    beyond = m.ge(given - wanted, EQUAL)
    free = m.where(m.le(v.free, 0), 1, v.free)
    newton = m.where(m.le(v.free, 0), m.where(beyond, 0, level), level + (wanted - given) / free)
    chord = m.where(beyond, wanted / m.where(beyond, given, 1) * level, 0)
    return side * m.max(m.max(newton, chord / 2), 0)


class Participation(Component):
    """A unit's part in the control of its area: it moves the load reference of the unit's plant.

    ::

        asked = part level, between p_min - p_0 and p_max - p_0                pu on s_base
        (asked - p_area)/t_p, at most ramp up and down -> 1/s -> p_area
        reference = set_point + gain p_area

    The reference is that of the plant's control, of its governor or electrical control, or of the machine,
    whichever stands first; set_point is what it is without the area's control, p_0 the power there. gain, the
    change of the reference by that of the power, is worked out from the plant's own equations at rest, so
    that a unit gives its part whatever the units and droops of its references.

    Source: P. Kundur, Power System Stability and Control (1994), section 11.1.5.
    """

    role = "participation"
    states = ("p_area",)
    algebraic = ("reference",)
    inputs = ("level", "set_point")
    outputs = OFFERED
    lags = {"p_area": ("t_p",)}
    memory = ("gain",)

    s_base = S_BASE
    p_0 = Parameter("pu", "power at the start")
    part = Parameter("1", "part of what its area is asked for", positive)
    ramp = Parameter("MW/min", "largest rate of change", positive, NO_LIMIT)
    p_max = Parameter("MW", "largest power that it is asked for", default=NO_LIMIT)
    p_min = Parameter("MW", "smallest power that it is asked for", default=-NO_LIMIT)
    t_p = Parameter("s", "time constant with which it follows", nonnegative, 2.0)
    gain = Parameter("1", "change of the reference by that of the power", default=1.0)

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to limits that cross, and to a ramp without a lag."""
        if p["t_p"] == 0 and p["ramp"] < NO_LIMIT:
            return f"t_p = 0 and ramp = {p['ramp']:g}: t_p must be > 0 where there is a ramp limit"
        return crossed(p, ("p_min", "p_max"))

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivative of the power, the residual of the reference, and what the area sums up."""
        return _participation(m, v, p, v.reference)


def _participation(m: Any, v: Any, p: Any, reference: Any) -> tuple[Terms, Terms, Terms]:
    least, most = p.p_min / p.s_base - p.p_0, p.p_max / p.s_base - p.p_0
    wanted, ramp = p.part * v.level, p.ramp / 60 / p.s_base
    asked = m.min(m.max(wanted, least), most)
    free = m.where(m.ge(wanted, least), m.where(m.ge(most, wanted), p.part, 0), 0)
    rate = m.min(m.max(lag(asked, v.p_area, p.t_p), -ramp), ramp)
    return (rate,), (v.set_point + p.gain * v.p_area - reference,), (asked, free, least, most)


@derived
def moving(component: type[Component], reference: str) -> tuple[str, Mapping[str, Any]]:
    """Return the class of a participation that offers its reference under the name that a device reads."""

    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        return _participation(m, v, p, getattr(v, reference))

    return reference, {"algebraic": (reference,), "equations": staticmethod(equations)}
