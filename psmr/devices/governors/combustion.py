"""Gas turbines and diesel engines with their governors: GAST, GGOV1, DEGOV, DEGOV1."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from psmr.dae.declare.component import Parameter, flag, improper, nonnegative, positive, whole
from psmr.devices.governors import Governor
from psmr.devices.machines.textbook import S_N
from psmr.devices.stabilisers.signals import POWER, machine_power


class GAST(Governor):
    """Gas turbine: droop or exhaust-temperature limit, whichever asks for less fuel.

    Source: PSS/E, Model Library, GAST; PES-TR1, Dynamic Models for Turbine-Governors in Power
    System Studies (2013).
    """

    records = ("GAST r t_1 t_2 t_3 a_t k_t v_max v_min d_turb",)
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

    @classmethod
    def diagram(cls, b: Any, v: Any, p: Any) -> None:
        """Connect gate, fuel valve, turbine and temperature."""
        slip = v.omega - 1
        asked, load_limit = v.p_ref - slip / p.r, p.a_t + p.k_t * (p.a_t - v.temperature)
        demand = asked if b.opened else b.min(asked, load_limit)
        flow = b.lag("flow", b.lag("fuel", demand, "t_1", ("v_min", "v_max")), "t_2")
        b.lag("temperature", flow, "t_3")
        b.output("t_m", flow - p.d_turb * slip)


TURBINE = "pu on turbine base"
LEAST_SPEED = 0.01
"""Speed in pu below which a power of it is not taken."""


class GGOV1(Governor):
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
    inputs = ("omega", "p_ref", *POWER)
    references = ("l_dref", "load_max")

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
    def objection(p: Mapping[str, float]) -> str | None:
        """Object to a valve that cannot close, and to control that has nothing to act on."""
        if p["r_close"] >= 0:
            return f"r_close = {p['r_close']:g}: must be < 0, the valve closes at this rate"
        if p["k_imw"] and p["rselect"] != 1:
            return (
                f"k_imw = {p['k_imw']:g} and rselect = {p['rselect']:g}: the power control needs the droop of"
                " the power (rselect = 1), whose reference it shares; or k_imw must be 0"
            )
        if p["db"] and not p["k_igov"]:
            return f"db = {p['db']:g} and k_igov = 0: k_igov must be > 0 where there is a dead band, or db 0"
        return improper(p, ("k_a", "t_a"))

    @staticmethod
    def rest_limits(p: Mapping[str, float]) -> Mapping[str, float]:
        """Return the most that the load limiter passes: fuel, and a temperature that its integral allows."""
        allowed = {"temperature": p["l_dref"] / p["k_turb"] + p["w_fnl"]} if p["k_iload"] else {}
        return {"valve": p["load_max"]} | allowed

    @classmethod
    def diagram(cls, b: Any, v: Any, p: Any) -> None:
        """Connect governor, actuator, turbine and limiters."""
        slip, ratio = v.omega - 1, b.where(b.le(p.t_rate, 0), 1, p.t_rate / p.s_n)
        p_m = b.lag("p_m", machine_power(b, v) / ratio, "t_pelec")
        x_mw = b.integrator("x_mw", v.p_ref - p_m, gain="k_imw", t="r", limits=("mw_min", "mw_max"))
        back = b.where(b.le(p.rselect, -2), v.f, b.where(b.le(p.rselect, -1), v.valve, 0))
        droop = b.where(b.ge(p.rselect, 1), p_m, back)
        error = b.dead_band(p.r * (v.p_ref + x_mw - droop) - slip, -p.db, p.db, regulated=True)
        limited = b.limit(error, "min_err", "max_err")
        derived = b.rate("x_d", limited, "k_dgov", "t_dgov", idle="k_dgov")
        b.state("x_gov", (v.f - derived - v.x_gov) * p.k_igov / p.k_pgov, idle="k_igov")
        f_n = p.k_pgov * limited + v.x_gov + derived
        b.state("x_load", (v.f - v.x_load) * p.k_iload / p.k_pload, idle="k_iload")
        f_t = b.min(p.k_pload * (p.l_dref / p.k_turb + p.w_fnl - v.temperature) + v.x_load, p.load_max)
        accelerated = b.washout("x_s", slip, "t_a", idle="k_a") / p.t_a
        b.state("x_a", p.k_a * (p.a_set - accelerated) + (v.f - v.x_a) / p.t_step, idle="k_a")
        # At rest the load limiter's integrator has followed f: the gate is open unless `rest_limits` says no.
        f_nt = f_n if b.opened else b.min(f_n, f_t)
        b.output("f", b.limit(b.where(b.le(p.k_a, 0), f_nt, b.min(f_nt, v.x_a)), "v_min", "v_max"))

        valve = b.integrator("valve", b.clip((v.f - v.valve) / p.t_act, p.r_close, p.r_open))
        fuel = valve * b.where(b.ge(p.flag, 1), v.omega, 1)
        engine = b.delay(("x_e", "q_e"), p.k_turb * (fuel - p.w_fnl), "t_eng")
        turned = b.lead_lag("x_t", engine, "t_c", "t_b")
        speed_effect = b.where(b.ge(p.d_m, 0), 1, b.exp(p.d_m * b.log(b.max(v.omega, LEAST_SPEED))))
        b.lag("temperature", b.lead_lag("x_sb", fuel * speed_effect, "t_sa", "t_sb"), "t_fload")
        b.output("t_m", ratio * (turned - b.max(p.d_m, 0) * slip))

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


DELAY = ("q_0", "q_1", "q_2", "q_3", "q_4", "q_5")
"""States of the engine's delay, which may be a second."""


