"""The electrical controls of the generic renewable models: from references to current commands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from psmr.dae.declare.component import (
    Action,
    Component,
    Parameter,
    Terms,
    crossed,
    flag,
    nonnegative,
    positive,
    whole,
)
from psmr.devices.blocks import dead_band, gate, lag, limited_where, remaining, through_points
from psmr.devices.renewables.converters import NONE, PU, V_0

V_LEAST = 0.01
"""Least voltage by which a power is divided."""


class ElectricalControl(Component):
    """Parameters and variables that the electrical controls share."""

    states: ClassVar[tuple[str, ...]] = ("v_m", "p_m", "x_q", "x_v", "i_qv", "p_ord")
    algebraic = ("ip_cmd", "iq_cmd", "ip_max", "iq_max", "iq_min")
    inputs: ClassVar[tuple[str, ...]] = ("v_re", "v_im", "p_e", "q_e", "p_ref", "q_ext")
    buses = {"bus_v": ("v_re", "v_im")}
    limits = {"x_q": ("v_min", "v_max"), "x_v": ("iq_min", "iq_max"), "p_ord": ("p_min", "p_max")}
    lags = {"v_m": ("t_rv",), "p_m": ("t_p",)}
    integrals = {"x_q": ("v_flag", "q_flag"), "x_v": ("q_flag",)}
    together = (("x_v", "ip_cmd", "iq_cmd", "ip_max", "iq_max", "iq_min"),)

    v_0 = V_0
    bus_v = Parameter("number", "bus whose voltage is measured, 0 for the plant's own", whole(0, 999999), 0.0)
    pf_flag = Parameter("1", "1: q_ext is the tangent of the power factor's angle", flag)
    v_flag = Parameter(
        "1", "1: the voltage loop follows the reactive-power control, 0: it follows q_ext", flag
    )
    q_flag = Parameter("1", "1: reactive current from the voltage loop, 0: from the reactive power", flag)
    pq_flag = Parameter("1", "priority of the current limit: 1 active, 0 reactive", flag)
    v_dip = Parameter("pu", "voltage below which the controls rest")
    v_up = Parameter("pu", "voltage above which the controls rest")
    t_rv = Parameter("s", "time constant of the voltage filter", nonnegative)
    dbd1 = Parameter("pu", "lower end of the voltage dead band, at most 0")
    dbd2 = Parameter("pu", "upper end of the voltage dead band", nonnegative)
    k_qv = Parameter(f"{PU} per pu", "gain of the injected reactive current", nonnegative)
    iqh1 = Parameter(PU, "upper limit of the injected reactive current")
    iql1 = Parameter(PU, "lower limit of the injected reactive current")
    v_ref0 = Parameter(
        "pu", "voltage reference of the injection, 0 for the voltage at the start", nonnegative
    )
    t_p = Parameter("s", "time constant of the power filter", nonnegative)
    q_max = Parameter(PU, "upper limit of the reactive power that is asked for")
    q_min = Parameter(PU, "lower limit of the reactive power that is asked for")
    v_max = Parameter("pu", "upper limit of the voltage that is asked for")
    v_min = Parameter("pu", "lower limit of the voltage that is asked for")
    k_qp = Parameter("1", "proportional gain of the reactive-power control", nonnegative)
    k_qi = Parameter("1/s", "integral gain of the reactive-power control", nonnegative)
    k_vp = Parameter(f"{PU} per pu", "proportional gain of the voltage loop", nonnegative)
    k_vi = Parameter(f"{PU} per pu and s", "integral gain of the voltage loop", nonnegative)
    t_iq = Parameter("s", "time constant of the reactive current without voltage loop", positive)
    dp_max = Parameter(f"{PU}/s", "largest rate at which the power rises", positive)
    dp_min = Parameter(f"{PU}/s", "largest rate at which the power falls, below zero")
    p_max = Parameter(PU, "upper limit of the power")
    p_min = Parameter(PU, "lower limit of the power")
    i_max = Parameter(PU, "limit of the current's magnitude", positive)
    t_pord = Parameter("s", "time constant of the power order", positive)

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to crossed limits, to flags that contradict each other, to loops without an integrator."""
        if p["pf_flag"] and p["q_flag"] and not p["v_flag"]:
            return (
                "pf_flag = 1, v_flag = 0, q_flag = 1: the voltage loop would follow a reactive power;"
                " v_flag must be 1, or pf_flag 0"
            )
        if p["dp_min"] >= 0:
            return f"dp_min = {p['dp_min']:g}: must be < 0, the power falls at this rate"
        if p["dbd1"] > 0:
            return f"dbd1 = {p['dbd1']:g}: must be at most 0, the dead band contains the reference"
        if p["q_flag"] and p["k_vi"] == 0:
            return "k_vi = 0: must be > 0 where q_flag is 1"
        if p["q_flag"] and p["v_flag"] and p["k_qi"] == 0:
            return "k_qi = 0: must be > 0 where q_flag and v_flag are 1"
        injecting = (("iql1", "iqh1"),) if p["k_qv"] else ()
        limits = (("v_dip", "v_up"), ("q_min", "q_max"), ("v_min", "v_max"), ("p_min", "p_max"))
        return crossed(p, *limits, *injecting)

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium without limits, for the converter's commands."""
        voltage = np.abs(terminal.voltage)
        known = terminal.signals
        i_p, i_q, power, q = (known.get(name, 0.0) for name in ("ip_cmd", "iq_cmd", "p_e", "q_e"))
        tangent = q / np.where(power == 0, 1.0, power)
        follows = np.where((p.q_flag > 0) & (p.v_flag <= 0), voltage, q)
        order = i_p * voltage
        return {
            "v_m": voltage,
            "p_m": power,
            "x_q": voltage,
            "x_v": i_q,
            "i_qv": follows / voltage,
            "p_ord": order,
            "p_ref": order,
            "q_ext": np.where(p.pf_flag > 0, tangent, follows),
            "ip_cmd": i_p,
            "iq_cmd": i_q,
            "ip_max": p.i_max,
            "iq_max": p.i_max,
            "iq_min": -p.i_max,
        }


