"""The plant control of the generic renewable models.

What plant controls read: a bus, the plant itself, or a branch that carries its power.
"""

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
    whole,
)
from psmr.devices.blocks import (
    dead_band,
    error_band,
    gate,
    lag,
    lead_lag,
    limited_where,
    phasor_frequency,
)
from psmr.devices.machines.textbook import F_N, S_BASE
from psmr.devices.renewables.converters import PU, without_states
from psmr.devices.renewables.electrical import V_LEAST

INPUTS = (
    "v_re",
    "v_im",
    "v_re_r",
    "v_im_r",
    "p_e",
    "q_e",
    "ref",
    "p_plant",
    "f_ref",
    "i_re_b",
    "i_im_b",
    "v_re_b",
    "v_im_b",
)
"""Voltage of the plant and of the regulated bus, powers of the plant, set-points, current and voltage of the
branch."""

OPTIONAL: Mapping[str, float] = {"f_ref": 1.0, "i_re_b": 0.0, "i_im_b": 0.0, "v_re_b": 1.0, "v_im_b": 0.0}

BRANCH = ("from_bus", "to_bus", "circuit", "i_re_b", "i_im_b", "v_re_b", "v_im_b")
"""Parameters by which a monitored branch is found, and the inputs that read it."""

PLANT_BASE = Parameter(
    "MVA", "base of the plant's powers, needed where a branch is monitored", nonnegative, 0.0
)

MONITORED = (
    Parameter("number", "bus at which the monitored branch is read, 0 for none", whole(0, 999999), 0.0),
    Parameter("number", "other bus of the monitored branch", whole(0, 999999), 0.0),
    Parameter("number", "circuit of the monitored branch", whole(0, 999999), 1.0),
)


def measured_powers(m: Any, v: Any, p: Any) -> tuple[Any, Any, Any, Any]:
    """Return (p, q, i_re, i_im) at the measuring point: of the monitored branch, or of the plant itself."""
    square = m.max(v.v_re**2 + v.v_im**2, V_LEAST**2)
    i_re, i_im = (v.p_e * v.v_re + v.q_e * v.v_im) / square, (v.p_e * v.v_im - v.q_e * v.v_re) / square
    scale = p.s_base / m.where(m.le(p.s_n, 0), 1, p.s_n)
    b_re, b_im = scale * v.i_re_b, scale * v.i_im_b
    power, reactive = v.v_re_b * b_re + v.v_im_b * b_im, v.v_im_b * b_re - v.v_re_b * b_im
    own, branch = (v.p_e, v.q_e, i_re, i_im), (power, reactive, b_re, b_im)
    monitored = m.ge(p.from_bus, 1)
    p_at, q_at, re, im = (m.where(monitored, b, o) for b, o in zip(branch, own, strict=True))
    return p_at, q_at, re, im


