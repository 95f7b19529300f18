"""The matrices of a step on the slow manifold: linearisation, elimination, exponentials, and its linear map.

With x the slow and z the fast states and the algebraic variables eliminated, x' = f(x, z) and z' = g(x, z);
the formulas are those of the paper, see `psmr.papers.gil_sanfelice_nikravesh.slow_manifold`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import splu

from psmr.base.arrays import Reals
from psmr.base.errors import SchemeError, SingularError
from psmr.integrate.schemes.stability import mode_words, narrowest, stability_polynomial


def integrals(matrix: Reals, h: float) -> tuple[Reals, Reals, Reals]:
    """Return what a linear system y' = A y + b + c s does in a step: y(h) = E y(0) + F1 b + F2 c.

    Parameters
    ----------
    matrix
        A, (k, k), in 1/s.
    h
        Step in s.

    Returns
    -------
    E, F1, F2
        exp(A h), the integral of exp(A (h - s)) over [0, h] in s, and that of exp(A (h - s)) s in s^2.

    Notes
    -----
    They are the first block row of exp(h [A I 0; 0 0 I; 0 0 0]) (Van Loan, IEEE Transactions on Automatic
    Control 23, 1978). No inverse of A is formed, so that they are right for a singular A too.
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
    condition of [[0, 1], [-5e5, 0]], a spring, is 1.

    Returns
    -------
    number
        Ratio of the singular values; infinite for a singular matrix.
    direction
        (k,) share of each variable in the direction that the matrix sees least; its largest entry is 1.
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


def slow_manifold_map(A: Reals, fast: NDArray[np.bool_], h: float) -> Reals:
    """Return M (n, n) of one slow-manifold step of h in s on x' = A x.

    Parameters
    ----------
    A
        State matrix, (n, n), in 1/s.
    fast
        (n,) which states are fast.

    Notes
    -----
    With K = g_z^-1 g_x, A0 = f_x - f_z K, S = [K I] and the integrals F1, F2 (`exponential`)::

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
