"""The slow-manifold scheme on a system, ready to march."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from psmr.dae.compile.kernels import jacobian
from psmr.dae.system.system import System
from psmr.errors import SchemeError, SimulationError
from psmr.numerics.schemes.slow_manifold import Manifold, SlowManifold, eliminated, manifold, require_fit
from psmr.numerics.solve.block import FACTORISATIONS, SOLVES, VALID, Block, make_block
from psmr.numerics.solve.newton import POLICIES, evaluate
from psmr.numerics.step.one_step import ALGEBRAIC, WHOLE
from psmr.numerics.steppers.manifold_step import STALE, Plan, Store, held_by_limit, run_manifold

if TYPE_CHECKING:
    from psmr.numerics.run.time_grid import Span

Reals = NDArray[np.float64]
LINEARISATION = 2


class ManifoldEngine:
    """See `psmr.numerics.run.engine.Engine`.

    Raises
    ------
    SchemeError
        For a partition of another system, or fast states without a quasi-steady state where the run starts.
    """

    def __init__(
        self, system: System, scheme: SlowManifold, parameters: Sequence[Reals], w: Reals, autonomous: bool
    ) -> None:
        if (scheme.split.names_x, scheme.split.names_y) != (system.names_x, system.names_y):
            raise SchemeError(
                f"split is a partition of {len(scheme.split.names_x)} states and "
                f"{len(scheme.split.names_y)} algebraic "
                f"variables of another system; {system!r} needs one made from its own linearise()"
            )
        self.honest = scheme.newton == "honest"
        self.scheme, self.names, self.n = scheme, system.names_x, system.n
        self.autonomous = autonomous
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
        fast = scheme.split.fast_x
        self.watched = np.flatnonzero(fast & system.limited)
        self.still = np.zeros(0, dtype=np.intp)  # states of devices out of service
        self.plan: Plan | None = None
        self.matrices: Manifold | None = None
        self.store: Store | None = None
        self._linearise(w.copy(), scheme.h)
        self.plan = None  # a trial: the algebraic variables of the start are not consistent yet

    def advance(self, span: Span, first: int, last: int, w: Reals, record: Reals) -> tuple[int, int]:
        """See `Engine`."""
        whole, algebraic = self.blocks[WHOLE].arrays, self.blocks[ALGEBRAIC].arrays
        while first < last:
            if self.plan is None:
                w[-1] = span.times[first]
                self._linearise(w, float(span.steps[first]))
            first, status = run_manifold(
                whole,
                algebraic,
                self.plan,
                self.matrices,
                self.store,
                span.times,
                span.steps,
                first,
                last,
                w,
                record,
            )
            if status != STALE:
                return first, status
            self.plan = None
        return last, 0

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

    def corrections(self) -> int:
        """See `Engine`."""
        return 0

    def difference(self) -> float:
        """See `Engine`."""
        return 0.0

    def _linearise(self, w: Reals, h: float) -> None:
        """Make plan, matrices and store for a step of h in s from w."""
        scheme, whole = self.scheme, self.blocks[WHOLE]
        arrays, kernels = whole.arrays, whole.kernels
        arrays.memory[VALID] = 0.0
        evaluate(arrays, w)
        held = np.array([at for at in self.watched if held_by_limit(arrays, w, at)], dtype=np.uint32)
        is_fast = scheme.split.fast_x.copy()
        is_fast[held] = is_fast[self.still] = False
        fast, slow = np.flatnonzero(is_fast), np.flatnonzero(~scheme.split.fast_x)
        jacobian(arrays.table, arrays.constant, w, arrays.J)
        size = kernels.rows
        matrix = sp.csc_matrix(
            (arrays.J[:-1].copy(), kernels.indices.astype(np.int32), kernels.indptr.astype(np.int32)),
            (size, size),
        )
        fz, gx, gz = eliminated(matrix, self.n, slow, fast)
        require_fit(gz, tuple(self.names[i] for i in fast), scheme.tolerance, f"t = {w[-1]:.6g} s")
        counts = self.blocks[LINEARISATION].arrays.counts
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
            kept=scheme.jacobian == "kept",
            drift=float(scheme.drift),
            policy=POLICIES[scheme.newton],
            tolerance=float(scheme.tolerance),
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
            state=np.ones(1, np.int64),
        )
