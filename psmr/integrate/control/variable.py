"""Steps of one program that follow the error: the compiled loop and its engine."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from psmr.base.errors import PsmrError, SimulationError
from psmr.dae.compile.decorators import lean
from psmr.dae.compile.notice import announced
from psmr.dae.compile.reference import by_reference
from psmr.dae.compile.switch_tables import switch_tables
from psmr.dae.system.system import System
from psmr.integrate.constants import TUNED
from psmr.integrate.control.bounds import first_limit
from psmr.integrate.control.controller import (
    NONE_BEFORE,
    after_accepted,
    after_rejected,
    kept,
    remembered,
    within,
)
from psmr.integrate.control.corners import Corners, accepted, corners_for, first_switch, look_anew
from psmr.integrate.control.disturbance import (
    SO_FAR,
    Disturbance,
    begin_disturbance,
    disturbance_of,
    follow_disturbance,
    size_with,
)
from psmr.integrate.control.estimate import filtered_estimate, largest_error
from psmr.integrate.control.solvable import effort_for, longest_solved, nothing_unsolved, unsolved
from psmr.integrate.solve.block import Block
from psmr.integrate.solve.impasse import JUMP, impasse
from psmr.integrate.solve.records import WORST_AT as LARGEST_AT
from psmr.integrate.solve.records import follow_until
from psmr.integrate.solve.solver import ALL
from psmr.integrate.solve.status import DONE, FULL, NO_ROOM, SPENT, VANISHED, Status
from psmr.integrate.solve.vector_kernels import copy
from psmr.integrate.step.engine import Choices, ProgramEngine
from psmr.integrate.step.loop import run_program
from psmr.integrate.step.machine import EFFORT, SHARPER, VALID_OF
from psmr.integrate.step.program import Program
from psmr.integrate.step.program_table import AT_START, OPERATION, SAVE, TARGET
from psmr.integrate.tableaux.implicit_pairs import ImplicitPair

Reals = NDArray[np.float64]


# Places in `Control.steps` and `Control.counts`.
NEXT, PREVIOUS, TRIED = range(3)
ACCEPTED, REJECTED = range(2)


class Control(NamedTuple):
    """The loop's inputs for the control of the error, and its memory.

    Attributes
    ----------
    difference
        Weights of the rates in the estimate.
    order
        Power of the step with which the estimate falls.
    tolerance
        Largest estimated error of a step in a disturbance of size 1.
    disturbance
        The one that is followed.
    longest, most
        Of `psmr.VariableStep`.
    steps
        Next step in s, last error in units of the tolerance, step tried last; see the names above.
    solvable
        See `psmr.integrate.control.solvable`.
    counts
        Accepted and rejected steps.
    outliving
        Places of points of a step and of the same after it; see `psmr.integrate.step.program_table`.
    raw
        (n,) room for rates without limits.
    corners
        Those of the equations.
    halts
        (K, 2) how many instructions of the program come before a look for corners, and at which point of the
        step; see `halts_of`.
    stops, passed
        Times in s at which a step ends, ascending, and how many of them are behind.
    """

    difference: np.ndarray
    order: float
    tolerance: float
    disturbance: Disturbance
    longest: float
    most: int
    steps: np.ndarray
    solvable: np.ndarray
    counts: np.ndarray
    outliving: np.ndarray
    raw: np.ndarray
    corners: Corners
    halts: np.ndarray
    stops: np.ndarray
    passed: np.ndarray


@lean
def next_stop(machine, control, t, end):  # type: ignore[no-untyped-def]
    """Return the first time in s after t at which a step ends: a stop, or the end of the span.

    What follows a course follows the lines that hold before it.
    """
    stops, passed = control.stops, control.passed
    while passed[0] < stops.size and stops[passed[0]] <= t:
        passed[0] += 1
    stop = stops[passed[0]] if passed[0] < stops.size else end
    follow_until(machine.blocks[0], stop)
    return stop


@lean
def error_of(machine, difference, tolerance, h, w):  # type: ignore[no-untyped-def]
    """Return the estimated error of the step of h in s that ends in w, in units of the tolerance."""
    block = machine.blocks[0]
    filtered_estimate(block, machine.rates, difference, h, w)
    return largest_error(block, w, tolerance)


@lean
def first_corner(machine, control, corners, point, h, w):  # type: ignore[no-untyped-def]
    """Return at which part of the step it should end for a limit or a corner before a point of it, or 1.

    The point is in w, and was solved last.
    """
    reach = corners.parts[point]
    tolerance = control.tolerance * control.disturbance.size[SO_FAR]
    part = first_limit(machine, control, corners, point, tolerance, reach * h, w)
    part = reach * part if part < 1.0 - TUNED.negligible else 1.0
    return min(part, first_switch(machine, corners, point, tolerance, h, w))


@lean
def _attempt(machine, control, corners, looks, h, w):  # type: ignore[no-untyped-def]
    """Try a step of h in s from the point in w; return (status, at which part of it it should end).

    Where it `looks` for corners, it is broken off behind the first stage that shows one that ends it: the
    stages behind it would be solved in vain.
    """
    code, halts, at = machine.code, control.halts, 0
    look_anew(corners)
    for k in range(halts.shape[0]):
        status = run_program(machine, code[at : halts[k, 0]], machine.numbers, h, w)
        if status != DONE:
            return status, 1.0
        at = halts[k, 0]
        if looks:
            part = first_corner(machine, control, corners, halts[k, 1], h, w)
            if part < 1.0:
                return DONE, part
    return DONE, 1.0


@lean
def take_step(machine, control, corners, end, w):  # type: ignore[no-untyped-def]
    """Try steps from the point in w until one is accepted, no further than t = end; return a status."""
    points, steps, counts, order = machine.points, control.steps, control.counts, control.order
    disturbance = control.disturbance
    refused, located, before = False, 0, 0.0
    while True:
        if counts[ACCEPTED] + counts[REJECTED] >= control.most:
            return SPENT
        t = w[w.size - 1]
        stop = next_stop(machine, control, t, end)
        h, last = within(t, min(steps[NEXT], control.longest), stop)
        steps[TRIED] = h
        if not t + h > t:
            return VANISHED
        copy(w, points[AT_START])
        machine.state[EFFORT] = effort_for(control.solvable)
        machine.measured[SHARPER] = disturbance.size[SO_FAR]
        status, part = _attempt(machine, control, corners, located < TUNED.most_setbacks, h, w)
        machine.state[EFFORT] = ALL
        if part < 1.0 and t + part * h > t:  # taken again, to the corner
            copy(points[AT_START], w)
            machine.state[VALID_OF] = -1
            before, located = max(h, before), located + 1
            steps[NEXT] = part * h
            continue
        error, size = np.inf, 1.0
        if status == DONE:
            size = size_with(disturbance, w)
            error = error_of(machine, control.difference, control.tolerance * size, h, w)
        if error <= 1.0:
            if last:
                w[w.size - 1] = stop
            accepted(corners, located > 0)
            follow_disturbance(disturbance, size, h, w)
            counts[ACCEPTED] += 1
            wanted = after_accepted(order, h, error, steps[PREVIOUS], refused)
            longest = longest_solved(control.solvable)
            if located > 0:  # behind a limit: the step that was broken off there, or what the error asks for
                steps[NEXT] = before if error < 1.0 else wanted
            else:
                steps[NEXT] = min(kept(wanted, h, last, steps[NEXT]), longest)
            steps[PREVIOUS] = remembered(error, steps[PREVIOUS])
            for k in range(control.outliving.shape[0]):
                copy(points[control.outliving[k, 0]], points[control.outliving[k, 1]])
            return DONE
        copy(points[AT_START], w)
        machine.state[VALID_OF] = -1
        if status == NO_ROOM:
            return status
        counts[REJECTED] += 1
        refused = True
        steps[NEXT] = after_rejected(order, h, error)
        if status != DONE:
            unsolved(control.solvable, h)
        if status != DONE and not t + 1e-3 * steps[NEXT] > t:
            return status


@announced("the variable-step integrator", 3)
@lean
def run_variable(machine, control, end, w, times, rows):  # type: ignore[no-untyped-def]
    """Step until t = end or the rows are full; return (rows filled, status)."""
    machine, control = by_reference(machine), by_reference(control)
    corners, filled = by_reference(control.corners), 0
    while w[w.size - 1] < end:
        if filled == times.size:
            return filled, FULL
        status = take_step(machine, control, corners, end, w)
        if status != DONE:
            return filled, status
        times[filled] = w[w.size - 1]
        copy(w, rows[filled])
        filled += 1
    return filled, DONE


def halts_of(code: NDArray[np.int64], corners: Corners) -> NDArray[np.int64]:
    """Return `Control.halts`: behind each stage that is later in time than all before it, and the end.

    The first of them is the one near the middle. A stage behind the end would not save enough.
    """
    saved = {int(row[TARGET]): at + 1 for at, row in enumerate(code) if row[OPERATION] == SAVE}
    solved = sorted(
        (saved[place], point) for point, place in enumerate(corners.stages) if 0 < point < corners.end
    )
    halts, furthest = [], 0
    for at, point in solved:
        if point > furthest:
            halts.append((at, point))
            furthest = point
    return np.array([*halts, (len(code), corners.end)], np.int64)


class VariableEngine:
    """See `psmr.integrate.schemes.scheme.FlowEngine`."""

    lands = True

    def __init__(
        self,
        system: System,
        program: Program,
        pair: ImplicitPair,
        tolerance: float,
        longest: float | None,
        most: int,
        parameters: Sequence[Reals],
        w: Reals,
    ) -> None:
        accurate = min(TUNED.newton_share * tolerance, TUNED.least_accurate)
        choices = Choices("very dishonest", accurate, TUNED.drifts_from)
        self.inner = ProgramEngine(
            system, lambda h, before: program, 1.0, choices, None, parameters, w, False
        )
        self.blocks, self.n, self.pair = self.inner.blocks, system.n, pair
        self._last = w.copy(), np.zeros(0), np.zeros((0, system.n + system.m))
        corners = self._corners(system, w)
        self.control = Control(
            difference=np.array(pair.difference),
            order=float(pair.order),
            tolerance=float(tolerance),
            disturbance=disturbance_of(system, w, TUNED.least_tolerance / tolerance),
            longest=np.inf if longest is None else float(longest),
            most=int(most),
            steps=np.zeros(3),
            solvable=nothing_unsolved(),
            counts=np.zeros(2, np.int64),
            outliving=self.inner.outliving,
            raw=np.zeros(system.n),
            corners=corners,
            halts=halts_of(self.inner.encoded.code, corners),
            stops=np.zeros(0),
            passed=np.zeros(1, np.int64),
        )

    def _corners(self, system: System, w: Reals) -> Corners:
        """Return what is needed to see the corners of the equations of the devices in service."""
        kernels = self.blocks[0].kernels
        self._tables = switch_tables(kernels, system.groups, w.size)
        return corners_for(self._tables, self.pair.tableau, self.inner.encoded.places, w.size, kernels.rows)

    def begin(self, end: float, w: Reals, stops: Reals) -> int:
        """Start a span at the point in w: the first step follows from the rates there."""
        self.control = self.control._replace(stops=np.ascontiguousarray(stops), passed=np.zeros(1, np.int64))
        for _, place in self.control.outliving:
            self.inner.machine.points[place, -1] = np.nan
        self.control.corners.follows[:] = 0
        begin_disturbance(self.control.disturbance, self._before(float(w[-1])), w)
        block = self.blocks[0]
        block.evaluate(w)
        rates = block.records.matrix.F[: self.n]
        pace = float(np.max(np.abs(rates) / np.maximum(1.0, np.abs(w[: self.n])), initial=0.0))
        ahead = end - float(w[-1])
        if not self.inner.autonomous or pace * ahead > TUNED.negligible * self.control.tolerance:
            ahead *= TUNED.first_part
        size = max(float(self.control.disturbance.size[SO_FAR]), min(1.0, TUNED.memory * pace))
        move = TUNED.first_move * size * self.control.tolerance ** (1.0 / self.control.order)
        first = min(ahead, move / pace) if pace > 0.0 else ahead
        self.control.steps[:] = first, NONE_BEFORE, 0.0
        self.control.solvable[:] = nothing_unsolved()
        return DONE

    def flow(self, end: float, w: Reals, times: Reals, rows: Reals) -> tuple[int, int]:
        """Step until t = end or `rows` is full; return (rows filled, status)."""
        machine, begin = self.inner.ready(), w.copy()
        filled, status = run_variable(machine, self.control, end, w, times, rows)
        self._last = begin, times[:filled], rows[:filled]
        return int(filled), int(status)

    def _before(self, t: float) -> Reals:
        """Return the (n + m,) values of the last accepted point up to t in s, ahead of what changed there."""
        begin, times, rows = self._last
        behind = int(np.searchsorted(times, t, side="right"))
        return rows[behind - 1] if behind else begin[: self.control.disturbance.reference.size]

    def forget(self, autonomous: bool) -> None:
        """See `Engine`."""
        self.inner.forget(autonomous)

    def take_out(self, system: System, parameters: Sequence[Reals], w: Reals, out: Collection[str]) -> None:
        """See `Engine`."""
        self.inner.take_out(system, parameters, w, out)
        self.control = self.control._replace(corners=self._corners(system, w))

    def counted(self) -> dict[str, int]:
        """See `Engine`."""
        return {"rejected": int(self.control.counts[REJECTED])}

    def failed(self) -> tuple[Block, float]:
        """Return the block in which the last step failed, and that step."""
        return self.inner.failed()[0], float(self.control.steps[TRIED])

    def failure(self, status: int, end: float, w: Reals) -> PsmrError:
        """Return the error for a run whose steps are spent or have become rounding."""
        block, h = self.failed()
        accepted, rejected = (int(count) for count in self.control.counts)
        name = block.columns[int(block.records.newton.counts[LARGEST_AT])]
        where = f"t = {w[-1]:.9g} s of {end:g} s after {accepted} steps ({rejected} rejected)"
        sentence = Status(status).sentence
        if status == SPENT:
            return SimulationError(
                f"{where}: {sentence} It has most_steps = {self.control.most}; the error of {name} keeps "
                f"the step at {h:.3g} s. Remedy: raise most_steps or loosen the tolerance"
            )
        found = impasse(block, w)
        why = found or f"The error of {name} asks for it: the tolerance is too small."
        remedy = "look at that equation, its limits, and what it reads"
        if not found or JUMP in found:
            remedy = "a larger tolerance, or an equation without a jump"
        return SimulationError(f"{where}, with a step of {h:.3g} s: {sentence} {why} Remedy: {remedy}")