class REPCA1(Component):
    """Plant control: it holds a voltage or a reactive power, and a power with frequency droop.

    ::

        p - j q = i conj(v_b)                              power at the measuring point
        ref_flag = 1, vc_flag = 1: y = |v_r - (r_c + j x_c) i|                 line drop compensation
        ref_flag = 1, vc_flag = 0: y = |v_r| + k_c q                           reactive droop
        ref_flag = 0:              y = q

        y -> 1/(1 + s t_fltr) -> y_m
        ref - y_m -> dead band [dbd1, dbd2] -> limits [e_min, e_max] -> k_p + k_i/s, limits [q_min, q_max]
        -> (1 + s t_ft)/(1 + s t_fv) -> q_ext

        f_flag = 0: p_ref = p_plant
        f_flag = 1: f_ref - f -> dead band [fdbd1, fdbd2] -> d_dn where < 0, d_up where > 0 -> droop
                    p -> 1/(1 + s t_p) -> p_m
                    p_plant + droop - p_m -> limits [fe_min, fe_max] -> k_pg + k_ig/s, limits [p_min, p_max]
                    -> 1/(1 + s t_g) -> p_ref

    v_r is the voltage of the regulated bus. Where a branch is monitored, i is the current into it at the bus
    from_bus, whose voltage is v_b; otherwise p and q are the plant's own powers p_e and q_e, v_b is the
    voltage of its bus, and i follows. All are per unit on the base s_n. The integrator of the voltage control
    rests while |v_r| is below v_frz; over the 1e-3 pu above that its rate grows in proportion from 0 to the
    whole, as those of REECB1 do, and for the same reason. The frequency f is that of the regulated bus:
    s/(1 + s t_f) on its angle. The set-point ref is a voltage with ref_flag = 1 and a reactive power
    otherwise. With k_p = k_i = 0 there is no voltage control: its output is the set-point q_plant. Source:
    EPRI 3002027129, Model User Guide for Generic Renewable Energy System Models (2023), REPC_A; PSS/E Model
    Library, REPCA1.
    """

    role = "plant_control"
    records = (
        "REPCA1 bus from_bus to_bus circuit vc_flag ref_flag f_flag t_fltr k_p k_i t_ft t_fv v_frz "
        "r_c x_c k_c e_max e_min dbd1 dbd2 q_max q_min k_pg k_ig t_p fdbd1 fdbd2 fe_max fe_min p_max "
        "p_min t_g d_dn d_up",
    )
    states = ("y_m", "x_q", "x_l", "p_m", "x_p", "p_l", "x_theta")
    algebraic = ("q_ext", "p_ref")
    inputs, optional, branch = INPUTS, OPTIONAL, BRANCH
    limits = {"x_q": ("q_min", "q_max"), "x_p": ("p_min", "p_max")}
    lags = {"y_m": ("t_fltr",), "x_l": ("t_fv",), "p_m": ("t_p",), "p_l": ("t_g",)}
    integrals = dict.fromkeys(("p_m", "x_p", "p_l", "x_theta"), "f_flag")
    switched = (("k_p", "k_i"),)
    buses = {"bus": ("v_re_r", "v_im_r")}
    units = {"x_theta": "rad"}

    f_n = F_N
    s_base = S_BASE
    s_n = PLANT_BASE
    bus = Parameter("number", "regulated bus, 0 for the plant's own", whole(0, 999999), 0.0)
    from_bus, to_bus, circuit = MONITORED
    vc_flag = Parameter("1", "1 line drop compensation, 0 reactive droop", flag)
    ref_flag = Parameter("1", "1 voltage control, 0 reactive-power control", flag)
    f_flag = Parameter("1", "1 with power and frequency control, 0 without", flag)
    t_fltr = Parameter("s", "time constant of the filter of voltage or reactive power", nonnegative)
    k_p = Parameter("1", "proportional gain of the voltage control", nonnegative)
    k_i = Parameter("1/s", "integral gain of the voltage control", nonnegative)
    t_ft = Parameter("s", "lead time constant", nonnegative)
    t_fv = Parameter("s", "lag time constant", nonnegative)
    v_frz = Parameter("pu", "voltage below which the voltage control rests")
    r_c = Parameter(f"pu voltage per {PU}", "resistance of the line drop compensation", nonnegative)
    x_c = Parameter(f"pu voltage per {PU}", "reactance of the line drop compensation")
    k_c = Parameter(f"pu voltage per {PU}", "reactive droop", nonnegative)
    e_max = Parameter("pu", "upper limit of the error")
    e_min = Parameter("pu", "lower limit of the error")
    dbd1 = Parameter("pu", "lower end of the error's dead band, at most 0")
    dbd2 = Parameter("pu", "upper end of the error's dead band", nonnegative)
    q_max = Parameter(PU, "upper limit of q_ext")
    q_min = Parameter(PU, "lower limit of q_ext")
    k_pg = Parameter("1", "proportional gain of the power control", nonnegative)
    k_ig = Parameter("1/s", "integral gain of the power control", nonnegative)
    t_p = Parameter("s", "time constant of the power filter", nonnegative)
    fdbd1 = Parameter("pu", "lower end of the frequency's dead band, at most 0")
    fdbd2 = Parameter("pu", "upper end of the frequency's dead band", nonnegative)
    fe_max = Parameter(PU, "upper limit of the power error")
    fe_min = Parameter(PU, "lower limit of the power error")
    p_max = Parameter(PU, "upper limit of p_ref")
    p_min = Parameter(PU, "lower limit of p_ref")
    t_g = Parameter("s", "time constant of p_ref", nonnegative)
    d_dn = Parameter(f"{PU} per pu frequency", "gain at high frequency", nonnegative)
    d_up = Parameter(f"{PU} per pu frequency", "gain at low frequency", nonnegative)
    t_f = Parameter("s", "time constant of the frequency measurement", positive, default=0.04)

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to crossed limits, a lead without its lag, a power control without an integrator."""
        for name in ("dbd1", "fdbd1"):
            if p[name] > 0:
                return f"{name} = {p[name]:g}: must be at most 0, the dead band contains the reference"
        if p["from_bus"] and not p["s_n"]:
            return "s_n = 0: must be > 0 where a branch is monitored (from_bus)"
        if p["k_i"] == 0 < p["k_p"]:
            return f"k_i = 0: must be > 0 where k_p = {p['k_p']:g} is"
        if p["f_flag"] and p["k_ig"] == 0:
            return "k_ig = 0: must be > 0 where f_flag is 1"
        of_power = (("fe_min", "fe_max"), ("p_min", "p_max")) if p["f_flag"] else ()
        limits = (("e_min", "e_max"), ("q_min", "q_max"), *of_power)
        return crossed(p, *limits) or improper(p, ("t_ft", "t_fv"))

    @staticmethod
    def shape(*choice: int) -> Mapping[str, Any]:
        """Return the variables without the voltage control, whose output is a set-point then."""
        if choice == (1,):
            return {}
        return {
            "inputs": tuple("q_plant" if name == "ref" else name for name in REPCA1.inputs),
            "equations": staticmethod(_without_voltage_control),
            **without_states(REPCA1, OF_VOLTAGE),
        }

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives, and the residuals of the two references."""
        voltage = m.sqrt(v.v_re_r**2 + v.v_im_r**2)
        measured = measured_powers(m, v, p)
        error = error_band(m, v.ref - v.y_m, p.dbd1, p.dbd2)
        limited = m.clip(error, p.e_min, p.e_max)
        controlled = m.clip(p.k_p * limited + v.x_q, p.q_min, p.q_max)
        q_ext, d_l = lead_lag(controlled, v.x_l, p.t_ft, p.t_fv)

        of_power, p_ref = _power_control(m, v, p, measured[0])
        derivatives = (
            lag(_held(m, v, p, voltage, measured), v.y_m, p.t_fltr),
            p.k_i * limited * gate(m, voltage - p.v_frz),
            d_l,
            *of_power,
        )
        return derivatives, (q_ext - v.q_ext, p_ref - v.p_ref), ()

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium without limits, as if the plant's own bus were regulated."""
        known = terminal.signals
        power, q = known.get("p_e", 0.0), known.get("q_e", 0.0)
        order, asked = known.get("p_ref", power), known.get("q_ext", q)
        voltage = np.abs(terminal.voltage)
        dropped = np.abs(voltage - (p.r_c + 1j * p.x_c) * (power - 1j * q) / voltage)
        compensated = np.where(p.vc_flag > 0, dropped, voltage + p.k_c * q)
        y = np.where(p.ref_flag > 0, compensated, q)
        return {
            "y_m": y,
            "ref": y,
            "x_q": asked,
            "q_plant": asked,
            "x_l": asked,
            "q_ext": asked,
            "p_m": power,
            "p_plant": order,
            "x_p": order,
            "p_l": order,
            "p_ref": order,
            "x_theta": np.angle(terminal.voltage),
        }


