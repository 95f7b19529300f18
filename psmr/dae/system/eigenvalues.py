"""Eigenvalues of a state matrix, of which those that are zero by structure are exactly 0.

All angles of a system without an infinite bus can turn together, and where nothing governs the frequency all
speeds can grow together: A has a zero eigenvalue of multiplicity one or two, the second one in a Jordan
block. An eigenvalue solver, which finds the eigenvalues of a matrix off by eps |A|, puts a double zero up to
sqrt(eps |A|) to either side of 0 (Golub and Van Loan, Matrix Computations, section 7.2), which reads as an
unstable mode. Its size does not tell such a zero from a slow mode, its vector does: the zeros are taken off
by their null vectors before the others are computed.

With A V = 0, V (n, k) and its rows `drop` the unit matrix, z = x_keep - V_keep x_drop are the states
relative to those of `drop`, as angles relative to that of one machine, and follow z' = B z by themselves:

    B = A[keep, keep] - V_keep A[drop, keep]

has the other eigenvalues of A, and its own null vectors are the next ones of the Jordan chains.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

Reals = NDArray[np.float64]
Complexes = NDArray[np.complex128]

# Columns of A with rows and then columns of length 1 that depend on the others to this: a null vector.
# Rounding leaves 1e-17 to 4e-13 (n eps times the condition of g_y, and of what was taken off before), while
# the smallest of any other mode was 5e-5 (WSCC-9, Kundur, New England, with converters and without governors,
# a microgrid).
DEPENDENT = 1e-10


EPS = float(np.finfo(float).eps)


@dataclass(frozen=True, eq=False)
class Eigen:
    """Eigenvalues and eigenvectors of a state matrix A.

    Attributes
    ----------
    values
        (n,) eigenvalues in 1/s; those that are zero by structure are exactly 0, and come last.
    left, right
        (n, n) vectors in columns, left^H A = value left^H. Those of the zeros span the null space and the
        Jordan chains that end in it; they are real, and left^T right is the unit matrix among them.
    error
        (n,) how far rounding may have moved each value in 1/s, to first order: n eps |A| over the cosine of
        the angle between its vectors (Golub and Van Loan, section 7.2.2), at most that of a Jordan block of
        two, sqrt(eps) |A|; 0 for the zeros.
    norm
        |A|, the largest singular value, in 1/s.
    """

    values: Complexes
    left: Complexes
    right: Complexes
    error: Reals
    norm: float


@dataclass(frozen=True, eq=False)
class _Core:
    """A state matrix without its zeros: x follows from z (r,) and d (k,), z' = matrix z, and d is dropped.

    Attributes
    ----------
    matrix
        (r, r) what z follows.
    kept
        (r,) places of z in x where d is 0.
    z_of, d_of
        (r, n) and (k, n): z and d of x.
    null
        (n, k) what d = 1 is in x where z is 0: null vectors of A and the rest of their Jordan chains.
    levels
        Length of the longest chain.
    """

    matrix: Reals
    kept: NDArray[np.intp]
    z_of: Reals
    d_of: Reals
    null: Reals
    levels: int


def eigen(matrix: Reals) -> Eigen:
    """Return the eigenvalues and eigenvectors of a state matrix (n, n)."""
    n, core = len(matrix), _without_zeros(matrix)
    zeros = n - len(core.matrix)
    norm = float(np.linalg.norm(matrix, 2)) if n else 0.0
    values, left, right = _eig(core.matrix)
    cosine = np.abs(np.einsum("ij,ij->j", left.conj(), right))
    error = np.minimum(n * EPS / np.maximum(cosine, EPS), np.sqrt(EPS)) * norm
    left = core.z_of.T @ left
    if zeros:
        # d' = C z + N d with N nilpotent: d = sum N^i C z / value^(i+1) in a mode, and d - X z sees none with
        # X = sum N^i C B^-(i+1).
        coupling = core.d_of @ matrix
        chain, term, image = coupling @ core.null, coupling[:, core.kept], coupling[:, core.kept] @ right
        dropped, seen = np.zeros_like(image), np.asarray(np.zeros_like(term))
        for _ in range(core.levels):
            image = image / values
            term = np.asarray(np.linalg.solve(core.matrix.T, term.T).T)
            dropped, seen = dropped + image, seen + term
            image, term = chain @ image, chain @ term
        placed = np.zeros((n, len(values)), complex)
        placed[core.kept] = right
        right = np.hstack([placed + core.null @ dropped, core.null])
        left = np.hstack([left, (core.d_of - seen @ core.z_of).T])
    values, error = (np.append(found, np.zeros(zeros)) for found in (values, error))
    return Eigen(values, left, right, error, norm)


def eigenvalues(matrix: Reals) -> Complexes:
    """Return the (n,) eigenvalues of a state matrix (n, n) in 1/s; its zeros are exactly 0, and come last."""
    core = _without_zeros(matrix).matrix
    return np.append(_eig(core)[0], np.zeros(len(matrix) - len(core)))


def _eig(matrix: Reals) -> tuple[Complexes, Complexes, Complexes]:
    if not len(matrix):
        return np.zeros(0, complex), np.zeros((0, 0), complex), np.zeros((0, 0), complex)
    values, left, right = scipy.linalg.eig(matrix, left=True, right=True)
    return values.astype(complex), left.astype(complex), right.astype(complex)


def _without_zeros(matrix: Reals) -> _Core:
    n, levels = len(matrix), 0
    kept, z_of = np.arange(n), np.eye(n)
    d_of, null = np.zeros((0, n)), np.zeros((n, 0))
    while len(matrix):
        keep, drop, vectors = _null_vectors(matrix)
        if not len(drop):
            break
        chain = np.zeros((n, len(drop)))
        chain[kept[keep]], chain[kept[drop]] = vectors, np.eye(len(drop))
        d_of, null = np.vstack([d_of, z_of[drop]]), np.hstack([null, chain])
        z_of, kept = z_of[keep] - vectors @ z_of[drop], kept[keep]
        matrix = matrix[np.ix_(keep, keep)] - vectors @ matrix[np.ix_(drop, keep)]
        levels += 1
    return _Core(matrix, kept, z_of, d_of, null, levels)


def _null_vectors(matrix: Reals) -> tuple[NDArray[np.intp], NDArray[np.intp], Reals]:
    """Return r rows to keep, k to drop, and the first r components of null vectors that are 1 at the others.

    They are found by QR with column pivoting, of rows and then columns of length 1, so that units and stiff
    states do not count.
    """
    rows = np.linalg.norm(matrix, axis=1)
    scaled = matrix / np.where(rows > 0.0, rows, 1.0)[:, None]
    columns = np.linalg.norm(scaled, axis=0)
    columns = np.where(columns > 0.0, columns, 1.0)
    r, order = scipy.linalg.qr(scaled / columns, mode="r", pivoting=True)
    rank = int(np.count_nonzero(np.abs(np.diag(r)) > DEPENDENT))
    keep, drop = order[:rank], order[rank:]
    if not rank or not drop.size:  # LAPACK takes no empty right-hand side (scipy 1.13)
        return keep, drop, np.zeros((rank, drop.size))
    vectors = -scipy.linalg.solve_triangular(r[:rank, :rank], r[:rank, rank:])
    return keep, drop, vectors / columns[keep, None] * columns[drop]
