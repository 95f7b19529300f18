"""The size of an error: the estimate of a step, and the disturbance by which it is measured; compiled.

The estimate of a step is filtered through the Newton matrix that solved its stages: h times a combination of
the rates is an error of the states as if they were not coupled. Solved with the Newton matrix it holds for
stiff states (Hosea and Shampine 1996, section 4), and its algebraic part is the change of the algebraic
variables that follows from it.

The size of the disturbance is the largest deviation of any variable from where it was when the span began,
before its events, relative to max(1, |value|), so far; at most 1. Angles, and what has a real and an
imaginary part in the frame of the network, turn with the common angle, by an amount that grows with time
however small the disturbance is: they deviate from their own mean over the last
`Constants.mean_time_constant` seconds, with exponential weights, so that they count as far as they swing,
jump, or turn in that time.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from psmr.base.arrays import Reals
from psmr.dae.compile.decorators import lean
from psmr.dae.declare.component import local_variables
from psmr.dae.system.system import System
from psmr.integrate.constants import TUNED
from psmr.integrate.solve.equations import take_out_turn
from psmr.integrate.solve.lu import solve
from psmr.integrate.solve.records import (
    VECTOR_CHUNK,
    WORST_AT,
    largest_part,
    limits_of,
    lu_of,
    matrix_of,
    newton_state_of,
    position,
    positions_of,
    real_of,
    whole_of,
    work_of,
)


@lean
def local_errors(block, rates, weights, h):  # type: ignore[no-untyped-def]
    """Write h times the combination of the rates into the block's `defect`: what each state adds to it.

    `rates` (s, n) are by position in w, `weights` (s,) those of the method less those of its companion.
    """
    work, limits = work_of(block), limits_of(block)
    places, defect, n = positions_of(block), work.defect, work.known.size
    for i in range(defect.size):
        defect[i] = 0.0
    for j in range(weights.size):
        weight, rate = h * weights[j], rates[j]
        if weight != 0.0:
            for i in range(n):
                defect[i] += weight * rate[position(places, i)]
    for b in range(limits.bounded.size):
        if limits.held[b] != 0:  # the state is its limit, whatever its rates were
            defect[limits.bounded[b]] = 0.0
    for i in matrix_of(block).resting:
        defect[i] = 0.0


@lean
def filtered_estimate(block, rates, weights, h, w):  # type: ignore[no-untyped-def]
    """Write the estimated error of each variable of a block into its `update`; see `local_errors`.

    w is the end of the step.
    """
    local_errors(block, rates, weights, h)
    solve(lu_of(block), work_of(block).defect, work_of(block).update)
    if matrix_of(block).turn.size > 0:
        take_out_turn(block)


@lean
def largest_error(block, w, tolerance):  # type: ignore[no-untyped-def]
    """Return the largest entry of `update` relative to tolerance max(1, |w|); its place is kept."""
    largest, at = largest_part(work_of(block).update, positions_of(block), w, tolerance)
    newton_state_of(block).counts[WORST_AT] = at
    return largest


class Disturbance(NamedTuple):
    """What is known of the disturbance that is followed.

    `reference`: (n + m,) values from which variables deviate.
    `turning`: Positions of those that turn with the common angle, or are angles.
    `size`: Size so far, and the least.
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
    part = 1.0 - math.exp(-h / TUNED.mean_time_constant)
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
