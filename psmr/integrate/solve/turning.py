"""A frame that turns with the common angle, in which steps need not follow how all angles run on.

A load that grows leaves the frequency off where it was: all angles and phasors turn together, by 2 rad/s at
0.3 Hz, and Newton's starts and matrix hold for a fraction of a radian. Equations that read differences of
angles alone are the same in a frame that turns at a constant rate: there the states that are angles have
rates less by that, and nothing else changes. Runge-Kutta methods make the same of both, so that the frame
moves no point of a run by more than Newton leaves.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from psmr.base.arrays import Reals
from psmr.dae.compile.kernels import Kernels
from psmr.dae.declare.component import local_variables
from psmr.dae.system.kept import kept
from psmr.dae.system.system import System
from psmr.integrate.solve.records import Matrix

Places = NDArray[np.intp]

INVARIANT = 1e-9
"""Part of the largest residual to which equations in a turned frame are the same."""


# What a block's matrix has of a frame where none turns and nothing rests.
NOTHING_TURNS = dict.fromkeys(("angles", "resting", "resting_slots"), np.zeros(0, np.uint32)) | dict.fromkeys(
    ("own", "turn"), np.zeros(0)
)


@dataclass(frozen=True)
class Turned:
    """What turns with the common angle.

    `angles`: Positions of angles, `states` of them first.
    `real`, `imaginary`: Positions of the two parts of phasors.
    """

    angles: Places
    states: int
    real: Places
    imaginary: Places

    def without(self, system: System, out: Collection[str]) -> Turned:
        """Return what turns where the variables of devices in `out` stand still."""
        gone = [
            group.index[k] for group in system.groups for k, name in enumerate(group.names) if name in out
        ]
        places = np.concatenate([np.zeros(0, np.uint32), *gone])
        angles, stay = ~np.isin(self.angles, places), ~np.isin(self.real, places)
        states = int(angles[: self.states].sum())
        return Turned(self.angles[angles], states, self.real[stay], self.imaginary[stay])

    def turn(self, rows: Reals, angle: Reals | float) -> None:
        """Turn (..., n + m) points by an angle in rad, one for each of them or one for all."""
        cos, sin = np.cos(angle)[..., None], np.sin(angle)[..., None]
        real, imaginary = rows[..., self.real], rows[..., self.imaginary]
        rows[..., self.real] = cos * real - sin * imaginary
        rows[..., self.imaginary] = sin * real + cos * imaginary
        rows[..., self.angles] += np.asarray(angle)[..., None]


def _pairs(names: tuple[str, ...]) -> tuple[Places, Places]:
    """Return the places of names that end in ``_re``, and of their others in ``_im``."""
    place = {name: k for k, name in enumerate(names)}
    found = [
        (k, place[f"{name[:-3]}_im"])
        for name, k in place.items()
        if name.endswith("_re") and f"{name[:-3]}_im" in place
    ]
    pairs = np.array(found, dtype=np.intp).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]


def turned(system: System) -> Turned | None:
    """Return what turns in a system; None where its equations are others in a turned frame.

    They are where a phasor is a state, or something holds an angle: an infinite bus, a network that is
    dynamic. That is found out by turning a point.
    """
    return kept(system, "turned", (), lambda: _turned(system), 1)


def _turned(system: System) -> Turned | None:
    n, size = system.n, system.n + system.m
    angles = {
        int(group.index[row, column])
        for group in system.groups
        for column, name in enumerate(local_variables(group.compiled.component))
        if group.compiled.component.units.get(name) == "rad"
        for row in range(len(group.names))
        if group.index[row, column] < size
    }
    real, imaginary = _pairs((*system.names_x, *system.names_y))
    if min(real, default=n) < n or not any(k < n for k in angles):
        return None
    found = Turned(np.array(sorted(angles), np.intp), sum(k < n for k in angles), real, imaginary)
    rows = Turned(np.zeros(0, np.intp), 0, *_pairs(system.names_g))
    here = system.w0[:size] + 0.01 * np.random.default_rng(1).standard_normal(size)
    there = here.copy()
    found.turn(there, 1.0)
    f, g = system.f(here[:n], here[n:]), system.g(here[:n], here[n:])
    rows.turn(g, 1.0)
    off = np.append(system.f(there[:n], there[n:]) - f, system.g(there[:n], there[n:]) - g)
    scale = max(1.0, float(np.abs(f).max(initial=0.0)), float(np.abs(g).max(initial=0.0)))
    return found if np.abs(off).max() <= INVARIANT * scale else None


def in_frame(A: Reals, angles: Places) -> Reals:
    """Return the matrix of states some of which are angles, as the first of these sees them.

    Its own row and column are left out: where all turn nothing changes.
    """
    if not len(angles):
        return A
    first = angles[0]
    A = A.copy()
    A[angles] -= A[first]
    return np.delete(np.delete(A, first, axis=0), first, axis=1)


def within(kernels: Kernels, positions: Places) -> NDArray[np.uint32]:
    """Return the variables at positions in w that a block has, counted within it."""
    place = {int(at): k for k, at in enumerate(kernels.variables)}
    return np.array([place[int(at)] for at in positions if int(at) in place], np.uint32)


def at_rest(system: System, kernels: Kernels, matrix: Matrix, resting: Places) -> Matrix:
    """Return a block's matrix with some states, by their positions in w, at rest in the frame that turns."""
    rows, found = within(kernels, resting), turned(system)
    slots = np.flatnonzero(np.isin(kernels.indices, rows)).astype(np.uint32)
    own = np.zeros(kernels.states)
    own[rows] = _own_times(system)[kernels.variables[rows]]
    matrix = matrix._replace(resting=rows, resting_slots=slots, own=own)
    if found is None:
        return matrix
    return matrix._replace(angles=within(kernels, found.angles), turn=np.zeros(kernels.rows))


# Part of its time constant over which a rate has to lead a state at rest past a limit that holds it: with the
# whole one Newton sends what has a high gain around it from limit to limit.
LED = 0.05


def _own_times(system: System) -> Reals:
    """Return parts `LED` of the (n,) time constants in s of states, of 1 s where rates do not read them."""
    return kept(system, "own times", (), lambda: _times(system), 1)


def _times(system: System) -> Reals:
    rates = np.abs(system.linearise().fx.diagonal())
    return np.asarray(LED / np.where(rates > INVARIANT, rates, 1.0))


# Angle in rad by which all may run on in a step before the frame turns at another rate, and the time in s
# after which that is looked at.
SEEN, LOOK = 0.02, 10.0


class Frame:
    """The frame of an engine's points: where it stands, and how fast it turns.

    `turned`: What turns.
    `rate`: In rad/s.
    """

    def __init__(self, turned: Turned) -> None:
        self.turned, self.rate, self._at, self._angle = turned, 0.0, 0.0, 0.0

    def angle(self, t: Reals | float) -> Reals:
        """Return the angles in rad at times in s."""
        return np.asarray(self._angle + self.rate * (np.asarray(t) - self._at))

    def begin(self, t: float, angle: float = 0.0) -> None:
        """Let the frame stand still from t in s on, at first as that of the network."""
        self.rate, self._at, self._angle = 0.0, t, angle

    def hurry(self, t: float, change: float) -> None:
        """Let it turn at another rate from t in s on."""
        self.rate, self._at, self._angle = self.rate + change, t, float(self.angle(t))
