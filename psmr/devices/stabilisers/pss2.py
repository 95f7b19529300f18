"""Stabilisers with two inputs: PSS2A, PSS2B, PSS2C."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any, ClassVar

from psmr.dae.declare.component import (
    Action,
    Component,
    Parameter,
    Terms,
    crossed,
    flag,
    improper,
    nonnegative,
    positive,
    whole,
)
from psmr.devices.blocks import lag, lead_lag, washout
from psmr.devices.machines.textbook import F_N
from psmr.devices.stabilisers.signals import (
    CODE,
    FILTER,
    PLACE,
    POWER,
    electrical_power,
    misplaced,
    with_signals,
)


class PSS2A(Component):
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

    role = "stabiliser"
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
    algebraic: ClassVar[tuple[str, ...]] = ("v_s",)
    inputs: ClassVar[tuple[str, ...]] = ("u_1", "u_2")
    buses = {"bus_1": ("u_1_re", "u_1_im"), "bus_2": ("u_2_re", "u_2_im")}
    structural = ("input_1", "input_2", "m", "n")
    # A washout without its time constant is left out: the state, the lagged input, is zero and not the input.
    integrals = {"w_2": "t_w2", "w_4": "t_w4"}
    lags = {
        "w_2": ("t_w2",),
        "w_4": ("t_w4",),
        "x_6": ("t_6",),
        "x_7": ("t_7",),
        "x_1": ("t_2",),
        "x_3": ("t_4",),
        **dict.fromkeys(("r_1", "r_2", "r_3", "r_4", "r_5"), ("t_9",)),
    }

    f_n = F_N
    input_1 = CODE
    bus_1 = PLACE
    input_2 = CODE
    bus_2 = PLACE
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
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to leads without their lags and to crossed limits."""
        if wrong := crossed(p, ("v_st_min", "v_st_max")):
            return wrong
        if p["m"] == 0 < p["n"] and p["t_8"] != 0:
            return f"m = 0 and t_8 = {p['t_8']:g}: m must be > 0 where there is a lead; n = 0 is no filter"
        filtered = (("t_8", "t_9"),) if p["n"] > 0 else ()
        if wrong := misplaced(p, "input_1", "bus_1") or misplaced(p, "input_2", "bus_2"):
            return wrong
        return improper(p, ("t_1", "t_2"), ("t_3", "t_4"), *filtered)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives and the output for m = 5 and n = 1."""
        return _equations(m, v, p, 5, 1)

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the signals at rest: they stop at the first washouts."""
        return {"w_1": terminal.signals["u_1"], "w_3": terminal.signals["u_2"]}

    @staticmethod
    def shape(*choice: int) -> Mapping[str, Any]:
        """Return the attributes for two input codes and the order of the filter."""
        return shaped(PSS2A, _equations, *choice)


