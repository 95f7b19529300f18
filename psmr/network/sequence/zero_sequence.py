"""The zero sequence of a device: impedances between buses or to ground, and admittances at buses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from psmr.network.sequence.two_port import Complexes

GROUND = ""
"""The second end of a path to ground."""


@dataclass(frozen=True)
class Path:
    """A series impedance through which zero-sequence current flows.

    Attributes
    ----------
    first, second
        Its ends, buses or `GROUND`.
    z
        Impedance in pu on the system base, seen from the second end.
    tap
        Turns ratio at the first end.
    """

    first: str
    second: str
    z: complex
    tap: float = 1.0


@dataclass(frozen=True)
class ZeroSequence:
    """What a device is in the zero sequence.

    Attributes
    ----------
    paths
        Its impedances.
    admittances
        (bus, admittance to ground in pu) pairs.
    """

    paths: tuple[Path, ...] = ()
    admittances: tuple[tuple[str, complex], ...] = ()

    def admittance(self, buses: Sequence[str]) -> Complexes:
        """Return the (k, k) admittance matrix between the buses of the device."""
        found = np.zeros((len(buses), len(buses)), dtype=complex)
        for path in self.paths:
            ends = [(path.first, 1 / path.tap), (path.second, -1.0)]
            at = [(buses.index(bus), factor) for bus, factor in ends if bus != GROUND]
            for row, own in at:
                for column, other in at:
                    found[row, column] += own * other / path.z
        for bus, y in self.admittances:
            found[buses.index(bus), buses.index(bus)] += y
        return found


NOTHING = ZeroSequence()


def grounded(bus: str, y: complex, lossless: bool = False) -> ZeroSequence:
    """Return an admittance to ground, as a path where it is an inductance that carries current.

    Parameters
    ----------
    bus
        The bus at which it is.
    y
        The admittance in pu.
    lossless
        Whether a conductance is beside the inductance; otherwise both are in series.
    """
    if not y:
        return NOTHING
    if y.imag >= 0 or (y.real < 0 and not lossless):
        return ZeroSequence((), ((bus, y),))
    if not lossless:
        return ZeroSequence((Path(bus, GROUND, 1 / y),))
    beside = ((bus, complex(y.real)),) if y.real else ()
    return ZeroSequence((Path(bus, GROUND, 1j / -y.imag),), beside)
