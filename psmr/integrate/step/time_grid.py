"""The steps of a span between two discontinuities."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from psmr.integrate.constants import TUNED

Reals = NDArray[np.float64]


NO_STOPS: Reals = np.zeros(0)

# Digits of a rest, as a part of a step, where there are many rests.
DIGITS = 9


def missed(a: float, rows: Reals, h: float) -> Reals:
    """Return those of ascending times in s at which steps of h from a on need to begin anew to meet them all.

    They are none, the first one, or all.
    """
    first = rows[:1]
    for origin, found in ((a, rows[:0]), (first, first)):
        steps = (rows - origin) / h
        if (np.abs(steps - np.round(steps)) <= TUNED.rounding * np.maximum(1.0, steps)).all():
            return found
    return rows


@dataclass(frozen=True, eq=False)
class TimeGrid:
    """Start and size in s of each step, and the end of the last one."""

    times: Reals
    steps: Reals
    end: float

    @classmethod
    def over(cls, a: float, b: float, h: float) -> TimeGrid:
        """Divide [a, b] into steps at a + k h, the last one shortened."""
        (grid,) = cls.windows(a, b, h, math.inf)
        return grid

    @classmethod
    def windows(
        cls, a: float, b: float, h: float, most: float, stops: Reals = NO_STOPS
    ) -> Iterator[TimeGrid]:
        """Divide [a, b] as `over` does, and yield the steps by `most` at a time.

        A step ends at each of the `stops` within, ascending times in s; from there the steps count anew.
        """
        marks = np.array([a, *stops, b])
        length = np.diff(marks)
        whole = np.floor(length / h + TUNED.rounding)
        rest = length - whole * h
        if stops.size:  # a few steps that differ by rounding are one, for which there is one program
            rest = h * np.round(rest / h, DIGITS)
        count = whole + ((whole == 0) | (rest > TUNED.rounding * h))
        last = np.cumsum(count).astype(np.int64)
        for first in range(0, int(last[-1]), int(min(most, last[-1]))):
            k = np.arange(first, min(first + most, last[-1]), dtype=np.int64)
            part = np.searchsorted(last, k, side="right")
            within = k - (last[part] - count[part])
            shortened = within >= whole[part]
            steps = np.where(shortened, rest[part], h)
            times, ends_part = marks[part] + h * within, k[-1] + 1 == last[part[-1]]
            yield cls(times, steps, float(marks[part[-1] + 1] if ends_part else times[-1] + h))

    def points(self, within: Callable[[float], Reals]) -> NDArray[np.int64]:
        """Return how many points each step has; see `rows`."""
        sizes, which = np.unique(self.steps, return_inverse=True)
        return np.array([within(float(h)).size for h in sizes], dtype=np.int64)[which]

    def rows(self, within: Callable[[float], Reals] | None) -> tuple[Reals, NDArray[np.int64]]:
        """Return the times of the rows that record the span, and the row that each step ends with.

        Row 0 is the point before the first step. `within` returns the times of the points within a step of h
        in s, counted from its start, the last one h; None records the ends of steps only.
        """
        ends = np.arange(len(self.steps) + 1)
        if within is None:
            return np.append(self.times, self.end), ends
        ends = np.append(0, np.cumsum(self.points(within)))
        t = np.empty(ends[-1] + 1)
        for h in np.unique(self.steps):
            steps, own = np.flatnonzero(self.steps == h), within(float(h))
            t[ends[steps][:, None] + 1 + np.arange(own.size)] = self.times[steps][:, None] + own
        t[ends[:-1]], t[-1] = self.times, self.end
        return t, ends
