"""Synchronous machines as PSS/E has them: GENROU, GENROE, GENSAL, GENSAE.

All have equal subtransient reactances of the two axes, and the saturation of the PSS/E models.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from psmr.dae.declare.component import Component, NumericMath, Parameter, Terms, flag, nonnegative, positive
from psmr.devices.blocks import (
    machine_frame,
    machine_to_network,
    power_saturation,
    quadratic_saturation,
    saturation_conflict,
)
from psmr.devices.machines.textbook import F_N, S_BASE, S_N, swing_by

PU = "pu on machine base"
KNEES = (1.0, 1.2)
"""Flux at which the two points of the saturation curve are given."""

Saturation = Callable[[Any, Any, Any], Any]
"""The saturation S for (mathematical functions, flux, parameters)."""


class SubtransientMachine(Component):
    """Parameters and wiring of a machine with subtransient windings."""

    algebraic: ClassVar[tuple[str, ...]] = ("i_d", "i_q", "i_f")
    inputs = ("v_re", "v_im", "v_f", "t_m")
    outputs = ("i_re", "i_im")
    together: ClassVar[tuple[tuple[str, ...], ...]] = (("i_d", "i_q"),)
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
        """Object to windings that no machine at rest could have, and to an impossible saturation curve."""
        return unsound(p, D_AXIS) or saturation_conflict(p, KNEES[0], "s_10", KNEES[1], "s_12")

    @staticmethod
    def unlikely(p: Mapping[str, float]) -> Iterator[str]:
        """Yield the reactances that are in another order than those of windings."""
        return rising(p, D_AXIS, Q_DAMPER)


D_AXIS = ("x_d", "x_d1", "x_2", "t_d01", "t_d02")
Q_AXIS = ("x_q", "x_q1", "x_2", "t_q01", "t_q02")
Q_DAMPER = ("x_q", "x_2")
"""Synchronous, transient and subtransient reactance of an axis, and its time constants; of one damper."""


def unsound(p: Mapping[str, float], *axes: tuple[str, ...]) -> str | None:
    """Return the objection to windings without leakage of their own, whose equations divide by it.

    Any other order has equations: `growing` says which of them have no rest.
    """
    pairs = [(axis[1], "x_l") for axis in axes]
    for name, other in (*pairs, ("x_d", "x_l")):
        if p[name] == p[other]:
            return f"{name} = {other} = {p[name]:g}: must differ, or no flux leaks past the windings"
    return None


def growing(p: Mapping[str, float], axis: tuple[str, ...]) -> str | None:
    """Return behind which reactances the currents of the two windings of an axis grow by themselves.

    With g = (x'' - x_l)/(x' - x_l), k = (x - x')(x' - x'')/(x' - x_l)^2 and an external reactance x_e, the
    windings have the poles of

        s^2 + b s + (x + x_e) y/(t_1 t_2),
        b = (1 + k + (x - x') g^2 y)/t_1 + (1 - (x'' - x') y)/t_2,    y = 1/(x'' + x_e).

    The product of the poles is above 0, so that they decay where b is; b is linear in y, which goes from 0
    with the stator open to 1/x'' with the stator shorted.
    """
    x, x_1, x_2, t_1, t_2 = (p[name] for name in axis)
    inside, outside = (x_2 - p["x_l"]) / (x_1 - p["x_l"]), x - x_1
    opened = (1 + outside * (x_1 - x_2) / (x_1 - p["x_l"]) ** 2) / t_1 + 1 / t_2
    shorted = opened + outside * inside**2 / x_2 / t_1 - (x_2 - x_1) / x_2 / t_2
    if opened > 0 and shorted > 0:
        return None
    turn = x_2 * ((opened - shorted) / opened - 1) if opened * shorted < 0 else 0.0
    where = f"{'below' if opened > 0 else 'above'} {turn:.3g} pu" if turn > 0 else "of any size"
    given = ", ".join(f"{name} = {p[name]:g}" for name in axis)
    return f"its currents grow by themselves behind a reactance {where} ({given}, x_l = {p['x_l']:g})"


def rising(p: Mapping[str, float], *axes: tuple[str, ...]) -> Iterator[str]:
    """Yield the reactances of each axis that rise from one winding to the next, or are below the leakage.

    Two neighbours may be equal: then one winding has no effect, or no leakage of its own. Planning data have
    other orders, which PSS/E takes with a warning: no windings have them, and the equations hold.
    """
    for axis in axes:
        names = [name for name in axis if name.startswith("x_")]
        for large, small in pairwise(names):
            if p[small] > p[large]:
                given = f"{small} = {p[small]:g}, {large} = {p[large]:g}"
                yield f"{_said(small, axis)} is above {_said(large, axis)}: {given}; are columns swapped?"
    for name in dict.fromkeys(name for axis in axes for name in axis[1:3]):
        if name.startswith("x_") and p[name] < p["x_l"]:
            given = f"{name} = {p[name]:g}, x_l = {p['x_l']:g}"
            yield f"{_said(name, axes[0])} is below the leakage reactance: {given}; are columns swapped?"
    for axis in axes:
        if len(axis) == len(D_AXIS) and (words := growing(p, axis)):
            yield f"the {axis[0][-1]} axis is unstable: {words}; correct the reactances"


def _said(name: str, axis: tuple[str, ...]) -> str:
    """Return a reactance as books write it, x'd for x_d1."""
    letter = axis[0][-1]
    return {f"x_{letter}1": f"x'{letter}", f"x_{letter}": f"x{letter}"}.get(name, "x''")


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


