"""Stabilisers of several signals or bands: PSS2A, PSS2B, PSS2C, PSS4B."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, ClassVar

from psmr.dae.declare.component import (
    Action,
    NumericMath,
    Parameter,
    flag,
    improper,
    nonnegative,
    positive,
    whole,
)
from psmr.devices.stabilisers.signals import (
    FILTER,
    POWER,
    Stabiliser,
    TwoSignals,
    electrical_power,
    machine_power,
)


class PSS2A(TwoSignals):
    """Stabiliser on speed and power, whose combination is the integral of the accelerating power.

    ::

        u_1 -> s t_w1/(1 + s t_w1) -> s t_w2/(1 + s t_w2) -> 1/(1 + s t_6) -> x_6
        u_2 -> s t_w3/(1 + s t_w3) -> s t_w4/(1 + s t_w4) -> k_s2/(1 + s t_7) -> x_7
        x_6 + k_s3 x_7 -> ((1 + s t_8)/(1 + s t_9)^m)^n -> y
        k_s1 (y - x_7) -> (1 + s t_1)/(1 + s t_2) -> (1 + s t_3)/(1 + s t_4) -> limits [v_st_min, v_st_max]
        -> v_s

    u_1 and u_2 are the signals of the codes `input_1` and `input_2`. A second washout with t_w2 or t_w4 of
    zero is left out, and so is the ramp-tracking filter where m or n is zero. The filter has m n states r_i;
    the equations below are those of m = 5 and n = 1. Source: IEEE Std 421.5-1992, type PSS2A; PSS/E, Model
    Library, PSS2A.
    """

    records = (
        "PSS2A input_1 bus_1 input_2 bus_2 m n t_w1 t_w2 t_6 t_w3 t_w4 t_7 k_s2 k_s3 t_8 t_9 k_s1 t_1 "
        "t_2 t_3 t_4 v_st_max v_st_min",
    )
    states: ClassVar[tuple[str, ...]] = (
        "w_1",
        "w_2",
        "x_6",
        "w_3",
        "w_4",
        "x_7",
        "x_1",
        "x_3",
        "r_1",
        "r_2",
        "r_3",
        "r_4",
        "r_5",
    )
    order: ClassVar[int] = 5
    power: ClassVar[int] = 1
    structural = ("input_1", "input_2", "m", "n")

    m = Parameter("1", "lags of the ramp-tracking filter for each lead", whole(0, 5))
    n = Parameter("1", "power of the ramp-tracking filter", whole(0, 4))
    t_w1 = Parameter("s", "first washout of the first signal", positive)
    t_w2 = Parameter("s", "second washout of the first signal, 0 for none", nonnegative)
    t_6 = Parameter("s", "lag of the first signal", nonnegative)
    t_w3 = Parameter("s", "first washout of the second signal", positive)
    t_w4 = Parameter("s", "second washout of the second signal, 0 for none", nonnegative)
    t_7 = Parameter("s", "lag of the second signal", nonnegative)
    k_s2 = Parameter("pu of the first signal per pu of the second", "gain of the second signal")
    k_s3 = Parameter("1", "gain of the second signal into the ramp-tracking filter")
    t_8 = Parameter("s", "lead of the ramp-tracking filter", nonnegative)
    t_9 = Parameter("s", "lag of the ramp-tracking filter", nonnegative)
    k_s1 = Parameter("pu voltage per pu of the first signal", "gain")
    t_1 = Parameter("s", "first lead", nonnegative)
    t_2 = Parameter("s", "first lag", nonnegative)
    t_3 = Parameter("s", "second lead", nonnegative)
    t_4 = Parameter("s", "second lag", nonnegative)
    v_st_max = Parameter("pu", "upper limit of the output")
    v_st_min = Parameter("pu", "lower limit of the output")
    t_f = FILTER

    @staticmethod
    def objection(p: Mapping[str, float]) -> str | None:
        """Object to a lead without its lag in the filter, and to buses of the machine's signals."""
        if p["m"] == 0 < p["n"] and p["t_8"] != 0:
            return f"m = 0 and t_8 = {p['t_8']:g}: m must be > 0 where there is a lead; n = 0 is no filter"
        return TwoSignals.objection(p) or (improper(p, ("t_8", "t_9")) if p["n"] > 0 else None)

    @classmethod
    def diagram(cls, b: Any, v: Any, p: Any) -> None:
        """Connect washouts, lags, filter and lead-lags."""
        u_1, u_2 = cls.measured(b, v, p, "u_1"), cls.measured(b, v, p, "u_2")
        cls.limited(b, p, cls.combined(b, p, u_1, u_2))

    @classmethod
    def combined(cls, b: Any, p: Any, u_1: Any, u_2: Any) -> Any:
        """Return what the two first lead-lags make of both signals."""
        washed = b.washout("w_2", b.washout("w_1", u_1, "t_w1"), "t_w2", idle="t_w2")
        x_6 = b.lag("x_6", washed, "t_6")
        washed = b.washout("w_4", b.washout("w_3", u_2, "t_w3"), "t_w4", idle="t_w4")
        x_7 = b.lag("x_7", p.k_s2 * washed, "t_7")
        tracked = x_6 + p.k_s3 * x_7
        for i in range(cls.order * cls.power):
            if i % cls.order:
                tracked = b.lag(f"r_{i + 1}", tracked, "t_9")
            else:
                tracked = b.lead_lag(f"r_{i + 1}", tracked, "t_8", "t_9", checked=False)
        return b.lead_lag("x_3", b.lead_lag("x_1", p.k_s1 * (tracked - x_7), "t_1", "t_2"), "t_3", "t_4")

    @classmethod
    def limited(cls, b: Any, p: Any, led: Any) -> None:
        """Declare the output within its limits."""
        b.output("v_s", b.limit(led, "v_st_min", "v_st_max"))

    @classmethod
    def shape(cls, *choice: int) -> Mapping[str, Any]:
        """Return the attributes for two input codes and the order of the filter."""
        first, second, order, power = choice
        own = (state for state in cls.states if not state.startswith("r_"))
        states = (*own, *(f"r_{i + 1}" for i in range(order * power)))
        return cls.with_signals({"u_1": first, "u_2": second}, states, order=order, power=power)


