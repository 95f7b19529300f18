"""One step of a scheme as a map on vectors: the step operator without its matrix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.sparse.linalg import LinearOperator

from psmr.base.errors import SchemeError
from psmr.dae.system.linear import LinearDae
from psmr.integrate.schemes.scheme import Scheme
from psmr.pencil.operator.equation import NEW
from psmr.pencil.operator.equations import StepEquations, step_equations
from psmr.pencil.operator.step_operator import Substitution

# Corrections to convergence stop when one of them changes the slow values by less than this share: above the
# rounding of a few solves, far below the residual asked of a mode.
AGREED = 1e-14
MOST_CORRECTIONS = 300


@dataclass(frozen=True, eq=False)
class StepMap:
    """The linear map state(t) -> state(t + h) with every matrix factorised once.

    Attributes
    ----------
    size
        Length of w = (x, y).
    sizes
        Lengths of the blocks of the state: w, and with spline or extrapolation what is remembered of
        t - h, or of t - h and t - 2h.
    history_of
        Positions in w of the variables that are remembered: the slow ones, or all.
    apply
        Takes (sum(sizes),) real or complex, or columns of that length, and returns the same.
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

    Raises
    ------
    SchemeError
        For a partition of another system, or corrections that diverge when they are applied.
    SingularError
        When an equation of the step has no unique solution.
    """
    return mapped(step_equations(linear, scheme))


def mapped(step: StepEquations) -> StepMap:
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
