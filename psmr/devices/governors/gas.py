"""Gas turbines and their governors: GAST and GGOV1."""

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
from psmr.devices.blocks import error_band, lag, lead_lag, washout
from psmr.devices.governors.delay import delayed
from psmr.devices.machines.textbook import S_N
from psmr.devices.stabilisers.signals import POWER, electrical_power


class GAST(Component):
    """Gas turbine: droop or exhaust-temperature limit, whichever asks for less fuel.

    ::

        p_ref - (omega - 1)/r      a_t + k_t (a_t - temperature)   -> the lower of both -> demand
        demand -> 1/(1 + s t_1), limits [v_min, v_max] -> fuel -> 1/(1 + s t_2) -> flow
        flow -> 1/(1 + s t_3) -> temperature      flow - d_turb (omega - 1) -> t_m

    Source: PSS/E, Model Library, GAST; PES-TR1, Dynamic Models for Turbine-Governors in Power
    System Studies (2013).
    """

    role = "governor"
    records = ("GAST r t_1 t_2 t_3 a_t k_t v_max v_min d_turb",)
    states = ("fuel", "flow", "temperature")
    algebraic = ("t_m",)
    inputs = ("omega", "p_ref")
    limits = {"fuel": ("v_min", "v_max")}
    lags = {"fuel": ("t_1",), "flow": ("t_2",), "temperature": ("t_3",)}
    references = ("a_t",)

    r = Parameter("pu speed per pu power on machine base", "droop", positive)
    t_1 = Parameter("s", "time constant of the fuel valve", nonnegative)
    t_2 = Parameter("s", "time constant of the turbine", nonnegative)
    t_3 = Parameter("s", "time constant of the exhaust temperature", nonnegative)
    a_t = Parameter("pu on machine base", "ambient-temperature load limit", positive)
    k_t = Parameter("1", "gain of the temperature limiter", nonnegative)
    v_max = Parameter("pu on machine base", "upper limit of the fuel valve")
    v_min = Parameter("pu on machine base", "lower limit of the fuel valve")
    d_turb = Parameter("pu on machine base", "damping of the turbine", nonnegative)

    @staticmethod
    def rest_limits(p: Mapping[str, float]) -> Mapping[str, float]:
        """Return the most that the gate lets pass at rest, where fuel and temperature are the same."""
        return {"temperature": p["a_t"]}

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of fuel valve, turbine and temperature, and the torque."""
        slip = v.omega - 1
        asked, load_limit = v.p_ref - slip / p.r, p.a_t + p.k_t * (p.a_t - v.temperature)
        demand = asked if getattr(m, "opened", False) else m.min(asked, load_limit)
        derivatives = (
            lag(demand, v.fuel, p.t_1),
            lag(v.fuel, v.flow, p.t_2),
            lag(v.flow, v.temperature, p.t_3),
        )
        return derivatives, (v.flow - p.d_turb * slip - v.t_m,), ()

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium for the torque that the machine needs, with the temperature limit open."""
        t_m = terminal.signals.get("t_m", 0.0)
        return {"fuel": t_m, "flow": t_m, "temperature": t_m, "t_m": t_m, "p_ref": t_m}


TURBINE = "pu on turbine base"


