"""The slow-manifold scheme on a system, ready to integrate."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from partitioning import Partition
from psmr.base.arrays import Reals
from psmr.base.errors import PsmrError, SimulationError
from psmr.dae.compile.kernels import jacobian
from psmr.dae.system.system import System
from psmr.integrate.control.time_grid import GridSteps, Piece, TimeGrid
from psmr.integrate.solve.block import Block, make_block
from psmr.integrate.solve.equations import evaluate
from psmr.integrate.solve.failure import step_failure
from psmr.integrate.solve.newton import POLICIES
from psmr.integrate.solve.partition_sides import require_same_system
from psmr.integrate.solve.records import FACTORISATIONS, SOLVES, VALID
from psmr.integrate.solve.status import DONE, STALE
from psmr.papers.gil_sanfelice_nikravesh.manifold import Manifold, eliminated, manifold, require_fit
from psmr.papers.gil_sanfelice_nikravesh.manifold_step import (
    ALGEBRAIC,
    LINEARISATION,
    WHOLE,
    Plan,
    Store,
    held_by_limit,
    run_manifold,
)


@dataclass(frozen=True, eq=False)
class ManifoldChoices:
    """What the scheme chooses: partition, step in s, how long a linearisation is kept, Newton's."""

    split: Partition
    h: float
    kept: bool
    drift: float
    newton: str
    tolerance: float


class ManifoldEngine:
    """See `psmr.integrate.schemes.scheme.Engine`.

    Raises
    ------
    SchemeError
        For a partition of another system, or fast states without a quasi-steady state where the run starts.
    """

    ends_at_stops = True

    def __init__(
        self, system: System, choices: ManifoldChoices, parameters: Sequence[Reals], w: Reals
    ) -> None:
        require_same_system(choices.split, system)
        self._grid = GridSteps(choices.h, lambda h: np.array([h]), False, system.n + system.m)
        self.choices, self.names, self.n = choices, system.names_x, system.n
        self.autonomous = False
        everything = np.arange(system.n + system.m)
        algebraic = everything[system.n :]

        def block(role: str, places: NDArray[Any]) -> Block:
            return make_block(system, role, parameters, w, places, places)

        # The third block has the counters of the factorisations and solves that a linearisation costs.
        self.blocks = {
            WHOLE: block("step", everything),
            ALGEBRAIC: block("algebraic", algebraic),
            LINEARISATION: block("linearisation", algebraic),
        }
        fast = choices.split.fast_x
        self.watched = np.flatnonzero(fast & system.limited)
        self.still = np.zeros(0, dtype=np.intp)  # states of devices out of service
        self.plan: Plan | None = None
        self.matrices: Manifold | None = None
        self.store: Store | None = None
        self._linearise(w.copy(), choices.h)
        self.plan = None  # a trial: the algebraic variables of the start are not consistent yet

    def begin(self, end: float, w: Reals, stops: Reals) -> int:
        """See `Engine`."""
        self._grid.begin(float(w[-1]), end, stops)
        return DONE

    def advance(self, most: int, w: Reals) -> tuple[Piece, int]:
        """See `Engine`."""
        return self._grid.advance(most, w, self._take)

    def _take(
        self, grid: TimeGrid, ends: NDArray[np.int64], first: int, last: int, w: Reals, record: Reals
    ) -> tuple[int, int]:
        """Take steps first..last-1; return (number of the step that was not completed or `last`, status)."""
        blocks = np.array([self.blocks[WHOLE].address, self.blocks[ALGEBRAIC].address])
        while first < last:
            if self.plan is None:
                w[-1] = grid.times[first]
                self._linearise(w, float(grid.steps[first]))
            first, status = run_manifold(
                blocks,
                self.plan,
                self.matrices,
                self.store,
                grid.times,
                grid.steps,
                first,
                last,
                w,
                record,
            )
            if status != STALE:
                return first, status
            self.plan = None
        return last, DONE

    def forget(self, autonomous: bool) -> None:
        """See `Engine`."""
        self.autonomous = autonomous
        self.plan = None

    def take_out(self, system: System, parameters: Sequence[Reals], w: Reals, out: Collection[str]) -> None:
        """See `Engine`."""
        for block in self.blocks.values():
            block.take_out(system, parameters, w, out)
        places = [
            system.index(f"{d.name}.{x}") for d in system.devices if d.name in out for x in d.component.states
        ]
        self.still = np.array(places, dtype=np.intp)

    def failed(self) -> tuple[Block, float | None]:
        """See `Engine`."""
        assert self.store is not None
        return self.blocks[int(self.store.state[1])], self._grid.next_end

    def failure(self, status: int, end: float, w: Reals) -> PsmrError:
        """See `Engine`."""
        h = self._grid.next_step
        return step_failure(self.failed()[0], status, w, h, h, 0.0)

    def counted(self) -> dict[str, int]:
        """See `Engine`."""
        return {}

    def _linearise(self, w: Reals, h: float) -> None:
        """Make plan, matrices and store for a step of h in s from w."""
        choices, whole = self.choices, self.blocks[WHOLE]
        kernels, block = whole.kernels, whole.address
        whole.records.newton.scalars[VALID] = 0.0
        evaluate(block, w)
        held = np.array([at for at in self.watched if held_by_limit(block, w, at)], dtype=np.uint32)
        is_fast = choices.split.fast_x.copy()
        is_fast[held] = is_fast[self.still] = False
        fast, slow = np.flatnonzero(is_fast), np.flatnonzero(~choices.split.fast_x)
        J = whole.records.matrix.J
        jacobian(whole.records.matrix.table, whole.records.matrix.constant, w, J)
        size = kernels.rows
        matrix = sp.csc_matrix(
            (J[:-1].copy(), kernels.indices.astype(np.int32), kernels.indptr.astype(np.int32)),
            (size, size),
        )
        fz, gx, gz = eliminated(matrix, self.n, slow, fast)
        require_fit(gz, tuple(self.names[i] for i in fast), choices.tolerance, f"t = {w[-1]:.6g} s")
        counts = self.blocks[LINEARISATION].records.newton.counts
        counts[FACTORISATIONS] += 1
        counts[SOLVES] += 2 * len(fast)
        with np.errstate(over="ignore", invalid="ignore"):
            self.matrices = manifold(fz, gx, gz, h)
        if not all(np.isfinite(matrix).all() for matrix in self.matrices):
            growth = float(np.linalg.eigvals(gz).real.max())
            raise SimulationError(
                f"t = {w[-1]:.6g} s, step {h:.3g} s: the exponential of the fast states is not finite "
                "(fastest growth "
                f"{growth:.3g} 1/s); the run has left the region where they decay: try a smaller step or "
                "another partition"
            )
        self.plan = Plan(
            slow=slow.astype(np.uint32),
            fast=fast.astype(np.uint32),
            held=held,
            watched=self.watched.astype(np.uint32),
            h=h,
            kept=choices.kept,
            drift=float(choices.drift),
            policy=POLICIES[choices.newton],
            tolerance=float(choices.tolerance),
            autonomous=self.autonomous,
        )
        p, q = len(slow), len(fast)
        self.store = Store(
            w0=w.copy(),
            rates=np.zeros(self.n),
            k=np.zeros((5, p)),
            sigma=np.zeros(q),
            slope=np.zeros(q),
            integral=np.zeros(q),
            y=np.zeros(q),
            expected=np.zeros(q),
            moved=np.zeros(1),
            state=np.array([1, WHOLE]),
        )
