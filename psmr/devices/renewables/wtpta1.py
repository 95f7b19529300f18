"""The pitch control of wind turbines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from psmr.dae.declare.component import Component, Parameter, Terms, crossed, flag, nonnegative, positive


class WTPTA1(Component):
    """Pitch control of wind turbines: of the turbine's speed, and of the power beyond what is asked for.

    ::

        e = omega_t - omega_ref + k_cc (p_ord - p_asked) -> k_pw + k_iw/s, limits [theta_min, theta_max] -> a
        p_ord - p_asked -> k_pc + k_ic/s, limits [theta_min, theta_max] -> b
        a + b -> 1/(1 + s t_pi), rate [rate_min, rate_max], limits [theta_min, theta_max] -> theta

    Angles in degrees. The limits of a PI control hold for its integral part, without windup, and for its
    output. At the start theta is that of the aerodynamics; which of the two integral parts has it nothing
    says: the one of the power is 0 with t_flag = 1, the one of the speed with t_flag = 0. Source: WECC,
    Second Generation of Wind Turbine Models (2014), WTGPT_A; PSS/E Model Library, WTPTA1. The
    descriptions of GridKit and the diagrams of Dynawo (WTGPa) have the same blocks and limits.
    """

    role = "pitch_control"
    records = ("WTPTA1 k_iw k_pw k_ic k_pc k_cc t_pi theta_max theta_min rate_max rate_min",)
    shared = ("t_flag",)
    states = ("x_w", "x_c", "theta")
    inputs = ("omega_t", "omega_ref", "p_ord", "p_asked")
    limits = dict.fromkeys(("x_w", "x_c", "theta"), ("theta_min", "theta_max"))
    units = dict.fromkeys(("x_w", "x_c", "theta"), "deg")

    t_flag = Parameter("1", "that of the torque control", flag, 0.0)
    k_iw = Parameter("deg/pu/s", "integral gain of the speed", positive)
    k_pw = Parameter("deg/pu", "proportional gain of the speed", nonnegative)
    k_ic = Parameter("deg/pu/s", "integral gain of the power", positive)
    k_pc = Parameter("deg/pu", "proportional gain of the power", nonnegative)
    k_cc = Parameter("pu", "gain from the power to the speed", nonnegative)
    t_pi = Parameter("s", "time constant of the blades", positive)
    theta_max = Parameter("deg", "largest pitch")
    theta_min = Parameter("deg", "smallest pitch")
    rate_max = Parameter("deg/s", "largest rate of the pitch", positive)
    rate_min = Parameter("deg/s", "smallest rate of the pitch, below zero")

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to crossed limits."""
        return crossed(p, ("theta_min", "theta_max"), ("rate_min", "rate_max"))

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of both integral parts and of the pitch."""
        beyond = v.p_ord - v.p_asked
        error = v.omega_t - v.omega_ref + p.k_cc * beyond
        of_speed = m.clip(p.k_pw * error + v.x_w, p.theta_min, p.theta_max)
        of_power = m.clip(p.k_pc * beyond + v.x_c, p.theta_min, p.theta_max)
        d_w, d_c = p.k_iw * error, p.k_ic * beyond
        if getattr(m, "opened", False):  # the torque control says at rest what one of these says, too
            power = m.ge(p.t_flag, 1)
            d_w, d_c = m.where(power, d_w, -v.x_w), m.where(power, -v.x_c, d_c)
        turning = m.clip((of_speed + of_power - v.theta) / p.t_pi, p.rate_min, p.rate_max)
        return (d_w, d_c, turning), (), ()

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return a pitch of zero."""
        return {}
