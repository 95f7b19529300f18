"""SVSMO3, the generic static var system with a voltage source converter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from psmr.dae.declare.component import (
    Component,
    Parameter,
    Terms,
    crossed,
    flag,
    improper,
    nonnegative,
    positive,
)
from psmr.devices.blocks import error_at_rest, lead_lag
from psmr.devices.machines.textbook import S_BASE, S_N
from psmr.devices.static_var.regulator import (
    measured_and_limited,
    remembered,
    sets,
    slow_part,
    transient_gain,
    trip,
    voltage,
)

V_LEAST = 0.01
"""Voltage in pu below which the current falls with the voltage, whose direction it has."""


def _has_dead_band(p: Any) -> Any:
    return p.dbd > 0


def _has_short_rating(p: Any) -> Any:
    return p.i_shrt > 1


def _has_slow_reset(p: Any) -> Any:
    return p.slow_flag > 0


def _part(m: Any, size: Any, p: Any) -> Any:
    """Return the part of the rating that a voltage leaves: all from uv1 to ov1, none beyond uv2 and ov2."""
    low = m.min(m.max((size - p.uv2) / (p.uv1 - p.uv2), 0), 1)
    return low * m.min(m.max((p.ov2 - size) / (p.ov2 - p.ov1), 0), 1)


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

    Mechanically switched shunts beside it stand still (ecap, Iupr, Ilwr, TdelLC, Tout, Tmssbrk), and the
    thermal limit of the rating (I2t, Reset, hyst) and sdelay are not modelled.

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
        limit = times * p.i_max * _part(m, size, p)
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
        sets("short", 1.0, lambda m, v, p: m.abs(v.i) - p.i_max, lambda p: p.t_delay1, _has_short_rating),
        sets("short", 0.0, lambda m, v, p: p.i_max - m.abs(v.asked), used=_has_short_rating),
        sets("free", 1.0, lambda m, v, p: m.abs(v.error) - p.dbd, used=_has_dead_band),
        sets(
            "free", 0.0, lambda m, v, p: p.dbd / p.k_dbd - m.abs(v.error), lambda p: p.t_dbd, _has_dead_band
        ),
        sets("side", 1.0, lambda m, v, p: v.i - p.i_dbd, used=_has_slow_reset),
        sets("side", -1.0, lambda m, v, p: -p.i_dbd - v.i, used=_has_slow_reset),
        sets("side", 0.0, lambda m, v, p: p.i_dbd - m.abs(v.i), used=_has_slow_reset),
        trip("trips at high voltage", lambda m, v, p: voltage(m, v) - p.v_trip, "t_delay2", "v_trip"),
    )
