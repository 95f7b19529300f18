"""The paper's three examples: Edsberg's problem, van der Pol's equation, a boundary layer."""

from __future__ import annotations

from typing import Any

import numpy as np

from psmr.base.arrays import Reals
from psmr.dae.declare.component import Component, Parameter, positive
from psmr.dae.declare.device import Device
from psmr.dae.system.assemble import assemble
from psmr.dae.system.system import System

EPSILON = 0.003125  # s, of the boundary layer


class Edsberg(Component):
    """y' = -2 k y^2."""

    states = ("y",)
    units = {"y": "1"}
    k = Parameter(unit="1/s", doc="rate constant", check=positive)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> Any:
        """Return the right-hand side of (14)."""
        return (-2 * p.k * v.y**2,), (), ()


def edsberg(k: float = 1e3, y: float = 10.0) -> System:
    """Return Edsberg's problem from its start."""
    return assemble([Device("D", Edsberg, {"k": k})], {"D.y": y}, "Edsberg")


def edsberg_exact(t: Reals | float, k: float = 1e3, y: float = 10.0) -> Reals:
    """Return the solution y / (1 + 2 k y t), which is 10 / (1 + 20 k t) from y = 10."""
    return np.asarray(y / (1.0 + 2.0 * k * y * np.asarray(t)))


class VanDerPol(Component):
    """y1' = y2, epsilon y2' = (1 - y1^2) y2 - y1."""

    states = ("y1", "y2")
    units = {"y1": "1", "y2": "1/s"}
    epsilon = Parameter(unit="1", doc="small parameter, 1 / mu^2", check=positive)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> Any:
        """Return the right-hand sides."""
        return (v.y2, ((1 - v.y1**2) * v.y2 - v.y1) / p.epsilon), (), ()


def van_der_pol(epsilon: float = 1e-6, y1: float = 2.0, y2: float = -0.66) -> System:
    """Return the equation from the paper's start, which is next to the slow manifold y2 = y1 / (1 - y1^2)."""
    start = {"vdp.y1": y1, "vdp.y2": y2}
    return assemble([Device("vdp", VanDerPol, {"epsilon": epsilon})], start, "van der Pol")


class BoundaryLayer(Component):
    """epsilon x' + (1 + t) x = 2.5 (1 + t), example 3 read as first order."""

    states = ("x",)
    units = {"x": "1"}
    epsilon = Parameter(unit="s", doc="small parameter", check=positive)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> Any:
        """Return the right-hand side."""
        return ((2.5 - v.x) * (1 + v.t) / p.epsilon,), (), ()


def boundary_layer(epsilon: float = EPSILON, x: float = -1.0) -> System:
    """Return the boundary layer from its start."""
    return assemble([Device("D", BoundaryLayer, {"epsilon": epsilon})], {"D.x": x}, "boundary layer")


def layer_exact(t: Reals | float, epsilon: float = EPSILON, x: float = -1.0) -> Reals:
    """Return the solution 2.5 + (x - 2.5) exp(-(t + t^2 / 2) / epsilon)."""
    t = np.asarray(t, dtype=float)
    return np.asarray(2.5 + (x - 2.5) * np.exp(-(t + 0.5 * t**2) / epsilon))
