"""The generator and converter of the generic renewable models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from psmr.dae.declare.component import Component, Parameter, Terms, crossed, flag, nonnegative, positive
from psmr.devices.blocks import lag, through_points
from psmr.devices.machines import S_BASE, S_N

PU = "pu on converter base"
NONE = 99.0
"""A limit of current (pu) or of its rate (pu/s) that is none: two orders above what a converter can carry."""
V_0 = Parameter("pu", "power flow's voltage at the terminals, from the case", positive)
Q_0 = Parameter("pu", "power flow's reactive power of the plant, from the case")
V_FLOOR = 0.01
"""Voltage below which the phase of the bus gives way: the current then falls with the voltage."""


class REGCA1(Component):
    """Converter as a current source in phase with its bus voltage.

    ::

        |v| -> 1/(1 + s t_fltr) -> v_lv -> polygon (zerox, 0), (brkpt, lvpl1) -> lvpl
        ip_cmd -> 1/(1 + s t_g), limit lvpl, |i_p| grows by at most rrpwr -> i_p
        iq_cmd -> 1/(1 + s t_g), rises by at most iqrmax where q_0 > 0,
                                 falls by at most iqrmin where q_0 < 0 -> i_q

        active   = i_p polygon(|v|; (lvpnt0, 0), (lvpnt1, 1))
        reactive = max(i_q - max(k_hv (|v| - v_olim), 0), i_olim)
        i_re + j i_im = (active - j reactive) (v_re + j v_im)/|v|

    Polygons are constant beyond their ends. Some programs have no limit lvpl above brkpt, which is the same
    where lvpl1 is at least the current limit of the control. Without the low-voltage power logic
    (lvplsw = 0) there is none at all. q_0 is the power flow's reactive power. Both managements are algebraic
    functions of the bus voltage, solved with the network; the factor by which other programs damp an
    iteration for them (Accel) has no part in it. Below |v| = 0.01, where a phase means nothing, the current
    falls with the voltage. A positive iq_cmd gives reactive power.
    Source: EPRI 3002027129, Model User Guide for Generic Renewable Energy System Models (2023), REGC_A; PSS/E
    Model Library, REGCA1; WECC, Solar Photovoltaic Power Plant Modeling and Validation Guideline (2019).
    """

    role = "converter"
    records = (
        "REGCA1 lvplsw t_g rrpwr brkpt zerox lvpl1 v_olim lvpnt1 lvpnt0 i_olim t_fltr k_hv iqrmax "
        "iqrmin -accel",
    )
    grid = "follows"
    states = ("i_p", "i_q", "v_lv")
    algebraic = ("lvpl", "p_e", "q_e")
    inputs = ("v_re", "v_im", "ip_cmd", "iq_cmd")
    outputs = ("i_re", "i_im")
    limits = {"i_p": (None, "lvpl")}
    lags = {"i_p": ("t_g",), "i_q": ("t_g",), "v_lv": ("t_fltr",)}
    together = (("i_p", "i_q", "v_lv", "lvpl"),)

    s_n = S_N
    s_base = S_BASE
    q_0 = Q_0
    lvplsw = Parameter("1", "1 with low-voltage power logic, 0 without", flag)
    t_g = Parameter("s", "time constant of the currents", nonnegative)
    rrpwr = Parameter(f"{PU}/s", "largest rate at which the active current grows", positive)
    brkpt = Parameter("pu", "voltage above which the low-voltage power logic allows lvpl1")
    zerox = Parameter("pu", "voltage below which it allows no active current", nonnegative)
    lvpl1 = Parameter(PU, "largest active current that it allows", nonnegative)
    v_olim = Parameter("pu", "voltage above which reactive current is taken away", positive)
    lvpnt1 = Parameter("pu", "voltage above which the whole active current flows")
    lvpnt0 = Parameter("pu", "voltage below which no active current flows; below 0 some flows at any")
    i_olim = Parameter(PU, "lower limit of the reactive current at high voltage")
    t_fltr = Parameter("s", "time constant of the voltage filter", nonnegative)
    k_hv = Parameter(f"{PU} per pu", "gain of the reactive current taken away at high voltage", nonnegative)
    iqrmax = Parameter(f"{PU}/s", "largest rate at which reactive current rises, where q_0 > 0", positive)
    iqrmin = Parameter(f"{PU}/s", "largest rate at which it falls, below zero, where q_0 < 0")

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to polygons without width, to a rate of the wrong sign, to a rate limit without a lag."""
        if p["iqrmin"] >= 0:
            return f"iqrmin = {p['iqrmin']:g}: must be < 0, the reactive current falls at this rate"
        for name in ("rrpwr", "iqrmax", "iqrmin"):
            if p["t_g"] == 0 and abs(p[name]) < NONE:
                return (
                    f"t_g = 0 and {name} = {p[name]:g}: a rate needs a lag; t_g must be > 0, or {name} at"
                    f" least {NONE:g} in size (none)"
                )
        return crossed(p, ("zerox", "brkpt"), ("lvpnt0", "lvpnt1"))

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives, the residuals of limit and powers, and the current into the bus."""
        return current_source(m, v, p, p.t_g)

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium without limits."""
        voltage = np.abs(terminal.voltage)
        i = terminal.current * p.s_base / p.s_n * voltage / terminal.voltage
        kept = np.clip((voltage - p.lvpnt0) / (p.lvpnt1 - p.lvpnt0), 0.01, 1.0)
        i_p, i_q = i.real / kept, -i.imag
        ceiling = p.lvpl1 * np.clip((voltage - p.zerox) / (p.brkpt - p.zerox), 0.0, 1.0)
        return {
            "i_p": i_p,
            "ip_cmd": i_p,
            "i_q": i_q,
            "iq_cmd": i_q,
            "v_lv": voltage,
            "p_e": voltage * i.real,
            "q_e": voltage * i_q,
            "lvpl": np.where(p.lvplsw > 0, ceiling, NONE),
        }


