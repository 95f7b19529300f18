"""The self-adjusting scheme on a system, ready to run."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psmr.dae.system.system import System
from psmr.errors import PsmrError
from psmr.numerics.refine.activity import Activity, OwnEnds, Piece, unrefined
from psmr.numerics.refine.atoms import Atoms, atoms_of
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
from psmr.numerics.refine.watch import (
    DUE,
    LEFT,
    LENGTHS,
    LOOK,
    PATIENCE,
    SETS,
    WATCHED,
    look_anew,
    run_watched,
    watch_for,
    with_sets,
)
from psmr.numerics.run.counters import Varying
from psmr.numerics.solve.block import Block
from psmr.numerics.solve.records import COUNTS, FACTORISATIONS
from psmr.numerics.solve.status import FULL
from psmr.numerics.step.variable import VariableEngine

Reals = NDArray[np.float64]

# Steps within common steps whose ends a run keeps: nine bytes each.
MOST_KEPT = 1 << 20


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
        self.atoms: Atoms | None = None
        self.watch = watch_for()
        self.levels: list[Level] = []
        self.nest: Any = None
        self.refines = False

    def _make_levels(self) -> None:
        """Make room for refined blocks, which a run without any need not have."""
        assert self.atoms is not None
        whole, inner, old = self.blocks[0], self.variable.inner, self.nest
        self.levels = [level_for(whole, self.frame) for _ in range(LEVELS - 1)]
        shape = shape_of(inner.encoded)
        self.nest = nest_for(self.frame, self.atoms, self.levels, shape, inner.machine.points.shape)
        self.nest.times[0] = old.times[0]
        for place in (CARRIED, STEADY):
            self.nest.state[place] = old.state[place]

    def begin(self, end: float, w: Reals, stops: Reals) -> int:
        """Start a span at the point in w, with one step for all."""
        began = float(w[-1])
        while self._pieces and self._pieces[-1].ends[-1] > began:  # the run has gone back
            left = self._pieces.pop().until(began)
            if left.ends.size:
                self._pieces.append(left)
        self._stop_refining()
        return self.variable.begin(end, w, stops)

    def flow(self, end: float, w: Reals, times: Reals, rows: Reals) -> tuple[int, int]:
        """Step until t = end or `rows` is full; return (rows filled, status)."""
        filled, status = 0, FULL
        while status == FULL and filled < len(times):
            take = self._refined if self.refines else self._together
            done, status = take(end, w, times[filled:], rows[filled:])
            filled += done
        return filled, status

    def _together(self, end: float, w: Reals, times: Reals, rows: Reals) -> tuple[int, int]:
        """Take steps for all until there is something to decide."""
        began, machine = float(w[-1]), self.variable.inner.ready()
        filled, status = run_watched(machine, self.variable.control, self.watch, end, w, times, rows)
        filled = int(filled)
        if filled:
            self._pieces.append(unrefined(began, times[:filled].copy()))
        if self.watch.state[DUE]:
            if self.watch.state[WATCHED] == LENGTHS:
                self._look_at_sets(w)
            else:
                self._refine()
        return filled, int(status)

    def _look_at_sets(self, w: Reals) -> None:
        """Ask from here on of which sets the errors are; the next time the loop does so by itself."""
        self.atoms = atoms_of(self.system, self.blocks[0], w)
        self.watch = with_sets(self.watch, self.atoms)
        look_anew(self.watch, SETS)

    @property
    def _kept(self) -> NDArray[np.int64]:
        """Places of the points that outlive a step, after it."""
        return self.variable.control.outliving[:, 1]

    def _refine(self) -> None:
        """Let sets have steps of their own from here on."""
        assert self.atoms is not None
        whole, inner = self.blocks[0], self.variable.inner
        if self.nest is None:
            self.frame = frame_of(whole, self.atoms)
            shape = shape_of(inner.encoded)
            self.nest = nest_for(self.frame, self.atoms, [], shape, inner.machine.points.shape)
        nest = self.nest
        nest.times[:] = np.nan
        nest.times[0, : len(self._kept)] = inner.machine.points[self._kept, -1]
        nest.state[CARRIED] = nest.state[RECENT] = 0
        nest.state[STEADY], self.watch.state[DUE] = PATIENCE - 1, 0
        nest.pace[:] = 0.0
        self.refines = True

    def _stop_refining(self) -> None:
        """Take one step for all, and watch how long the steps are."""
        if self.refines:
            self.variable.control.corners.aside[:] = 0
        self.refines = False
        look_anew(self.watch, LENGTHS)

    def _refined(self, end: float, w: Reals, times: Reals, rows: Reals) -> tuple[int, int]:
        """Take common steps to the next decision, and steps of their own for those that need them."""
        variable, left = self.variable, self.watch.state[LEFT]
        if self.nest.state[WANTED] and not self.levels:
            self._make_levels()
        nest = self.nest
        machine = variable.inner.ready()
        nest.blocks[0] = self.blocks[0].address
        began = float(w[-1])
        filled, status = run_nested(
            machine, variable.control, nest, self.frame, end, w, times[:left], rows[:left]
        )
        filled = int(filled)
        if filled:
            assert self.atoms is not None
            ends = nest.log_end[:filled]
            used, many = int(ends[-1]), np.diff(ends, prepend=0)
            sets, steps = nest.log_set[:used].copy(), nest.log_steps[:used].copy()
            own = self._own(nest.own_end[:filled])
            self._pieces.append(Piece(began, times[:filled].copy(), many, self.atoms.names, sets, steps, own))
        self.watch.state[LEFT] -= filled
        if self.watch.state[LEFT] == 0:
            self.watch.state[LEFT] = LOOK
            if nest.state[STEADY] == 0:
                points = variable.inner.machine.points
                points[self._kept, -1] = nest.times[0, : len(self._kept)]
                self._stop_refining()
        return filled, int(status)

    def _own(self, ends: NDArray[np.int64]) -> OwnEnds:
        """Return where the steps within common steps ended, while there is room."""
        used = int(ends[-1])
        if sum(piece.own.times.size for piece in self._pieces) + used > MOST_KEPT:
            return OwnEnds.none(ends.size)
        nest = self.nest
        return OwnEnds(np.diff(ends, prepend=0), nest.own_level[:used].copy(), nest.own_time[:used].copy())

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
        self.levels, self.nest, self.atoms, self.watch = [], None, None, watch_for()
        self._stop_refining()

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
