"""Zeros of the spectrum by structure, against matrices whose spectrum is known and against case files."""

import numpy as np
import pytest

import psmr
from tests.conftest import ROOT
from tests.internals import eigen, eigenvalues


def classical(damping=0.0, governor=0.0):
    """Two machines over a line: angles in rad, speeds in pu; A has a double zero without damping.

    The pair of eigenvalues is that of the relative angle: +-j sqrt(w0 K (1/M1 + 1/M2)).
    """
    w0, m, k = 2 * np.pi * 60.0, np.array([6.0, 13.0]), 1.7
    a = np.zeros((4, 4))
    a[:2, 2:] = w0 * np.eye(2)
    a[2:, :2] = -k * np.array([[1.0, -1.0], [-1.0, 1.0]]) / m[:, None]
    a[2:, 2:] = -np.diag((damping + governor * np.array([1.0, 0.0])) / m)
    return a, 1j * np.sqrt(w0 * k * (1 / m).sum())


def test_a_double_zero_is_exact_and_the_pair_is_that_of_the_relative_angle():
    matrix, pair = classical()
    found = eigen(matrix)
    assert np.count_nonzero(found.values == 0.0) == 2
    assert found.values[0] in (pytest.approx(pair, abs=1e-12), pytest.approx(-pair, abs=1e-12))
    assert not (found.values.real > found.error).any()
    # As an eigenvalue solver finds it, it is 1e-7 or so to either side.
    assert np.sort(np.abs(np.linalg.eigvals(matrix)))[1] > 1e-9


def test_the_zeros_have_the_vectors_of_a_common_angle_and_a_common_speed():
    matrix, _ = classical()
    found = eigen(matrix)
    zero = found.values == 0.0
    angle, speed = np.array([1.0, 1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0, 1.0])
    span = found.right[:, zero]
    for vector in (angle, speed):
        assert np.linalg.lstsq(span, vector, rcond=None)[1] < 1e-20
    left = found.left[:, zero]
    # The angle of the centre of inertia, and its speed.
    np.testing.assert_allclose(left.T @ span, np.eye(2), atol=1e-12)
    np.testing.assert_allclose(np.abs(left.T @ found.right[:, ~zero]), 0.0, atol=1e-12)


def test_damping_leaves_a_single_zero_and_a_slow_mode():
    matrix, _ = classical(damping=1e-5)
    values = eigenvalues(matrix)
    assert np.count_nonzero(values == 0.0) == 1
    slow = values[(values != 0.0) & (np.abs(values) < 1e-3)]
    # A common speed decays by 2 D / (M1 + M2) where damping is small.
    assert slow == [pytest.approx(-2e-5 / 19.0, rel=1e-3)]


@pytest.mark.parametrize("seed", range(4))
def test_vectors_of_random_matrices_with_chains(seed):
    rng = np.random.default_rng(seed)
    blocks = np.zeros((12, 12))
    blocks[0, 1] = blocks[1, 2] = 1.0  # a chain of three
    blocks[3, 4] = 1.0  # one of two
    blocks[6:, 6:] = np.diag(-rng.uniform(0.1, 1e3, 6))  # and a single zero at 5
    basis = rng.standard_normal((12, 12))
    matrix = basis @ blocks @ np.linalg.inv(basis)
    found = eigen(matrix)
    zero = found.values == 0.0
    assert np.count_nonzero(zero) == 6
    np.testing.assert_allclose(np.sort(found.values[~zero].real), np.sort(np.diag(blocks)[6:]), rtol=1e-8)
    size = 1e-9 * found.norm * np.linalg.cond(basis)
    product = matrix @ found.right[:, ~zero] - found.right[:, ~zero] * found.values[~zero]
    np.testing.assert_allclose(product, 0.0, atol=size)
    np.testing.assert_allclose(
        found.left[:, ~zero].conj().T @ matrix - found.values[~zero, None] * found.left[:, ~zero].conj().T,
        0.0,
        atol=size,
    )
    np.testing.assert_allclose(found.left[:, zero].T @ found.right[:, zero], np.eye(6), atol=1e-6)


@pytest.mark.parametrize("matrix", [np.zeros((0, 0)), np.zeros((2, 2)), np.array([[0.0, 1.0], [0.0, 0.0]])])
def test_nothing_but_zeros(matrix):
    found = eigen(matrix)
    assert found.values.shape == (len(matrix),)
    assert not found.values.any()
    np.testing.assert_allclose(found.left.T @ found.right, np.eye(len(matrix)))


# Whether anything governs the frequency: SOURCE.md of each case.
ZEROS = {"kundur/thyristor": 2, "new-england/new-england": 2, "wscc9/sauer-pai": 2, "wscc9/wscc9": 1}


@pytest.mark.parametrize(("case", "count"), ZEROS.items())
def test_cases_have_as_many_zeros_as_nothing_governs(case, count):
    system = psmr.build(psmr.read_case(ROOT / "cases" / f"{case}.toml"))
    linear = system.linearise()
    table = psmr.modes(linear)
    zeros = table[(table.real == 0.0) & (table.imag == 0.0)]
    assert len(zeros) == count
    assert table.real.is_monotonic_decreasing
    assert zeros.damping_ratio.isna().all()
    assert zeros.dominant_state.str.endswith((".delta", ".omega")).all()
    assert ((table.real.abs() > 1e-4) | (table.real == 0.0)).all()
    report = psmr.deformation(linear, psmr.SingleRate("TM", 0.01))
    assert (report.table.status == "zero mode").sum() == count
    assert report.stable == (not table.grows.any())


def test_a_slow_mode_of_a_stiff_system_is_no_zero():
    # 7.1e-4 1/s beside 3.5e5: less than sqrt(eps) |A|, by which zeros of a double root used to be told.
    case = ROOT / "cases" / "new-england" / "new-england-plants.toml"
    linear = psmr.build(psmr.read_case(case)).linearise()
    table = psmr.modes(linear)
    assert (table.real == 0.0).sum() == 1
    assert table.real[table.real > 0.0].tolist() == [pytest.approx(7.1336e-4, rel=1e-3)]