class GGOV1(Component):
    """General governor: speed, load limit or acceleration, whichever asks for the least fuel.

    ::

        p_e -> 1/(1 + s t_pelec) -> p_m      k_imw (p_ref - p_m)/r -> 1/s, limits [mw_min, mw_max] -> x_mw
        r (p_ref + x_mw - droop) - (omega - 1) -> dead band [-db, db] -> limits [min_err, max_err]
        -> k_pgov + k_igov/s + s k_dgov/(1 + s t_dgov) -> f_n
        droop = p_m (rselect 1), valve (-1), f (-2) or 0 (0)
        l_dref/k_turb + w_fnl - temperature -> k_pload + k_iload/s, at most load_max -> f_t
        x_a' = k_a (a_set - s/(1 + s t_a) omega) + (f - x_a)/t_step,   f_a = x_a
        the least of f_n, f_t and f_a -> limits [v_min, v_max] -> f
        f - valve -> 1/t_act -> limits [r_close, r_open] -> 1/s -> valve
        fuel = valve omega with flag = 1, valve with 0
        k_turb (fuel - w_fnl) -> delay t_eng -> (1 + s t_c)/(1 + s t_b) -> - d_m (omega - 1) -> power
        fuel -> (1 + s t_sa)/(1 + s t_sb) -> 1/(1 + s t_fload) -> temperature
        t_m = power t_rate/s_n

    With d_m < 0 there is no damping, and the fuel that the temperature sees is multiplied by omega^d_m.
    The integral parts of governor and load limiter follow f while another of the three decides:
    x' = (f - f_derivative - x) k_i/k_p, which is k_i times the error while its own does. PSS/E adds
    k_a (a_set - acceleration) t_step to the f of the step before; x_a is the same with a time constant of
    this step, which the record does not have. The delay is a Padé approximation of second
    order. The base of all powers is
    t_rate in MW, the machine's base where that is 0. The rates R_up and R_down of the load reference have no
    part: it does not move by itself.

    Source: PES-TR1, Dynamic Models for Turbine-Governors in Power System Studies (2013), GGOV1; PSS/E, Model
    Library, GGOV1; for the integrals that follow, the time constants k_p/k_i of PowerWorld's diagram. Sources
    differ on d_m > 0: in OpenIPSL it acts on the speed and not on its deviation.
    """

    role = "governor"
    records = (
        "GGOV1 rselect flag r t_pelec max_err min_err k_pgov k_igov k_dgov t_dgov v_max v_min t_act "
        "k_turb w_fnl t_b t_c t_eng t_fload k_pload k_iload l_dref d_m r_open r_close k_imw a_set k_a "
        "t_a t_rate db t_sa t_sb -r_up -r_down",
    )
    states = (
        "p_m",
        "x_mw",
        "x_gov",
        "x_d",
        "valve",
        "x_e",
        "q_e",
        "x_t",
        "x_sb",
        "temperature",
        "x_load",
        "x_s",
        "x_a",
    )
    algebraic = ("f", "t_m")
    inputs = ("omega", "p_ref", *POWER)
    limits = {"x_mw": ("mw_min", "mw_max")}
    lags = {
        "p_m": ("t_pelec",),
        "x_d": ("t_dgov",),
        "x_e": ("t_eng",),
        "q_e": ("t_eng",),
        "x_t": ("t_b",),
        "x_sb": ("t_sb",),
        "temperature": ("t_fload",),
        "x_s": ("t_a",),
    }
    references = ("l_dref", "load_max")
    integrals = {
        "x_mw": "k_imw",
        "x_gov": "k_igov",
        "x_d": "k_dgov",
        "x_load": "k_iload",
        "x_s": "k_a",
        "x_a": "k_a",
    }

    s_n = S_N
    rselect = Parameter("code", "droop: 1 power, -1 valve, -2 governor's output, 0 none", whole(-2, 1))
    flag = Parameter("1", "1: the fuel flow is proportional to the speed, 0: it is not", flag)
    r = Parameter(f"pu speed per {TURBINE}", "permanent droop", positive)
    t_pelec = Parameter("s", "time constant of the measured power", nonnegative)
    max_err = Parameter("pu", "upper limit of the speed error")
    min_err = Parameter("pu", "lower limit of the speed error")
    k_pgov = Parameter("pu", "proportional gain of the governor", positive)
    k_igov = Parameter("pu/s", "integral gain of the governor", nonnegative)
    k_dgov = Parameter("pu s", "derivative gain of the governor", nonnegative)
    t_dgov = Parameter("s", "time constant of the derivative", nonnegative)
    v_max = Parameter(TURBINE, "upper limit of the valve")
    v_min = Parameter(TURBINE, "lower limit of the valve")
    t_act = Parameter("s", "time constant of the actuator", positive)
    k_turb = Parameter("1", "gain of the turbine", positive)
    w_fnl = Parameter(TURBINE, "fuel flow without load", nonnegative)
    t_b = Parameter("s", "lag time constant of the turbine", nonnegative)
    t_c = Parameter("s", "lead time constant of the turbine", nonnegative)
    t_eng = Parameter("s", "delay of the engine", nonnegative)
    t_fload = Parameter("s", "time constant of the load limiter", nonnegative)
    k_pload = Parameter("pu", "proportional gain of the load limiter", positive)
    k_iload = Parameter("pu/s", "integral gain of the load limiter", nonnegative)
    l_dref = Parameter(TURBINE, "reference of the load limiter")
    d_m = Parameter(TURBINE, "damping where > 0, exponent of the speed where < 0")
    r_open = Parameter("pu/s", "largest rate at which the valve opens", positive)
    r_close = Parameter("pu/s", "largest rate at which the valve closes, below zero")
    k_imw = Parameter("pu/s", "gain of the power control", nonnegative)
    a_set = Parameter("pu/s", "acceleration at which its limiter begins")
    k_a = Parameter("pu", "gain of the acceleration limiter, 0 for none", nonnegative)
    t_a = Parameter("s", "time constant of the measured acceleration", nonnegative)
    t_rate = Parameter("MW", "rating of the turbine, 0 for the machine's base", nonnegative)
    db = Parameter("pu", "half the width of the dead band of the speed error", nonnegative)
    t_sa = Parameter("s", "lead time constant of the measured temperature", nonnegative)
    t_sb = Parameter("s", "lag time constant of the measured temperature", nonnegative)
    t_step = Parameter("s", "step of the acceleration limiter", positive, default=1 / 240)
    load_max = Parameter(TURBINE, "upper limit of the load limiter's output", positive, default=1.0)
    mw_max = Parameter(TURBINE, "upper limit of the power control", default=1.1)
    mw_min = Parameter(TURBINE, "lower limit of the power control", default=-1.1)

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to crossed limits, to a valve that cannot close, to leads without their lags."""
        if p["r_close"] >= 0:
            return f"r_close = {p['r_close']:g}: must be < 0, the valve closes at this rate"
        if p["k_imw"] and p["rselect"] != 1:
            return (
                f"k_imw = {p['k_imw']:g} and rselect = {p['rselect']:g}: the power control needs the droop of"
                " the power (rselect = 1), whose reference it shares; or k_imw must be 0"
            )
        if p["db"] and not p["k_igov"]:
            return f"db = {p['db']:g} and k_igov = 0: k_igov must be > 0 where there is a dead band, or db 0"
        wrong = crossed(p, ("min_err", "max_err"), ("v_min", "v_max"))
        return wrong or improper(p, ("k_dgov", "t_dgov"), ("k_a", "t_a"), ("t_c", "t_b"), ("t_sa", "t_sb"))

    @staticmethod
    def rest_limits(p: Mapping[str, float]) -> Mapping[str, float]:
        """Return the most that the load limiter passes: fuel, and a temperature that its integral allows."""
        allowed = {"temperature": p["l_dref"] / p["k_turb"] + p["w_fnl"]} if p["k_iload"] else {}
        return {"valve": p["load_max"]} | allowed

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of governor, actuator, turbine and limiters; fuel demand and torque."""
        slip, ratio = v.omega - 1, _ratio(m, p)
        back = m.where(m.le(p.rselect, -2), v.f, m.where(m.le(p.rselect, -1), v.valve, 0))
        droop = m.where(m.ge(p.rselect, 1), v.p_m, back)
        error = error_band(m, p.r * (v.p_ref + v.x_mw - droop) - slip, -p.db, p.db)
        limited = m.clip(error, p.min_err, p.max_err)
        washed, d_d = washout(limited, v.x_d, p.t_dgov)
        derived = p.k_dgov / p.t_dgov * washed
        f_n = p.k_pgov * limited + v.x_gov + derived
        f_t = m.min(p.k_pload * (p.l_dref / p.k_turb + p.w_fnl - v.temperature) + v.x_load, p.load_max)
        accelerated, d_s = washout(slip, v.x_s, p.t_a)
        # At rest the load limiter's integrator has followed f: the gate is open unless `rest_limits` says no.
        f_nt = f_n if getattr(m, "opened", False) else m.min(f_n, f_t)
        least = m.where(m.le(p.k_a, 0), f_nt, m.min(f_nt, v.x_a))

        fuel = v.valve * m.where(m.ge(p.flag, 1), v.omega, 1)
        engine, d_engine = delayed(p.k_turb * (fuel - p.w_fnl), (v.x_e, v.q_e), p.t_eng)
        turned, d_t = lead_lag(engine, v.x_t, p.t_c, p.t_b)
        speed_effect = m.where(m.ge(p.d_m, 0), 1, m.exp(p.d_m * m.log(m.max(v.omega, LEAST_SPEED))))
        exhaust, d_sb = lead_lag(fuel * speed_effect, v.x_sb, p.t_sa, p.t_sb)
        derivatives = (
            lag(electrical_power(m, v, p, None)[0] / ratio, v.p_m, p.t_pelec),
            p.k_imw * (v.p_ref - v.p_m) / p.r,
            (v.f - derived - v.x_gov) * p.k_igov / p.k_pgov,
            d_d,
            m.clip((v.f - v.valve) / p.t_act, p.r_close, p.r_open),
            *d_engine,
            d_t,
            d_sb,
            lag(exhaust, v.temperature, p.t_fload),
            (v.f - v.x_load) * p.k_iload / p.k_pload,
            d_s,
            p.k_a * (p.a_set - accelerated / p.t_a) + lag(v.f, v.x_a, p.t_step),
        )
        damping = m.max(p.d_m, 0) * slip
        residuals = (m.clip(least, p.v_min, p.v_max) - v.f, ratio * (turned - damping) - v.t_m)
        return derivatives, residuals, ()

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium for the torque that the machine needs, with both limiters open."""
        t_m = terminal.signals.get("t_m", 0.0)
        power = t_m / np.where(p.t_rate > 0, p.t_rate / p.s_n, 1.0)
        valve = power / p.k_turb + p.w_fnl
        droop = np.where(p.rselect >= 1, power, np.where(p.rselect < 0, valve, 0.0))
        same = dict.fromkeys(("x_gov", "valve", "x_sb", "temperature", "x_load", "f"), valve)
        x_a = valve + p.t_step * p.k_a * p.a_set
        own = {"p_m": power, "x_e": power, "x_t": power, "x_a": x_a, "p_ref": droop, "t_m": t_m}
        # Without an integral part the proportional one has the whole signal.
        held = np.where(p.k_igov > 0, 0.0, valve / (p.k_pgov * p.r))
        return same | own | {"p_ref": droop + held}


LEAST_SPEED = 0.01
"""Speed in pu below which a power of it is not taken."""


def _ratio(m: Any, p: Any) -> Any:
    """Return the base of the turbine's powers by that of the machine."""
    return m.where(m.le(p.t_rate, 0), 1, p.t_rate / p.s_n)
