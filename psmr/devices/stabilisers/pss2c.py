"""The stabiliser with two inputs that works above a power of the machine, IEEE type PSS2C."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from psmr.dae.declare.component import Action, Parameter, Terms, flag, improper, nonnegative
from psmr.devices.blocks import lead_lag
from psmr.devices.stabilisers.pss2a import shaped
from psmr.devices.stabilisers.pss2b import PSS2B, two_inputs
from psmr.devices.stabilisers.signals import POWER, electrical_power


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
        return _equations(m, v, p, 5, 1)

    @staticmethod
    def at_start(v: Mapping[str, float], p: Mapping[str, float]) -> Mapping[str, float]:
        """Return whether it is on."""
        return {"on": float(not _watched(SimpleNamespace(**p)) or v["p_e"] >= p["p_on"])}

    @staticmethod
    def shape(*choice: int) -> Mapping[str, Any]:
        """Return the attributes for two input codes and the order of the filter."""
        return shaped(PSS2C, _equations, *choice)


def _equations(m: Any, v: Any, p: Any, order: int, power: int) -> tuple[Terms, Terms, Terms]:
    """Return the derivatives of washouts, lags, lead-lags and filter; the output and the power."""
    derivatives, third, d_r = two_inputs(m, v, p, order, power)
    fourth, d_12 = lead_lag(third, v.x_12, p.t_12, p.t_13)
    output = m.where(m.ge(p.on, 1), m.clip(fourth, p.v_st_min, p.v_st_max), 0)
    residuals = (output - v.v_s, electrical_power(m, v, p, None)[0] - v.p_e)
    return (*derivatives, d_12, *d_r), residuals, ()
