"""SVSMO1, the generic static var system with a thyristor-controlled reactor."""

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
    improper,
    nonnegative,
)
from psmr.devices.blocks import error_at_rest, lead_lag
from psmr.devices.machines.textbook import S_BASE
from psmr.devices.static_var.regulator import (
    measured_and_limited,
    remembered,
    sets,
    slow_part,
    transient_gain,
    trip,
    voltage,
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

    Mechanically switched shunts beside it (flag1, Blcs, Blis, Tdelay1, Tdelay2, Tout, Tmssbrk) stand still.

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
