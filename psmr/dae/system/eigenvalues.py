"""Eigenvalues of a state matrix, exactly 0 where they are zero by structure, and the modes as a table.

Eigenvalues of a state matrix, of which those that are zero by structure are exactly 0.

All angles of a system without an infinite bus can turn together, and where nothing governs the frequency all
speeds can grow together: A has a zero eigenvalue of multiplicity one or two, the second one in a Jordan
block. An eigenvalue solver, which finds the eigenvalues of a matrix off by eps |A|, puts a double zero up to
sqrt(eps |A|) to either side of 0 (Golub and Van Loan, Matrix Computations, section 7.2), which reads as an
unstable mode. Its size does not tell such a zero from a slow mode, its vector does: the zeros are taken off
by their null vectors before the others are computed. A row of A below eps |A| is one of zeros.

With A V = 0, V (n, k) and its rows `drop` the unit matrix, z = x_keep - V_keep x_drop are the states
relative to those of `drop`, as angles relative to that of one machine, and follow z' = B z by themselves:

    B = A[keep, keep] - V_keep A[drop, keep]

has the other eigenvalues of A, and its own null vectors are the next ones of the Jordan chains.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import splu

from psmr.base.arguments import check_arguments
from psmr.base.threads import on_one_thread
from psmr.dae.system.characteristic_roots import characteristic_roots
from psmr.dae.system.linear import LinearDae

if TYPE_CHECKING:
    import pandas as pd


Reals = NDArray[np.float64]
Complexes = NDArray[np.complex128]

# Columns of A with rows and then columns of length 1 that depend on the others to this: a null vector.
# Rounding leaves 1e-17 to 4e-13 (n eps times the condition of g_y, and of what was taken off before), while
# the smallest of any other mode was 5e-5 (WSCC-9, Kundur, New England, with converters and without governors,
# a microgrid).
DEPENDENT = 1e-10


EPS = float(np.finfo(float).eps)

# So many times the first-order bound beyond a border an eigenvalue is there: those of a Jordan block of p
# come out where the bound, taken at them, is a p-th of their distance from its centre.
CLEAR = 10.0

ITERATIONS = 8


@dataclass(frozen=True, eq=False)
class Eigen:
    """Eigenvalues and eigenvectors of a state matrix A.

    `values`: (n,) eigenvalues in 1/s; those that are zero by structure are exactly 0, and come last.
    `left`, `right`: (n, n) vectors in columns, left^H A = value left^H. Those of the zeros span the null
      space and the Jordan chains that end in it; they are real, and left^T right is the unit matrix among
      them.
    `error`: (n,) how far rounding may have moved each value in 1/s; see `rounding`. That of a value right of
      the axis is at least its real part where the solver cannot tell it from one on the axis. 0 for the
      zeros.
    `norm`: |A|, the largest singular value, in 1/s.
    """

    values: Complexes
    left: Complexes
    right: Complexes
    error: Reals
    norm: float


@dataclass(frozen=True, eq=False)
class _Core:
    """A state matrix without its zeros: x follows from z (r,) and d (k,), z' = matrix z, and d is dropped.

    `matrix`: (r, r) what z follows.
    `kept`: (r,) places of z in x where d is 0.
    `z_of`, `d_of`: (r, n) and (k, n): z and d of x.
    `null`: (n, k) what d = 1 is in x where z is 0: null vectors of A and the rest of their Jordan chains.
    `levels`: Length of the longest chain.
    """

    matrix: Reals
    kept: NDArray[np.intp]
    z_of: Reals
    d_of: Reals
    null: Reals
    levels: int


@on_one_thread
def eigen(matrix: Reals) -> Eigen:
    """Return the eigenvalues and eigenvectors of a state matrix (n, n)."""
    n, core = len(matrix), _without_zeros(matrix)
    zeros = n - len(core.matrix)
    norm = float(np.linalg.norm(matrix, 2)) if n else 0.0
    values, left, right = _eig(core.matrix)
    error = rounding(core.matrix, left, right, n * EPS * norm, norm, values.real, 1j * values.imag)
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
    return Eigen(np.append(values, np.zeros(zeros)), left, right, np.append(error, np.zeros(zeros)), norm)


def rounding(
    matrix: Reals,
    left: Complexes,
    right: Complexes,
    backward: float,
    norm: float,
    beyond: Reals,
    border: NDArray[Any],
) -> Reals:
    """Return how far rounding may have moved each eigenvalue of a matrix.

    To first order that is the backward error over the cosine of the angle between left and right vector
    (Golub and Van Loan, section 7.2.2), here at most what it does to a Jordan block of two,
    sqrt(backward |A|). Where eigenvalues are close together or defective the first order says nothing; but
    one beyond a border can be told from one on it only where no matrix within the backward error has the
    border's point c as an eigenvalue, which is where the smallest singular value of A - c I is above it
    (Trefethen and Embree, Spectra and Pseudospectra, section 2).

    `matrix`, `left`, `right`: (r, r) matrix, and its left and right eigenvectors of length 1 in columns;
    `backward`: norm of the backward error of the eigenvalues; `norm`: norm of the matrix; `beyond`: (r,) how
    far each eigenvalue is beyond the border, below 0 on the other side; `border`: (r,) the point of the
    border next to it.
    """
    cosine = np.abs(np.einsum("ij,ij->j", left.conj(), right))
    first = backward / np.maximum(cosine, np.finfo(float).tiny)
    error = np.minimum(first, math.sqrt(backward * norm))
    size = np.abs(beyond)
    near = (size > 0.0) & (size < CLEAR * first) & ((beyond > 0.0) | (size <= error))
    for k in np.flatnonzero(near):
        distance = smallest_singular(matrix - border[k] * np.eye(len(matrix)), right[:, k])
        error[k] = size[k] * backward / distance if distance > 0.0 else max(size[k], error[k])
    return error


def smallest_singular(matrix: Complexes, start: Complexes) -> float:
    """Return the smallest singular value of a matrix (r, r), by inverse iteration on its square.

    From above, and to a few per cent: the start, (r,), is a vector that the matrix makes short.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", scipy.linalg.LinAlgWarning)
        lu = scipy.linalg.lu_factor(matrix, check_finite=False)
    if not np.diag(lu[0]).all():
        return 0.0
    v, size = start / np.linalg.norm(start), 0.0
    for _ in range(ITERATIONS):
        v = scipy.linalg.lu_solve(lu, scipy.linalg.lu_solve(lu, v, trans=2), check_finite=False)
        size = float(np.linalg.norm(v))
        if not math.isfinite(size):
            return 0.0
        v = v / size
    return 1.0 / math.sqrt(size)


