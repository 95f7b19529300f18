"""Series capacitors whose voltage is a state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from psmr.dae.declare.component import Component, Parameter, Terms
from psmr.devices.dynamic_network.branch import (
    CHARGED,
    DEPENDENT,
    JUNCTION,
    KINDS,
    PHASOR,
    ports_by_ends,
)
from psmr.devices.dynamic_network.bus import STORAGE, rate_of
from psmr.devices.machines.textbook import F_N
from psmr.devices.network import in_or_out


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
