"""Static var systems of the power flow's shunts: SVSMO1 and SVSMO3."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

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
from psmr.devices.blocks import error_at_rest, lead_lag
from psmr.devices.machines.textbook import S_BASE, S_N
from psmr.devices.network import in_or_out

LARGEST_BUS = 999_999


def measured_and_limited(slope: str) -> dict[str, Parameter]:
    """Return the parameters from the measured voltage to the limited error; `slope` is its flag's name."""
    return {
        "bus": Parameter("1", "regulated bus, 0 for its own", whole(0, LARGEST_BUS), default=0.0),
        slope: Parameter("1", "1 for a slope in three pieces, 0 for one", flag, default=0.0),
        "t_c1": Parameter("s", "lead of the measurement", nonnegative),
        "t_b1": Parameter("s", "lag of the measurement", nonnegative),
        "t_c2": Parameter("s", "lead of the transient gain reduction", nonnegative),
        "t_b2": Parameter("s", "lag of the transient gain reduction", nonnegative),
        "ve_max": Parameter("pu", "upper limit of the error", positive),
        "ve_min": Parameter("pu", "lower limit of the error"),
    }


def remembered() -> dict[str, Parameter]:
    """Return the parameters that only actions set."""
    return {
        "status": Parameter("1", "1 in service, 0 out of service", in_or_out, default=1.0),
        "short": Parameter("1", "whether the time for the short-term rating is over", default=0.0),
        "free": Parameter("1", "whether the error has left its dead band", default=0.0),
        "side": Parameter("1", "side on which the slow regulator's band has been left", default=0.0),
    }


def transient_gain(m: Any, v: Any, p: Any, band: Any) -> tuple[Any, Any]:
    """Return the error that the PI regulator reads, outside a dead band, and the derivative of x_e."""
    resting = m.where(m.le(band, 0), 0, 1 - p.free)
    counted = v.error if getattr(m, "opened", False) else m.where(m.ge(resting, 1), 0, v.error)
    return lead_lag(m.clip(counted, p.ve_min, p.ve_max), v.x_e, p.t_c2, p.t_b2)


def slow_part(m: Any, used: Any, asked: Any, p: Any) -> Any:
    """Return the output of the slow regulator within its limits, 0 where there is none."""
    # Without it its limits, which may both be 0, are none that a start is at.
    return m.clip(used * asked, used * p.vr_min + used - 1, used * p.vr_max + 1 - used)


def voltage(m: Any, v: Any) -> Any:
    """Return the magnitude of the regulated voltage."""
    return m.sqrt(v.u_re**2 + v.u_im**2)


def sets(
    name: str, value: float, condition: Any, delay: Any = Action.delay, used: Any = Action.used
) -> Action:
    """Return the action that gives a parameter in the memory a value that it does not have."""

    def holds(m: Any, v: Any, p: Any) -> Any:
        return m.min(condition(m, v, p), m.abs(getattr(p, name) - value) - 0.5)

    return Action("", holds, delay, lambda v, p: {name: value}, used)


def trip(words: str, condition: Any, delay: str, threshold: str) -> Action:
    """Return the action that takes a static var system out of service; a threshold of 0 is none."""
    return Action(
        words,
        lambda m, v, p: m.min(condition(m, v, p), p.status - 0.5),
        lambda p: getattr(p, delay),
        lambda v, p: {"status": 0.0},
        lambda p: getattr(p, threshold) > 0,
        protects=True,
        kind="trip",
    )


def _has_short_rating(p: Any) -> Any:
    return p.b_shrt > p.b_max


def _has_dead_band(p: Any) -> Any:
    return p.vdbd1 > 0


def _has_slow_regulator(p: Any) -> Any:
    return p.k_ps + p.k_is > 0


def _is_inside(m: Any, v: Any, p: Any) -> Any:
    """Return what is above zero where the slow regulator has taken b back into its band."""
    b = v.b * p.s_base
    return m.where(m.ge(p.side, 1), p.b_scs - p.eps - b, b - p.b_sis - p.eps)