@on_one_thread
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
    least = n * EPS * float(np.linalg.norm(matrix, 2)) if n else 0.0
    kept, z_of = np.arange(n), np.eye(n)
    d_of, null = np.zeros((0, n)), np.zeros((n, 0))
    while len(matrix):
        keep, drop, vectors = _null_vectors(matrix, least)
        if not len(drop):
            break
        chain = np.zeros((n, len(drop)))
        chain[kept[keep]], chain[kept[drop]] = vectors, np.eye(len(drop))
        d_of, null = np.vstack([d_of, z_of[drop]]), np.hstack([null, chain])
        z_of, kept = z_of[keep] - vectors @ z_of[drop], kept[keep]
        matrix = matrix[np.ix_(keep, keep)] - vectors @ matrix[np.ix_(drop, keep)]
        levels += 1
    return _Core(matrix, kept, z_of, d_of, null, levels)


def _null_vectors(matrix: Reals, least: float) -> tuple[NDArray[np.intp], NDArray[np.intp], Reals]:
    """Return r rows to keep, k to drop, and the first r components of null vectors that are 1 at the others.

    They are found by QR with column pivoting, of rows and then columns of length 1, so that units and stiff
    states do not count; a row of a length up to `least`, the backward error of the eigenvalues, is 0.
    """
    rows = np.linalg.norm(matrix, axis=1)
    scaled = matrix / np.where(rows > least, rows, np.inf)[:, None]
    columns = np.linalg.norm(scaled, axis=0)
    columns = np.where(columns > 0.0, columns, 1.0)
    r, order = scipy.linalg.qr(scaled / columns, mode="r", pivoting=True)
    rank = int(np.count_nonzero(np.abs(np.diag(r)) > DEPENDENT))
    keep, drop = order[:rank], order[rank:]
    if not rank or not drop.size:  # LAPACK takes no empty right-hand side (scipy 1.13)
        return keep, drop, np.zeros((rank, drop.size))
    vectors = -scipy.linalg.solve_triangular(r[:rank, :rank], r[:rank, rank:])
    return keep, drop, vectors / columns[keep, None] * columns[drop]


def eigen_of(linear: LinearDae, follow: Reals | None = None) -> Eigen:
    """Return the eigenvalues of a linearised DAE, with delays those roots that are found.

    Their vectors have the states alone. Zeros by structure are those of the system without delays: it is at
    rest in the same points, and what is constant is not delayed. `follow`: `LinearDae.following`, if known.
    """
    if linear.delays is None:
        follow = linear.following() if follow is None else follow
        return eigen(np.asarray(linear.fx.toarray() + linear.fy @ follow))
    roots, n = characteristic_roots(linear), linear.n
    at_once = eigen(linear.without_delays().state_matrix())
    zero = at_once.values == 0
    least = np.sqrt(np.finfo(float).eps) * at_once.norm if zero.any() else -1.0
    own = np.abs(roots.s) > least
    return Eigen(
        np.concatenate([roots.s[own], at_once.values[zero]]),
        np.hstack([roots.left[:n, own], at_once.left[:, zero]]),
        np.hstack([roots.right[:n, own], at_once.right[:, zero]]),
        np.concatenate([roots.error[own], at_once.error[zero]]),
        at_once.norm,
    )


