"""An averaged bridge behind its filter, whose voltage a controller holds in three phases.

Per unit on the converter's own base `s_n`, voltages on the peak of the nominal phase voltage of its bus; time
in s. Pairs d + j q are in the frame of the network, which turns at nominal frequency w_n: nothing here knows
the angle that the controller works with.

Circuit (v_b is the voltage of the bus; without b_f the bridge's reactor ends at the bus)::

    e --- r_f + j x_f --- i --> --+-- v_c --- r_g + j x_g --- i_o --> v_b
                                  |
                               j b_f

The controller gives e_a, e_b and e_c, averages over the switching. In the frame of the network they are

    e_d + j e_q = 2/3 (e_a + e_b exp(j 2 pi/3) + e_c exp(-j 2 pi/3)) exp(-j w_n t)

so that a voltage that is held turns backwards between two samples. There are three wires: what the three
have in common drives no current. Voltages of the bus that are not balanced are in v_re
and v_im, which then move at twice the frequency; their zero sequence drives no current either.

Source: A. Yazdani and R. Iravani, Voltage-Sourced Converters in Power Systems (2010), chapters 4 and 5
(averaged bridge, space phasors, three wires).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from psmr.dae.declare.component import Component, Parameter, Terms, nonnegative, positive
from psmr.devices.converters.filtered import lcl_filter
from psmr.devices.converters.following import PU
from psmr.devices.dynamic_network.breaker_poles import turned
from psmr.devices.machines.textbook import F_N, S_BASE, S_N

BRIDGE, CAPACITOR, GRID = ("i_d", "i_q"), ("v_cd", "v_cq"), ("i_od", "i_oq")
"""Current of the bridge's reactor, voltage of the capacitor, current behind it."""


def from_phases(m: Any, f_n: Any, t: Any, values: Terms) -> tuple[Any, Any]:
    """Return the phasor (re, im) of the values of three phases, without what these have in common."""
    pairs = list(zip(values, turned(m, f_n, t), strict=True))
    return 2 / 3 * sum(x * c for x, (c, _) in pairs), -2 / 3 * sum(x * s for x, (_, s) in pairs)


class _Bridge(Component):
    """Filter and currents; how the bridge's voltage is given is that of its two forms."""

    states = (*BRIDGE, *CAPACITOR, *GRID)
    outputs = ("i_re", "i_im")
    together = (BRIDGE, CAPACITOR, GRID)
    switched = ("b_f",)

    s_n = S_N
    s_base = S_BASE
    f_n = F_N
    r_f = Parameter(PU, "resistance of the bridge's reactor", nonnegative)
    x_f = Parameter(PU, "reactance of the bridge's reactor", positive)
    b_f = Parameter(PU, "susceptance of the filter's capacitor, 0 for none", nonnegative, default=0.0)
    r_g = Parameter(PU, "resistance between capacitor and bus", nonnegative, default=0.0)
    x_g = Parameter(PU, "reactance between capacitor and bus, > 0 beside b_f", nonnegative, default=0.0)

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Return the objection to a filter that is neither of the two circuits."""
        if (p["b_f"] > 0) != (p["x_g"] > 0) or (p["r_g"] > 0 and not p["x_g"]):
            return (
                f"b_f = {p['b_f']:g}, r_g = {p['r_g']:g}, x_g = {p['x_g']:g}: give a capacitor b_f > 0 with "
                "the reactance x_g > 0 behind it, or neither"
            )
        return None

    @staticmethod
    def shape(*choice: int) -> Mapping[str, Any]:
        """Return the circuit without a capacitor where there is none."""
        return {} if choice[0] else {"states": BRIDGE, "together": (BRIDGE,)}

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium."""
        i_o = terminal.current * p.s_base / p.s_n
        v_c = terminal.voltage + (p.r_g + 1j * p.x_g) * i_o
        i = i_o + 1j * p.b_f * v_c
        e = v_c + (p.r_f + 1j * p.x_f) * i
        pairs = {"e_": e, "i_": i, "v_c": v_c, "i_o": i_o}
        parts = {f"{name}d": value.real for name, value in pairs.items()}
        return parts | {f"{name}q": value.imag for name, value in pairs.items()}


def _filter(v: Any, p: Any, e: tuple[Any, Any]) -> tuple[Terms, Terms, Terms]:
    base = p.s_n / p.s_base
    if hasattr(v, "i_od"):
        derivatives = lcl_filter(v, p, 1, e, (v.v_re, v.v_im), (p.r_g, p.x_g))
        return derivatives, (), (base * v.i_od, base * v.i_oq)
    w_n = 2 * np.pi * p.f_n
    derivatives = (
        w_n * ((e[0] - v.v_re - p.r_f * v.i_d) / p.x_f + v.i_q),
        w_n * ((e[1] - v.v_im - p.r_f * v.i_q) / p.x_f - v.i_d),
    )
    return derivatives, (), (base * v.i_d, base * v.i_q)


class PhasorBridge(_Bridge):
    """The bridge whose voltage is a phasor: `AveragedBridge` where it starts, at rest."""

    inputs = ("v_re", "v_im", "e_d", "e_q")

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives and the current into the bus."""
        return _filter(v, p, (v.e_d, v.e_q))


class AveragedBridge(_Bridge):
    """Averaged bridge behind its filter; its voltage is what a controller gives. Circuit: module text."""

    role = "converter"
    ripples = (*BRIDGE, *CAPACITOR, *GRID)
    inputs = ("v_re", "v_im", "e_a", "e_b", "e_c")

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives and the current into the bus."""
        return _filter(v, p, from_phases(m, p.f_n, v.t, (v.e_a, v.e_b, v.e_c)))
