"""The running branch of an induction motor: slips from 0 to the first maximum of the power that it takes.

What a motor takes at a voltage has no closed form over two cages, so the branch is looked at in `SLIPS`, and
between two of them by bisection. `taken` is a function of the slip, increasing along the branch: the power in
pu, or the conductance of the motor's circuit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

SLIPS = np.concatenate([[0.0], np.logspace(-7, 0, 1401)])
"""Slips among which the branch is looked for."""


def most(taken: Callable[[Any], Any]) -> float:
    """Return the most that a motor takes on its running branch."""
    along = taken(SLIPS)
    return float(along[_top(along)])


def slip_at(taken: Callable[[Any], Any], wanted: float) -> float:
    """Return the slip on the running branch at which the motor takes `wanted`; NaN where there is none."""
    along = taken(SLIPS)
    top = _top(along)
    if not along[0] <= wanted <= along[top]:
        return float("nan")
    place = int(np.searchsorted(along[: top + 1], wanted))
    low, high = float(SLIPS[max(place - 1, 0)]), float(SLIPS[place])
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if taken(middle) < wanted else (low, middle)
    return middle


def _top(along: Any) -> int:
    """Return where what rises from slip 0 has its first maximum."""
    falls = np.flatnonzero(np.diff(along) < 0)
    return int(falls[0]) if falls.size else len(along) - 1
