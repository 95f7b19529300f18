"""Loads that come back after the voltage has fallen: by themselves, by a thermostat, behind a tap changer.

All start with the power that the power flow gives them, at its voltage v_0, and shed and ramp as any load.
Below `v_min` they go on as the impedances they are there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from psmr.dae.declare.component import Parameter, Terms, nonnegative, positive
from psmr.devices.loads.zip import StaticLoad, demand


class RecoveringLoad(StaticLoad):
    """What the loads here have in common: parts of p and q that they draw at a voltage."""

    v_0 = Parameter("pu", "voltage of the power flow", positive)
    v_min = Parameter("pu", "voltage below which both powers are those of impedances", positive, default=0.5)


def _square(m: Any, v: Any, p: Any) -> Any:
    """Return (V/v_0)^2, of v_min below it."""
    return m.max(v.v_re**2 + v.v_im**2, p.v_min**2) / p.v_0**2


def _into_bus(v: Any, p: Any, square: Any, part_p: Any, part_q: Any) -> Terms:
    """Return the current into the bus of a load that draws parts of its p and q."""
    active, reactive = demand(p)
    g, b = active * part_p / (square * p.v_0**2), reactive * part_q / (square * p.v_0**2)
    return -(g * v.v_re + b * v.v_im), -(g * v.v_im - b * v.v_re)


class ExponentialRecovery(RecoveringLoad):
    """A load whose powers change at once with the voltage, and come back with a time constant.

    ::

        P = p ((V/v_0)^transient_p + x_p),   t_p x_p' = (V/v_0)^steady_p - (V/v_0)^transient_p - x_p
        Q = q ((V/v_0)^transient_q + x_q),   t_q x_q' = (V/v_0)^steady_q - (V/v_0)^transient_q - x_q

    Source: D. Karlsson and D. J. Hill, Modelling and Identification of Nonlinear Dynamic Loads in Power
    Systems, IEEE Trans. Power Systems 9(1), 1994, equations 5 to 7, with x in parts of the power.
    """

    role = "characteristic"
    states = ("x_p", "x_q")

    steady_p = Parameter("1", "exponent of the voltage in P at rest", default=0.0)
    transient_p = Parameter("1", "exponent of the voltage in P at once", default=2.0)
    t_p = Parameter("s", "time constant with which P comes back", positive)
    steady_q = Parameter("1", "exponent of the voltage in Q at rest", default=0.0)
    transient_q = Parameter("1", "exponent of the voltage in Q at once", default=2.0)
    t_q = Parameter("s", "time constant with which Q comes back", positive)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return how fast both powers come back, and the current into the bus."""
        square = _square(m, v, p)
        part_p, part_q = square ** (p.transient_p / 2), square ** (p.transient_q / 2)
        rates = (
            (square ** (p.steady_p / 2) - part_p - v.x_p) / p.t_p,
            (square ** (p.steady_q / 2) - part_q - v.x_q) / p.t_q,
        )
        return rates, (), _into_bus(v, p, square, part_p + v.x_p, part_q + v.x_q)

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, float]:
        """Return the rest at the power flow's voltage."""
        return {"x_p": 0.0, "x_q": 0.0}


class ThermostaticLoad(RecoveringLoad):
    """Heating that thermostats switch: many alike, whose conductance follows their temperature.

    ::

        P = p g (V/v_0)^2,   g = y + k_p (1 - theta), limits [0, g_max],   Q = q (V/v_0)^exponent_q
        t_1 theta' = g (V/v_0)^2 - theta,   y' = k_i (1 - theta), limits [0, g_max]

    theta is the rise of the temperature above the ambient in parts of the one that the thermostats keep, g
    the conductance in parts of that at the start. P comes back in full as long as g is below g_max, where all
    of it is switched on: then it is an impedance. Source: Kundur (1994), section 7.1, thermostatically
    controlled loads, per unit of the start.
    """

    role = "characteristic"
    states = ("theta", "y")
    limits = {"y": ("g_min", "g_max")}

    t_1 = Parameter("s", "time constant of the temperature", positive)
    k_p = Parameter("1", "proportional gain of the thermostats", nonnegative)
    k_i = Parameter("1/s", "integral gain of the thermostats", positive)
    g_max = Parameter("1", "conductance with all of it on, in parts of the start's", positive)
    g_min = Parameter("1", "conductance with all of it off", nonnegative, default=0.0)
    exponent_q = Parameter("1", "exponent of the voltage in Q", default=2.0)

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to heating that is all on, or all off, at the start."""
        if not p["g_min"] < 1 < p["g_max"]:
            return f"g_min = {p['g_min']:g}, g_max = {p['g_max']:g}: the start, 1, must be between them"
        return None

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of temperature and thermostat, and the current into the bus."""
        square, below = _square(m, v, p), 1 - v.theta
        heat = m.clip(v.y + p.k_p * below, p.g_min, p.g_max) * square
        current = _into_bus(v, p, square, heat, square ** (p.exponent_q / 2))
        return ((heat - v.theta) / p.t_1, p.k_i * below), (), current

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, float]:
        """Return the rest at the power flow's voltage."""
        return {"theta": 1.0, "y": 1.0}


class FeederLoad(RecoveringLoad):
    """A load behind a tap changer that is no element of the network, in its continuous form.

    ::

        P = p (V/(r v_0))^exponent_p,   Q = q (V/(r v_0))^exponent_q
        t_c r' = V/(r v_0) - 1,   limits [r_min, r_max]

    r is the ratio in parts of the start's: the load has its voltage back where r = V/v_0, if that is within
    the range. Source: Van Cutsem and Vournas (1998), section 4.4, the continuous-time LTC.
    """

    role = "characteristic"
    states = ("r",)
    limits = {"r": ("r_min", "r_max")}

    exponent_p = Parameter("1", "exponent of the voltage behind the tap changer in P")
    exponent_q = Parameter("1", "exponent of the voltage behind the tap changer in Q")
    t_c = Parameter("s", "time constant of the tap changer", positive)
    r_min = Parameter("1", "lowest ratio, in parts of the start's", positive)
    r_max = Parameter("1", "highest ratio, in parts of the start's", positive)

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to a range that does not have the start."""
        if not p["r_min"] <= 1 <= p["r_max"]:
            return f"r_min = {p['r_min']:g}, r_max = {p['r_max']:g}: the start, 1, must be between them"
        return None

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivative of the ratio, and the current into the bus."""
        square = _square(m, v, p)
        behind = square / v.r**2
        parts = behind ** (p.exponent_p / 2), behind ** (p.exponent_q / 2)
        return ((m.sqrt(behind) - 1) / p.t_c,), (), _into_bus(v, p, square, *parts)

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, float]:
        """Return the ratio of the start."""
        return {"r": 1.0}
