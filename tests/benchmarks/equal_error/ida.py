"""SUNDIALS' IDA on the kernels and the Jacobian of a system, sparse, span by span between the events."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sksundae.ida import IDA

from psmr.dae.compile.kernels import jacobian
from psmr.dae.system.system import System
from psmr.errors import SimulationError
from psmr.numerics.run.trajectory import Change
from psmr.numerics.solve.algebraic_solve import algebraic_solve
from psmr.numerics.solve.block import Block, column_indices, make_block
from psmr.numerics.solve.explicit import project
from psmr.numerics.solve.ramps import NOTHING
from psmr.numerics.solve.records import VALID

Reals = NDArray[np.float64]


class IdaRun:
    """A run of IDA (BDF of variable order and step) with the relative and absolute tolerance of a number.

    Limits are those of f alone: a state that is at one and would pass it has the rate zero.
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
        kernels, matrix, held = block.kernels, block.records.matrix, np.zeros(self.n)
        address, memory = block.address, block.records.kept.memory

        def residual(t: float, y: Reals, rate: Reals, out: Reals) -> None:
            w[: self.size], w[-1], memory[VALID] = y, t, 0.0
            project(address, w, held)
            out[:n] = rate[:n] - held
            out[n:] = matrix.F[n : self.size]

        def jacobian_of(t: float, y: Reals, rate: Reals, out: Reals, factor: float, into: Reals) -> None:
            w[: self.size], w[-1] = y, t
            jacobian(matrix.table, matrix.constant, w, matrix.J)
            into[:] = matrix.J[: kernels.nnz]
            into[self.state_slots] *= -1.0
            into[self.diagonal] += factor

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
        memory[VALID] = 0.0
        w[-1] = begin
        project(address, w, held)
        start, rates = w[: self.size].copy(), np.concatenate([held, np.zeros(self.size - n)])
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
