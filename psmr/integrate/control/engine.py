"""A scheme whose step is a program, on a system: at fixed steps, or at steps that a controller chooses."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from partitioning import Partition
from psmr.base.errors import PsmrError
from psmr.dae.compile.switch_tables import switch_tables
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
from psmr.integrate.control.corners import Corners, corners_for
from psmr.integrate.control.loop import advance
from psmr.integrate.control.time_grid import GridSteps, Piece, TimeGrid
from psmr.integrate.solve.block import Block
from psmr.integrate.solve.failure import step_failure
from psmr.integrate.solve.ramps import Place
from psmr.integrate.solve.status import DONE, SPENT, STALE, VANISHED
from psmr.integrate.step.program import Program
from psmr.integrate.step.stepper import (
    NO_POINTS,
    NewtonSettings,
    Programs,
    Stepper,
    uniform,
)
from psmr.integrate.tableaux import ImplicitPair

Reals = NDArray[np.float64]


class FixedSteps:
    """See `psmr.integrate.schemes.scheme.Engine`: steps of one size, the last one of a span shortened.

    `within` has the times in s of the points within a step of h in s, `every` says whether they are recorded;
    all else as for `Stepper`.
    """

    ends_at_stops = True

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
        self.blocks, self.every = self.stepper.blocks, every
        self._grid = GridSteps(step, within, every, system.n + system.m)
        self._before: tuple[float, ...] = ()
        self._after_event = False
        none = np.zeros(1, np.int64)  # the loop is compiled, or loaded, before the clock of a run begins
        empty = np.zeros((1, system.n + system.m))
        advance(self.stepper.interpreter, None, 1.0, np.zeros(1), none, 0, 0, w, empty)

    def begin(self, end: float, w: Reals, stops: Reals) -> int:
        """See `Engine`."""
        self._grid.begin(float(w[-1]), end, stops)
        return DONE

    def advance(self, most: int, w: Reals) -> tuple[Piece, int]:
        """See `Engine`."""
        piece, status = self._grid.advance(most, w, self._take)
        return piece, status

    def _take(
        self, grid: TimeGrid, ends: NDArray[np.int64], first: int, last: int, w: Reals, record: Reals
    ) -> tuple[int, int]:
        """Take steps first..last-1; return (number of the step that was not completed or `last`, status)."""
        stepper, history = self.stepper, self.stepper.history
        stepper.ready(w)
        stepper.note_parts(grid.parts)
        status = DONE
        while first < last and status == DONE:
            h = float(grid.steps[first])
            stop = first + 1
            if self._before == uniform(h, history):
                same = np.flatnonzero(grid.steps[first:last] != h)
                stop = first + int(same[0]) if same.size else last
            if self._after_event:
                stop = first + 1
            inner = int(ends[first + 1] - ends[first])
            points = np.empty((inner, record.shape[1])) if self.every else NO_POINTS
            interpreter = stepper.at(h, self._before, self._after_event)._replace(inner_points=points)
            done, status = advance(interpreter, None, h, grid.times, ends, first, stop, w, record)
            self._after_event = self._after_event and done == first
            for _ in range(min(done - first, history)):
                self._before = (h, *(h + back for back in self._before))[:history]
            first = done
            if status == STALE:
                stepper.form_response(w)
                stepper.ready(w)
                status = DONE
        return first, int(status)

    def forget(self, autonomous: bool) -> None:
        """See `Engine`."""
        self._before, self._after_event = (), self.stepper.restarts
        self.stepper.forget(autonomous)

    def read_slowly(self, inputs: Collection[int], parameters: Collection[Place]) -> bool:
        """See `Stepper`."""
        return self.stepper.read_slowly(inputs, parameters)

    def take_out(self, system: System, parameters: Sequence[Reals], w: Reals, out: Collection[str]) -> None:
        """See `Engine`."""
        self.stepper.take_out(system, parameters, w, out)

    def counted(self) -> dict[str, Any]:
        """See `Engine`."""
        return self.stepper.counted()

    def failed(self) -> tuple[Block, float | None]:
        """See `Engine`."""
        return self.stepper.failed()[0], self._grid.next_end

    def failure(self, status: int, end: float, w: Reals) -> PsmrError:
        """See `Engine`."""
        (block, least, difference), h = self.stepper.failed(), self._grid.next_step
        return step_failure(block, status, w, h, min(h, least), difference)


class ControlledSteps:
    """See `psmr.integrate.schemes.scheme.Engine`: steps of one rate whose estimated error a tolerance bounds.

    Parameters
    ----------
    system, parameters, w
        See `Stepper`.
    program, pair
        The step that is tried, and the method with its estimate.
    tolerance, longest, most
        See `psmr.integrate.control.controller.control_for`.
    """

    ends_at_stops = True

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
        accurate = min(TUNED.newton_share * tolerance, TUNED.least_accurate)
        choices = NewtonSettings("very dishonest", accurate, TUNED.drifts_from)
        self.stepper = Stepper(system, lambda h, before: program, 1.0, choices, None, parameters, w, False)
        self.blocks, self.pair, self._size = self.stepper.blocks, pair, system.n + system.m
        self._last = np.array([w[-1]]), w[None, : self._size].copy()
        self.control: Control = control_for(
            pair, tolerance, longest, most, system, self.stepper.encoded, self._corners(system, w), w
        )

    def _corners(self, system: System, w: Reals) -> Corners:
        """Return what is needed to see the corners of the equations of the devices in service."""
        kernels = self.blocks[0].kernels
        self._tables = switch_tables(kernels, system.groups, w.size)
        return corners_for(self._tables, self.pair.tableau, self.stepper.encoded.places, w.size, kernels.rows)

    def begin(self, end: float, w: Reals, stops: Reals) -> int:
        """See `Engine`: the first step of a span follows from the rates at its start."""
        stepper = self.stepper
        stepper.interpreter.points[self.control.outliving[:, 1], -1] = np.nan
        self.control = begin_control(
            self.control, self.blocks[0], self._before(float(w[-1])), end, w, stops, stepper.autonomous
        )
        return DONE

    def advance(self, most: int, w: Reals) -> tuple[Piece, int]:
        """See `Engine`."""
        times, rows, ends = np.empty(most + 1), np.empty((most + 1, self._size)), np.arange(most + 1)
        times[0], rows[0] = w[-1], w[: self._size]
        interpreter = self.stepper.ready(w)
        done, status = advance(interpreter, self.control, 0.0, times, ends, 0, most, w, rows)
        self._last = times[: done + 1], rows[: done + 1]
        return Piece.of_points(times[1 : done + 1], rows[1 : done + 1]), int(status)

    def _before(self, t: float) -> Reals:
        """Return the (n + m,) values of the last accepted point up to t in s, ahead of what changed there."""
        times, rows = self._last
        return rows[max(0, int(np.searchsorted(times, t, side="right")) - 1)]

    def forget(self, autonomous: bool) -> None:
        """See `Engine`."""
        self.stepper.forget(autonomous)

    def take_out(self, system: System, parameters: Sequence[Reals], w: Reals, out: Collection[str]) -> None:
        """See `Engine`."""
        self.stepper.take_out(system, parameters, w, out)
        self.control = self.control._replace(corners=self._corners(system, w))

    def counted(self) -> dict[str, Any]:
        """See `Engine`."""
        return {"rejected": int(self.control.counts[REJECTED])}

    def failed(self) -> tuple[Block, float | None]:
        """See `Engine`."""
        return self.stepper.failed()[0], None

    def failure(self, status: int, end: float, w: Reals) -> PsmrError:
        """See `Engine`."""
        block, h = self.stepper.failed()[0], float(self.control.steps[TRIED])
        if status in (SPENT, VANISHED):
            return control_failure(self.control, block, status, end, w)
        return step_failure(block, status, w, h, h, 0.0)
