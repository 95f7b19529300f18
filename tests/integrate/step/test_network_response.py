"""The network's response to fast variables: some rows of a solution, found from the factors they need."""

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import splu

import partitioning
import psmr
from psmr.errors import SingularError
from tests.internals import TUNED, response_matrix, response_matrix_module, some_of_solution


def network(size: int, seed: int) -> sparse.csc_array:
    """Return a matrix with the pattern of a random tree and some chords, neither symmetric nor dominant."""
    rng = np.random.default_rng(seed)
    ends = np.array(
        [(k, rng.integers(k)) for k in range(1, size)] + list(rng.integers(size, size=(size // 5, 2)))
    )
    places = np.vstack([ends, ends[:, ::-1], np.repeat(np.arange(size), 2).reshape(-1, 2)])
    return sparse.csc_array((rng.normal(size=len(places)), places.T), shape=(size, size))


@pytest.mark.parametrize("seed", range(5))
def test_some_rows_are_those_of_the_whole_solution(seed):
    rng = np.random.default_rng(seed)
    matrix = network(300, seed)
    right = sparse.random_array((300, 7), density=0.01, rng=rng, format="coo")
    wanted = rng.permutation(300)[:20]
    lu = splu(matrix)
    whole = lu.solve(right.toarray())
    np.testing.assert_allclose(
        some_of_solution(lu, right, wanted), whole[wanted], rtol=0, atol=1e-12 * abs(whole).max()
    )


def test_rows_that_nothing_leads_to_are_zero():
    # Two parts without a connection: what moves one leaves the other where it is.
    matrix = sparse.block_diag([network(20, 1), network(20, 2)], format="csc")
    right = sparse.coo_array(([1.0], ([3], [0])), shape=(40, 1))
    found = some_of_solution(splu(matrix), right, np.array([5, 30]))
    assert found[0] != 0.0
    assert found[1] == 0.0


def test_the_response_is_minus_the_solution_without_its_small_entries():
    size, fast = 200, np.arange(200, 210)
    rng = np.random.default_rng(3)
    forced = sparse.csc_array(([2.0, 1.0, -1.0], ([4, 50, 50], [0, 7, 8])), shape=(size, 10))
    matrix = sparse.vstack(
        [sparse.hstack([network(size, 3), forced]), sparse.csc_array(rng.normal(size=(10, size + 10)))]
    )
    read = np.array([2, 60, 61])
    whole = -np.linalg.solve(matrix.toarray()[:size, :size], forced.toarray())[read]
    whole[np.abs(whole) < TUNED.negligible * np.abs(whole).max(axis=1)[:, None]] = 0.0
    found = response_matrix(sparse.csr_array(matrix)[:size], np.arange(size), fast, read)
    np.testing.assert_allclose(found.toarray(), whole, rtol=1e-9, atol=1e-12)


def test_equations_that_do_not_determine_their_variables_are_named():
    matrix = sparse.csr_array(np.array([[1.0, 1.0, 1.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]))
    with pytest.raises(SingularError, match="2 slow algebraic equations do not determine"):
        response_matrix(matrix[:2], np.arange(2), np.array([2]), np.array([0]))


@pytest.mark.parametrize(
    ("event", "formed"),
    [
        (psmr.ParameterStep("C3", "v_2", 0.03, 0.02), 1),  # of a fast device, before anything has moved
        (psmr.Fault(5, 0.02, 0.03, x=0.5), 3),  # and its end
    ],
)
def test_the_response_is_formed_anew_where_an_event_changes_slow_equations(monkeypatch, event, formed):
    system = psmr.build(psmr.case("wscc9-emt"))
    split = partitioning.by_device(system.linearise(), ["C3", "bus3"])
    scheme = psmr.Multirate.from_steps(split, 0.005, 1e-4, predictor="extrapolation", predict="slow")
    factorised = []

    def counted(matrix):
        factorised.append(matrix.shape)
        return splu(matrix)

    monkeypatch.setattr(response_matrix_module, "splu", counted)
    psmr.simulate(system, scheme, 0.035, [event], certify=False)
    assert len(factorised) == formed
