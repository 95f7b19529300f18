"""The generator and converter of doubly fed wind turbines (type 3) with low-voltage logic."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from psmr.dae.declare.component import Component, Parameter, Terms, crossed, nonnegative, positive
from psmr.devices.blocks import lag, through_points
from psmr.devices.machines.textbook import F_N, S_BASE, S_N
from psmr.devices.renewables.converters import NONE, PU
from psmr.devices.renewables.wind_type3 import WT3G1, doubly_fed, without_loop


class WT3G2(Component):
    """Generator and converter of type 3 wind turbines: WT3G1 with what WT4G1 does at low and high voltage.

    ::

        |v| -> 1/(1 + s t_fltr) -> v_lv -> polygon (zerox, 0), (brkpt, lvpl1) -> lvpl
        ip_cmd -> 1/(1 + s t_g), limit lvpl, |i_p| grows by at most rrpwr -> i_p
        eq_cmd -> 1/(1 + s t_eq) -> e_q
        active = i_p polygon(|v|; (0.4, 0), (0.8, 1)),   reactive = e_q/x_e - max(k_hv (|v| - v_olim), 0)
        i_re + j i_im = (active - j reactive) exp(j theta_pll) - v/(j x_e)

    The phase-locked loop is that of WT3G1, the reactance x_e that of the generator in the network file (ZX).
    t_eq, t_g, zerox, brkpt, lvpl1, v_olim, k_hv, rrpwr and t_fltr are the record's TEQCMD, TIPCMD, VLVPL1,
    VLVPL2, GLVPL, VHVRCR, CURHVRCR, RIP_LVPL and T_LVPL. Public texts differ on CURHVRCR: a gain here, as in
    InterPSS, which was compared with PSS/E; a limit of the reactive current in STEPS. Source: PSS/E, Model
    Library, WT3G2; InterPSS and STEPS, WT3G2, for the order of the values STEPS.
    """

    role = "converter"
    records = (
        "WT3G2 turbines t_eq t_g k_pll k_ipll p_llmax p_rated zerox brkpt lvpl1 v_olim k_hv rrpwr t_fltr",
    )
    grid = "follows"
    states: ClassVar[tuple[str, ...]] = ("i_p", "e_q", "v_lv", "x_pll", "theta_pll")
    algebraic: ClassVar[tuple[str, ...]] = ("lvpl", "p_e", "q_e", "p_llmin")
    inputs, outputs = WT3G1.inputs, WT3G1.outputs
    limits = {"i_p": (None, "lvpl"), **WT3G1.limits}
    lags = {"i_p": ("t_g",), "e_q": ("t_eq",), "v_lv": ("t_fltr",)}
    integrals, switched, units = WT3G1.integrals, WT3G1.switched, WT3G1.units
    together = (("i_p", "e_q", "v_lv", "lvpl"),)

    s_n, s_base, f_n = S_N, S_BASE, F_N
    turbines, p_rated = WT3G1.turbines, WT3G1.p_rated
    k_pll, k_ipll, p_llmax = WT3G1.k_pll, WT3G1.k_ipll, WT3G1.p_llmax
    x_e = Parameter(PU, "equivalent reactance of the generator", positive)
    t_eq = Parameter("s", "time constant of the voltage behind x_e", nonnegative)
    t_g = Parameter("s", "time constant of the active current", nonnegative)
    zerox = Parameter("pu", "voltage below which the low-voltage power logic allows no current", nonnegative)
    brkpt = Parameter("pu", "voltage above which it allows lvpl1")
    lvpl1 = Parameter(PU, "largest active current that it allows", nonnegative)
    v_olim = Parameter("pu", "voltage above which reactive current is taken away", positive)
    k_hv = Parameter(f"{PU} per pu", "gain of the reactive current taken away", nonnegative)
    rrpwr = Parameter(f"{PU}/s", "largest rate at which the active current grows", positive)
    t_fltr = Parameter("s", "time constant of the voltage filter", nonnegative)

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to a polygon without width and to a rate limit without a lag."""
        if p["t_g"] == 0 and p["rrpwr"] < NONE:
            return f"t_g = 0 and rrpwr = {p['rrpwr']:g}: a rate needs a lag; t_g must be > 0"
        return crossed(p, ("zerox", "brkpt"))

    @staticmethod
    def shape(*choice: int) -> Mapping[str, Any]:
        """Return the variables without the phase-locked loop where k_pll is 0."""
        return without_loop(WT3G2, *choice)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives, the residuals of limits and powers, and the current into the bus."""
        voltage = m.sqrt(v.v_re**2 + v.v_im**2)
        active = v.i_p * through_points(m, voltage, ((0.4, 0), (0.8, 1)))
        reactive = v.e_q / p.x_e - m.max(p.k_hv * (voltage - p.v_olim), 0)
        ceiling = through_points(m, v.v_lv, ((p.zerox, 0), (p.brkpt, p.lvpl1)))
        generating = m.ge(v.i_p, 0)
        fastest = m.where(generating, -NONE / p.t_g, -p.rrpwr), m.where(generating, p.rrpwr, NONE / p.t_g)
        loop, residuals, injection = doubly_fed(m, v, p, active, reactive, p.x_e)
        derivatives = (
            m.clip(lag(v.ip_cmd, v.i_p, p.t_g), *fastest),
            lag(v.eq_cmd, v.e_q, p.t_eq),
            lag(voltage, v.v_lv, p.t_fltr),
            *loop,
        )
        return derivatives, (ceiling - v.lvpl, *residuals), injection

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium without limits."""
        voltage = np.abs(terminal.voltage)
        i = terminal.current * p.s_base / p.s_n * voltage / terminal.voltage
        i_p = i.real / np.clip((voltage - 0.4) / 0.4, 0.01, 1.0)
        e_q = voltage - p.x_e * (i.imag - np.maximum(p.k_hv * (voltage - p.v_olim), 0.0))
        return {
            "i_p": i_p,
            "ip_cmd": i_p,
            "e_q": e_q,
            "eq_cmd": e_q,
            "v_lv": voltage,
            "theta_pll": np.angle(terminal.voltage),
            "p_e": voltage * i.real,
            "q_e": -voltage * i.imag,
            "p_llmin": -p.p_llmax,
            "lvpl": p.lvpl1 * np.clip((voltage - p.zerox) / (p.brkpt - p.zerox), 0.0, 1.0),
        }
