"""The hydro turbine of the standard library."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from psmr.dae.declare.component import Component, Parameter, Terms, nonnegative, positive
from psmr.devices.blocks import lag


class HYGOV(Component):
    """Hydro turbine: temporary droop, gate limits in rate and position, one penstock with inelastic water.

    ::

        r_perm (p_ref - gate_ref) - (omega - 1) -> 1/(1 + s t_f) -> e
        e -> (1 + s t_r)/(s t_r r_temp), rate within [-velm, velm], limits [g_min, g_max] -> gate_ref
        gate_ref -> 1/(1 + s t_g) -> gate      head = (flow/gate)^2      t_w flow' = 1 - head
        t_m = a_t head (flow - q_nl) - d_turb gate (omega - 1)

    The rate that is limited is that of the whole governor, e'/r_temp + e/(r_temp t_r): its proportional part
    moves the gate too. Source: PSS/E, Model Library, HYGOV; PES-TR1, Dynamic Models for
    Turbine-Governors in Power System Studies (2013).
    """

    role = "governor"
    records = ("HYGOV r_perm r_temp t_r t_f t_g velm g_max g_min t_w a_t d_turb q_nl",)
    states = ("e", "gate_ref", "gate", "flow")
    algebraic = ("t_m",)
    inputs = ("omega", "p_ref")
    limits = {"gate_ref": ("g_min", "g_max")}
    lags = {"gate": ("t_g",)}

    r_perm = Parameter("pu speed per pu gate", "permanent droop", positive)
    r_temp = Parameter("pu speed per pu gate", "temporary droop", positive)
    t_r = Parameter("s", "reset time of the temporary droop", positive)
    t_f = Parameter("s", "time constant of the filter", positive)
    t_g = Parameter("s", "time constant of the gate servo", nonnegative)
    velm = Parameter("pu/s", "limit of the gate's rate", positive)
    g_max = Parameter("pu", "upper limit of the gate")
    g_min = Parameter("pu", "lower limit of the gate", nonnegative)
    t_w = Parameter("s", "water starting time", positive)
    a_t = Parameter("pu on machine base", "gain of the turbine", positive)
    d_turb = Parameter("pu on machine base", "damping of the turbine", nonnegative)
    q_nl = Parameter("pu", "flow at no load", nonnegative)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of filter, governor, gate and flow, and the torque."""
        slip = v.omega - 1
        d_e = lag(p.r_perm * (v.p_ref - v.gate_ref) - slip, v.e, p.t_f)
        rate = m.clip((d_e + v.e / p.t_r) / p.r_temp, -p.velm, p.velm)
        head = (v.flow / v.gate) ** 2
        torque = p.a_t * head * (v.flow - p.q_nl) - p.d_turb * v.gate * slip
        derivatives = (d_e, rate, lag(v.gate_ref, v.gate, p.t_g), (1 - head) / p.t_w)
        return derivatives, (torque - v.t_m,), ()

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium for the torque that the machine needs."""
        t_m = terminal.signals.get("t_m", 0.0)
        flow = np.asarray(t_m / p.a_t + p.q_nl)
        return {"gate_ref": flow, "gate": flow, "flow": flow, "t_m": t_m, "p_ref": flow}
