"""The network: buses, lines, transformers and shunts as balances of current in rectangular coordinates.

All quantities are per unit on the system base. The equations are linear in the voltages. A bus has the
balance of the imaginary current in the row of ``v_re`` and that of the real current in the row of ``v_im``:
the large susceptances then stand on the diagonal of the Jacobian. Injections are positive into the bus.
Source: Kundur (1994), chapter 6; tap and phase shift as in Zimmerman and Murillo-Sanchez, MATPOWER
User's Manual, section 3.2.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, ClassVar

from psmr.dae.declare.component import (
    Component,
    Parameter,
    Terms,
    flag,
    fraction,
    nonnegative,
    positive,
    whole,
)

FAULTS = ("", "abc", "ag", "bg", "cg", "ab", "bc", "ca", "abg", "bcg", "cag")
"""The phases that a fault joins, g the ground; the place of one here is its number in a parameter."""

OPEN = ("", "abc", "a", "b", "c", "ab", "bc", "ca")
"""The phases of a branch that are open, numbered likewise."""


def in_or_out(value: float) -> str | None:
    """Return what would be right where a status is neither 0 nor 1."""
    return None if value in (0.0, 1.0) else "must be 1 (in service) or 0 (out of service)"


def series_admittance(p: Any) -> tuple[Any, Any]:
    """Return (g, b) of the series impedance r + j x, zero where the branch is out of service."""
    square = p.r**2 + p.x**2
    return p.status * p.r / square, -p.status * p.x / square


def shorted(p: Mapping[str, float]) -> str | None:
    """Return the objection to a branch without impedance."""
    return None if p["r"] or p["x"] else "r = x = 0: the branch has no impedance; give it a small x"


LAST_GROUP = 10**9
"""Largest number of an area or a zone."""


ALIASES = "aliases"
"""What a bus's device says of its other names (`Device.data`): one a line."""


class Bus(Component):
    """A bus: voltage phasor v_re + j v_im, the sum of injected currents, and a fault admittance to ground.

    0 = sum of currents into the bus - (g_fault + j b_fault)(v_re + j v_im)
    """

    algebraic: ClassVar[tuple[str, ...]] = ("v_re", "v_im")
    rows: ClassVar[tuple[str, ...]] = ("i_im", "i_re")
    together: ClassVar[tuple[tuple[str, ...], ...]] = (("v_re", "v_im"),)

    g_fault = Parameter("pu", "conductance of a fault to ground", nonnegative, default=0.0)
    b_fault = Parameter("pu", "susceptance of a fault to ground (negative for a reactance)", default=0.0)
    fault = Parameter("1", "phases of a fault, their place in FAULTS", whole(0, 10), default=0.0)
    r_fault = Parameter("pu", "resistance of the fault", default=0.0)
    x_fault = Parameter("pu", "reactance of the fault", default=0.0)
    area = Parameter("1", "number of its area, 0 for none", whole(0, LAST_GROUP), default=0.0)
    zone = Parameter("1", "number of its zone, 0 for none", whole(0, LAST_GROUP), default=0.0)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the current that the fault takes; everything else is added by the devices at the bus."""
        i_re = p.g_fault * v.v_re - p.b_fault * v.v_im
        i_im = p.g_fault * v.v_im + p.b_fault * v.v_re
        return (), (-i_im, -i_re), ()


class Line(Component):
    """A line between bus i and bus j as a pi circuit with lumped parameters (Kundur 1994, chapter 6).

    A fault along it, an open end or open phases change its admittances as seen from its two buses: g_ii to
    b_jj are that change, computed from the parameters that follow them (`psmr.network.sequence`).
    """

    inputs = ("v_re_i", "v_im_i", "v_re_j", "v_im_j")
    outputs = ("i_re_i", "i_im_i", "i_re_j", "i_im_j")

    r = Parameter("pu", "series resistance")
    x = Parameter("pu", "series reactance")
    b = Parameter("pu", "total charging susceptance, half at each end", default=0.0)
    g = Parameter("pu", "total shunt conductance, half at each end", default=0.0)
    status = Parameter("1", "1 in service, 0 out of service", in_or_out, default=1.0)
    g_ii = Parameter("pu", "conductance that a fault adds at end i", default=0.0)
    b_ii = Parameter("pu", "susceptance that a fault adds at end i", default=0.0)
    g_ij = Parameter("pu", "conductance that a fault adds between the ends", default=0.0)
    b_ij = Parameter("pu", "susceptance that a fault adds between the ends", default=0.0)
    g_jj = Parameter("pu", "conductance that a fault adds at end j", default=0.0)
    b_jj = Parameter("pu", "susceptance that a fault adds at end j", default=0.0)
    fault = Parameter("1", "phases of a fault along it, their place in FAULTS", whole(0, 10), default=0.0)
    r_fault = Parameter("pu", "resistance of the fault", default=0.0)
    x_fault = Parameter("pu", "reactance of the fault", default=0.0)
    open_phases = Parameter("1", "phases that are open, their place in OPEN", whole(0, 7), default=0.0)
    at = Parameter("1", "place of the fault or of the open phases, as a part of the length", fraction, 0.0)
    open_i = Parameter("1", "whether end i is open, with end j closed", flag, default=0.0)
    open_j = Parameter("1", "whether end j is open, with end i closed", flag, default=0.0)

    conflict = staticmethod(shorted)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the currents into both buses."""
        g, b = series_admittance(p)
        g_end, b_end = g + p.status * p.g / 2, b + p.status * p.b / 2
        g_i, b_i, g_j, b_j = g_end + p.g_ii, b_end + p.b_ii, g_end + p.g_jj, b_end + p.b_jj
        g_x, b_x = g - p.g_ij, b - p.b_ij
        return (
            (),
            (),
            (
                g_x * v.v_re_j - b_x * v.v_im_j - (g_i * v.v_re_i - b_i * v.v_im_i),
                g_x * v.v_im_j + b_x * v.v_re_j - (g_i * v.v_im_i + b_i * v.v_re_i),
                g_x * v.v_re_i - b_x * v.v_im_i - (g_j * v.v_re_j - b_j * v.v_im_j),
                g_x * v.v_im_i + b_x * v.v_re_i - (g_j * v.v_im_j + b_j * v.v_re_j),
            ),
        )


