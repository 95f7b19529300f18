"""What stands between two changes of a run, for a solver that is not psmr's."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tests.internals import NOTHING, VALID, Change, System, algebraic_solve, make_block, put_onto_limits

# Rounds in which algebraic variables and states on limits that moved are made consistent.
ROUNDS, SAME = 10, 1e-12


class Spans:
    """A system with its blocks, and values that a solver moves from one change to the next.

    `all`, `network`: Blocks of all variables and of the algebraic ones.
    `w`: Buffer of variables, held inputs and time.
    `size`: Number of variables.
    """

    def __init__(self, system: System, changes: tuple[Change, ...]) -> None:
        self.system, self.changes = system, changes
        self.parameters = [matrix.copy() for matrix in system.parameters]
        self.size = system.n + system.m
        self.w = system.w0.copy()
        rows = np.arange(self.size)
        self.all = make_block(system, "step", self.parameters, self.w, rows, rows)
        algebraic = rows[system.n :]
        self.network = make_block(system, "event", self.parameters, self.w, algebraic, algebraic)

    def ends(self, t_end: float) -> Iterator[tuple[float, float]]:
        """Yield begin and end of each span in s."""
        instants = sorted({change.t for change in self.changes})
        yield from zip([float(self.w[-1]), *instants], [*instants, t_end], strict=True)

    def start(self, begin: float) -> None:
        """Take the changes at a time, and make algebraic variables and limited states consistent."""
        for change in self.changes:
            if change.t == begin:
                self._take(change)
        lower, upper = self.system.constant_limits(self.parameters)
        for block in (self.all, self.network):
            block.load(self.parameters, lower, upper, NOTHING, self.w)
        self.w[-1] = begin
        for _ in range(ROUNDS):
            algebraic_solve(self.network, self.w, "IDA")
            before = self.w.copy()
            put_onto_limits(self.all.address, self.w)
            if np.abs(self.w - before).max() < SAME:
                break
        self.all.records.newton.scalars[VALID] = 0.0

    def _take(self, change: Change) -> None:
        assert not change.out
        assert not change.rates
        for device, parameter, value in change.parameters:
            group, row, column = self.system.parameter_place(device, parameter)
            self.parameters[group][row, column] = value
        for name, value in change.inputs:
            self.w[self.system.index(name)] = value
