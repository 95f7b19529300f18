"""The slow-manifold scheme of Gil, Sanfelice and Nikravesh (2013): record, linear map, engine.

The slow-manifold scheme of Gil, Sanfelice and Nikravesh (2013): its record and the matrices of a step.

With x the slow and z the fast states and the algebraic variables eliminated, x' = f(x, z) and z' = g(x, z).
Around the start (x_n, z_n) of a step g is linear; H(x) = z_n - g_z^-1 (g_x (x - x_n) + g_n) is where the fast
states would rest, and y = z - H their distance from it. x follows Runge-Kutta 4 on f(x, H(x)) plus the
integral of f_z y, and y follows matrix exponentials.

The published text has slips, corrected here: the block matrix (47) is [A C B; 0 0 1; 0 0 0], and H in step 2
reads z_n and g_z where y_n and g_y are printed. `psmr.papers.gil_sanfelice_nikravesh` has the evidence.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from partitioning import Partition
from psmr.base.arguments import explains_keywords, settle_fields
from psmr.base.arrays import Reals
from psmr.base.errors import PsmrError, SchemeError, SimulationError
from psmr.dae.compile.kernels import jacobian
from psmr.dae.system.system import System
from psmr.integrate.control.engine import GridSteps, Piece, TimeGrid
from psmr.integrate.schemes.choices import (
    NEWTONS,
    Newton,
    check_choice,
    check_newton_tolerance,
    check_partition,
    check_positive,
)
from psmr.integrate.schemes.scheme import Scheme, StepOperator
from psmr.integrate.solve.algebraic_solve import step_failure
from psmr.integrate.solve.block import Block, make_block
from psmr.integrate.solve.equations import evaluate
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

if TYPE_CHECKING:
    from psmr.dae.system.linear import LinearDae
    from psmr.dae.system.system import System


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


JACOBIANS = ("step", "kept")


@explains_keywords(SchemeError)
@dataclass(frozen=True, repr=False)
class SlowManifold(Scheme):
    """Slow states by Runge-Kutta 4 on the slow manifold, fast ones by matrix exponentials (Gil et al., 2013).

    Parameters
    ----------
    split
        Which states are fast. All algebraic variables are eliminated by solving g = 0, so it does not matter
        on which side they are.
    h
        Step in s. Runge-Kutta 4 must be stable for the slow states: about 2.8 / |lambda| of the fastest of
        them.
    jacobian
        ``"step"``: linearise at every step, as published. ``"kept"``: keep the linearisation and its
        exponentials until they have drifted.
    drift
        With ``"kept"``: linearise anew when what the linearisation said of the fast states' rest differs from
        what it turned out to be by more than this share of their movement in the step. At the default the
        pendulum of the paper keeps its energy to 2.2e-5 J with 93 linearisations, to 1.3e-5 J with one at
        each of its 1000 steps.
    newton
        When the Jacobian of the algebraic equations is refreshed, as in `SingleRate`.
    tolerance
        Of the algebraic equations, as in `SingleRate`; the condition of g_z times the rounding unit must stay
        below it.

    Raises
    ------
    SchemeError
        For an unknown choice, a value out of range, or a partition without fast states.
    """

    split: Partition
    h: float
    jacobian: Literal["step", "kept"] = "step"
    drift: float = 1e-3
    newton: Newton = "dishonest"
    tolerance: float = 1e-10

    def __post_init__(self) -> None:
        settle_fields(self, SchemeError)
        check_partition(self.split)
        check_positive("h", self.h, "s")
        check_positive("drift", self.drift)
        check_newton_tolerance(self.tolerance)
        check_choice("jacobian", self.jacobian, JACOBIANS)
        check_choice("newton", self.newton, NEWTONS)
        if not self.split.fast_x.any():
            raise SchemeError(
                f"split has no fast state ({self.split}), so the scheme would be Runge-Kutta 4; "
                "use SingleRate('RK4', h) or a smaller delta"
            )

    @property
    def step(self) -> float:
        """Time between two accepted points in s."""
        return self.h

    def with_step(self, h: float) -> SlowManifold:
        """See `Scheme`."""
        return replace(self, h=h)

    def engine(self, system: System, parameters: Sequence[Any], w: Any, every: bool) -> Any:
        """See `Scheme`: a step of matrix exponentials is no program."""
        kept = self.jacobian == "kept"
        choices = ManifoldChoices(self.split, self.h, kept, self.drift, self.newton, self.tolerance)
        return ManifoldEngine(system, choices, parameters, w)

    @property
    def operator(self) -> StepOperator:
        """See `Scheme`."""
        return StepOperator(self._matrix, self.h, self._limit)

    def _matrix(self, linear: LinearDae) -> NDArray[np.float64]:
        from psmr.integrate.schemes.stability import with_algebraic
        from psmr.integrate.solve.partition_sides import require_same_system
        from psmr.papers.gil_sanfelice_nikravesh.manifold import require_fit, slow_manifold_map

        require_same_system(self.split, linear)
        A, fast = linear.state_matrix(), self.split.fast_x
        names = tuple(name for name, side in zip(linear.names_x, fast, strict=True) if side)
        require_fit(A[np.ix_(fast, fast)], names, self.tolerance, "linearised system")
        return with_algebraic(linear, slow_manifold_map(A, fast, self.h))

    def _limit(self, linear: LinearDae) -> str:
        from psmr.papers.gil_sanfelice_nikravesh.manifold import manifold_limit

        return manifold_limit(linear.state_matrix(), self.split.fast_x)

    def __str__(self) -> str:
        when = "at every step" if self.jacobian == "step" else f"kept until a drift of {self.drift:g}"
        return f"slow manifold, h = {self.h:g} s, {self.split.fast_x.sum()} fast states, linearised {when}"
