"""The points of a run, gathered piece by piece and watched as they come."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from psmr.errors import SimulationError
from psmr.numerics.run.actions import Actions
from psmr.numerics.run.counters import Counters
from psmr.numerics.run.table import Table
from psmr.numerics.run.trajectory import Change, Trajectory, Watch

Reals = NDArray[np.float64]

# No quantity of a power system, in whatever unit, is larger.
LARGEST = 1e30


class Sink(Protocol):
    """What takes the points of an integration as they come; it copies what it keeps."""

    def begin(self, t: float) -> None:
        """Take note that a span begins at t in s, with the next point taken."""

    def told(self, change: Change) -> None:
        """Take note of what devices change by themselves."""

    def take(self, t: Reals, points: Reals) -> None:
        """Take (K,) times and (K, n + m) points."""


class Piece(NamedTuple):
    """Room for the points of a stretch of steps.

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

    def __init__(
        self,
        states: int,
        size: int,
        watch: Watch | None = None,
        sink: Sink | None = None,
        expected: int = 0,
        acting: Actions | None = None,
        names: Sequence[str] = (),
    ) -> None:
        self.states, self.size = states, size
        self.steps = self.macro_steps = 0
        self.divided_at: tuple[float, ...] = ()
        self.jumped_at: tuple[float, ...] = ()
        self._stopped = False
        self._paused = False
        self._watch = watch
        self._sink = sink
        self._table = Table(size, expected=1 if sink is not None else expected)
        self._acting = acting
        self._names = names
        self._last: tuple[float, Reals] = (math.nan, np.empty(0))
        self._until = math.nan

    def stopped(self) -> bool:
        """Return whether `watch` has ended the integration; the last point is the one at which it did."""
        return self._stopped

    def instant(self, t: float, same: float) -> float:
        """Return t, or the time of the last point where they are one: an instant stands twice, exactly."""
        return self._until if abs(t - self._until) <= same else t

    def stop(self) -> None:
        """End the integration at the last point."""
        self._stopped = True

    def paused(self) -> bool:
        """Return whether an action falls between the last point and the next, which is dropped."""
        return self._paused

    def go_on(self) -> tuple[float, Reals]:
        """Return the time in s and the (n + m,) values of the last point, from which it goes on."""
        self._paused = False
        return self._last

    def chunk(self, by_the_clock: int) -> int:
        """Return how many steps to take before they are looked at.

        Where that may end the run, not as many as the clock suggests but always as many: the work of the
        steps beyond the end is counted too, and a run repeated must count the same.
        """
        if self._watch is None and self._acting is None:
            return by_the_clock
        return max(16, min(256, 2**16 // self.size))

    def begin(self, t: float, w: Reals) -> None:
        """Take the point in w at which a span begins."""
        for observer in (self._watch, self._sink):
            if observer is not None:
                observer.begin(t)
        if self._acting is not None:
            self._acting.begin(t, w)
        self.add(np.array([t]), w[None, : self.size], 0)

    def jump(self, w: Reals) -> None:
        """Take the point in w, at which the algebraic variables have jumped to another solution."""
        self.jumped_at += (float(w[-1]),)
        self.begin(float(w[-1]), w)

    def add(self, times: Reals, rows: Reals, steps: int) -> None:
        """Take (K,) times and (K, n + m) points, a step each where there were any."""
        kept = self._look(times, rows)
        if kept is not None:
            times, rows, steps = times[:kept], rows[:kept], min(steps, kept)
        self._keep(times, rows, steps, steps)

    def add_piece(
        self, piece: Piece, ratios: NDArray[np.int64], divided: NDArray[np.intp], first: int, done: int
    ) -> None:
        """Take the points of the steps first..done-1, of which ratios[k] were fast steps each.

        Of the steps in `divided`, which were taken in parts, only the end is a point at its time.
        """
        at = piece.ends[first + 1 : done + 1]
        looked = self._watch is not None or self._acting is not None
        kept = self._look(piece.t[at], piece.rows[at]) if looked else None
        if kept is not None:
            done = first + kept
        self.divided_at += tuple(float(piece.t[piece.ends[k]]) for k in divided if k < done)
        places = np.arange(piece.ends[first] + 1, piece.ends[done] + 1)
        inner = [np.arange(piece.ends[k] + 1, piece.ends[k + 1]) for k in divided]
        rows: slice | NDArray[np.intp] = slice(piece.ends[first] + 1, piece.ends[done] + 1)
        if any(part.size for part in inner):
            rows = np.setdiff1d(places, np.concatenate(inner))
        self._keep(piece.t[rows], piece.rows[rows], int(ratios[first:done].sum()), done - first)

    def _look(self, times: Reals, rows: Reals) -> int | None:
        """Return how many of the points are kept, None for all."""
        kept = self._acting.look(times, rows) if self._acting is not None else None
        self._paused = kept is not None
        if kept is not None:
            times, rows = times[:kept], rows[:kept]
        last = self._watch.look(times, rows) if self._watch is not None and len(times) else None
        self._stopped = last is not None
        return kept if last is None else last + 1

    def _keep(self, times: Reals, rows: Reals, steps: int, macro_steps: int) -> None:
        if not len(times):
            return
        if rows.size and not (rows.max() < LARGEST and rows.min() > -LARGEST):
            row = int(np.argmax(~(np.abs(rows) < LARGEST).all(axis=1)))
            self._keep(times[:row], rows[:row], steps * row // len(times), macro_steps * row // len(times))
            self._refuse(float(times[row]), rows[row])
        self._until = float(times[-1])
        if self._acting is not None:
            self._last = self._until, rows[-1].copy()
        if self._sink is not None:
            self._sink.take(times, rows)
            if self._table.count == 0:
                self._table.append(times[:1], rows[:1])
        else:
            self._table.append(times, rows)
        self.steps += steps
        self.macro_steps += macro_steps

    def _refuse(self, t: float, row: Reals) -> None:
        """Raise the error of a point whose values no quantity has."""
        worst = int(np.argmax(np.where(np.isfinite(row), np.abs(row), np.inf)))
        name = self._names[worst] if self._names else f"variable {worst + 1}"
        raise SimulationError(
            f"t = {t:.6g} s: {name} = {row[worst]:.3g}, and no quantity is beyond {LARGEST:g}: the scheme is "
            "unstable on this system, or the system itself is; take a smaller step or an implicit scheme"
        )

    def trajectory(self, counters: Counters, h: float) -> Trajectory:
        """Return everything so far; of an integration into a sink the first point alone."""
        rows = self._table.rows()
        states = 1 + self.states
        return Trajectory(rows[:, 0].copy(), rows[:, 1:states], rows[:, states:], counters, h)
