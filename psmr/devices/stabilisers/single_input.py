"""Stabilisers with one input, and those that add two: PSS1A, IEEEST, STAB1, STAB2A, ST2CUT, one of speed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from psmr.dae.declare.component import Parameter, nonnegative, nonpositive, positive
from psmr.devices.stabilisers.signals import FILTER, POWER, OneSignal, Stabiliser, TwoSignals, machine_power


def while_between(b: Any, v: Any, p: Any, output: Any) -> None:
    """Declare the output, 0 where the voltage of the bus is outside [v_cl, v_cu]; v_cu = 0 is none."""
    square = v.v_re**2 + v.v_im**2
    low = b.where(b.ge(square, p.v_cl**2), output, 0)
    between = b.where(b.le(p.v_cu, 0), low, b.where(b.le(square, p.v_cu**2), low, 0))
    b.output("v_s", between, "y, 0 where |v| is outside [v_cl, v_cu]")


class IEEEST(OneSignal):
    """IEEE stabilising model on one signal: filter, two lead-lags, washout, limits.

    u is the signal of the code `input`. A limit v_cl or v_cu of zero is none. Source: IEEE Std 421.5-2016,
    type PSS1A; PSS/E, Model Library, IEEEST.
    """

    records = (
        "IEEEST input bus a_1 a_2 a_3 a_4 a_5 a_6 t_1 t_2 t_3 t_4 t_5 t_6 k_s l_s_max l_s_min v_cu v_cl",
    )

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
    def objection(p: Mapping[str, float]) -> str | None:
        """Object to a numerator without its denominator, and to a bus of a signal that is the machine's."""
        if p["a_3"] == 0 == p["a_4"] and p["a_5"] != 0:
            more = "; a_1 and a_2 may change places with a_3 and a_4" if p["a_1"] or p["a_2"] else ""
            return f"a_3 = a_4 = 0 and a_5 = {p['a_5']:g}: one of them must be > 0 where a_5 is not 0{more}"
        return OneSignal.objection(p)

    @classmethod
    def diagram(cls, b: Any, v: Any, p: Any) -> None:
        """Connect filters, lead-lags and washout."""
        first = b.second_order(("f_1", "f_2"), cls.measured(b, v, p), ("a_1", "a_2"))
        filtered = b.second_order(("f_3", "f_4"), first, ("a_3", "a_4"), ("a_5", "a_6"))
        led = b.lead_lag("x_2", b.lead_lag("x_1", filtered, "t_1", "t_2"), "t_3", "t_4")
        washed = p.k_s * p.t_5 / p.t_6 * b.washout("x_w", led, "t_6")
        while_between(b, v, p, b.named("y", b.limit(washed, "l_s_min", "l_s_max")))


class PSS1A(OneSignal):
    """Stabiliser on one signal: lag, washout, filter, two lead-lags, limits.

    u is the signal of the code `input`. A limit v_cl or v_cu of zero is none. Source: IEEE Std 421.5-2005 and
    2016, type PSS1A; the order of the values is that of a record of PSS/E 36 in InterPSS' public test data.
    """

    records = ("PSS1A input a_1 a_2 t_1 t_2 t_3 t_4 t_5 t_6 k_s l_s_max l_s_min v_cu v_cl",)

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

    @classmethod
    def diagram(cls, b: Any, v: Any, p: Any) -> None:
        """Connect lag, washout, filter and lead-lags."""
        washed = b.washout("x_w", b.lag("x_6", cls.measured(b, v, p), "t_6"), "t_5")
        filtered = b.second_order(("f_1", "f_2"), p.k_s * washed, ("a_1", "a_2"))
        led = b.lead_lag("x_2", b.lead_lag("x_1", filtered, "t_1", "t_2"), "t_3", "t_4")
        while_between(b, v, p, b.named("y", b.limit(led, "l_s_min", "l_s_max")))


