"""Synchronous machines as PSS/E has them: GENROU, GENROE, GENSAL, GENSAE."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from psmr.dae.declare.component import NumericMath, Parameter, Terms, positive
from psmr.devices.blocks import power_saturation, quadratic_saturation, saturation_conflict
from psmr.devices.machines.subtransient import (
    D_AXIS,
    KNEES,
    PU,
    Q_AXIS,
    Saturation,
    SubtransientMachine,
    across,
    behind_subtransient,
    direct_axis,
    power_conflict,
    rising,
    stator,
    turning,
    unsound,
)


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
