"""A round-rotor machine with a subtransient reactance of its own in each axis.

The machine of the standard library whose saturation follows air-gap flux and stator current.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np

from psmr.base.arguments import check_arguments
from psmr.base.errors import InputError
from psmr.dae.declare.component import NumericMath, Parameter, Terms, nonnegative, positive
from psmr.devices.blocks import machine_frame, machine_to_network, quadratic_saturation, saturation_conflict
from psmr.devices.machines.psse import (
    D_AXIS,
    GENROU,
    KNEES,
    PU,
    SubtransientMachine,
    across,
    direct_axis,
    flux_saturation,
    rising,
    turning,
    unsound,
)

OWN_Q_AXIS = ("x_q", "x_q1", "x_q2", "t_q01", "t_q02")


class RoundRotorMachine(GENROU):
    """Round-rotor machine: field, one damper in d, two in q, and x''d and x''q of their own.

    ::

        2 h omega' = t - (e_d2 i_d + e_q2 i_q + (x_q2 - x_2) i_d i_q) - d (omega - 1)
        0 = c e_q2 - v_q - r_a i_q - x_2 i_d,   0 = c e_d2 - v_d - r_a i_d + x_q2 i_q,   c = 1

    The rest is that of GENROU with x_q2 in place of x_2 in the q axis. Reactances and time constants are
    those of the windings: x_d1 = x_l + x_md || x_fd, t_d01 = (x_md + x_fd)/(2 pi f_n r_fd), x_2 = x_l + x_md
    || x_fd || x_1d, t_d02 = (x_1d + x_md || x_fd)/(2 pi f_n r_1d), in q likewise. `psmr.winding_data` turns
    those of the operational reactances, as tests and makers give them, into these. Source: Sauer and Pai
    (1998), section 3.6; IEEE Std 1110, model 2.2.
    """

    role = "machine"

    x_2 = Parameter(PU, "subtransient reactance x''d of the d axis", positive)
    x_q2 = Parameter(PU, "subtransient reactance x''q of the q axis", positive)

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to windings that no machine at rest could have, and to an impossible saturation curve."""
        return unsound(p, D_AXIS, OWN_Q_AXIS) or saturation_conflict(p, KNEES[0], "s_10", KNEES[1], "s_12")

    @staticmethod
    def unlikely(p: Mapping[str, float]) -> Iterator[str]:
        """Yield the reactances that are in another order than those of windings."""
        return rising(p, D_AXIS, OWN_Q_AXIS)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return swing and flux equations, stator and field current, and the current into the bus."""
        e_q2, i_f, d_1d = direct_axis(v, p)
        # The q axis is a d axis whose voltages and current turn by a quarter.
        quarter = SimpleNamespace(e_q=v.e_d, psi_1d=-v.psi_2q, i_d=-v.i_q)
        e_d2, i_1q, d_2q = direct_axis(quarter, _q_axis(p))
        saturation = flux_saturation(m, m.sqrt(e_d2**2 + e_q2**2), p)
        v_d, v_q = machine_frame(m, v.v_re, v.v_im, v.delta)
        speed = 1 + p.speed_voltage * (v.omega - 1)
        t_e = e_d2 * v.i_d + e_q2 * v.i_q + (p.x_q2 - p.x_2) * v.i_d * v.i_q
        derivatives = (
            *turning(v, p, t_e),
            (v.v_f - v.i_f) / p.t_d01,
            d_1d,
            -(i_1q + across(p) * saturation * e_d2) / p.t_q01,
            -d_2q,
        )
        residuals = (
            speed * e_q2 - v_q - p.r_a * v.i_q - p.x_2 * v.i_d,
            speed * e_d2 - v_d - p.r_a * v.i_d + p.x_q2 * v.i_q,
            i_f + saturation * e_q2 - v.i_f,
        )
        i_re, i_im = machine_to_network(m, v.i_d, v.i_q, v.delta)
        base = p.s_n / p.s_base
        return derivatives, residuals, (base * i_re, base * i_im)

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium without saturation."""
        i = terminal.current * p.s_base / p.s_n
        delta = np.angle(terminal.voltage + (p.r_a + 1j * p.x_q) * i)
        turn = np.exp(-1j * (delta - np.pi / 2))
        v_dq, i_dq = (terminal.voltage + p.r_a * i) * turn, i * turn
        i_d, i_q = i_dq.real, i_dq.imag
        e_q, e_d = v_dq.imag + p.x_d1 * i_d, v_dq.real - p.x_q1 * i_q
        i_f = e_q + (p.x_d - p.x_d1) * i_d
        return {
            "delta": delta,
            "omega": 1.0,
            "i_d": i_d,
            "i_q": i_q,
            "i_f": i_f,
            "v_f": i_f,
            "e_q": e_q,
            "psi_1d": e_q - (p.x_d1 - p.x_l) * i_d,
            "e_d": e_d,
            "psi_2q": -e_d - (p.x_q1 - p.x_l) * i_q,
            "t_m": v_dq.real * i_d + v_dq.imag * i_q,
        }