class GENROU(SubtransientMachine):
    """Round-rotor machine: field, one damper in d, two in q, quadratic saturation of the total flux.

    ::

        2 h omega' = t - (e_d2 i_d + e_q2 i_q) - d (omega - 1),   delta' = 2 pi f_n (omega - 1)
        t_d01 e_q'    = v_f - i_f
        i_f           = e_q + (x_d - x_d1) (i_d - c_d (psi_1d + (x_d1 - x_l) i_d - e_q)) + S e_q2
        t_d02 psi_1d' = -psi_1d + e_q - (x_d1 - x_l) i_d
        t_q01 e_d'    = -e_d + (x_q - x_q1) (i_q - c_q (psi_2q + (x_q1 - x_l) i_q + e_d))
                        - (x_q - x_l)/(x_d - x_l) S e_d2
        t_q02 psi_2q' = -psi_2q - e_d - (x_q1 - x_l) i_q
        e_q2 = g_d e_q + (1 - g_d) psi_1d,   g_d = (x_2 - x_l)/(x_d1 - x_l),   c_d = (1 - g_d)/(x_d1 - x_l)
        e_d2 = g_q e_d - (1 - g_q) psi_2q,   g_q and c_q likewise with x_q1
        S = b (psi - a)^2 / psi,   psi = sqrt(e_d2^2 + e_q2^2),   S(1.0) = s_10,   S(1.2) = s_12
        0 = c e_q2 - v_q - r_a i_q - x_2 i_d,   0 = c e_d2 - v_d - r_a i_d + x_2 i_q,   c = 1

    i_f is the field current in the unit in which 1 gives rated voltage on the open, unsaturated stator. The
    stator voltages do not carry the factor omega (Kundur 1994, section 5.1, explains what that neglects),
    unless the case says stator = "speed" (speed_voltage = 1): then c = omega, as in PowerWorld.
    The case says what drives: t = t_m, a torque, or t = t_m / omega, where t_m is a power (mechanical_power =
    1, the convention of PSS/E). Source: Sauer and Pai (1998), chapter 3, for the windings; PSS/E, Model
    Library, and the WECC list of approved models, GENROU, for parameters and saturation.
    """

    role = "machine"
    records = ("GENROU t_d01 t_d02 t_q01 t_q02 h d x_d x_q x_d1 x_q1 x_2 x_l s_10 s_12",)
    states = ("delta", "omega", "e_q", "psi_1d", "e_d", "psi_2q")

    x_q1 = Parameter(PU, "transient reactance x'q", positive)
    t_q01 = Parameter("s", "open-circuit transient time constant T'q0", positive)

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to windings that no machine at rest could have, and to an impossible saturation curve."""
        return unsound(p, D_AXIS, Q_AXIS) or saturation_conflict(p, KNEES[0], "s_10", KNEES[1], "s_12")

    @staticmethod
    def unlikely(p: Mapping[str, float]) -> Iterator[str]:
        """Yield the reactances that are in another order than those of windings."""
        return rising(p, D_AXIS, Q_AXIS)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return swing and flux equations, stator and field current, and the current into the bus."""
        return round_rotor(m, v, p, flux_saturation)

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium: the flux behind x_2 and its saturation follow from the terminals."""
        return round_rotor_at_rest(terminal, p, flux_saturation)


def flux_saturation(m: Any, flux: Any, p: Any) -> Any:
    """Return the saturation at a total subtransient flux, quadratic above a knee."""
    return quadratic_saturation(m, flux, KNEES[0], p.s_10, KNEES[1], p.s_12) / flux


def round_rotor(m: Any, v: Any, p: Any, saturation_of: Saturation) -> tuple[Terms, Terms, Terms]:
    """Return the equations of a round-rotor machine whose saturation depends on the subtransient flux."""
    e_q2, i_f, d_1d = direct_axis(v, p)
    inside = (p.x_2 - p.x_l) / (p.x_q1 - p.x_l)
    e_d2 = inside * v.e_d - (1 - inside) * v.psi_2q
    coupling = (p.x_q1 - p.x_2) / (p.x_q1 - p.x_l) ** 2
    linked = v.psi_2q + (p.x_q1 - p.x_l) * v.i_q + v.e_d
    saturation = saturation_of(m, m.sqrt(e_d2**2 + e_q2**2), p)
    d_ed = -v.e_d + (p.x_q - p.x_q1) * (v.i_q - coupling * linked) - across(p) * saturation * e_d2
    residuals, injection, t_e = stator(m, v, p, e_d2, e_q2)
    derivatives = (
        *turning(v, p, t_e),
        (v.v_f - v.i_f) / p.t_d01,
        d_1d,
        d_ed / p.t_q01,
        -linked / p.t_q02,
    )
    return derivatives, (*residuals, i_f + saturation * e_q2 - v.i_f), injection


def round_rotor_at_rest(terminal: Any, p: Any, saturation_of: Saturation) -> Mapping[str, Any]:
    """Return the equilibrium of a round-rotor machine."""
    rest, saturation, e2 = behind_subtransient(terminal, p, saturation_of)
    i_d, i_q = rest["i_d"], rest["i_q"]
    e_q = e2.imag + (p.x_d1 - p.x_2) * i_d
    e_d = e2.real - (p.x_q1 - p.x_2) * i_q
    i_f = e_q + (p.x_d - p.x_d1) * i_d + saturation * e2.imag
    return {
        **rest,
        "e_q": e_q,
        "psi_1d": e_q - (p.x_d1 - p.x_l) * i_d,
        "e_d": e_d,
        "psi_2q": -e_d - (p.x_q1 - p.x_l) * i_q,
        "i_f": i_f,
        "v_f": i_f,
    }


class GENROE(GENROU):
    """Round-rotor machine as `GENROU`, with the saturation of the total flux as a power of it.

    ::

        S = s_10 psi^n,   psi = sqrt(e_d2^2 + e_q2^2),   n = ln(s_12/s_10) / ln 1.2

    so that S(1.0) = s_10 and S(1.2) = s_12. Source: PSS/E, Model Library, and the WECC list of approved
    models, GENROE; held against a trace of PSS/E.
    """

    role = "machine"
    records = ("GENROE t_d01 t_d02 t_q01 t_q02 h d x_d x_q x_d1 x_q1 x_2 x_l s_10 s_12",)

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to windings that no machine at rest could have, and to a curve with one point."""
        return unsound(p, D_AXIS, Q_AXIS) or power_conflict(p)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return swing and flux equations, stator and field current, and the current into the bus."""
        return round_rotor(m, v, p, saturation)

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium: the flux behind x_2 and its saturation follow from the terminals."""
        return round_rotor_at_rest(terminal, p, saturation)


