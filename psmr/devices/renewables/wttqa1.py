"""The torque control of wind plants with a doubly fed generator (type 3)."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from psmr.dae.declare.component import Component, Parameter, Terms, crossed, flag, nonnegative
from psmr.devices.blocks import lag, through_points
from psmr.devices.machines.textbook import S_N
from psmr.devices.renewables.electrical import at_rest

POINTS = tuple((f"p{k}", f"spd{k}") for k in (1, 2, 3, 4))


class WTTQA1(Component):
    """Torque control of wind plants of type 3: the power reference of the electrical control.

    ::

        p_e -> 1/(1 + s t_p) -> p_f -> polygon (p1, spd1) to (p4, spd4) -> 1/(1 + s t_wref) -> omega_ref
        t_flag = 1: (p_ref0 - p_f)/omega_g  }
        t_flag = 0: omega_g - omega_ref     } -> k_pp + k_ip/s, limits [t_min, t_max] -> torque
        p_ref = torque omega_g

    p_ref0 is the reference of the plant control, or held. omega_g is the speed of the generator, 1 where the
    plant has no drive train. The polygon is constant beyond its ends. The integral part rests while |v| is
    outside [v_dip, v_up] of the plant's electrical control, as what rests there does. Powers are per unit on
    t_rate in MW, the converter's base where that is 0. Source: WECC, Second Generation of Wind Turbine Models
    (2014), WTGTRQ_A; EPRI 3002027129 (2023), WTGTRQ_A; PSS/E Model Library, WTTQA1. The
    descriptions of GridKit and the diagrams of Dynawo (WTGQa) have the same blocks and limits.
    """

    role = "torque_control"
    records = ("WTTQA1 t_flag k_pp k_ip t_p t_wref t_max t_min p1 spd1 p2 spd2 p3 spd3 p4 spd4 t_rate",)
    passes = {"p_ref": "p_ref0"}
    shared = ("v_dip", "v_up", "s_n")
    states = ("p_f", "omega_ref", "x_t")
    algebraic = ("p_ref", "p_asked")
    inputs = ("v_re", "v_im", "p_e", "omega_g", "p_ref0")
    optional = {"omega_g": 1.0}
    limits = {"x_t": ("t_min", "t_max")}
    lags = {"p_f": ("t_p",), "omega_ref": ("t_wref",)}

    s_n = S_N
    v_dip = Parameter("pu", "voltage below which the integral part rests")
    v_up = Parameter("pu", "voltage above which the integral part rests")
    t_flag = Parameter("1", "1: control of the power, 0: control of the speed", flag)
    k_pp = Parameter("pu", "proportional gain", nonnegative)
    k_ip = Parameter("pu/s", "integral gain", nonnegative)
    t_p = Parameter("s", "time constant of the measured power", nonnegative)
    t_wref = Parameter("s", "time constant of the speed reference", nonnegative)
    t_max = Parameter("pu", "upper limit of the torque")
    t_min = Parameter("pu", "lower limit of the torque")
    p1, p2, p3, p4 = (Parameter("pu", f"power of point {k}") for k in (1, 2, 3, 4))
    spd1, spd2, spd3, spd4 = (Parameter("pu", f"speed at p{k}") for k in (1, 2, 3, 4))
    t_rate = Parameter("MW", "base of the powers, 0 for the converter's", nonnegative, 0.0)

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to crossed limits, to powers that do not rise, and to a control without an integral part."""
        if p["k_ip"] == 0:
            return "k_ip = 0: must be > 0, or nothing holds the power"
        for (low, _), (high, _) in pairwise(POINTS):
            if p[high] < p[low]:
                return f"{high} = {p[high]:g}: must not be below {low} = {p[low]:g}"
        return crossed(p, ("t_min", "t_max"))

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of power, speed reference and torque; the reference, and what is asked."""
        base = _base(m.where, m.le, p)
        points = tuple((getattr(p, power), getattr(p, speed)) for power, speed in POINTS)
        asked = v.p_ref0 / base
        error = m.where(m.ge(p.t_flag, 1), (asked - v.p_f) / v.omega_g, v.omega_g - v.omega_ref)
        torque = m.clip(p.k_pp * error + v.x_t, p.t_min, p.t_max)
        derivatives = (
            lag(v.p_e / base, v.p_f, p.t_p),
            lag(through_points(m, v.p_f, points), v.omega_ref, p.t_wref),
            at_rest(m, v, p, p.k_ip * error),
        )
        return derivatives, (base * torque * v.omega_g - v.p_ref, v.p_ref0 - v.p_asked), ()

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium for the power reference that the electrical control needs."""
        known = terminal.signals
        base = _base(np.where, np.less_equal, p)
        power, order = known.get("p_e", 0.0), known.get("p_ref", known.get("p_e", 0.0))
        p_f = power / base
        speed = np.interp(p_f, [0.0, 1.0], [0.8, 1.0])
        own = {"p_f": p_f, "omega_ref": speed, "x_t": order / base / known.get("omega_g", 1.0)}
        return own | {"p_ref": order, "p_ref0": power, "p_asked": power}


def _base(where: Any, below: Any, p: Any) -> Any:
    """Return the base of the powers by that of the converter."""
    none = below(p.t_rate, 0)
    return where(none, 1.0, where(none, 1.0, p.t_rate) / p.s_n)
