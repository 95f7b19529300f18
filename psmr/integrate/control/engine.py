"""A scheme whose step is a program, on a system: at fixed steps on a grid of times, or at chosen steps."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from partitioning import Partition
from psmr.base.arrays import Reals
from psmr.base.errors import PsmrError
from psmr.dae.compile.kernels import switch_tables
from psmr.dae.system.system import System
from psmr.integrate.constants import TUNED
from psmr.integrate.control.controller import (
    NEXT,
    REJECTED,
    TRIED,
    Control,
    begin_control,
    continue_control,
    control_failure,
    control_for,
)
from psmr.integrate.control.error_size import SO_FAR
from psmr.integrate.control.grid import GridSteps, Piece, TimeGrid
from psmr.integrate.control.loop import advance
from psmr.integrate.control.switching import Switching, switching_for
from psmr.integrate.solve.algebraic_solve import step_failure
from psmr.integrate.solve.block import Block
from psmr.integrate.solve.courses import Place
from psmr.integrate.solve.status import DONE, FULL, NO_ROOM, NOT_SAMPLED, SPENT, STALE, UNSOLVED, VANISHED
from psmr.integrate.solve.turning import LOOK, SEEN, Frame, turned
from psmr.integrate.step.input_jumps import NO_JUMP, JumpTable, no_jumps
from psmr.integrate.step.interpreter import Interpreter
from psmr.integrate.step.march_room import NO_MARCH
from psmr.integrate.step.program import Program
from psmr.integrate.step.program_table import AT_OLDER, AT_OLDEST
from psmr.integrate.step.sampling import Samplers
from psmr.integrate.step.stepper import NO_POINTS, NewtonSettings, Programs, Stepper, uniform
from psmr.integrate.tableaux import ImplicitPair


class _ProgramSteps:
    """What both engines of a program hand on to its stepper."""

    ends_at_stops = True
    marches = False
    stepper: Stepper
    variables: int
    jumps: JumpTable | None = None

    def note(self, w: Reals | None) -> None:
        """See `Engine`: fixed steps have no plan."""

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
    `split`, `grid`: Partition of a program that marches the fast side, and see `Stepper`.

    `loosest`: What Newton is asked for at least.
    """

    loosest = TUNED.loosest_tolerance

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
        split: Partition | None = None,
        grid: tuple[float, float, float] = NO_MARCH,
    ) -> None:
        self.marches = split is not None
        share = TUNED.newton_share / (TUNED.extrapolated_weights if self.marches else 1.0)
        accurate = min(share * tolerance, self.loosest)
        choices = NewtonSettings("very dishonest", accurate, TUNED.drift_limit)
        self.stepper = Stepper(
            system, lambda h, before: program, 1.0, choices, split, parameters, w, False, grid=grid
        )
        self._block = self.stepper.places["slow", "slow"] if self.marches else 0
        self.pair, self.variables, self._size = pair, system.n + system.m, system.n + system.m + system.s
        self._last = np.array([w[-1]]), w[None, : self._size].copy()
        self._goes_on, self._size_before = False, 0.0
        self.frame = self._frame(system)
        self.control: Control = control_for(
            pair, tolerance, longest, most, system, self.stepper.encoded, self._switching(system, w), w,
            self._block,
        )  # fmt: skip

    def _frame(self, system: System, out: Collection[str] = ()) -> Frame | None:
        """Return the frame in which points are, of a system in which devices act by themselves."""
        acts = any(group.compiled.component.actions for group in system.groups)
        found = turned(system) if acts and not (self.marches or self.samplers or system.delays) else None
        return None if found is None else Frame(found.without(system, out))

    def _switching(self, system: System, w: Reals) -> Switching:
        """Return what is needed to see the kinks of the equations of the devices in service."""
        kernels = self.blocks[self._block].kernels
        self._tables = switch_tables(kernels, system.groups, w.size)
        return switching_for(
            self._tables, self.pair.tableau, self.stepper.encoded.places, w.size, kernels.rows, self._block
        )

    def note(self, w: Reals | None) -> None:
        """See `Engine`: where later points do not count, with the step that led to the first of them."""
        planned = self.control.steps[NEXT] > 0.0  # not ahead of the first step
        if w is None or self.marches or not planned:
            self._goes_on = False
            return
        if self._goes_on:
            return
        times, _ = self._last
        k = int(np.searchsorted(times, w[-1], side="right"))
        if k < times.size:
            self.control.steps[NEXT], self.control.disturbance.size[SO_FAR] = (
                times[k] - w[-1],
                self._size_before,
            )
        if self.frame is not None:
            self.frame.turned.turn(self.control.disturbance.reference, self.frame.angle(w[-1]))
        self._stand_still(w)
        block = self.blocks[0]
        block.evaluate(w)
        self.control.raw[:] = block.records.matrix.F[: self.control.raw.size]
        self._goes_on = True

    def _forget_points(self) -> None:
        """Let the next step not go on from points of the last one."""
        points = self.stepper.interpreter.points
        points[[AT_OLDER, AT_OLDEST, *self.control.outliving[:, 1]], -1] = np.nan

    def _stand_still(self, w: Reals) -> None:
        """Let the frame be that of the network from the point in w on."""
        if self.frame is not None:
            self.frame.begin(float(w[-1]))
            self.blocks[0].turn(self.frame.turned, 0.0)

    def _turn_along(self, w: Reals, least: float) -> bool:
        """Let the frame turn with the angles at the point in w, as it sees them; return whether it does anew.

        It does where they run on by more than `least` in rad in a step.
        """
        frame, block = self.frame, self.blocks[0]
        assert frame is not None
        block.turn(frame.turned, frame.rate)
        block.evaluate(w)
        rates = block.records.matrix.F[block.records.matrix.angles[: frame.turned.states]]
        change = float(np.median(rates)) if rates.size else 0.0
        if abs(change * self.control.steps[NEXT]) <= least:
            return False
        frame.hurry(float(w[-1]), change)
        block.turn(frame.turned, frame.rate)
        return True

    def begin(self, end: float, w: Reals, stops: Reals) -> int:
        """See `Engine`: the first step of a span follows from the rates at its start."""
        stepper = self.stepper
        self._forget_points()
        self._stand_still(w)
        if self._goes_on:
            self.control = continue_control(self.control, self.blocks[0], end, w, stops)
            self._goes_on = False
        else:
            before = self._before(float(w[-1]))
            self.control = begin_control(
                self.control, self.blocks[0], before, end, w, stops, stepper.autonomous
            )
        if self.frame is not None and self._turn_along(w, 0.0):
            stepper.forget(stepper.autonomous)
        self._jumps_at = None if self.jumps is None else self.jumps.at_stops(self.control.stops)
        return DONE

    def advance(self, most: int, w: Reals) -> tuple[Piece, int]:
        """See `Engine`."""
        if self.frame is not None:
            return self._advance_turned(self.frame, most, w)
        return self._advance(most, w)

    def _advance_turned(self, frame: Frame, most: int, w: Reals) -> tuple[Piece, int]:
        """Advance in the frame that turns; points come back in that of the network."""
        turned = frame.turned
        turned.turn(w, -frame.angle(w[-1]))
        if self._turn_along(w, SEEN):
            self._forget_points()
            self.stepper.forget(self.stepper.autonomous)
        step = self.control.steps[NEXT]  # 0 where the next one is to be found at a corner
        piece, status = self._advance(max(1, min(most, int(LOOK / step))) if step > 0 else most, w)
        turned.turn(w, frame.angle(w[-1]))
        turned.turn(piece.rows, frame.angle(piece.t))
        return piece, status

    def _advance(self, most: int, w: Reals) -> tuple[Piece, int]:
        room = most if self.jumps is None else 2 * most
        times, rows, ends = np.empty(most + 1), np.empty((room + 1, self._size)), np.zeros(most + 1, np.int64)
        times[0], rows[0] = w[-1], w[: self._size]
        self._size_before = float(self.control.disturbance.size[SO_FAR])
        if self.jumps is not None and self._jumps_at is not None:
            self.stepper.take_jumps(self.jumps.compiled(self._jumps_at))
        interpreter = self.stepper.ready(w)
        done, status = self._take(interpreter, times, ends, most, w, rows)
        times, ends = times[: done + 1], ends[: done + 1]
        if status == UNSOLVED:
            self._resolve(rows[ends[done] - 1], w)
            rows[ends[done]] = w[: self._size]
            status = FULL if times[done] < self.control.stops[-1] else DONE
        if status == STALE:
            self.stepper.form_response(w)
            status = FULL
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
        self.frame = self._frame(system, out)

    def counted(self) -> dict[str, Any]:
        """See `Engine`."""
        return {"rejected": int(self.control.counts[REJECTED])} | self.stepper.counted()

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