class PSS2B(PSS2A):
    """Stabiliser on speed and power: `PSS2A` with limits of both inputs and a third lead-lag.

    ::

        u_1 -> limits [v_s1_min, v_s1_max] -> s t_w1/(1 + s t_w1) -> s t_w2/(1 + s t_w2) -> 1/(1 + s t_6)
        -> x_6
        u_2 -> limits [v_s2_min, v_s2_max] -> s t_w3/(1 + s t_w3) -> s t_w4/(1 + s t_w4) -> k_s2/(1 + s t_7)
        -> x_7      x_6 + k_s3 x_7 -> ((1 + s t_8)/(1 + s t_9)^m)^n -> y
        k_s1 (y - x_7) -> (1 + s t_1)/(1 + s t_2) -> (1 + s t_3)/(1 + s t_4) -> (1 + s t_10)/(1 + s t_11)
        -> limits [v_st_min, v_st_max] -> v_s

    u_1 and u_2 are the signals of the codes `input_1` and `input_2`. A second washout with t_w2 or t_w4 of
    zero is left out, and so is the ramp-tracking filter where m or n is zero; the equations below are those
    of m = 5 and n = 1. Source: IEEE Std 421.5-2005, type PSS2B; PSS/E, Model Library, PSS2B.
    """

    records = (
        "PSS2B input_1 bus_1 input_2 bus_2 m n t_w1 t_w2 t_6 t_w3 t_w4 t_7 k_s2 k_s3 t_8 t_9 k_s1 t_1 "
        "t_2 t_3 t_4 t_10 t_11 v_s1_max v_s1_min v_s2_max v_s2_min v_st_max v_st_min",
    )
    states: ClassVar[tuple[str, ...]] = (*PSS2A.states[:8], "x_10", *PSS2A.states[8:])

    t_10 = Parameter("s", "third lead", nonnegative)
    t_11 = Parameter("s", "third lag", nonnegative)
    v_s1_max = Parameter("pu of the first signal", "upper limit of the first input")
    v_s1_min = Parameter("pu of the first signal", "lower limit of the first input")
    v_s2_max = Parameter("pu of the second signal", "upper limit of the second input")
    v_s2_min = Parameter("pu of the second signal", "lower limit of the second input")

    @classmethod
    def diagram(cls, b: Any, v: Any, p: Any) -> None:
        """Connect limits of the inputs, washouts, lags, filter and lead-lags."""
        u_1 = b.limit(cls.measured(b, v, p, "u_1"), "v_s1_min", "v_s1_max")
        u_2 = b.limit(cls.measured(b, v, p, "u_2"), "v_s2_min", "v_s2_max")
        cls.limited(b, p, b.lead_lag("x_10", cls.combined(b, p, u_1, u_2), "t_10", "t_11"))


