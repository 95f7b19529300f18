"""Named test problems, declared as components, with exact solutions where there are any."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from psmr import Component, Device, Parameter, assemble
from tests.internals import System, positive


class Logistic(Component):
    """x' = a x (1 - x)."""

    states = ("x",)
    a = Parameter(unit="1/s", doc="growth rate", default=1.0)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> Any:
        return (p.a * v.x * (1 - v.x),), (), ()


class Decay(Component):
    """x' = -rate x, with a rate that is a held input."""

    states = ("x",)
    inputs = ("rate",)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> Any:
        return (-v.rate * v.x,), (), ()


class ProtheroRobinson(Component):
    """x' = -rate (x - cos t) - sin t, stiff and dependent on time (Prothero and Robinson, 1974)."""

    states = ("x",)
    rate = Parameter(unit="1/s", doc="stiffness", check=positive)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> Any:
        return (-p.rate * (v.x - m.cos(v.t)) - m.sin(v.t),), (), ()


class Quadratic(Component):
    """x' = -a y, 0 = y - b x^2: an index-1 DAE whose coefficients events change."""

    states = ("x",)
    algebraic = ("y",)
    a = Parameter(unit="1/s", doc="rate", default=1.0)
    b = Parameter(unit="1", doc="factor", default=1.0)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> Any:
        return (-p.a * v.y,), (v.y - p.b * v.x**2,), ()


class Kaps(Component):
    """Kaps' problem with the square as algebraic variable: fast x1, slow x2 (Kaps, 1981)."""

    states = ("x1", "x2")
    algebraic = ("square",)
    mu = Parameter(unit="1/s", doc="stiffness", check=positive)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> Any:
        fast = -(p.mu + 2) * v.x1 + p.mu * v.square
        return (fast, v.x1 - v.x2 - v.square), (v.square - v.x2**2,), ()


class Limited(Component):
    """x' = rate cos(t) + u between non-windup limits, read by y = 2 x."""

    states = ("x",)
    algebraic = ("y",)
    inputs = ("u",)
    limits = {"x": ("low", "high")}
    rate = Parameter(unit="1/s", doc="amplitude", default=1.0)
    low = Parameter(unit="pu", doc="lower limit", default=-0.5)
    high = Parameter(unit="pu", doc="upper limit", default=0.5)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> Any:
        return (p.rate * m.cos(v.t) + v.u,), (v.y - 2 * v.x,), ()


class Chased(Component):
    """x' = cos t below a limit that rises with time and yields to x: x = high = level + slope t - pull x."""

    states = ("x",)
    algebraic = ("high",)
    limits = {"x": (None, "high")}
    level = Parameter(unit="pu", doc="limit at the start", default=0.3)
    slope = Parameter(unit="pu/s", doc="rate of the limit", default=1.5 * np.cos(1.0))
    pull = Parameter(unit="1", doc="how the limit yields", default=0.5)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> Any:
        return (m.cos(v.t),), (v.high - p.level - p.slope * v.t + p.pull * v.x,), ()


class Gated(Component):
    """x' = (1 - x) / lag below a limit that is 0 until it opens, and rises with time from there on."""

    states = ("x",)
    algebraic = ("high",)
    limits = {"x": (None, "high")}
    lag = Parameter(unit="s", doc="time constant", default=0.5)
    opens = Parameter(unit="s", doc="where the limit begins to rise", default=0.7)
    pace = Parameter(unit="pu/s", doc="rate of the limit behind that", default=1.0)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> Any:
        return ((1 - v.x) / p.lag,), (v.high - m.max(p.pace * (v.t - p.opens), 0),), ()


def gated_exact(t, pace):
    """Return x of `Gated`, which the limit lets go where it rises faster than x by itself."""
    leaves = 0.7 + max(1.0 - 0.5 * pace, 0.0) / pace
    free = 1.0 - (1.0 - pace * (leaves - 0.7)) * np.exp(-(t - leaves) / 0.5)
    return np.where(t < leaves, pace * np.maximum(t - 0.7, 0.0), free)


class Riser(Component):
    """high' = slope, and a copy of high."""

    states = ("high",)
    algebraic = ("copy",)
    slope = Parameter(unit="pu/s", doc="rate", default=np.cos(1.0))

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> Any:
        return (p.slope,), (v.copy - v.high,), ()


class Capped(Component):
    """x' = cos t below a limit of another device, mirrored by a state above the negative of it."""

    states = ("x", "mirror")
    algebraic = ("low",)
    inputs = ("high",)
    limits = {"x": (None, "high"), "mirror": ("low", None)}

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> Any:
        return (m.cos(v.t), -m.cos(v.t)), (v.low + v.high,), ()


class TwoRates(Component):
    """A slow pendulum that a fast, damped circuit drives, each with an algebraic variable."""

    states = ("angle", "speed", "current")
    algebraic = ("torque", "voltage")
    inputs = ("v_ref",)
    tau = Parameter(unit="s", doc="time constant of the circuit", check=positive)
    gain = Parameter(unit="1", doc="coupling", default=0.5)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> Any:
        derivatives = (v.speed, v.torque - m.sin(v.angle) - 0.2 * v.speed, (v.voltage - v.current) / p.tau)
        residuals = (
            v.torque - p.gain * v.current * m.cos(v.angle),
            v.voltage + 0.1 * v.voltage**3 - v.v_ref + 0.3 * m.sin(v.angle),
        )
        return derivatives, residuals, ()


