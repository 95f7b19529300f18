"""The sparse LU against scipy, on matrices that need pivots off the diagonal and values that change."""

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import splu

from psmr.errors import SingularError
from tests.internals import (
    DONE,
    FIRST,
    SECOND,
    factorise,
    first_factors,
    make_lu,
    ordering,
    pivots_suit,
    refactor,
    refactor_ahead,
    refactor_marked,
    solve,
)


def random_matrix(n, density, rng, diagonal=1.0):
    """Return a regular sparse matrix: random entries, a random permutation, part of the diagonal."""
    parts = [
        sparse.random_array((n, n), density=density, rng=rng),
        sparse.csc_array((rng.uniform(1, 2, n), (rng.permutation(n), np.arange(n))), (n, n)),
        sparse.diags_array(diagonal * rng.standard_normal(n) * (rng.random(n) > 0.5)),
    ]
    matrix = sparse.csc_matrix(sum(parts))
    matrix.sort_indices()
    return matrix


def solution(lu, b):
    out = np.empty_like(b)
    solve(lu, b, out)
    return out


@pytest.mark.parametrize(("n", "density"), [(1, 1.0), (2, 0.5), (5, 0.5), (40, 0.1), (300, 0.01)])
@pytest.mark.parametrize("seed", range(5))
def test_solves_as_scipy(n, density, seed):
    rng = np.random.default_rng(seed)
    matrix = random_matrix(n, density, rng)
    b = rng.standard_normal(n)
    lu = factorise(matrix.indptr, matrix.indices, matrix.data)
    x = solution(lu, b)
    # Backward stable with a threshold of 1e-3: residual within 1e3 n eps of |A| |x|.
    scale = abs(matrix).sum(axis=1).max() * np.abs(x).max()
    assert np.abs(matrix @ x - b).max() < 1e3 * n * 2.2e-16 * scale
    np.testing.assert_allclose(x, splu(matrix).solve(b), rtol=1e-8, atol=1e-9 * np.abs(x).max())
    assert not lu.work.any()


def network_like(buses, alone, rng):
    """Return a matrix with two columns and rows for each bus of a random graph, and states that see both."""
    graph = sparse.random_array((buses, buses), density=2.0 / buses, rng=rng)
    graph = sparse.csc_matrix(graph + graph.T + sparse.eye_array(buses))
    blocks = sparse.kron(graph, np.ones((2, 2))).tocsc()
    blocks.data = rng.standard_normal(blocks.nnz)
    blocks = blocks + sparse.diags_array(np.full(2 * buses, 8.0))
    at = (np.arange(alone), rng.permutation(buses)[:alone])
    beside = sparse.csr_matrix((rng.standard_normal(alone), at), (alone, buses))
    beside = sparse.kron(beside, np.ones((1, 2)))
    matrix = sparse.csc_matrix(sparse.bmat([[4 * sparse.eye_array(alone), beside], [-beside.T, blocks]]))
    matrix.sort_indices()
    return matrix


@pytest.mark.parametrize("seed", range(4))
def test_pairs_of_columns_are_found_and_used(seed):
    rng = np.random.default_rng(seed)
    matrix = network_like(60, 40, rng)
    lu = factorise(matrix.indptr, matrix.indices, matrix.data)
    firsts = np.flatnonzero(lu.pair == FIRST)
    np.testing.assert_array_equal(np.flatnonzero(lu.pair == SECOND), firsts + 1)
    assert len(firsts) >= 50  # of 60 buses
    n = matrix.shape[0]
    for k in firsts:  # one pattern, with a full block where both meet
        lower = [set(lu.Li[lu.Lp[j] : lu.Lp[j + 1]]) for j in (k, k + 1)]
        upper = [set(lu.Ui[lu.Up[j] : lu.Up[j + 1]]) for j in (k, k + 1)]
        assert lower[0] == lower[1] | {k + 1}
        assert upper[1] == upper[0] | {k}
    for b in (rng.standard_normal(n), np.eye(n)[3], np.zeros(n)):
        np.testing.assert_allclose(solution(lu, b), splu(matrix).solve(b), rtol=1e-9, atol=1e-12)
    for _ in range(3):
        matrix.data *= rng.uniform(0.8, 1.2, matrix.nnz)
        assert refactor(lu, matrix.data)
        anew = factorise(matrix.indptr, matrix.indices, matrix.data)
        b = rng.standard_normal(n)
        np.testing.assert_allclose(solution(lu, b), solution(anew, b), rtol=1e-9, atol=1e-12)
        assert not lu.work.any()


