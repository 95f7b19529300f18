"""Loads of constant power at low voltage, which a run without a solution may fail by."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from psmr.dae.declare.device import Device
from psmr.dae.system.system import System
from psmr.devices.loads.exponential import ExponentialLoad
from psmr.devices.loads.zip import ZipLoad
from psmr.network.topology.network import at_buses, bus_voltages, out_of_service

LOW = 0.9
"""Voltage in pu below which a load of constant power is named."""
SHOWN = 4


def constant_power_at_low_voltage(system: System, x: NDArray[np.float64], y: NDArray[np.float64]) -> str:
    """Return a sentence on loads of constant power at buses of low voltage, "" where there are none.

    Parameters
    ----------
    system, x, y
        The system, and its (n,) states and (m,) algebraic variables at the last point that was reached.
    """
    if (len(x), len(y)) != (system.n, system.m):
        return ""
    out = out_of_service(system)
    found = [
        (float(v), load.name)
        for v, devices in zip(np.hypot(*bus_voltages(system, x, y)), at_buses(system).values(), strict=True)
        for load in devices
        if v < LOW and load.name not in out and _constant_power(load)
    ]
    if not found:
        return ""
    found.sort()
    words = ", ".join(f"{name} at {v:.3f} pu" for v, name in found[:SHOWN])
    more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    return (
        f" Loads of constant power are at low voltage there ({words}{more}): the lower the voltage, the more"
        ' current they draw, and beyond a fold there is no solution. Take loads = "impedance" (--loads'
        " impedance), or a share of it, if that is not what they are."
    )


def _constant_power(load: Device) -> bool:
    """Return whether the current of a load grows as the voltage falls."""
    p = load.parameters
    if issubclass(load.component, ZipLoad):
        return bool((p["p_p"] and p["p"]) or (p["q_p"] and p["q"]))
    if issubclass(load.component, ExponentialLoad):
        return p["exponent_p"] < 1 or p["exponent_q"] < 1
    return False
