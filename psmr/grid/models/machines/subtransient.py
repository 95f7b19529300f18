"""What the standard machines with subtransient windings share: parameters, stator, d axis.

Both have equal subtransient reactances of the two axes, and the saturation of the PSS/E models.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from psmr.dae.declare.component import Component, Parameter, nonnegative, positive
from psmr.grid.models.blocks import machine_frame, machine_to_network, saturation_conflict
from psmr.grid.models.machines.textbook import F_N, S_BASE, S_N

PU = "pu on machine base"
KNEES = (1.0, 1.2)
"""Flux at which the two points of the saturation curve are given."""


class SubtransientMachine(Component):
    """Parameters and wiring of a machine with subtransient windings."""

    algebraic = ("i_d", "i_q", "i_f")
    inputs = ("v_re", "v_im", "v_f", "t_m")
    outputs = ("i_re", "i_im")
    together = (("i_d", "i_q"),)
    units = {"delta": "rad"}

    s_n = S_N
    s_base = S_BASE
    f_n = F_N
    h = Parameter("s", "inertia constant on the machine base", positive)
    d = Parameter(PU, "damping torque per unit of speed", nonnegative, default=0.0)
    r_a = Parameter(PU, "stator resistance", nonnegative, default=0.0)
    x_d = Parameter(PU, "synchronous reactance of the d axis", positive)
    x_q = Parameter(PU, "synchronous reactance of the q axis", positive)
    x_d1 = Parameter(PU, "transient reactance x'd", positive)
    x_2 = Parameter(PU, "subtransient reactance x''d = x''q", positive)
    x_l = Parameter(PU, "leakage reactance", nonnegative)
    t_d01 = Parameter("s", "open-circuit transient time constant T'd0", positive)
    t_d02 = Parameter("s", "open-circuit subtransient time constant T''d0", positive)
    t_q02 = Parameter("s", "open-circuit subtransient time constant T''q0", positive)
    s_10 = Parameter("1", "saturation at 1.0 pu flux", nonnegative, default=0.0)
    s_12 = Parameter("1", "saturation at 1.2 pu flux", nonnegative, default=0.0)

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to reactances in a wrong order and to an impossible saturation curve."""
        return ordered(p, "x_d", "x_d1", "x_2", "x_l") or saturation_conflict(
            p, KNEES[0], "s_10", KNEES[1], "s_12"
        )


def ordered(p: Mapping[str, float], *names: str) -> str | None:
    """Return the objection to reactances that do not fall: every winding's leakage must be positive."""
    for large, small in pairwise(names):
        if p[large] < p[small] or (p[large] == p[small] and small in ("x_2", "x_l")):
            return f"{large} = {p[large]:g} and {small} = {p[small]:g}: {large} must be above {small}"
    return None


def direct_axis(v: Any, p: Any) -> tuple[Any, Any, Any]:
    """Return (e''_q, field current without saturation, derivative of psi_1d); Sauer and Pai, chapter 3."""
    inside = (p.x_2 - p.x_l) / (p.x_d1 - p.x_l)
    e_q2 = inside * v.e_q + (1 - inside) * v.psi_1d
    coupling = (p.x_d1 - p.x_2) / (p.x_d1 - p.x_l) ** 2
    linked = v.psi_1d + (p.x_d1 - p.x_l) * v.i_d - v.e_q
    i_f = v.e_q + (p.x_d - p.x_d1) * (v.i_d - coupling * linked)
    return e_q2, i_f, -linked / p.t_d02


def stator(m: Any, v: Any, p: Any, e_d2: Any, e_q2: Any) -> tuple[tuple[Any, Any], tuple[Any, Any], Any]:
    """Return (residuals of the stator, current into the bus, electromagnetic torque).

    The row of i_d is the q-axis equation: there the reactance stands on the diagonal.
    """
    v_d, v_q = machine_frame(m, v.v_re, v.v_im, v.delta)
    residuals = (e_q2 - v_q - p.r_a * v.i_q - p.x_2 * v.i_d, e_d2 - v_d - p.r_a * v.i_d + p.x_2 * v.i_q)
    i_re, i_im = machine_to_network(m, v.i_d, v.i_q, v.delta)
    base = p.s_n / p.s_base
    return residuals, (base * i_re, base * i_im), e_d2 * v.i_d + e_q2 * v.i_q
