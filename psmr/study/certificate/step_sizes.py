"""The step sizes by which a run is judged whose scheme chose them."""

from __future__ import annotations

import statistics
from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from psmr.dae.system.system import System
from psmr.integrate.run.changes import autonomous

SWINGING = 10.0
"""Time in s after an event in which its swings are large, as planning studies simulate them."""


def judged_steps(t: NDArray[np.float64], events: Collection[float] = ()) -> dict[str, float]:
    """Return step sizes in s of a run by what they are: the median, the longest, the median late in the run.

    The median is that of the steps within `SWINGING` of an event: later ones become longer where nothing
    moves.

    Parameters
    ----------
    t
        (K,) accepted times in s, twice at an event.
    events
        Times in s of the events. Steps before the first one count only where there is nothing else: the
        system is at equilibrium. The quiet part is the second half of what follows the last one.
    """
    if not t.size:
        return {}
    h, ends = np.diff(t), t[1:]
    first, last = min(events, default=float(t[0])), max(events, default=float(t[0]))
    moving = (h > 0.0) & (ends > first)
    moving = moving if moving.any() else h > 0.0
    if not moving.any():
        return {}
    h, ends = h[moving], ends[moving]
    began = np.array(sorted({first, *events}))
    after = ends - began[np.maximum(np.searchsorted(began, ends) - 1, 0)]
    swings = h[after <= SWINGING] if (after <= SWINGING).any() else h
    steps = {"the median step": statistics.median(swings.tolist()), "the longest step": float(h.max())}
    quiet = ends > 0.5 * (last + float(t[-1]))
    if quiet.any():
        steps["the median step of the quiet part"] = statistics.median(h[quiet].tolist())
    return steps


def within(t: NDArray[np.float64], begin: float, end: float) -> NDArray[np.float64]:
    """Return those of accepted times that lie between two events, whose instants stand twice among them."""
    return t[np.searchsorted(t, begin, "right") - 1 : np.searchsorted(t, end) + 1]


HELD = "with the time held"
"""What `System.linearise` does with the time, in words."""


def reads_time(system: System) -> bool:
    """Return whether an equation reads the time, so that there is no equilibrium."""
    return not autonomous(system, system.parameters)