def _q_axis(p: Any) -> Any:
    return SimpleNamespace(
        x_d=p.x_q, x_d1=p.x_q1, x_2=p.x_q2, x_l=p.x_l, t_d01=p.t_q01, t_d02=p.t_q02
    )  # fmt: skip


def winding_data(
    x: float, x1: float, x2: float, t1: float, t2: float, x_l: float
) -> tuple[float, float, float, float]:
    """Return (x1, x2, t1, t2) of the windings of an axis from those of its operational reactance.

    1 / x(s) = 1 / x + (1/x1 - 1/x) s T1 / (1 + s T1) + (1/x2 - 1/x1) s T2 / (1 + s T2), and t1, t2 are the
    time constants of the open stator, those of the poles of x(s). What comes back is of the two branches in
    parallel with the magnetising reactance whose operational reactance this is, exactly; the branch with the
    longer time constant is the field or the outer damper.

    Parameters
    ----------
    x, x1, x2
        Synchronous, transient and subtransient reactance in pu.
    t1, t2
        Transient and subtransient time constants of the open stator in s.
    x_l
        Leakage reactance in pu.

    Raises
    ------
    InputError
        For what is no number, and where no two branches of resistance and inductance have this operational
        reactance.

    Notes
    -----
    Source: IEEE Std 1110, annex; Kundur (1994), section 4.1, for the definitions of both kinds of data.
    """
    check_arguments(winding_data, locals())
    given = f"winding_data: x = {x:g}, x1 = {x1:g}, x2 = {x2:g}, t1 = {t1:g}, t2 = {t2:g}, x_l = {x_l:g}"
    if not (x > x1 > x2 > x_l >= 0 and t1 > t2 > 0):
        raise InputError(f"{given}: must be x > x1 > x2 > x_l >= 0 and t1 > t2 > 0")
    # Short-circuit time constants: T1 T2 = t1 t2 x2 / x and x/x1 T1 + (1 + x/x2 - x/x1) T2 = t1 + t2.
    a, b, product = x / x1, 1 + x / x2 - x / x1, t1 * t2 * x2 / x
    root = np.emath.sqrt((t1 + t2) ** 2 - 4 * a * b * product)
    short = [(t1 + t2 + root) / (2 * a), product * 2 * a / (t1 + t2 + root)]
    # x(s) = x N(s) / D(s): 1 / (x(s) - x_l) - 1 / x_m is the admittance of both branches, s / (R + s X).
    d, x_m = np.polymul([t1, 1], [t2, 1]), x - x_l
    rest = x * np.polymul([short[0], 1], [short[1], 1]) - x_l * d
    poles = np.roots(rest)
    slopes = np.polyval(np.polyder(rest), poles)
    reactance = slopes / np.polyval((d - rest / x_m)[:-1], poles)
    if np.any(np.imag([*poles, *reactance])) or poles.max() >= 0 or reactance.min() <= 0:
        raise InputError(f"{given}: no windings have this operational reactance; correct the time constants")
    (x_f, x_k), (r_f, r_k) = (part[np.argsort(-poles)] for part in (reactance, -poles * reactance))
    both = x_m * x_f / (x_m + x_f)
    found = x_l + both, x_l + both * x_k / (both + x_k), (x_m + x_f) / r_f, (x_k + both) / r_k
    return tuple(map(float, found))  # type: ignore[return-value]  # four of them


