"""The slow-manifold scheme of Gil, Sanfelice and Nikravesh (2013): its record and the matrices of a step.

With x the slow and z the fast states and the algebraic variables eliminated, x' = f(x, z) and z' = g(x, z).
Around the start (x_n, z_n) of a step g is linear; H(x) = z_n - g_z^-1 (g_x (x - x_n) + g_n) is where the fast
states would rest, and y = z - H their distance from it. x follows Runge-Kutta 4 on f(x, H(x)) plus the
integral of f_z y, and y follows matrix exponentials.

The published text has slips, corrected here: the block matrix (47) is [A C B; 0 0 1; 0 0 0], and H in step 2
reads z_n and g_z where y_n and g_y are printed. `psmr.reproduce.gil_sanfelice_nikravesh` has the evidence.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import splu

from partitioning import Partition
from psmr.errors import SchemeError, SingularError
from psmr.numerics.schemes.scheme import NEWTONS, Newton
from psmr.numerics.steppers.exponential import condition, integrals

Reals = NDArray[np.float64]

JACOBIANS = ("step", "kept")

# Up to this order of the Jacobian dense elimination (a third of order^3 operations) costs less than the
# overhead of sparse slices and factors, about 1 ms.
DENSE = 200


@dataclass(frozen=True)
class SlowManifold:
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
        if not isinstance(self.split, Partition):
            raise SchemeError(
                f"split: a Partition is needed, not {type(self.split).__name__}; "
                "make one with partitioning.by_participation(linear, delta=...)"
            )
        for name, value, unit in (
            ("h", self.h, " in s"),
            ("drift", self.drift, ""),
            ("tolerance", self.tolerance, ""),
        ):
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if not number or not math.isfinite(value) or value <= 0:
                raise SchemeError(f"{name} = {value!r}: must be a finite number > 0{unit}")
        for name, choice, allowed in (
            ("jacobian", self.jacobian, JACOBIANS),
            ("newton", self.newton, NEWTONS),
        ):
            if choice not in allowed:
                raise SchemeError(f"{name} = {choice!r}: must be one of {', '.join(map(repr, allowed))}")
        if not self.split.fast_x.any():
            raise SchemeError(
                f"split has no fast state ({self.split}), so the scheme would be Runge-Kutta 4; "
                "use SingleRate('RK4', h) or a smaller delta"
            )

    @property
    def step(self) -> float:
        """Time between two accepted points in s."""
        return self.h

    def __str__(self) -> str:
        when = "at every step" if self.jacobian == "step" else f"kept until a drift of {self.drift:g}"
        return f"slow manifold, h = {self.h:g} s, {self.split.fast_x.sum()} fast states, linearised {when}"


class Manifold(NamedTuple):
    """Matrices of one linearisation and one step size, for p slow and q fast states.

    Attributes
    ----------
    inverse, K
        g_z^-1 (q, q) in s, and g_z^-1 g_x (q, p): H' = -K.
    fz
        f_z (p, q) in 1/s.
    I1, I2
        Integrals of exp(g_z (h - s)) and of exp(g_z (h - s)) s, equations (33) to (37).
    E, F1, F2
        exp(A h) and the same integrals with A = g_z + K f_z, equations (40) to (47).
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

    Parameters
    ----------
    matrix
        Jacobian (n + m, n + m) of a DAE with n states.
    slow, fast
        Positions of the slow and fast states.

    Raises
    ------
    SingularError
        When g_y is singular.

    Notes
    -----
    In a large system only as many solves as there are fast states, of g_y and of its transpose: the state
    matrix is never formed.
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


def _clearly_regular(matrix: Reals, limit: float) -> bool:
    """Return whether the condition is below the limit in the units as they are: a cheap first look."""
    try:
        return bool(np.linalg.norm(matrix) * np.linalg.norm(np.linalg.inv(matrix)) <= limit)
    except np.linalg.LinAlgError:
        return False


def require_fit(gz: Reals, names: tuple[str, ...], tolerance: float, where: str) -> None:
    """Refuse fast states that have no quasi-steady state.

    Parameters
    ----------
    gz
        (q, q) after elimination of the algebraic variables.
    names
        Of the fast states.
    tolerance
        Rounding, amplified by the condition of g_z, must stay below it.
    where
        Words for the occasion.

    Raises
    ------
    SchemeError
        With the reason: the states that nothing in the fast set brings back to rest.
    """
    if not np.isfinite(gz).all():
        raise SchemeError(f"slow manifold, {where}: g_z of the fast states is not finite")
    limit = tolerance / np.finfo(float).eps
    if not gz.size or _clearly_regular(gz, limit):
        return
    number, share = condition(gz)
    if number <= limit:
        return
    weak = [names[i] for i in np.argsort(-share, kind="stable") if share[i] > 0.1][:4]
    raise SchemeError(
        f"slow manifold, {where}: g_z of the {len(names)} fast states is singular (condition {number:.2g}, "
        "at most "
        f"{limit:.2g}); {', '.join(weak)} "
        f"{'acts as a pure integrator' if len(weak) == 1 else 'act as pure integrators'} "
        "in the fast set: without a rest to return to there is no slow manifold. Take "
        f"{'it' if len(weak) == 1 else 'them'} out of the fast set (partitioning.by_hand, or a larger delta)"
    )
