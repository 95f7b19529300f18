"""SUNDIALS' IDA on the kernels and the Jacobian of a system, sparse, span by span between the events."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sksundae.ida import IDA

from psmr.errors import SimulationError
from tests.internals import Block, Change, System, project
from tests.peers.limited import limited_matrix, limited_residual
from tests.peers.spans import Spans

Reals = NDArray[np.float64]

# In 1/s. The factor of the matrix would be better (`tests.peers.limited`), but a residual is evaluated before
# a new matrix is, and only who solves with it himself can make up for that. With 1 in its place IDA does not
# come through the severe fault on WECC 240.
PACE = 1e4


class IdaRun:
    """A run of IDA (BDF of variable order and step) with the relative and absolute tolerance of a number.

    It is called through scikit-sundae, with callbacks in Python. Limits stand in its residual; see
    `tests.peers.limited`.
    """

    def __init__(self, system: System, changes: tuple[Change, ...], tolerance: float) -> None:
        self.tolerance, self.n = tolerance, system.n
        self.spans = Spans(system, changes)
        self.residuals = 0

    def run(self, t_end: float, times: Reals) -> Reals:
        """Return (K, n + m) values at (K,) times in s, all of them behind the last change."""
        found = [np.empty((0, self.spans.size))]
        for begin, end in self.spans.ends(t_end):
            self.spans.start(begin)
            inside = times[(times > begin) & (times < end)]
            found.append(self._march(begin, end, inside))
        return np.concatenate(found)

    def _march(self, begin: float, end: float, inside: Reals) -> Reals:
        w, size, block = self.spans.w, self.spans.size, self.spans.all
        matrix, address = block.records.matrix, block.address
        entries = block.kernels.nnz
        scratch = np.empty(size)

        def residual(t: float, y: Reals, rate: Reals, out: Reals) -> None:
            w[:size], w[-1] = y, t
            limited_residual(address, w, rate, out, PACE)

        def jacobian_of(t: float, y: Reals, rate: Reals, out: Reals, factor: float, into: Reals) -> None:
            w[:size], w[-1] = y, t
            limited_matrix(address, w, rate, factor, PACE, scratch)
            into[:] = matrix.J[:entries]

        pattern = _pattern(block)
        solver = IDA(
            residual,
            jacfn=jacobian_of,
            algebraic_idx=np.arange(self.n, size),
            sparsity=pattern,
            linsolver="sparse",
            rtol=self.tolerance,
            atol=self.tolerance,
            max_num_steps=200_000,
            calc_initcond=None,
        )
        rates = np.zeros(size)
        project(address, w, rates)
        start = w[:size].copy()
        solution: Any = solver.solve(np.concatenate([[begin], inside, [end]]), start, rates)
        if not solution.success:
            raise SimulationError(f"IDA: {solution.message}")
        self.residuals += int(solution.nfev)
        w[:size], w[-1] = solution.y[-1], end
        # With no instant asked for, every step is returned.
        return np.asarray(solution.y[1:-1]) if inside.size else np.empty((0, size))


def _pattern(block: Block) -> Any:
    from scipy import sparse

    k = block.kernels
    ones = np.ones(len(k.indices))
    return sparse.csc_matrix((ones, k.indices.astype(np.int32), k.indptr.astype(np.int32)))