AXES = (("x_d", "x_d1", "x_2"), ("x_q", "x_q1", "x_q2"))


class GENTPJ1(SubtransientMachine):
    """Machine with windings as GENROU's, all of whose inductances saturate with air-gap flux and current.

    ::

        2 h omega' = t - (psi_d i_q - psi_q i_d) - d (omega - 1),   delta' = 2 pi f_n (omega - 1)
        t_d01 e_q'    = v_f - i_f,   i_f = s_d (e_q + (x_d - x_d1)(e_q - psi_d2)/(x_d1 - x_2))
        t_d02 psi_d2' = s_d (e_q - psi_d2) - (x_d1 - x_2) i_d
        t_q01 e_d'    = -s_q (e_d + (x_q - x_q1)(e_d + psi_q2)/(x_q1 - x_q2))
        t_q02 psi_q2' = -s_q (e_d + psi_q2) - (x_q1 - x_q2) i_q
        psi_d = psi_d2 - (x_l + (x_2 - x_l)/s_d) i_d,   psi_q = psi_q2 - (x_l + (x_q2 - x_l)/s_q) i_q
        0 = c psi_d - v_q - r_a i_q,   0 = -c psi_q - v_d - r_a i_d,   c = 1
        s_d = 1 + S,   s_q = 1 + (x_q/x_d) S,   S = b (x - a)^2 / x,   S(1.0) = s_10,   S(1.2) = s_12
        x = |v + (r_a + j x_l) i| + k_is |i|

    c = omega with stator = "speed" (speed_voltage = 1), where only the fluxes psi_d2 and psi_q2 carry it.
    t_q01 = 0 leaves the first winding of the q axis out. Units and the rest: as in `GENROU`. Source: PSS/E,
    Model Library, and the WECC list of models, GENTPJ; OpenIPSL, GENTPJ, which was compared with PSS/E; J.
    Weber, Description of Machine Models GENROU, GENSAL, GENTPF and GENTPJ (PowerWorld, 2015); for the order
    of the values, and GENTPJU1 as the user-written name in PSS/E 33, InterPSS.
    """

    role = "machine"
    records = ("GENTPJ1 t_d01 t_d02 t_q01 t_q02 h d x_d x_q x_d1 x_q1 x_2 x_q2 x_l s_10 s_12 k_is",)
    states = ("delta", "omega", "e_q", "psi_d2", "e_d", "psi_q2")
    lags = {"e_d": ("t_q01",)}

    x_2 = Parameter(PU, "subtransient reactance x''d of the d axis", positive)
    x_q1 = Parameter(PU, "transient reactance x'q", positive)
    x_q2 = Parameter(PU, "subtransient reactance x''q of the q axis", positive)
    t_q01 = Parameter("s", "open-circuit transient time constant T'q0, 0 for none", nonnegative)
    k_is = Parameter("pu flux per pu current", "part of the current in the saturation", nonnegative)

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to windings of equal reactances, which the equations divide by, and to a bad curve."""
        for axis in AXES:
            if p[axis[1]] == p[axis[2]]:
                return f"{axis[1]} = {axis[2]} = {p[axis[1]]:g}: must differ, there is a winding between them"
        return saturation_conflict(p, KNEES[0], "s_10", KNEES[1], "s_12")

    @staticmethod
    def unlikely(p: Mapping[str, float]) -> Iterator[str]:
        """Yield the reactances that are in another order than those of windings."""
        return rising(p, *AXES)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return swing and flux equations, stator and field current, and the current into the bus."""
        v_d, v_q = machine_frame(m, v.v_re, v.v_im, v.delta)
        gap_d, gap_q = v_d + p.r_a * v.i_d - p.x_l * v.i_q, v_q + p.r_a * v.i_q + p.x_l * v.i_d
        # The small number keeps the root differentiable at zero; it is far below the rounding of any current.
        current = m.sqrt(v.i_d**2 + v.i_q**2 + 1e-30)
        s_d, s_q = _saturated(m, m.sqrt(gap_d**2 + gap_q**2) + p.k_is * current, p)
        i_f = s_d * (v.e_q + (p.x_d - p.x_d1) / (p.x_d1 - p.x_2) * (v.e_q - v.psi_d2))
        inside_d, inside_q = p.x_l + (p.x_2 - p.x_l) / s_d, p.x_l + (p.x_q2 - p.x_l) / s_q
        speed = 1 + p.speed_voltage * (v.omega - 1)
        torque = (v.psi_d2 - inside_d * v.i_d) * v.i_q - (v.psi_q2 - inside_q * v.i_q) * v.i_d
        behind = v.e_d + (p.x_q - p.x_q1) / (p.x_q1 - p.x_q2) * (v.e_d + v.psi_q2)
        derivatives = (
            *turning(v, p, torque),
            (v.v_f - v.i_f) / p.t_d01,
            (s_d * (v.e_q - v.psi_d2) - (p.x_d1 - p.x_2) * v.i_d) / p.t_d02,
            -s_q * behind / p.t_q01,
            -(s_q * (v.e_d + v.psi_q2) + (p.x_q1 - p.x_q2) * v.i_q) / p.t_q02,
        )
        residuals = (
            speed * v.psi_d2 - v_q - p.r_a * v.i_q - inside_d * v.i_d,
            -speed * v.psi_q2 - v_d - p.r_a * v.i_d + inside_q * v.i_q,
            i_f - v.i_f,
        )
        i_re, i_im = machine_to_network(m, v.i_d, v.i_q, v.delta)
        base = p.s_n / p.s_base
        return derivatives, residuals, (base * i_re, base * i_im)

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium itself: the saturation follows from the terminals."""
        i = terminal.current * p.s_base / p.s_n
        gap = terminal.voltage + (p.r_a + 1j * p.x_l) * i
        s_d, s_q = _saturated(NumericMath, np.abs(gap) + p.k_is * np.abs(i), p)
        delta = np.angle(terminal.voltage + (p.r_a + 1j * (p.x_l + (p.x_q - p.x_l) / s_q)) * i)
        turn = np.exp(-1j * (delta - np.pi / 2))
        v_dq, i_dq = (terminal.voltage + p.r_a * i) * turn, i * turn
        i_d, i_q = i_dq.real, i_dq.imag
        psi_d2 = v_dq.imag + (p.x_l + (p.x_2 - p.x_l) / s_d) * i_d
        e_q = psi_d2 + (p.x_d1 - p.x_2) / s_d * i_d
        i_f = s_d * e_q + (p.x_d - p.x_d1) * i_d
        return {
            "delta": delta,
            "omega": 1.0,
            "e_q": e_q,
            "psi_d2": psi_d2,
            "e_d": (p.x_q - p.x_q1) / s_q * i_q,
            "psi_q2": -(p.x_q - p.x_q2) / s_q * i_q,
            "i_d": i_d,
            "i_q": i_q,
            "i_f": i_f,
            "v_f": i_f,
            "t_m": v_dq.imag * i_q + v_dq.real * i_d,
        }


def _saturated(m: Any, x: Any, p: Any) -> tuple[Any, Any]:
    """Return by how much the inductances of the d and of the q axis fall, at air-gap flux and current."""
    saturation = quadratic_saturation(m, x, KNEES[0], p.s_10, KNEES[1], p.s_12) / x
    return 1 + saturation, 1 + p.x_q / p.x_d * saturation
