"""Stabilisers with one input, and those that add two: PSS1A, IEEEST, STAB1, STAB2A, ST2CUT, one of speed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from psmr.dae.declare.component import (
    Component,
    Parameter,
    Terms,
    crossed,
    improper,
    nonnegative,
    nonpositive,
    positive,
)
from psmr.dae.declare.mathematics import NumericMath
from psmr.devices.blocks import lag, lead_lag, washout
from psmr.devices.machines.textbook import F_N
from psmr.devices.stabilisers.signals import (
    CODE,
    FILTER,
    PLACE,
    POWER,
    electrical_power,
    known,
    misplaced,
    with_signals,
)


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


class STAB1(Component):
    """Stabiliser on the machine's speed: a washout and two lead-lags.

    ::

        omega - 1 -> k_t s t/(1 + s t) -> (1 + s t1_t3 t_3)/(1 + s t_3) -> (1 + s t2_t4 t_4)/(1 + s t_4)
        -> limits [-h_lim, h_lim] -> v_s

    The record has the quotients K/T, T1/T3 and T2/T4. Source: PSS/E, Model Library, STAB1.
    """

    role = "stabiliser"
    records = ("STAB1 k_t t t1_t3 t_3 t2_t4 t_4 h_lim",)
    states = ("w", "x_3", "x_4")
    algebraic = ("v_s",)
    inputs = ("omega",)
    lags = {"x_3": ("t_3",), "x_4": ("t_4",)}

    k_t = Parameter("pu voltage per pu speed", "gain K by the washout's time constant T")
    t = Parameter("s", "time constant of the washout", positive)
    t1_t3 = Parameter("1", "first lead by first lag", nonnegative)
    t_3 = Parameter("s", "first lag", nonnegative)
    t2_t4 = Parameter("1", "second lead by second lag", nonnegative)
    t_4 = Parameter("s", "second lag", nonnegative)
    h_lim = Parameter("pu", "limit of the output on both sides", positive)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of washout and lead-lags, and the limited output."""
        washed, d_w = washout(p.k_t * (v.omega - 1), v.w, p.t)
        first = v.x_3 + p.t1_t3 * (washed - v.x_3)
        second = v.x_4 + p.t2_t4 * (first - v.x_4)
        derivatives = (d_w, (washed - v.x_3) / p.t_3, (first - v.x_4) / p.t_4)
        return derivatives, (m.clip(second, -p.h_lim, p.h_lim) - v.v_s,), ()

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the state of rest: the speed has no deviation."""
        return {"w": 0.0, "x_3": 0.0, "x_4": 0.0, "v_s": 0.0}


class STAB2A(Component):
    """Stabilising unit on the machine's electrical power: three washouts, a lag beside a gain, two lags.

    ::

        -p_e -> (k_2 s t_2/(1 + s t_2))^3 -> w      w (k_4 + k_3/(1 + s t_3)) -> (k_5/(1 + s t_5))^2
        -> limits [-h_lim, h_lim] -> v_s

    p_e is the power at the terminals in pu on the machine's base. Source: PSS/E, Model Library, STAB2A (the
    power sensitive stabilising unit of ASEA).
    """

    role = "stabiliser"
    records = ("STAB2A k_2 t_2 k_3 t_3 k_4 k_5 t_5 h_lim",)
    states = ("w_1", "w_2", "w_3", "x_3", "x_4", "x_5")
    algebraic = ("v_s",)
    inputs = POWER
    lags = {"x_3": ("t_3",), "x_4": ("t_5",), "x_5": ("t_5",)}

    k_2 = Parameter("1", "gain of each washout")
    t_2 = Parameter("s", "time constant of each washout", positive)
    k_3 = Parameter("1", "gain of the lag")
    t_3 = Parameter("s", "time constant of the lag", nonnegative)
    k_4 = Parameter("1", "gain beside the lag")
    k_5 = Parameter("pu voltage per pu power", "gain of each lag at the output (their product has the unit)")
    t_5 = Parameter("s", "time constant of each lag at the output", nonnegative)
    h_lim = Parameter("pu", "limit of the output on both sides", positive)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of washouts and lags, and the limited output."""
        power, _ = electrical_power(m, v, p, None)
        first, d_1 = washout(-p.k_2 * power, v.w_1, p.t_2)
        second, d_2 = washout(p.k_2 * first, v.w_2, p.t_2)
        third, d_3 = washout(p.k_2 * second, v.w_3, p.t_2)
        lags = (
            lag(p.k_3 * third, v.x_3, p.t_3),
            lag(p.k_5 * (v.x_3 + p.k_4 * third), v.x_4, p.t_5),
            lag(p.k_5 * v.x_4, v.x_5, p.t_5),
        )
        return (d_1, d_2, d_3, *lags), (m.clip(v.x_5, -p.h_lim, p.h_lim) - v.v_s,), ()

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the power at rest: it stops at the first washout."""
        return {"w_1": -p.k_2 * electrical_power(NumericMath, known(terminal), p, None)[0]}


class PssSpeed(Component):
    """Stabiliser on the machine's speed: gain, washout, one lead-lag, limits on the output.

    ::

        k (omega - 1) -> s t_w/(1 + s t_w) -> (1 + s t_1)/(1 + s t_2) -> limits [v_s_min, v_s_max] -> v_s

    Source: Kundur (1994), chapter 12; IEEE Std 421.5-2016, type PSS1A with one lead-lag.
    Speed and voltage in per unit.
    """

    role = "stabiliser"
    states = ("x_w", "x_l")
    algebraic = ("v_s",)
    inputs = ("omega",)

    k = Parameter("pu voltage per pu speed", "gain")
    t_w = Parameter("s", "time constant of the washout", positive)
    t_1 = Parameter("s", "lead time constant", nonnegative)
    t_2 = Parameter("s", "lag time constant", positive)
    v_s_min = Parameter("pu", "lower limit of the output")
    v_s_max = Parameter("pu", "upper limit of the output")

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of washout and lead-lag, and the limited output."""
        washed, d_w = washout(p.k * (v.omega - 1), v.x_w, p.t_w)
        led, d_l = lead_lag(washed, v.x_l, p.t_1, p.t_2)
        return (d_w, d_l), (m.clip(led, p.v_s_min, p.v_s_max) - v.v_s,), ()


