"""The electrical control of the second generation of the generic models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from psmr.dae.declare.component import Action, Parameter, Terms, flag, fraction, nonnegative
from psmr.devices.blocks import lag
from psmr.devices.renewables.converters import PU
from psmr.devices.renewables.electrical import (
    LIMIT_HOLDS,
    V_LEAST,
    ElectricalControl,
    asked_reactive,
    control,
    current_table,
    injection,
    limit_point,
    unsorted,
    voltage_excess,
    with_held_limit,
)

POINTS = tuple(range(1, 11))


def _beyond(m: Any, v: Any, p: Any) -> Any:
    """Return by how much v_m is outside the voltages at which the converter works, below zero inside."""
    return m.max(p.v_blkl - v.v_m, v.v_m - p.v_blkh)


HOLDS = (
    Action(
        "", voltage_excess, effect=lambda v, p: {"dip": 1.0, "iq_held_on": 0.0}, used=lambda p: p.t_hld != 0
    ),
    Action(
        "reactive current held",
        lambda m, v, p: m.where(m.ge(p.dip, 1), -voltage_excess(m, v, p), -1),
        effect=lambda v, p: {
            "dip": 0.0,
            "iq_held_on": 1.0,
            "iq_held": v.before.iq_cmd if p.t_hld > 0 else p.iq_frz,
        },
        used=lambda p: p.t_hld != 0,
    ),
    Action(
        "reactive current no longer held",
        lambda m, v, p: m.where(m.ge(p.iq_held_on, 1), -voltage_excess(m, v, p), -1),
        lambda p: abs(p.t_hld),
        lambda v, p: {"iq_held_on": 0.0},
        lambda p: p.t_hld != 0,
    ),
    *LIMIT_HOLDS,
)
BLOCKS = (
    Action(
        "blocked",
        lambda m, v, p: m.where(m.ge(p.blocked, 1), -1, _beyond(m, v, p)),
        effect=lambda v, p: {"blocked": 1.0},
        used=lambda p: p.v_blkh > p.v_blkl,
    ),
    Action(
        "released",
        lambda m, v, p: m.where(m.ge(p.blocked, 1), -_beyond(m, v, p), -1),
        lambda p: p.t_blk,
        lambda v, p: {"blocked": 0.0},
        lambda p: p.v_blkh > p.v_blkl,
    ),
)


class REECD1(ElectricalControl):
    """Electrical control of wind, solar and storage plants: compensation, tables of ten points, blocking.

    ::

        as in REECB1 but for:
        asked -> limits [q_min, q_max] -> asked
        vcmp_flag = 1: |v - (r_c + j x_c) i|          } -> 1/(1 + s t_r1) -> v_c
        vcmp_flag = 0: |v| + k_c q_e                  }
        order -> limits [v_min, v_max] -> - v_c -> k_vp + k_vi/s, limits [iq_min, iq_max] -> looped
        v_flag = 0: asked + v_ref1 -> order
        p_flag = 1: p_ref omega_g in the place of p_ref
        p_ord/v_m -> limits [-k_e ip_max, ip_max] -> ip_cmd

        pq_flag = 0: iq_max = min(VDLq(v_m), i_max),  ip_max = min(VDLp(v_m), sqrt(i_max^2 - iq_cmd^2))
        pq_flag = 1: ip_max = min(VDLp(v_m), i_max),  iq_max = min(VDLq(v_m), sqrt(i_max^2 - ip_cmd^2))
        iq_min = -|iq_max|

        for |t_hld| after |v| was outside [v_dip, v_up]: the reactive current before its limit is
                  iq_cmd as it was at the end of that (t_hld > 0) or iq_frz (t_hld < 0)
        for t_hld2 after that: ip_max as it was at the end of that
        while v_m is outside [v_blkl, v_blkh] and t_blk longer: ip_max = iq_max = 0

    i = (p_e - j q_e)/conj(v) is the converter's current. VDLq is the polygon through (vq1, iq1) to (vq10,
    iq10), VDLp through (vp1, ip1) to (vp10, ip10), as in REECA1. v_blkh not above v_blkl blocks nothing.
    What rests does so as in REECB1, over the same band of 1e-3 pu.
    omega_g is the speed of a turbine's generator, 1 where no device of the plant gives it. Source: EPRI
    3002027129, Model User Guide for Generic Renewable Energy System Models (2023), REEC_D; PowerWorld,
    REEC_D; the record REECD1 as GridPACK reads it.
    """

    role = "electrical_control"
    records = (
        "REECD1 pf_flag v_flag q_flag p_flag pq_flag vcmp_flag v_dip v_up t_rv dbd1 dbd2 k_qv iqh1 "
        "iql1 v_ref0 iq_frz t_hld t_hld2 t_p q_max q_min v_max v_min k_qp k_qi k_vp k_vi v_ref1 t_iq "
        "dp_max dp_min p_max p_min i_max t_pord vq1 iq1 vq2 iq2 vq3 iq3 vq4 iq4 vq5 iq5 vq6 iq6 vq7 "
        "iq7 vq8 iq8 vq9 iq9 vq10 iq10 vp1 ip1 vp2 ip2 vp3 ip3 vp4 ip4 vp5 ip5 vp6 ip6 vp7 ip7 vp8 "
        "ip8 vp9 ip9 vp10 ip10 r_c x_c t_r1 k_c k_e v_blkl v_blkh t_blk",
    )
    states = (*ElectricalControl.states, "v_c")
    inputs = (*ElectricalControl.inputs, "omega_g")
    optional = {"omega_g": 1.0}
    lags = {**ElectricalControl.lags, "v_c": ("t_r1",)}
    actions = (*HOLDS, *BLOCKS)
    memory = ("dip", "iq_held_on", "iq_held", "dipped", "limit_held", "ip_held", "blocked")

    p_flag = Parameter("1", "1: the power is p_ref times the generator's speed, 0: p_ref", flag)
    vcmp_flag = Parameter("1", "1: compensation of the current, 0: reactive droop", flag)
    iq_frz = Parameter(PU, "reactive current held after a dip where t_hld < 0")
    t_hld = Parameter("s", "time for which the reactive current is held after a dip, < 0 at iq_frz")
    t_hld2 = Parameter("s", "time for which ip_max is held after a dip", nonnegative)
    v_ref1 = Parameter("pu", "added to q_ext where it is a voltage")
    vq1, vq2, vq3, vq4, vq5, vq6, vq7, vq8, vq9, vq10 = (
        limit_point("voltage", k, "reactive") for k in POINTS
    )
    iq1, iq2, iq3, iq4, iq5, iq6, iq7, iq8, iq9, iq10 = (
        Parameter(PU, f"current of point {k} of the reactive current limit") for k in POINTS
    )
    vp1, vp2, vp3, vp4, vp5, vp6, vp7, vp8, vp9, vp10 = (limit_point("voltage", k, "active") for k in POINTS)
    ip1, ip2, ip3, ip4, ip5, ip6, ip7, ip8, ip9, ip10 = (limit_point("current", k, "active") for k in POINTS)
    r_c = Parameter(f"pu voltage per {PU}", "resistance of the compensation", nonnegative)
    x_c = Parameter(f"pu voltage per {PU}", "reactance of the compensation")
    t_r1 = Parameter("s", "time constant of the compensated voltage", nonnegative)
    k_c = Parameter(f"pu voltage per {PU}", "reactive droop", nonnegative)
    k_e = Parameter("1", "part of ip_max that the active current may be below zero", fraction)
    v_blkl = Parameter("pu", "voltage below which the converter is blocked")
    v_blkh = Parameter("pu", "voltage above which it is blocked")
    t_blk = Parameter("s", "time for which it stays blocked after that", nonnegative)
    dip = Parameter("1", "1 while a dip lasts that the reactive current is held after", flag, 0.0)
    iq_held_on = Parameter("1", "1 while the reactive current is held", flag, 0.0)
    iq_held = Parameter(PU, "reactive current that is held", default=0.0)
    dipped = Parameter("1", "1 while a dip lasts that ip_max is held after", flag, 0.0)
    limit_held = Parameter("1", "1 while ip_max is held", flag, 0.0)
    ip_held = Parameter(PU, "ip_max that is held", default=0.0)
    blocked = Parameter("1", "1 while the converter is blocked", flag, 0.0)

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object, as REECB1 does, and to limits whose voltages do not rise."""
        return unsorted(p, len(POINTS)) or ElectricalControl.conflict(p)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives, and the residuals of commands and limits."""
        asked = m.clip(asked_reactive(m, v, p), p.q_min, p.q_max)
        of_q, of_p = (
            tuple((getattr(p, f"v{axis}{k}"), getattr(p, f"i{axis}{k}")) for k in POINTS) for axis in "qp"
        )
        working = m.where(m.ge(p.blocked, 1), 0, 1)
        tables = (current_table(m, v.v_m, of_p), current_table(m, v.v_m, of_q))
        ceilings = tuple(working * m.min(table, p.i_max) for table in tables)
        power = m.where(m.ge(p.p_flag, 1), v.p_ref * v.omega_g, v.p_ref)
        held = m.ge(p.iq_held_on, 1), p.iq_held
        rates, residuals, _ = control(
            m,
            v,
            p,
            asked,
            asked,
            p.v_ref1,
            injection(m, v, p),
            ceilings,
            power,
            v.v_c,
            least=-p.k_e * v.ip_max,
            held=held,
        )
        # A table may leave less than nothing: iq_min is then iq_max.
        *others, _ = with_held_limit(m, v, p, residuals, working)
        return (
            (*rates, lag(_compensated(m, v, p), v.v_c, p.t_r1)),
            (*others, m.min(v.iq_max, -v.iq_max) - v.iq_min),
            (),
        )

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium without limits, for the converter's commands."""
        found = dict(ElectricalControl.guess(terminal, p))
        known = terminal.signals
        power, q = known.get("p_e", 0.0), known.get("q_e", 0.0)
        voltage = np.abs(terminal.voltage)
        dropped = np.abs(voltage - (p.r_c + 1j * p.x_c) * (power - 1j * q) / voltage)
        v_c = np.where(p.vcmp_flag > 0, dropped, voltage + p.k_c * q)
        by_voltage = (p.q_flag > 0) & (p.v_flag <= 0)
        q_ext = np.where(by_voltage, v_c - p.v_ref1, found["q_ext"])
        i_qv = np.where(by_voltage, q_ext / voltage, found["i_qv"])
        return found | {"v_c": v_c, "x_q": v_c, "q_ext": q_ext, "i_qv": i_qv}


def _compensated(m: Any, v: Any, p: Any) -> Any:
    """Return the voltage that the voltage loop holds."""
    voltage = m.sqrt(v.v_re**2 + v.v_im**2)
    least = m.max(voltage, V_LEAST)
    # In the frame of the bus voltage i = (p_e - j q_e)/|v|.
    d = voltage - (p.r_c * v.p_e + p.x_c * v.q_e) / least
    q = (p.x_c * v.p_e - p.r_c * v.q_e) / least
    return m.where(m.ge(p.vcmp_flag, 1), m.sqrt(d**2 + q**2), voltage + p.k_c * v.q_e)
