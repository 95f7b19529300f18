"""The round-rotor machine of the standard library with a saturation that is a power of the flux."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from psmr.dae.declare.component import Terms
from psmr.devices.blocks import power_saturation
from psmr.devices.machines.genrou import GENROU, round_rotor, round_rotor_at_rest
from psmr.devices.machines.subtransient import D_AXIS, KNEES, Q_AXIS, power_conflict, unsound


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