def current_source(m: Any, v: Any, p: Any, t_q: Any) -> tuple[Terms, Terms, Terms]:
    """Return the equations of REGCA1 with a lag of t_q of the reactive current."""
    voltage = m.sqrt(v.v_re**2 + v.v_im**2)
    kept = through_points(m, voltage, ((p.lvpnt0, 0), (p.lvpnt1, 1)))
    active = kept * v.i_p
    reactive = m.max(v.i_q - m.max(p.k_hv * (voltage - p.v_olim), 0), p.i_olim)
    ceiling = through_points(m, v.v_lv, ((p.zerox, 0), (p.brkpt, p.lvpl1)))
    lvpl = m.where(m.ge(p.lvplsw, 1), ceiling, NONE)

    generating = m.ge(v.i_p, 0)
    fastest_p = m.where(generating, -NONE / p.t_g, -p.rrpwr), m.where(generating, p.rrpwr, NONE / p.t_g)
    fastest_q = (
        m.where(m.ge(p.q_0, 0), -NONE / t_q, p.iqrmin),
        m.where(m.le(p.q_0, 0), NONE / t_q, p.iqrmax),
    )
    derivatives = (
        m.clip(lag(v.ip_cmd, v.i_p, p.t_g), *fastest_p),
        m.clip(lag(v.iq_cmd, v.i_q, t_q), *fastest_q),
        lag(voltage, v.v_lv, p.t_fltr),
    )
    floored = m.max(voltage, V_FLOOR)
    c, s = v.v_re / floored, v.v_im / floored
    base = p.s_n / p.s_base
    power = voltage**2 / floored
    residuals = (lvpl - v.lvpl, power * active - v.p_e, power * reactive - v.q_e)
    return (
        derivatives,
        residuals,
        (base * (active * c + reactive * s), base * (active * s - reactive * c)),
    )
