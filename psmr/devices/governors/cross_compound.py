"""The IEEE steam turbine with two shafts, of which the second drives another machine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from psmr.dae.declare.component import Parameter, Terms, nonnegative, positive, whole
from psmr.devices.governors.ieeeg1 import IEEEG1


class IEEEG1CC(IEEEG1):
    """Cross-compound steam turbine: that of IEEEG1, whose other fractions drive a second machine.

    ::

        t_m  = k_1 x_4 + k_3 x_5 + k_5 x_6 + k_7 x_7
        t_m2 = (k_2 x_4 + k_4 x_5 + k_6 x_6 + k_8 x_7) base + t_rest

    The governor has the speed of the first machine. The second one, machine `unit2` among those of bus
    `bus2`, takes t_m2 for its torque. `base` is the first machine's base over the second one's, for all
    fractions are on that of the first. One valve cannot give two powers of the power flow exactly: t_rest is
    what the fractions leave open at the start, and stays. The two machines are one plant; they trip together.
    Source: PSS/E, Model Library, IEEEG1 with a second machine; IEEE Committee Report (1973), cross-compound
    steam turbines.
    """

    role = "governor"
    records = (
        "IEEEG1CC bus2 unit2 k t_1 t_2 t_3 u_o u_c p_max p_min t_4 k_1 k_2 t_5 k_3 k_4 t_6 k_5 k_6 "
        "t_7 k_7 k_8",
    )
    algebraic = ("t_m", "t_m2")
    memory = ("base", "t_rest")

    bus2 = Parameter("number", "bus of the second machine", whole(1, 999999))
    unit2 = Parameter("number", "place of the second machine among those of its bus", whole(1, 99), 1.0)
    k_2 = Parameter("1", "fraction of the second torque after t_4", nonnegative)
    k_4 = Parameter("1", "fraction of the second torque after t_5", nonnegative)
    k_6 = Parameter("1", "fraction of the second torque after t_6", nonnegative)
    k_8 = Parameter("1", "fraction of the second torque after t_7", nonnegative)
    base = Parameter("1", "base of the first machine over that of the second", positive, 1.0)
    t_rest = Parameter("pu on machine base", "second torque that the fractions leave open", default=0.0)

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object, as IEEEG1 does, and to a second shaft without torque."""
        if p["k_2"] + p["k_4"] + p["k_6"] + p["k_8"] == 0:
            return "k_2, k_4, k_6 and k_8 are 0: one of them must be > 0 where there is a second machine"
        return IEEEG1.conflict(p)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of governor, valve and stages, and the torques."""
        derivatives, residuals, none = IEEEG1.equations(m, v, p)
        second = p.k_2 * v.x_4 + p.k_4 * v.x_5 + p.k_6 * v.x_6 + p.k_8 * v.x_7
        return derivatives, (*residuals, p.base * second + p.t_rest - v.t_m2), none

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium for the torque that the first machine needs."""
        found = IEEEG1.guess(terminal, p)
        return {**found, "t_m2": (p.k_2 + p.k_4 + p.k_6 + p.k_8) * found["valve"]}