class STAB1(Stabiliser):
    """Stabiliser on the machine's speed: a washout and two lead-lags.

    ::

        omega - 1 -> k_t s t/(1 + s t) -> (1 + s t1_t3 t_3)/(1 + s t_3) -> (1 + s t2_t4 t_4)/(1 + s t_4)
        -> limits [-h_lim, h_lim] -> v_s

    The record has the quotients K/T, T1/T3 and T2/T4. Source: PSS/E, Model Library, STAB1.
    """

    records = ("STAB1 k_t t t1_t3 t_3 t2_t4 t_4 h_lim",)
    inputs = ("omega",)

    k_t = Parameter("pu voltage per pu speed", "gain K by the washout's time constant T")
    t = Parameter("s", "time constant of the washout", positive)
    t1_t3 = Parameter("1", "first lead by first lag", nonnegative)
    t_3 = Parameter("s", "first lag", nonnegative)
    t2_t4 = Parameter("1", "second lead by second lag", nonnegative)
    t_4 = Parameter("s", "second lag", nonnegative)
    h_lim = Parameter("pu", "limit of the output on both sides", positive)

    @classmethod
    def diagram(cls, b: Any, v: Any, p: Any) -> None:
        """Connect washout and lead-lags."""
        washed = b.washout("w", p.k_t * (v.omega - 1), "t")
        x_3 = b.lag("x_3", washed, "t_3")
        led = x_3 + p.t1_t3 * (washed - x_3)
        x_4 = b.lag("x_4", led, "t_4")
        b.output("v_s", b.clip(x_4 + p.t2_t4 * (led - x_4), -p.h_lim, p.h_lim))


class STAB2A(Stabiliser):
    """Stabilising unit on the machine's electrical power: three washouts, a lag beside a gain, two lags.

    p_e is the power at the terminals in pu on the machine's base. Source: PSS/E, Model Library, STAB2A (the
    power sensitive stabilising unit of ASEA).
    """

    records = ("STAB2A k_2 t_2 k_3 t_3 k_4 k_5 t_5 h_lim",)
    inputs = POWER

    k_2 = Parameter("1", "gain of each washout")
    t_2 = Parameter("s", "time constant of each washout", positive)
    k_3 = Parameter("1", "gain of the lag")
    t_3 = Parameter("s", "time constant of the lag", nonnegative)
    k_4 = Parameter("1", "gain beside the lag")
    k_5 = Parameter("pu voltage per pu power", "gain of each lag at the output (their product has the unit)")
    t_5 = Parameter("s", "time constant of each lag at the output", nonnegative)
    h_lim = Parameter("pu", "limit of the output on both sides", positive)

    @classmethod
    def diagram(cls, b: Any, v: Any, p: Any) -> None:
        """Connect washouts and lags."""
        power = machine_power(b, v)
        first = b.washout("w_1", -p.k_2 * power, "t_2")
        second = b.washout("w_2", p.k_2 * first, "t_2")
        third = b.named("w", b.washout("w_3", p.k_2 * second, "t_2"))
        beside = b.lag("x_3", p.k_3 * third, "t_3") + p.k_4 * third
        x_5 = b.lag("x_5", p.k_5 * b.lag("x_4", p.k_5 * beside, "t_5"), "t_5")
        b.output("v_s", b.clip(x_5, -p.h_lim, p.h_lim))


class PssSpeed(Stabiliser):
    """Stabiliser on the machine's speed: gain, washout, one lead-lag, limits on the output.

    Source: Kundur (1994), chapter 12; IEEE Std 421.5-2016, type PSS1A with one lead-lag.
    Speed and voltage in per unit.
    """

    inputs = ("omega",)

    k = Parameter("pu voltage per pu speed", "gain")
    t_w = Parameter("s", "time constant of the washout", positive)
    t_1 = Parameter("s", "lead time constant", nonnegative)
    t_2 = Parameter("s", "lag time constant", positive)
    v_s_min = Parameter("pu", "lower limit of the output")
    v_s_max = Parameter("pu", "upper limit of the output")

    @classmethod
    def diagram(cls, b: Any, v: Any, p: Any) -> None:
        """Connect washout and lead-lag."""
        led = b.lead_lag("x_l", b.washout("x_w", p.k * (v.omega - 1), "t_w"), "t_1", "t_2")
        b.output("v_s", b.clip(led, p.v_s_min, p.v_s_max))


