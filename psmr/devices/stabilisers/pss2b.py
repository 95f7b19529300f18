"""The stabiliser with two limited inputs and three lead-lags of the standard library."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from psmr.dae.declare.component import Parameter, Terms, crossed, improper, nonnegative
from psmr.devices.blocks import lag, lead_lag, washout
from psmr.devices.stabilisers.pss2a import PSS2A, ramp_tracking, shaped


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
        return _equations(m, v, p, 5, 1)

    @staticmethod
    def shape(*choice: int) -> Mapping[str, Any]:
        """Return the attributes for two input codes and the order of the filter."""
        return shaped(PSS2B, _equations, *choice)


def _equations(m: Any, v: Any, p: Any, order: int, power: int) -> tuple[Terms, Terms, Terms]:
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
