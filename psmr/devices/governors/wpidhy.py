"""The Woodward hydro governor with a three-term control of the standard library."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from psmr.dae.declare.component import Parameter, Terms, crossed, nonnegative, positive
from psmr.devices.blocks import lag
from psmr.devices.governors.pidgov import ThreeTermGate, falling, gate_of, penstock
from psmr.devices.stabilisers.signals import POWER, electrical_power


class WPIDHY(ThreeTermGate):
    """Woodward hydro governor: feedback of the electrical power, a three-term control of the gate's rate.

    ::

        reg (p_e - p_ref) -> 1/(1 + s t_reg) -> minus (omega - 1) -> e
        e -> (k_p + k_i/s + k_d s)/(1 + s t_a)^2 -> 1/(1 + s t_b) -> limits [vel_min, vel_max]
        -> 1/s, limits [g_min, g_max] -> gate -> polygon (g_0, 0), (g_1, p_1), (g_2, p_2), (1, p_3)
        -> (1 - s t_w)/(1 + s t_w/2) -> limits [p_min, p_max] -> minus d (omega - 1) -> t_m

    reg is below zero. The polygon is constant beyond its ends. Source: PSS/E, Model Library, WPIDHY; PES-TR1,
    Dynamic Models for Turbine-Governors in Power System Studies (2013); IEC 61970-302, GovHydroWPID.
    """

    role = "governor"
    records = (
        "WPIDHY t_reg reg k_p k_i k_d t_a t_b vel_max vel_min g_max g_min t_w p_max p_min d g_0 g_1 p_1 g_2 "
        "p_2 p_3",
    )
    states = ("x_reg", "x_a", "x_b", "x_i", "velocity", "gate", "x_w")
    algebraic = ("t_m",)
    inputs = ("omega", "p_ref", *POWER)
    limits = {"gate": ("g_min", "g_max")}
    lags = {"x_reg": ("t_reg",), "velocity": ("t_b",)}

    reg = Parameter("pu", "permanent droop, below zero", lambda x: None if x < 0 else "must be < 0")
    t_b = Parameter("s", "time constant of the gate servo", nonnegative)
    a_tw = Parameter("1", "factor of t_w", positive, default=1.0)
    p_max = Parameter("pu", "upper limit of the power")
    p_min = Parameter("pu", "lower limit of the power")
    d = Parameter("pu", "damping of the turbine", nonnegative)

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to crossed limits and to a curve that does not rise."""
        return crossed(p, ("g_min", "g_max"), ("vel_min", "vel_max"), ("p_min", "p_max")) or falling(p)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of feedback, control, gate and water, and the torque."""
        slip = v.omega - 1
        power = electrical_power(m, v, p, None)[0]
        d_b = lag(v.x_a, v.x_b, p.t_a)
        asked = p.k_p * v.x_b + v.x_i + p.k_d * d_b
        water, d_w = penstock(m, v, p)
        derivatives = (
            lag(p.reg * (power - v.p_ref), v.x_reg, p.t_reg),
            lag(v.x_reg - slip, v.x_a, p.t_a),
            d_b,
            p.k_i * v.x_b,
            lag(asked, v.velocity, p.t_b),
            m.clip(v.velocity, p.vel_min, p.vel_max),
            d_w,
        )
        return derivatives, (m.clip(water, p.p_min, p.p_max) - p.d * slip - v.t_m,), ()

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium for the torque that the machine needs."""
        t_m = terminal.signals.get("t_m", 0.0)
        return {"gate": gate_of(t_m, p), "x_w": t_m, "t_m": t_m, "p_ref": t_m}
