"""Eigenvalues with what is needed to trust them, and which multiplier of a step belongs to which mode.

A step operator is no function of the state matrix, so the nearest value alone picks wrong partners: the
assignment is one to one over all modes at once, and weighs the shape of a mode (eigenvector and participation
factors) as much as its place.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
import scipy.linalg
from scipy import sparse
from scipy.sparse.csgraph import min_weight_full_bipartite_matching

from psmr.base.threads import on_one_thread
from psmr.dae.system.eigenvalues import EPS, Modes, participation_factors, rounding


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


@on_one_thread
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
    vectors, taking = right[:size], participation_factors(left, right)[:size]
    order = np.lexsort((-z.imag, -np.abs(z)))
    lengths = np.maximum(np.linalg.norm(vectors, axis=0), np.finfo(float).tiny)
    return Multipliers(z[order], (vectors / lengths)[:, order], taking[:, order], error[order])


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


REPRESENTED = "represented"
ZERO_MODE = "zero mode"
NOT_REPRESENTED = "not represented"
SHOWN = (REPRESENTED, ZERO_MODE)

# The unwrapped logarithm jumps by 2 pi / h across the negative real axis. A mode of 2.07 or fewer samples per
# period (0.1 rad from the axis) can be read on either side of it, and its frequency means nothing.
NEGATIVE_AXIS = 0.1

# Of a cost of at most 2. A pair above this shares neither shape nor place: better left apart, and said to be.
UNLIKE = 1.5


@dataclass(frozen=True, eq=False)
class Match:
    """The assignment of multipliers to modes.

    `partner`: (n,) position of the multiplier of each mode, -1 where none is left.
    `s_numerical`: (n,) the mode as the scheme shows it in 1/s, NaN where it is not represented.
    `status`: (n,) ``"represented"``, ``"zero mode"``, or ``"not represented: <why>"``.
    `spurious`: Positions of the multipliers that belong to no mode.
    """

    partner: np.ndarray
    s_numerical: np.ndarray
    status: tuple[str, ...]
    spurious: np.ndarray

    @functools.cached_property
    def zero(self) -> np.ndarray:
        """Positions of the zero modes."""
        return np.array([k for k, words in enumerate(self.status) if words == ZERO_MODE], dtype=int)

    @functools.cached_property
    def lost(self) -> np.ndarray:
        """Positions of the modes that are not represented."""
        rest = (k for k, words in enumerate(self.status) if words not in SHOWN)
        return np.array(list(rest), dtype=int)


def match(modes: Modes, numerical: Multipliers, step: float) -> Match:
    """Assign multipliers to modes one to one and take the unwrapped logarithm.

    `modes`, `numerical`: eigenvalues and vectors of the state matrix and of the step operator; `step`: time
    in s over which a multiplier acts.
    """
    partner = np.full(len(modes.s), -1)
    cost = assignment_cost(modes, numerical, step)
    # Each mode may go without a partner. The routine reads a zero as a missing entry, hence the one.
    graph = sparse.csr_array(np.hstack([cost + 1.0, (UNLIKE + 1.0) * np.eye(len(modes.s))]))
    rows, columns = min_weight_full_bipartite_matching(graph)
    partner[rows] = np.where(columns < len(numerical.z), columns, -1)
    return match_of(modes.s, numerical.z, partner, step)


def match_of(s: np.ndarray, z: np.ndarray, partner: np.ndarray, step: float) -> Match:
    """Return what (n,) modes become by (k,) multipliers, given the (n,) position of that of each."""
    own = np.where(partner >= 0, np.append(z, 0.0)[partner], 0.0)
    status, s_numerical = statuses(s, own, step), np.full(len(s), np.nan + 0j)
    # A zero mode may be left without a partner.
    shown = np.array([words in SHOWN for words in status], dtype=bool) & (own != 0.0)
    s_numerical[shown] = unwrapped_logarithm(own[shown], s[shown], step)
    return Match(partner, s_numerical, status, np.setdiff1d(np.arange(len(z)), partner))


def assignment_cost(modes: Modes, numerical: Multipliers, step: float) -> np.ndarray:
    """Return the (n, k) cost of each pair: 1 - similarity of the shapes, plus distance of the places; 0 to 2.

    The similarity is the mean of the modal assurance criterion |v^H u|^2 of eigenvectors of length 1 and of
    the overlap of the participation factors, which no choice of units changes. The distance is
    |s_hat - s| / (|s_hat| + |s|) for a mode that the step resolves, and |z - exp(s h)| for one that is over
    within a step, whose s_hat says nothing; 1 / (1 + |s| h) leads from one to the other.
    """
    alike = np.abs(modes.vectors.conj().T @ numerical.vectors) ** 2
    states = numerical.participation[: len(modes.participation)]
    overlap = np.minimum(modes.participation[:, :, None], states[:, None, :]).sum(axis=0)
    # For a multiplier of exactly 0 the least float stands, whose logarithm is a number.
    s, z = modes.s[:, None], np.where(numerical.z == 0.0, np.finfo(float).tiny, numerical.z)[None, :]
    s_hat = unwrapped_logarithm(z, s, step)
    resolved = 1.0 / (1.0 + np.abs(s) * step)
    distance = resolved * np.abs(s_hat - s) / (np.abs(s_hat) + np.abs(s) + modes.split)
    # A mode that grows beyond any float is as far as can be.
    ahead = np.exp(np.minimum(s.real * step, 50.0) + 1j * s.imag * step)
    distance += (1.0 - resolved) * np.minimum(np.abs(z - ahead), 1.0)
    return 1.0 - 0.5 * (alike + overlap) + distance


def unwrapped_logarithm(z: np.ndarray | complex, s: np.ndarray | complex, step: float) -> np.ndarray:
    """Return log(z) / step with 2 pi k / step added so that the imaginary part is nearest to that of s."""
    principal = np.log(np.asarray(z, dtype=complex)) / step
    turn = 2.0 * np.pi / step
    return principal + 1j * turn * np.round((np.imag(s) - principal.imag) / turn)


def hidden_by(s: complex, z: complex, step: float) -> str:
    """Return why a multiplier does not show a mode; "" where it does, and for a zero mode."""
    if s == 0.0:
        return ""
    if z == 0.0:
        return "no multiplier is like it"
    if abs(s.imag) * step > np.pi:
        return f"|Im s| h = {abs(s.imag) * step:.3g} > pi, |z| = {abs(z):.3g}"
    if abs(np.angle(z)) > np.pi - NEGATIVE_AXIS:
        return f"z on the negative real axis, |z| = {abs(z):.3g}"
    return ""


def status_of(s: complex, z: complex, step: float) -> str:
    """Say whether a multiplier shows a mode, and if not why."""
    return status_words(s, hidden_by(s, z, step))


def status_words(s: complex, why: str) -> str:
    """Return the status of a mode that is not shown for a reason, "" for none."""
    return ZERO_MODE if s == 0.0 else f"{NOT_REPRESENTED}: {why}" if why else REPRESENTED


def statuses(s: np.ndarray, z: np.ndarray, step: float) -> tuple[str, ...]:
    """Return `status_of` of (k,) modes with (k,) multipliers."""
    plain = (s != 0.0) & (z != 0.0) & (np.abs(s.imag) * step <= np.pi)
    plain &= np.abs(np.angle(z)) <= np.pi - NEGATIVE_AXIS
    words = [REPRESENTED] * len(s)
    for k in np.flatnonzero(~plain):
        words[k] = status_of(s[k], z[k], step)
    return tuple(words)
