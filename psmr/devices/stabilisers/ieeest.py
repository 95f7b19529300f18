"""The single-input stabiliser of the standard library."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from psmr.dae.declare.component import Component, Parameter, Terms, crossed, improper, nonnegative, positive
from psmr.devices.blocks import lead_lag, washout
from psmr.devices.machines.textbook import F_N
from psmr.devices.stabilisers.signals import CODE, FILTER, PLACE, misplaced, with_signals


class IEEEST(Component):
    """IEEE stabilising model on one signal: filter, two lead-lags, washout, limits.

    ::

        u -> 1/(1 + a_1 s + a_2 s^2) -> (1 + a_5 s + a_6 s^2)/(1 + a_3 s + a_4 s^2)
        -> (1 + s t_1)/(1 + s t_2) -> (1 + s t_3)/(1 + s t_4) -> k_s s t_5/(1 + s t_6)
        -> limits [l_s_min, l_s_max] -> v_s, and v_s = 0 where |v| is outside [v_cl, v_cu]

    u is the signal of the code `input`. A limit v_cl or v_cu of zero is none. Source: IEEE Std 421.5-2016,
    type PSS1A; PSS/E, Model Library, IEEEST.
    """

    role = "stabiliser"
    records = (
        "IEEEST input bus a_1 a_2 a_3 a_4 a_5 a_6 t_1 t_2 t_3 t_4 t_5 t_6 k_s l_s_max l_s_min v_cu v_cl",
    )
    states = ("f_1", "f_2", "f_3", "f_4", "x_1", "x_2", "x_w")
    algebraic = ("v_s",)
    inputs = ("u", "v_re", "v_im")
    buses = {"bus": ("u_re", "u_im")}
    structural = ("input",)
    lags = {
        "f_1": ("a_1", "a_2"),
        "f_2": ("a_2",),
        "f_3": ("a_3", "a_4"),
        "f_4": ("a_4",),
        "x_1": ("t_2",),
        "x_2": ("t_4",),
    }

    f_n = F_N
    input = replace(CODE, default=1.0)
    bus = PLACE
    a_1 = Parameter("s", "first denominator of the filter, coefficient of s", nonnegative)
    a_2 = Parameter("s^2", "first denominator of the filter, coefficient of s^2", nonnegative)
    a_3 = Parameter("s", "second denominator of the filter, coefficient of s", nonnegative)
    a_4 = Parameter("s^2", "second denominator of the filter, coefficient of s^2", nonnegative)
    a_5 = Parameter("s", "numerator of the filter, coefficient of s")
    a_6 = Parameter("s^2", "numerator of the filter, coefficient of s^2")
    t_1 = Parameter("s", "first lead", nonnegative)
    t_2 = Parameter("s", "first lag", nonnegative)
    t_3 = Parameter("s", "second lead", nonnegative)
    t_4 = Parameter("s", "second lag", nonnegative)
    t_5 = Parameter("s", "numerator of the washout", nonnegative)
    t_6 = Parameter("s", "time constant of the washout", positive)
    k_s = Parameter("pu voltage per pu of the signal", "gain")
    l_s_max = Parameter("pu", "upper limit of the output")
    l_s_min = Parameter("pu", "lower limit of the output")
    v_cu = Parameter("pu", "bus voltage above which there is no output, 0 for none", nonnegative)
    v_cl = Parameter("pu", "bus voltage below which there is no output, 0 for none", nonnegative)
    t_f = FILTER

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to leads without their lags and to crossed limits."""
        if wrong := crossed(p, ("l_s_min", "l_s_max")):
            return wrong
        if p["a_3"] == 0 == p["a_4"] and p["a_5"] != 0:
            more = "; a_1 and a_2 may change places with a_3 and a_4" if p["a_1"] or p["a_2"] else ""
            return f"a_3 = a_4 = 0 and a_5 = {p['a_5']:g}: one of them must be > 0 where a_5 is not 0{more}"
        if wrong := misplaced(p, "input", "bus"):
            return wrong
        return improper(p, ("a_6", "a_4"), ("t_1", "t_2"), ("t_3", "t_4"))

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of filter, lead-lags and washout, and the output.

        f_2 and f_4 are the derivatives of f_1 and f_3.
        """
        d_2 = (v.u - v.f_1 - p.a_1 * v.f_2) / p.a_2
        d_4 = (v.f_1 - v.f_3 - p.a_3 * v.f_4) / p.a_4
        filtered = v.f_3 + p.a_5 * v.f_4 + p.a_6 * d_4
        first, d_x1 = lead_lag(filtered, v.x_1, p.t_1, p.t_2)
        second, d_x2 = lead_lag(first, v.x_2, p.t_3, p.t_4)
        washed, d_w = washout(second, v.x_w, p.t_6)
        output = m.clip(p.k_s * p.t_5 / p.t_6 * washed, p.l_s_min, p.l_s_max)
        derivatives = (v.f_2, d_2, v.f_4, d_4, d_x1, d_x2, d_w)
        return derivatives, (while_between(m, v, p, output) - v.v_s,), ()

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the signal at rest: it passes everything but the washout."""
        return dict.fromkeys(("f_1", "f_3", "x_1", "x_2", "x_w"), terminal.signals["u"])

    @staticmethod
    def shape(*choice: int) -> Mapping[str, Any]:
        """Return the attributes for an input code."""
        return with_signals(IEEEST, dict(zip(("u",), choice, strict=True)))


def while_between(m: Any, v: Any, p: Any, output: Any) -> Any:
    """Return the output, 0 where the voltage of the bus is outside [v_cl, v_cu]; v_cu = 0 is none."""
    square = v.v_re**2 + v.v_im**2
    low = m.where(m.ge(square, p.v_cl**2), output, 0)
    return m.where(m.le(p.v_cu, 0), low, m.where(m.le(square, p.v_cu**2), low, 0))
