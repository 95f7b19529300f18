"""Edsberg's problem: example 1 of Kuznetsov and Krasnikov."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from psmr.dae.declare.component import Component, Parameter, positive
from psmr.dae.declare.device import Device
from psmr.dae.system.assemble import assemble
from psmr.dae.system.system import System

Reals = NDArray[np.float64]


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
    """Return the problem from its start."""
    return assemble([Device("D", Edsberg, {"k": k})], {"D.y": y}, "Edsberg")


def exact(t: Reals | float, k: float = 1e3, y: float = 10.0) -> Reals:
    """Return the solution y / (1 + 2 k y t), which is 10 / (1 + 20 k t) from y = 10."""
    return np.asarray(y / (1.0 + 2.0 * k * y * np.asarray(t)))
