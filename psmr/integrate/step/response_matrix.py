"""The matrix S = -J_s^-1 J_f by which slow algebraic variables answer fast ones, as far as it is read."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import breadth_first_order
from scipy.sparse.linalg import SuperLU, splu, spsolve_triangular

from psmr.base.errors import SingularError
from psmr.integrate.constants import TUNED

Reals = NDArray[np.float64]
Places = NDArray[Any]

# Up to this many entries the whole of a solution costs less than the search for the part that is needed.
SMALL = 20_000


def response_matrix(
    own: sparse.csr_array,
    variables: Places,
    fast: Places,
    read: Places,
    earlier: sparse.csr_array | None = None,
) -> sparse.csr_array:
    """Return S, the rows of the variables that are read.

    Parameters
    ----------
    own
        (n, N) derivatives of the slow algebraic equations after w = (x, y).
    variables
        (n,) positions of their variables.
    fast
        Positions of the fast variables, the columns of the result.
    read
        Positions of the responding variables, among `variables`, the rows of the result.
    earlier
        An S of these variables; the entries that it has are not left out.

    Raises
    ------
    SingularError
        Where the slow algebraic equations do not determine their variables.
    """
    own = sparse.csc_array(own)
    forced = own[:, fast]
    moving = np.flatnonzero(np.diff(forced.indptr))
    if not (moving.size and read.size):
        return sparse.csr_array((len(read), len(fast)))
    try:
        lu = splu(sparse.csc_matrix(own[:, variables]))
    except RuntimeError as error:
        raise SingularError(
            f"the {len(variables)} slow algebraic equations do not determine the slow algebraic variables, "
            "so that there is no response to the fast ones: take interface='held', or another partition"
        ) from error
    wanted = np.searchsorted(variables, read)
    if len(variables) * moving.size <= SMALL:
        found = -lu.solve(forced[:, moving].toarray())[wanted]
    else:
        found = -some_of_solution(lu, sparse.coo_array(forced[:, moving]), wanted)
    size = np.abs(found)
    kept = (size >= TUNED.negligible * size.max(axis=1)[:, None]) & (size > 0.0)
    if earlier is not None:
        place = np.zeros(len(fast), np.intp)
        place[moving] = np.arange(moving.size)
        had = sparse.coo_array(earlier)
        kept[had.row, place[had.col]] = True
    row, column = np.nonzero(kept)
    return sparse.csr_array((found[kept], (row, moving[column])), shape=(len(read), len(fast)))


def some_of_solution(lu: SuperLU, right: sparse.coo_array, wanted: Places) -> Reals:
    """Return some rows of the solution of A X = B, at a cost that follows them and the rows B has.

    With P_r A P_c = L U (SuperLU's permutations) the solution is X = P_c U^-1 L^-1 P_r B. Behind L^-1 only
    those rows are not zero that those of P_r B lead to along the columns of L, and of U^-1 only those are
    needed that the wanted ones lead to along its rows: both are some thousand of ten thousands in a network
    (Gilbert and Peierls, Sparse partial pivoting in time proportional to arithmetic operations, SIAM J.
    Sci. Stat. Comput. 9(5), 1988).

    Parameters
    ----------
    lu
        Factors of A, (N, N).
    right
        B, (N, K).
    wanted
        (R,) positions in X.

    Returns
    -------
    numpy.ndarray
        (R, K).
    """
    row, asked = lu.perm_r[right.row], lu.perm_c[wanted]
    lower, upper = sparse.csc_array(lu.L), sparse.csr_array(lu.U)
    moved, needed = _reached(sparse.csr_array(lower.T), row), _reached(upper, asked)
    forward = np.zeros((len(moved), right.shape[1]))
    np.add.at(forward, (np.searchsorted(moved, row), right.col), right.data)
    forward = spsolve_triangular(lower[moved][:, moved], forward, unit_diagonal=True)
    _, in_moved, in_needed = np.intersect1d(moved, needed, assume_unique=True, return_indices=True)
    backward = np.zeros((len(needed), right.shape[1]))
    backward[in_needed] = forward[in_moved]
    backward = spsolve_triangular(sparse.csc_array(upper[needed][:, needed]), backward, lower=False)
    return np.asarray(backward[np.searchsorted(needed, asked)])


def _reached(graph: sparse.csr_array, start: Places) -> Places:
    """Return the sorted nodes that some nodes lead to, themselves included; (i, j) is an edge from i to j."""
    count, first = graph.shape[0], np.unique(start)
    # One more node has edges to those of the start, so that a single search finds what all of them reach.
    ends = np.append(graph.indptr, graph.nnz + len(first))
    edges = np.concatenate([graph.indices, first])
    wider = sparse.csr_array((np.ones(len(edges)), edges, ends), shape=(count + 1, count + 1))
    return np.sort(breadth_first_order(wider, count, return_predecessors=False)[1:])