def resting_outside(m: Any, v: Any, p: Any, rate: Any) -> Any:
    """Return the rate of a state that rests while the voltage is outside [v_dip, v_up].

    It is whole where the voltage is `GATE` or more inside, and in proportion between (see `gate`).
    """
    return rate * gate(m, -voltage_excess(m, v, p))


def voltage_excess(m: Any, v: Any, p: Any) -> Any:
    """Return by how much the voltage is outside [v_dip, v_up], below zero inside."""
    voltage = m.sqrt(v.v_re**2 + v.v_im**2)
    return m.max(p.v_dip - voltage, voltage - p.v_up)


def injection(m: Any, v: Any, p: Any) -> Any:
    """Return the reactive current that a voltage outside the dead band calls for."""
    reference = m.where(m.le(p.v_ref0, 0), p.v_0, p.v_ref0)
    called = p.k_qv * dead_band(m, reference - v.v_m, p.dbd1, p.dbd2)
    injecting = m.where(m.le(p.k_qv, 0), 0, 1)
    return injecting * limited_where(m, m.ge(injecting, 1), called, p.iql1, p.iqh1)


def asked_reactive(m: Any, v: Any, p: Any) -> Any:
    """Return the reactive power or voltage that is asked for."""
    return m.where(m.le(p.pf_flag, 0), v.q_ext, v.q_ext * v.p_m)


def wanted_power(m: Any, p: Any, asked: Any) -> Any:
    """Return the reactive power that is asked for within its limits, where there is a control of it."""
    return limited_where(m, m.ge(p.q_flag * p.v_flag, 1), asked, p.q_min, p.q_max)


def current_table(m: Any, x: Any, points: Sequence[tuple[Any, Any]]) -> Any:
    """Return the limit of a voltage-dependent table; one whose points are all zero is none."""
    size = sum(x_k**2 + y_k**2 for x_k, y_k in points)
    return m.where(m.le(size, 0), NONE, through_points(m, x, points))