class SumOfSignals(TwoSignals, part=True):
    """What both stabilisers with two inputs share: lags, washout, three lead-lags, limits."""

    inputs = ("u_1", "u_2", "v_re", "v_im")

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

    @classmethod
    def limited(cls, b: Any, v: Any, p: Any) -> Any:
        """Connect lags, washout and lead-lags, and return the output within its limits."""
        x_1 = b.lag("x_1", p.k_1 * cls.measured(b, v, p, "u_1"), "t_1", idle="k_1")
        x_2 = b.lag("x_2", p.k_2 * cls.measured(b, v, p, "u_2"), "t_2", idle="k_2")
        led = b.lead_lag("x_3", b.rate("x_w", x_1 + x_2, "t_3", "t_4"), "t_5", "t_6")
        led = b.lead_lag("x_5", b.lead_lag("x_4", led, "t_7", "t_8"), "t_9", "t_10")
        return b.named("y", b.limit(led, "l_s_min", "l_s_max"))


class ST2CUT(SumOfSignals):
    """Stabilising model on the sum of two signals: washout, three lead-lags, limits, voltage cut-off.

    u_1 and u_2 are the signals of the codes `input_1` and `input_2`, v_0 is the voltage at the start. A limit
    v_cl or v_cu of zero is none. Source: PSS/E, Model Library, ST2CUT.
    """

    records = (
        "ST2CUT input_1 bus_1 input_2 bus_2 k_1 k_2 t_1 t_2 t_3 t_4 t_5 t_6 t_7 t_8 t_9 t_10 l_s_max "
        "l_s_min v_cu v_cl",
    )

    v_0 = Parameter("pu", "bus voltage at the start, from the power flow", positive)
    v_cu = Parameter("pu", "rise of the bus voltage above which there is no output, 0 for none", nonnegative)
    v_cl = Parameter("pu", "fall of the bus voltage below which there is no output, 0 for none", nonpositive)

    @classmethod
    def diagram(cls, b: Any, v: Any, p: Any) -> None:
        """Connect the output, cut off where the voltage has risen or fallen too far."""
        output = cls.limited(b, v, p)
        rise = b.magnitude(v.v_re, v.v_im) - p.v_0
        low = b.where(b.ge(p.v_cl, 0), output, b.where(b.ge(rise, p.v_cl), output, 0))
        high = b.where(b.le(p.v_cu, 0), low, b.where(b.le(rise, p.v_cu), low, 0))
        b.output("v_s", high, "y, 0 where |v| - v_0 is outside [v_cl, v_cu]")


class IEE2ST(SumOfSignals):
    """IEEE stabilising model on the sum of two signals: `ST2CUT` with a cut-off at two voltages.

    A limit v_cl or v_cu of zero is none. Source: PSS/E, Model Library, IEE2ST; for its parameters PowerWorld.
    """

    records = (
        "IEE2ST input_1 bus_1 input_2 bus_2 k_1 k_2 t_1 t_2 t_3 t_4 t_5 t_6 t_7 t_8 t_9 t_10 l_s_max "
        "l_s_min v_cu v_cl",
    )

    v_cu = Parameter("pu", "bus voltage above which there is no output, 0 for none", nonnegative)
    v_cl = Parameter("pu", "bus voltage below which there is no output, 0 for none", nonnegative)

    @classmethod
    def diagram(cls, b: Any, v: Any, p: Any) -> None:
        """Connect the output, cut off where the voltage is too low or too high."""
        while_between(b, v, p, cls.limited(b, v, p))