def _watched(p: Any) -> Any:
    """Say whether the power switches it on and off."""
    return (p.p_on >= 0) & (p.p_on != p.p_off)


class PSS2C(PSS2B):
    """Stabiliser on speed and power: `PSS2B` with a fourth lead-lag, on above a power of the machine.

    ::

        u_1 -> limits [v_s1_min, v_s1_max] -> s t_w1/(1 + s t_w1) -> s t_w2/(1 + s t_w2) -> 1/(1 + s t_6)
        -> x_6
        u_2 -> limits [v_s2_min, v_s2_max] -> s t_w3/(1 + s t_w3) -> s t_w4/(1 + s t_w4) -> k_s2/(1 + s t_7)
        -> x_7      x_6 + k_s3 x_7 -> ((1 + s t_8)/(1 + s t_9)^m)^n -> y
        k_s1 (y - x_7) -> (1 + s t_1)/(1 + s t_2) -> (1 + s t_3)/(1 + s t_4) -> (1 + s t_10)/(1 + s t_11)
        -> (1 + s t_12)/(1 + s t_13) -> limits [v_st_min, v_st_max] -> v_s, and v_s = 0 while it is off

    It goes on as the electrical power p_e of the machine rises above p_on, and off as it falls below p_off;
    at the start it is on where p_e is at least p_on. With p_on below 0 or the same as p_off it is always on.
    The rest is `PSS2B`. A compensated frequency as signal is left out, so that the record's last two values
    change nothing. Source: IEEE Std 421.5-2016, type PSS2C; PowerWorld, PSS2C; when the power counts is that
    of InterPSS' PSS3C, the order of the values that of its record of PSS/E 36.
    """

    records = (
        "PSS2C input_1 bus_1 input_2 bus_2 m n t_w1 t_w2 t_6 t_w3 t_w4 t_7 k_s2 k_s3 t_8 t_9 k_s1 t_1 "
        "t_2 t_3 t_4 t_10 t_11 v_s1_max v_s1_min v_s2_max v_s2_min v_st_max v_st_min t_12 t_13 p_on p_off "
        "-x_comp -t_comp",
    )
    states = (*PSS2B.states[:9], "x_12", *PSS2B.states[9:])
    inputs = (*PSS2B.inputs, *POWER)
    memory = ("on",)
    actions = (
        Action(
            "stabiliser on",
            lambda m, v, p: m.where(m.ge(p.on, 1), -1, v.p_e - p.p_on),
            effect=lambda v, p: {"on": 1.0},
            used=_watched,
        ),
        Action(
            "stabiliser off",
            lambda m, v, p: m.where(m.ge(p.on, 1), p.p_off - v.p_e, -1),
            effect=lambda v, p: {"on": 0.0},
            used=_watched,
        ),
    )

    t_12 = Parameter("s", "fourth lead", nonnegative)
    t_13 = Parameter("s", "fourth lag", nonnegative)
    p_on = Parameter("pu on machine base", "power above which it goes on", default=0.0)
    p_off = Parameter("pu on machine base", "power below which it goes off", default=0.0)
    on = Parameter("1", "1 while it is on", flag, 1.0)

    @staticmethod
    def objection(p: Mapping[str, float]) -> str | None:
        """Object as PSS2B does, to an off above the on, and to an unclear signal."""
        if p["p_off"] > p["p_on"] >= 0:
            return f"p_off = {p['p_off']:g}: must be at most p_on = {p['p_on']:g}"
        if p["input_1"] == 6:
            return (
                "input_1 = 6: must be from 1 to 5 here; programs differ in what this signal of PSS2C is, the"
                " derivative of the voltage or a compensated frequency"
            )
        return PSS2B.objection(p)

    @classmethod
    def diagram(cls, b: Any, v: Any, p: Any) -> None:
        """Connect what PSS2B does, and measure the machine's power."""
        super().diagram(b, v, p)
        b.output("p_e", machine_power(b, v))

    @classmethod
    def limited(cls, b: Any, p: Any, led: Any) -> None:
        """Declare the output of the fourth lead-lag within its limits, 0 while the stabiliser is off."""
        output = b.limit(b.lead_lag("x_12", led, "t_12", "t_13"), "v_st_min", "v_st_max")
        b.output("v_s", b.where(b.ge(p.on, 1), output, 0))

    @staticmethod
    def at_start(v: Mapping[str, float], p: Mapping[str, float]) -> Mapping[str, float]:
        """Return whether it is on."""
        return {"on": float(not _watched(SimpleNamespace(**p)) or v["p_e"] >= p["p_on"])}


