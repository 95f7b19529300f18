"""Buses of which each phase may have a fault of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from psmr.dae.declare.component import Parameter, Terms, flag, nonnegative
from psmr.devices.dynamic_network.bus import PAIRS, DynamicBus
from psmr.devices.dynamic_network.zero_crossing import (
    SIGN,
    SIGNS,
    opening_at_zero,
    phase_values,
    turned,
)

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
