"""The electrical control of wind plants."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from psmr.dae.declare.component import Action, Parameter, Terms, flag, nonnegative
from psmr.devices.renewables.converters import PU
from psmr.devices.renewables.electrical import (
    ElectricalControl,
    asked_reactive,
    at_rest,
    control,
    current_table,
    injection,
    limit_point,
    outside,
    unsorted,
    wanted_power,
)

LIMIT_HOLDS = (
    Action(
        "",
        outside,
        effect=lambda v, p: {"dipped": 1.0, "limit_held": 0.0},
        used=lambda p: p.t_hld2 > 0,
    ),
    Action(
        "limit of the active current held",
        lambda m, v, p: m.where(m.ge(p.dipped, 1), -outside(m, v, p), -1),
        effect=lambda v, p: {"dipped": 0.0, "limit_held": 1.0, "ip_held": v.before.ip_max},
        used=lambda p: p.t_hld2 > 0,
    ),
    Action(
        "limit of the active current released",
        lambda m, v, p: m.where(m.ge(p.limit_held, 1), -outside(m, v, p), -1),
        lambda p: p.t_hld2,
        lambda v, p: {"limit_held": 0.0},
        lambda p: p.t_hld2 > 0,
    ),
)
"""The limit of the active current, held for t_hld2 after a dip."""

HOLDS = (
    Action(
        "",
        outside,
        effect=lambda v, p: {"holding": 1.0},
        used=lambda p: p.t_hld != 0,
    ),
    Action(
        "reactive current no longer held",
        lambda m, v, p: m.where(m.ge(p.holding, 1), -outside(m, v, p), -1),
        lambda p: abs(p.t_hld),
        lambda v, p: {"holding": 0.0},
        lambda p: p.t_hld != 0,
    ),
    *LIMIT_HOLDS,
)
"""What an electrical control holds after a dip: the injection for |t_hld|, the active limit for t_hld2."""


def with_held_limit(m: Any, v: Any, p: Any, residuals: Terms, working: Any = 1) -> Terms:
    """Return the residuals with ip_max as it is held, where it is; 0 where the converter does not work."""
    place = ElectricalControl.algebraic.index("ip_max")
    free = residuals[place]
    held = m.where(m.ge(p.limit_held, 1), working * p.ip_held - v.ip_max, free)
    return (*residuals[:place], held, *residuals[place + 1 :])


class REECA1(ElectricalControl):
    """Electrical control of wind plants: that of REECB1 with voltage-dependent current limits.

    ::

        pq_flag = 0: iq_max = min(VDL1(v_m), i_max),  ip_max = min(VDL2(v_m), sqrt(i_max^2 - iq_cmd^2))
        pq_flag = 1: ip_max = min(VDL2(v_m), i_max),  iq_max = min(VDL1(v_m), sqrt(i_max^2 - ip_cmd^2))
        v_flag = 0: asked + v_ref1 -> order
        p_flag = 1: p_ref omega_g in the place of p_ref
        injected: as in REECB1 while |v| is outside [v_dip, v_up]; for |t_hld| after that
                  iq_frz (t_hld > 0) or still as in REECB1 (t_hld < 0); otherwise 0
        ip_max: for t_hld2 after |v| was outside as it was at the end of that

    VDL1 is the polygon through (vq1, iq1) to (vq4, iq4), VDL2 through (vp1, ip1) to (vp4, ip4), both constant
    beyond their ends; points at the end that are (0, 0) are left out, and a table of such points alone is
    no limit. What rests does so as in REECB1, and the injection changes over the same 1e-3 pu inside [v_dip,
    v_up]. omega_g is the speed of a turbine's generator, 1 where no device of the plant gives it. Another
    dip ends a hold. Source: EPRI 3002027129, Model User Guide for Generic Renewable Energy System Models
    (2023), REEC_A; PSS/E Model Library, REECA1; for the holds PowerWorld, REEC_A, and OpenIPSL, REECA1.
    """

    role = "electrical_control"
    records = (
        "REECA1 bus_v pf_flag v_flag q_flag p_flag pq_flag v_dip v_up t_rv dbd1 dbd2 k_qv iqh1 iql1 "
        "v_ref0 iq_frz t_hld t_hld2 t_p q_max q_min v_max v_min k_qp k_qi k_vp k_vi v_ref1 t_iq "
        "dp_max dp_min p_max p_min i_max t_pord vq1 iq1 vq2 iq2 vq3 iq3 vq4 iq4 vp1 ip1 vp2 ip2 vp3 "
        "ip3 vp4 ip4",
    )
    inputs = (*ElectricalControl.inputs, "omega_g")
    optional = {"omega_g": 1.0}
    actions = HOLDS
    memory = ("holding", "dipped", "limit_held", "ip_held")

    p_flag = Parameter("1", "1: the power is p_ref times the generator's speed, 0: p_ref", flag, 0.0)
    iq_frz = Parameter(PU, "reactive current injected for t_hld after a dip", default=0.0)
    t_hld = Parameter(
        "s", "time for which the injection goes on after a dip, below zero as in the dip", default=0.0
    )
    t_hld2 = Parameter("s", "time for which ip_max is held after a dip", nonnegative, 0.0)
    holding = Parameter("1", "1 while and after a dip, as long as the injection goes on", flag, 0.0)
    dipped = Parameter("1", "1 while a dip lasts that ip_max is held after", flag, 0.0)
    limit_held = Parameter("1", "1 while ip_max is held", flag, 0.0)
    ip_held = Parameter(PU, "ip_max that is held", default=0.0)
    v_ref1 = Parameter("pu", "added to q_ext where it is a voltage", default=0.0)
    vq1, vq2, vq3, vq4 = (limit_point("voltage", k, "reactive") for k in (1, 2, 3, 4))
    iq1, iq2, iq3, iq4 = (limit_point("current", k, "reactive") for k in (1, 2, 3, 4))
    vp1, vp2, vp3, vp4 = (limit_point("voltage", k, "active") for k in (1, 2, 3, 4))
    ip1, ip2, ip3, ip4 = (limit_point("current", k, "active") for k in (1, 2, 3, 4))

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object, as REECB1 does, and to limits whose voltages do not rise."""
        return unsorted(p, 4) or ElectricalControl.conflict(p)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives, and the residuals of commands and limits."""
        of_q = ((p.vq1, p.iq1), (p.vq2, p.iq2), (p.vq3, p.iq3), (p.vq4, p.iq4))
        of_p = ((p.vp1, p.ip1), (p.vp2, p.ip2), (p.vp3, p.ip3), (p.vp4, p.ip4))
        called = injection(m, v, p)
        after = m.where(m.ge(p.holding, 1), m.where(m.le(p.t_hld, 0), called, p.iq_frz), 0)
        injected = called + at_rest(m, v, p, after - called)
        tables = (current_table(m, v.v_m, of_p), current_table(m, v.v_m, of_q))
        ceilings = tuple(m.min(table, p.i_max) for table in tables)
        power = m.where(m.ge(p.p_flag, 1), v.p_ref * v.omega_g, v.p_ref)
        asked = asked_reactive(m, v, p)
        wanted = wanted_power(m, p, asked)
        rates, residuals, _ = control(m, v, p, asked, wanted, p.v_ref1, injected, ceilings, power, v.v_m)
        return rates, with_held_limit(m, v, p, residuals), ()

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium without limits, for the converter's commands."""
        found = dict(ElectricalControl.guess(terminal, p))
        biased = (p.q_flag > 0) & (p.v_flag <= 0)
        return found | {"q_ext": found["q_ext"] - np.where(biased, p.v_ref1, 0.0)}
