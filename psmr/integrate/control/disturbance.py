"""The size of a disturbance, by which errors are measured; compiled.

The size is the largest deviation of any variable from where it was when the span began, before its events,
relative to max(1, |value|), so far; at most 1. Angles, and what has a real and an imaginary part in the frame
of the network, turn with the common angle, by an amount that grows with time however small the disturbance
is: they deviate from their own mean over the last `Constants.mean_over` seconds, with exponential weights, so
that they count as far as they swing, jump, or turn in that time.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from psmr.dae.compile.decorators import lean
from psmr.dae.declare.component import local_variables
from psmr.dae.system.system import System
from psmr.integrate.constants import TUNED
from psmr.integrate.solve.vector_kernels import VECTOR_CHUNK, real_of, whole_of

Reals = NDArray[np.float64]


class Disturbance(NamedTuple):
    """What is known of the disturbance that is followed.

    Attributes
    ----------
    reference
        (n + m,) values from which variables deviate.
    turning
        Positions of those that turn with the common angle, or are angles.
    size
        Size so far, and the least.
    """

    reference: np.ndarray
    turning: np.ndarray
    size: np.ndarray


# Places in `Disturbance.size`.
SO_FAR, LEAST = range(2)


@lean
def size_with(disturbance, w):  # type: ignore[no-untyped-def]
    """Return the size of the disturbance with the point in w."""
    size, reference = disturbance.size, disturbance.reference
    largest = 0
    for first in range(0, reference.size, VECTOR_CHUNK):
        if not size[SO_FAR] < 1.0:
            break
        before, now = reference[first : first + VECTOR_CHUNK], w[first : first + VECTOR_CHUNK]
        for i in range(before.size):
            largest = max(largest, whole_of(abs(now[i] - before[i]) / max(1.0, abs(before[i]))))
    found = real_of(largest)
    return min(1.0, max(size[SO_FAR], found)) if found == found else size[SO_FAR]


@lean
def follow_disturbance(disturbance, size, h, w):  # type: ignore[no-untyped-def]
    """Go on to the accepted point in w, h in s behind the last one, with which the size is as given."""
    disturbance.size[SO_FAR] = size
    part = 1.0 - math.exp(-h / TUNED.mean_over)
    reference = disturbance.reference
    for at in disturbance.turning:
        reference[at] += part * (w[at] - reference[at])


def begin_disturbance(disturbance: Disturbance, before: Reals, w: Reals) -> None:
    """Begin a span at the point in w, which was `before` (n + m,) ahead of its events."""
    disturbance.reference[:] = before
    disturbance.size[SO_FAR] = disturbance.size[LEAST]
    disturbance.size[SO_FAR] = size_with(disturbance, w)


def disturbance_of(system: System, w: Reals, least: float) -> Disturbance:
    """Return what is known before a run from the point in w; `least` is the least size there may be."""
    size = system.n + system.m
    least = min(1.0, max(TUNED.negligible, least))
    return Disturbance(w[:size].copy(), turning(system), np.array([least, least]))


def turning(system: System) -> NDArray[np.uint32]:
    """Return the positions of angles, and of real and imaginary parts in the frame of the network."""
    found = [np.zeros(0, np.uint32)]
    for group in system.groups:
        component = group.compiled.component
        for column, name in enumerate(local_variables(component)):
            if component.units.get(name) == "rad" or name.endswith(("_re", "_im")):
                found.append(group.index[:, column])
    places = np.unique(np.concatenate(found))
    return places[places < system.n + system.m].astype(np.uint32)
