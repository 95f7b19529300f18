"""What the standard machines with subtransient windings share: parameters, stator, d axis.

All have equal subtransient reactances of the two axes, and the saturation of the PSS/E models.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from psmr.dae.declare.component import Component, Parameter, flag, nonnegative, positive
from psmr.dae.declare.mathematics import NumericMath
from psmr.devices.blocks import machine_frame, machine_to_network, saturation_conflict
from psmr.devices.machines.textbook import F_N, S_BASE, S_N, swing_by

PU = "pu on machine base"
KNEES = (1.0, 1.2)
"""Flux at which the two points of the saturation curve are given."""

Saturation = Callable[[Any, Any, Any], Any]
"""The saturation S for (mathematical functions, flux, parameters)."""


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
    mechanical_power = Parameter("1", "1 where t_m is a power, 0 where it is a torque", flag, default=0.0)
    speed_voltage = Parameter(
        "1", "1 where the stator voltages carry the factor omega, 0 where they do not", flag, default=0.0
    )
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
    """Return the objection to reactances that rise, or to a transient one that is not above the leakage.

    Two neighbours may be equal: then one winding has no effect, or no leakage of its own. A subtransient
    reactance below the leakage is no winding's, but PSS/E's planning data have it, and the equations hold.
    """
    for large, small in pairwise(name for name in names if name != "x_l"):
        if p[large] < p[small]:
            return f"{large} = {p[large]:g} and {small} = {p[small]:g}: {large} must be at least {small}"
    for transient in ("x_d1", "x_q1"):
        if transient in names and "x_l" in names and p[transient] <= p["x_l"]:
            given = f"{transient} = {p[transient]:g} and x_l = {p['x_l']:g}"
            return f"{given}: {transient} must be above x_l"
    return None


def power_conflict(p: Mapping[str, float]) -> str | None:
    """Return the objection to a saturation that grows from nothing, or shrinks, as a power of the flux."""
    if p["s_10"] == 0 and p["s_12"] > 0:
        return (
            f"s_10 = 0 and s_12 = {p['s_12']:g}: no power of the flux goes through both; s_10 must be > 0,"
            " or s_12 = 0 for no saturation"
        )
    if p["s_12"] < p["s_10"]:
        return f"s_10 = {p['s_10']:g} and s_12 = {p['s_12']:g}: s_12 must be at least s_10"
    return None


def across(p: Any) -> Any:
    """Return how much of the saturation the q axis has, against the d axis: the ratio of the air gaps."""
    return (p.x_q - p.x_l) / (p.x_d - p.x_l)


def behind_subtransient(terminal: Any, p: Any, saturation_of: Saturation) -> tuple[dict[str, Any], Any, Any]:
    """Return what a machine at rest has whose total subtransient flux saturates both axes.

    That is angle, speed, currents and torque by name; the saturation; and e_d2 + j e_q2. The flux behind x_2
    and its saturation follow from the terminals; in the steady state saturation divides x_q - x_2 by
    1 + (x_q - x_l)/(x_d - x_l) S.
    """
    i = terminal.current * p.s_base / p.s_n
    inner = terminal.voltage + (p.r_a + 1j * p.x_2) * i
    saturation = saturation_of(NumericMath, np.abs(inner), p)
    delta = np.angle(inner + 1j * (p.x_q - p.x_2) / (1 + across(p) * saturation) * i)
    turn = np.exp(-1j * (delta - np.pi / 2))
    e2, i_dq = inner * turn, i * turn
    i_d, i_q = i_dq.real, i_dq.imag
    rest = {"delta": delta, "omega": 1.0, "i_d": i_d, "i_q": i_q, "t_m": e2.real * i_d + e2.imag * i_q}
    return rest, saturation, e2


def turning(v: Any, p: Any, t_e: Any) -> tuple[Any, Any]:
    """Return the derivatives of angle and speed; t_m is a torque, or a power that drives at the speed."""
    return swing_by(v.t_m / (1 + p.mechanical_power * (v.omega - 1)), v, p, t_e)


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

    The row of i_d is the q-axis equation: there the reactance stands on the diagonal. With speed_voltage = 1
    the voltages behind x_2 are fluxes times the speed; the torque is flux times current either way.
    """
    v_d, v_q = machine_frame(m, v.v_re, v.v_im, v.delta)
    speed = 1 + p.speed_voltage * (v.omega - 1)
    residuals = (
        speed * e_q2 - v_q - p.r_a * v.i_q - p.x_2 * v.i_d,
        speed * e_d2 - v_d - p.r_a * v.i_d + p.x_2 * v.i_q,
    )
    i_re, i_im = machine_to_network(m, v.i_d, v.i_q, v.delta)
    base = p.s_n / p.s_base
    return residuals, (base * i_re, base * i_im), e_d2 * v.i_d + e_q2 * v.i_q
