"""SUNDIALS' IDA on the kernels and the Jacobian of a system, sparse, span by span between the events."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sksundae.ida import IDA

from psmr.errors import SimulationError
from tests.internals import (
    BOUNDED,
    LOWER_SLOT,
    NOTHING,
    UPPER_SLOT,
    VALID,
    Block,
    Change,
    System,
    algebraic_solve,
    column_indices,
    evaluate,
    jacobian,
    lean,
    limits_of,
    make_block,
    matrix_of,
    move_limits,
    newton_state_of,
    project,
    work_of,
)

Reals = NDArray[np.float64]

# In 1/s: what the distance to a limit is multiplied by beside a rate. No solution depends on it, but how
# IDA's Newton comes there: behind the severe fault on WECC 240 it does not with 1, with 100 at 1e-3 alone,
# and with 1e6 it needs 20 and 30 times the residuals at 1e-3 and 1e-4.
PACE = 1e4


@lean
def limited_residual(block, w, rate, out):  # type: ignore[no-untyped-def]
    """Write the residual at w and the rates; see `IdaRun`."""
    newton_state_of(block).scalars[VALID] = 0.0
    evaluate(block, w)
    move_limits(block, w)
    limits, F, states = limits_of(block), matrix_of(block).F, work_of(block).known.size
    for i in range(states):
        out[i] = rate[i] - F[i]
    for i in range(states, out.size):
        out[i] = F[i]
    for b in range(limits.bounded.size):
        i = limits.bounded[b]
        below, above = PACE * (w[i] - limits.lower[i]), PACE * (w[i] - limits.upper[i])
        limits.held[b] = -1 if out[i] > below else 1 if out[i] < above else 0
        out[i] = max(min(out[i], below), above)


@lean
def limited_rows(block, values):  # type: ignore[no-untyped-def]
    """Write the rows of the matrix of states that a limit held in the residual evaluated last."""
    limits, diagonal = limits_of(block), matrix_of(block).diagonal
    first = 0
    for b in range(limits.bounded.size):
        end = limits.ends[b]
        if limits.held[b] != 0:
            for s in range(first, end):
                values[limits.slots[s]] = 0.0
            values[diagonal[limits.bounded[b]]] = PACE
        first = end
    for k in range(limits.moving.shape[0]):
        side = limits.held[limits.moving[k, BOUNDED]]
        slot = limits.moving[k, UPPER_SLOT if side > 0 else LOWER_SLOT]
        if side != 0 and slot < values.size:
            values[slot] = -PACE


class IdaRun:
    """A run of IDA (BDF of variable order and step) with the relative and absolute tolerance of a number.

    A state with limits obeys clip(f - rate, PACE (lower - x), PACE (upper - x)) = 0: it has the rate f, or is
    at a limit beyond which f leads.
    """

    def __init__(self, system: System, changes: tuple[Change, ...], tolerance: float) -> None:
        self.system, self.changes, self.tolerance = system, changes, tolerance
        self.parameters = [matrix.copy() for matrix in system.parameters]
        self.n, self.size = system.n, system.n + system.m
        self.w = system.w0.copy()
        rows = np.arange(self.size)
        self.all = make_block(system, "step", self.parameters, self.w, rows, rows)
        self.network = make_block(system, "event", self.parameters, self.w, rows[self.n :], rows[self.n :])
        self.residuals = 0
        indices = self.all.kernels.indices.astype(np.int64)
        self.state_slots = np.flatnonzero(indices < self.n)
        self.diagonal = np.flatnonzero((indices == column_indices(self.all.kernels)) & (indices < self.n))

    def run(self, t_end: float, times: Reals) -> Reals:
        """Return (K, n + m) values at (K,) times in s, all of them behind the last change."""
        found = [np.empty((0, self.size))]
        instants = sorted({change.t for change in self.changes})
        t = float(self.w[-1])
        for begin, end in zip([t, *instants], [*instants, t_end], strict=True):
            for change in self.changes:
                if change.t == begin:
                    self._apply(change)
            self._load()
            algebraic_solve(self.network, self.w, "IDA")
            inside = times[(times > begin) & (times < end)]
            found.append(self._span(begin, end, inside))
        return np.concatenate(found)

    def _apply(self, change: Change) -> None:
        assert not change.out
        assert not change.rates
        for device, parameter, value in change.parameters:
            group, row, column = self.system.parameter_place(device, parameter)
            self.parameters[group][row, column] = value
        for name, value in change.inputs:
            self.w[self.system.index(name)] = value

    def _load(self) -> None:
        lower, upper = self.system.constant_limits(self.parameters)
        for block in (self.all, self.network):
            block.load(self.parameters, lower, upper, NOTHING, self.w)

    def _span(self, begin: float, end: float, inside: Reals) -> Reals:
        n, w, block = self.n, self.w, self.all
        kernels, matrix, address = block.kernels, block.records.matrix, block.address
        scratch = np.empty(self.size)

        def residual(t: float, y: Reals, rate: Reals, out: Reals) -> None:
            w[: self.size], w[-1] = y, t
            limited_residual(address, w, rate, out)

        def jacobian_of(t: float, y: Reals, rate: Reals, out: Reals, factor: float, into: Reals) -> None:
            residual(t, y, rate, scratch)
            jacobian(matrix.table, matrix.constant, w, matrix.J)
            into[:] = matrix.J[: kernels.nnz]
            into[self.state_slots] *= -1.0
            into[self.diagonal] += factor
            limited_rows(address, into)

        pattern = _pattern(block)
        solver = IDA(
            residual,
            jacfn=jacobian_of,
            algebraic_idx=np.arange(n, self.size),
            sparsity=pattern,
            linsolver="sparse",
            rtol=self.tolerance,
            atol=self.tolerance,
            max_num_steps=200_000,
            calc_initcond=None,
        )
        block.records.newton.scalars[VALID] = 0.0
        w[-1] = begin
        start, rates = w[: self.size].copy(), np.zeros(self.size)
        project(address, w, rates)
        solution: Any = solver.solve(np.concatenate([[begin], inside, [end]]), start, rates)
        if not solution.success:
            raise SimulationError(f"IDA: {solution.message}")
        self.residuals += int(solution.nfev)
        w[: self.size], w[-1] = solution.y[-1], end
        # With no instant asked for, every step is returned.
        return np.asarray(solution.y[1:-1]) if inside.size else np.empty((0, self.size))


def _pattern(block: Block) -> Any:
    from scipy import sparse

    k = block.kernels
    ones = np.ones(len(k.indices))
    return sparse.csc_matrix((ones, k.indices.astype(np.int32), k.indptr.astype(np.int32)))
