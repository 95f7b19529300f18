"""Which algebraic equation is solved for which variable, and the condition of the two diagonal blocks of gy.

A side is given as variables; its equations follow from a pairing of all equations with all variables, so both
blocks get a full transversal of entries and neither is structurally singular.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse
from scipy.sparse.csgraph import maximum_bipartite_matching, min_weight_full_bipartite_matching
from scipy.sparse.linalg import LinearOperator, onenormest, splu

from partitioning.partition import Array, Linear, PartitionError

EPS = float(np.finfo(float).eps)
TINY = float(np.finfo(float).tiny)
# A block is refused when solving with it costs more than half of the digits, unless gy as a whole is worse.
WORST_CONDITION = float(1.0 / np.sqrt(EPS))
# Up to this order dense inverses are used (0.2 s each): exact norms, relative gains, null vectors.
DENSE = 1000


@dataclass(frozen=True, eq=False)
class Pairings:
    """The ways of pairing equations with variables that a split may use.

    `gy`: ``(m, m)`` CSC without stored zeros, rows and columns scaled.
    `choices`: Arrays ``(m,)``: ``choice[j]`` is the equation paired with algebraic variable j. The first is
      preferred.
    `limit`: Largest condition that a diagonal block may have.
    """

    gy: Any
    choices: tuple[Array, ...]
    limit: float

    def equations(self, fast_y: Array) -> tuple[Array, Array, float, float]:
        """Return fast_g, the equation of each variable, and the conditions of the fast and of the slow block.

        The first pairing serves while both blocks are as good as gy to a factor of ten; otherwise the pairing
        whose worse block is better conditioned is taken.
        """
        best: tuple[Array, Array, float, float] | None = None
        for choice in self.choices:
            fast_g = np.zeros(len(choice), dtype=bool)
            fast_g[choice[fast_y]] = True
            if best is not None and np.array_equal(fast_g, best[0]):
                continue
            fast, slow = (
                condition(self.gy[side_g][:, side_y])
                for side_g, side_y in ((fast_g, fast_y), (~fast_g, ~fast_y))
            )
            if best is None or max(fast, slow) < max(best[2:]) / 10.0:
                best = (fast_g, choice, fast, slow)
        assert best is not None
        return best


def pairings(linear: Linear) -> Pairings:
    r"""Pair equations with variables in two ways: by the largest product of entries and by relative gains.

    The first maximises the product of \|gy\| over the pairs (Duff and Koster, SIAM J. Matrix Anal. 22,
    2001); no scaling of rows or columns changes it. The second keeps the relative gains gy * (gy^-1)^T
    (elementwise; Bristol, IEEE Trans. Automatic Control 11, 1966) near one: an entry of the inverse is, up to
    det gy, the complementary minor, so this one looks at what a pair leaves for the others.

    Raises PartitionError when gy is singular, naming the equations that make it so.
    """
    gy = scaled(linear)
    if linear.m == 0:
        return Pairings(gy, (np.zeros(0, dtype=np.intp),), WORST_CONDITION)
    whole = refuse_singular(linear)
    choices = [_assign(gy, -np.log(np.abs(gy.data)))]
    if linear.m <= DENSE:
        entries = gy.tocoo()
        gains = np.abs(entries.data * np.linalg.inv(gy.toarray())[entries.col, entries.row])
        choices.append(_assign(gy, np.abs(np.log(np.maximum(gains, TINY)))))
    return Pairings(gy, tuple(choices), max(WORST_CONDITION, whole))


def scaled(linear: Linear) -> Any:
    """Return gy as CSC without stored zeros, its rows and then its columns divided by their largest entry.

    Conditions measured on it speak of the equations and not of their units.
    """
    gy = scipy.sparse.csc_array(linear.gy, dtype=float, copy=True)
    gy.eliminate_zeros()
    for axis in (1, 0):
        if gy.nnz:
            largest = abs(gy).max(axis=axis).toarray().reshape(-1)
            factor = scipy.sparse.diags_array(1.0 / np.where(largest == 0.0, 1.0, largest))
            gy = scipy.sparse.csc_array(factor @ gy if axis == 1 else gy @ factor)
    return gy


def condition(block: Any) -> float:
    """Return the 1-norm condition number of a square block: infinity when it is singular, 1 when it is empty.

    Exact up to order 1000, beyond it the estimate of Higham and Tisseur (2000).
    """
    order = block.shape[0]
    if order == 0:
        return 1.0
    try:
        if order <= DENSE:
            dense = block.toarray()
            return float(np.linalg.norm(dense, 1) * np.linalg.norm(np.linalg.inv(dense), 1))
        lu = splu(scipy.sparse.csc_array(block))
    except (np.linalg.LinAlgError, RuntimeError):
        return float("inf")
    inverse = LinearOperator(
        block.shape, matvec=lu.solve, rmatvec=lambda b: lu.solve(b, trans="T"), dtype=np.dtype(float)
    )
    return float(abs(block).sum(axis=0).max() * onenormest(inverse))


def null_vectors(block: Any) -> tuple[Array, Array]:
    """Return the absolute left and right singular vectors of the smallest singular value of a block."""
    order = block.shape[0]
    if order <= DENSE:
        left, _, right = scipy.linalg.svd(block.toarray())
        return np.abs(left[:, -1]), np.abs(right[-1])
    # Inverse iteration; the shift by rounding makes an exactly singular block factorisable.
    lu = splu(scipy.sparse.csc_array(block + EPS * scipy.sparse.eye_array(order)))
    right = np.random.default_rng(0).standard_normal(order)
    for _ in range(3):
        left = lu.solve(right / np.linalg.norm(right), trans="T")
        right = lu.solve(left / np.linalg.norm(left))
    return np.abs(left) / np.linalg.norm(left), np.abs(right) / np.linalg.norm(right)


def refuse_singular(linear: Linear) -> float:
    """Return the condition of the scaled gy.

    Raises PartitionError when gy is singular, with the equations (and the variables) that make it so.
    """
    if linear.m == 0:
        return 1.0
    gy = scaled(linear)
    value = condition(gy)
    # Beyond 1 / (m eps) the matrix is singular to rounding.
    if value < 1.0 / (linear.m * EPS):
        return value
    advice = "check these equations and whether the network around them is connected to a voltage source"
    if linear.m <= DENSE:
        matched = maximum_bipartite_matching(scipy.sparse.csr_array(gy), perm_type="column")
        if (matched < 0).any():
            rows = _some(linear.names_g, np.flatnonzero(matched < 0))
            raise PartitionError(
                f"gy is structurally singular: no variable is left to be solved from {rows}; {advice}"
            )
    left, right = null_vectors(gy)
    rows, columns = (
        _some(names, np.argsort(-weights)[: max(1, int((weights > 0.1 * weights.max()).sum()))])
        for names, weights in ((linear.names_g, left), (linear.names_y, right))
    )
    raise PartitionError(
        f"gy is singular (condition {value:.1e}): equations {rows} do not determine {columns}; {advice}"
    )


def _assign(gy: Any, cost: Array) -> Array:
    """Return for each column the row that the cheapest full matching pairs it with."""
    # Every full matching takes one entry of each row and column, so what is subtracted from a whole row or
    # column changes nothing.
    rows, columns = gy.tocoo().coords
    cost = cost - np.minimum.reduceat(cost, gy.indptr[:-1])[columns]
    # The routine is fast when most cheapest pairs stand on the diagonal already, and can take minutes at
    # order 10000 when they do not.
    start = _greedy(rows, columns, cost, gy.shape[1])
    # Indices of 32 bits: the routine takes no others in scipy 1.13.
    place = np.empty(len(start), dtype=np.int32)
    place[start] = np.arange(len(start), dtype=np.int32)
    # It reads a zero as a missing entry, hence the one.
    graph = scipy.sparse.csr_array((cost + 1.0, (place[rows], columns.astype(np.int32))), shape=gy.shape)
    matched_rows, matched_columns = min_weight_full_bipartite_matching(graph)
    choice = np.empty(gy.shape[1], dtype=np.intp)
    choice[matched_columns] = start[matched_rows]
    return choice


def _greedy(rows: Array, columns: Array, cost: Array, order: int) -> Array:
    """Return a permutation of the rows that puts cheap entries on the diagonal, the cheapest first."""
    start = np.full(order, -1, dtype=np.intp)
    used = np.zeros(order, dtype=bool)
    for entry in np.argsort(cost, kind="stable"):
        row, column = rows[entry], columns[entry]
        if start[column] < 0 and not used[row]:
            start[column], used[row] = row, True
    start[start < 0] = np.flatnonzero(~used)
    return start


def _some(names: Any, which: Array, most: int = 5) -> str:
    shown = ", ".join(str(names[i]) for i in which[:most])
    return shown + (f" and {len(which) - most} more" if len(which) > most else "")