BANDS = {"l": "low", "i": "intermediate", "h": "high"}
NOTCHES = ("l1", "l2", "h1", "h2")

_BLOCKS = ((1, 2), (3, 4), (5, 6)), ((7, 8), (9, 10), (11, 12))
"""Leads and lags of the two branches of a band, by the numbers of their time constants."""


def _of_band(x: str) -> dict[str, Parameter]:
    """Return the parameters of a band in the order of the record."""
    found: dict[str, Parameter] = {}
    for sign, blocks in zip(("positive", "negative"), _BLOCKS, strict=True):
        what = f"{sign} branch of the {BANDS[x]} band"
        first = blocks[0][0]
        found[f"k_{x}{1 if first == 1 else 2}"] = Parameter("1", f"gain of the {what}")
        found[f"k_{x}{first + 10}"] = Parameter("1", f"gain at rest of the first block, {what}")
        for lead, after in blocks:
            found[f"t_{x}{lead}"] = Parameter("s", f"lead, {what}", nonnegative)
            found[f"t_{x}{after}"] = Parameter("s", f"lag, {what}", nonnegative)
    return found | {
        f"k_{x}": Parameter("pu", f"gain of the {BANDS[x]} band"),
        f"v_{x}_max": Parameter("pu", f"upper limit of the {BANDS[x]} band"),
        f"v_{x}_min": Parameter("pu", f"lower limit of the {BANDS[x]} band"),
    }


def _of_notches(x: str) -> dict[str, Parameter]:
    """Return the parameters of the two notches in front of a band."""
    found: dict[str, Parameter] = {}
    for k in (1, 2):
        found[f"b_{x}{k}"] = Parameter(
            "rad/s", f"width of notch {k}, {BANDS[x]} band, 0 for none", nonnegative
        )
        found[f"w_{x}{k}"] = Parameter(
            "rad/s", f"angular frequency of notch {k}, {BANDS[x]} band", nonnegative
        )
    return found


_GIVEN: dict[str, Parameter] = {
    "c_li": Parameter("s^2", "numerator of the speed's transducer, coefficient of s^2", nonnegative),
    "d_li": Parameter("s", "numerator of the speed's transducer, coefficient of s"),
    "a_li": Parameter("s^2", "denominator of the speed's transducer, coefficient of s^2", nonnegative),
    "b_li": Parameter("s", "denominator of the speed's transducer, coefficient of s", nonnegative),
    **_of_notches("l"),
    "t_h": Parameter("s", "lag of the power's transducer", nonnegative),
    "a_h": Parameter("s^2", "denominator of the power's transducer, coefficient of s^2", positive),
    "b_h": Parameter("s", "denominator of the power's transducer, coefficient of s", nonnegative),
    "m": Parameter("s", "twice the inertia constant, by which power becomes speed", positive),
    **_of_notches("h"),
    **{name: given for x in BANDS for name, given in _of_band(x).items()},
    "v_st_max": Parameter("pu", "upper limit of the output"),
    "v_st_min": Parameter("pu", "lower limit of the output"),
}
"""All values of the record, in its order."""


def _notched(b: Any, v: Any, p: Any, u: Any, x: str) -> Any:
    """Return a signal behind the two notches of a band.

    A notch takes out what a resonance lets pass: y = b s/(s^2 + b s + w^2) u, z its integral. One without
    width passes everything: what it takes out, y, stays zero.
    """
    for k in (f"{x}1", f"{x}2"):
        width, omega = getattr(p, f"b_{k}"), getattr(p, f"w_{k}")
        y, z = getattr(v, f"y_{k}"), getattr(v, f"z_{k}")
        u = u - y
        b.state(f"z_{k}", y, idle=f"b_{k}")
        b.state(f"y_{k}", width * u - omega**2 * z, idle=f"b_{k}")
    return u


