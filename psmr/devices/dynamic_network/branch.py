"""Lines, transformers, series capacitors, reactors and loads whose currents or voltages are states.

The ends of a branch are one of four kinds, by the bus there:

- ``PHASOR``: the charging of this end is an admittance, as everything at that bus;
- ``CHARGED``: the charging belongs to the capacitance of a `DynamicBus`;
- ``JUNCTION``: the branch gives a `JunctionBus` the rate of its current as well;
- ``DEPENDENT``: the same, and the current of this branch is the one that is no state.

Sources: P. C. Krause, O. Wasynczuk and S. D. Sudhoff, Analysis of Electric Machinery and Drive Systems
(2002), chapter 3, for the frame; Kundur (1994), chapter 6, for pi sections and taps; Mattsson and Soderlind
(1993) for the current that is no state.
"""

from __future__ import annotations

import cmath
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, ClassVar

from psmr.dae.declare.component import Component, Parameter, Terms, nonzero, positive, rows_of, whole
from psmr.dae.declare.derived import derived
from psmr.devices.dynamic_network.bus import STORAGE, rate_of
from psmr.devices.loads.zip import StaticLoad, demand
from psmr.devices.machines.textbook import F_N
from psmr.devices.network import MonitoredLine, Shunt, in_or_out

PHASOR, CHARGED, JUNCTION, DEPENDENT = range(4)
_ENDS = "0 at a phasor bus, 1 at one with capacitance, 2 at a junction, 3 where a junction gives the current"
KINDS = {end: Parameter("1", f"kind of end {end}: {_ENDS}", whole(0, 3)) for end in "ij"}
MOST_SECTIONS = 40


class DynamicTransformer(Component):
    """A transformer with the current through its leakage reactance as a state, and a complex tap at bus i.

    (x / w0) di/dt = v_i / a - v_j - (r + j x) i,   a = tap exp(j shift)
    i_i = i / conj(a) + (g + j b) / tap^2 v_i,   i_j = -i     (into the transformer)

    The magnetising admittance g + j b stays an admittance.
    """

    instantaneous = True
    structural = ("end_i", "end_j")
    states = ("i_re", "i_im")
    inputs = ("v_re_i", "v_im_i", "v_re_j", "v_im_j")
    outputs = ("i_re_i", "i_im_i", "i_re_j", "i_im_j")
    together = (("i_re", "i_im"),)

    f_n = F_N
    r = Parameter("pu", "series resistance", default=0.0)
    x = Parameter("pu", "series reactance", nonzero)
    tap = Parameter("1", "off-nominal turns ratio at bus i", positive, default=1.0)
    shift = Parameter("rad", "phase by which bus i leads", default=0.0)
    g = Parameter("pu", "magnetising conductance", default=0.0)
    b = Parameter("pu", "magnetising susceptance", default=0.0)
    status = Parameter("1", "1 in service, 0 out of service", in_or_out, default=1.0)
    storage = STORAGE
    end_i = KINDS["i"]
    end_j = KINDS["j"]

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivative of the current and the currents into both buses."""
        return _transformer(m, v, p, PHASOR, PHASOR)

    @staticmethod
    def shape(*choice: int) -> Mapping[str, Any]:
        """Return variables and equations for the kinds of both ends."""
        end_i, end_j = choice

        def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
            """Return the equations of a transformer between such ends."""
            return _transformer(m, v, p, end_i, end_j)

        return _variables(end_i, end_j, charged=False) | {"equations": staticmethod(equations)}


class DynamicLine(Component):
    """A line of one or several pi sections with its currents, and the voltages between, as states.

    (x / w0) di_k/dt = v_k - v_k+1 - (r + j x) i_k
    (b / w0) dv_k/dt = i_k-1 - i_k - (g + j b) v_k     (between sections)

    r, x, g and b are those of a section; each end has half of its g and b. The capacitance of an end belongs
    to a bus with capacitance and is an admittance otherwise. Out of service the line has no current.
    """

    instantaneous = True
    structural = ("end_i", "end_j", "sections")
    states = ("i_re", "i_im")
    inputs: ClassVar[tuple[str, ...]] = ("v_re_i", "v_im_i", "v_re_j", "v_im_j")
    outputs = ("i_re_i", "i_im_i", "i_re_j", "i_im_j", "b_i", "b_j")
    together = (("i_re", "i_im"),)

    f_n = F_N
    r = Parameter("pu", "series resistance of a section")
    x = Parameter("pu", "series reactance of a section", nonzero)
    b = Parameter("pu", "charging susceptance of a section", default=0.0)
    g = Parameter("pu", "shunt conductance of a section", default=0.0)
    status = Parameter("1", "1 in service, 0 out of service", in_or_out, default=1.0)
    storage = STORAGE
    end_i = KINDS["i"]
    end_j = KINDS["j"]
    sections = Parameter("1", "number of pi sections", whole(1, MOST_SECTIONS), default=1.0)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives, and currents and susceptances at both buses."""
        return line_equations(v, p, CHARGED, CHARGED, 1)

    @staticmethod
    def shape(*choice: int) -> Mapping[str, Any]:
        """Return variables and equations for the kinds of both ends and a number of sections."""
        end_i, end_j, sections = choice

        def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
            """Return the equations of a line between such ends."""
            return line_equations(v, p, end_i, end_j, sections)

        found = _variables(end_i, end_j, charged=True)
        if sections > 1:
            pairs = [("i_re", "i_im")]
            for k in range(2, sections + 1):
                pairs += [(f"v_re_{k}", f"v_im_{k}"), (f"i_re_{k}", f"i_im_{k}")]
            found |= {"states": sum(pairs, ()), "together": tuple(pairs)}
        return found | {"equations": staticmethod(equations)}


