"""The salient-pole machine of the standard library."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from psmr.dae.declare.component import Terms
from psmr.dae.declare.mathematics import NumericMath
from psmr.devices.blocks import quadratic_saturation
from psmr.devices.machines.subtransient import (
    KNEES,
    SubtransientMachine,
    direct_axis,
    stator,
    turning,
)


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
