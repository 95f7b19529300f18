"""Eigenvalues with what is needed to trust them: vectors, and how far rounding may have moved each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from psmr.base.errors import SingularError
from psmr.dae.system.eigenvalues import EPS, eigen, eigen_of, rounding
from psmr.dae.system.linear import LinearDae


@dataclass(frozen=True, eq=False)
class Modes:
    """Eigenvalues of the state matrix.

    `s`: (n,) eigenvalues in 1/s, by descending real part; zeros by structure are exactly 0.
    `vectors`: (n + m, n) their right eigenvectors, continued to the algebraic variables; a column has length
      1.
    `participation`: (n, n) share of each state (row) in each mode; a column adds up to 1.
    `error`: (n,) how far rounding may have moved each s in 1/s; see `psmr.dae.system.eigenvalues.Eigen`.
    `split`: How far rounding moves the two eigenvalues of a Jordan block from one another, sqrt(eps) |A| in
      1/s: what a step makes of a double zero is as far from z = 1.
    """

    s: np.ndarray
    vectors: np.ndarray
    participation: np.ndarray
    error: np.ndarray
    split: float

    @property
    def undecided(self) -> np.ndarray:
        """(n,) whether rounding may hide on which side of the axis each s is."""
        return np.asarray(np.abs(self.s.real) <= self.error)


@dataclass(frozen=True, eq=False)
class Multipliers:
    """Non-zero eigenvalues of a step operator.

    `z`: (k,) eigenvalues, by descending magnitude.
    `vectors`: (n + m, k) the part of their eigenvectors that belongs to w = (x, y); a column has length 1.
    `participation`: (n + m, k) share of each variable of w in each; with that of older points a column adds
      up to 1.
    `error`: (k,) how far rounding may have moved each z; see `psmr.dae.system.eigenvalues.rounding`, with the
      unit circle for a border.
    """

    z: np.ndarray
    vectors: np.ndarray
    participation: np.ndarray
    error: np.ndarray


def modes_of(linear: LinearDae) -> Modes:
    """Compute the eigenvalues of A = fx - fy gy^-1 gx and their vectors in all n + m variables.

    Raises SingularError when gy is singular: the DAE is not of index 1 at this point.
    """
    n, m = linear.n, linear.m
    if linear.delays is not None:
        return _delayed_modes(linear)
    follow = np.zeros((m, n))  # y = follow x
    if m:
        try:
            follow = -splu(sp.csc_matrix(linear.gy)).solve(linear.gx.toarray())
        except RuntimeError as error:
            raise SingularError(
                f"gy of order {m} is singular: the algebraic equations do not determine the algebraic "
                "variables here (the DAE is not of index 1)"
            ) from error
    state_matrix = linear.fx.toarray() + linear.fy @ follow
    found = eigen(state_matrix)
    s, vectors = found.values, found.right
    order = np.lexsort((-s.imag, np.abs(s.imag), -s.real))
    full = np.vstack([vectors, follow @ vectors])[:, order]
    full, shares = full / np.linalg.norm(full, axis=0), _shares(found.left, vectors)[:, order]
    return Modes(s[order], full, shares, found.error[order], np.sqrt(EPS) * found.norm)


def _delayed_modes(linear: LinearDae) -> Modes:
    """Return the roots of the characteristic equation that are found, as `modes_of` does eigenvalues."""
    found, delays = eigen_of(linear), linear.delays
    assert delays is not None
    s, vectors = found.values, found.right
    order = np.lexsort((-s.imag, np.abs(s.imag), -s.real))
    full = np.zeros((linear.n + linear.m, len(s)), dtype=complex)
    for k, value in enumerate(s):
        late = sp.csc_matrix(linear.jacobian_at_once() + delays.at(value))[linear.n :]
        full[: linear.n, k] = vectors[:, k]
        if linear.m:
            full[linear.n :, k] = -splu(late[:, linear.n :]).solve(late[:, : linear.n] @ vectors[:, k])
    full, shares = full[:, order], _shares(found.left, vectors)[:, order]
    return Modes(
        s[order], full / np.linalg.norm(full, axis=0), shares, found.error[order], np.sqrt(EPS) * found.norm
    )


def multipliers_of(operator: np.ndarray, size: int) -> Multipliers:
    """Compute the non-zero eigenvalues of a step operator whose state begins with w of length `size`.

    Most eigenvalues of a step operator are exactly 0 (algebraic variables and history leave no trace).
    Computed as they stand they scatter around 0 up to sqrt(eps); so the null space is taken off first.
    """
    cores, bases = _without_null_space(operator)
    core = cores[-1]
    z, left, right = scipy.linalg.eig(core, left=True, right=True)
    norm, size_of = float(np.linalg.norm(core, 2)) if len(core) else 0.0, np.abs(z)
    error = rounding(core, left, right, len(core) * EPS * norm, norm, size_of - 1.0, z / size_of)
    for core, basis in zip(cores[-2::-1], bases[::-1], strict=True):
        right = basis @ right
        left = core.T @ basis @ left / z.conj()  # so that left^H core = z left^H
    vectors, shares = right[:size], _shares(left, right)[:size]
    order = np.lexsort((-z.imag, -np.abs(z)))
    lengths = np.maximum(np.linalg.norm(vectors, axis=0), np.finfo(float).tiny)
    return Multipliers(z[order], (vectors / lengths)[:, order], shares[:, order], error[order])


def _shares(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Participation factors |left * right|, unit-free, each column divided by its sum."""
    product = np.abs(left.conj() * right)
    return product / np.maximum(product.sum(axis=0), np.finfo(float).tiny)


def _without_null_space(matrix: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Take the null space off a matrix until it is regular; its non-zero eigenvalues stay.

    With the columns of Q spanning the range of T, T Q u = z Q u for every eigenvector u of C = Q^T T Q.
    Returned are the matrices T, C, ... (the last regular) and the Q between each two.
    """
    cores, bases = [matrix], []
    noise = len(matrix) * EPS * np.linalg.norm(matrix, 2)
    while len(cores[-1]):
        q, r, _ = scipy.linalg.qr(cores[-1], mode="economic", pivoting=True)
        rank = int(np.count_nonzero(np.abs(np.diag(r)) > noise))
        if rank == len(cores[-1]):
            break
        bases.append(q[:, :rank])
        cores.append(bases[-1].T @ cores[-1] @ bases[-1])
    return cores, bases