def shaped(
    component: type[Component], flow: Callable[..., Any], first: int, second: int, order: int, power: int
) -> Mapping[str, Any]:
    """Return the attributes of a stabiliser with two inputs for their codes and the order of its filter.

    `flow(m, v, p, order, power)` returns the equations of `component` with this filter.
    """

    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives and the output."""
        terms: tuple[Terms, Terms, Terms] = flow(m, v, p, order, power)
        return terms

    ramp = tuple(f"r_{i + 1}" for i in range(order * power))
    own = {
        "states": (*(s for s in component.states if not s.startswith("r_")), *ramp),
        "lags": {s: t for s, t in component.lags.items() if not s.startswith("r_")}
        | dict.fromkeys(ramp, ("t_9",)),
        "equations": equations,
    }
    return with_signals(component, {"u_1": first, "u_2": second}, own)


def _equations(m: Any, v: Any, p: Any, order: int, power: int) -> tuple[Terms, Terms, Terms]:
    """Return the derivatives of washouts, lags, lead-lags and filter, and the output."""
    washed_1, d_w1 = washout(v.u_1, v.w_1, p.t_w1)
    washed_2, d_w2 = washout(washed_1, v.w_2, p.t_w2)
    washed_3, d_w3 = washout(v.u_2, v.w_3, p.t_w3)
    washed_4, d_w4 = washout(washed_3, v.w_4, p.t_w4)
    tracked, d_r = ramp_tracking(v, p, v.x_6 + p.k_s3 * v.x_7, order, power)
    first, d_1 = lead_lag(p.k_s1 * (tracked - v.x_7), v.x_1, p.t_1, p.t_2)
    second, d_3 = lead_lag(first, v.x_3, p.t_3, p.t_4)
    d_6, d_7 = lag(washed_2, v.x_6, p.t_6), lag(p.k_s2 * washed_4, v.x_7, p.t_7)
    output = m.clip(second, p.v_st_min, p.v_st_max)
    return (d_w1, d_w2, d_6, d_w3, d_w4, d_7, d_1, d_3, *d_r), (output - v.v_s,), ()


def ramp_tracking(v: Any, p: Any, u: Any, order: int, power: int) -> tuple[Any, Terms]:
    """Return ((1 + s t_8)/(1 + s t_9)^order)^power of u, and the derivatives of its states."""
    slopes = []
    for i in range(order * power):
        x = getattr(v, f"r_{i + 1}")
        if i % order:
            slopes.append(lag(u, x, p.t_9))
            u = x
        else:
            u, slope = lead_lag(u, x, p.t_8, p.t_9)
            slopes.append(slope)
    return u, tuple(slopes)


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

    role = "stabiliser"
    records = (
        "PSS2B input_1 bus_1 input_2 bus_2 m n t_w1 t_w2 t_6 t_w3 t_w4 t_7 k_s2 k_s3 t_8 t_9 k_s1 t_1 "
        "t_2 t_3 t_4 t_10 t_11 v_s1_max v_s1_min v_s2_max v_s2_min v_st_max v_st_min",
    )
    states: ClassVar[tuple[str, ...]] = (*PSS2A.states[:8], "x_10", *PSS2A.states[8:])
    lags = {**PSS2A.lags, "x_10": ("t_11",)}

    t_10 = Parameter("s", "third lead", nonnegative)
    t_11 = Parameter("s", "third lag", nonnegative)
    v_s1_max = Parameter("pu of the first signal", "upper limit of the first input")
    v_s1_min = Parameter("pu of the first signal", "lower limit of the first input")
    v_s2_max = Parameter("pu of the second signal", "upper limit of the second input")
    v_s2_min = Parameter("pu of the second signal", "lower limit of the second input")

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object, as PSS2A does, and to the third lead without its lag and crossed limits of the inputs."""
        wrong = crossed(p, ("v_s1_min", "v_s1_max"), ("v_s2_min", "v_s2_max"))
        return wrong or improper(p, ("t_10", "t_11")) or PSS2A.conflict(p)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives and the output for m = 5 and n = 1."""
        return _equations_of_pss2b(m, v, p, 5, 1)

    @staticmethod
    def shape(*choice: int) -> Mapping[str, Any]:
        """Return the attributes for two input codes and the order of the filter."""
        return shaped(PSS2B, _equations_of_pss2b, *choice)


def _equations_of_pss2b(m: Any, v: Any, p: Any, order: int, power: int) -> tuple[Terms, Terms, Terms]:
    """Return the derivatives of washouts, lags, lead-lags and filter, and the output."""
    derivatives, third, d_r = two_inputs(m, v, p, order, power)
    return (*derivatives, *d_r), (m.clip(third, p.v_st_min, p.v_st_max) - v.v_s,), ()


def two_inputs(m: Any, v: Any, p: Any, order: int, power: int) -> tuple[Terms, Any, Terms]:
    """Return the derivatives before the filter's, the output of the third lead-lag, the filter's."""
    u_1, u_2 = m.clip(v.u_1, p.v_s1_min, p.v_s1_max), m.clip(v.u_2, p.v_s2_min, p.v_s2_max)
    washed_1, d_w1 = washout(u_1, v.w_1, p.t_w1)
    washed_2, d_w2 = washout(washed_1, v.w_2, p.t_w2)
    washed_3, d_w3 = washout(u_2, v.w_3, p.t_w3)
    washed_4, d_w4 = washout(washed_3, v.w_4, p.t_w4)
    tracked, d_r = ramp_tracking(v, p, v.x_6 + p.k_s3 * v.x_7, order, power)
    first, d_1 = lead_lag(p.k_s1 * (tracked - v.x_7), v.x_1, p.t_1, p.t_2)
    second, d_3 = lead_lag(first, v.x_3, p.t_3, p.t_4)
    third, d_10 = lead_lag(second, v.x_10, p.t_10, p.t_11)
    d_6, d_7 = lag(washed_2, v.x_6, p.t_6), lag(p.k_s2 * washed_4, v.x_7, p.t_7)
    return (d_w1, d_w2, d_6, d_w3, d_w4, d_7, d_1, d_3, d_10), third, d_r


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

    role = "stabiliser"
    records = (
        "PSS2C input_1 bus_1 input_2 bus_2 m n t_w1 t_w2 t_6 t_w3 t_w4 t_7 k_s2 k_s3 t_8 t_9 k_s1 t_1 "
        "t_2 t_3 t_4 t_10 t_11 v_s1_max v_s1_min v_s2_max v_s2_min v_st_max v_st_min t_12 t_13 p_on p_off "
        "-x_comp -t_comp",
    )
    states = (*PSS2B.states[:9], "x_12", *PSS2B.states[9:])
    algebraic = ("v_s", "p_e")
    inputs = (*PSS2B.inputs, *POWER)
    lags = {**PSS2B.lags, "x_12": ("t_13",)}
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
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object as PSS2B does, to a fourth lead without its lag, an off above the on, an unclear signal."""
        if p["p_off"] > p["p_on"] >= 0:
            return f"p_off = {p['p_off']:g}: must be at most p_on = {p['p_on']:g}"
        if p["input_1"] == 6:
            return (
                "input_1 = 6: must be from 1 to 5 here; programs differ in what this signal of PSS2C is, the"
                " derivative of the voltage or a compensated frequency"
            )
        return improper(p, ("t_12", "t_13")) or PSS2B.conflict(p)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives, the output and the machine's power for m = 5 and n = 1."""
        return _equations_of_pss2c(m, v, p, 5, 1)

    @staticmethod
    def at_start(v: Mapping[str, float], p: Mapping[str, float]) -> Mapping[str, float]:
        """Return whether it is on."""
        return {"on": float(not _watched(SimpleNamespace(**p)) or v["p_e"] >= p["p_on"])}

    @staticmethod
    def shape(*choice: int) -> Mapping[str, Any]:
        """Return the attributes for two input codes and the order of the filter."""
        return shaped(PSS2C, _equations_of_pss2c, *choice)


def _equations_of_pss2c(m: Any, v: Any, p: Any, order: int, power: int) -> tuple[Terms, Terms, Terms]:
    """Return the derivatives of washouts, lags, lead-lags and filter; the output and the power."""
    derivatives, third, d_r = two_inputs(m, v, p, order, power)
    fourth, d_12 = lead_lag(third, v.x_12, p.t_12, p.t_13)
    output = m.where(m.ge(p.on, 1), m.clip(fourth, p.v_st_min, p.v_st_max), 0)
    residuals = (output - v.v_s, electrical_power(m, v, p, None)[0] - v.p_e)
    return (*derivatives, d_12, *d_r), residuals, ()
