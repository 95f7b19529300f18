"""The singularly perturbed linear problem of Kuznetsov and Krasnikov (example 3), read as first order."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from psmr.dae.declare.component import Component, Parameter, positive
from psmr.dae.declare.device import Device
from psmr.dae.system.assemble import assemble
from psmr.dae.system.system import System

Reals = NDArray[np.float64]
EPSILON = 0.003125


class BoundaryLayer(Component):
    """epsilon x' + (1 + t) x = 2.5 (1 + t)."""

    states = ("x",)
    units = {"x": "1"}
    epsilon = Parameter(unit="s", doc="small parameter", check=positive)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> Any:
        """Return the right-hand side."""
        return ((2.5 - v.x) * (1 + v.t) / p.epsilon,), (), ()


def boundary_layer(epsilon: float = EPSILON, x: float = -1.0) -> System:
    """Return the problem from its start."""
    return assemble([Device("D", BoundaryLayer, {"epsilon": epsilon})], {"D.x": x}, "boundary layer")


def exact(t: Reals | float, epsilon: float = EPSILON, x: float = -1.0) -> Reals:
    """Return the solution 2.5 + (x - 2.5) exp(-(t + t^2 / 2) / epsilon)."""
    t = np.asarray(t, dtype=float)
    return np.asarray(2.5 + (x - 2.5) * np.exp(-(t + 0.5 * t**2) / epsilon))
