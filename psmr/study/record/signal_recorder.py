"""A run that keeps chosen signals at every k-th step: they are computed, kept and written as it goes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from psmr.base.arrays import Reals
from psmr.dae.system.system import System
from psmr.integrate.run.recorder import GrowingTable
from psmr.integrate.schemes.scheme import Scheme, leaves_newton_tolerance
from psmr.integrate.solve.turning import turned
from psmr.integrate.timeline.span import SampledRows, Span, with_shared_ends
from psmr.network.dynamic.switching import unequal_phases
from psmr.network.signals.signals import Signals, SignalValues, Unwrap
from psmr.network.topology.network import nominal_frequency
from psmr.pencil.operator.periodic import DENSE
from psmr.study.outcome import Outcome
from psmr.study.record.dense_output import AlgebraicPoints, warn_of
from psmr.study.record.modes_over_period import AROUND
from psmr.study.record.record import Record, ReducedRecord
from psmr.study.record.reintegrate import Samples
from psmr.study.record.thinning import Corners

Writer = Callable[[Reals, Reals], None]
"""Takes (K,) times and (K, j) values of the signals of a file."""

MIB = 2.0**20

PERIODS = 2.0 * AROUND + 1.1
"""Periods whose points are kept whole at the end of a stretch with unequal phases."""


class SignalRecorder:
    """Takes the points of a run; see `psmr.integrate.run.trajectory.Follower`.

    `system`: the system at the start of the run.
    `record`: what is kept.
    `samples`: among what it follows by, for the estimate of the error.
    `scheme`: that of the run: the algebraic variables of what is kept are solved anew from the states as in
      `psmr.study.record.record.values_of`. Where it chooses its steps their times are kept, all of them.

    `names`: names of the signals that are kept, in the order in which they were asked for.
    `writers`: what writes `names` to files, meanwhile.
    """

    ends = False

    def __init__(self, system: System, record: Record, samples: Samples, scheme: Scheme) -> None:
        self.system, self.record, self._samples = system, record, samples
        self.writers: list[Writer] = []
        self._signals = Signals.of(system)
        self.names = self._signals.select(record.signals)
        # Without a choice bus voltages are among the names, but need no columns: the run computes them.
        every = (*system.names_x, *system.names_y, *system.names_u[: system.s])
        chosen = set(self.names if record.signals is not None else every)
        self.names_x = tuple(name for name in system.names_x if name in chosen)
        self.names_y = tuple(name for name in system.names_y if name in chosen)
        own = {*self.names_x, *self.names_y}
        self.computed = tuple(name for name in self.names if name in chosen and name not in own)
        self._taken = GrowingTable(0, record.memory * MIB) if scheme.step_choice is not None else None
        self._table = GrowingTable(len(own) + len(self.computed), record.memory * MIB)
        columns = (*self.names_x, *self.names_y, *self.computed)
        place = {name: k for k, name in enumerate(dict.fromkeys((*columns, *self.names)))}
        self._own = [place[name] for name in columns]
        self._written = [place[name] for name in self.names]
        self._expansion = self._signals.expansion(place)
        self._values = SignalValues(self._signals, self._expansion.names, system)
        self._unwrap = Unwrap()
        states = set(system.names_x)
        self._every = scheme.error_control is not None and any(name not in states for name in place)
        self._solves = self._every or (leaves_newton_tolerance(scheme) and self._values.solved)
        self._left: list[float] = []
        self._corners = None if record.within is None else Corners(record.within)
        self._turned = turned(system)
        self._spans: list[Span] = []
        self._periods: list[list[tuple[Reals, Reals]]] = []
        self._hertz = nominal_frequency(system) if system.n <= DENSE else None
        self._unequal = False
        self._count, self._until = 0, 0.0
        self._first: tuple[Reals, Reals] | None = None
        self._last: tuple[Reals, Reals] | None = None
        self._pending: tuple[Reals, Reals, Reals] | None = None

    def begin(self, span: Span) -> None:
        """See `Follower`."""
        self._flush()
        self._spans.append(replace(span, first=self._table.count, delayed=None, sampled=None))
        self._periods.append([])
        self._unequal = self._hertz is not None and unequal_phases(self.system, span.parameters)
        self._values.begin(span)
        self._algebraic = AlgebraicPoints(self.system, span, self._left)
        self._count = 0
        if self._corners is not None:
            self._corners.begin()

    def stops_before(self, span: Span) -> bool:
        """See `Follower`."""
        return False

    def points(self, t: Reals, points: Reals) -> None:
        """See `Follower`."""
        if not len(t):
            return
        n = self.system.n
        if self._first is None:
            self._first = points[0, :n].copy(), points[0, n:].copy()
        self._last = points[-1, :n].copy(), points[-1, n:].copy()
        self._until = float(t[-1])
        if self._taken is not None:
            self._taken.append(t, points[:, :0])
        if self._unequal:
            self._keep_periods(t, points)
        angles = self._unwrap(self._values.angles(t, points[:, :n], points[:, n:]))
        if self._corners is not None:
            self._keep_corners(self._corners, t, points, angles)
            return
        kept = (self._count + np.arange(len(t))) % self.record.every == 0
        self._count += len(t)
        self._pending = None
        if kept.all():
            self._keep(t, points, angles)
            return
        self._keep(t[kept], points[kept], angles[kept])
        if not kept[-1]:
            self._pending = t[-1:].copy(), points[-1:].copy(), angles[-1:]

    def _keep_corners(self, corners: Corners, t: Reals, points: Reals, angles: Reals) -> None:
        """Keep the points that lines need; the last one is pending until what follows is known."""
        if self._pending is not None:
            before = self._pending
            t, points, angles = (
                np.concatenate(pair) for pair in zip(before, (t, points, angles), strict=True)
            )
        kept = corners.needed(t, self._shown(t, points, angles))
        self._keep(t[kept], points[kept], angles[kept])
        self._pending = None if kept[-1] else (t[-1:].copy(), points[-1:].copy(), angles[-1:])

    def _shown(self, t: Reals, points: Reals, angles: Reals) -> Reals:
        """Return what is near lines: the signals chosen, or all variables as the first angle sees them."""
        n = self.system.n
        if self.record.signals is not None:
            values = self._values.at(t, points[:, :n], points[:, n:], points[:, n:], angles=angles)
            return self._expansion.combined(values)[:, self._own]
        if self._turned is None:
            return points
        points = points.copy()
        self._turned.turn(points, -points[:, self._turned.angles[0]])
        return points

    def _keep_periods(self, t: Reals, points: Reals) -> None:
        """Keep the points of the last periods of a stretch, whole."""
        assert self._hertz is not None
        begin, kept = t[-1] - PERIODS / self._hertz, self._periods[-1]
        rows = t >= begin
        kept.append((t[rows].copy(), points[rows].copy()))
        while kept[0][0][-1] < begin:
            kept.pop(0)

    @property
    def last_time(self) -> float:
        """Time in s of the last point."""
        return self._until

    @property
    def taken(self) -> Reals:
        """(K,) times in s of every accepted point of a scheme that chooses its steps, otherwise none."""
        return np.empty(0) if self._taken is None else self._taken.rows()[:, 0].copy()

    def finish(self) -> None:
        """Keep the last point, which is always kept."""
        self._flush()
        warn_of(self._left)

    def _flush(self) -> None:
        if self._pending is not None:
            self._keep(*self._pending)
            self._pending = None

    def _keep(self, t: Reals, points: Reals, angles: Reals) -> None:
        if not len(t):
            return
        solved = self._algebraic.points(t, points) if self._solves else points
        n = self.system.n
        y = solved if self._every else points
        values = self._values.at(t, points[:, :n], y[:, n:], solved[:, n:], angles=angles)
        values = self._expansion.combined(values)
        self._table.append(t, values[:, self._own])
        for write in self.writers:
            write(t, values[:, self._written])

    def spans(self) -> tuple[Span, ...]:
        """Return what held from when on, with its rows among those that are kept."""
        spans, count = with_shared_ends(self._spans, self._table.count), self.system.s
        if not count or self.record.signals is not None:
            return spans
        rows = self._table.rows()
        first = 1 + len(self.names_x) + len(self.names_y) + self.computed.index(self.system.names_u[0])
        sampled = rows[:, first : first + count]
        return tuple(
            replace(span, sampled=SampledRows(rows[span.rows, 0], sampled[span.rows])) for span in spans
        )

    def result(self, outcome: Outcome) -> tuple[Reals, Reals, Reals, ReducedRecord]:
        """Return (K,) times, kept states, kept algebraic variables, and the rest."""
        assert self._first is not None
        assert self._last is not None
        rows = self._table.rows()
        a = 1 + len(self.names_x)
        b = a + len(self.names_y)
        kept = ReducedRecord(
            self.computed,
            rows[:, b:],
            self.record.signals is not None,
            outcome,
            (self._first, self._last),
            self.record.every,
            self._samples.result(),
            self.taken,
            tuple(
                (np.concatenate([t for t, _ in kept]), np.concatenate([points for _, points in kept]))
                for kept in self._periods
                if kept
            ),
        )
        return rows[:, 0], rows[:, 1:a], rows[:, a:b], kept
