"""Faults whose voltage swings: from step to step with the trapezoidal rule, or with the capacitance there.

The voltage of a resistance r beside a capacitance b decays within tau = b r / w0, a microsecond or less. The
trapezoidal rule multiplies it by (1 - z / 2) / (1 + z / 2), z = h / tau, in a step: near -1, so that the
voltage of a bolted fault swings about zero with what it was before. Source: J. R. Marti and J. Lin,
Suppression of numerical oscillations in the EMTP, IEEE Transactions on Power Systems 4, 1989.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from psmr.devices.dynamic_network.bus import PAIRS, TO_GROUND, DynamicBus
from psmr.devices.dynamic_network.fault_inductor import FaultInductor
from psmr.integrate.timeline.change import Change
from psmr.network.dynamic.switching import events_outside

if TYPE_CHECKING:
    from psmr.dae.system.system import System
    from psmr.integrate.schemes.scheme import Scheme

CONDUCTANCES = ("g_fault", *PAIRS, *TO_GROUND)

LEFT = 0.01
"""Part of the voltage to which it is to fall."""

BOLTED = 1e-3
"""Impedance in pu of a fault up to which the voltage is expected to stay near zero."""

PERIODS = 0.125
"""Time in periods of the nominal frequency after which it is to have fallen."""


def ringing_faults(system: System, changes: Sequence[Change], h: float) -> str:
    """Return which fault of a bus with capacitance swings longest with the trapezoidal rule, in words.

    Parameters
    ----------
    system
        Has the capacitances.
    changes
        Of the run.
    h
        Step in s.

    Returns
    -------
    "" where none swings longer than an eighth of a period.
    """
    found = [
        (_time_constant(system, name, value), change, name)
        for change in changes
        for name, parameter, value in change.parameters
        if parameter in CONDUCTANCES and value > 0 and issubclass(system.device(name).component, DynamicBus)
    ]
    if not found:
        return ""
    tau, change, name = min(found, key=lambda fault: fault[0])
    allowed = PERIODS / system.device(name).parameters["f_n"]
    lasts = swinging_time(tau, h)
    if lasts <= allowed:
        return ""
    longest = math.sqrt(-4 * tau * allowed / math.log(LEFT))  # z is large, and ln of the factor -4 / z
    return (
        f"{change.label or change} (t = {change.t:g} s): its resistance and the capacitance of {name} have a"
        f" time constant of {tau:.2g} s, and TM with h = {h:g} s leaves the voltage there swinging from step"
        f" to step for {1e3 * lasts:.2g} ms, not near zero; take h = {longest:.1g} s, a larger resistance,"
        " a single rate with damped = true, SDIRK2, or psmr.VariableStep"
    )


def doubts_on(system: System | None, changes: Sequence[Change], scheme: Scheme) -> tuple[str, ...]:
    """Return sentences on events that a region of the network or a scheme does not show as they are."""
    if system is None:
        return ()
    found = []
    if outside := events_outside(system, changes):
        found.append(f"{outside}: the offsets that this leaves in currents are in the region alone.")
    if scheme.leaves_swinging and (swinging := ringing_faults(system, changes, scheme.h_fast)):
        found.append(f"{swinging}.")
    return tuple(found)


def oscillating_faults(system: System, changes: Sequence[Change]) -> str:
    """Return which bolted fault through an inductance oscillates with the capacitance of its bus, in words.

    At the angular frequency w0 / sqrt(x b), and it falls within 2 x / (w0 r). "" where it has fallen within
    an eighth of a period.
    """
    for change in changes:
        values = {(name, parameter): value for name, parameter, value in change.parameters}
        for name, parameter, status in change.parameters:
            device = system.device(name) if parameter == "status" and status else None
            if device is None or not issubclass(device.component, FaultInductor):
                continue
            bus, f_n = device.acts_on, device.parameters["f_n"]
            r, x = values[name, "r"], values[name, "x"]
            harmonic = 1 / math.sqrt(x * float(system.w0[system.index(f"{bus}.b")]))
            least = -2 * x * math.log(LEFT) / (2 * math.pi * PERIODS)
            if abs(complex(r, x)) < BOLTED and r < least:
                return (
                    f"{change.label or change} (t = {change.t:g} s): its reactance, {x:g} pu, and the"
                    f" capacitance of {bus} oscillate at {1e-3 * harmonic * f_n:.2g} kHz, which r = {r:g} pu"
                    f" hardly damps: the voltage there does not stay near zero; give it r = {least:.2g},"
                    " or a resistance alone, r = 0.001 and x = 0"
                )
    return ""


def swinging_time(tau: float, h: float) -> float:
    """Return how long in s a voltage that decays within tau swings above 1 % with the trapezoidal rule."""
    factor = (1 - h / tau / 2) / (1 + h / tau / 2)
    return h * math.log(LEFT) / math.log(-factor) if factor < 0 else 0.0


def _time_constant(system: System, bus: str, conductance: float) -> float:
    b = float(system.w0[system.index(f"{bus}.b")])
    return b / conductance / (2 * math.pi * system.device(bus).parameters["f_n"])
