"""The induction generator of type 2 wind turbines, with a resistance in its rotor that is controlled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from psmr.dae.declare.component import Parameter, Terms, nonnegative, positive
from psmr.dae.declare.mathematics import NumericMath
from psmr.devices.blocks import saturation_conflict, through_points
from psmr.devices.renewables.regca1 import PU
from psmr.devices.renewables.wt1g1 import InductionGenerator, generating, running

POINTS = 5
"""Points of the polygon of power against speed."""


def polygon() -> dict[str, Parameter]:
    """Return the parameters of the polygon of power against the speed above the synchronous one."""
    return {f"p_{k}": Parameter(PU, f"power at point {k}") for k in range(1, POINTS + 1)} | {
        f"slip_{k}": Parameter("pu", f"speed above the synchronous one there, point {k}")
        for k in range(1, POINTS + 1)
    }


class WT2G1(InductionGenerator):
    """Induction generator of type 2 wind turbines, with a controlled resistance in its rotor.

    ::

        r_2 = r_rot + (r_max - r_rot) r_control

    in the circuit of `wt1g1` with one circuit in the rotor, r_2 + j x_r. r_control is a part
    of the resistance that can be added; without WT2E1 none is. The polygon p_1, slip_1 ... is that of WT2E1.
    Source: WECC, Wind Power Plant Dynamic Modeling Guide (2010), WT2G; PSS/E, Model Library, WT2G1; for the
    order of the values, the circuit and the meaning of WT2E1's output InterPSS.
    """

    role = "converter"
    records = (
        "WT2G1 x_l x_m x_r r_rot r_max e_1 se_1 e_2 se_2 p_1 p_2 p_3 p_4 p_5 slip_1 slip_2 slip_3 slip_4 "
        "slip_5",
    )
    inputs = (*InductionGenerator.inputs, "r_control")
    optional = {"r_control": 0.0}

    x_l = Parameter(PU, "leakage reactance of the stator", nonnegative)
    x_m = Parameter(PU, "magnetising reactance", positive)
    x_r = Parameter(PU, "leakage reactance of the rotor", positive)
    r_rot = Parameter(PU, "resistance of the rotor", positive)
    r_max = Parameter(PU, "largest resistance of the rotor with what is added", positive)
    locals().update(polygon())

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to a resistance that leaves nothing to control, and to a polygon that does not rise."""
        if p["r_max"] <= p["r_rot"]:
            return f"r_max = {p['r_max']:g}: must be above r_rot = {p['r_rot']:g}"
        for k in range(2, POINTS + 1):
            for name in ("p", "slip"):
                if p[f"{name}_{k}"] <= p[f"{name}_{k - 1}"]:
                    before = p[f"{name}_{k - 1}"]
                    return f"{name}_{k} = {p[f'{name}_{k}']:g}: must be above {name}_{k - 1} = {before:g}"
        return saturation_conflict(p, p["e_1"], "se_1", p["e_2"], "se_2")

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of the flux, the residuals of saturation and power, and the current."""
        r_2 = p.r_rot + v.r_control * (p.r_max - p.r_rot)
        return generating(m, v, p, (p.x_l, p.x_m, ((r_2, p.x_r),)))

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the steady state at the speed of the polygon; the slip grows as the resistance does."""
        found = dict(running(terminal, p, lambda one: (one.x_l, one.x_m, ((one.r_rot, one.x_r),))))
        slip = -through_points(NumericMath, found["p_e"], speeds(p))
        share = (slip / np.where(found["omega_g"] == 1, 1.0, 1 - found["omega_g"]) - 1) * p.r_rot
        return found | {"r_control": np.clip(share / (p.r_max - p.r_rot), 0.0, 1.0), "omega_g": 1 - slip}


def powers(p: Any) -> tuple[tuple[Any, Any], ...]:
    """Return the points of the polygon: speed above the synchronous one, power."""
    return tuple((getattr(p, f"slip_{k}"), getattr(p, f"p_{k}")) for k in range(1, POINTS + 1))


def speeds(p: Any) -> tuple[tuple[Any, Any], ...]:
    """Return the points of the polygon the other way round."""
    return tuple((power, slip) for slip, power in powers(p))