OF_VOLTAGE = ("y_m", "x_q", "x_l")
"""States of the voltage control."""


def _without_voltage_control(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
    derivatives, p_ref = _power_control(m, v, p, measured_powers(m, v, p)[0])
    return derivatives, (m.clip(v.q_plant, p.q_min, p.q_max) - v.q_ext, p_ref - v.p_ref), ()


def _power_control(m: Any, v: Any, p: Any, power: Any) -> tuple[Terms, Any]:
    """Return the derivatives of the control of the active power, and its reference."""
    deviation, d_theta = phasor_frequency(m, v.v_re_r, v.v_im_r, v.x_theta, p.t_f, p.f_n)
    slow = dead_band(m, v.f_ref - 1 - deviation, p.fdbd1, p.fdbd2)
    droop = p.d_dn * m.min(slow, 0) + p.d_up * m.max(slow, 0)
    with_power = m.ge(p.f_flag, 1)
    error_p = limited_where(m, with_power, v.p_plant + droop - v.p_m, p.fe_min, p.fe_max)
    order = limited_where(m, with_power, p.k_pg * error_p + v.x_p, p.p_min, p.p_max)
    derivatives = (lag(power, v.p_m, p.t_p), p.k_ig * error_p, lag(order, v.p_l, p.t_g), d_theta)
    return derivatives, m.where(with_power, v.p_l, v.p_plant)


def _held(m: Any, v: Any, p: Any, voltage: Any, measured: tuple[Any, Any, Any, Any]) -> Any:
    """Return what the voltage control holds."""
    _, q, i_re, i_im = measured
    re, im = v.v_re_r - p.r_c * i_re + p.x_c * i_im, v.v_im_r - p.r_c * i_im - p.x_c * i_re
    held = m.where(m.ge(p.vc_flag, 1), m.sqrt(re**2 + im**2), voltage + p.k_c * q)
    return m.where(m.ge(p.ref_flag, 1), held, q)