class SVSMO1(Component):
    """Static var system with a thyristor-controlled reactor, in place of a switched shunt.

    ::

        |u| -> (1 + s t_c1)/(1 + s t_b1) -> measured
        error = v_ref + v_r - measured - x_c b |v|, limits of v_ref + v_r [v_ref_min, v_ref_max]
        error, limits [ve_min, ve_max] -> (1 + s t_c2)/(1 + s t_b2) -> k_pv + k_iv/s -> 1/(1 + s t_2) -> b
        b outside [b_sis, b_scs] -> k_ps + k_is/s, limits [vr_min, vr_max] -> v_r
        i = j b v

    |u| is the voltage of the regulated bus, |v| that of the device's own, b a susceptance in pu on the system
    base, positive for a capacitor. The PI regulator is limited to [b_min, b_high], without windup. b_high
    is b_shrt, b_max after b has been above it for t_shrt and until the regulator asks for less, uvsb_max
    while |u| is below uv1, b_min below uv2. Where |u| has been below uv1 for uv_tm1, the phase-locked loop
    is lost, and uvsb_max stays for pll_delay after it is back. Out of service: |u| below uvt for uv_tm2,
    above ov1 for ov_tm1, above ov2 for ov_tm2.

    With vdbd1 > 0 the error counts from when it exceeds vdbd1 until it has been below vdbd2 for t_dbd; else
    the susceptance rests. The slow regulator takes b back until it is eps inside [b_sis, b_scs]. With
    slope_flag 1 the slope is x_c1 where the measured voltage (before its lead) is at least v_up, x_c2 above
    v_low and x_c3 below. The set-point g is the conductance of the shunt, zero for a static var system.

    Mechanically switched shunts beside it (flag1, Blcs, Blis, Tdelay1, Tdelay2, Tout, Tmssbrk) are devices of
    their own (`SwitchedByStaticVar`).

    Sources: WECC Static Var Compensator Task Force, Generic Static Var System Models for the Western
    Electricity Coordinating Council (2011); P. Pourbeik et al., Generic Model Structures for Simulating
    Static Var Systems in Power System Studies, IEEE Trans. Power Systems (2012); what the parameters are:
    PowerWorld, Switched Shunt Model SVSMO1; the order of the record and the slopes: the public test data
    and the model SVSMO1T2 of InterPSS.
    """

    role = "static_var_system"
    states = ("v_m", "x_e", "x_v", "b", "x_r")
    algebraic = ("error", "asked", "b_high")
    inputs = ("v_re", "v_im", "u_re", "u_im", "v_ref", "g")
    outputs = ("i_re", "i_im")
    buses = {"bus": ("u_re", "u_im")}
    limits = {"x_v": ("b_min", "b_high"), "x_r": ("vr_min", "vr_max")}
    lags = {"v_m": ("t_b1",), "x_e": ("t_b2",), "b": ("t_2",)}
    integrals = {"x_v": "k_iv", "x_r": "k_is"}
    memory = ("status", "below", "lost", "deep", "short", "free", "side")

    s_base = S_BASE
    locals().update(measured_and_limited("slope_flag"))
    uvsb_max = Parameter("pu", "capacitive limit at low voltage")
    uv1 = Parameter("pu", "voltage below which the capacitive limit is uvsb_max")
    uv2 = Parameter("pu", "voltage below which the capacitive limit is b_min")
    uvt = Parameter("pu", "voltage below which it trips")
    ov1 = Parameter("pu", "voltage above which it trips after ov_tm1, 0 for none")
    ov2 = Parameter("pu", "voltage above which it trips after ov_tm2, 0 for none")
    uv_tm1 = Parameter("s", "time below uv1 after which the phase-locked loop is lost", nonnegative)
    uv_tm2 = Parameter("s", "time below uvt after which it trips", nonnegative)
    ov_tm1 = Parameter("s", "time above ov1 after which it trips", nonnegative)
    ov_tm2 = Parameter("s", "time above ov2 after which it trips", nonnegative)
    x_c1 = Parameter("pu", "slope, or its first piece")
    x_c2 = Parameter("pu", "second piece of the slope", default=0.0)
    x_c3 = Parameter("pu", "third piece of the slope", default=0.0)
    v_up = Parameter("pu", "voltage from which the first piece holds", default=0.0)
    v_low = Parameter("pu", "voltage below which the third piece holds", default=0.0)
    k_pv = Parameter("pu per pu", "proportional gain", nonnegative)
    k_iv = Parameter("pu per pu s", "integral gain", nonnegative)
    t_2 = Parameter("s", "lag of the firing", nonnegative)
    b_shrt = Parameter("pu", "capacitive limit for a short time, none where it is below b_max")
    b_max = Parameter("pu", "capacitive limit")
    b_min = Parameter("pu", "inductive limit")
    t_shrt = Parameter("s", "time above b_max after which it is the limit", nonnegative)
    k_ps = Parameter("pu per pu", "proportional gain of the slow regulator", nonnegative, default=0.0)
    k_is = Parameter("pu per pu s", "integral gain of the slow regulator", nonnegative, default=0.0)
    vr_max = Parameter("pu", "upper limit of the slow regulator", nonnegative, default=0.0)
    vr_min = Parameter("pu", "lower limit of the slow regulator", default=0.0)
    vdbd1 = Parameter("pu", "error that wakes the regulator, 0 for always awake", nonnegative, default=0.0)
    vdbd2 = Parameter("pu", "error below which it comes to rest", nonnegative, default=0.0)
    t_dbd = Parameter("s", "time below vdbd2 after which it comes to rest", nonnegative, default=0.0)
    pll_delay = Parameter("s", "time that a lost phase-locked loop needs", nonnegative)
    eps = Parameter("Mvar", "how far within [b_sis, b_scs] the slow regulator goes", nonnegative, default=0.0)
    b_scs = Parameter("Mvar", "capacitive end of the slow regulator's band", default=0.0)
    b_sis = Parameter("Mvar", "inductive end of the slow regulator's band", default=0.0)
    v_ref_min = Parameter("pu", "lower limit of the reference", default=0.0)
    v_ref_max = Parameter("pu", "upper limit of the reference", default=10.0)
    locals().update(remembered())
    below = Parameter("1", "whether the limit is that of low voltage", default=0.0)
    lost = Parameter("1", "whether the phase-locked loop is lost", default=0.0)
    deep = Parameter("1", "whether the voltage is below uv2", default=0.0)

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to limits that cross, leads without lags, a regulator without gain and bands inside out."""
        limits = (
            ("b_min", "b_max"),
            ("ve_min", "ve_max"),
            ("v_ref_min", "v_ref_max"),
            *((("b_sis", "b_scs"),) if p["k_ps"] or p["k_is"] else ()),
        )
        wrong = crossed(p, *limits) or improper(p, ("t_c1", "t_b1"), ("t_c2", "t_b2"))
        if wrong:
            return wrong
        if p["k_pv"] == p["k_iv"] == 0:
            return "k_pv = k_iv = 0: one of the gains must be > 0"
        for low, high in (
            ("b_min", "uvsb_max"),
            ("uv2", "uv1"),
            ("vr_min", "vr_max"),
            ("v_low", "v_up"),
            ("vdbd2", "vdbd1"),
        ):
            if p[low] > p[high]:
                return f"{low} = {p[low]:g}: must be at most {high} = {p[high]:g}"
        return None

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives, the residuals of error, PI regulator and upper limit, the current."""
        measured, d_m = lead_lag(voltage(m, v), v.v_m, p.t_c1, p.t_b1)
        pieces = m.where(m.ge(v.v_m, p.v_up), p.x_c1, m.where(m.ge(v.v_m, p.v_low), p.x_c2, p.x_c3))
        slope = m.where(m.ge(p.slope_flag, 1), pieces, p.x_c1)
        edge = m.where(m.ge(p.side, 1), p.b_scs - p.eps, p.b_sis + p.eps) / p.s_base
        excess = m.where(m.ge(m.abs(p.side), 1), edge - v.b, 0)
        slow = m.where(m.le(p.k_ps + p.k_is, 0), 0, 1)
        v_r = slow_part(m, slow, p.k_ps * excess + v.x_r, p)
        reference = m.clip(v.v_ref + v_r, p.v_ref_min, p.v_ref_max)
        error = reference - measured - slope * v.b * m.sqrt(v.v_re**2 + v.v_im**2)
        led, d_e = transient_gain(m, v, p, p.vdbd1)
        order = m.clip(v.asked, p.b_min, v.b_high)
        rated = m.where(m.ge(p.b_max, p.b_shrt), 1, p.short)
        normal = m.where(m.ge(rated, 1), p.b_max, p.b_shrt)
        low = m.where(m.ge(p.below, 1), m.where(m.ge(p.uvsb_max, normal), normal, p.uvsb_max), normal)
        upper = m.where(m.ge(p.deep, 1), p.b_min, low)
        b, g = p.status * v.b, p.status * v.g
        derivatives = (d_m, d_e, p.k_iv * led, (order - v.b) / p.t_2, p.k_is * excess)
        injections = (b * v.v_im - g * v.v_re, -b * v.v_re - g * v.v_im)
        return derivatives, (error - v.error, p.k_pv * led + v.x_v - v.asked, upper - v.b_high), injections

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium for the susceptance of the power flow's shunt."""
        power = terminal.voltage * np.conj(terminal.current)
        square = np.abs(terminal.voltage) ** 2
        b, error = power.imag / square, error_at_rest(power.imag / square, p.k_pv, p.k_iv)
        v_m = np.abs(terminal.voltage)
        return {
            "v_m": v_m,
            "x_e": error,
            "x_v": np.where(p.k_iv > 0, b, 0.0),
            "b": b,
            "error": error,
            "asked": b,
            "b_high": np.maximum(p.b_shrt, p.b_max),
            "v_ref": v_m + p.x_c1 * b * v_m + error,
            "g": -power.real / square,
        }

    actions = (
        sets("below", 1.0, lambda m, v, p: p.uv1 - voltage(m, v)),
        sets("lost", 1.0, lambda m, v, p: p.uv1 - voltage(m, v), lambda p: p.uv_tm1),
        Action(
            "",
            lambda m, v, p: m.min(voltage(m, v) - p.uv1, p.below - 0.5),
            lambda p: p.lost * p.pll_delay,
            lambda v, p: {"below": 0.0, "lost": 0.0},
        ),
        sets("deep", 1.0, lambda m, v, p: p.uv2 - voltage(m, v)),
        sets("deep", 0.0, lambda m, v, p: voltage(m, v) - p.uv2),
        sets("short", 1.0, lambda m, v, p: v.b - p.b_max, lambda p: p.t_shrt, _has_short_rating),
        sets("short", 0.0, lambda m, v, p: p.b_max - v.asked, used=_has_short_rating),
        sets("free", 1.0, lambda m, v, p: m.abs(v.error) - p.vdbd1, used=_has_dead_band),
        sets("free", 0.0, lambda m, v, p: p.vdbd2 - m.abs(v.error), lambda p: p.t_dbd, _has_dead_band),
        sets("side", 1.0, lambda m, v, p: v.b * p.s_base - p.b_scs, used=_has_slow_regulator),
        sets("side", -1.0, lambda m, v, p: p.b_sis - v.b * p.s_base, used=_has_slow_regulator),
        sets("side", 0.0, _is_inside, used=_has_slow_regulator),
        trip("trips at low voltage", lambda m, v, p: p.uvt - voltage(m, v), "uv_tm2", "uvt"),
        trip("trips at high voltage", lambda m, v, p: voltage(m, v) - p.ov1, "ov_tm1", "ov1"),
        trip("trips at high voltage", lambda m, v, p: voltage(m, v) - p.ov2, "ov_tm2", "ov2"),
    )


