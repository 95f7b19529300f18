"""Buses at which elements with their own dynamics meet.

In the frame that turns at nominal frequency a capacitance keeps the equation (b / w0) dv/dt = i - j b v, an
inductance (x / w0) di/dt = v - j x i; at rest both are the phasor equations. Voltages and currents are per
unit on the system base, b and x at nominal frequency. Source: P. C. Krause, O. Wasynczuk and S. D. Sudhoff,
Analysis of Electric Machinery and Drive Systems (2002), chapter 3.

Buses of which each phase may have a fault of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from psmr.dae.declare.component import Parameter, Terms, flag, nonnegative, positive
from psmr.devices.dynamic_network.poles import (
    SIGN,
    SIGNS,
    opening_at_zero,
    phase_values,
    turned,
)
from psmr.devices.machines.textbook import F_N
from psmr.devices.network import Bus

STORAGE = Parameter(
    "1", "part of its stored energy that an element has; towards 0 it becomes a phasor", positive, default=1.0
)


PAIRS = ("g_ab", "g_bc", "g_ca")
"""Conductances of a dynamic bus between phases."""


def rate_of(p: Any) -> Any:
    """Return w0 / storage in 1/s, the factor of the derivatives of an element's own states."""
    return 2 * np.pi * p.f_n / p.storage


class DynamicBus(Bus):
    """A bus with the capacitance of what is connected to it: charging of lines, capacitors.

    (b / w0) d(v_re + j v_im)/dt = i_re + j i_im - j b (v_re + j v_im)

    i is the current of the capacitance, what is left of the currents into the bus and of that of a fault, b
    the sum of the susceptances of what is in service. A susceptance that closes is taken to have the voltage
    of the bus already.

    A conductance between two phases turns with twice the frequency here: with the phase voltages v_k =
    Re((v_re + j v_im) exp(j (w0 t - 2 pi k / 3))) and the current i_bc = g_bc (v_b - v_c).
    """

    states = ("v_re", "v_im")
    algebraic = ("i_re", "i_im", "b")
    rows = ("i_re", "i_im", "b")
    together = (("v_re", "v_im"), ("i_re", "i_im"))

    ramps: ClassVar[tuple[str, ...]] = PAIRS

    f_n = F_N
    g_ab = Parameter("pu", "conductance between the phases a and b", nonnegative, default=0.0)
    g_bc = Parameter("pu", "conductance between the phases b and c", nonnegative, default=0.0)
    g_ca = Parameter("pu", "conductance between the phases c and a", nonnegative, default=0.0)
    storage = STORAGE

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of the voltage, and what the sums of currents and susceptances lack."""
        w = rate_of(p)
        (), (fault_im, fault_re), () = Bus.equations(m, v, p)
        # 2 g cos^2, 2 g sin^2, 2 g sin cos of w0 t + pi / 6 (ab), - pi / 2 (bc), + 5 pi / 6 (ca), added up.
        g = p.g_ab + p.g_bc + p.g_ca
        even, odd = (p.g_ab + p.g_ca) / 2 - p.g_bc, 3**0.5 / 2 * (p.g_ab - p.g_ca)
        c, s = m.cos(4 * np.pi * p.f_n * v.t), m.sin(4 * np.pi * p.f_n * v.t)
        along, across = even * c - odd * s, even * s + odd * c
        fault_re = fault_re - (g + along) * v.v_re + across * v.v_im
        fault_im = fault_im + across * v.v_re - (g - along) * v.v_im
        derivatives = w * (v.i_re / v.b + v.v_im), w * (v.i_im / v.b - v.v_re)
        return derivatives, (fault_re - v.i_re, fault_im - v.i_im, -v.b), ()


class JunctionBus(Bus):
    """A bus without capacitance where only elements meet whose currents are states.

    0 = sum of currents into the bus

    One of the currents, that of a branch, is then no state of its own: it is what the others leave, and its
    rate follows from theirs. That branch reads d_re + j d_im, the sum of di/dt / w0 of the others into the
    bus, and its voltage equation determines the voltage of the bus: index 1, without a capacitance or a
    relaxation. Source: S. E. Mattsson and G. Soderlind, Index reduction in differential-algebraic equations
    using dummy derivatives, SIAM Journal on Scientific Computing 14, 1993.
    """

    algebraic = ("v_re", "v_im", "d_re", "d_im")
    rows = ("i_im", "i_re", "d_re", "d_im")
    together = (("v_re", "v_im"), ("d_re", "d_im"))

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the bus's own part of both sums; everything else is added by the devices at the bus."""
        (), (i_im, i_re), () = Bus.equations(m, v, p)
        return (), (i_im, i_re, -v.d_re, -v.d_im), ()