class TwoSignals(Component):
    """What both stabilisers with two inputs share: lags, washout, three lead-lags, limits."""

    states = ("x_1", "x_2", "x_w", "x_3", "x_4", "x_5")
    algebraic = ("v_s",)
    inputs = ("u_1", "u_2", "v_re", "v_im")
    buses = {"bus_1": ("u_1_re", "u_1_im"), "bus_2": ("u_2_re", "u_2_im")}
    structural = ("input_1", "input_2")
    lags = {"x_1": ("t_1",), "x_2": ("t_2",), "x_3": ("t_6",), "x_4": ("t_8",), "x_5": ("t_10",)}
    integrals = {"x_1": "k_1", "x_2": "k_2"}

    f_n = F_N
    input_1 = CODE
    bus_1 = PLACE
    input_2 = CODE
    bus_2 = PLACE
    k_1 = Parameter("pu voltage per pu of the signal", "gain of the first signal")
    k_2 = Parameter("pu voltage per pu of the signal", "gain of the second signal")
    t_1 = Parameter("s", "lag of the first signal", nonnegative)
    t_2 = Parameter("s", "lag of the second signal", nonnegative)
    t_3 = Parameter("s", "numerator of the washout", nonnegative)
    t_4 = Parameter("s", "time constant of the washout", positive)
    t_5 = Parameter("s", "first lead", nonnegative)
    t_6 = Parameter("s", "first lag", nonnegative)
    t_7 = Parameter("s", "second lead", nonnegative)
    t_8 = Parameter("s", "second lag", nonnegative)
    t_9 = Parameter("s", "third lead", nonnegative)
    t_10 = Parameter("s", "third lag", nonnegative)
    l_s_max = Parameter("pu", "upper limit of the output")
    l_s_min = Parameter("pu", "lower limit of the output")
    t_f = FILTER

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to leads without their lags and to crossed limits."""
        if wrong := crossed(p, ("l_s_min", "l_s_max")):
            return wrong
        if wrong := misplaced(p, "input_1", "bus_1") or misplaced(p, "input_2", "bus_2"):
            return wrong
        return improper(p, ("t_5", "t_6"), ("t_7", "t_8"), ("t_9", "t_10"))

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the signals at rest: they stop at the washout."""
        x_1, x_2 = p.k_1 * terminal.signals["u_1"], p.k_2 * terminal.signals["u_2"]
        return {"x_1": x_1, "x_2": x_2, "x_w": x_1 + x_2}


