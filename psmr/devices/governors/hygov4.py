"""The hydro turbine with a pilot servo and a dashpot."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from psmr.dae.declare.component import Component, Parameter, Terms, crossed, nonnegative, positive
from psmr.devices.blocks import lag, through_points, washout

POINTS = range(6)


class HYGOV4(Component):
    """Hydro turbine: pilot servo, dashpot, gate limits in rate and position, inelastic water.

    ::

        r_perm (p_ref - gate) - r_temp s t_r/(1 + s t_r) gate - (omega - 1) -> 1/(1 + s t_p) -> pilot
        pilot/t_g, limits [u_c, u_o] -> 1/s, limits [p_min, p_max] -> gate -> polygon (gv_k, pgv_k) -> opening
        head = (flow/opening)^2      t_w flow' = h_dam - head
        t_m = a_t head (flow - q_nl) - d_turb gate (omega - 1)

    Without points (gv_5 = 0) the opening is the gate. The dead bands db1, eps and db2 and the blades of a
    Kaplan turbine are not modelled. Sources: what the parameters are, PowerWorld, Governor HYGOV4 (a model of
    PSLF); the blocks, the implementations of ANDES and GridDyn. The order of a PSS/E record is not public.
    """

    role = "governor"
    states = ("pilot", "gate", "x_r", "flow")
    algebraic = ("t_m",)
    inputs = ("omega", "p_ref")
    limits = {"gate": ("p_min", "p_max")}
    lags = {"pilot": ("t_p",)}

    t_g = Parameter("s", "time constant of the gate servo", positive)
    t_p = Parameter("s", "time constant of the pilot servo", nonnegative)
    u_o = Parameter("pu/s", "largest rate of the gate", positive)
    u_c = Parameter("pu/s", "smallest rate of the gate, below zero")
    p_max = Parameter("pu", "upper limit of the gate")
    p_min = Parameter("pu", "lower limit of the gate", nonnegative)
    r_perm = Parameter("pu speed per pu gate", "permanent droop", positive)
    r_temp = Parameter("pu speed per pu gate", "temporary droop", nonnegative)
    t_r = Parameter("s", "time constant of the dashpot", positive)
    t_w = Parameter("s", "water starting time", positive)
    a_t = Parameter("pu on machine base", "gain of the turbine", positive)
    d_turb = Parameter("pu on machine base", "damping of the turbine", nonnegative)
    h_dam = Parameter("pu", "head at the dam", positive, default=1.0)
    q_nl = Parameter("pu", "flow at no load at nominal head", nonnegative)
    gv_0, gv_1, gv_2, gv_3, gv_4, gv_5 = (
        Parameter("pu", f"gate of point {k} of the curve", nonnegative, 0.0) for k in POINTS
    )
    pgv_0, pgv_1, pgv_2, pgv_3, pgv_4, pgv_5 = (
        Parameter("pu", f"opening of point {k} of the curve", nonnegative, 0.0) for k in POINTS
    )

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to crossed limits and to a curve that does not rise."""
        wrong = crossed(p, ("p_min", "p_max"), ("u_c", "u_o"))
        if wrong or not p["gv_5"]:
            return wrong
        for kind in ("gv", "pgv"):
            for k in POINTS[1:]:
                if p[f"{kind}_{k}"] <= p[f"{kind}_{k - 1}"]:
                    return f"{kind}_{k} = {p[f'{kind}_{k}']:g}: must be above {kind}_{k - 1}"
        return None

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of pilot, gate, dashpot and flow, and the torque."""
        slip = v.omega - 1
        moving, d_r = washout(v.gate, v.x_r, p.t_r)
        error = p.r_perm * (v.p_ref - v.gate) - p.r_temp * moving - slip
        rate = m.clip(v.pilot / p.t_g, p.u_c, p.u_o)
        points = [(getattr(p, f"gv_{k}"), getattr(p, f"pgv_{k}")) for k in POINTS]
        opening = m.where(m.le(p.gv_5, 0), v.gate, through_points(m, v.gate, points))
        head = (v.flow / opening) ** 2
        torque = p.a_t * head * (v.flow - p.q_nl) - p.d_turb * v.gate * slip
        return (lag(error, v.pilot, p.t_p), rate, d_r, (p.h_dam - head) / p.t_w), (torque - v.t_m,), ()

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium for the torque that the machine needs."""
        t_m = terminal.signals.get("t_m", 0.0)
        flow = np.asarray(t_m / (p.a_t * p.h_dam) + p.q_nl)
        opening = flow / np.sqrt(p.h_dam)
        gates, openings = (
            np.stack([np.broadcast_to(getattr(p, f"{kind}_{k}"), opening.shape) for k in POINTS], axis=-1)
            for kind in ("gv", "pgv")
        )
        rows = zip(opening.ravel(), gates.reshape(-1, 6), openings.reshape(-1, 6), strict=True)
        found = [np.interp(o, y, x) if x[-1] > 0 else o for o, x, y in rows]
        gate = np.reshape(found, opening.shape)
        return {"gate": gate, "x_r": gate, "flow": flow, "t_m": t_m, "p_ref": gate}
