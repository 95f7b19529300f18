"""The generalised Nyquist criterion: unstable modes of two systems that are stable or not each by itself."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from psmr.base.arrays import Complexes
from psmr.base.errors import InputError
from psmr.dae.system.frequency_response import gains
from psmr.dae.system.state_space import StateSpace

# Modes further right than this, in 1/s, count: the line along which the loop is looked at passes the zeros of
# a system whose angles can all turn together on their right.
RIGHT_OF = 1e-3

# The phase of det(1 + L) between two neighbouring frequencies turns by less than this, in rad.
TURN = 0.4

# First and last rad/s that are looked at before any refinement, and most frequencies.
FIRST, LAST, MOST = 1e-3, 1e6, 20_000


def unstable_alone(part: StateSpace) -> int:
    """Return how many eigenvalues of a part are right of `RIGHT_OF`."""
    return int((part.eigenvalues.real > RIGHT_OF).sum())


def unstable_together(grid: StateSpace, plant: StateSpace) -> int:
    """Return how many modes of a grid with its plant are unstable, by the generalised Nyquist criterion.

    The loop is L = Z Y, with the impedance Z of the grid and the admittance Y of the plant (the current that
    it draws over the voltage). det(1 + L) turns about 0 once for every mode right of the line, clockwise,
    less one for every such mode of the two alone (MacFarlane and Postlethwaite, Int. J. Control 25, 1977).

    Raises
    ------
    InputError
        Where the loop comes so near to -1 that no number of frequencies says on which side it passes.
    """
    forms = grid.descriptor, plant.descriptor

    def determinant(omega: float) -> complex:
        s = np.array([RIGHT_OF + 1j * omega])
        loop = gains(forms[0], s)[0] @ gains(forms[1], s)[0]
        return complex(np.linalg.det(np.eye(2) + loop))

    end = complex(np.linalg.det(np.eye(2) + grid.D @ plant.D))
    modes = np.abs(np.concatenate([grid.eigenvalues.imag, plant.eigenvalues.imag]))
    start = np.unique([0.0, *np.geomspace(FIRST, LAST, 90), *modes[modes > FIRST]])
    turned = _turned(determinant, start) + float(np.angle(end / determinant(float(start[-1]))))
    return unstable_alone(grid) + unstable_alone(plant) - round(turned / np.pi)


def _turned(function: Callable[[float], complex], omega: NDArray[np.float64]) -> float:
    """Return by how much the phase of a function turns along ascending places, with more where it is fast."""
    places = [(w, function(w)) for w in omega.tolist()][::-1]
    total, count = 0.0, len(places)
    here = places.pop()
    while places:
        there = places[-1]
        turn = float(np.angle(there[1] / here[1]))
        if abs(turn) < TURN:
            total, here = total + turn, places.pop()
            continue
        middle = 0.5 * (here[0] + there[0])
        count += 1
        if count > MOST or not here[0] < middle < there[0]:
            raise InputError(
                f"the loop of grid and plant passes -1 too near at {here[0] / (2 * np.pi):g} Hz to say on "
                "which side; a mode of the system is at the border of stability there, see psmr.modes"
            )
        places.append((middle, function(middle)))
    return total


def characteristic_loci(loop: Complexes) -> Complexes:
    """Return (K, 2) eigenvalues of (K, 2, 2) loop gains, each one a curve."""
    values = np.linalg.eigvals(loop)
    for k in range(1, len(values)):
        straight = np.abs(values[k] - values[k - 1]).sum()
        if np.abs(values[k, ::-1] - values[k - 1]).sum() < straight:
            values[k] = values[k, ::-1]
    return np.asarray(values)
