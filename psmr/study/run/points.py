"""Values between the recorded points of a run."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from psmr.errors import InputError

Reals = NDArray[np.float64]
Side = Literal["before", "after"]
SIDES = ("before", "after")


def between(t: Reals, values: Reals, times: ArrayLike, side: Side = "after") -> Reals:
    """Return (L, j) values at (L,) times in s, straight between the recorded points.

    Parameters
    ----------
    t, values
        (K,) recorded times, twice at an event, and (K, j) values there.
    times
        Where values are wanted, in any order.
    side
        At the very instant of an event the value before it or after it.

    Raises
    ------
    InputError
        For a time outside the run or that is no number.
    """
    if side not in SIDES:
        raise InputError(
            f'side = {side!r}: must be "before" or "after" (the value at the instant of an event)'
        )
    wanted = np.atleast_1d(np.asarray(times, dtype=float))
    wrong = ~((wanted >= t[0]) & (wanted <= t[-1]))
    if wrong.any():
        raise InputError(
            f"t = {wanted[wrong][0]:g} s: must be within the run, from {t[0]:g} s to {t[-1]:g} s"
        )
    if side == "after":
        first = np.searchsorted(t, wanted, side="right") - 1
        second = np.minimum(first + 1, len(t) - 1)
    else:
        second = np.searchsorted(t, wanted, side="left")
        first = np.maximum(second - 1, 0)
    length = t[second] - t[first]
    part = np.where(length > 0, (wanted - t[first]) / np.where(length > 0, length, 1.0), 0.0)
    straight = values[first] + part[:, None] * (values[second] - values[first])
    # At a recorded point its value to the last digit.
    return np.asarray(np.where(part[:, None] == 1.0, values[second], straight))


def sides(t: Reals) -> NDArray[np.bool_]:
    """Return for each of (K,) recorded times whether it is the point after an event, of the same time."""
    return np.concatenate([[False], np.diff(t) == 0.0])