def control(
    m: Any,
    v: Any,
    p: Any,
    asked: Any,
    wanted: Any,
    bias: Any,
    injected: Any,
    ceilings: tuple[Any, Any],
    power: Any,
    measured: Any,
    least: Any = 0,
    held: tuple[Any, Any] | None = None,
) -> tuple[Terms, Terms, Terms]:
    """Return the derivatives and residuals that the electrical controls share.

    `asked`, `wanted`, `bias`: what is asked for, the same within its limits as a reactive power, and what is
    added to it where it is a voltage; `injected`: reactive current beside the loops; `ceilings`: largest
    active and reactive currents alone; `power`: power that is asked for; `measured`: voltage that the voltage
    loop compares with; `least`: least active current; `held`: whether the reactive current is held, and at
    what.
    """
    looping = m.ge(p.q_flag, 1)
    error_q = wanted - v.q_e
    order = m.where(m.le(p.v_flag, 0), asked + bias, p.k_qp * error_q + v.x_q)
    v_order = limited_where(m, looping, order, p.v_min, p.v_max)
    error_v = v_order - measured
    looped = limited_where(m, looping, p.k_vp * error_v + v.x_v, v.iq_min, v.iq_max)
    floored = m.max(v.v_m, V_LEAST)
    reactive = m.where(looping, looped, v.i_qv) + injected
    if held is not None:
        reactive = m.where(*held, reactive)

    ceiling_p, ceiling_q = ceilings
    active_first = m.ge(p.pq_flag, 1)
    room_p = m.where(active_first, p.i_max, remaining(m, p.i_max, v.iq_cmd))
    room_q = m.where(active_first, remaining(m, p.i_max, v.ip_cmd), p.i_max)
    derivatives = (
        lag(m.sqrt(v.v_re**2 + v.v_im**2), v.v_m, p.t_rv),
        lag(v.p_e, v.p_m, p.t_p),
        resting_outside(m, v, p, p.k_qi * error_q),
        resting_outside(m, v, p, p.k_vi * error_v),
        resting_outside(m, v, p, lag(asked / floored, v.i_qv, p.t_iq)),
        resting_outside(m, v, p, m.clip(lag(power, v.p_ord, p.t_pord), p.dp_min, p.dp_max)),
    )
    residuals = (
        m.clip(v.p_ord / floored, least, v.ip_max) - v.ip_cmd,
        m.clip(reactive, v.iq_min, v.iq_max) - v.iq_cmd,
        m.min(ceiling_p, room_p) - v.ip_max,
        m.min(ceiling_q, room_q) - v.iq_max,
        -v.iq_max - v.iq_min,
    )
    return derivatives, residuals, ()


def unsorted(p: Mapping[str, float], count: int) -> str | None:
    """Return the objection to tables of `count` points whose voltages do not rise."""
    for x, y in (("vq", "iq"), ("vp", "ip")):
        for k in range(2, count + 1):
            rest = [p[f"{name}{j}"] for name in (x, y) for j in range(k, count + 1)]
            if p[f"{x}{k}"] <= p[f"{x}{k - 1}"] and any(rest):
                return (
                    f"{x}{k} = {p[f'{x}{k}']:g}: must be above {x}{k - 1} = {p[f'{x}{k - 1}']:g}; points"
                    " that are not needed stand at the end as zeros"
                )
    return None


def limit_point(which: str, k: int, what: str) -> Parameter:
    """Return the declaration of a voltage or current of a point of a current limit."""
    unit = "pu" if which == "voltage" else PU
    return Parameter(
        unit, f"{which} of point {k} of the {what} current limit", nonnegative if unit == PU else None
    )


