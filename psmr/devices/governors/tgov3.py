"""The steam turbine with intercept valves of the standard library."""

from __future__ import annotations

from psmr.dae.declare.component import Parameter, nonnegative, positive
from psmr.devices.governors.ieeeg1 import IEEEG1


class TGOV3(IEEEG1):
    """Steam turbine of three stages, IEEEG1 with a limit of the reheater's pressure, intercept valves open.

    ::

        omega - 1 -> k (1 + s t_2)/(1 + s t_1) -> c      p_ref - c - valve -> 1/t_3 -> limits [u_c, u_o]
        -> 1/s, limits [p_min, p_max] -> valve
        valve -> 1/(1 + s t_4) -> x_4 -> 1/(1 + s t_5), at most pr_max -> x_5 -> 1/(1 + s t_6) -> x_6
        t_m = k_1 x_4 + k_3 x_5 + k_5 x_6

    x_5 is the pressure of the reheater, which is the flow through open intercept valves. They close in fast
    valving, which a command of the study starts in PSS/E: there is none here, and its times TA, TB and TC
    change nothing. The record's K2 and K3 are k_3 and k_5. Source: IEEE Committee Report, Dynamic Models for
    Steam and Hydro Turbines in Power System Studies (1973); PSS/E, Model Library, TGOV3; for the order of its
    values and the curve of the valves PowerWorld and InterPSS, TGOV3D.
    """

    role = "governor"
    records = ("TGOV3 k t_1 t_2 t_3 u_o u_c p_max p_min t_4 k_1 t_5 k_3 t_6 k_5 -t_a -t_b -t_c pr_max",)
    limits = {**IEEEG1.limits, "x_5": (None, "pr_max")}
    lags = {state: times for state, times in IEEEG1.lags.items() if state != "x_5"}

    t_5 = Parameter("s", "time constant of the reheater", positive)
    pr_max = Parameter("pu", "upper limit of the reheater's pressure", positive)
    t_7 = Parameter("s", "time constant of a fourth stage, 0 for none", nonnegative, 0.0)
    k_7 = Parameter("1", "fraction of the torque after t_7", nonnegative, 0.0)