@dataclass(frozen=True, eq=False)
class Modes:
    """Eigenvalues of the state matrix.

    `s`: (n,) eigenvalues in 1/s, by descending real part; zeros by structure are exactly 0. With delays those
      roots of the characteristic equation that are found.
    `vectors`: (n + m, n) their right eigenvectors, continued to the algebraic variables; a column has length
      1.
    `participation`: (n, n) share of each state (row) in each mode; a column adds up to 1.
    `error`: (n,) how far rounding may have moved each s in 1/s; see `Eigen`.
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


@on_one_thread
def modes_of(linear: LinearDae) -> Modes:
    """Return the modes of a linearised DAE with their vectors in all n + m variables.

    Raises SingularError when gy is singular: the DAE is not of index 1 at this point.
    """
    follow = linear.following() if linear.delays is None else None
    found = eigen_of(linear, follow)
    s, vectors = found.values, found.right
    algebraic = _late(linear, s, vectors) if follow is None else follow @ vectors
    return _in_order(found, np.vstack([vectors, algebraic]))


def _in_order(found: Eigen, vectors: Complexes) -> Modes:
    """Return eigenvalues as modes, by descending real part; `vectors` may go on in algebraic variables."""
    s = found.values
    order = np.lexsort((-s.imag, np.abs(s.imag), -s.real))
    vectors = vectors[:, order]
    taking = participation_factors(found.left, found.right)[:, order]
    lengths = np.linalg.norm(vectors, axis=0)
    return Modes(s[order], vectors / lengths, taking, found.error[order], math.sqrt(EPS) * found.norm)


def _late(linear: LinearDae, s: Complexes, vectors: Complexes) -> Complexes:
    """Return the (m, k) algebraic variables of roots s (k,) with vectors (n, k), of which some are late."""
    assert linear.delays is not None
    found = np.zeros((linear.m, len(s)), dtype=complex)
    for k, value in enumerate(s if linear.m else ()):
        late = sparse.csc_matrix(linear.jacobian_at_once() + linear.delays.at(value))[linear.n :]
        found[:, k] = -splu(late[:, linear.n :]).solve(late[:, : linear.n] @ vectors[:, k])
    return found


def participation_factors(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Participation factors |left * right|, unit-free, each column divided by its sum."""
    product = np.abs(left.conj() * right)
    return product / np.maximum(product.sum(axis=0), np.finfo(float).tiny)


def modes(linear: LinearDae) -> pd.DataFrame:
    """Return the modes of a linearised DAE, least damped first.

    Returns
    -------
    DataFrame
        A row per real eigenvalue or complex pair (the one with positive imaginary part): ``real`` in 1/s,
        ``imag`` in rad/s, ``frequency_hz``, ``damping_ratio`` (a fraction; NaN at 0), ``dominant_state``
        (largest participation factor), ``participation`` (its share), ``pair``, and ``grows``: whether the
        real part is above 0 by more than rounding. Zeros by structure, such as a common angle or speed, are
        exactly 0 (`psmr.dae.system.eigenvalues`).

    Raises
    ------
    InputError
        For a system with delays that is too large for their characteristic equation.
    SingularError
        When gy is singular: the DAE is not of index 1 at this point.

    Notes
    -----
    Where signals are read with a delay these are the roots of the characteristic equation nearest to 0, of
    the infinitely many that there are (`psmr.dae.system.characteristic_roots`).

    Participation factors: Perez-Arriaga, Verghese and Schweppe, 1982.
    """
    import pandas as pd  # slow to import, for tables alone

    return pd.DataFrame(mode_columns(linear))


def mode_columns(linear: LinearDae) -> dict[str, list[Any]]:
    """Return the columns of the table of `modes`."""
    check_arguments(modes, locals())
    eigenvalues = eigen_of(linear)
    found = _in_order(eigenvalues, eigenvalues.right)
    names = (
        "real", "imag", "frequency_hz", "damping_ratio", "dominant_state", "participation", "pair", "grows"
    )  # fmt: skip
    columns: dict[str, list[Any]] = {name: [] for name in names}
    for s, share, error in zip(found.s, found.participation.T, found.error, strict=True):
        if s.imag < 0:
            continue
        state = int(np.argmax(share))
        damping = -s.real / abs(s) if s != 0 else np.nan
        owner = (linear.names_x[state], share[state])
        row = (s.real, s.imag, s.imag / (2 * np.pi), damping, *owner, bool(s.imag > 0), bool(s.real > error))
        for name, value in zip(names, row, strict=True):
            columns[name].append(value)
    return columns
