"""The steps of a span between two discontinuities."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]

# A rest of a span shorter than this part of a step is rounding of the times, not a step.
ROUNDING = 1e-9


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
    def windows(cls, a: float, b: float, h: float, most: float) -> Iterator[TimeGrid]:
        """Divide [a, b] as `over` does, and yield the steps by `most` at a time."""
        whole = math.floor((b - a) / h + ROUNDING)
        rest = b - (a + whole * h)
        count = whole + int(whole == 0 or rest > ROUNDING * h)
        first = 0
        while first < count:
            last = int(min(count, first + most))
            steps = np.full(last - first, h)
            if last > whole:
                steps[-1] = rest
            end = b if last == count else a + h * last
            yield cls(a + h * np.arange(first, last, dtype=float), steps, end)
            first = last

    def rows(self, within: Callable[[float], Reals] | None) -> tuple[Reals, NDArray[np.int64]]:
        """Return the times of the rows that record the span, and the row that each step ends with.

        Row 0 is the point before the first step. `within` returns the times of the points within a step of h
        in s, counted from its start, the last one h; None records the ends of steps only.
        """
        count = len(self.steps)
        if within is None:
            t = np.empty(count + 1)
            t[0], t[1:-1], t[-1] = self.times[0], self.times[1:], self.end
            return t, np.arange(count + 1)
        # All steps have one size but the last, which may be shortened.
        usual, last = within(float(self.steps[0])), within(float(self.steps[-1]))
        inner = (self.times[:-1, None] + usual).ravel()
        t = np.concatenate([self.times[:1], inner, self.times[-1] + last])
        t[-1] = self.end
        ends = np.append(usual.size * np.arange(count), t.size - 1)
        return t, ends
