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
        columns = np.flatnonzero(low.any(axis=0) & ~goes_on)
        if columns.size:
            self._spells(columns, t, v[:, columns], low[:, columns])
        self._last = float(t[-1]), v[-1].copy()

    def _spells(self, columns: NDArray[np.intp], t: Reals, v: Reals, low: NDArray[np.bool_]) -> None:
        """Take columns of which some points are low and others are not: (K, count) voltages."""
        # The voltages one after another: the turns of each stand together, ascending in time.
        column, row = np.nonzero((low[1:] != low[:-1]).T)
        row += 1
        times, falls = self._crossings(t, v, row, column), low[row, column]
        begin_of, begins = column[falls], times[falls]
        end_of, ends = column[~falls], times[~falls]
        at_first, at_last = np.flatnonzero(low[0]), np.flatnonzero(low[-1])
        begin_of = np.concatenate([at_first, begin_of])
        begins = np.concatenate([self._since[columns[at_first]], begins])
        end_of = np.concatenate([end_of, at_last])
        ends = np.concatenate([ends, np.full(len(at_last), t[-1])])
        # Spells of one voltage do not overlap: in order of voltage and time begins and ends go together.
        first, second = np.lexsort((begins, begin_of)), np.lexsort((ends, end_of))
        where, begins, ends = columns[begin_of[first]], begins[first], ends[second]
        self._since[columns] = np.nan
        last = np.append(where[1:] != where[:-1], True)
        still = np.zeros(v.shape[1], dtype=bool)
        still[at_last] = True
        goes_on = last & still[begin_of[first]]
        self._since[where[goes_on]] = begins[goes_on]
        lengths = ends - begins
        # Of each voltage the longest, of equal ones the first.
        order = np.lexsort((np.arange(len(where)), -lengths, where))
        heads = order[np.append(True, where[order][1:] != where[order][:-1])]
        heads = heads[lengths[heads] > self.longest[where[heads]]]
        self.longest[where[heads]], self.begin[where[heads]] = lengths[heads], begins[heads]

    def _crossings(self, t: Reals, v: Reals, row: NDArray[np.intp], column: NDArray[np.intp]) -> Reals:
        """Return when voltages pass the limit between the points before rows and at them."""
        before, after = v[row - 1, column], v[row, column]
        with np.errstate(invalid="ignore"):
            straight = t[row - 1] + (self.limit - before) / (after - before) * (t[row] - t[row - 1])
        return np.where(~np.isfinite(before), t[row], np.where(~np.isfinite(after), t[row - 1], straight))

    def longest_of(self, places: Sequence[str]) -> Extreme:
        """Return the longest time of all, where it was, and when it began."""
        column = int(self.longest.argmax())
        if not self.longest[column] > 0.0:
            return Extreme(0.0, "", self._first)
        return Extreme(float(self.longest[column]), f"at {places[column]}", float(self.begin[column]))
