"""How long a step Newton may be expected to solve, and how much a solve is given; compiled.

A step that Newton does not solve as its policy says is made shorter first. Only then is a solve given all
that there is: where all angles drift that takes twenty times as many factorisations as a shorter step.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from psmr.dae.compile.decorators import lean
from psmr.integrate.constants import TUNED
from psmr.integrate.solve.solver import ALL, PLAIN

# Places in what is remembered: the longest step in s that Newton may be expected to solve, and how often the
# present one was not solved.
LONGEST, UNSOLVED = range(2)


def nothing_unsolved() -> NDArray[np.float64]:
    """Return what (2,) is remembered before any step; see the names above."""
    return np.array([np.inf, 0.0])


@lean
def effort_for(memory):  # type: ignore[no-untyped-def]
    """Return how much a solve of the present step is given."""
    return PLAIN if memory[UNSOLVED] < TUNED.patient else ALL


@lean
def unsolved(memory, h):  # type: ignore[no-untyped-def]
    """Take note that the present step, of h in s, was not solved."""
    memory[UNSOLVED] += 1.0
    memory[LONGEST] = TUNED.after_unsolved * h


@lean
def longest_solved(memory):  # type: ignore[no-untyped-def]
    """Go on to the next step behind an accepted one; return how long it is at most, in s."""
    longest = memory[LONGEST]
    memory[UNSOLVED] = 0.0
    memory[LONGEST] *= TUNED.regained
    return longest
