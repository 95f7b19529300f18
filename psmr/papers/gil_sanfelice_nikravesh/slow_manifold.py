"""The slow-manifold scheme of Gil, Sanfelice and Nikravesh (2013): matrices of a step, engine, record.

With x the slow and z the fast states and the algebraic variables eliminated, x' = f(x, z) and z' = g(x, z).
Around the start (x_n, z_n) of a step g is linear; H(x) = z_n - g_z^-1 (g_x (x - x_n) + g_n) is where the fast
states would rest, and y = z - H their distance from it. x follows Runge-Kutta 4 on f(x, H(x)) plus the
integral of f_z y, and y follows matrix exponentials.

The published text has slips, corrected here: the block matrix (47) is [A C B; 0 0 1; 0 0 0], and H in step 2
reads z_n and g_z where y_n and g_y are printed. `psmr.papers.gil_sanfelice_nikravesh` has the evidence.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import splu

from partitioning import Partition
from psmr.base.arguments import explains_keywords
from psmr.base.arrays import Reals
from psmr.base.declared import Positive
from psmr.base.errors import PsmrError, SchemeError, SimulationError, SingularError
from psmr.dae.compile.kernels import jacobian
from psmr.dae.system.system import System
from psmr.integrate.control.grid import GridSteps, Piece, TimeGrid
from psmr.integrate.schemes.choices import Newton, check_fields, check_newton_tolerance, check_partition
from psmr.integrate.schemes.scheme import Scheme, StepOperator
from psmr.integrate.schemes.stability import mode_words, narrowest, stability_polynomial
from psmr.integrate.solve.algebraic_solve import step_failure
from psmr.integrate.solve.block import Block, make_block
from psmr.integrate.solve.equations import evaluate
from psmr.integrate.solve.newton import POLICIES
from psmr.integrate.solve.records import FACTORISATIONS, SOLVES, VALID
from psmr.integrate.solve.status import DONE, STALE
from psmr.integrate.step.sides import require_same_system
from psmr.papers.gil_sanfelice_nikravesh.manifold_step import (
    ALGEBRAIC,
    LINEARISATION,
    WHOLE,
    Plan,
    Store,
    empty_store,
    held_by_limit,
    run_manifold,
)

if TYPE_CHECKING:
    from psmr.dae.system.linear import LinearDae
    from psmr.dae.system.system import System


def integrals(matrix: Reals, h: float) -> tuple[Reals, Reals, Reals]:
    """Return E, F1 (s), F2 (s^2) of y' = A y + b + c s over a step of h in s: y(h) = E y(0) + F1 b + F2 c.

    E = exp(A h), F1 and F2 are the integrals of exp(A (h - s)) and exp(A (h - s)) s over [0, h]: the first
    block row of exp(h [A I 0; 0 0 I; 0 0 0]) (Van Loan, IEEE Transactions on Automatic Control 23, 1978). No
    inverse of A, (k, k) in 1/s, is formed, so that they are right for a singular A too.
    """
    k = len(matrix)
    block = np.zeros((3 * k, 3 * k))
    block[:k, :k] = h * matrix
    block[:k, k : 2 * k] = block[k : 2 * k, 2 * k :] = h * np.eye(k)
    top = scipy.linalg.expm(block)[:k] if k else np.zeros((0, 0))
    return top[:, :k].copy(), top[:, k : 2 * k].copy(), top[:, 2 * k :].copy()


def condition(matrix: Reals) -> tuple[float, Reals]:
    """Return the condition number of a square matrix whose units were taken out, and its weakest direction.

    Rows and columns are first scaled towards 1 (Ruiz, 2001), since a matrix of derivatives mixes units: the
    condition of [[0, 1], [-5e5, 0]], a spring, is 1. The direction has the (k,) share of each variable in
    what the matrix sees least, the largest being 1.
    """
    k = len(matrix)
    if k == 0:
        return 1.0, np.zeros(0)
    scaled, columns = matrix.copy(), np.ones(k)
    for _ in range(10):  # each pass takes the square root of what is left; ten are exact to rounding
        row = np.sqrt(np.abs(scaled).max(axis=1))
        column = np.sqrt(np.abs(scaled).max(axis=0))
        row[row == 0.0] = column[column == 0.0] = 1.0
        scaled = scaled / row[:, None] / column
        columns /= column
    _, values, right = np.linalg.svd(scaled)
    share = np.abs(right[-1])
    number = np.inf if values[-1] == 0.0 else float(values[0] / values[-1])
    return number, share / share.max()


# Up to this order of the Jacobian dense elimination (a third of order^3 operations) costs less than the
# overhead of sparse slices and factors, about 1 ms.
DENSE = 200


class Manifold(NamedTuple):
    """Matrices of one linearisation and one step size, for p slow and q fast states.

    `inverse` = g_z^-1 (q, q) in s, K = g_z^-1 g_x (q, p), so that H' = -K, and `fz` = f_z (p, q) in 1/s; I1
    and I2 are the integrals of exp(g_z (h - s)) and of exp(g_z (h - s)) s, equations (33) to (37); E, F1 and
    F2 exp(A h) and the same integrals with A = g_z + K f_z, equations (40) to (47).
    """

    inverse: Reals
    K: Reals
    fz: Reals
    I1: Reals
    I2: Reals
    E: Reals
    F1: Reals
    F2: Reals


def manifold(fz: Reals, gx: Reals, gz: Reals, h: float) -> Manifold:
    """Return the matrices of a step of h in s from f_z (p, q), g_x (q, p) and g_z (q, q) in 1/s."""
    inverse = np.linalg.inv(gz)
    K = inverse @ gx
    _, I1, I2 = integrals(gz, h)
    matrices = (inverse, K, fz, I1, I2, *integrals(gz + K @ fz, h))
    return Manifold(*(np.ascontiguousarray(matrix, dtype=np.float64) for matrix in matrices))


def eliminated(
    matrix: sp.csc_matrix, n: int, slow: NDArray[np.intp], fast: NDArray[np.intp]
) -> tuple[Reals, Reals, Reals]:
    """Return f_z, g_x and g_z after the algebraic variables have been eliminated (Schur complement).

    `matrix` is the Jacobian (n + m, n + m) of a DAE with n states, `slow` and `fast` positions of them. In a
    large system only as many solves as there are fast states, of g_y and of its transpose: the state matrix
    is never formed. SingularError for a singular g_y.
    """
    if matrix.shape[0] <= DENSE:
        return _eliminated_dense(matrix.toarray(), n, slow, fast)
    rows = sp.csr_matrix(matrix)
    states, algebraic = rows[:n], rows[n:]
    fz, gx, gz = (states[a][:, b].toarray() for a, b in ((slow, fast), (fast, slow), (fast, fast)))
    if matrix.shape[0] == n:
        return fz, gx, gz
    try:
        lu = splu(sp.csc_matrix(algebraic[:, n:]))
    except RuntimeError as error:
        raise _undetermined(matrix.shape[0] - n) from error
    follow = lu.solve(algebraic[:, fast].toarray())  # -dy/dz
    weight = lu.solve(np.ascontiguousarray(states[fast][:, n:].toarray().T), trans="T")  # (dz'/dy g_y^-1)^T
    fz -= states[slow][:, n:] @ follow
    gz -= states[fast][:, n:] @ follow
    gx -= (algebraic[:, slow].T @ weight).T
    return fz, gx, gz


def _eliminated_dense(
    matrix: Reals, n: int, slow: NDArray[np.intp], fast: NDArray[np.intp]
) -> tuple[Reals, Reals, Reals]:
    try:
        follow = np.linalg.solve(matrix[n:, n:], matrix[n:, :n])
    except np.linalg.LinAlgError as error:
        raise _undetermined(len(matrix) - n) from error
    reduced = matrix[:n, :n] - matrix[:n, n:] @ follow
    return reduced[np.ix_(slow, fast)], reduced[np.ix_(fast, slow)], reduced[np.ix_(fast, fast)]


def _undetermined(order: int) -> SingularError:
    return SingularError(
        f"g_y of order {order} is singular: the algebraic equations do not determine the algebraic "
        "variables at this "
        "point; look for a bus without a path to any source or a voltage of zero"
    )


def require_fit(gz: Reals, names: tuple[str, ...], tolerance: float, where: str) -> None:
    """Refuse fast states that have no quasi-steady state: nothing in the fast set brings some back to rest.

    `gz` (q, q) is that of the named states after elimination; rounding, amplified by its condition, must stay
    below the tolerance. `where` are words for the occasion.
    """
    if not np.isfinite(gz).all():
        raise SchemeError(f"slow manifold, {where}: g_z of the fast states is not finite")
    limit = tolerance / np.finfo(float).eps
    if not gz.size:
        return
    with contextlib.suppress(np.linalg.LinAlgError):  # a cheap first look, in the units as they are
        if np.linalg.norm(gz) * np.linalg.norm(np.linalg.inv(gz)) <= limit:
            return
    number, share = condition(gz)
    if number <= limit:
        return
    weak = [names[i] for i in np.argsort(-share, kind="stable") if share[i] > 0.1][:4]
    raise SchemeError(
        f"slow manifold, {where}: g_z of the {len(names)} fast states is singular (condition {number:.2g}, "
        f"at most {limit:.2g}); {', '.join(weak)} "
        f"{'acts as a pure integrator' if len(weak) == 1 else 'act as pure integrators'} in the fast set: "
        "without a rest to return to there is no slow manifold. Take "
        f"{'it' if len(weak) == 1 else 'them'} out of the fast set (partitioning.by_hand, or a larger delta)"
    )


def slow_manifold_map(A: Reals, fast: NDArray[np.bool_], h: float) -> Reals:
    """Return M (n, n) of one slow-manifold step of h in s on x' = A x, the states of `fast` (n,) fast.

    With K = g_z^-1 g_x, A0 = f_x - f_z K, S = [K I] and the integrals F1, F2 (`integrals`)::

        X1 = R4(h A0) [I 0] + f_z (F1(g_z) S + F2(g_z) K [f_x f_z])
        Y1 = E S + F1 K A0 [I 0] + F2 K A0 (X1 - [I 0]) / h      of g_z + K f_z
        M  = [X1; -K X1 + Y1]

    Gil, Sanfelice and Nikravesh (2013), steps 1 to 3, for linear f and g.
    """
    slow = ~fast
    fx, fz = A[np.ix_(slow, slow)], A[np.ix_(slow, fast)]
    gx, gz = A[np.ix_(fast, slow)], A[np.ix_(fast, fast)]
    p, q = int(slow.sum()), int(fast.sum())
    K = np.linalg.solve(gz, gx)
    reduced = fx - fz @ K
    select_x = np.hstack([np.eye(p), np.zeros((p, q))])
    S = np.hstack([K, np.eye(q)])
    _, I1, I2 = integrals(gz, h)
    E, F1, F2 = integrals(gz + K @ fz, h)
    X1 = stability_polynomial(h * reduced, "RK4") @ select_x + fz @ (I1 @ S + I2 @ K @ np.hstack([fx, fz]))
    Y1 = E @ S + F1 @ K @ reduced @ select_x + F2 @ K @ reduced @ (X1 - select_x) / h
    M = np.empty((p + q, p + q))
    order = np.concatenate([np.flatnonzero(slow), np.flatnonzero(fast)])
    M[np.ix_(order, order)] = np.vstack([X1, Y1 - K @ X1])
    return M


def manifold_limit(A: Reals, fast: NDArray[np.bool_]) -> str:
    """Say up to which step Runge-Kutta 4 is stable on the slow manifold, and which mode sets that."""
    slow = ~fast
    K = np.linalg.solve(A[np.ix_(fast, fast)], A[np.ix_(fast, slow)])
    modes = np.linalg.eigvals(A[np.ix_(slow, slow)] - A[np.ix_(slow, fast)] @ K)
    damped = modes[modes.real < 0.0]
    if not damped.size:
        return ""
    limit, mode = narrowest(damped, "RK4")
    return (
        f"Runge-Kutta 4 on the slow states is stable up to about h = {limit:.3g} s, where the mode "
        f"{mode_words(mode)} sets the limit, or another partition"
    )


class ManifoldEngine:
    """See `psmr.integrate.schemes.scheme.Engine`.

    Raises SchemeError for a partition of another system, or fast states without a quasi-steady state where
    the run starts.
    """

    ends_at_stops = True
    samplers = None
    marches = False

    def __init__(self, system: System, scheme: SlowManifold, parameters: Sequence[Reals], w: Reals) -> None:
        require_same_system(scheme.split, system)
        self._grid = GridSteps(scheme.h, lambda h: np.array([h]), False, system.n + system.m)
        self.scheme, self.names, self.n = scheme, system.names_x, system.n
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
        fast = scheme.split.fast_x
        self.watched = np.flatnonzero(fast & system.limited)
        self.still = np.zeros(0, dtype=np.intp)  # states of devices out of service
        self.plan: Plan | None = None
        self.matrices: Manifold | None = None
        self.store: Store | None = None
        self._linearise(w.copy(), scheme.h)
        self.plan = None  # a trial: the algebraic variables of the start are not consistent yet

    def note(self, w: Reals | None) -> None:
        """See `Engine`: each span begins anew."""

    def take_jumps(self, jumps: object) -> bool:
        """See `Engine`: a jump ends a span."""
        return False

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
            made = self.plan, self.matrices, self.store
            first, status = run_manifold(blocks, *made, grid.times, grid.steps, first, last, w, record)
            if status != STALE:
                return first, status
            self.plan = None
        return last, DONE

    def forget(self, autonomous: bool) -> None:
        """See `Engine`."""
        self.autonomous = autonomous
        self.plan = None

    def take_out_of_service(
        self, system: System, parameters: Sequence[Reals], w: Reals, out: Collection[str]
    ) -> None:
        """See `Engine`."""
        for block in self.blocks.values():
            block.take_out_of_service(system, parameters, w, out)
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
        scheme, whole = self.scheme, self.blocks[WHOLE]
        kernels, block, equations = whole.kernels, whole.address, whole.records.matrix
        whole.records.newton.scalars[VALID] = 0.0
        evaluate(block, w)
        held = np.array([at for at in self.watched if held_by_limit(block, w, at)], dtype=np.uint32)
        is_fast = scheme.split.fast_x.copy()
        is_fast[held] = is_fast[self.still] = False
        fast, slow = np.flatnonzero(is_fast), np.flatnonzero(~scheme.split.fast_x)
        jacobian(equations.table, equations.constant, w, equations.J)
        places = kernels.indices.astype(np.int32), kernels.indptr.astype(np.int32)
        matrix = sp.csc_matrix((equations.J[:-1].copy(), *places), (kernels.rows, kernels.rows))
        fz, gx, gz = eliminated(matrix, self.n, slow, fast)
        require_fit(gz, tuple(self.names[i] for i in fast), scheme.tolerance, f"t = {w[-1]:.6g} s")
        counts = self.blocks[LINEARISATION].records.newton.counts
        counts[FACTORISATIONS] += 1
        counts[SOLVES] += 2 * len(fast)
        with np.errstate(over="ignore", invalid="ignore"):
            self.matrices = manifold(fz, gx, gz, h)
        if not all(np.isfinite(matrix).all() for matrix in self.matrices):
            growth = float(np.linalg.eigvals(gz).real.max())
            raise SimulationError(
                f"t = {w[-1]:.6g} s, step {h:.3g} s: the exponential of the fast states is not finite "
                f"(fastest growth {growth:.3g} 1/s); the run has left the region where they decay: try a "
                "smaller step or another partition"
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
        self.store = empty_store(w, self.n, len(slow), len(fast))


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
    h: Annotated[float, Positive("s")]
    jacobian: Literal["step", "kept"] = "step"
    drift: Annotated[float, Positive()] = 1e-3
    newton: Newton = "dishonest"
    tolerance: float = 1e-10

    def __post_init__(self) -> None:
        check_fields(self)
        check_partition(self.split)
        check_newton_tolerance(self.tolerance)
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
        return ManifoldEngine(system, self, parameters, w)

    @property
    def operator(self) -> StepOperator:
        """See `Scheme`."""
        return StepOperator(self._matrix, self.h, self._limit)

    def _matrix(self, linear: LinearDae) -> NDArray[np.float64]:
        from psmr.integrate.schemes.stability import with_algebraic
        from psmr.integrate.step.sides import require_same_system

        require_same_system(self.split, linear)
        A, fast = linear.state_matrix(), self.split.fast_x
        names = tuple(name for name, side in zip(linear.names_x, fast, strict=True) if side)
        require_fit(A[np.ix_(fast, fast)], names, self.tolerance, "linearised system")
        return with_algebraic(linear, slow_manifold_map(A, fast, self.h))

    def _limit(self, linear: LinearDae) -> str:
        return manifold_limit(linear.state_matrix(), self.split.fast_x)

    def __str__(self) -> str:
        when = "at every step" if self.jacobian == "step" else f"kept until a drift of {self.drift:g}"
        return f"slow manifold, h = {self.h:g} s, {self.split.fast_x.sum()} fast states, linearised {when}"