def _through(b: Any, v: Any, p: Any, u: Any, x: str) -> Any:
    """Return what a band makes of its signal, within its limits."""
    branches = []
    for gain, blocks in zip((1, 2), _BLOCKS, strict=True):
        y = getattr(p, f"k_{x}{gain}") * u
        for lead, after in blocks:
            state = f"x_{x}{lead}"
            y = b.lead_lag(state, y, f"t_{x}{lead}", f"t_{x}{after}")
            if lead == blocks[0][0]:
                y = y + (getattr(p, f"k_{x}{lead + 10}") - 1) * getattr(v, state)
        branches.append(y)
    return b.limit(getattr(p, f"k_{x}") * (branches[0] - branches[1]), f"v_{x}_min", f"v_{x}_max")


class PSS4B(Stabiliser):
    """Stabiliser of three bands of frequency: speed in two of them, speed from the power in the highest.

    ::

        omega - 1 -> (1 + d_li s + c_li s^2)/(1 + b_li s + a_li s^2) -> N_l1 -> N_l2 -> u_l = u_i
        -p_e -> 1/(1 + s t_h) -> s^2/(1 + b_h s + a_h s^2) -> 1/(1 + s m) -> N_h1 -> N_h2 -> u_h
        N_x = (s^2 + w_x^2)/(s^2 + b_x s + w_x^2)

        u_l -> k_l1 (k_l11 + s t_l1)/(1 + s t_l2) -> (1 + s t_l3)/(1 + s t_l4) -> (1 + s t_l5)/(1 + s t_l6)
        less u_l -> k_l2 (k_l17 + s t_l7)/(1 + s t_l8) -> ... -> (1 + s t_l11)/(1 + s t_l12)
        times k_l -> limits [v_l_min, v_l_max] -> v_l, and the same with i and h
        v_l + v_i + v_h -> limits [v_st_min, v_st_max] -> v_s

    p_e is the power at the terminals in pu on the machine's base; its sign is that of IEC 61970-302,
    PssIEEE4B, which names the sign in IEEE Std 421.5-2005 an error. A notch without width is none. Source:
    IEEE Std 421.5-2005, type PSS4B; InterPSS, PSS4B, for the coefficients of the transducers, the order of
    the record and the lag m, which is an integrator in the standard.
    """

    records = (f"PSS4B {' '.join(_GIVEN)}",)
    inputs = ("omega", *POWER)
    units = {"f_2": "pu/s", "g_2": "pu/s", **{f"z_{x}": "pu s" for x in NOTCHES}}

    locals().update(_GIVEN)

    @staticmethod
    def objection(p: Mapping[str, float]) -> str | None:
        """Object to a transducer without its denominator, and to notches without a frequency."""
        for x in NOTCHES:
            if p[f"b_{x}"] > 0 == p[f"w_{x}"]:
                return f"w_{x} = 0 and b_{x} = {p[f'b_{x}']:g}: w_{x} must be > 0 where the notch has a width"
        return improper(p, ("d_li", "b_li")) if p["a_li"] == 0 else None

    @classmethod
    def diagram(cls, b: Any, v: Any, p: Any) -> None:
        """Connect transducers, notches and bands; f_2 and g_2 are the derivatives of f_1 and g_1."""
        low = b.second_order(("f_1", "f_2"), v.omega - 1, ("b_li", "a_li"), ("d_li", "c_li"))
        x_h = b.lag("x_h", -machine_power(b, v), "t_h")
        bend = (x_h - v.g_1 - p.b_h * v.g_2) / p.a_h
        b.state("g_1", v.g_2)
        b.state("g_2", bend)
        high = b.lag("x_m", bend, "m")
        low, high = _notched(b, v, p, low, "l"), _notched(b, v, p, high, "h")
        total = 0.0
        for x, u in zip(BANDS, (low, low, high), strict=True):
            total = total + _through(b, v, p, u, x)
        b.output("v_s", b.limit(total, "v_st_min", "v_st_max"))

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the power at rest: it stops at its transducer, and the speed is that of the network."""
        v = {"v_re": terminal.voltage.real, "v_im": terminal.voltage.imag, **terminal.signals}
        power = electrical_power(NumericMath, SimpleNamespace(**v))
        return {"x_h": -power, "g_1": -power}