class Diesel(Governor, part=True):
    """Electric control box, actuator and engine, which both governors share."""

    t_1 = Parameter("s", "first time constant of the control box", nonnegative)
    t_2 = Parameter("s", "second time constant of the control box", nonnegative)
    t_3 = Parameter("s", "lead of the control box", nonnegative)
    k = Parameter("pu/s", "gain of the actuator", positive)
    t_4 = Parameter("s", "lead of the actuator", nonnegative)
    t_5 = Parameter("s", "first lag of the actuator", nonnegative)
    t_6 = Parameter("s", "second lag of the actuator", nonnegative)
    t_d = Parameter("s", "delay of the engine", nonnegative)
    t_max = Parameter("pu on machine base", "upper limit of the throttle")
    t_min = Parameter("pu on machine base", "lower limit of the throttle")
    mechanical_power = Parameter("1", "1 where the machine takes t_m for a power, 0 for a torque", flag, 0.0)

    @staticmethod
    def objection(p: Mapping[str, float]) -> str | None:
        """Object to leads without their lags, and to a lag of a block that is left out."""
        if p["t_1"] == 0 != p["t_2"]:
            return f"t_1 = 0 and t_2 = {p['t_2']:g}: t_2 must be 0 where t_1 is, it has no effect there"
        return improper(p, ("t_3", "t_1"))

    @classmethod
    def error(cls, b: Any, v: Any, p: Any) -> Any:
        """Return what the control box is given."""
        raise NotImplementedError

    @classmethod
    def diagram(cls, b: Any, v: Any, p: Any) -> None:
        """Connect box, actuator and delay."""
        b_1 = b.state("b_1", v.b_2 / p.t_1, lags=("t_1",))
        b_2 = b.lag("b_2", cls.error(b, v, p) - b_1, "t_2")
        x_6 = b.lag("x_6", b_1 + p.t_3 / p.t_1 * b_2, "t_6")
        acting = b.lead_lag("x_5", x_6, "t_4", "t_5")
        throttle = b.integrator("throttle", acting, gain="k", limits=("t_min", "t_max"))
        b.ordered("t_min", "t_max")
        torque = b.delay(DELAY, throttle, "t_d")
        b.output("t_m", torque * (1 + p.mechanical_power * (v.omega - 1)))


class DEGOV(Diesel):
    """Diesel governor without droop: it brings the speed back to its reference.

    ::

        p_ref - (omega - 1) -> (1 + s t_3)/(1 + s t_1 + s^2 t_1 t_2)
        -> (1 + s t_4)/((1 + s t_5)(1 + s t_6)) -> k/s, limits [t_min, t_max] -> throttle
        throttle -> delay t_d -> torque      t_m = torque, or torque times omega

    p_ref is the reference of the speed's deviation in pu, 0 at rest. The delay is a Padé approximation of
    sixth order. The limits hold for the integrator, without windup: so does the data sheet's actuator, which
    OpenIPSL limits at its lag t_6 behind the integrator instead. The data sheet multiplies by omega: its
    output is a power. A machine that takes a power divides by omega again; one that takes t_m for a torque,
    as the classical machine does, is given the torque (PSS/E's trace beside a classical machine is met to
    5e-5 pu of speed so, to 9e-5 with the product). Source: PSS/E, Model Library, DEGOV (Woodward diesel
    governor).
    """

    records = ("DEGOV t_1 t_2 t_3 k t_4 t_5 t_6 t_d t_max t_min",)

    @classmethod
    def error(cls, b: Any, v: Any, p: Any) -> Any:
        """Return the error of the speed."""
        return v.p_ref - (v.omega - 1)

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium for the torque that the machine needs."""
        t_m = terminal.signals.get("t_m", 0.0)
        return {"throttle": t_m, "q_0": t_m, "t_m": t_m, "p_ref": 0.0}


class DEGOV1(Diesel):
    """Diesel governor with droop on its throttle or on the electrical power.

    ::

        p_e -> 1/(1 + s t_e) -> p_m
        r (p_ref - droop) - (omega - 1), droop: the throttle with droop_flag = 0, p_m with 1
        -> (1 + s t_3)/(1 + s t_1 + s^2 t_1 t_2)
        -> (1 + s t_4)/((1 + s t_5)(1 + s t_6)) -> k/s, limits [t_min, t_max] -> throttle
        throttle -> delay t_d -> torque      t_m = torque, or torque times omega

    The product with omega is the power that a machine takes for t_m in a case of powers. p_e is the machine's
    power in pu on its base. The delay is a Padé approximation of sixth order. The limits hold for the
    integrator, without windup. Source: PSS/E, Model Library, DEGOV1 (Woodward diesel governor).
    """

    records = ("DEGOV1 droop_flag t_1 t_2 t_3 k t_4 t_5 t_6 t_d t_max t_min r t_e",)
    inputs = ("omega", "p_ref", *POWER)

    droop_flag = Parameter("1", "droop of the throttle (0) or of the electrical power (1)", flag)
    r = Parameter("pu speed per pu power on machine base", "droop", positive)
    t_e = Parameter("s", "time constant of the measured power", nonnegative)

    @classmethod
    def error(cls, b: Any, v: Any, p: Any) -> Any:
        """Return the error of the speed and the droop."""
        droop = b.where(b.ge(p.droop_flag, 1), v.p_m, v.throttle)
        return p.r * (v.p_ref - droop) - (v.omega - 1)

    @classmethod
    def diagram(cls, b: Any, v: Any, p: Any) -> None:
        """Connect box, actuator, delay and power transducer."""
        super().diagram(b, v, p)
        b.lag("p_m", machine_power(b, v), "t_e")

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium for the torque that the machine needs."""
        t_m = terminal.signals.get("t_m", 0.0)
        return dict.fromkeys(("throttle", "q_0", "t_m", "p_m", "p_ref"), t_m)
