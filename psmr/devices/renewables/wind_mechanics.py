"""Aerodynamics, shafts, pitch and torque of generic wind turbines, of both generations."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from psmr.dae.declare.component import (
    Component,
    NumericMath,
    Parameter,
    Terms,
    flag,
    nonnegative,
    positive,
    whole,
)
from psmr.devices.blocks import gate
from psmr.devices.diagram import BlockDiagram
from psmr.devices.machines.textbook import S_N
from psmr.devices.renewables.electrical import voltage_excess


class WTARA1(Component):
    """Aerodynamics of wind turbines, linear in the pitch about a constant wind.

    ::

        p_mech = p_m0 - k_a theta (theta - theta_0)

    p_m0 is the power that the drive train needs at the start; the pitch starts at theta_0. Source: WECC,
    Second Generation of Wind Turbine Models (2014), WTGAR_A; PSS/E Model Library, WTARA1.
    """

    role = "aerodynamics"
    records = ("WTARA1 k_a theta_0",)
    memory = ("p_m0",)
    algebraic = ("p_mech",)
    inputs = ("theta",)

    p_m0 = Parameter("pu", "power at the start", default=0.0)
    k_a = Parameter("pu/deg^2", "aerodynamic gain", nonnegative)
    theta_0 = Parameter("deg", "pitch at the start")

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the residual of the mechanical power; at the start that of the pitch, which is theta_0."""
        if getattr(m, "opened", False):
            return (), (p.theta_0 - v.theta,), ()
        return (), (aerodynamic_power(p.p_m0, p.k_a, v.theta, p.theta_0) - v.p_mech,), ()

    @staticmethod
    def at_start(v: Mapping[str, float], p: Mapping[str, float]) -> Mapping[str, float]:
        """Return the power that the drive train needs."""
        return {"p_m0": v["p_mech"]}

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the power at the start."""
        return {"p_mech": terminal.signals.get("p_e", 0.0)}


def aerodynamic_power(power: Any, k_a: Any, theta: Any, theta_0: Any) -> Any:
    """Return the power of a constant wind, which is `power` at the pitch theta_0."""
    return power - k_a * theta * (theta - theta_0)


class WTDTA1(Component):
    """Drive train of wind turbines: turbine and generator on a shaft, or one mass.

    ::

        masses = 2:   2 h_t omega_t' = p_mech/omega_t - shaft
                      2 h_g omega_g' = shaft - p_e/omega_g - damp (omega_g - 1)
                      twist' = omega_t - omega_g,  shaft = stiffness twist + d_shaft (omega_t - omega_g)
                      h_t = h ht_frac, h_g = h - h_t, stiffness = 2 (2 pi freq_1)^2 h_t h_g/h
        masses = 1:   2 h omega_g' = (p_mech - p_e)/omega_g - damp (omega_g - 1),  omega_t = omega_g

    A record with ht_frac = 0 or freq_1 = 0 is one of one mass. It starts at the speed reference of the torque
    control, or at the speed of an induction generator (WT12T1). Source: WECC, Second Generation of Wind
    Turbine Models (2014), WTGT_A, and Wind Power Plant Dynamic Modeling Guide (2010), WT1T; PSS/E Model
    Library, WTDTA1, WT12T1; for the damping, which is of the generator's speed, GridPACK and InterPSS.
    """

    role = "drive_train"
    records: ClassVar[tuple[str, ...]] = (
        "WTDTA1 h damp ht_frac freq_1 d_shaft",
        "WT12T1 h damp ht_frac freq_1 d_shaft",
    )
    structural = ("masses",)
    states = ("omega_t", "omega_g", "twist")
    inputs: ClassVar[tuple[str, ...]] = ("p_mech", "p_e")
    units = {"twist": "pu s"}

    masses = Parameter("1", "masses on the shaft, 1 or 2", whole(1, 2), 2.0)
    h = Parameter("s", "inertia constant of turbine and generator", positive)
    damp = Parameter("pu", "damping of the generator's speed", nonnegative, 0.0)
    ht_frac = Parameter("1", "part of the turbine in it", nonnegative, 0.0)
    freq_1 = Parameter("Hz", "frequency of the first torsional mode", nonnegative, 0.0)
    d_shaft = Parameter("pu", "damping of the shaft", nonnegative, 0.0)

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to two masses of which one has no inertia, or without a shaft."""
        if p["masses"] == 2 and not 0 < p["ht_frac"] < 1:
            return f"ht_frac = {p['ht_frac']:g}: must be between 0 and 1, both excluded, for two masses"
        if p["masses"] == 2 and p["freq_1"] == 0:
            return "freq_1 = 0: must be > 0 for two masses; or masses = 1"
        return None

    @staticmethod
    def from_record(values: Mapping[str, float]) -> Mapping[str, float]:
        """Return how many masses a record means."""
        return {"masses": 2.0 if values["ht_frac"] and values["freq_1"] else 1.0}

    @staticmethod
    def shape(*choice: int) -> Mapping[str, Any]:
        """Return the variables of one mass; two are the class's own."""
        if choice == (2,):
            return {}
        return {"states": ("omega_g",), "algebraic": ("omega_t",), "equations": staticmethod(one_mass)}

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of both speeds and of the twist."""
        h_t = p.h * p.ht_frac
        h_g = p.h - h_t
        stiffness = 2 * (2 * math.pi * p.freq_1) ** 2 * h_t * h_g / p.h
        slip = v.omega_t - v.omega_g
        shaft = stiffness * v.twist + p.d_shaft * slip
        turbine = (v.p_mech / v.omega_t - shaft) / (2 * h_t)
        generator = (shaft - v.p_e / v.omega_g - p.damp * (v.omega_g - 1)) / (2 * h_g)
        return (turbine, generator, slip), (), ()

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the speed of the other devices, or rated speed; the solution moves it to the reference."""
        return dict.fromkeys(("omega_t", "omega_g"), terminal.signals.get("omega_g", 1.0))