def section_values(r: float, x: float, b: float, g: float, sections: int) -> dict[str, float]:
    """Return r, x, b and g of each of several pi sections in a row that are together a pi of the given ones.

    They are so at nominal frequency, exactly: the equilibrium stays. With z and y of the pi, cosh(theta) =
    1 + z y / 2 and z_c = sqrt(z / (y (1 + z y / 4))); of n sections each has theta / n and the same z_c.
    """
    z, y = complex(r, x), complex(g, b)
    if sections == 1:
        return {"r": r, "x": x, "b": b, "g": g}
    if y == 0:
        return {"r": r / sections, "x": x / sections, "b": b, "g": g}
    theta, z_c = cmath.acosh(1 + z * y / 2) / sections, cmath.sqrt(z / (y * (1 + z * y / 4)))
    z_k, y_k = z_c * cmath.sinh(theta), 2 * cmath.tanh(theta / 2) / z_c
    return {"r": z_k.real, "x": z_k.imag, "b": y_k.imag, "g": y_k.real}


def ports_by_ends(end_i: int, end_j: int, charged: bool) -> dict[str, tuple[str, ...]]:
    """Return the inputs and outputs of a branch by the kinds of its ends.

    A `charged` one adds its capacitance to that of a bus with capacitance.
    """
    ends = (("i", end_i), ("j", end_j))
    # A dependent end reads what a junction adds up under the same name; it must not add to it.
    reads = tuple(f"d_{part}_{e}" for e, kind in ends if kind == DEPENDENT for part in ("re", "im"))
    rates = tuple(f"d_{part}_{e}" for e, kind in ends if kind == JUNCTION for part in ("re", "im"))
    charges = tuple(f"b_{e}" for e, kind in ends if charged and kind == CHARGED)
    return {
        "inputs": (*DynamicTransformer.inputs, *reads),
        "outputs": (*DynamicTransformer.outputs, *rates, *charges),
    }


def _variables(end_i: int, end_j: int, charged: bool) -> dict[str, Any]:
    """Return the variables that a branch of one section has by the kinds of its ends."""
    found: dict[str, Any] = {**ports_by_ends(end_i, end_j, charged)}
    if DEPENDENT in (end_i, end_j):
        found |= {"states": (), "algebraic": ("i_re", "i_im"), "rows": ("i_re", "i_im")}
    return found


def _series(v: Any, p: Any, ends: tuple[int, int], e_i: Any, e_j: Any, factor: Any) -> tuple[Any, Any, Any]:
    """Return (derivatives, residuals, di/dt / w0) of the current i through r + j x from e_i to e_j.

    `factor` is what the current into bus i is of -i, a pair.
    """
    w, w0 = rate_of(p), rate_of(SimpleNamespace(f_n=p.f_n, storage=1))
    on = p.status
    f = (
        w * (on * (e_i[0] - e_j[0]) / p.x - p.r / p.x * v.i_re + v.i_im),
        w * (on * (e_i[1] - e_j[1]) / p.x - p.r / p.x * v.i_im - v.i_re),
    )
    if DEPENDENT not in ends:
        return f, (), (f[0] / w0, f[1] / w0)
    if ends[1] == DEPENDENT:
        d = -v.d_re_j, -v.d_im_j
    else:
        c, s = factor
        square = c**2 + s**2
        d = (v.d_re_i * c + v.d_im_i * s) / square, (v.d_im_i * c - v.d_re_i * s) / square
    # What the voltages ask for is divided by w / x, which the voltage of the junction then has as 1.
    scale = p.x / w
    return (), (scale * (f[0] - w0 * d[0]), scale * (f[1] - w0 * d[1])), d