class Transformer(Component):
    """A two-winding transformer with an ideal complex tap a = tap exp(j shift) at bus i.

    i_i = (y + y_m) / tap^2 v_i - y / conj(a) v_j        (into the transformer)
    i_j = y v_j - y / a v_i

    with y = 1 / (r + j x) and the magnetising admittance y_m = g + j b on the side of bus i, behind the tap.
    """

    inputs: ClassVar[tuple[str, ...]] = ("v_re_i", "v_im_i", "v_re_j", "v_im_j")
    outputs = ("i_re_i", "i_im_i", "i_re_j", "i_im_j")

    r = Parameter("pu", "series resistance", default=0.0)
    x = Parameter("pu", "series reactance")
    tap = Parameter("1", "off-nominal turns ratio at bus i", positive, default=1.0)
    shift = Parameter("rad", "phase by which bus i leads", default=0.0)
    g = Parameter("pu", "magnetising conductance", default=0.0)
    b = Parameter("pu", "magnetising susceptance", default=0.0)
    status = Parameter("1", "1 in service, 0 out of service", in_or_out, default=1.0)

    conflict = staticmethod(shorted)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the currents into both buses."""
        g, b = series_admittance(p)
        c, s = m.cos(p.shift) / p.tap, m.sin(p.shift) / p.tap
        # The voltage of bus i behind the tap, v_i / a, and the current through the series impedance to bus j.
        e_re, e_im = v.v_re_i * c + v.v_im_i * s, v.v_im_i * c - v.v_re_i * s
        d_re, d_im = e_re - v.v_re_j, e_im - v.v_im_j
        i_re, i_im = g * d_re - b * d_im, g * d_im + b * d_re
        g_m, b_m = p.status * p.g, p.status * p.b
        k_re, k_im = i_re + g_m * e_re - b_m * e_im, i_im + g_m * e_im + b_m * e_re
        return (), (), (-(k_re * c - k_im * s), -(k_im * c + k_re * s), i_re, i_im)


class RatioTransformer(Transformer):
    """A transformer whose ratio at bus i is a variable of another device, in place of its tap."""

    inputs = (*Transformer.inputs, "ratio")

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the currents into both buses."""
        return Transformer.equations(m, v, SimpleNamespace(**(vars(p) | {"tap": v.ratio})))


class MonitoredLine(Line):
    """A line whose currents others read: m_re + j m_im at each end is what flows into it there."""

    algebraic = ("m_re_i", "m_im_i", "m_re_j", "m_im_j")

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the residuals of the currents that are read, and the currents into both buses."""
        return _monitored(v, Line.equations(m, v, p)[2])


class MonitoredTransformer(Transformer):
    """A transformer whose currents others read: m_re + j m_im at each end is what flows into it there."""

    algebraic = MonitoredLine.algebraic

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the residuals of the currents that are read, and the currents into both buses."""
        return _monitored(v, Transformer.equations(m, v, p)[2])


class MonitoredRatioTransformer(RatioTransformer):
    """The same where others read its currents: m_re + j m_im at each end is what flows into it there."""

    algebraic = MonitoredLine.algebraic

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the residuals of the currents that are read, and the currents into both buses."""
        return _monitored(v, RatioTransformer.equations(m, v, p)[2])


def _monitored(v: Any, into_buses: Terms) -> tuple[Terms, Terms, Terms]:
    read = (v.m_re_i, v.m_im_i, v.m_re_j, v.m_im_j)
    return (), tuple(-i - m for i, m in zip(into_buses, read, strict=True)), into_buses


class Shunt(Component):
    """A constant admittance to ground: a capacitor (b > 0), a reactor (b < 0), a conductance."""

    inputs = ("v_re", "v_im")
    outputs: ClassVar[tuple[str, ...]] = ("i_re", "i_im")

    g = Parameter("pu", "conductance", default=0.0)
    b = Parameter("pu", "susceptance, positive for a capacitor", default=0.0)
    status = Parameter("1", "1 in service, 0 out of service", in_or_out, default=1.0)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the current into the bus."""
        g, b = p.status * p.g, p.status * p.b
        return (), (), (-(g * v.v_re - b * v.v_im), -(g * v.v_im + b * v.v_re))
