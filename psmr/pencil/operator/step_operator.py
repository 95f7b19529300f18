"""The exact step operator: what one step of a scheme does to a linear DAE, as a matrix and as a product.

Source: Huang and Tzounas, Matrix pencil-based analysis of multirate simulation schemes, section 2.2 and
equation (18), stacked without overlap of the points within the macro step.

Of a step T that is known as a map on vectors the multipliers of largest magnitude come with their residuals.
Arnoldi on T finds what lies well outside the unit circle. Beside z = 1 the multipliers of slow modes crowd,
which no Krylov method tells apart; they follow the modes of the system, which shift-invert finds. T^p (T - 1)
makes them small: its largest eigenvalue, in magnitude d, bounds the others, |z|^p |z - 1| <= d for every
multiplier z. All of them that are further than d from 1 are therefore inside the unit circle.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, SuperLU, eigs, splu

from psmr.base.arguments import check_arguments
from psmr.base.errors import SchemeError, SingularError
from psmr.base.modules import function_above
from psmr.base.threads import on_one_thread
from psmr.dae.system.linear import LinearDae
from psmr.integrate.schemes.scheme import Scheme
from psmr.pencil.operator.equation import NEW, Equation
from psmr.pencil.operator.equations import StepEquations, step_equations


def macro_pencil(linear: LinearDae, scheme: Scheme) -> tuple[sp.csc_array, sp.csc_array]:
    """Stack the equations of one step to ``F Y(t+h) = G Y(t)``.

    Y holds every point within the step (prediction, fast points of each pass, solution) and at its end the
    state vector of `step_operator`. Only that end of Y(t) enters, so the eigenvalues of ``z F - G`` are those
    of the step operator and zeros.

    Parameters
    ----------
    linear
        Linearised DAE of n states and m algebraic variables.
    scheme
        Any whose step is a program.

    Returns
    -------
    F, G
        Sparse, of order (number of points in the step) (n + m), plus the number of variables that spline or
        extrapolation remember, for each point before the step that they read.

    Raises
    ------
    SchemeError
        For a partition of another system.
    """
    return stacked_equations(step_equations(linear, scheme, closed_up_to=0))[1:]


def stacked_equations(step: StepEquations) -> tuple[list[Equation], sp.csc_array, sp.csc_array]:
    """Return the equations of a step, the successors of its state last, and F and G; see `macro_pencil`."""
    ordered = [e for e in step.equations if e.unknown not in step.successors]
    ordered += [e for name in step.successors for e in step.equations if e.unknown == name]
    place = {e.unknown: k for k, e in enumerate(ordered)}
    known = {name: place[successor] for name, successor in zip(step.state, step.successors, strict=True)}

    left: dict[tuple[int, int], sp.sparray] = {}
    right: dict[tuple[int, int], sp.sparray] = {}
    for row, equation in enumerate(ordered):
        left[row, row] = equation.matrix
        for block, term in equation.terms:
            if block in known:
                right[row, known[block]] = term
            else:
                left[row, place[block]] = -term
    sizes = np.array([e.matrix.shape[0] for e in ordered])
    return ordered, _stacked(left, sizes), _stacked(right, sizes)


@on_one_thread
def step_operator(linear: LinearDae, scheme: Scheme) -> np.ndarray:
    """Return the matrix T of one step: state(t + h) = T state(t).

    Parameters
    ----------
    linear
        Linearised DAE of n states and m algebraic variables.
    scheme
        Any that has one. For ``corrections="converge"`` T is the fixed point of the correction;
        whether the iteration gets there says `correction_rate`.

    Returns
    -------
    ndarray
        (N, N), N = n + m, on w = (x, y). With spline interpolation the state is (w(t), slow part of w(t -
        h_slow), slow part of w(t - 2 h_slow)), slow states before slow algebraic variables, and T is of order
        N + 2 n_slow. With prediction by extrapolation it is w(t) and w(t - h_slow), with the spline also w(t
        - 2 h_slow), whole or with ``predict="slow"`` their slow parts. With samples the sampled variables
        stand between x and y, and T is that of the period in which they and the steps come round.

    Raises
    ------
    SchemeError
        For a partition of another system.
    SingularError
        When an equation of the step has no unique solution, as on a partition that is not well posed.
    """
    check_arguments(step_operator, locals())
    if linear.held:
        return np.asarray(function_above("pencil.operator.sampled.operator_with_samples")(linear, scheme))
    if scheme.operator is not None:
        return scheme.operator.matrix(linear)
    step = step_equations(linear, scheme, closed_up_to=linear.n + linear.m)
    if step.slow is None:
        return Substitution(step).advance(_state_columns(step))
    direct, feedback = _one_correction(step)
    here = feedback[step.slow]  # slow(t+h) = direct + here slow(t+h)
    closed = _dense_solve(np.eye(len(step.slow)) - here, direct[step.slow], "fixed point of the corrections")
    return direct + feedback @ closed


def correction_rate(linear: LinearDae, scheme: Scheme) -> float:
    """Return the factor by which one correction of a macro step reduces the error of the prediction.

    This is the spectral radius of the map from the predicted to the solved slow values. At 1 or above
    ``corrections="converge"`` does not end and more corrections make the result worse. Of a scheme with
    ``interface="schur"``, which corrects nothing, it is that of the scheme with the interface held.

    Raises
    ------
    SchemeError
        For a scheme without corrections (single rate).
    """
    if scheme.two_rates is None:
        raise SchemeError(f"a {type(scheme).__name__} scheme has no corrections; pass a Multirate scheme")
    step = step_equations(linear, scheme.two_rates.converged(), closed_up_to=linear.n + linear.m)
    if step.slow is None or len(step.slow) == 0:  # one side alone: nothing is predicted
        return 0.0
    _, feedback = _one_correction(step)
    return float(np.abs(np.linalg.eigvals(feedback[step.slow])).max())


def _one_correction(step: StepEquations) -> tuple[np.ndarray, np.ndarray]:
    """Return state(t+h) as (direct, feedback): from the state at t and from the predicted slow values."""
    assert step.slow is not None
    columns = _state_columns(step)
    width, slow = next(iter(columns.values())).shape[1], len(step.slow)
    inputs = {name: np.hstack([block, np.zeros((len(block), slow))]) for name, block in columns.items()}
    guess = np.zeros((step.sizes[0], width + slow))
    guess[step.slow, width + np.arange(slow)] = 1.0
    both = Substitution(step).advance(inputs | {NEW: guess})
    return both[:, :width], both[:, width:]


def _state_columns(step: StepEquations) -> dict[str, np.ndarray]:
    """Return the blocks of the state at t as functions of the state: rows of the identity."""
    blocks = np.split(np.eye(sum(step.sizes)), np.cumsum(step.sizes)[:-1])
    return dict(zip(step.state, blocks, strict=True))


class Substitution:
    """The equations of a step, solved one after another with every matrix factorised once.

    `step`: The equations.
    """

    def __init__(self, step: StepEquations) -> None:
        self.step = step
        self._factors: dict[int, SuperLU] = {}  # the r fast points share one matrix object
        self._terms: dict[str, tuple[sp.csr_matrix, list[str]]] = {}

    def factors(self, equation: Equation) -> SuperLU:
        """Return the factors of an equation's matrix; raises SingularError as `factorised`."""
        if id(equation.matrix) not in self._factors:
            self._factors[id(equation.matrix)] = factorised(equation)
        return self._factors[id(equation.matrix)]

    def solve(self, equation: Equation, blocks: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return the unknown of an equation, a vector or columns like the blocks that it reads."""
        if equation.unknown not in self._terms:
            names = [name for name, _ in equation.terms]
            self._terms[equation.unknown] = sp.hstack([term for _, term in equation.terms], "csr"), names
        terms, names = self._terms[equation.unknown]
        right = terms @ np.concatenate([blocks[name] for name in names])
        return np.asarray(self.factors(equation).solve(np.ascontiguousarray(right)))

    def solve_all(self, known: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return all blocks, from those that are known at t."""
        blocks = dict(known)
        for equation in self.step.equations:
            blocks[equation.unknown] = self.solve(equation, blocks)
        return blocks

    def advance(self, known: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return the state at t + h, from the blocks that are known at t."""
        blocks = self.solve_all(known)
        return np.concatenate([blocks[name] for name in self.step.successors])


def factorised(equation: Equation) -> SuperLU:
    """Return the sparse LU of an equation's matrix.

    Raises SingularError when the equation has no unique solution.
    """
    try:
        lu = splu(sp.csc_matrix(equation.matrix))
    except RuntimeError as error:
        raise SingularError(_singular(equation)) from error
    pivots = np.abs(lu.U.diagonal())
    # A pivot lost in the rounding of the largest one says nothing about the equation it stands for.
    if pivots.min() < np.finfo(float).eps * pivots.max():
        raise SingularError(_singular(equation))
    return lu


def _singular(equation: Equation) -> str:
    return (
        f"the equations of '{equation.unknown}' ({equation.what}) have no unique solution: "
        f"their matrix of order {equation.matrix.shape[0]} is singular; try another partition or step"
    )


def _dense_solve(matrix: np.ndarray, right: np.ndarray, what: str) -> np.ndarray:
    try:
        return np.linalg.solve(matrix, right)
    except np.linalg.LinAlgError as error:
        raise SingularError(
            f"{what}: the matrix of order {len(matrix)} is singular; try a smaller h_slow"
        ) from error


def _stacked(blocks: dict[tuple[int, int], sp.sparray], sizes: np.ndarray) -> sp.csc_array:
    """Place blocks given by (block row, block column) into one square sparse matrix."""
    start = np.concatenate([[0], np.cumsum(sizes)])
    parts = [(sp.coo_array(block), start[row], start[column]) for (row, column), block in blocks.items()]
    data = np.concatenate([part.data for part, _, _ in parts])
    rows = np.concatenate([part.row + first for part, first, _ in parts])
    columns = np.concatenate([part.col + first for part, _, first in parts])
    return sp.csc_array((data, (rows, columns)), shape=(start[-1], start[-1]))


# Corrections to convergence stop when one of them changes the slow values by less than this share: above the
# rounding of a few solves, far below the residual asked of a mode.
AGREED = 1e-14
MOST_CORRECTIONS = 300


@dataclass(frozen=True, eq=False)
class StepMap:
    """The linear map state(t) -> state(t + h) with every matrix factorised once.

    `size`: Length of w = (x, y).
    `sizes`: Lengths of the blocks of the state: w, and with spline or extrapolation what is remembered of t -
      h, or of t - h and t - 2h.
    `history_of`: Positions in w of the variables that are remembered: the slow ones, or all.
    `apply`: Takes (sum(sizes),) real or complex, or columns of that length, and returns the same.
    """

    size: int
    sizes: tuple[int, ...]
    history_of: np.ndarray
    apply: Callable[[np.ndarray], np.ndarray]

    @property
    def order(self) -> int:
        """Length of the state."""
        return sum(self.sizes)

    def operator(self) -> LinearOperator:
        """Return the map as scipy's iterative solvers take it, for real vectors."""
        return LinearOperator((self.order, self.order), matvec=self.apply, dtype=float)

    def extended(self, w: np.ndarray, z: complex) -> np.ndarray:
        """Continue the part w of an eigenvector with multiplier z to the remembered parts of the state."""
        return np.concatenate([w, *(w[self.history_of] / z ** (k + 1) for k in range(len(self.sizes) - 1))])


def step_map(linear: LinearDae, scheme: Scheme) -> StepMap:
    """Return the map of one step; its matrix is `psmr.step_operator`.

    Raises SchemeError for a partition of another system, or corrections that diverge when they are applied;
    SingularError when an equation of the step has no unique solution.
    """
    return map_of(step_equations(linear, scheme))


def map_of(step: StepEquations) -> StepMap:
    """Return the map of the equations of one step; see `step_map` for the errors."""
    substitution = Substitution(step)
    for equation in step.equations:
        substitution.factors(equation)  # a singular one is named here
    ends = np.cumsum(step.sizes)[:-1]

    def real(columns: np.ndarray) -> np.ndarray:
        blocks = dict(zip(step.state, np.split(columns, ends), strict=True))
        return substitution.advance(blocks) if step.slow is None else _converged(substitution, blocks)

    def apply(state: np.ndarray) -> np.ndarray:
        if np.iscomplexobj(state):
            both = real(np.stack([state.real, state.imag], axis=-1).reshape(len(state), -1))
            parts = both.reshape(*state.shape, 2)
            return np.asarray(parts[..., 0] + 1j * parts[..., 1])
        return real(np.asarray(state, dtype=float))

    return StepMap(step.sizes[0], step.sizes, step.history_of, apply)


def _converged(substitution: Substitution, known: dict[str, np.ndarray]) -> np.ndarray:
    """Correct until the predicted and the solved slow values agree, as the simulator does."""
    step = substitution.step
    guess = known[step.state[0]]
    last = np.inf
    for _ in range(MOST_CORRECTIONS):
        after = substitution.advance(known | {NEW: guess})
        w = after[: len(guess)]
        change = float(np.abs(w[step.slow] - guess[step.slow]).max(initial=0.0))
        guess = w
        if change <= AGREED * np.abs(w).max() or (
            change >= last and change <= 1e3 * AGREED * np.abs(w).max()
        ):
            return after
        last = change
    raise SchemeError(
        f"the corrections of a macro step do not converge (last change {change:.3g} after "
        f"{MOST_CORRECTIONS}); "
        "try a smaller h_slow, another partition, or a fixed number of corrections"
    )


# Up to this order the matrix is formed and every multiplier computed.
SMALL = 120

# Arnoldi on the map: those a hundredth outside the unit circle are found in fewer restarts (measured on the
# chain of WSCC 9-bus copies).
LARGEST, BASIS, RESTARTS, TOLERANCE = 6, 60, 6, 1e-6

# Arnoldi on T^p (T - 1): time in s that p steps span, at most so many steps.
SPAN, MOST_STEPS = 1.0, 200
AWAY_COUNT, AWAY_BASIS, AWAY_RESTARTS = 2, 24, 6

# A pair whose residual |T v - z v| / |v| is larger is not taken for a multiplier.
ACCEPTED = 1e-4

# Multipliers nearer to 1 than this are those of slow modes, which the modes of the system decide: z = 1 of
# the common angle is so badly conditioned that Arnoldi puts it up to 2e-5 outside.
NEAR_ONE = 1e-3


@dataclass(frozen=True, eq=False)
class Outermost:
    """Multipliers of largest magnitude, as far as Arnoldi can tell.

    `z`, `vectors`, `residuals`: (k,) multipliers by descending magnitude, their vectors (order, k) of length
      1, and |T v - z v|.
    `steps`: Steps that were applied.
    `complete`: Whether every multiplier was computed.
    `away`: Every multiplier further than this from 1 is inside the unit circle; infinite where nothing is
      known.
    """

    z: np.ndarray
    vectors: np.ndarray
    residuals: np.ndarray
    steps: int
    complete: bool
    away: float

    @property
    def outside(self) -> np.ndarray:
        """(k,) whether a multiplier is outside the unit circle beyond what its residual explains.

        Those close to 1 are outside only beyond `NEAR_ONE`.
        """
        excess = np.abs(self.z) - 1.0
        allowed = np.where(np.abs(self.z - 1.0) < 10 * NEAR_ONE, NEAR_ONE, 1e-6 + 1e2 * self.residuals)
        return np.asarray(excess > allowed)


def outermost(step: StepMap, h: float) -> Outermost:
    """Return the outermost multipliers of a step of h in s."""
    if step.order <= SMALL:
        z, vectors = _every(step)
        return _sorted(z, vectors, np.zeros(len(z)), step.order, True, 0.0)
    count = 0

    def times(state: np.ndarray, steps: int) -> np.ndarray:
        nonlocal count
        count += steps
        for _ in range(steps):
            state = step.apply(state)
        return state

    start = step.apply(np.random.default_rng(0).standard_normal(step.order))
    found = _arnoldi(lambda state: times(state, 1), start, LARGEST, BASIS, RESTARTS)[1]
    pairs, away = [_verified(step, vector) for vector in found.T], np.inf
    if not any(abs(z) > 1.0 + NEAR_ONE for z, _, residual in pairs if residual <= ACCEPTED):
        many = min(MOST_STEPS, max(1, round(SPAN / h)))
        values, found = _arnoldi(
            lambda state: times(times(state, 1) - state, many), start, AWAY_COUNT, AWAY_BASIS, AWAY_RESTARTS
        )
        away = float(np.abs(values).max()) if values.size else np.inf
        pairs += _separated(step, found)
    good = [pair for pair in pairs if pair[2] <= ACCEPTED]
    if not good:
        none = np.zeros(0, complex), np.zeros((step.order, 0), complex), np.zeros(0)
        return Outermost(*none, count, False, away)
    z, vectors, residuals = zip(*good, strict=True)
    return _sorted(np.array(z), np.column_stack(vectors), np.array(residuals), count, False, away)


def fastest_growing(step: StepMap) -> tuple[complex, np.ndarray] | None:
    """Return the multiplier of largest magnitude and its vector, where one is found outside the circle."""
    if step.order <= SMALL:
        vectors = _every(step)[1]
    else:
        start = step.apply(np.random.default_rng(0).standard_normal(step.order))
        vectors = _arnoldi(step.apply, start, LARGEST, BASIS, RESTARTS)[1]
    pairs = [_verified(step, vector) for vector in vectors.T]
    good = [(z, vector) for z, vector, residual in pairs if residual <= ACCEPTED and abs(z) > 1.0 + NEAR_ONE]
    return max(good, key=lambda pair: abs(pair[0]), default=None)


def _every(step: StepMap) -> tuple[np.ndarray, np.ndarray]:
    z, vectors = np.linalg.eig(np.column_stack([step.apply(column) for column in np.eye(step.order)]))
    return z, vectors


def _arnoldi(
    apply: Callable[[np.ndarray], np.ndarray], start: np.ndarray, count: int, basis: int, restarts: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the eigenvalues of largest magnitude that have converged, and their vectors."""
    size = len(start)
    operator = LinearOperator((size, size), matvec=lambda state: apply(np.ravel(state)), dtype=float)
    try:
        return eigs(operator, k=count, ncv=basis, which="LM", maxiter=restarts, tol=TOLERANCE, v0=start)
    except ArpackNoConvergence as partial:
        return partial.eigenvalues, partial.eigenvectors


def _verified(step: StepMap, vector: np.ndarray) -> tuple[complex, np.ndarray, float]:
    """Return a vector's multiplier by its Rayleigh quotient, the vector, and the residual."""
    vector = vector / np.linalg.norm(vector)
    image = step.apply(vector)
    z = complex(np.vdot(vector, image))
    return z, vector, float(np.linalg.norm(image - z * vector))


def _separated(step: StepMap, vectors: np.ndarray) -> list[tuple[complex, np.ndarray, float]]:
    """Return the pairs of the map in a space that a polynomial of it leaves alone.

    Multipliers that differ may have one value of the polynomial: they share a space there, not their vectors.
    """
    if not vectors.size:
        return []
    basis = np.linalg.qr(vectors)[0]
    image = np.column_stack([step.apply(column) for column in basis.T])
    coordinates = np.linalg.eig(basis.conj().T @ image)[1]
    return [_verified(step, vector) for vector in (basis @ coordinates).T]


def _sorted(
    z: np.ndarray, vectors: np.ndarray, residuals: np.ndarray, steps: int, complete: bool, away: float
) -> Outermost:
    order = np.argsort(-np.abs(z), kind="stable")
    keep: list[int] = []
    for k in order:  # a multiplier that both searches found is one
        if not any(abs(z[k] - z[j]) <= 1e-7 + residuals[k] + residuals[j] for j in keep) or complete:
            keep.append(int(k))
    return Outermost(z[keep], vectors[:, keep], residuals[keep], steps, complete, away)