def _transformer(m: Any, v: Any, p: Any, end_i: int, end_j: int) -> tuple[Terms, Terms, Terms]:
    c, s = m.cos(p.shift) / p.tap, m.sin(p.shift) / p.tap
    e_i = v.v_re_i * c + v.v_im_i * s, v.v_im_i * c - v.v_re_i * s
    derivatives, residuals, d = _series(v, p, (end_i, end_j), e_i, (v.v_re_j, v.v_im_j), (c, s))
    on = p.status
    g, b = on * p.g * (c**2 + s**2), on * p.b * (c**2 + s**2)
    into_i = (
        -on * (v.i_re * c - v.i_im * s) - (g * v.v_re_i - b * v.v_im_i),
        -on * (v.i_im * c + v.i_re * s) - (g * v.v_im_i + b * v.v_re_i),
    )
    rates: tuple[Any, ...] = ()
    if end_i == JUNCTION:
        rates += (-(d[0] * c - d[1] * s), -(d[1] * c + d[0] * s))
    if end_j == JUNCTION:
        rates += d
    return derivatives, residuals, (*into_i, on * v.i_re, on * v.i_im, *rates)


def line_equations(
    v: Any, p: Any, end_i: int, end_j: int, sections: int, poles: Terms = ()
) -> tuple[Terms, Terms, Terms]:
    """Return the equations of a line; `poles` are both parts of the voltage across an open breaker."""
    last = "" if sections == 1 else f"_{sections}"
    on = p.status
    if sections == 1:
        e_i, e_j = (v.v_re_i, v.v_im_i), (v.v_re_j, v.v_im_j)
        if poles:
            e_i = v.v_re_i - poles[0], v.v_im_i - poles[1]
        derivatives, residuals, d = _series(v, p, (end_i, end_j), e_i, e_j, (1, 0))
    else:
        derivatives, residuals, d = _ladder(v, p, sections), (), (0, 0)
    injections: list[Any] = []
    for end, kind, sign, k in (("i", end_i, -1, ""), ("j", end_j, 1, last)):
        v_re, v_im = getattr(v, f"v_re_{end}"), getattr(v, f"v_im_{end}")
        g, b = on * p.g / 2, 0 if kind == CHARGED else on * p.b / 2
        injections += [
            sign * on * getattr(v, f"i_re{k}") - (g * v_re - b * v_im),
            sign * on * getattr(v, f"i_im{k}") - (g * v_im + b * v_re),
        ]
    for kind, sign in ((end_i, -1), (end_j, 1)):
        injections += [sign * d[0], sign * d[1]] if kind == JUNCTION else []
    injections += [on * p.b / 2 for kind in (end_i, end_j) if kind == CHARGED]
    return derivatives, residuals, tuple(injections)


def _ladder(v: Any, p: Any, sections: int) -> Terms:
    """Return the derivatives of the currents and inner voltages of several sections, in their order."""
    w = rate_of(p)
    volts = [(p.status * v.v_re_i, p.status * v.v_im_i)]
    volts += [(getattr(v, f"v_re_{k}"), getattr(v, f"v_im_{k}")) for k in range(2, sections + 1)]
    volts += [(p.status * v.v_re_j, p.status * v.v_im_j)]
    amps = [(v.i_re, v.i_im)]
    amps += [(getattr(v, f"i_re_{k}"), getattr(v, f"i_im_{k}")) for k in range(2, sections + 1)]
    found: list[Any] = []
    for k in range(sections):
        i = amps[k]
        if k:
            u, before = volts[k], amps[k - 1]
            found += [
                w * ((before[0] - i[0] - p.g * u[0]) / p.b + u[1]),
                w * ((before[1] - i[1] - p.g * u[1]) / p.b - u[0]),
            ]
        a, z = volts[k], volts[k + 1]
        found += [
            w * ((a[0] - z[0] - p.r * i[0]) / p.x + i[1]),
            w * ((a[1] - z[1] - p.r * i[1]) / p.x - i[0]),
        ]
    return tuple(found)


