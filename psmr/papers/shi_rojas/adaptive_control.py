"""Adaptive control of an unstable plant with a parasitic lag: system (22) of Shi and Rojas.

From Kokotovic, Khalil and O'Reilly, Singular Perturbation Methods in Control, there with the stability proof
of Narendra, Lin and Valavani (1980).
"""

from __future__ import annotations

from typing import Any

from psmr.dae.declare.component import Component, Parameter, positive
from psmr.dae.declare.device import Device
from psmr.dae.system.assemble import assemble
from psmr.dae.system.system import System


class AdaptiveControl(Component):
    """Plant y, adjustable gain k, and an actuator z that lags the control -k y by epsilon."""

    states = ("y", "k", "z")
    a = Parameter(unit="1/s", doc="pole of the plant", default=-1.0)
    epsilon = Parameter(unit="s", doc="time constant of the actuator", check=positive)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> Any:
        """Return the right-hand sides of (22)."""
        return (p.a * v.y + v.z, v.y**2, (-v.z - v.k * v.y) / p.epsilon), (), ()


class ReducedControl(Component):
    """The same with epsilon = 0, where the actuator is an algebraic equation: system (23)."""

    states = ("y", "k")
    algebraic = ("z",)
    a = Parameter(unit="1/s", doc="pole of the plant", default=-1.0)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> Any:
        """Return the right-hand sides of (23)."""
        return (p.a * v.y + v.z, v.y**2), (v.z + v.k * v.y,), ()


def adaptive_control(epsilon: float = 1e-6, y: float = 1.0, k: float = 0.0, z: float = 0.0) -> System:
    """Return system (22) from the given start; epsilon in s."""
    device = Device("control", AdaptiveControl, {"epsilon": epsilon})
    return assemble([device], {"control.y": y, "control.k": k, "control.z": z}, "adaptive control (22)")


def reduced_control(y: float = 1.0, k: float = 0.0) -> System:
    """Return system (23), the limit of (22) for epsilon = 0, as a DAE."""
    device = Device("control", ReducedControl, {})
    return assemble([device], {"control.y": y, "control.k": k, "control.z": -k * y}, "adaptive control (23)")