V_LEAST = 0.01
"""Voltage in pu below which the current falls with the voltage, whose direction it has."""


def _rests(p: Any) -> Any:
    return p.dbd > 0


def _has_short_current(p: Any) -> Any:
    return p.i_shrt > 1


def _has_slow_reset(p: Any) -> Any:
    return p.slow_flag > 0


class SVSMO3(Component):
    """Static var system with a voltage source converter (STATCOM), in place of a switched shunt.

    ::

        |u| -> (1 + s t_c1)/(1 + s t_b1) -> measured
        error = v_ref + v_r - measured - x_c i
        error, limits [ve_min, ve_max] -> (1 + s t_c2)/(1 + s t_b2) -> k_p + k_i/s, limits [-i_high, i_high]
            -> 1/(1 + s t_o) -> i
        i beyond [-i_dbd, i_dbd] -> k_pr + k_ir/s, limits [vr_min, vr_max] -> v_r      with slow_flag 1
        i_high = part i_max i_shrt,  part i_max after i has been above i_max for t_delay1
        part(|u|): 0 at uv2, 1 from uv1 to ov1, 0 at ov2, straight between
        current -j i v/|v|, per unit on s_n

    |u| is the voltage of the regulated bus, v that of the device's own; i is the reactive current, positive
    for a capacitor. The integral part of the PI regulator is limited without windup. The short-term rating is
    back once the regulator asks for less than i_max. Above v_trip for t_delay2 it goes out of service.

    With dbd > 0 the error counts from when it exceeds dbd until it has been below dbd/k_dbd for t_dbd; else
    the current rests. The slow reset acts from when i has left its band until it is inside again. With
    droop_flag 1 the slope is x_c1 where the measured voltage (before its lead) is at least v_1, x_c2 above
    v_2 and x_c3 below; x_c0 otherwise. The set-point g is the conductance of the shunt, zero for a static var
    system.

    Mechanically switched shunts beside it (ecap, Iupr, Ilwr, TdelLC, Tout, Tmssbrk) are devices of their own
    (`SwitchedByStaticVar`); the thermal limit of the rating (I2t, Reset, hyst) and sdelay are not modelled.

    Sources: WECC Static Var Compensator Task Force, Generic Static Var System Models for the Western
    Electricity Coordinating Council (2011); P. Pourbeik et al., Generic Model Structures for Simulating
    Static Var Systems in Power System Studies, IEEE Trans. Power Systems (2012); what the parameters are:
    PowerWorld, Switched Shunt Model SVSMO3. Where these give a parameter's meaning alone, the dead band and
    the slope are those of SVSMO1. The order of a PSS/E record (SVSMO3T2) is not public.
    """

    role = "static_var_system"
    states = ("v_m", "x_e", "x_i", "i", "x_r")
    algebraic = ("error", "asked", "i_high", "i_low")
    inputs = ("v_re", "v_im", "u_re", "u_im", "v_ref", "g")
    outputs = ("i_re", "i_im")
    buses = {"bus": ("u_re", "u_im")}
    limits = {"x_i": ("i_low", "i_high"), "x_r": ("vr_min", "vr_max")}
    lags = {"v_m": ("t_b1",), "x_e": ("t_b2",), "i": ("t_o",)}
    integrals = {"x_i": "k_i", "x_r": ("slow_flag", "k_ir")}
    memory = ("status", "short", "free", "side")

    s_n, s_base = S_N, S_BASE
    locals().update(measured_and_limited("droop_flag"))
    slow_flag = Parameter("1", "1 with slow reset, 0 without", flag, default=0.0)
    x_c0 = Parameter("pu", "slope", default=0.0)
    x_c1 = Parameter("pu", "first piece of the slope", default=0.0)
    x_c2 = Parameter("pu", "second piece of the slope", default=0.0)
    x_c3 = Parameter("pu", "third piece of the slope", default=0.0)
    v_1 = Parameter("pu", "voltage from which the first piece holds", default=0.0)
    v_2 = Parameter("pu", "voltage below which the third piece holds", default=0.0)
    k_p = Parameter("pu per pu", "proportional gain", nonnegative)
    k_i = Parameter("pu per pu s", "integral gain", nonnegative)
    t_o = Parameter("s", "lag of the firing", nonnegative)
    i_max = Parameter("pu", "continuous current", positive)
    i_shrt = Parameter("1", "current for a short time by the continuous one, none at 1 or below", default=0.0)
    t_delay1 = Parameter("s", "time above i_max after which it is the limit", nonnegative, default=0.0)
    dbd = Parameter("pu", "error that wakes the regulator, 0 for always awake", nonnegative, default=0.0)
    k_dbd = Parameter("1", "dbd by the error below which it comes to rest", positive, default=1.0)
    t_dbd = Parameter("s", "time below that after which it comes to rest", nonnegative, default=0.0)
    k_pr = Parameter("pu per pu", "proportional gain of the slow reset", nonnegative, default=0.0)
    k_ir = Parameter("pu per pu s", "integral gain of the slow reset", nonnegative, default=0.0)
    i_dbd = Parameter("pu", "current to which the slow reset returns", nonnegative, default=0.0)
    vr_max = Parameter("pu", "upper limit of the slow reset", nonnegative, default=0.0)
    vr_min = Parameter("pu", "lower limit of the slow reset", default=0.0)
    uv1 = Parameter("pu", "voltage below which the rating shrinks")
    uv2 = Parameter("pu", "voltage below which there is no current")
    ov1 = Parameter("pu", "voltage above which the rating shrinks")
    ov2 = Parameter("pu", "voltage above which there is no current")
    v_trip = Parameter("pu", "voltage above which it trips after t_delay2, 0 for none", default=0.0)
    t_delay2 = Parameter("s", "time above v_trip after which it trips", nonnegative, default=0.0)
    locals().update(remembered())

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to limits that cross, leads without lags and a regulator without gain."""
        limits = (("ve_min", "ve_max"), ("uv2", "uv1"), ("uv1", "ov1"), ("ov1", "ov2"))
        wrong = crossed(p, *limits) or improper(p, ("t_c1", "t_b1"), ("t_c2", "t_b2"))
        if wrong:
            return wrong
        if p["k_p"] == p["k_i"] == 0:
            return "k_p = k_i = 0: one of the gains must be > 0"
        for low, high in (("vr_min", "vr_max"), ("v_2", "v_1")):
            if p[low] > p[high]:
                return f"{low} = {p[low]:g}: must be at most {high} = {p[high]:g}"
        return f"k_dbd = {p['k_dbd']:g}: must be at least 1" if p["k_dbd"] < 1 else None

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives, the residuals of error, PI regulator and limits, the current."""
        size = voltage(m, v)
        measured, d_m = lead_lag(size, v.v_m, p.t_c1, p.t_b1)
        pieces = m.where(m.ge(v.v_m, p.v_1), p.x_c1, m.where(m.ge(v.v_m, p.v_2), p.x_c2, p.x_c3))
        slope = m.where(m.ge(p.droop_flag, 1), pieces, p.x_c0)
        excess = m.where(m.ge(m.abs(p.side), 1), p.side * p.i_dbd - v.i, 0)
        v_r = slow_part(m, p.slow_flag, p.k_pr * excess + v.x_r, p)
        error = v.v_ref + v_r - measured - slope * v.i
        led, d_e = transient_gain(m, v, p, p.dbd)
        order = m.clip(v.asked, v.i_low, v.i_high)
        times = m.where(m.ge(1, p.i_shrt), 1, m.where(m.ge(p.short, 1), 1, p.i_shrt))
        low = m.min(m.max((size - p.uv2) / (p.uv1 - p.uv2), 0), 1)
        limit = times * p.i_max * (low * m.min(m.max((p.ov2 - size) / (p.ov2 - p.ov1), 0), 1))
        own = m.max(m.sqrt(v.v_re**2 + v.v_im**2), V_LEAST)
        i, g = p.status * p.s_n / p.s_base * v.i / own, p.status * v.g
        derivatives = (d_m, d_e, p.k_i * led, (order - v.i) / p.t_o, p.k_ir * excess)
        residuals = (error - v.error, p.k_p * led + v.x_i - v.asked, limit - v.i_high, -limit - v.i_low)
        return derivatives, residuals, (i * v.v_im - g * v.v_re, -i * v.v_re - g * v.v_im)

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium for the power of the power flow's shunt."""
        power = terminal.voltage * np.conj(terminal.current)
        v_m = np.abs(terminal.voltage)
        i = power.imag / v_m * p.s_base / p.s_n
        error = error_at_rest(i, p.k_p, p.k_i)
        limit = np.maximum(p.i_shrt, 1.0) * p.i_max
        return {
            "v_m": v_m,
            "x_e": error,
            "x_i": np.where(p.k_i > 0, i, 0.0),
            "i": i,
            "error": error,
            "asked": i,
            "i_high": limit,
            "i_low": -limit,
            "v_ref": v_m + p.x_c0 * i + error,
            "g": -power.real / v_m**2,
        }

    actions = (
        sets("short", 1.0, lambda m, v, p: m.abs(v.i) - p.i_max, lambda p: p.t_delay1, _has_short_current),
        sets("short", 0.0, lambda m, v, p: p.i_max - m.abs(v.asked), used=_has_short_current),
        sets("free", 1.0, lambda m, v, p: m.abs(v.error) - p.dbd, used=_rests),
        sets("free", 0.0, lambda m, v, p: p.dbd / p.k_dbd - m.abs(v.error), lambda p: p.t_dbd, _rests),
        sets("side", 1.0, lambda m, v, p: v.i - p.i_dbd, used=_has_slow_reset),
        sets("side", -1.0, lambda m, v, p: -p.i_dbd - v.i, used=_has_slow_reset),
        sets("side", 0.0, lambda m, v, p: p.i_dbd - m.abs(v.i), used=_has_slow_reset),
        trip("trips at high voltage", lambda m, v, p: voltage(m, v) - p.v_trip, "t_delay2", "v_trip"),
    )
