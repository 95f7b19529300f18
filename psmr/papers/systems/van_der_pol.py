"""Van der Pol's equation with a small parameter: example 2 of Kuznetsov and Krasnikov."""

from __future__ import annotations

from typing import Any

from psmr.dae.declare.component import Component, Parameter, positive
from psmr.dae.declare.device import Device
from psmr.dae.system.assemble import assemble
from psmr.dae.system.system import System


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
    return assemble(
        [Device("vdp", VanDerPol, {"epsilon": epsilon})], {"vdp.y1": y1, "vdp.y2": y2}, "van der Pol"
    )
