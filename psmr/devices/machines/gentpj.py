"""The machine of the standard library whose saturation follows air-gap flux and stator current."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from psmr.dae.declare.component import Parameter, Terms, nonnegative, positive
from psmr.dae.declare.mathematics import NumericMath
from psmr.devices.blocks import machine_frame, machine_to_network, quadratic_saturation, saturation_conflict
from psmr.devices.machines.subtransient import KNEES, PU, SubtransientMachine, rising, turning

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
