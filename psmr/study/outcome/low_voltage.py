"""The longest time for which a voltage stays low, found as the points come."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from psmr.study.outcome.extreme import Extreme

Reals = NDArray[np.float64]


class LowVoltage:
    """For each of several voltages the longest time without a break below a limit.

    Straight between points, but for a jump to or from a value that does not count (infinite).
    """

    def __init__(self, count: int, limit: float) -> None:
        self.limit = limit
        self.longest = np.zeros(count)
        self.begin = np.zeros(count)
        self._since = np.full(count, np.nan)  # of the spell that goes on, where one does
        self._last: tuple[float, Reals] | None = None
        self._first = 0.0

    def take(self, t: Reals, v: Reals) -> None:
        """Take (K,) times and (K, count) voltages, after those taken before."""
        if self._last is None:
            self._first = float(t[0])
            self._since[v[0] < self.limit] = t[0]
        else:
            t, v = np.append(self._last[0], t), np.vstack([self._last[1], v])
        low = v < self.limit
        # Most voltages that are low during a fault are so from its first point to its last.
        goes_on = low.all(axis=0)
        lengths = np.where(goes_on, t[-1] - self._since, 0.0)
        longer = lengths > self.longest
        self.longest[longer], self.begin[longer] = lengths[longer], self._since[longer]
        for column in np.flatnonzero(low.any(axis=0) & ~goes_on):
            self._spells(int(column), t, v[:, column], low[:, column])
        self._last = float(t[-1]), v[-1].copy()

    def _spells(self, column: int, t: Reals, v: Reals, low: NDArray[np.bool_]) -> None:
        turns = np.flatnonzero(low[1:] != low[:-1]) + 1
        times = self._crossings(t, v, turns)
        begins, ends = times[low[turns]], times[~low[turns]]
        if low[0]:
            begins = np.append(self._since[column], begins)
        goes_on = bool(low[-1])
        self._since[column] = begins[-1] if goes_on else np.nan
        if goes_on:
            ends = np.append(ends, t[-1])
        lengths = ends - begins
        k = int(lengths.argmax())
        if lengths[k] > self.longest[column]:
            self.longest[column], self.begin[column] = lengths[k], begins[k]

    def _crossings(self, t: Reals, v: Reals, at: NDArray[np.intp]) -> Reals:
        """Return when v passes the limit between the points before `at` and at it."""
        before, after = v[at - 1], v[at]
        with np.errstate(invalid="ignore"):
            straight = t[at - 1] + (self.limit - before) / (after - before) * (t[at] - t[at - 1])
        return np.where(~np.isfinite(before), t[at], np.where(~np.isfinite(after), t[at - 1], straight))

    def longest_of(self, places: Sequence[str]) -> Extreme:
        """Return the longest time of all, where it was, and when it began."""
        column = int(self.longest.argmax())
        if not self.longest[column] > 0.0:
            return Extreme(0.0, "", self._first)
        return Extreme(float(self.longest[column]), f"at {places[column]}", float(self.begin[column]))