def saturation(m: Any, flux: Any, p: Any) -> Any:
    """Return the saturation of GENROE and GENSAE."""
    return power_saturation(m, flux, p.s_10, KNEES[1], p.s_12)


class GENSAL(SubtransientMachine):
    """Salient-pole machine: field, one damper in each axis, quadratic saturation of the d axis by e_q.

    ::

        2 h omega' = t - (e_d2 i_d + e_q2 i_q) - d (omega - 1),   delta' = 2 pi f_n (omega - 1)
        t_d01 e_q'    = v_f - i_f
        i_f           = e_q + (x_d - x_d1) (i_d - c_d (psi_1d + (x_d1 - x_l) i_d - e_q)) + S(e_q) e_q
        t_d02 psi_1d' = -psi_1d + e_q - (x_d1 - x_l) i_d
        t_q02 psi_q2' = -psi_q2 - (x_q - x_2) i_q
        e_q2 = g_d e_q + (1 - g_d) psi_1d,   g_d = (x_2 - x_l)/(x_d1 - x_l),   c_d = (1 - g_d)/(x_d1 - x_l)
        e_d2 = -psi_q2
        S(e) = b (e - a)^2 / e,   S(1.0) = s_10,   S(1.2) = s_12
        0 = e_q2 - v_q - r_a i_q - x_2 i_d,   0 = e_d2 - v_d - r_a i_d + x_2 i_q

    Units and what is neglected: as in `GENROU`. Source: Sauer and Pai (1998), chapter 3, for the windings;
    PSS/E, Model Library, and the WECC list of approved models, GENSAL, for parameters and saturation.
    """

    role = "machine"
    records = ("GENSAL t_d01 t_d02 t_q02 h d x_d x_q x_d1 x_2 x_l s_10 s_12",)
    states = ("delta", "omega", "e_q", "psi_1d", "psi_q2")

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return swing and flux equations, stator and field current, and the current into the bus."""
        e_q2, i_f, d_1d = direct_axis(v, p)
        residuals, injection, t_e = stator(m, v, p, -v.psi_q2, e_q2)
        derivatives = (
            *turning(v, p, t_e),
            (v.v_f - v.i_f) / p.t_d01,
            d_1d,
            (-v.psi_q2 - (p.x_q - p.x_2) * v.i_q) / p.t_q02,
        )
        saturated = quadratic_saturation(m, v.e_q, KNEES[0], p.s_10, KNEES[1], p.s_12)
        return derivatives, (*residuals, i_f + saturated - v.i_f), injection

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium itself: only the field current depends on the saturation."""
        i = terminal.current * p.s_base / p.s_n
        delta = np.angle(terminal.voltage + (p.r_a + 1j * p.x_q) * i)
        turn = np.exp(-1j * (delta - np.pi / 2))
        v_dq, i_dq = terminal.voltage * turn, i * turn
        i_d, i_q = i_dq.real, i_dq.imag
        e_q = v_dq.imag + p.r_a * i_q + p.x_d1 * i_d
        saturated = quadratic_saturation(NumericMath, e_q, KNEES[0], p.s_10, KNEES[1], p.s_12)
        i_f = e_q + (p.x_d - p.x_d1) * i_d + saturated
        return {
            "delta": delta,
            "omega": 1.0,
            "e_q": e_q,
            "psi_1d": e_q - (p.x_d1 - p.x_l) * i_d,
            "psi_q2": -(p.x_q - p.x_2) * i_q,
            "i_d": i_d,
            "i_q": i_q,
            "i_f": i_f,
            "v_f": i_f,
            "t_m": (p.x_q - p.x_2) * i_q * i_d + (e_q - (p.x_d1 - p.x_2) * i_d) * i_q,
        }


