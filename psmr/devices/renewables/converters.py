"""Converters of renewable plants: REGCA1, REGCB1, REGCC1."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, ClassVar

import numpy as np

from psmr.dae.declare.component import Component, Parameter, Terms, crossed, flag, nonnegative, positive
from psmr.devices.blocks import lag, remaining, rotate, through_points
from psmr.devices.machines.textbook import S_BASE, S_N

PU = "pu on converter base"
NONE = 99.0
"""A limit of current (pu) or of its rate (pu/s) that is none: two orders above what a converter can carry."""
V_0 = Parameter("pu", "power flow's voltage at the terminals, from the case", positive)
Q_0 = Parameter("pu", "power flow's reactive power of the plant, from the case")
V_FLOOR = 0.01
"""Voltage below which the phase of the bus gives way: the current then falls with the voltage."""


def without_states(kind: type[Component], gone: Collection[str]) -> dict[str, Any]:
    """Return the states of a component, and what it declares of them, without some of them."""
    kept = {
        name: {state: value for state, value in getattr(kind, name).items() if state not in gone}
        for name in ("limits", "lags", "integrals")
    }
    return {"states": tuple(state for state in kind.states if state not in gone), **kept}


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


ANGULAR = "rad/s"


class REGCC1(REGCB1):
    """Converter as a voltage source behind an impedance, with its current control and phase-locked loop.

    ::

        |v|, ip_cmd, iq_cmd -> rates, lags and limit of the current as in REGCB1 -> p, q

        v_d + j v_q = v exp(-j theta_pll)     i_d + j i_q = (e_d + j e_q - v_d - j v_q)/(r_e + j x_e)
        v_q -> k_ppll + k_ipll/s, limits [w_min, w_max] -> 1/s -> theta_pll
        p - i_d -> k_ip + k_ii/s -> c_d      -q - i_q -> k_ip + k_ii/s -> c_q
        v_d + j v_q + (r_e + j x_e)(c_d + j c_q) -> 1/(1 + s t_e) -> e_d + j e_q
        i_re + j i_im = (i_d + j i_q) exp(j theta_pll)

    The limits of the phase-locked loop hold for its integral part, without windup, and for its output, the
    deviation of its speed. A positive iq_cmd gives reactive power. The impedance is that of the generator in
    the network file (ZR + j ZX). Source: EPRI 3002027129, Model User Guide for Generic Renewable Energy
    System Models (2023), REGC_C; PSS/E Model Library, REGCC1, with its record and its loops as GridPACK has
    them.
    """

    role = "converter"
    records = (
        "REGCC1 rate_flag pq_flag t_g t_fltr iqrmax iqrmin rrpwr t_e i_max k_ip k_ii k_ppll k_ipll w_max "
        "w_min",
    )
    states = ("x_p", "i_q", "v_m", "x_d", "x_q", "e_d", "e_q", "x_pll", "theta_pll")
    limits = {"x_pll": ("w_min", "w_max")}
    together = (("x_p", "i_q", "x_d", "x_q", "e_d", "e_q"),)
    units = {"x_pll": ANGULAR, "theta_pll": "rad"}

    k_ip = Parameter("1", "proportional gain of the current control", nonnegative)
    k_ii = Parameter("1/s", "integral gain of the current control", positive)
    k_ppll = Parameter(f"{ANGULAR} per pu", "proportional gain of the phase-locked loop", nonnegative)
    k_ipll = Parameter(f"{ANGULAR} per pu and s", "integral gain of the phase-locked loop", positive)
    w_max = Parameter(ANGULAR, "upper limit of the phase-locked loop", positive)
    w_min = Parameter(ANGULAR, "lower limit of the phase-locked loop")

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to a rate of the wrong sign and to crossed limits."""
        return REGCB1.conflict(p) or crossed(p, ("w_min", "w_max"))

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives, the residuals of the powers, and the current into the bus."""
        voltage = m.sqrt(v.v_re**2 + v.v_im**2)
        active, reactive, references = limited_currents(m, v, p, voltage)
        v_d, v_q = rotate(m, v.v_re, v.v_im, v.theta_pll)
        square = p.r_e**2 + p.x_e**2
        u_d, u_q = v.e_d - v_d, v.e_q - v_q
        i_d, i_q = (p.r_e * u_d + p.x_e * u_q) / square, (p.r_e * u_q - p.x_e * u_d) / square
        error_d, error_q = active - i_d, -reactive - i_q
        c_d, c_q = p.k_ip * error_d + v.x_d, p.k_ip * error_q + v.x_q
        derivatives = (
            *references,
            p.k_ii * error_d,
            p.k_ii * error_q,
            lag(v_d + p.r_e * c_d - p.x_e * c_q, v.e_d, p.t_e),
            lag(v_q + p.x_e * c_d + p.r_e * c_q, v.e_q, p.t_e),
            p.k_ipll * v_q,
            m.clip(p.k_ppll * v_q + v.x_pll, p.w_min, p.w_max),
        )
        residuals = (v_d * i_d + v_q * i_q - v.p_e, v_q * i_d - v_d * i_q - v.q_e)
        i_re, i_im = rotate(m, i_d, i_q, -v.theta_pll)
        base = p.s_n / p.s_base
        return derivatives, residuals, (base * i_re, base * i_im)

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium without limits."""
        found = REGCB1.guess(terminal, p)
        return {
            **found,
            "x_d": found["ip_cmd"],
            "x_q": -found["iq_cmd"],
            "theta_pll": np.angle(terminal.voltage),
        }