def shaped(m: Any, v: Any, p: Any) -> tuple[Terms, Any]:
    """Return the derivatives of lags, washout and lead-lags, and the output within its limits."""
    washed, d_w = washout(v.x_1 + v.x_2, v.x_w, p.t_4)
    first, d_3 = lead_lag(p.t_3 / p.t_4 * washed, v.x_3, p.t_5, p.t_6)
    second, d_4 = lead_lag(first, v.x_4, p.t_7, p.t_8)
    third, d_5 = lead_lag(second, v.x_5, p.t_9, p.t_10)
    d_1, d_2 = lag(p.k_1 * v.u_1, v.x_1, p.t_1), lag(p.k_2 * v.u_2, v.x_2, p.t_2)
    return (d_1, d_2, d_w, d_3, d_4, d_5), m.clip(third, p.l_s_min, p.l_s_max)


class ST2CUT(TwoSignals):
    """Stabilising model on the sum of two signals: washout, three lead-lags, limits, voltage cut-off.

    ::

        u_1 -> k_1/(1 + s t_1) -> x_1      u_2 -> k_2/(1 + s t_2) -> x_2
        x_1 + x_2 -> s t_3/(1 + s t_4) -> (1 + s t_5)/(1 + s t_6) -> (1 + s t_7)/(1 + s t_8)
        -> (1 + s t_9)/(1 + s t_10) -> limits [l_s_min, l_s_max] -> v_s,
        and v_s = 0 where |v| - v_0 is outside [v_cl, v_cu]

    u_1 and u_2 are the signals of the codes `input_1` and `input_2`, v_0 is the voltage at the start. A limit
    v_cl or v_cu of zero is none. Source: PSS/E, Model Library, ST2CUT.
    """

    role = "stabiliser"
    records = (
        "ST2CUT input_1 bus_1 input_2 bus_2 k_1 k_2 t_1 t_2 t_3 t_4 t_5 t_6 t_7 t_8 t_9 t_10 l_s_max "
        "l_s_min v_cu v_cl",
    )

    v_0 = Parameter("pu", "bus voltage at the start, from the power flow", positive)
    v_cu = Parameter("pu", "rise of the bus voltage above which there is no output, 0 for none", nonnegative)
    v_cl = Parameter("pu", "fall of the bus voltage below which there is no output, 0 for none", nonpositive)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of lags, washout and lead-lags, and the output."""
        derivatives, output = shaped(m, v, p)
        rise = m.sqrt(v.v_re**2 + v.v_im**2) - p.v_0
        low = m.where(m.ge(p.v_cl, 0), output, m.where(m.ge(rise, p.v_cl), output, 0))
        high = m.where(m.le(p.v_cu, 0), low, m.where(m.le(rise, p.v_cu), low, 0))
        return derivatives, (high - v.v_s,), ()

    @staticmethod
    def shape(*choice: int) -> Mapping[str, Any]:
        """Return the attributes for two input codes."""
        return with_signals(ST2CUT, dict(zip(("u_1", "u_2"), choice, strict=True)))


class IEE2ST(TwoSignals):
    """IEEE stabilising model on the sum of two signals: `ST2CUT` with a cut-off at two voltages.

    ::

        u_1 -> k_1/(1 + s t_1) -> x_1      u_2 -> k_2/(1 + s t_2) -> x_2
        x_1 + x_2 -> s t_3/(1 + s t_4) -> (1 + s t_5)/(1 + s t_6) -> (1 + s t_7)/(1 + s t_8)
        -> (1 + s t_9)/(1 + s t_10) -> limits [l_s_min, l_s_max] -> v_s,
        and v_s = 0 where |v| is outside [v_cl, v_cu]

    A limit v_cl or v_cu of zero is none. Source: PSS/E, Model Library, IEE2ST; for its parameters PowerWorld.
    """

    role = "stabiliser"
    records = (
        "IEE2ST input_1 bus_1 input_2 bus_2 k_1 k_2 t_1 t_2 t_3 t_4 t_5 t_6 t_7 t_8 t_9 t_10 l_s_max "
        "l_s_min v_cu v_cl",
    )

    v_cu = Parameter("pu", "bus voltage above which there is no output, 0 for none", nonnegative)
    v_cl = Parameter("pu", "bus voltage below which there is no output, 0 for none", nonnegative)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of lags, washout and lead-lags, and the output."""
        derivatives, output = shaped(m, v, p)
        square = v.v_re**2 + v.v_im**2
        low = m.where(m.ge(square, p.v_cl**2), output, 0)
        high = m.where(m.le(p.v_cu, 0), low, m.where(m.le(square, p.v_cu**2), low, 0))
        return derivatives, (high - v.v_s,), ()

    @staticmethod
    def shape(*choice: int) -> Mapping[str, Any]:
        """Return the attributes for two input codes."""
        return with_signals(IEE2ST, dict(zip(("u_1", "u_2"), choice, strict=True)))