TO_GROUND = ("g_a", "g_b", "g_c")
"""Conductances of a three-phase bus between a phase and the ground."""

PLACES = {name: tuple("abcg".index(letter) for letter in f"{name[2:]}g"[:2]) for name in (*PAIRS, *TO_GROUND)}
"""The two ends of each conductance: phases by their numbers, 3 for the ground."""


def _currents_of_fault(m: Any, v: Any, p: Any) -> list[Any]:
    """Return the currents of a bus's fault in the three phases."""
    u = phase_values(m, p.f_n, v.t, v.v_re, v.v_im, v.v_0)
    between = dict(zip(((0, 1), (1, 2), (0, 2)), (p.g_ab, p.g_bc, p.g_ca), strict=True))
    found = [g * volts for g, volts in zip((p.g_a, p.g_b, p.g_c), u, strict=True)]
    for (k, j), g in between.items():
        found[k], found[j] = found[k] + g * (u[k] - u[j]), found[j] + g * (u[j] - u[k])
    return found


def _burning(p: Any) -> list[Any]:
    """Return whether each phase of a bus is at fault, to be cleared at the zero of its current."""
    on = p.clearing > 0
    return [
        on & (p.g_a + p.g_ab + p.g_ca > 0),
        on & (p.g_b + p.g_ab + p.g_bc > 0),
        on & (p.g_c + p.g_bc + p.g_ca > 0),
    ]


def _extinguished(p: Any, phases: list[int]) -> Mapping[str, float]:
    """Return the conductances of a fault without the phases whose currents are at zero."""
    g = np.zeros((4, 4))
    for name, (k, j) in PLACES.items():
        g[k, j] = g[j, k] = getattr(p, name)
    for k in phases:
        # What is connected to a phase that carries no current any more is in series through it.
        if total := g[k].sum():
            g += np.outer(g[k], g[k]) / total
        g[k], g[:, k] = 0.0, 0.0
        np.fill_diagonal(g, 0.0)
    found = {name: float(g[place]) for name, place in PLACES.items()}
    if not g.any():
        found |= dict.fromkeys(("fault", "r_fault", "x_fault", "clearing", *SIGNS), 0.0)
    return found


class ThreePhaseBus(DynamicBus):
    """A bus with capacitance and a zero sequence: each phase may have a fault of its own to ground.

    i_k = g_k v_k + (the same conductance in all phases) flows from phase k to ground, beside what flows
    between phases. Source: Krause and others (2002), chapter 3, as for `zero_crossing`.
    """

    inputs = ("v_0",)
    outputs = ("i_0",)
    ramps = (*PAIRS, *TO_GROUND)

    g_a = Parameter("pu", "conductance between phase a and the ground", nonnegative, default=0.0)
    g_b = Parameter("pu", "conductance between phase b and the ground", nonnegative, default=0.0)
    g_c = Parameter("pu", "conductance between phase c and the ground", nonnegative, default=0.0)
    clearing = Parameter("1", "whether a fault ends in each phase at the zero of its current", flag, 0.0)
    sign_a = SIGN["sign_a"]
    sign_b = SIGN["sign_b"]
    sign_c = SIGN["sign_c"]

    actions = opening_at_zero(_currents_of_fault, _burning, _extinguished)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the equations of a dynamic bus with the currents of faults to ground, and their mean."""
        derivatives, (i_re, i_im, b), () = DynamicBus.equations(m, v, p)
        i_0 = -p.g_fault * v.v_0
        for name, (c, s) in zip(TO_GROUND, turned(m, p.f_n, v.t), strict=True):
            i = getattr(p, name) * (v.v_re * c - v.v_im * s + v.v_0)
            i_re, i_im, i_0 = i_re - 2 / 3 * i * c, i_im + 2 / 3 * i * s, i_0 - i / 3
        return derivatives, (i_re, i_im, b), (i_0,)