@derived
def with_read_currents(branch: type[Component]) -> tuple[str, Mapping[str, Any]]:
    """Return a branch whose currents others read: m_re + j m_im at each end is what flows into it there."""
    inner, read = branch.equations, MonitoredLine.algebraic

    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the branch's equations and the residuals of the currents that are read."""
        derivatives, residuals, injections = inner(m, v, p)
        own = tuple(-i - getattr(v, n) for n, i in zip(read, injections[:4], strict=True))
        return derivatives, (*residuals, *own), injections

    return "read", {
        "algebraic": (*branch.algebraic, *read),
        "rows": (*rows_of(branch), *read),
        "equations": staticmethod(equations),
    }


def _negative(value: float) -> str | None:
    return None if value < 0 else "must be < 0"


class DynamicSeriesCapacitor(Component):
    """A series capacitor, a line with x < 0, with the voltage v across it as a state.

    d(v_re + j v_im)/dt = w0 (-x i - j v),   v_i - v_j = v + r i

    Its current i, from bus i to bus j, is what flows at its ends. Where a junction is at one of them, i is
    the current that the others leave there, and its rate follows from theirs. Half of the shunt admittance g
    + j b is at each end. Source: Padiyar, Analysis of Subsynchronous Resonance in Power Systems (1999),
    chapter 4, series capacitors in a turning frame.
    """

    instantaneous = True
    structural = ("end_i", "end_j")
    states = ("v_re", "v_im")
    algebraic = ("i_re", "i_im")
    inputs = ("v_re_i", "v_im_i", "v_re_j", "v_im_j")
    outputs = ("i_re_i", "i_im_i", "i_re_j", "i_im_j")
    together = (("v_re", "v_im"), ("i_re", "i_im"))

    f_n = F_N
    r = Parameter("pu", "series resistance")
    x = Parameter("pu", "reactance at nominal frequency, below zero", _negative)
    b = Parameter("pu", "total charging susceptance, half at each end", default=0.0)
    g = Parameter("pu", "total shunt conductance, half at each end", default=0.0)
    status = Parameter("1", "1 in service, 0 out of service", in_or_out, default=1.0)
    storage = STORAGE
    end_i = KINDS["i"]
    end_j = KINDS["j"]

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivative of the voltage, what its terminals lack of it, and the currents."""
        return _capacitor(v, p, PHASOR, PHASOR)

    @staticmethod
    def shape(*choice: int) -> Mapping[str, Any]:
        """Return variables and equations for the kinds of both ends."""
        end_i, end_j = choice

        def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
            """Return the equations of a series capacitor between such ends."""
            return _capacitor(v, p, end_i, end_j)

        return {**ports_by_ends(end_i, end_j, charged=True), "equations": staticmethod(equations)}


def _capacitor(v: Any, p: Any, end_i: int, end_j: int) -> tuple[Terms, Terms, Terms]:
    w, on = rate_of(p), p.status
    derivatives = w * (-p.x * on * v.i_re + v.v_im), w * (-p.x * on * v.i_im - v.v_re)
    residuals = (
        on * (v.v_re_i - v.v_re_j - v.v_re - p.r * v.i_re) - (1 - on) * v.i_re,
        on * (v.v_im_i - v.v_im_j - v.v_im - p.r * v.i_im) - (1 - on) * v.i_im,
    )
    currents: list[Any] = []
    for end, kind, sign in (("i", end_i, -1), ("j", end_j, 1)):
        v_re, v_im = getattr(v, f"v_re_{end}"), getattr(v, f"v_im_{end}")
        g, b = on * p.g / 2, 0 if kind == CHARGED else on * p.b / 2
        currents += [sign * on * v.i_re - (g * v_re - b * v_im), sign * on * v.i_im - (g * v_im + b * v_re)]
    if JUNCTION in (end_i, end_j):
        # The other end is the one whose junction gives the rate of the current: i = what flows in there.
        rate = (v.d_re_i, v.d_im_i) if end_i == DEPENDENT else (-v.d_re_j, -v.d_im_j)
        sign = -1 if end_i == JUNCTION else 1
        currents += [sign * d for d in rate]
    currents += [on * p.b / 2 for kind in (end_i, end_j) if kind == CHARGED]
    return derivatives, residuals, tuple(currents)


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

    instantaneous = True
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

    instantaneous = True
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
