"""The Woodward diesel governors of the standard library."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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
from psmr.devices.blocks import lag, lead_lag
from psmr.devices.governors.delay import delayed
from psmr.devices.stabilisers.signals import POWER, electrical_power

DELAY = ("q_0", "q_1", "q_2", "q_3", "q_4", "q_5")
"""States of the engine's delay, which may be a second."""


class Diesel(Component):
    """Electric control box, actuator and engine, which both governors share."""

    algebraic = ("t_m",)
    limits = {"throttle": ("t_min", "t_max")}
    lags = {
        "b_1": ("t_1",),
        "b_2": ("t_2",),
        "x_6": ("t_6",),
        "x_5": ("t_5",),
        **dict.fromkeys(DELAY, ("t_d",)),
    }

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
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to leads without their lags, and to a lag of a block that is left out."""
        if p["t_1"] == 0 != p["t_2"]:
            return f"t_1 = 0 and t_2 = {p['t_2']:g}: t_2 must be 0 where t_1 is, it has no effect there"
        return crossed(p, ("t_min", "t_max")) or improper(p, ("t_3", "t_1"), ("t_4", "t_5"))


def _engine(m: Any, v: Any, p: Any, error: Any) -> tuple[Terms, Any]:
    """Return the derivatives of box, actuator and delay, and what drives the machine."""
    boxed = v.b_1 + p.t_3 / p.t_1 * v.b_2
    acting, d_5 = lead_lag(v.x_6, v.x_5, p.t_4, p.t_5)
    out, d_engine = delayed(v.throttle, [getattr(v, name) for name in DELAY], p.t_d)
    derivatives = (
        v.b_2 / p.t_1,
        lag(error - v.b_1, v.b_2, p.t_2),
        lag(boxed, v.x_6, p.t_6),
        d_5,
        p.k * acting,
        *d_engine,
    )
    return derivatives, out * (1 + p.mechanical_power * (v.omega - 1))


STATES = ("b_1", "b_2", "x_6", "x_5", "throttle", *DELAY)


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

    role = "governor"
    records = ("DEGOV t_1 t_2 t_3 k t_4 t_5 t_6 t_d t_max t_min",)
    states = STATES
    inputs = ("omega", "p_ref")

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of box, actuator and delay, and the torque."""
        derivatives, drive = _engine(m, v, p, v.p_ref - (v.omega - 1))
        return derivatives, (drive - v.t_m,), ()

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

    role = "governor"
    records = ("DEGOV1 droop_flag t_1 t_2 t_3 k t_4 t_5 t_6 t_d t_max t_min r t_e",)
    states = (*STATES, "p_m")
    inputs = ("omega", "p_ref", *POWER)
    lags = {**Diesel.lags, "p_m": ("t_e",)}

    droop_flag = Parameter("1", "droop of the throttle (0) or of the electrical power (1)", flag)
    r = Parameter("pu speed per pu power on machine base", "droop", positive)
    t_e = Parameter("s", "time constant of the measured power", nonnegative)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of box, actuator, delay and power transducer, and the torque."""
        droop = m.where(m.ge(p.droop_flag, 1), v.p_m, v.throttle)
        derivatives, drive = _engine(m, v, p, p.r * (v.p_ref - droop) - (v.omega - 1))
        measured = lag(electrical_power(m, v, p, None)[0], v.p_m, p.t_e)
        return (*derivatives, measured), (drive - v.t_m,), ()

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium for the torque that the machine needs."""
        t_m = terminal.signals.get("t_m", 0.0)
        return dict.fromkeys(("throttle", "q_0", "t_m", "p_m", "p_ref"), t_m)
