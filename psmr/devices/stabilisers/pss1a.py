"""The stabiliser with one input of the standard library, IEEE type PSS1A."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from psmr.dae.declare.component import Component, Parameter, Terms, crossed, improper, nonnegative, positive
from psmr.devices.blocks import lag, lead_lag, washout
from psmr.devices.machines.textbook import F_N
from psmr.devices.stabilisers.ieeest import while_between
from psmr.devices.stabilisers.signals import CODE, FILTER, PLACE, misplaced, with_signals


class PSS1A(Component):
    """Stabiliser on one signal: lag, washout, filter, two lead-lags, limits.

    ::

        u -> 1/(1 + s t_6) -> k_s s t_5/(1 + s t_5) -> 1/(1 + a_1 s + a_2 s^2)
        -> (1 + s t_1)/(1 + s t_2) -> (1 + s t_3)/(1 + s t_4)
        -> limits [l_s_min, l_s_max] -> v_s, and v_s = 0 where |v| is outside [v_cl, v_cu]

    u is the signal of the code `input`. A limit v_cl or v_cu of zero is none. Source: IEEE Std 421.5-2005 and
    2016, type PSS1A; the order of the values is that of a record of PSS/E 36 in InterPSS' public test data.
    """

    role = "stabiliser"
    records = ("PSS1A input a_1 a_2 t_1 t_2 t_3 t_4 t_5 t_6 k_s l_s_max l_s_min v_cu v_cl",)
    states = ("x_6", "x_w", "f_1", "f_2", "x_1", "x_2")
    algebraic = ("v_s",)
    inputs = ("u", "v_re", "v_im")
    buses = {"bus": ("u_re", "u_im")}
    structural = ("input",)
    lags = {"x_6": ("t_6",), "f_1": ("a_1", "a_2"), "f_2": ("a_2",), "x_1": ("t_2",), "x_2": ("t_4",)}

    f_n = F_N
    input = replace(CODE, default=1.0)
    bus = PLACE
    a_1 = Parameter("s", "filter, coefficient of s", nonnegative)
    a_2 = Parameter("s^2", "filter, coefficient of s^2", nonnegative)
    t_1 = Parameter("s", "first lead", nonnegative)
    t_2 = Parameter("s", "first lag", nonnegative)
    t_3 = Parameter("s", "second lead", nonnegative)
    t_4 = Parameter("s", "second lag", nonnegative)
    t_5 = Parameter("s", "time constant of the washout", positive)
    t_6 = Parameter("s", "lag of the signal", nonnegative)
    k_s = Parameter("pu voltage per pu of the signal", "gain")
    l_s_max = Parameter("pu", "upper limit of the output")
    l_s_min = Parameter("pu", "lower limit of the output")
    v_cu = Parameter("pu", "bus voltage above which there is no output, 0 for none", nonnegative)
    v_cl = Parameter("pu", "bus voltage below which there is no output, 0 for none", nonnegative)
    t_f = FILTER

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to leads without their lags and to crossed limits."""
        wrong = crossed(p, ("l_s_min", "l_s_max")) or misplaced(p, "input", "bus")
        return wrong or improper(p, ("t_1", "t_2"), ("t_3", "t_4"))

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of lag, washout, filter, lead-lags, and the output; f_2 is that of f_1."""
        washed, d_w = washout(v.x_6, v.x_w, p.t_5)
        d_2 = (p.k_s * washed - v.f_1 - p.a_1 * v.f_2) / p.a_2
        first, d_x1 = lead_lag(v.f_1, v.x_1, p.t_1, p.t_2)
        second, d_x2 = lead_lag(first, v.x_2, p.t_3, p.t_4)
        output = while_between(m, v, p, m.clip(second, p.l_s_min, p.l_s_max))
        return (lag(v.u, v.x_6, p.t_6), d_w, v.f_2, d_2, d_x1, d_x2), (output - v.v_s,), ()

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the signal at rest: it stops at the washout."""
        return dict.fromkeys(("x_6", "x_w"), terminal.signals["u"])

    @staticmethod
    def shape(*choice: int) -> Mapping[str, Any]:
        """Return the attributes for an input code."""
        return with_signals(PSS1A, dict(zip(("u",), choice, strict=True)))
