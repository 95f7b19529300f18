"""The voltages of the buses of a run, as its points come: the lowest, the longest low one, the last ones."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from psmr.dae.compile.decorators import lean
from psmr.study.outcome.extreme import Extreme

Reals = NDArray[np.float64]


class Voltages:
    """What is gathered of the voltages at several places.

    Parameters
    ----------
    places
        Their names.
    limit
        Below this a voltage is low.

    Attributes
    ----------
    lowest
        The lowest voltage of all; None before any point, or without a place.
    end
        The lowest one of the last point.
    """

    def __init__(self, places: Sequence[str], limit: float) -> None:
        self.lowest: Extreme | None = None
        self.end: Extreme | None = None
        self._places, self._limit = places, limit
        self._longest, self._began, self._since = np.zeros((3, len(places)))
        # Before the first point nothing is low, and a voltage that does not count comes down at once.
        self._last, self._at = np.full(len(places), np.inf), np.zeros(1)
        self._first: float | None = None

    def take(self, t: Reals, parts: Reals, counted: NDArray[np.bool_]) -> None:
        """Take (K,) times and (K, 2, places) real and imaginary parts of voltages.

        `counted` says which of the places count.
        """
        if not self._places:
            return
        if self._first is None:
            self._first = float(t[0])
        t, parts = np.array(t), np.ascontiguousarray(parts)
        spells = self._last, self._since, self._longest, self._began
        lowest, k, place, end, last = _look(t, parts, counted, self._limit, self._at, *spells)
        if self.lowest is None or lowest < self.lowest.value:
            self.lowest = Extreme(lowest, f"at {self._places[place]}", float(t[k]))
        self.end = Extreme(end, f"at {self._places[last]}", float(t[-1]))

    def longest_low(self) -> Extreme | None:
        """Return the longest time in s without a break of a low voltage, where it was and when it began.

        Voltages are straight between points, but for a jump to or from one that does not count.
        """
        if self._first is None:
            return None
        place = int(self._longest.argmax())
        if not self._longest[place] > 0.0:
            return Extreme(0.0, "", self._first)
        return Extreme(float(self._longest[place]), f"at {self._places[place]}", float(self._began[place]))


@lean
def _look(t, parts, counted, limit, at, last, since, longest, began):  # type: ignore[no-untyped-def]
    """Return the lowest voltage that counts, its row and column, the lowest of the last row and its column.

    `at` is the time of the point before. Of each column `last` is the square of the voltage there, infinite
    where it does not count; `since` is when it became low, where it is; `longest` and `began` are of its
    longest low time.
    """
    lowest, row, column, end, end_at, low = np.inf, 0, 0, np.inf, 0, limit * limit
    for k in range(t.size):
        for c in range(counted.size):
            v = parts[k, 0, c] ** 2 + parts[k, 1, c] ** 2
            if k == t.size - 1 and v < end:
                end, end_at = v, c
            if not counted[c]:
                v = np.inf
            elif v < lowest:
                lowest, row, column = v, k, c
            before = last[c]
            last[c] = v
            if v < low:
                if not before < low:
                    since[c] = _crossing(at[0], before, t[k], v, limit)
            elif before < low:
                _lengthen(c, _crossing(at[0], before, t[k], v, limit), since, longest, began)
        at[0] = t[k]
    for c in range(counted.size):
        if last[c] < low:
            _lengthen(c, at[0], since, longest, began)
    return np.sqrt(lowest), row, column, np.sqrt(end), end_at


@lean
def _crossing(t0, square0, t1, square1, limit):  # type: ignore[no-untyped-def]
    """Return when a voltage passes the limit between points, at once where one of them does not count."""
    if not np.isfinite(square0):
        return t1
    if not np.isfinite(square1):
        return t0
    v0, v1 = np.sqrt(square0), np.sqrt(square1)
    if v0 == v1:  # the squares are on either side of the limit's, and round to one root
        return t1
    return t0 + (limit - v0) / (v1 - v0) * (t1 - t0)


@lean
def _lengthen(c, until, since, longest, began):  # type: ignore[no-untyped-def]
    """Take note of a low time that lasts until now, or ended then, where it is the longest."""
    if until - since[c] > longest[c]:
        longest[c], began[c] = until - since[c], since[c]
