"""The pitch control of the first generic models of doubly fed wind turbines (type 3)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from psmr.dae.declare.component import Component, Parameter, Terms, crossed, nonnegative, positive


class WT3P1(Component):
    """Pitch control of type 3 wind turbines of the first generation: speed, and power above its set-point.

    ::

        omega_g - omega_ref -> k_pp + k_ip/s, limits [theta_min, theta_max] -> a
        p_ord - p_set -> k_pc + k_ic/s, limits [0, theta_max] -> b
        a + b -> 1/(1 + s t_p), rate at most rate_max, limits [theta_min, theta_max] -> theta

    Angles in degrees. The limits of a PI control hold for its integral part, without windup, and for its
    output. At the start the pitch is the turbine's theta_0, and the integral part of the speed has it.
    Source: WECC, Wind Power Plant Dynamic Modeling Guide (2010), WT3P; PSS/E, Model Library, WT3P1; for the
    order of the values InterPSS.
    """

    role = "pitch_control"
    records = ("WT3P1 t_p k_pp k_ip k_pc k_ic theta_min theta_max rate_max p_set",)
    states = ("x_w", "x_c", "theta")
    algebraic = ("least",)
    inputs = ("omega_g", "omega_ref", "p_ord", "theta_0")
    optional = {"theta_0": 0.0}
    limits = {
        "x_w": ("theta_min", "theta_max"),
        "x_c": ("least", "theta_max"),
        "theta": ("theta_min", "theta_max"),
    }
    integrals = {"x_c": "k_ic"}
    units = dict.fromkeys(("x_w", "x_c", "theta", "least"), "deg")

    t_p = Parameter("s", "time constant of the blades", positive)
    k_pp = Parameter("deg/pu", "proportional gain of the speed", nonnegative)
    k_ip = Parameter("deg/pu/s", "integral gain of the speed", positive)
    k_pc = Parameter("deg/pu", "proportional gain of the power", nonnegative)
    k_ic = Parameter("deg/pu/s", "integral gain of the power", nonnegative)
    theta_min = Parameter("deg", "smallest pitch")
    theta_max = Parameter("deg", "largest pitch", positive)
    rate_max = Parameter("deg/s", "largest rate of the pitch", positive)
    p_set = Parameter("pu", "power above which the blades turn")

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to crossed limits."""
        return crossed(p, ("theta_min", "theta_max"))

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of both integral parts and of the pitch."""
        error, beyond = v.omega_g - v.omega_ref, v.p_ord - p.p_set
        of_speed = m.clip(p.k_pp * error + v.x_w, p.theta_min, p.theta_max)
        # No limiters at 0, which a start would be warned of: less power than the set-point is the usual case.
        asked = p.k_pc * beyond + v.x_c
        of_power = m.where(m.le(asked, 0), 0, m.min(asked, p.theta_max))
        growing = m.where(m.le(v.x_c, 0), m.where(m.le(beyond, 0), 0, beyond), beyond)
        turning = m.clip((of_speed + of_power - v.theta) / p.t_p, -p.rate_max, p.rate_max)
        d_w, d_c = p.k_ip * error, p.k_ic * growing
        if getattr(m, "opened", False):  # the electrical control says at rest what d_w does, too
            d_w, d_c, turning = v.theta_0 - v.x_w, -v.x_c, v.x_w - v.theta
        return (d_w, d_c, turning), (-v.least,), ()

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return a pitch of zero."""
        return {}