class Blowup(Component):
    """x' = x^2, infinite at t = 1 / x(0)."""

    states = ("x",)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> Any:
        return (v.x**2,), (), ()


class NoRoot(Component):
    """0 = y^2 + level, without a real root for level > 0."""

    states = ("x",)
    algebraic = ("y",)
    level = Parameter(unit="1", doc="constant", default=-1.0)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> Any:
        return (-v.x,), (v.y**2 + p.level,), ()


class EndOfRoot(Component):
    """x' = 1, 0 = y - sqrt(1 - x): not a number beyond x = 1."""

    states = ("x",)
    algebraic = ("y",)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> Any:
        return (1.0 + 0.0 * v.x,), (v.y - m.sqrt(1.0 - v.x),), ()


class Loop(Component):
    """Two algebraic variables that determine each other, y_a + gain y_b = a and y_b + gain y_a = b."""

    states = ("a", "b")
    algebraic = ("y_a", "y_b")
    gain = Parameter(unit="1", doc="coupling", check=positive)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> Any:
        residuals = (v.y_a + p.gain * v.y_b - v.a, v.y_b + p.gain * v.y_a - v.b)
        return (-v.a, -v.b), residuals, ()


class Ramp(Component):
    """slow = t^2, and a fast state that follows it."""

    states = ("slow", "fast")
    tau = Parameter(unit="s", doc="time constant", check=positive)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> Any:
        return (2 * v.t, (v.slow - v.fast) / p.tau), (), ()


class LimitedPair(Component):
    """A fast and a slow state with limits of their own, in a loop around v_ref cos t."""

    states = ("fast", "slow")
    algebraic = ("error",)
    inputs = ("v_ref",)
    limits = {"fast": ("fast_low", "fast_high"), "slow": ("slow_low", "slow_high")}
    fast_low = Parameter(unit="pu", doc="lower limit", default=-1.0)
    fast_high = Parameter(unit="pu", doc="upper limit", default=1.0)
    slow_low = Parameter(unit="pu", doc="lower limit", default=-0.8)
    slow_high = Parameter(unit="pu", doc="upper limit", default=0.8)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> Any:
        derivatives = ((v.error - v.fast) / 0.02, 2 * v.fast - 0.5 * v.slow)
        return derivatives, (v.error - v.v_ref * m.cos(v.t) + 0.5 * v.slow,), ()


class Spring(Component):
    """A damped spring, linear, with its force as algebraic variable."""

    states = ("x", "v")
    algebraic = ("force",)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> Any:
        return (v.v, v.force), (v.force + 4 * v.x + 0.1 * v.v,), ()


class Swing(Component):
    """A machine without damping against an infinite bus: its energy omega^2 / 2 - 40 cos(delta) stays."""

    states = ("delta", "omega")
    algebraic = ("p",)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> Any:
        return (v.omega, -v.p), (v.p - 40 * m.sin(v.delta),), ()


class Arctangent(Component):
    """0 = atan(y - target), whose undamped Newton iteration diverges from afar."""

    states = ("x",)
    algebraic = ("y",)
    target = Parameter(unit="1", doc="root", default=0.0)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> Any:
        return (-v.x,), (m.atan2(v.y - p.target, 1),), ()


class Turning(Component):
    """Two algebraic equations whose diagonal 2 cos x passes through zero."""

    states = ("x",)
    algebraic = ("y_a", "y_b")

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> Any:
        s = 2 * m.cos(v.x)
        return (1,), (s * v.y_a + v.y_b - 1, v.y_a + s * v.y_b - 0.5), ()


def one(
    component: type[Component], start: Mapping[str, float], name: str = "D", **parameters: float
) -> System:
    """Return a system of one device."""
    device = Device(name, component, parameters)
    return assemble([device], {f"{name}.{key}": value for key, value in start.items()})


@dataclass(frozen=True)
class Problem:
    """A system with its exact solution w(t) = (x, y)."""

    system: System
    exact: Callable[[float], np.ndarray]
    t_end: float


def logistic() -> Problem:
    """Nonlinear ODE."""
    return Problem(one(Logistic, {"x": 0.2}), lambda t: np.array([1 / (1 + 4 * np.exp(-t))]), 2.0)


def forced() -> Problem:
    """ODE that depends on time."""
    return Problem(one(ProtheroRobinson, {"x": 1.0}, rate=3.0), lambda t: np.array([np.cos(t)]), 2.0)


def quadratic() -> Problem:
    """Index-1 DAE."""
    return Problem(
        one(Quadratic, {"x": 1.0, "y": 1.0}), lambda t: np.array([1 / (1 + t), 1 / (1 + t) ** 2]), 2.0
    )


def kaps(mu: float = 5.0) -> Problem:
    """Index-1 DAE with two rates."""
    return Problem(
        one(Kaps, {"x1": 1.0, "x2": 1.0, "square": 1.0}, mu=mu),
        lambda t: np.array([np.exp(-2 * t), np.exp(-t), np.exp(-2 * t)]),
        1.0,
    )


def two_rates(tau: float = 0.01) -> System:
    """Slow pendulum and fast circuit, away from equilibrium."""
    start = {"angle": 0.5, "speed": 0.0, "current": 0.4, "torque": 0.2, "voltage": 0.8, "v_ref": 1.0}
    return one(TwoRates, start, tau=tau)
