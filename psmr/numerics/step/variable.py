"""Steps of one program that follow the error: the compiled loop and its engine."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from psmr.dae.compile.cache import lean
from psmr.dae.compile.notice import announced
from psmr.dae.system.system import System
from psmr.errors import PsmrError, SimulationError
from psmr.numerics.solve.block import Block
from psmr.numerics.solve.lu import solve
from psmr.numerics.solve.records import WORST_AT as LARGEST_AT
from psmr.numerics.solve.records import kept_of, limits_of, lu_of, matrix_of, work_of
from psmr.numerics.solve.status import DONE, FULL, NO_ROOM, SPENT, VANISHED
from psmr.numerics.step.encoded import AT_START
from psmr.numerics.step.engine import Choices, ProgramEngine
from psmr.numerics.step.machine import VALID_OF, copy, run_program
from psmr.numerics.step.program import Program

Reals = NDArray[np.float64]

# Step control (Gustafsson 1991, for an estimate of third order): exponents of the error of this step and of
# the last one, the part of the step that would just do, and the largest changes at a time.
PROPORTIONAL, INTEGRAL, SAFETY, LEAST_CHANGE, MOST_CHANGE = 0.7 / 3.0, 0.4 / 3.0, 0.9, 0.2, 5.0

# A step is kept, and with it the Newton matrix, where the controller would lengthen it by less than this.
KEEP = 1.2

# Where a step has no solution there is no estimate to go by.
RETREAT = 0.25

# The first step of a span moves no variable by more than this, relative to max(1, |value|).
FIRST_MOVE = 1e-3

# It is also no longer than this part of the span: what begins after a rest must be met by some step.
FIRST_PART = 0.01

# Newton is a hundred times as accurate as the steps, and no less accurate than this.
SHARE, LEAST_ACCURATE = 1e-2, 1e-6

# Places in `Control.steps` and `Control.counts`.
NEXT, PREVIOUS, TRIED = range(3)
ACCEPTED, REJECTED = range(2)


class Control(NamedTuple):
    """What the controller is told, and what it remembers.

    Attributes
    ----------
    difference
        Weights of the rates in the estimate.
    tolerance, longest, most
        Of `psmr.VariableStep`.
    steps
        Next step in s, last error in units of the tolerance, step tried last; see the names above.
    counts
        Accepted and rejected steps.
    """

    difference: np.ndarray
    tolerance: float
    longest: float
    most: int
    steps: np.ndarray
    counts: np.ndarray


@lean
def _error(machine, control, h, w):  # type: ignore[no-untyped-def]
    """Return the largest estimated error of the step in w, in units of the tolerance."""
    block = machine.blocks[0]
    work, variables, kept = work_of(block), matrix_of(block).variables, kept_of(block)
    defect, n = work.defect, work.known.size
    for i in range(defect.size):
        defect[i] = 0.0
    for j in range(control.difference.size):
        weight = h * control.difference[j]
        for i in range(n):
            defect[i] += weight * machine.rates[j, variables[i]]
    limits = limits_of(block)
    for b in range(limits.bounded.size):
        if limits.held[b] != 0:  # the state is its limit, whatever its rates were
            defect[limits.bounded[b]] = 0.0
    solve(lu_of(block), defect, work.update)
    largest = 0.0
    for i in range(defect.size):
        size = abs(work.update[i]) / (control.tolerance * max(1.0, abs(w[variables[i]])))
        if not size <= largest:  # true for NaN too
            largest = size
            kept.counts[LARGEST_AT] = i
    return largest


@announced("the variable-step integrator", 3)
@lean
def run_variable(machine, control, end, w, times, rows):  # type: ignore[no-untyped-def]
    """Step until t = end or the rows are full; return (rows filled, status)."""
    points, steps, counts = machine.points, control.steps, control.counts
    filled, refused = 0, False
    while w[w.size - 1] < end:
        if filled == times.size:
            return filled, FULL
        if counts[ACCEPTED] + counts[REJECTED] >= control.most:
            return filled, SPENT
        t = w[w.size - 1]
        h = min(steps[NEXT], control.longest)
        last = t + h * (1.0 + 1e-9) >= end
        if last:
            h = end - t
        elif t + 2.0 * h > end:  # two equal steps in place of a long one and a rest
            h = 0.5 * (end - t)
        steps[TRIED] = h
        if not t + h > t:
            return filled, VANISHED
        copy(w, points[AT_START])
        status = run_program(machine, machine.code, machine.numbers, h, w)
        error = _error(machine, control, h, w) if status == DONE else np.inf
        if error <= 1.0:
            if last:
                w[w.size - 1] = end
            times[filled] = w[w.size - 1]
            copy(w, rows[filled])
            filled += 1
            counts[ACCEPTED] += 1
            error = max(error, 1e-4)
            change = SAFETY * error**-PROPORTIONAL * steps[PREVIOUS] ** INTEGRAL
            change = min(MOST_CHANGE, max(LEAST_CHANGE, change))
            if refused:
                change = min(1.0, change)
            if change < 1.0 or change > KEEP:
                steps[NEXT] = h * change
            elif not last:
                steps[NEXT] = h
            steps[PREVIOUS], refused = error, False
            continue
        copy(points[AT_START], w)
        machine.state[VALID_OF] = -1
        if status == NO_ROOM:
            return filled, status
        counts[REJECTED] += 1
        refused = True
        if status == DONE:
            steps[NEXT] = h * max(LEAST_CHANGE, min(SAFETY, SAFETY * error ** (-1.0 / 3.0)))
        else:
            steps[NEXT] = RETREAT * h
            if not t + 1e-3 * steps[NEXT] > t:
                return filled, status
    return filled, DONE


class VariableEngine:
    """See `psmr.numerics.schemes.scheme.FlowEngine`."""

    def __init__(
        self,
        system: System,
        program: Program,
        difference: Sequence[float],
        tolerance: float,
        longest: float | None,
        most: int,
        parameters: Sequence[Reals],
        w: Reals,
    ) -> None:
        accurate = min(SHARE * tolerance, LEAST_ACCURATE)
        choices = Choices("very dishonest", accurate)
        self.inner = ProgramEngine(
            system, lambda h, before: program, 1.0, choices, None, parameters, w, False
        )
        self.blocks, self.n = self.inner.blocks, system.n
        self.control = Control(
            difference=np.array(difference),
            tolerance=float(tolerance),
            longest=np.inf if longest is None else float(longest),
            most=int(most),
            steps=np.array([0.0, 1.0, 0.0]),
            counts=np.zeros(2, np.int64),
        )

    def begin(self, end: float, w: Reals) -> int:
        """Start a span at the point in w: the first step follows from the rates there."""
        block = self.blocks[0]
        block.evaluate(w)
        rates = block.records.matrix.F[: self.n]
        pace = float(np.max(np.abs(rates) / np.maximum(1.0, np.abs(w[: self.n])), initial=0.0))
        ahead = FIRST_PART * (end - float(w[-1]))
        self.control.steps[:] = min(ahead, FIRST_MOVE / pace if pace > 0.0 else ahead), 1.0, 0.0
        return DONE

    def flow(self, end: float, w: Reals, times: Reals, rows: Reals) -> tuple[int, int]:
        """Step until t = end or `rows` is full; return (rows filled, status)."""
        machine = self.inner.ready()
        filled, status = run_variable(machine, self.control, end, w, times, rows)
        return int(filled), int(status)

    def forget(self, autonomous: bool) -> None:
        """See `Engine`."""
        self.inner.forget(autonomous)

    def take_out(self, system: System, parameters: Sequence[Reals], w: Reals, out: Collection[str]) -> None:
        """See `Engine`."""
        self.inner.take_out(system, parameters, w, out)

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
        name = block.columns[int(block.records.kept.counts[LARGEST_AT])]
        where = f"t = {w[-1]:.9g} s of {end:g} s after {accepted} steps ({rejected} rejected)"
        if status == SPENT:
            return SimulationError(
                f"{where}: the run does not end within most_steps = {self.control.most}; the error of {name} "
                f"keeps the step at {h:.3g} s: raise most_steps or loosen the tolerance"
            )
        return SimulationError(
            f"{where}: the step that the tolerance asks for has become rounding ({h:.3g} s), for {name}: its "
            "equation or its limit jumps there, or the tolerance is too small"
        )
