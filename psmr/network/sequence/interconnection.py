"""How the networks of the three sequences are joined where a system is unbalanced.

What they are to the positive-sequence network is one admittance: between phase and ground for phases that are
joined, in series for phases that are open. Source: Anderson, Analysis of Faulted Power Systems (1973),
chapters 3 and 7; Grainger and Stevenson, Power System Analysis (1994), chapter 12.
"""

from __future__ import annotations

import cmath
import math

from psmr.devices.dynamic_network.fault_inductor import JOINT
from psmr.devices.network import FAULTS, OPEN

A = cmath.rect(1.0, 2 * math.pi / 3)
"""The operator that turns by 120 degrees."""


def phase_conductances(phases: str, r: float) -> dict[str, float]:
    """Return the conductances between phases, and to ground, of an unbalanced fault through r in pu.

    Two phases and the ground are a star whose point has r to ground and `JOINT` to each of the phases:
    phases that are joined without a resistance would change the voltages of their capacitances at once.
    """
    own = phases.removesuffix("g")
    if len(own) == 1 or own == phases:
        return {f"g_{own}": 1.0 / r}
    sum_ = 2.0 / JOINT + 1.0 / r
    return {f"g_{own}": 1.0 / JOINT**2 / sum_} | dict.fromkeys(
        [f"g_{k}" for k in own], 1.0 / (JOINT * r * sum_)
    )


def fault_admittance(phases: str, z: complex, z2: complex, z0: complex) -> complex:
    """Return the admittance of a fault through z, seen by the positive sequence.

    Parameters
    ----------
    phases
        One of `FAULTS`.
    z
        Impedance of the fault in pu: to ground, or between two phases.
    z2, z0
        What the place sees of the other networks in pu.
    """
    if phases == "abc":
        return 1.0 / z
    if "g" not in phases:
        return 1.0 / (z2 + z)
    return 1.0 / (z2 + z0 + 3 * z) if len(phases) == 2 else 1.0 / z2 + 1.0 / (z0 + 3 * z)


def gap_admittance(phases: str, z2: complex, z0: complex) -> complex:
    """Return the admittance between the two sides of a gap where phases, one of `OPEN`, are open."""
    if phases == "abc":
        return 0j
    return 1.0 / z2 + 1.0 / z0 if len(phases) == 1 else 1.0 / (z2 + z0)


def fault_currents(phases: str, z: complex, z2: complex, z0: complex) -> tuple[complex, complex]:
    """Return the negative- and zero-sequence current of a fault per unit of the positive-sequence one."""
    turn = _turn(phases, FAULTS)
    if phases in ("", "abc"):
        return 0j, 0j
    if "g" not in phases:
        return -turn, 0j
    if len(phases) == 2:
        return turn, turn**2
    negative = -(z0 + 3 * z) / (z2 + z0 + 3 * z)
    return negative * turn, (-1 - negative) * turn**2


def gap_currents(phases: str, z2: complex, z0: complex) -> tuple[complex, complex]:
    """Return the same of the current through a gap."""
    turn = _turn(phases, OPEN)
    if phases in ("", "abc"):
        return 0j, 0j
    if len(phases) == 2:
        return turn, turn**2
    return -turn * z0 / (z2 + z0), -(turn**2) * z2 / (z2 + z0)


def _turn(phases: str, known: tuple[str, ...]) -> complex:
    """Return what turns the components of phase a into those of the phase that differs from the two others.

    With the components of phase b in place of a, Va1 = a Vb1, Va2 = a^2 Vb2.
    """
    own = phases.removesuffix("g")
    special = own if len(own) == 1 else next(iter(set("abc") - set(own)), "a")
    return A ** "abc".index(special)
