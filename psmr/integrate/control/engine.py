"""A scheme whose step is a program, on a system: at fixed steps on a grid of times, or at chosen steps."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from partitioning import Partition
from psmr.base.arrays import Reals
from psmr.base.errors import PsmrError
from psmr.dae.compile.kernels import switch_tables
from psmr.dae.system.system import System
from psmr.integrate.constants import TUNED
from psmr.integrate.control.controller import (
    REJECTED,
    TRIED,
    Control,
    begin_control,
    control_failure,
    control_for,
)
from psmr.integrate.control.loop import advance
from psmr.integrate.control.switching import Switching, switching_for
from psmr.integrate.solve.algebraic_solve import step_failure
from psmr.integrate.solve.block import Block
from psmr.integrate.solve.courses import Place
from psmr.integrate.solve.status import DONE, FULL, NO_ROOM, NOT_SAMPLED, SPENT, STALE, UNSOLVED, VANISHED
from psmr.integrate.step.input_jumps import NO_JUMP, GridJumps, JumpTable, no_jumps
from psmr.integrate.step.interpreter import Interpreter
from psmr.integrate.step.program import Program
from psmr.integrate.step.sampling import Samplers
from psmr.integrate.step.stepper import NO_POINTS, NewtonSettings, Programs, Stepper, uniform
from psmr.integrate.tableaux import ImplicitPair

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


class _ProgramSteps:
    """What both engines of a program hand on to its stepper."""

    ends_at_stops = True
    stepper: Stepper
    variables: int
    jumps: JumpTable | None = None

    def take_jumps(self, jumps: JumpTable | None) -> bool:
        """See `Engine`."""
        if jumps is None and self.jumps is not None:
            self.stepper.take_jumps(no_jumps())
        if self.samplers:  # some may have been taken since the last step
            self.stepper.note_jump()
        self.jumps = jumps
        return True

    def _resolve(self, before: Reals, w: Reals) -> None:
        """Solve for the point behind a jump into w, from the values before, where Newton failed."""
        assert self.jumps is not None
        w[: self.variables] = before[: self.variables]
        self.jumps.resolve(w)
        self.stepper.note_jump()

    @property
    def samplers(self) -> Samplers:
        """See `Engine`."""
        return self.stepper.samplers

    @property
    def blocks(self) -> dict[int, Block]:
        """See `Engine`."""
        return self.stepper.blocks

    def forget(self, autonomous: bool) -> None:
        """See `Engine`."""
        self.stepper.forget(autonomous)

    def read_slowly(self, inputs: Collection[int], parameters: Collection[Place]) -> bool:
        """See `Stepper`."""
        return self.stepper.read_slowly(inputs, parameters)

    def take_out_of_service(
        self, system: System, parameters: Sequence[Reals], w: Reals, out: Collection[str]
    ) -> None:
        """See `Engine`."""
        self.stepper.take_out_of_service(system, parameters, w, out)


class FixedSteps(_ProgramSteps):
    """See `psmr.integrate.schemes.scheme.Engine`: steps of one size, the last one of a span shortened.

    `within` has the times in s of the points within a step of h in s, `every` says whether they are recorded;
    all else as for `Stepper`.
    """

    def __init__(
        self,
        system: System,
        programs: Programs,
        first_step: Program | None,
        step: float,
        choices: NewtonSettings,
        split: Partition | None,
        parameters: Sequence[Reals],
        w: Reals,
        within: Callable[[float], Reals],
        every: bool,
    ) -> None:
        self.stepper = Stepper(system, programs, step, choices, split, parameters, w, every, first_step)
        self.every, self.variables, size = every, system.n + system.m, system.n + system.m + system.s
        self._grid = GridSteps(step, within, every, size)
        self._before: tuple[float, ...] = ()
        self._after_event = False
        none = np.zeros(1, np.int64)  # the loop is compiled, or loaded, before the clock of a run begins
        empty = np.zeros((1, size))
        advance(self.stepper.interpreter, None, 1.0, np.zeros(1), none, 0, 0, w, empty)

    def begin(self, end: float, w: Reals, stops: Reals) -> int:
        """See `Engine`."""
        self._grid.begin(float(w[-1]), end, stops, self.jumps)
        return DONE

    def advance(self, most: int, w: Reals) -> tuple[Piece, int]:
        """See `Engine`: a step that fails and within which inputs jump is taken from jump to jump."""
        piece, status = self._grid.advance(most, w, self._take)
        again = status not in (DONE, FULL, NO_ROOM) and self.samplers.repeatable
        again = again and not (status == NOT_SAMPLED and self.samplers.failed_at <= w[-1])
        if again and self._grid.end_at_jumps():
            status = FULL
        return piece, status

    def _take(
        self, grid: TimeGrid, ends: NDArray[np.int64], first: int, last: int, w: Reals, record: Reals
    ) -> tuple[int, int]:
        """Take steps first..last-1; return (number of the step that was not completed or `last`, status)."""
        stepper, history, jumps, anew = self.stepper, self.stepper.history, self._grid.jumps, False
        stepper.ready(w)
        stepper.note_parts(grid.parts)
        if jumps is not None and self.jumps is not None:
            stepper.take_jumps(self.jumps.compiled(jumps.ends, jumps.within, jumps.points, fast=stepper.fast))
            anew = stepper.restarts or (history > 0 and not self.jumps.fast)
            # A sample is no event whose oscillation a first step would have to damp.
            begins = (jumps.ends != NO_JUMP) & (history > 0 or self.jumps.jumping[jumps.ends])
        status = DONE
        while first < last and status == DONE:
            h = float(grid.steps[first])
            stop = first + 1
            if self._before == uniform(h, history):
                same = np.flatnonzero(grid.steps[first:last] != h)
                stop = first + int(same[0]) if same.size else last
            if self._after_event:
                stop = first + 1
            if anew and jumps is not None:
                jumping = np.flatnonzero(begins[first:stop])
                stop = first + int(jumping[0]) + 1 if jumping.size else stop
            inner = int(np.diff(ends[first : stop + 1]).max())
            points = np.empty((inner, record.shape[1])) if self.every else NO_POINTS
            interpreter = stepper.at(h, self._before, self._after_event)._replace(inner_points=points)
            done, status = advance(interpreter, None, h, grid.times, ends, first, stop, w, record)
            self._after_event = self._after_event and done == first
            for _ in range(min(done - first, history)):
                self._before = (h, *(h + back for back in self._before))[:history]
            if status == UNSOLVED:
                self._resolve(record[ends[done] - 1], w)
                record[ends[done]] = w[: record.shape[1]]
                status = DONE
            if anew and done > first and begins[done - 1]:
                self._before, self._after_event = (), stepper.restarts
            first = done
            if status == STALE:
                stepper.form_response(w)
                stepper.ready(w)
                status = DONE
        return first, int(status)

    def forget(self, autonomous: bool) -> None:
        """See `Engine`."""
        self._before, self._after_event = (), self.stepper.restarts
        super().forget(autonomous)

    def counted(self) -> dict[str, Any]:
        """See `Engine`."""
        return self.stepper.counted()

    def failed(self) -> tuple[Block, float | None]:
        """See `Engine`."""
        return self.stepper.failed()[0], self._grid.next_end

    def failure(self, status: int, end: float, w: Reals) -> PsmrError:
        """See `Engine`."""
        if status == NOT_SAMPLED:
            return self.samplers.failure(w)
        (block, least, difference), h = self.stepper.failed(), self._grid.next_step
        return step_failure(block, status, w, h, min(h, least), difference)


class ControlledSteps(_ProgramSteps):
    """See `psmr.integrate.schemes.scheme.Engine`: steps of one rate whose estimated error a tolerance bounds.

    `system`, `parameters`, `w`: See `Stepper`.
    `program`, `pair`: The step that is tried, and the method with its estimate.
    `tolerance`, `longest`, `most`: See `psmr.integrate.control.controller.control_for`.
    """

    def __init__(
        self,
        system: System,
        program: Program,
        pair: ImplicitPair,
        tolerance: float,
        longest: float,
        most: int,
        parameters: Sequence[Reals],
        w: Reals,
    ) -> None:
        accurate = min(TUNED.newton_share * tolerance, TUNED.loosest_tolerance)
        choices = NewtonSettings("very dishonest", accurate, TUNED.drift_limit)
        self.stepper = Stepper(system, lambda h, before: program, 1.0, choices, None, parameters, w, False)
        self.pair, self.variables, self._size = pair, system.n + system.m, system.n + system.m + system.s
        self._last = np.array([w[-1]]), w[None, : self._size].copy()
        self.control: Control = control_for(
            pair, tolerance, longest, most, system, self.stepper.encoded, self._switching(system, w), w
        )

    def _switching(self, system: System, w: Reals) -> Switching:
        """Return what is needed to see the kinks of the equations of the devices in service."""
        kernels = self.blocks[0].kernels
        self._tables = switch_tables(kernels, system.groups, w.size)
        return switching_for(
            self._tables, self.pair.tableau, self.stepper.encoded.places, w.size, kernels.rows
        )

    def begin(self, end: float, w: Reals, stops: Reals) -> int:
        """See `Engine`: the first step of a span follows from the rates at its start."""
        stepper = self.stepper
        stepper.interpreter.points[self.control.outliving[:, 1], -1] = np.nan
        self.control = begin_control(
            self.control, self.blocks[0], self._before(float(w[-1])), end, w, stops, stepper.autonomous
        )
        self._jumps_at = None if self.jumps is None else self.jumps.at_stops(self.control.stops)
        return DONE

    def advance(self, most: int, w: Reals) -> tuple[Piece, int]:
        """See `Engine`."""
        room = most if self.jumps is None else 2 * most
        times, rows, ends = np.empty(most + 1), np.empty((room + 1, self._size)), np.zeros(most + 1, np.int64)
        times[0], rows[0] = w[-1], w[: self._size]
        if self.jumps is not None and self._jumps_at is not None:
            self.stepper.take_jumps(self.jumps.compiled(self._jumps_at))
        interpreter = self.stepper.ready(w)
        done, status = self._take(interpreter, times, ends, most, w, rows)
        times, ends = times[: done + 1], ends[: done + 1]
        if status == UNSOLVED:
            self._resolve(rows[ends[done] - 1], w)
            rows[ends[done]] = w[: self._size]
            status = FULL if times[done] < self.control.stops[-1] else DONE
        if self.jumps is None:
            self._last = times, rows[: done + 1]
            return Piece.of_points(times[1:], rows[1 : done + 1]), int(status)
        t = np.repeat(times, np.diff(ends, prepend=-1))
        self._last = t, rows[: t.size]
        steps = Piece.of_points(times[1:], rows[1 : t.size])
        return steps._replace(t=t[1:], ends=ends[1:] - 1), int(status)

    def _take(
        self,
        interpreter: Interpreter,
        times: Reals,
        ends: NDArray[np.int64],
        most: int,
        w: Reals,
        rows: Reals,
    ) -> tuple[int, int]:
        """Take up to `most` steps; return (how many were taken, status). See `advance` of the loop."""
        return advance(interpreter, self.control, 0.0, times, ends, 0, most, w, rows)  # type: ignore[no-any-return]

    def _before(self, t: float) -> Reals:
        """Return the (n + m,) values of the last accepted point up to t in s, ahead of what changed there."""
        times, rows = self._last
        return rows[max(0, int(np.searchsorted(times, t, side="right")) - 1), : self.variables]

    def take_out_of_service(
        self, system: System, parameters: Sequence[Reals], w: Reals, out: Collection[str]
    ) -> None:
        """See `Engine`."""
        super().take_out_of_service(system, parameters, w, out)
        self.control = self.control._replace(switching=self._switching(system, w))

    def counted(self) -> dict[str, Any]:
        """See `Engine`."""
        return {"rejected": int(self.control.counts[REJECTED])}

    def failed(self) -> tuple[Block, float | None]:
        """See `Engine`."""
        return self.stepper.failed()[0], None

    def failure(self, status: int, end: float, w: Reals) -> PsmrError:
        """See `Engine`."""
        if status == NOT_SAMPLED:
            return self.samplers.failure(w)
        block, h = self.stepper.failed()[0], float(self.control.steps[TRIED])
        if status in (SPENT, VANISHED):
            return control_failure(self.control, block, status, end, w)
        return step_failure(block, status, w, h, h, 0.0)