def one_mass(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
    """Return the derivative of the speed, and that of the turbine, which is the same."""
    torque = (v.p_mech - v.p_e) / v.omega_g - p.damp * (v.omega_g - 1)
    return (torque / (2 * p.h),), (v.omega_g - v.omega_t,), ()


class WTPTA1(BlockDiagram):
    """Pitch control of wind turbines: of the turbine's speed, and of the power beyond what is asked for.

    ::

        omega_t - omega_ref + k_cc (p_ord - p_asked) -> k_pw + k_iw/s, limits [theta_min, theta_max] -> a
        p_ord - p_asked -> k_pc + k_ic/s, limits [theta_min, theta_max] -> b
        a + b -> 1/(1 + s t_pi), rate [rate_min, rate_max], limits [theta_min, theta_max] -> theta

    Angles in degrees. The limits of a PI control hold for its integral part, without windup, and for its
    output. At the start theta is that of the aerodynamics; which of the two integral parts has it nothing
    says: the one of the power is 0 with t_flag = 1, the one of the speed with t_flag = 0. Source: WECC,
    Second Generation of Wind Turbine Models (2014), WTGPT_A; PSS/E Model Library, WTPTA1. The
    descriptions of GridKit and the diagrams of Dynawo (WTGPa) have the same blocks and limits.
    """

    role = "pitch_control"
    records = ("WTPTA1 k_iw k_pw k_ic k_pc k_cc t_pi theta_max theta_min rate_max rate_min",)
    shared = ("t_flag",)
    inputs = ("omega_t", "omega_ref", "p_ord", "p_asked")
    units = dict.fromkeys(("x_w", "x_c", "theta"), "deg")

    t_flag = Parameter("1", "that of the torque control", flag, 0.0)
    k_iw = Parameter("deg/pu/s", "integral gain of the speed", positive)
    k_pw = Parameter("deg/pu", "proportional gain of the speed", nonnegative)
    k_ic = Parameter("deg/pu/s", "integral gain of the power", positive)
    k_pc = Parameter("deg/pu", "proportional gain of the power", nonnegative)
    k_cc = Parameter("pu", "gain from the power to the speed", nonnegative)
    t_pi = Parameter("s", "time constant of the blades", positive)
    theta_max = Parameter("deg", "largest pitch")
    theta_min = Parameter("deg", "smallest pitch")
    rate_max = Parameter("deg/s", "largest rate of the pitch", positive)
    rate_min = Parameter("deg/s", "smallest rate of the pitch, below zero")

    @classmethod
    def diagram(cls, b: Any, v: Any, p: Any) -> None:
        """Connect both controls and the blades."""
        limits = "theta_min", "theta_max"
        beyond = v.p_ord - v.p_asked
        error = v.omega_t - v.omega_ref + p.k_cc * beyond
        d_w, d_c = p.k_iw * error, p.k_ic * beyond
        if b.opened:  # the torque control says at rest what one of these says, too
            power = b.ge(p.t_flag, 1)
            d_w, d_c = b.where(power, d_w, -v.x_w), b.where(power, -v.x_c, d_c)
        x_w, x_c = b.state("x_w", d_w, limits=limits), b.state("x_c", d_c, limits=limits)
        of_speed, of_power = b.limit(p.k_pw * error + x_w, *limits), b.limit(p.k_pc * beyond + x_c, *limits)
        b.ordered("rate_min", "rate_max")
        turning = b.clip((of_speed + of_power - v.theta) / p.t_pi, p.rate_min, p.rate_max)
        b.state("theta", turning, limits=limits)

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return a pitch of zero."""
        return {}


POINTS = tuple((f"p{k}", f"spd{k}") for k in (1, 2, 3, 4))


def _base(where: Any, below: Any, p: Any) -> Any:
    """Return the base of the powers by that of the converter."""
    none = below(p.t_rate, 0)
    return where(none, 1.0, where(none, 1.0, p.t_rate) / p.s_n)


class WTTQA1(BlockDiagram):
    """Torque control of wind plants of type 3: the power reference of the electrical control.

    p_ref0 is the reference of the plant control, or held. omega_g is the speed of the generator, 1 where the
    plant has no drive train. The polygon is constant beyond its ends. The integral part rests while |v| is
    outside [v_dip, v_up] of the plant's electrical control, as what rests there does. Powers are per unit on
    t_rate in MW, the converter's base where that is 0. Source: WECC, Second Generation of Wind Turbine Models
    (2014), WTGTRQ_A; EPRI 3002027129 (2023), WTGTRQ_A; PSS/E Model Library, WTTQA1. The
    descriptions of GridKit and the diagrams of Dynawo (WTGQa) have the same blocks and limits.
    """

    role = "torque_control"
    records = ("WTTQA1 t_flag k_pp k_ip t_p t_wref t_max t_min p1 spd1 p2 spd2 p3 spd3 p4 spd4 t_rate",)
    passes = {"p_ref": "p_ref0"}
    shared = ("v_dip", "v_up", "s_n")
    inputs = ("v_re", "v_im", "p_e", "omega_g", "p_ref0")
    optional = {"omega_g": 1.0}

    s_n = S_N
    v_dip = Parameter("pu", "voltage below which the integral part rests")
    v_up = Parameter("pu", "voltage above which the integral part rests")
    t_flag = Parameter("1", "1: control of the power, 0: control of the speed", flag)
    k_pp = Parameter("pu", "proportional gain", nonnegative)
    k_ip = Parameter("pu/s", "integral gain", nonnegative)
    t_p = Parameter("s", "time constant of the measured power", nonnegative)
    t_wref = Parameter("s", "time constant of the speed reference", nonnegative)
    t_max = Parameter("pu", "upper limit of the torque")
    t_min = Parameter("pu", "lower limit of the torque")
    p1, p2, p3, p4 = (Parameter("pu", f"power of point {k}") for k in (1, 2, 3, 4))
    spd1, spd2, spd3, spd4 = (Parameter("pu", f"speed at p{k}") for k in (1, 2, 3, 4))
    t_rate = Parameter("MW", "base of the powers, 0 for the converter's", nonnegative, 0.0)

    @staticmethod
    def objection(p: Mapping[str, float]) -> str | None:
        """Object to powers that do not rise, and to a control without an integral part."""
        if p["k_ip"] == 0:
            return "k_ip = 0: must be > 0, or nothing holds the power"
        for (low, _), (high, _) in pairwise(POINTS):
            if p[high] < p[low]:
                return f"{high} = {p[high]:g}: must not be below {low} = {p[low]:g}"
        return None

    @classmethod
    def diagram(cls, b: Any, v: Any, p: Any) -> None:
        """Connect power, speed reference and torque."""
        points = tuple((getattr(p, power), getattr(p, speed)) for power, speed in POINTS)
        base = b.named("base", _base(b.where, b.le, p), "t_rate/s_n, or 1 where t_rate = 0")
        p_f = b.lag("p_f", v.p_e / base, "t_p")
        omega_ref = b.lag("omega_ref", b.polygon(p_f, points), "t_wref")
        error = b.where(b.ge(p.t_flag, 1), (v.p_ref0 / base - p_f) / v.omega_g, v.omega_g - omega_ref)
        error = b.named(
            "error", error, "(p_ref0/base - p_f)/omega_g with t_flag = 1, omega_g - omega_ref with 0"
        )
        inside = b.named(
            "inside", gate(b, -voltage_excess(b, v, p)), "1 with |v| in [v_dip, v_up], 0 outside"
        )
        x_t = b.state("x_t", p.k_ip * error * inside, limits=("t_min", "t_max"))
        torque = b.named("torque", b.limit(p.k_pp * error + x_t, "t_min", "t_max"))
        b.output("p_ref", base * torque * v.omega_g)
        b.output("p_asked", v.p_ref0)

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium for the power reference that the electrical control needs."""
        known = terminal.signals
        base = _base(np.where, np.less_equal, p)
        power, order = known.get("p_e", 0.0), known.get("p_ref", known.get("p_e", 0.0))
        p_f = power / base
        speed = np.interp(p_f, [0.0, 1.0], [0.8, 1.0])
        own = {"p_f": p_f, "omega_ref": speed, "x_t": order / base / known.get("omega_g", 1.0)}
        return own | {"p_ref": order, "p_ref0": power, "p_asked": power}


class WT3P1(BlockDiagram):
    """Pitch control of type 3 wind turbines of the first generation: speed, and power above its set-point.

    ::

        omega_g - omega_ref -> k_pp + k_ip/s, limits [theta_min, theta_max] -> a
        p_ord - p_set -> k_pc + k_ic/s, limits [0, theta_max] -> b
        a + b -> 1/(1 + s t_p), rate at most rate_max, limits [theta_min, theta_max] -> theta

    Angles in degrees. The limits of a PI control hold for its integral part, without windup, and for its
    output. At the start the pitch is the turbine's theta_0, and the integral part of the speed has it.
    Source: WECC, Wind Power Plant Dynamic Modeling Guide (2010), WT3P; PSS/E, Model Library, WT3P1; for the
    order of the values InterPSS.
    """

    role = "pitch_control"
    records = ("WT3P1 t_p k_pp k_ip k_pc k_ic theta_min theta_max rate_max p_set",)
    inputs = ("omega_g", "omega_ref", "p_ord", "theta_0")
    optional = {"theta_0": 0.0}
    units = dict.fromkeys(("x_w", "x_c", "theta", "least"), "deg")

    t_p = Parameter("s", "time constant of the blades", positive)
    k_pp = Parameter("deg/pu", "proportional gain of the speed", nonnegative)
    k_ip = Parameter("deg/pu/s", "integral gain of the speed", positive)
    k_pc = Parameter("deg/pu", "proportional gain of the power", nonnegative)
    k_ic = Parameter("deg/pu/s", "integral gain of the power", nonnegative)
    theta_min = Parameter("deg", "smallest pitch")
    theta_max = Parameter("deg", "largest pitch", positive)
    rate_max = Parameter("deg/s", "largest rate of the pitch", positive)
    p_set = Parameter("pu", "power above which the blades turn")

    @classmethod
    def diagram(cls, b: Any, v: Any, p: Any) -> None:
        """Connect both controls and the blades."""
        limits = "theta_min", "theta_max"
        error, beyond = v.omega_g - v.omega_ref, v.p_ord - p.p_set
        of_speed = b.limit(p.k_pp * error + v.x_w, *limits)
        # No limiters at 0, which a start would be warned of: less power than the set-point is the usual case.
        asked = p.k_pc * beyond + v.x_c
        of_power = b.where(b.le(asked, 0), 0, b.min(asked, p.theta_max))
        growing = b.where(b.le(v.x_c, 0), b.where(b.le(beyond, 0), 0, beyond), beyond)
        turning = b.clip((of_speed + of_power - v.theta) / p.t_p, -p.rate_max, p.rate_max)
        d_w, d_c = p.k_ip * error, p.k_ic * growing
        if getattr(b, "opened", False):  # the electrical control says at rest what d_w does, too
            d_w, d_c, turning = v.theta_0 - v.x_w, -v.x_c, v.x_w - v.theta
        b.state("x_w", d_w, limits=limits)
        b.state("x_c", d_c, limits=("least", "theta_max"), idle="k_ic")
        b.state("theta", turning, limits=limits)
        b.implicit("least", lambda least: -least, 0.0)

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return a pitch of zero."""
        return {}


class WT3T1(WTDTA1):
    """Turbine of type 3 wind turbines of the first generation: aerodynamics and drive train in one.

    ::

        p_mech = p_wind - k_a theta (theta - theta_0)
        theta_0 = theta_2/0.75 (1 - 1/v_w^2) where v_w > 1, 0 otherwise
        masses = 2:   2 h_t omega_t' = p_mech/omega_t - shaft
                      2 h_g omega_g' = shaft - p_e/omega_g - damp (omega_g - 1)
                      twist' = omega_t - omega_g,  shaft = stiffness twist + d_shaft (omega_t - omega_g)
                      h_t = h ht_frac, h_g = h - h_t, stiffness = 2 (2 pi freq_1)^2 h_t h_g/h
        masses = 1:   2 h omega_g' = (p_mech - p_e)/omega_g - damp (omega_g - 1),  omega_t = omega_g

    v_w is the wind at the start by rated wind, theta_2 the pitch at twice that. The power p_wind of the wind
    at theta_0, where the pitch control starts, is a set-point. Source: WECC, Wind Power Plant Dynamic
    Modeling Guide (2010), WT3T; PSS/E, Model Library, WT3T1; for the order of the values and the damping,
    which is of the generator's speed, InterPSS.
    """

    role = "drive_train"
    records = ("WT3T1 v_w h damp k_a theta_2 ht_frac freq_1 d_shaft",)
    algebraic = ("p_mech", "theta_0")
    inputs = ("theta", "p_e", "p_wind")
    optional = {"theta": 0.0}
    units = {**WTDTA1.units, "theta_0": "deg"}

    v_w = Parameter("1", "wind at the start by rated wind", positive)
    k_a = Parameter("pu/deg^2", "aerodynamic gain", nonnegative)
    theta_2 = Parameter("deg", "pitch at twice rated wind", nonnegative)

    @staticmethod
    def shape(*choice: int) -> Mapping[str, Any]:
        """Return the variables of one mass; two are the class's own."""
        found = WTDTA1.shape(*choice)
        if not found:
            return {}
        return {
            **found,
            "algebraic": ("omega_t", *WT3T1.algebraic),
            "equations": staticmethod(_with_one_mass),
        }

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of speeds and twist, and the residuals of power and first pitch."""
        return _with_wind(m, v, p, WTDTA1.equations(m, v, p))

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return rated speed, which the solution moves to the reference."""
        power, pitch = terminal.signals.get("p_e", 0.0), _first_pitch(NumericMath, p)
        return {**WTDTA1.guess(terminal, p), "p_mech": power, "p_wind": power, "theta_0": pitch}


def _with_one_mass(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
    return _with_wind(m, v, p, one_mass(m, v, p))


def _with_wind(m: Any, v: Any, p: Any, train: tuple[Terms, Terms, Terms]) -> tuple[Terms, Terms, Terms]:
    """Return the equations of a drive train with those of the wind's power and of the first pitch."""
    derivatives, residuals, _ = train
    power = aerodynamic_power(v.p_wind, p.k_a, v.theta, v.theta_0)
    return derivatives, (*residuals, power - v.p_mech, _first_pitch(m, p) - v.theta_0), ()


def _first_pitch(m: Any, p: Any) -> Any:
    """Return the pitch at which wind above the rated one gives rated power."""
    return m.where(m.le(p.v_w, 1), 0, p.theta_2 / 0.75 * (1 - 1 / p.v_w**2))
