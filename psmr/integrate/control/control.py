"""The controller of steps that follow an error, as data: what it is to do, and what it remembers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from psmr.integrate.control.corners import Corners
from psmr.integrate.control.disturbance import Disturbance

# Places in `Control.steps` and `Control.counts`.
NEXT, PREVIOUS, TRIED = range(3)
ACCEPTED, REJECTED = range(2)


class Control(NamedTuple):
    """The loop's inputs for the control of the error, and its memory.

    Attributes
    ----------
    difference
        Weights of the rates in the estimate.
    order
        Power of the step with which the estimate falls.
    tolerance
        Largest estimated error of a step in a disturbance of size 1.
    disturbance
        The one that is followed.
    longest, most
        Of `psmr.VariableStep`.
    steps
        Next step in s, last error in units of the tolerance, step tried last; see the names above.
    solvable
        See `psmr.integrate.control.solvable`.
    counts
        Accepted and rejected steps.
    outliving
        Places of points of a step and of the same after it; see `psmr.integrate.step.program_table`.
    raw
        (n,) room for rates without limits.
    corners
        Those of the equations.
    halts
        (K, 2) how many instructions of the program come before a look for corners, and at which point of the
        step; see `halts_of`.
    stops, passed
        Times in s at which a step ends, ascending, the end of the span the last, and how many of them are
        behind.
    """

    difference: np.ndarray
    order: float
    tolerance: float
    disturbance: Disturbance
    longest: float
    most: int
    steps: np.ndarray
    solvable: np.ndarray
    counts: np.ndarray
    outliving: np.ndarray
    raw: np.ndarray
    corners: Corners
    halts: np.ndarray
    stops: np.ndarray
    passed: np.ndarray