class REECB1(ElectricalControl):
    """Electrical control of solar plants: reactive and active current commands within a current limit.

    ::

        |v| -> 1/(1 + s t_rv) -> v_m      p_e -> 1/(1 + s t_p) -> p_m
        asked = q_ext, with pf_flag q_ext p_m

        v_flag = 1: asked -> limits [q_min, q_max] -> - q_e -> k_qp + k_qi/s, limits [v_min, v_max] -> order
        v_flag = 0: asked -> order
        order -> limits [v_min, v_max] -> - v_m -> k_vp + k_vi/s, limits [iq_min, iq_max] -> looped
        asked/v_m -> 1/(1 + s t_iq) -> i_qv

        v_ref0 - v_m -> dead band [dbd1, dbd2] -> k_qv -> limits [iql1, iqh1] -> injected
        (q_flag = 1: looped, 0: i_qv) + injected -> limits [iq_min, iq_max] -> iq_cmd

        p_ref -> 1/(1 + s t_pord), rate [dp_min, dp_max], limits [p_min, p_max] -> p_ord
        p_ord/v_m -> limits [0, ip_max] -> ip_cmd

        pq_flag = 0: iq_max = i_max,                       ip_max = sqrt(i_max^2 - iq_cmd^2)
        pq_flag = 1: iq_max = sqrt(i_max^2 - ip_cmd^2),    ip_max = i_max;      iq_min = -iq_max

    While |v| is outside [v_dip, v_up], both integrators, i_qv and p_ord rest. Over the first 1e-3 pu inside,
    their rates grow in proportion from 0 to the whole: a rate that stops at once where the voltage crosses a
    threshold, and moves that voltage, has no solution there; over a band it has the one that keeps to the
    threshold (A. F. Filippov, Differential Equations with Discontinuous Righthand Sides, 1988, section 4).

    The set-point q_ext is a reactive power; the tangent of the power factor's angle with pf_flag = 1; a
    voltage with v_flag = 0 and q_flag = 1. Source: EPRI 3002027129, Model User Guide for Generic Renewable
    Energy System Models (2023), REEC_B; PSS/E Model Library, REECB1; WECC, Solar Photovoltaic Power Plant
    Modeling and Validation Guideline (2019).
    """

    role = "electrical_control"
    records = (
        "REECB1 bus_v pf_flag v_flag q_flag pq_flag v_dip v_up t_rv dbd1 dbd2 k_qv iqh1 iql1 v_ref0 "
        "t_p q_max q_min v_max v_min k_qp k_qi k_vp k_vi t_iq dp_max dp_min p_max p_min i_max t_pord",
    )

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives, and the residuals of commands and limits."""
        asked, injected = asked_reactive(m, v, p), injection(m, v, p)
        wanted, ceilings = wanted_power(m, p, asked), (p.i_max, p.i_max)
        return control(m, v, p, asked, wanted, 0, injected, ceilings, v.p_ref, v.v_m)


LIMIT_HOLDS = (
    Action(
        "",
        voltage_excess,
        effect=lambda v, p: {"dipped": 1.0, "limit_held": 0.0},
        used=lambda p: p.t_hld2 > 0,
    ),
    Action(
        "limit of the active current held",
        lambda m, v, p: m.where(m.ge(p.dipped, 1), -voltage_excess(m, v, p), -1),
        effect=lambda v, p: {"dipped": 0.0, "limit_held": 1.0, "ip_held": v.before.ip_max},
        used=lambda p: p.t_hld2 > 0,
    ),
    Action(
        "limit of the active current released",
        lambda m, v, p: m.where(m.ge(p.limit_held, 1), -voltage_excess(m, v, p), -1),
        lambda p: p.t_hld2,
        lambda v, p: {"limit_held": 0.0},
        lambda p: p.t_hld2 > 0,
    ),
)
"""The limit of the active current, held for t_hld2 after a dip."""

HOLDS = (
    Action(
        "",
        voltage_excess,
        effect=lambda v, p: {"holding": 1.0},
        used=lambda p: p.t_hld != 0,
    ),
    Action(
        "reactive current no longer held",
        lambda m, v, p: m.where(m.ge(p.holding, 1), -voltage_excess(m, v, p), -1),
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
        injected = called + resting_outside(m, v, p, after - called)
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
