"""What the reactive controls of the first generic models of wind turbines share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from psmr.dae.declare.component import Component, Parameter, Terms, crossed, nonnegative, whole
from psmr.devices.blocks import error_at_rest, lag
from psmr.devices.renewables.converters import PU


class WindVar(Component):
    """Parameters and variables of a voltage control, a power-factor control and a control of the power.

    The set-point is a voltage v_ref with var_flag = 1, otherwise a reactive power or the tangent of the power
    factor's angle. With k_qi = 0 nothing of these acts: x_q rests, and is the set-point itself.
    """

    states: ClassVar[tuple[str, ...]] = ("v_m", "x_v", "x_i", "q_v", "p_f", "x_q")
    inputs: ClassVar[tuple[str, ...]] = (
        "v_re",
        "v_im",
        "v_re_r",
        "v_im_r",
        "p_e",
        "q_e",
        "p_ref",
        "v_ref",
    )
    buses = {"bus_v": ("v_re_r", "v_im_r")}
    limits: ClassVar[Mapping[str, tuple[str | None, str | None]]] = {
        "x_i": ("q_min", "q_max"),
        "x_q": ("v_min", "v_max"),
    }
    lags: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "v_m": ("t_rv",),
        "x_v": ("t_v",),
        "q_v": ("t_fv",),
        "p_f": ("t_p",),
    }
    integrals: ClassVar[Mapping[str, Any]] = {"x_i": "k_iv"}
    structural = ("var_flag",)
    switched = ("k_qi",)

    bus_v = Parameter(
        "number", "bus whose voltage is regulated, 0 for the plant's own", whole(0, 999999), 0.0
    )
    t_fv = Parameter("s", "time constant of the filter behind the voltage control", nonnegative)
    k_pv = Parameter(f"{PU} per pu", "proportional gain of the voltage control", nonnegative)
    k_iv = Parameter(f"{PU} per pu and s", "integral gain of the voltage control", nonnegative)
    q_max = Parameter(PU, "upper limit of the reactive power that is asked for")
    q_min = Parameter(PU, "lower limit of the reactive power that is asked for")
    t_rv = Parameter("s", "time constant of the voltage filter", nonnegative)
    k_qi = Parameter(
        "pu per pu and s", "integral gain of the reactive-power control, 0 for none", nonnegative
    )
    v_min = Parameter("pu", "lower limit of the voltage that is asked for")
    v_max = Parameter("pu", "upper limit of the voltage that is asked for")
    t_v = Parameter("s", "time constant of the proportional part of the voltage control", nonnegative)
    t_p = Parameter("s", "time constant of the power in the power-factor control", nonnegative)

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to crossed limits and to a voltage control without a gain."""
        if p["var_flag"] == 1 and p["k_qi"] and p["k_pv"] == 0 == p["k_iv"]:
            return "k_pv = k_iv = 0: one of them must be > 0 where var_flag is 1"
        return crossed(p, ("q_min", "q_max"), ("v_min", "v_max"))


OF_VOLTAGE = ("v_m", "x_v", "x_i", "q_v")
"""States of the voltage control."""

OF_POWER = (*OF_VOLTAGE, "p_f", "x_q")
"""States of all of it."""


def what_acts(kind: type[WindVar], var_flag: int, on: int) -> Mapping[str, Any]:
    """Return the variables of a control without voltage control, or without what k_qi = 0 leaves out.

    The set-point is q_ext, or x_q.
    """
    if on and var_flag == 1:
        return {}
    left_out, asked = (OF_VOLTAGE, "q_ext") if on else (OF_POWER, "x_q")
    kept = {
        name: {state: value for state, value in getattr(kind, name).items() if state not in left_out}
        for name in ("limits", "lags", "integrals")
    }
    states = tuple(state for state in kind.states if state not in left_out)
    return {"states": states, "inputs": (*kind.inputs[:-1], asked), **kept}


def reactive_orders(
    m: Any, v: Any, p: Any, power: tuple[Any, Any], held: Any, by_factor: Any, part: Any = 1
) -> Terms:
    """Return the derivatives of the states of `WindVar`, of those that act.

    Parameters
    ----------
    power
        Active and reactive power.
    held
        What the voltage control holds, before its filter.
    by_factor
        Whether the set-point q_ext is a tangent.
    part
        Part of the plant that is on line, by which the voltage's error is divided.
    """
    p_e, q_e = power
    voltage_control: Terms = ()
    if not hasattr(v, "p_f"):
        return ()
    if hasattr(v, "q_ext"):
        command = v.q_ext * m.where(by_factor, v.p_f, 1)
    else:
        error, command = (v.v_ref - v.v_m) / part, v.q_v
        voltage_control = (
            lag(held, v.v_m, p.t_rv),
            lag(p.k_pv * error, v.x_v, p.t_v),
            p.k_iv * error,
            lag(m.clip(v.x_i + v.x_v, p.q_min, p.q_max), v.q_v, p.t_fv),
        )
    limited = m.clip(command, p.q_min, p.q_max)
    return (*voltage_control, lag(p_e, v.p_f, p.t_p), p.k_qi * (limited - q_e))


def asked_of(held: Any, power: Any, q: Any, by_factor: Any, p: Any) -> dict[str, Any]:
    """Return the states and set-points at rest for a voltage that is held and powers."""
    error, factor = error_at_rest(q, p.k_pv, p.k_iv), np.where(by_factor, power, 1.0)
    return {
        "v_m": held,
        "x_v": p.k_pv * error,
        "x_i": q - p.k_pv * error,
        "q_v": q,
        "p_f": power,
        "v_ref": held + error,
        "q_ext": q / np.where(factor == 0, 1.0, factor),
    }
