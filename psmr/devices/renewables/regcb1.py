"""The generator and converter of the generic renewable models as a voltage behind an impedance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from psmr.dae.declare.component import Component, Parameter, Terms, flag, nonnegative, positive
from psmr.devices.blocks import lag, remaining
from psmr.devices.machines import S_BASE, S_N
from psmr.devices.renewables.regca1 import NONE, PU, Q_0, V_FLOOR


class REGCB1(Component):
    """Converter as a voltage source behind an impedance, in phase with its bus voltage.

    ::

        |v| -> 1/(1 + s t_fltr) -> v_m
        rate_flag = 0: ip_cmd -> 1/(1 + s t_g), |x_p| grows by at most rrpwr -> x_p -> i_p
        rate_flag = 1: ip_cmd v_m -> the same -> x_p,    x_p/v_m -> i_p
        iq_cmd -> 1/(1 + s t_g), rises by at most iqrmax where q_0 > 0,
                                 falls by at most iqrmin where q_0 < 0 -> i_q

        pq_flag = 0: i_q -> limits [-i_max, i_max] -> q,  i_p -> limits [-r, r] -> p,  r = sqrt(i_max^2 - q^2)
        pq_flag = 1: i_p -> limits [-i_max, i_max] -> p,  i_q -> limits [-r, r] -> q,  r = sqrt(i_max^2 - p^2)

        |v| + r_e p + x_e q -> 1/(1 + s t_e) -> e_d        x_e p - r_e q -> 1/(1 + s t_e) -> e_q
        i_re + j i_im = ((e_d + j e_q) exp(j theta) - v)/(r_e + j x_e)

    theta is the angle of v = v_re + j v_im, q_0 the power flow's reactive power. A positive iq_cmd gives
    reactive power. The source follows the voltage of its bus within t_e, so that the current becomes p - j q
    in phase with it; with t_e = 0 it is that at once. The impedance is that of the generator in the network
    file (ZR + j ZX). Below |v| = 0.01, where a phase means nothing, the source falls with the voltage.
    Source: EPRI 3002027129, Model User Guide for Generic Renewable Energy System Models (2023), REGC_B; PSS/E
    Model Library, REGCB1, with its record as GridPACK reads it.
    """

    role = "converter"
    records = ("REGCB1 rate_flag pq_flag t_g t_fltr iqrmax iqrmin rrpwr t_e i_max",)
    grid = "follows"
    states: ClassVar[tuple[str, ...]] = ("x_p", "i_q", "v_m", "e_d", "e_q")
    algebraic = ("p_e", "q_e")
    inputs = ("v_re", "v_im", "ip_cmd", "iq_cmd")
    outputs = ("i_re", "i_im")
    lags = {"v_m": ("t_fltr",), "e_d": ("t_e",), "e_q": ("t_e",)}
    together: ClassVar[tuple[tuple[str, ...], ...]] = (("x_p", "i_q", "e_d", "e_q"),)

    s_n = S_N
    s_base = S_BASE
    q_0 = Q_0
    r_e = Parameter(PU, "resistance of the source", nonnegative)
    x_e = Parameter(PU, "reactance of the source", positive)
    rate_flag = Parameter("1", "1: rrpwr limits the active power, 0: the active current", flag)
    pq_flag = Parameter("1", "priority of the current limit: 1 active, 0 reactive", flag)
    t_g = Parameter("s", "time constant of the currents", positive)
    t_fltr = Parameter("s", "time constant of the voltage filter", nonnegative)
    iqrmax = Parameter(f"{PU}/s", "largest rate at which reactive current rises, where q_0 > 0", positive)
    iqrmin = Parameter(f"{PU}/s", "largest rate at which it falls, below zero, where q_0 < 0")
    rrpwr = Parameter(f"{PU}/s", "largest rate at which active current or power grows", positive)
    t_e = Parameter("s", "time constant of the source", nonnegative)
    i_max = Parameter(PU, "limit of the current's magnitude", positive)

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to a rate of the wrong sign."""
        if p["iqrmin"] >= 0:
            return f"iqrmin = {p['iqrmin']:g}: must be < 0, the reactive current falls at this rate"
        return None

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives, the residuals of the powers, and the current into the bus."""
        voltage = m.sqrt(v.v_re**2 + v.v_im**2)
        floored = m.max(voltage, V_FLOOR)
        active, reactive, references = limited_currents(m, v, p, voltage)
        derivatives = (
            *references,
            lag(voltage + p.r_e * active + p.x_e * reactive, v.e_d, p.t_e),
            lag(p.x_e * active - p.r_e * reactive, v.e_q, p.t_e),
        )
        # The current along the bus voltage and 90 degrees ahead of it.
        square = p.r_e**2 + p.x_e**2
        u_d, u_q = v.e_d - voltage, v.e_q
        i_d, i_a = (p.r_e * u_d + p.x_e * u_q) / square, (p.r_e * u_q - p.x_e * u_d) / square
        c, s, base = v.v_re / floored, v.v_im / floored, p.s_n / p.s_base
        power = voltage**2 / floored
        residuals = (power * i_d - v.p_e, -power * i_a - v.q_e)
        return derivatives, residuals, (base * (i_d * c - i_a * s), base * (i_d * s + i_a * c))

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium without limits."""
        voltage = np.abs(terminal.voltage)
        i = terminal.current * p.s_base / p.s_n * voltage / terminal.voltage
        i_p, i_q = i.real, -i.imag
        source = voltage + (p.r_e + 1j * p.x_e) * i
        return {
            "x_p": np.where(p.rate_flag > 0, i_p * voltage, i_p),
            "ip_cmd": i_p,
            "i_q": i_q,
            "iq_cmd": i_q,
            "v_m": voltage,
            "e_d": source.real,
            "e_q": source.imag,
            "p_e": voltage * i_p,
            "q_e": voltage * i_q,
        }


def limited_currents(m: Any, v: Any, p: Any, voltage: Any) -> tuple[Any, Any, Terms]:
    """Return the active and reactive current within the limit, and the derivatives of (x_p, i_q, v_m)."""
    measured = m.max(v.v_m, V_FLOOR)
    by_power, active_first = m.ge(p.rate_flag, 1), m.ge(p.pq_flag, 1)
    asked = m.where(by_power, v.ip_cmd * measured, v.ip_cmd)
    i_p = m.where(by_power, v.x_p / measured, v.x_p)
    generating = m.ge(v.x_p, 0)
    fastest_p = m.where(generating, -NONE / p.t_g, -p.rrpwr), m.where(generating, p.rrpwr, NONE / p.t_g)
    fastest_q = (
        m.where(m.ge(p.q_0, 0), -NONE / p.t_g, p.iqrmin),
        m.where(m.le(p.q_0, 0), NONE / p.t_g, p.iqrmax),
    )
    first = m.clip(m.where(active_first, i_p, v.i_q), -p.i_max, p.i_max)
    room = remaining(m, p.i_max, first)
    second = m.clip(m.where(active_first, v.i_q, i_p), -room, room)
    derivatives = (
        m.clip(lag(asked, v.x_p, p.t_g), *fastest_p),
        m.clip(lag(v.iq_cmd, v.i_q, p.t_g), *fastest_q),
        lag(voltage, v.v_m, p.t_fltr),
    )
    active, reactive = m.where(active_first, first, second), m.where(active_first, second, first)
    return active, reactive, derivatives
