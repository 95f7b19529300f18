"""Participation factors: how much each mode takes part in each state and each algebraic variable.

Mode-in-state factors after Perez-Arriaga, Verghese and Schweppe (1982), mode-in-output factors after Tzounas,
Dassios and Milano, Modal participation factors of algebraic variables (IEEE Trans. Power Systems 35, 2019).

Beside them the columns of a partition's table, a value per variable.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse.linalg
from scipy.linalg import lapack
from scipy.sparse.csgraph import connected_components

from partitioning.matching import refuse_singular
from partitioning.partition import Array, Linear, PartitionError, check_finite, device_of, variables

# A dense eigendecomposition with left vectors takes 0.9 s at 1000 states and about 8 s at 2000 on one core,
# and grows with the cube; the factors of 2000 states and 10000 algebraic variables fill 0.4 GB.
LARGEST = 2000
EPS = float(np.finfo(float).eps)


@dataclass(frozen=True, eq=False)
class Participation:
    """Eigenvalues of the state matrix with their participation factors.

    `eigenvalues`: ``(n,)`` complex, in 1/s and rad/s.
    `states`: ``(n, n)`` complex Px, a row per state, a column per eigenvalue; each row sums to one.
    `algebraic`: ``(m, n)`` complex Py, each row of Euclidean norm one, or zero where no state moves the
      variable.
    `cluster`: ``(n,)`` label of the eigenvalue: those that rounding cannot tell apart share one, and count
      together.
    `resolution`: ``(n,)`` bound in 1/s on the rounding error of each eigenvalue, or of the mean of its
      cluster.
    """

    eigenvalues: Array
    states: Array
    algebraic: Array
    cluster: Array
    resolution: Array

    def owners(self) -> Array:
        """Return the eigenvalue each variable belongs to, states first, ``(n + m,)`` complex.

        It is that with the largest absolute factor. A repeated eigenvalue takes part with the sum of its
        columns, the only figure that does not depend on the choice of its eigenvectors. One of a conjugate
        pair stands for both (imaginary part not negative), an eigenvalue smaller than its rounding error is
        0, and a variable that no state moves has NaN.
        """
        count = int(self.cluster.max()) + 1 if self.cluster.size else 0
        member = np.zeros((len(self.eigenvalues), count))
        member[np.arange(len(self.cluster)), self.cluster] = 1.0
        # The mean of a cluster is accurate to rounding where its members are not.
        values = (self.eigenvalues @ member) / np.maximum(member.sum(axis=0), 1.0)
        noise = np.array([self.resolution[self.cluster == c].max() for c in range(count)])
        values[np.abs(values) <= noise] = 0.0
        shares = np.abs(np.vstack([self.states, self.algebraic]) @ member)
        if not count:
            return np.full(len(shares), np.nan + 0j)
        owner = values[shares.argmax(axis=1)]
        owner = owner.real + 1j * np.abs(owner.imag)
        owner[shares.max(axis=1) == 0.0] = np.nan
        return owner


def participation(linear: Linear) -> tuple[Array, Array, Array]:
    """Participation factors of a linearised DAE.

    With V the right eigenvectors of the state matrix and W = V^-1, Px = W^T * V (elementwise) and Py = -gy^-1
    gx Px, each row then divided by its Euclidean norm. The eigenvectors of a repeated or defective eigenvalue
    are not determined; its columns of Px hold equal shares of the diagonal of its spectral projector, which
    is.

    Returns
    -------
    eigenvalues
        ``(n,)`` complex, in 1/s and rad/s.
    Px
        ``(n, n)`` complex, mode-in-state factors: a row per state, a column per eigenvalue.
    Py
        ``(m, n)`` complex, mode-in-output factors.

    Raises
    ------
    PartitionError
        For a singular gy (naming its equations), values that are not finite, more than 2000 states, or
        eigenvalues so ill conditioned that the factors have no meaning.
    """
    found = modes(linear)
    return found.eigenvalues, found.states, found.algebraic


def modes(linear: Linear) -> Participation:
    """Eigenvalues and participation factors as a record; see `participation`."""
    check_finite(linear)
    if linear.n > LARGEST:
        raise PartitionError(
            f"{linear.n} states: participation factors need the whole spectrum, which is out of reach above "
            f"{LARGEST}; split by devices with partitioning.by_device(linear, fast=[...])"
        )
    refuse_singular(linear)
    values, states, cluster, resolution = _mode_in_state(np.asarray(linear.state_matrix(), dtype=float))
    return Participation(values, states, _mode_in_output(linear, states), cluster, resolution)


def _mode_in_state(matrix: Array) -> tuple[Array, Array, Array, Array]:
    n = len(matrix)
    if n == 0:
        return np.zeros(0, complex), np.zeros((0, 0), complex), np.zeros(0, int), np.zeros(0)
    # Factors do not change under a diagonal similarity; balancing makes the eigenvectors as good as they can
    # be.
    balanced = scipy.linalg.matrix_balance(matrix, permute=False, separate=True)[0]
    values, left, right = scipy.linalg.eig(balanced, left=True, right=True)
    overlap = np.einsum("ki,ki->i", left.conj(), right)
    overlap[overlap == 0.0] = np.finfo(float).tiny
    # |dlambda| <= |dA| / |w^H v| to first order, with the backward error of the QR algorithm, n eps |A|.
    error = n * EPS * float(np.linalg.norm(balanced))
    resolution = error / np.abs(overlap)
    with np.errstate(over="ignore", invalid="ignore"):
        factors = (left.conj() * right / overlap).astype(complex)
    cluster = _told_apart(balanced, values, error, resolution, factors)
    doubt = np.abs(factors.sum(axis=1) - 1.0).max()
    # The rows of W^T * V sum to one exactly; factors that miss it by a per cent cannot rank modes.
    if not doubt <= 0.01:
        raise PartitionError(
            f"the eigenvectors of the state matrix are too ill conditioned for participation factors: a row "
            f"sums to 1 + {doubt:.2g}; split by devices with partitioning.by_device(linear, fast=[...])"
        )
    return values, factors, cluster, resolution


def _told_apart(matrix: Array, values: Array, error: float, resolution: Array, factors: Array) -> Array:
    """Label the eigenvalues, one label for those that rounding cannot tell apart.

    Eigenvalues closer than the error of the matrix share a label. So do, nearest first, two whose distance is
    not known to a per cent: relative to itself a spectral projector changes by error |P_j| / |s_i - s_j|.
    That happens at a defective eigenvalue, which rounding splits far more widely than by the error; the
    projector of all its parts together is as good as any. Columns of `factors` and entries of `resolution`
    that belong to a shared label are overwritten.
    """
    distance = np.abs(values[:, None] - values[None, :])
    cluster = connected_components(distance <= 2.0 * error, directed=False)[1]
    triangle, basis = np.zeros((0, 0)), np.zeros((0, 0))
    done: set[tuple[int, ...]] = set()
    while True:
        for label in np.flatnonzero(np.bincount(cluster) > 1):
            members = np.flatnonzero(cluster == label)
            if tuple(members) not in done:
                done.add(tuple(members))
                if not triangle.size:
                    triangle, basis = scipy.linalg.schur(matrix, output="complex")
                diagonal, norm = _projector(triangle, basis, values[members])
                factors[:, members] = diagonal[:, None] / len(members)
                # The mean of the members moves by at most |projector| |dA| (Kato, II.2.2).
                resolution[members] = error * norm
        vague = distance < 100.0 * np.maximum(resolution[:, None], resolution[None, :])
        vague &= cluster[:, None] != cluster[None, :]
        if not vague.any():
            return np.unique(cluster, return_inverse=True)[1].reshape(-1)
        one, other = np.unravel_index(np.where(vague, distance, np.inf).argmin(), distance.shape)
        cluster[cluster == cluster[other]] = cluster[one]


def _projector(triangle: Array, basis: Array, members: Array) -> tuple[Array, float]:
    """Diagonal and Frobenius norm of the spectral projector of a matrix given by its complex Schur form."""
    size = len(members)
    select = np.zeros(len(triangle), dtype=np.int32)
    select[np.argsort(np.abs(np.diag(triangle) - members.mean()))[:size]] = 1
    moved, q, *_ = lapack.ztrsen(select, triangle, basis, job="N", wantq=1)
    # Projector Q [I R; 0 0] Q^H with T11 R - R T22 = T12 (Golub and Van Loan, section 7.6.3).
    lead, rest = q[:, :size], q[:, size:]
    tail, norm = np.zeros_like(lead), np.sqrt(size)
    if size < len(triangle):
        link, scale, _ = lapack.ztrsyl(moved[:size, :size], moved[size:, size:], moved[:size, size:], isgn=-1)
        tail = rest @ (link / scale).conj().T
        norm = np.hypot(norm, np.linalg.norm(link / scale))
    return np.einsum("ki,ki->k", lead, (lead + tail).conj()), float(norm)


def _mode_in_output(linear: Linear, states: Array) -> Array:
    if linear.m == 0 or linear.n == 0:
        return np.zeros((linear.m, linear.n), complex)
    gain = -scipy.sparse.linalg.splu(linear.gy.tocsc()).solve(linear.gx.toarray())
    # What the solve leaves where no path leads from a state to the variable is rounding, not a mode.
    gain[np.abs(gain).max(axis=1) <= linear.m * EPS * np.abs(gain).max()] = 0.0
    # Two real products cost half of one complex one.
    factors = gain @ states.real + 1j * (gain @ states.imag)
    norm = np.linalg.norm(factors, axis=1, keepdims=True)
    return factors / np.where(norm == 0.0, 1.0, norm)


def partition_columns(
    linear: Linear,
    fast: Array,
    equations: Array,
    modes: Participation | None,
    moved: Array,
    reasons: list[str],
) -> dict[str, Any]:
    """Return the columns of `Partition.table`.

    Those of the eigenvalue are NaN for a variable that no state moves, and everywhere when `modes` is None.
    """
    names = variables(linear)
    owners = modes.owners() if modes is not None else np.full(len(names), np.nan + 0j)
    known = ~np.isnan(owners.real)
    imag = np.where(known, owners.imag, np.nan)
    return {
        "variable": names,
        "kind": ["state"] * linear.n + ["algebraic"] * linear.m,
        "device": [device_of(name) for name in names],
        "real": owners.real,
        "imag": imag,
        "magnitude": np.where(known, np.abs(owners), np.nan),
        "frequency_hz": imag / (2 * np.pi),
        "equation": [""] * linear.n + [linear.names_g[row] for row in equations],
        "side": np.where(fast, "fast", "slow"),
        "moved": moved,
        "reason": reasons,
    }