class GENSAE(SubtransientMachine):
    """Salient-pole machine as `GENSAL`, whose total flux saturates both axes, as a power of it.

    ::

        i_f           = e_q + (x_d - x_d1) (i_d - c_d (psi_1d + (x_d1 - x_l) i_d - e_q)) + S e_q2
        t_q02 psi_q2' = -psi_q2 - (x_q - x_2) i_q - (x_q - x_l)/(x_d - x_l) S psi_q2
        S = s_10 psi^n,   psi = sqrt(e_q2^2 + psi_q2^2),   n = ln(s_12/s_10) / ln 1.2

    and the rest as in `GENSAL`. Source: PSS/E, Model Library, and the WECC list of approved models, GENSAE;
    held against a trace of PSS/E.
    """

    role = "machine"
    records = ("GENSAE t_d01 t_d02 t_q02 h d x_d x_q x_d1 x_2 x_l s_10 s_12",)
    states = ("delta", "omega", "e_q", "psi_1d", "psi_q2")

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to windings that no machine at rest could have, and to a curve with one point."""
        return unsound(p, D_AXIS) or power_conflict(p)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return swing and flux equations, stator and field current, and the current into the bus."""
        e_q2, i_f, d_1d = direct_axis(v, p)
        saturated = saturation(m, m.sqrt(e_q2**2 + v.psi_q2**2), p)
        residuals, injection, t_e = stator(m, v, p, -v.psi_q2, e_q2)
        d_q2 = -v.psi_q2 - (p.x_q - p.x_2) * v.i_q - across(p) * saturated * v.psi_q2
        derivatives = (*turning(v, p, t_e), (v.v_f - v.i_f) / p.t_d01, d_1d, d_q2 / p.t_q02)
        return derivatives, (*residuals, i_f + saturated * e_q2 - v.i_f), injection

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium: the flux behind x_2 and its saturation follow from the terminals."""
        rest, saturated, e2 = behind_subtransient(terminal, p, saturation)
        i_d = rest["i_d"]
        e_q = e2.imag + (p.x_d1 - p.x_2) * i_d
        i_f = e_q + (p.x_d - p.x_d1) * i_d + saturated * e2.imag
        return {
            **rest,
            "e_q": e_q,
            "psi_1d": e_q - (p.x_d1 - p.x_l) * i_d,
            "psi_q2": -e2.real,
            "i_f": i_f,
            "v_f": i_f,
        }
