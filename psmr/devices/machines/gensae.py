"""The salient-pole machine of the standard library with a saturation that is a power of the flux."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from psmr.dae.declare.component import Terms
from psmr.devices.machines.genroe import saturation
from psmr.devices.machines.subtransient import (
    D_AXIS,
    SubtransientMachine,
    across,
    behind_subtransient,
    direct_axis,
    power_conflict,
    stator,
    turning,
    unsound,
)


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
