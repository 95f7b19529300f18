"""The zero sequence of a network with its own dynamics: what is equal in all three phases.

It does not turn: in the frame at nominal frequency the zero sequence stays as it is, v_0 = (v_a + v_b + v_c)
/ 3 and likewise for currents, so that an inductance keeps (x / w0) di/dt = v and a capacitance (b / w0) dv/dt
= i. Per unit of peak values. Source: P. C. Krause, O. Wasynczuk and S. D. Sudhoff, Analysis of Electric
Machinery and Drive Systems (2002), chapter 3.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from psmr.dae.declare.component import (
    Component,
    Parameter,
    Terms,
    nonnegative,
    nonzero,
    positive,
    whole,
)
from psmr.devices.dynamic_network.branch import CHARGED, DEPENDENT, JUNCTION
from psmr.devices.machines.textbook import F_N
from psmr.devices.network import in_or_out

GROUND = 4
"""The kind of an end that is the ground."""

_ENDS = (
    "0 at a bus with conductance alone, 1 with capacitance, 2 at a junction, 3 where that gives the current"
)


class ZeroSequenceBus(Component):
    """A bus in the zero sequence, by what there is to ground: a capacitance, a conductance alone or nothing.

    (b / w0) dv/dt = i, the sum of currents into the bus, with b the sum of the susceptances in service;
    0 = sum of currents without a capacitance. Where currents are all states, one of them follows from the
    others as at a `JunctionBus`.
    """

    instantaneous = True
    structural = ("kind",)
    states = ("v",)
    algebraic = ("i", "b")
    rows = ("i", "b")

    f_n = F_N
    kind = Parameter("1", "0 with a conductance alone, 1 with capacitance, 2 a junction", whole(0, 2), 1.0)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivative of the voltage, and what the sums of currents and susceptances lack."""
        return (2 * np.pi * p.f_n * v.i / v.b,), (-v.i, -v.b), ()

    @staticmethod
    def shape(*choice: int) -> Mapping[str, Any]:
        """Return variables and equations for a kind of bus."""
        if choice[0] == CHARGED:
            return {}
        own = ("v", "d") if choice[0] == JUNCTION else ("v",)
        rows = ("i", "d")[: len(own)]

        def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
            """Return the bus's own part of the sums of currents and of their rates."""
            return (), (0.0 * v.v, -v.d) if choice[0] == JUNCTION else (0.0 * v.v,), ()

        return {"states": (), "algebraic": own, "rows": rows, "equations": staticmethod(equations)}


class ZeroSequenceBranch(Component):
    """An impedance in the zero sequence, between two buses or to ground, and its part of the charging.

    (x / w0) di/dt = (v_i - u) / tap - v_j - r i,   i_i = i / tap,   i_j = -i     (into the branch)

    u is the mean of the voltages across the poles of a breaker, zero while all are closed.
    """

    instantaneous = True
    structural = ("end_i", "end_j")
    states = ("i",)
    inputs = ("v_i", "v_j", "u_a", "u_b", "u_c")
    outputs = ("i_i", "i_j", "b_i", "b_j")
    optional = {"u_a": 0.0, "u_b": 0.0, "u_c": 0.0}

    f_n = F_N
    r = Parameter("pu", "series resistance", default=0.0)
    x = Parameter("pu", "series reactance", nonzero)
    tap = Parameter("1", "off-nominal turns ratio at bus i", positive, default=1.0)
    g = Parameter("pu", "conductance to ground, half at each end", default=0.0)
    b = Parameter("pu", "charging susceptance, half at each end", default=0.0)
    status = Parameter("1", "1 in service, 0 out of service", in_or_out, default=1.0)
    end_i = Parameter("1", f"kind of end i: {_ENDS}", whole(0, 3), default=1.0)
    end_j = Parameter("1", f"kind of end j: {_ENDS}, 4 for the ground", whole(0, 4), default=1.0)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivative of the current, and currents and susceptances at both buses."""
        return _branch(v, p, CHARGED, CHARGED)

    @staticmethod
    def shape(*choice: int) -> Mapping[str, Any]:
        """Return variables and equations for the kinds of both ends."""
        end_i, end_j = choice

        def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
            """Return the equations of a branch between such ends."""
            return _branch(v, p, end_i, end_j)

        ends = [(e, kind) for e, kind in (("i", end_i), ("j", end_j)) if kind != GROUND]
        found: dict[str, Any] = {
            "inputs": (
                *(f"v_{e}" for e, _ in ends),
                *(f"d_{e}" for e, kind in ends if kind == DEPENDENT),
                *ZeroSequenceBranch.optional,
            ),
            "outputs": (
                *(f"i_{e}" for e, _ in ends),
                *(f"d_{e}" for e, kind in ends if kind == JUNCTION),
                *(f"b_{e}" for e, kind in ends if kind == CHARGED),
            ),
            "equations": staticmethod(equations),
        }
        if DEPENDENT in choice:
            found |= {"states": (), "algebraic": ("i",), "rows": ("i",)}
        return found


class ZeroSequenceAdmittance(Component):
    """A conductance and a capacitance to ground in the zero sequence: a grounded capacitor or load."""

    structural = ("kind",)
    inputs = ("v",)
    outputs = ("i", "b")

    g = Parameter("pu", "conductance", default=0.0)
    b = Parameter("pu", "susceptance of a capacitance", default=0.0)
    status = Parameter("1", "1 in service, 0 out of service", in_or_out, default=1.0)
    kind = ZeroSequenceBus.kind

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the current of the conductance into the bus, and the susceptance."""
        return (), (), (-p.status * p.g * v.v, p.status * p.b)

    @staticmethod
    def shape(*choice: int) -> Mapping[str, Any]:
        """Return the outputs for a kind of bus."""
        if choice[0] == CHARGED:
            return {}

        def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
            """Return the current of the conductance into the bus."""
            return (), (), (-p.status * p.g * v.v,)

        return {"outputs": ("i",), "equations": staticmethod(equations)}


