"""The points of a run, gathered piece by piece and watched as they come."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from psmr.numerics.run.counters import Counters
from psmr.numerics.run.trajectory import Trajectory, Watch

Reals = NDArray[np.float64]


class Piece(NamedTuple):
    """Room for the points of a span.

    Attributes
    ----------
    t, rows
        (K,) times in s and (K, n + m) points; row 0 is the point before the first step.
    ends
        (steps + 1,) row of the point that each step ends with, 0 before the first.
    """

    t: Reals
    rows: Reals
    ends: NDArray[np.int64]


class Recorder:
    """Points in the order of time, and how many steps made them.

    Attributes
    ----------
    states, size
        Number of states n, and of states and algebraic variables n + m.
    steps, macro_steps, divided_at, jumped_at
        As in `Counters`.
    """

    def __init__(self, states: int, size: int, watch: Watch | None = None) -> None:
        self.states, self.size = states, size
        self.steps = self.macro_steps = 0
        self.divided_at: tuple[float, ...] = ()
        self.jumped_at: tuple[float, ...] = ()
        self._stopped = False
        self._watch = watch
        self._times: list[Reals] = []
        self._rows: list[Reals] = []

    def stopped(self) -> bool:
        """Return whether `watch` has ended the march; the last point is the one at which it did."""
        return self._stopped

    def begin(self, t: float, w: Reals) -> None:
        """Take the point in w at which a span begins."""
        if self._watch is not None:
            self._watch.begin(t)
        self.add(np.array([t]), w[None, : self.size].copy(), 0)

    def jump(self, w: Reals) -> None:
        """Take the point in w, at which the algebraic variables have jumped to another solution."""
        self.jumped_at += (float(w[-1]),)
        self.begin(float(w[-1]), w)

    def add(self, times: Reals, rows: Reals, steps: int) -> None:
        """Take (K,) times and (K, n + m) points, a step each where there were any.

        The arrays are kept, not copied.
        """
        last = self._look(times, rows)
        if last is not None:
            times, rows, steps = times[: last + 1], rows[: last + 1], min(steps, last + 1)
        self._keep(times, rows, steps, steps)

    def add_piece(
        self, piece: Piece, ratios: NDArray[np.int64], divided: NDArray[np.intp], first: int, done: int
    ) -> None:
        """Take the points of the steps first..done-1, of which ratios[k] were fast steps each.

        Of the steps in `divided`, which were taken in parts, only the end is a point at its time.
        """
        at = piece.ends[first + 1 : done + 1]
        last = self._look(piece.t[at], piece.rows[at]) if self._watch is not None else None
        if last is not None:
            done = first + last + 1
        self.divided_at += tuple(float(piece.t[piece.ends[k]]) for k in divided if k < done)
        places = np.arange(piece.ends[first] + 1, piece.ends[done] + 1)
        inner = [np.arange(piece.ends[k] + 1, piece.ends[k + 1]) for k in divided]
        rows: slice | NDArray[np.intp] = slice(piece.ends[first] + 1, piece.ends[done] + 1)
        if any(part.size for part in inner):
            rows = np.setdiff1d(places, np.concatenate(inner))
        self._keep(piece.t[rows], piece.rows[rows], int(ratios[first:done].sum()), done - first)

    def _look(self, times: Reals, rows: Reals) -> int | None:
        last = self._watch.look(times, rows) if self._watch is not None and len(times) else None
        self._stopped = last is not None
        return last

    def _keep(self, times: Reals, rows: Reals, steps: int, macro_steps: int) -> None:
        self._times.append(times)
        self._rows.append(rows)
        self.steps += steps
        self.macro_steps += macro_steps

    def trajectory(self, counters: Counters, h: float) -> Trajectory:
        """Return everything so far."""
        rows = np.concatenate(self._rows)
        return Trajectory(
            np.concatenate(self._times), rows[:, : self.states], rows[:, self.states :], counters, h
        )
