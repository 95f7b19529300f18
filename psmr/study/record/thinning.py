"""Which points of a run lines between them need, so that all others are within a tolerance of the lines."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from psmr.base.arrays import Reals
from psmr.dae.compile.decorators import lean


@lean
def _corners(t, values, tolerance, anchor, low, high, first, keep):  # type: ignore[no-untyped-def]
    """Mark the points from `first` on that lines need; see `Corners`."""
    for k in range(first, t.size):
        dt, new = t[k] - anchor[0], False
        for c in range(low.size):
            rise = values[k, c] - anchor[1 + c]
            new |= not low[c] * dt <= rise <= high[c] * dt
        if new or dt <= 0.0:  # the line goes no further than to the point before
            before = max(k - 1, 0)  # only at the time of the last one needed is there none
            keep[before] = True
            dt = t[k] - t[before]
            keep[k] |= dt <= 0.0
            at = k if dt <= 0.0 else before
            anchor[0] = t[at]
            for c in range(low.size):
                anchor[1 + c], low[c], high[c] = values[at, c], -np.inf, np.inf
        if dt > 0.0:
            for c in range(low.size):
                value = values[k, c]
                reach, rise = tolerance * max(1.0, abs(value)), value - anchor[1 + c]
                low[c], high[c] = max(low[c], (rise - reach) / dt), min(high[c], (rise + reach) / dt)


class Corners:
    """Finds the points that are needed as they come, the last one pending until what follows is known.

    A line from the last point that is needed goes on as long as it passes all points since within `tolerance`
    max(1, |value|) (the swinging door of Bristol, 1990, with slopes of points alone).
    """

    def __init__(self, tolerance: float) -> None:
        self.tolerance = tolerance
        self._anchor: Reals | None = None
        self._pending = False

    def begin(self) -> None:
        """Begin anew: the next point is needed."""
        self._anchor = None

    def needed(self, t: Reals, values: Reals) -> NDArray[np.bool_]:
        """Return which of (K,) times and (K, q) values are needed, the pending one first if there is one."""
        keep, first = np.zeros(len(t), np.bool_), int(self._pending)
        if self._anchor is None:
            keep[0], first = True, 1
            self._anchor = np.append(t[0], values[0])
            self._low, self._high = (np.full(values.shape[1], side) for side in (-np.inf, np.inf))
        _corners(
            t, np.ascontiguousarray(values), self.tolerance, self._anchor, self._low, self._high, first, keep
        )
        self._pending = not keep[-1]
        return keep