class ZeroSequenceWave(Component):
    """A line whose zero sequence is waves that travel without distortion, its resistance lumped.

    i_k = v_k / Z - ((1 + H) / 2 b_m(t - tau) + (1 - H) / 2 b_k(t - tau))     (into the line at end k)
    b_k = v_k / Z + H i_k,   Z = z_c + r / 4,   H = (z_c - r / 4) / (z_c + r / 4)

    m is the other end, as in a `TravellingWaveLine`; the zero sequence does not turn.
    """

    instantaneous = True
    algebraic = ("current_i", "current_j", "b_i", "b_j")
    inputs = ("v_i", "v_j", "b_i_late", "b_j_late")
    outputs = ("i_i", "i_j")
    delays = {"b_i_late": "tau", "b_j_late": "tau"}

    z_c = Parameter("pu", "characteristic impedance", positive)
    tau = Parameter("s", "travel time", positive)
    r = Parameter("pu", "series resistance, lumped", nonnegative, default=0.0)
    g = Parameter("pu", "shunt conductance", default=0.0)
    status = Parameter("1", "1 in service, 0 out of service", in_or_out, default=1.0)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the residuals of currents and waves, and the currents into both buses."""
        z, h = p.z_c + p.r / 4, (p.z_c - p.r / 4) / (p.z_c + p.r / 4)
        currents: list[Any] = []
        waves: list[Any] = []
        injections: list[Any] = []
        for v_k, i_k, b_k, near, far in (
            (v.v_i, v.current_i, v.b_i, v.b_i_late, v.b_j_late),
            (v.v_j, v.current_j, v.b_j, v.b_j_late, v.b_i_late),
        ):
            arrives = (1 + h) / 2 * far + (1 - h) / 2 * near
            currents.append(i_k - p.status * (v_k / z - arrives))
            waves.append(b_k - p.status * (v_k / z + h * i_k))
            injections.append(-i_k - p.status * p.g / 2 * v_k)
        return (), (*currents, *waves), tuple(injections)


def _branch(v: Any, p: Any, end_i: int, end_j: int) -> tuple[Terms, Terms, Terms]:
    w0, on = 2 * np.pi * p.f_n, p.status
    v_j = 0 if end_j == GROUND else v.v_j
    across = on * ((v.v_i - (v.u_a + v.u_b + v.u_c) / 3) / p.tap - v_j)
    rate = w0 / p.x * (across - p.r * v.i)
    derivatives: Terms = (rate,)
    residuals: Terms = ()
    d = rate / w0
    if DEPENDENT in (end_i, end_j):
        d = p.tap * v.d_i if end_i == DEPENDENT else -v.d_j
        derivatives, residuals = (), (p.x / w0 * (rate - w0 * d),)
    flowing: list[Any] = []
    rates: list[Any] = []
    charging: list[Any] = []
    for e, kind, factor in (("i", end_i, -1 / p.tap), ("j", end_j, 1)):
        if kind == GROUND:
            continue
        flowing.append(factor * on * v.i - on * p.g / 2 * getattr(v, f"v_{e}"))
        rates += [factor * d] if kind == JUNCTION else []
        charging += [on * p.b / 2] if kind == CHARGED else []
    return derivatives, residuals, (*flowing, *rates, *charging)
