"""Grids of fixed steps over a span, their points, and how far a run is on them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from psmr.base.arrays import Reals
from psmr.integrate.constants import TUNED
from psmr.integrate.solve.status import DONE, FULL
from psmr.integrate.step.input_jumps import GridJumps, JumpTable

NO_STOPS: Reals = np.zeros(0)

# Bytes of the points that stand in memory before they are recorded: some chunks of a large system.
ROOM = 2**25

# Digits of a rest, as a part of a step, where there are many rests.
DIGITS = 9


def times_off_grid(a: float, rows: Reals, h: float, end: float | None = None) -> Reals:
    """Return those of ascending times in s at which steps of h from a on need to begin anew to meet them all.

    They are none, the first one, or all; with an `end` in s that no such step meets the last one as well,
    behind which steps are shorter.
    """
    first = rows[:1]
    for origin, found in ((a, rows[:0]), (first, first)):
        steps = (np.append(rows, rows[-1] if end is None else end) - origin) / h
        met = np.abs(steps - np.round(steps)) <= TUNED.rounding * np.maximum(1.0, steps)
        if met[:-1].all():
            return found if met[-1] else np.union1d(found, rows[-1:])
    return rows


class Piece(NamedTuple):
    """The points of a stretch of steps.

    `t`, `rows`: (K,) times in s and (K, n + m + s) points.
    `starts`, `ends`: (steps,) times in s at which the steps begin, and the row of the point that each ends
      with.
    `fast`: (steps,) fast steps of each.
    `parts`: (steps,) whether it was taken in parts: of such a step only the end is a point at its time.
    """

    t: Reals
    rows: Reals
    starts: Reals
    ends: NDArray[np.intp]
    fast: NDArray[np.intp]
    parts: NDArray[np.int64]

    @classmethod
    def of_points(cls, t: Reals, rows: Reals) -> Piece:
        """Return the piece of steps that end with a point each."""
        return cls(t, rows, t, np.arange(t.size), np.ones(t.size, np.intp), np.zeros(t.size, np.int64))


@dataclass(frozen=True, eq=False)
class TimeGrid:
    """Start and size in s of each step, and the end of the last one.

    `parts` says of each step whether it was taken in parts.
    """

    times: Reals
    steps: Reals
    end: float
    parts: NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", np.zeros(self.steps.size, np.int64))

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

    def points(self, point_times: Callable[[float], Reals]) -> NDArray[np.int64]:
        """Return how many points each step has; see `rows`."""
        sizes, which = np.unique(self.steps, return_inverse=True)
        return np.array([point_times(float(h)).size for h in sizes], dtype=np.int64)[which]

    def rows(self, point_times: Callable[[float], Reals] | None) -> tuple[Reals, NDArray[np.int64]]:
        """Return the times of the rows that record the span, and the row that each step ends with.

        Row 0 is the point before the first step. `point_times` returns the times of the points of a step of
        h in s, counted from its start, the last one h; None records the ends of steps only.
        """
        ends = np.arange(len(self.steps) + 1)
        if point_times is None:
            return np.append(self.times, self.end), ends
        ends = np.append(0, np.cumsum(self.points(point_times)))
        t = np.empty(ends[-1] + 1)
        for h in np.unique(self.steps):
            steps, own = np.flatnonzero(self.steps == h), point_times(float(h))
            t[ends[steps][:, None] + 1 + np.arange(own.size)] = self.times[steps][:, None] + own
        t[ends[:-1]], t[-1] = self.times, self.end
        return t, ends


Take = Callable[[TimeGrid, NDArray[np.int64], int, int, Reals, Reals], tuple[int, int]]
"""Takes steps first..last-1 of a grid from w into rows that end as given; (number not completed, status)."""


class GridSteps:
    """How far a run is on the grid of its span, window after window.

    `step`: Step in s.
    `point_times`: Returns the times in s of the points within a step of h in s, counted from its start, the
      last one h.
    `every`: Whether they are recorded.
    `size`: Number of states, algebraic and sampled variables.
    """

    def __init__(self, step: float, point_times: Callable[[float], Reals], every: bool, size: int) -> None:
        self.step, self.point_times, self.every, self.size = step, point_times, every, size
        self._windows: Iterator[TimeGrid] = iter(())

    def begin(self, t: float, end: float, stops: Reals, table: JumpTable | None = None) -> None:
        """Begin a span from t to `end` in s; a step ends at each of the `stops` within.

        `table` has the instants at which held inputs jump, each of them a stop or a point within a step.
        """
        points = self.point_times(self.step).size if self.every else 1
        most = max(16, ROOM // (8 * self.size * points))
        self._end, self._windows = end, TimeGrid.windows(t, end, self.step, most, stops)
        self._stops, self._table = stops, table
        self._open()

    def _open(self) -> None:
        """Go on to the next window."""
        self.grid, self._done = next(self._windows), 0
        grid, table = self.grid, self._table
        self._t, self._rows_end = grid.rows(self.point_times if self.every else None)
        self._fast = grid.points(self.point_times)
        self.jumps = None
        if table is not None:
            self.jumps = GridJumps.of(table, grid.times, grid.steps, grid.end, self._fast)
            self._t, self._rows_end = self.jumps.doubled(self._t, self._rows_end, self.every)
        self._rows = np.empty((self._t.size, self.size))

    def end_at_jumps(self) -> bool:
        """Take the next step from jump to jump within it, where it has any; return whether it has."""
        within = np.zeros(0) if self.jumps is None else self.jumps.within_step(self._done)
        if within.size:
            t = float(self.grid.times[self._done])
            stops = np.union1d(self._stops[self._stops > t], within)
            self.begin(t, self._end, stops, self._table)
        return bool(within.size)

    @property
    def next_step(self) -> float:
        """Size in s of the step that comes next, or failed."""
        return float(self.grid.steps[self._done])

    @property
    def next_end(self) -> float:
        """Time in s at which it ends."""
        return float(self._t[self._rows_end[self._done + 1]])

    def advance(self, most: int, w: Reals, take: Take) -> tuple[Piece, int]:
        """Take up to `most` steps; return their points and a status, `FULL` where the span goes on."""
        total = len(self.grid.steps)
        if self._done == total:
            self._open()
            total = len(self.grid.steps)
        first, ends = self._done, self._rows_end
        done, status = take(self.grid, ends, first, min(total, first + most), w, self._rows)
        self._done = done
        points, steps = slice(ends[first] + 1, ends[done] + 1), slice(first, done)
        own = ends[first + 1 : done + 1] - ends[first] - 1
        piece = Piece(
            self._t[points], self._rows[points], self.grid.times[steps], own, self._fast[steps],
            self.grid.parts[steps],
        )  # fmt: skip
        if status == DONE and (done < total or self.grid.end < self._end):
            status = FULL
        return piece, status
