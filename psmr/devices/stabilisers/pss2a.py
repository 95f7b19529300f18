"""The stabiliser with two inputs and a ramp-tracking filter of the standard library."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from psmr.dae.declare.component import (
    Component,
    Parameter,
    Terms,
    crossed,
    improper,
    nonnegative,
    positive,
    whole,
)
from psmr.devices.blocks import lag, lead_lag, washout
from psmr.devices.machines.textbook import F_N
from psmr.devices.stabilisers.signals import CODE, FILTER, PLACE, misplaced, with_signals


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
