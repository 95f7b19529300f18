"""The self-adjusting scheme on a system, ready to run."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psmr.dae.system.system import System
from psmr.errors import PsmrError
from psmr.numerics.refine.activity import Activity, Piece
from psmr.numerics.refine.atoms import atoms_of
from psmr.numerics.refine.frame import frame_of
from psmr.numerics.refine.level import Level, level_for
from psmr.numerics.refine.nest import (
    CARRIED,
    LEVELS,
    RECENT,
    REFINED,
    REFINED_ROWS,
    STEADY,
    TAKEN_BACK,
    WANTED,
    nest_for,
    shape_of,
)
from psmr.numerics.refine.nested import run_nested
from psmr.numerics.refine.split import WORTH
from psmr.numerics.run.counters import Varying
from psmr.numerics.solve.block import Block
from psmr.numerics.solve.records import COUNTS, FACTORISATIONS
from psmr.numerics.solve.status import FULL
from psmr.numerics.step.variable import VariableEngine

Reals = NDArray[np.float64]

# So many steps for all in a row, none of them longer than another by more than the factor, say that something
# may stay fast: what an event excites dies out, the steps grow, and steps of their own for what they are held
# short by gain nothing at equal error (tests/benchmarks/self_adjusting.py). Before that nothing is asked of
# single devices, and the scheme is `VariableStep` at its price.
LOOK, ALIKE = 20, 2.0


class NestedEngine:
    """See `psmr.numerics.schemes.scheme.FlowEngine`.

    Parameters
    ----------
    variable
        The same method with one step for all.
    system, parameters, w
        The DAE, its parameter matrices, and the buffer at the start.
    """

    lands = True

    def __init__(self, variable: VariableEngine, system: System, w: Reals) -> None:
        self.variable, self.system = variable, system
        self.blocks = variable.blocks
        self._done: dict[int, int] = {}
        self._counted = {"refined": 0, "refined_rows": 0, "taken_back": 0}
        self._counts = np.zeros(COUNTS, np.int64)
        self._pieces: list[Piece] = []
        self.levels: list[Level] = []
        self.nest: Any = None
        self.refines = False
        self._look_anew()

    def _make(self, w: Reals) -> None:
        """Cut the system into sets, and make room for blocks of them."""
        whole, inner = self.blocks[0], self.variable.inner
        self.atoms = atoms_of(self.system, whole, w)
        self.frame = frame_of(whole, self.atoms)
        self.levels = []
        shape = shape_of(inner.encoded)
        self.nest = nest_for(self.frame, self.atoms, self.levels, shape, inner.machine.points.shape)

    def _make_levels(self) -> None:
        """Make room for refined blocks, which a run without any need not have."""
        whole, inner, old = self.blocks[0], self.variable.inner, self.nest
        self.levels = [level_for(whole, self.frame) for _ in range(LEVELS - 1)]
        shape = shape_of(inner.encoded)
        self.nest = nest_for(self.frame, self.atoms, self.levels, shape, inner.machine.points.shape)
        self.nest.times[0] = old.times[0]
        for place in (CARRIED, STEADY):
            self.nest.state[place] = old.state[place]

    def begin(self, end: float, w: Reals, stops: Reals) -> int:
        """Start a span at the point in w, with one step for all."""
        self._forget_after(float(w[-1]))
        self.refines = False
        self._look_anew()
        return self.variable.begin(end, w, stops)

    def _forget_after(self, t: float) -> None:
        """Drop what is known of steps that end after t, to which the run has gone back."""
        kept = []
        for intervals, many, names, sets, steps in self._pieces:
            count = int(np.searchsorted(intervals[:, 1], t, side="right"))
            used = int(many[:count].sum())
            kept.append((intervals[:count], many[:count], names, sets[:used], steps[:used]))
        self._pieces = kept

    def flow(self, end: float, w: Reals, times: Reals, rows: Reals) -> tuple[int, int]:
        """Step until t = end or `rows` is full; return (rows filled, status)."""
        filled, status = 0, FULL
        while status == FULL and filled < len(times):
            # Counted across calls: where one ends is the caller's affair, and must not decide on the steps.
            part = slice(filled, min(filled + self._left, len(times)))
            take = self._refined if self.refines else self._together
            done, status = take(end, w, times[part], rows[part])
            filled += done
            self._left -= done
            if self._left == 0:
                self._decide(status, w)
                self._look_anew()
        return filled, status

    def _look_anew(self) -> None:
        """Count the steps to the next decision on whether single devices are asked."""
        self._left, self._shortest, self._longest = LOOK, np.inf, 0.0

    def _decide(self, status: int, w: Reals) -> None:
        """Ask single devices from here on, or no longer, by what the last steps were."""
        if self.refines:
            if self.nest.state[STEADY] == 0:
                self.refines = False
                points = self.variable.inner.machine.points
                points[self._kept, -1] = self.nest.times[0, : len(self._kept)]
        elif status == FULL and self._longest <= ALIKE * self._shortest and self._may_pay(w):
            self._refine(w)

    def _together(self, end: float, w: Reals, times: Reals, rows: Reals) -> tuple[int, int]:
        """Take steps for all, and note how much they change: where hardly, something may stay fast."""
        began = float(w[-1])
        self.variable.control.corners.aside[:] = 0
        filled, status = self.variable.flow(end, w, times, rows)
        starts = np.concatenate([[began], times[: max(0, filled - 1)]])[:filled]
        none = np.zeros(0, np.uint32)
        intervals = np.column_stack([starts, times[:filled]])
        self._pieces.append((intervals, np.zeros(filled, np.int64), (), none, none))
        steps = np.diff(intervals, axis=1)
        self._shortest = min(self._shortest, float(steps.min(initial=np.inf)))
        self._longest = max(self._longest, float(steps.max(initial=0.0)))
        return filled, status

    def _may_pay(self, w: Reals) -> bool:
        """Return whether a split would be worth it if every variable were a device of its own."""
        control, records = self.variable.control, self.blocks[0].records
        size = control.tolerance * np.maximum(1.0, np.abs(w[records.matrix.variables]))
        needs = np.sort((np.abs(records.work.update) / size) ** (1.0 / control.order))[::-1]
        above = np.arange(needs.size)
        return bool((needs * needs.size + needs[0] * above < WORTH * needs[0] * needs.size).any())

    @property
    def _kept(self) -> NDArray[np.int64]:
        """Places of the points that outlive a step, after it."""
        return self.variable.control.outliving[:, 1]

    def _refine(self, w: Reals) -> None:
        """Look at the errors of single devices from here on."""
        self.refines = True
        if self.nest is None:
            self._make(w)
        nest = self.nest
        nest.times[:] = np.nan
        nest.times[0, : len(self._kept)] = self.variable.inner.machine.points[self._kept, -1]
        nest.state[CARRIED] = nest.state[RECENT] = nest.state[STEADY] = 0
        nest.pace[:] = 0.0

    def _refined(self, end: float, w: Reals, times: Reals, rows: Reals) -> tuple[int, int]:
        """Take common steps, and steps of their own for those that need them."""
        variable, nest = self.variable, self.nest
        if nest.state[WANTED] and not self.levels:
            self._make_levels()
            nest = self.nest
        machine = variable.inner.ready()
        nest.blocks[0] = self.blocks[0].address
        began = float(w[-1])
        filled, status = run_nested(machine, variable.control, nest, self.frame, end, w, times, rows)
        filled = int(filled)
        if filled:
            ends = nest.log_end[:filled]
            used = int(ends[-1])
            starts = np.concatenate([[began], times[: filled - 1]])
            many = np.diff(ends, prepend=0)
            self._pieces.append(
                (
                    np.column_stack([starts, times[:filled]]),
                    many,
                    self.atoms.names,
                    nest.log_set[:used].copy(),
                    nest.log_steps[:used].copy(),
                )
            )
        return filled, int(status)

    def forget(self, autonomous: bool) -> None:
        """See `Engine`: what was fast, and the blocks made for it, are found anew."""
        self.variable.forget(autonomous)
        whole = self.blocks[0].records.ramps.places
        if self.levels and len(whole) > len(self.levels[0].records.ramps.places):  # no room for what follows
            self._drop_levels()
        nest = self.nest
        if nest is not None:
            nest.orders[1:] = nest.counts[1:] = 0
            nest.kept[:] = 0
        self.blocks = self.variable.blocks

    def take_out(self, system: System, parameters: Sequence[Reals], w: Reals, out: Collection[str]) -> None:
        """See `Engine`."""
        self.variable.take_out(system, parameters, w, out)
        self._drop_levels()

    def _drop_levels(self) -> None:
        """Let refined blocks be made anew; what they counted stays."""
        self._collect()
        self._counts = sum((level.records.kept.counts for level in self.levels), self._counts)
        self.levels, self.nest, self.refines = [], None, False

    def _collect(self) -> None:
        """Add up what the present levels have counted."""
        nest = self.nest
        if nest is None:
            return
        for level, made in enumerate(self.levels, start=1):
            now = int(made.records.kept.counts[FACTORISATIONS])
            nest.by_order[nest.orders[level]] += now - nest.flushed[level]
            nest.flushed[level] = now
        for order in np.flatnonzero(nest.by_order):
            self._done[int(order)] = self._done.get(int(order), 0) + int(nest.by_order[order])
        nest.by_order[:] = 0
        for name, place in (("refined", REFINED), ("refined_rows", REFINED_ROWS), ("taken_back", TAKEN_BACK)):
            self._counted[name] += int(nest.state[place])
            nest.state[place] = 0

    def counted(self) -> dict[str, int]:
        """See `Engine`."""
        self._collect()
        return {**self.variable.counted(), **self._counted}

    def varying(self) -> Varying:
        """Return the work of the refined blocks."""
        self._collect()
        order = round(self._counted["refined_rows"] / max(1, self._counted["refined"]))
        counts = sum((level.records.kept.counts for level in self.levels), self._counts)
        return Varying("refined", order, counts, self._done)

    def activity(self) -> Activity:
        """Return which devices were refined in which steps."""
        return Activity.of(self._pieces)

    def failed(self) -> tuple[Block, float]:
        """See `FlowEngine`."""
        return self.variable.failed()

    def failure(self, status: int, end: float, w: Reals) -> PsmrError:
        """See `FlowEngine`."""
        return self.variable.failure(status, end, w)