def bordered(seed):
    """Return a matrix with 40 columns ahead of a border, its factors and what chose their pivots."""
    matrix = network_like(60, 40, np.random.default_rng(seed))
    order, entries = ordering(matrix.indptr, matrix.indices)
    order = np.concatenate([order[order < 40], order[order >= 40]])
    lu, search = make_lu(matrix.indptr, matrix.indices, order, 4 * entries, 40)
    assert first_factors(lu, search, matrix.data) == DONE
    np.testing.assert_array_equal(np.sort(lu.position[:40]), np.arange(40))  # pivots within their part
    return matrix, lu


def with_old_complement(old, new):
    """Return the matrix of the new rows and columns ahead of 40, with the Schur complement of the old one."""
    old, new = old.toarray(), new.toarray()
    joined = new.copy()
    complement = old[40:, 40:] - old[40:, :40] @ np.linalg.solve(old[:40, :40], old[:40, 40:])
    joined[40:, 40:] = complement + new[40:, :40] @ np.linalg.solve(new[:40, :40], new[:40, 40:])
    return joined


@pytest.mark.parametrize("seed", range(4))
def test_what_is_ahead_of_the_border_is_renewed_alone(seed):
    matrix, lu = bordered(seed)
    old, rng = matrix.copy(), np.random.default_rng(seed)
    matrix.data *= rng.uniform(0.8, 1.2, matrix.nnz)
    assert refactor_ahead(lu, matrix.data)
    b = rng.standard_normal(160)
    expected = np.linalg.solve(with_old_complement(old, matrix), b)
    np.testing.assert_allclose(solution(lu, b), expected, rtol=1e-9, atol=1e-12)
    assert not lu.work.any()
    assert refactor(lu, matrix.data)  # and the whole again
    np.testing.assert_allclose(solution(lu, b), splu(matrix).solve(b), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("changed", [(), (7,), (0, 11, 39)])
def test_marked_columns_are_renewed_alone(changed):
    """Rows of states become those of a limit, x - limit: in the columns of the network too."""
    matrix, lu = bordered(2)
    old = matrix.copy()
    for row in changed:
        here = matrix.indices == row
        columns = np.repeat(np.arange(160), np.diff(matrix.indptr))[here]
        matrix.data[here] = columns == row
        lu.mark[np.argsort(lu.order)[columns]] = 1
    before = lu.Lx.copy(), lu.Ux.copy()
    assert refactor_marked(lu, matrix.data)
    b = np.random.default_rng(0).standard_normal(160)
    expected = np.linalg.solve(with_old_complement(old, matrix), b)
    np.testing.assert_allclose(solution(lu, b), expected, rtol=1e-9, atol=1e-12)
    assert not lu.work.any()
    if not changed:
        np.testing.assert_array_equal(lu.Lx, before[0])
        np.testing.assert_array_equal(lu.Ux, before[1])


def test_a_pivot_ahead_of_the_border_that_does_not_suit_is_seen():
    matrix, lu = bordered(1)
    matrix.data[(matrix.indices == 5) & (np.repeat(np.arange(160), np.diff(matrix.indptr)) == 5)] = 0.0
    assert not refactor_ahead(lu, matrix.data)


def test_zero_diagonal_needs_other_pivots():
    n = 30
    rng = np.random.default_rng(1)
    shift = sparse.csc_matrix((np.ones(n), ((np.arange(n) + 1) % n, np.arange(n))), (n, n))
    matrix = sparse.csc_matrix(shift + 0.1 * sparse.random_array((n, n), density=0.1, rng=rng))
    matrix.setdiag(0.0)
    b = rng.standard_normal(n)
    lu = factorise(matrix.indptr, matrix.indices, matrix.data)
    np.testing.assert_allclose(matrix @ solution(lu, b), b, atol=1e-12)


def test_refactor_repeats_with_new_values():
    rng = np.random.default_rng(3)
    matrix = random_matrix(60, 0.08, rng) + 4 * sparse.eye_array(60, format="csc")
    matrix = sparse.csc_matrix(matrix)
    lu = factorise(matrix.indptr, matrix.indices, matrix.data)
    b = rng.standard_normal(60)
    for _ in range(5):
        matrix.data *= rng.uniform(0.8, 1.2, matrix.nnz)
        assert refactor(lu, matrix.data)
        np.testing.assert_allclose(matrix @ solution(lu, b), b, atol=1e-11)


@pytest.mark.parametrize("small", [0.0, 1e-9, np.nan, np.inf])
def test_refactor_objects_to_pivots_that_do_not_suit(small):
    matrix = sparse.csc_matrix(np.array([[1.0, 1.0], [1.0, 2.0]]))
    lu, search = make_lu(matrix.indptr, matrix.indices, np.arange(2))
    assert first_factors(lu, search, matrix.data) == DONE
    values = matrix.data.copy()
    values[0] = small
    assert not refactor(lu, values)
    assert not pivots_suit(lu, search, values)
    if np.isfinite(small):  # a new choice of pivots copes
        matrix.data = values
        new = factorise(matrix.indptr, matrix.indices, values, order=np.arange(2))
        np.testing.assert_allclose(matrix @ solution(new, np.array([1.0, 2.0])), [1.0, 2.0], rtol=1e-12)
        assert refactor(new, values)


@pytest.mark.parametrize("seed", range(5))
def test_what_rows_are_multiplied_by_changes_no_pivot(seed):
    # Powers of two change no digit: same pivots, and the same solution to the last bit.
    rng = np.random.default_rng(seed)
    matrix = random_matrix(60, 0.06, rng)
    factor = 2.0 ** rng.integers(-40, 40, 60)
    multiplied = sparse.csc_matrix(sparse.diags_array(factor) @ matrix)
    multiplied.sort_indices()
    b = rng.standard_normal(60)
    lu = factorise(matrix.indptr, matrix.indices, matrix.data)
    other = factorise(multiplied.indptr, multiplied.indices, multiplied.data)
    np.testing.assert_array_equal(other.position, lu.position)
    assert (other.Lp[-1], other.Up[-1]) == (lu.Lp[-1], lu.Up[-1])
    np.testing.assert_array_equal(solution(other, factor * b), solution(lu, b))


def test_pivots_serve_rows_that_have_grown():
    rng = np.random.default_rng(2)
    matrix = sparse.csc_matrix(random_matrix(60, 0.08, rng) + 4 * sparse.eye_array(60))
    matrix.sort_indices()
    lu, search = make_lu(matrix.indptr, matrix.indices)
    assert first_factors(lu, search, matrix.data) == DONE
    b = rng.standard_normal(60)
    assert refactor(lu, matrix.data)
    expected = solution(lu, b)
    factor = np.where(np.arange(60) % 2, 1.0, 2.0**30)  # as those of states with the step
    values = matrix.data * factor[matrix.indices]
    assert not refactor(lu, values)  # multipliers beyond 1e5
    assert pivots_suit(lu, search, values)
    np.testing.assert_array_equal(solution(lu, factor * b), expected)


def test_diagonal_is_kept_where_it_is_not_tiny():
    matrix = sparse.csc_matrix(np.array([[1e-2, 1.0, 0.0], [1.0, 1e-2, 1.0], [0.0, 1.0, 1e-2]]))
    lu = factorise(matrix.indptr, matrix.indices, matrix.data)
    np.testing.assert_array_equal(lu.position[lu.order], np.arange(3))


def test_ordering_is_a_permutation_that_saves_fill():
    n = 50  # an arrow: eliminating the tip first would fill everything
    rows = np.r_[np.arange(n), np.zeros(n, int), np.arange(n)]
    columns = np.r_[np.arange(n), np.arange(n), np.zeros(n, int)]
    matrix = sparse.csc_matrix((np.r_[np.full(n, 9.0), np.ones(2 * n)], (rows, columns)), (n, n))
    order, entries = ordering(matrix.indptr, matrix.indices)
    assert sorted(order) == list(range(n))
    lu = factorise(matrix.indptr, matrix.indices, matrix.data, order)
    assert lu.Lp[-1] + lu.Up[-1] == 2 * (n - 1)
    assert entries == 2 * n - 1  # with the diagonal


def test_singular_matrix_names_variable_and_equations():
    matrix = sparse.csc_matrix(np.array([[1.0, 2.0, 0.0], [2.0, 4.0, 0.0], [0.0, 0.0, 1.0]]))
    with pytest.raises(SingularError, match=r"singular: (v1|v2) cannot be determined .*\((e1|e2)\)"):
        factorise(matrix.indptr, matrix.indices, matrix.data, None, ("v1", "v2", "v3"), ("e1", "e2", "e3"))


def test_structurally_singular_matrix_is_named_too():
    matrix = sparse.csc_matrix(([1.0, 1.0], ([0, 0], [0, 1])), (2, 2))
    with pytest.raises(SingularError, match=r"column [01] cannot be determined .*row 1"):
        factorise(matrix.indptr, matrix.indices, matrix.data)


def test_entry_that_is_not_finite_is_named():
    matrix = sparse.csc_matrix(np.array([[1.0, np.nan], [0.0, 1.0]]))
    with pytest.raises(SingularError, match="d e1 / d v2 is nan"):
        factorise(matrix.indptr, matrix.indices, matrix.data, None, ("v1", "v2"), ("e1", "e2"))
