import importlib

import numpy as np
import pytest
import scipy.linalg

import partitioning
from tests.internals import modes


def test_known_factors_of_a_two_by_two_system(make):
    # A = [[0, 1], [-2, -3]]: eigenvalues -1 and -2, V = [[1, 1], [-1, -2]], V^-1 = [[2, 1], [-1, -1]].
    values, px, py = partitioning.participation(
        make([[0.0, 1.0], [-2.0, -3.0]], gx=[[1.0, 2.0]], gy=[[-1.0]])
    )
    order = np.argsort(-values.real)
    assert np.allclose(values[order], [-1.0, -2.0], rtol=1e-13)
    assert np.allclose(px[:, order], [[2.0, -1.0], [-1.0, 2.0]], rtol=1e-12)
    # y = x1 + 2 x2, so its row is (2 - 2, -1 + 4) = (0, 3), of norm one.
    assert np.allclose(py[:, order], [[0.0, 1.0]], atol=1e-12)


def test_factors_are_w_transposed_times_v(make):
    rng = np.random.default_rng(1)
    linear = make(rng.standard_normal((6, 6)), rng.standard_normal((6, 4)), rng.standard_normal((4, 6)),
                  rng.standard_normal((4, 4)) + 4 * np.eye(4))  # fmt: skip
    values, px, py = partitioning.participation(linear)
    reference, v = np.linalg.eig(linear.state_matrix())
    w = np.linalg.inv(v)
    match = np.abs(values[:, None] - reference[None, :]).argmin(axis=1)
    expected = (w.T * v)[:, match]
    assert np.allclose(px, expected, atol=1e-11)
    output = -np.linalg.solve(linear.gy.toarray(), linear.gx.toarray()) @ expected
    assert np.allclose(py, output / np.linalg.norm(output, axis=1, keepdims=True), atol=1e-11)
    assert np.allclose(np.linalg.norm(py, axis=1), 1.0)
    assert np.allclose(px.sum(axis=1), 1.0, atol=1e-12)


def test_factors_do_not_depend_on_the_units_of_the_states(make):
    rng = np.random.default_rng(2)
    a = rng.standard_normal((5, 5))
    units = np.diag([1e-6, 1.0, 1e5, 377.0, 1e-3])
    plain, scaled = (partitioning.participation(make(m))[1] for m in (a, units @ a @ np.linalg.inv(units)))
    assert np.allclose(np.sort_complex(plain.ravel()), np.sort_complex(scaled.ravel()), atol=1e-9)


@pytest.mark.parametrize(
    "jordan",
    [
        np.diag([0.0, 0, -3, -3, -5])
        + np.diag([1.0, 0, 0, 0], 1),  # a double zero, and a semisimple double -3
        np.diag([0.0, 0, 0, -3, -1000]) + np.diag([1.0, 1, 0, 0], 1),  # a triple zero
        scipy.linalg.block_diag(
            [[-1.0, 5, 1, 0], [-5, -1, 0, 1], [0, 0, -1, 5], [0, 0, -5, -1]], -7
        ),  # a double pair
        scipy.linalg.block_diag([[0.0, 1], [0, 0]], [[0, 1], [0, 0]], -7.0),  # two rotors without a reference
        np.diag([-4.0] * 5) + np.diag([1.0] * 4, 1),  # a chain of five equal lags
        scipy.linalg.block_diag([[0.0, 1], [0, 0]], [[-1000, 1], [0, -1000]], -7.0),  # two double eigenvalues
    ],
    ids=["double zero", "triple zero", "double complex pair", "two rotors", "five lags", "two double"],
)
@pytest.mark.parametrize("turned", [False, True], ids=["exact", "perturbed by rounding"])
def test_defective_and_repeated_eigenvalues_have_the_shares_of_their_projector(make, jordan, turned):
    basis = np.random.default_rng(3).standard_normal((5, 5)) if turned else np.eye(5)
    inverse = np.linalg.inv(basis)
    found = modes(make(basis @ jordan @ inverse))
    assert np.isfinite(found.states).all()
    assert np.allclose(found.states.sum(axis=1), 1.0, atol=1e-9)
    exact = np.linalg.eigvals(jordan)
    for label in np.unique(found.cluster):
        members = found.cluster == label
        mean = found.eigenvalues[members].mean()
        # The projector from the exact Jordan form; a complex pair of it is taken through its real block.
        t, z = scipy.linalg.schur(jordan.astype(complex))
        pick = np.abs(np.diag(t) - mean) < 0.1
        assert pick.sum() == members.sum() == (np.abs(exact - mean) < 0.1).sum()
        projector = _projector(jordan, pick, t, z)
        expected = np.diag(basis @ projector @ inverse)
        assert np.allclose(found.states[:, members].sum(axis=1), expected, atol=1e-8)


def _projector(jordan, pick, t, z):
    """Spectral projector by the contour integral of the resolvent, 64 points on a circle of radius 0.5."""
    centre = np.diag(t)[pick].mean()
    angles = np.exp(2j * np.pi * np.arange(64) / 64)
    return (
        sum(0.5 * e * np.linalg.inv((centre + 0.5 * e) * np.eye(len(jordan)) - jordan) for e in angles) / 64
    )


def test_a_double_zero_eigenvalue_is_zero_and_slow(make):
    # Angle and speed of a system without a reference: the double zero is split by rounding to about 1e-7.
    basis = np.random.default_rng(4).standard_normal((3, 3))
    a = basis @ np.array([[0.0, 1, 0], [0, 0, 0], [0, 0, -4.0]]) @ np.linalg.inv(basis)
    owners = modes(make(a)).owners()
    assert set(np.abs(owners).round(9)) <= {0.0, 4.0}
    assert 0.0 in np.abs(owners)


def test_a_variable_that_no_state_moves_belongs_to_no_mode(two_rates):
    found = modes(two_rates)
    assert np.isnan(found.owners()[4])
    assert np.array_equal(found.algebraic[2], np.zeros(2))


def test_a_system_without_states_or_without_algebraic_variables(make):
    assert partitioning.participation(make([[-2.0]]))[2].shape == (0, 1)
    linear = make([], gy=[[2.0]])
    assert partitioning.participation(linear)[2].shape == (1, 0)
    assert not partitioning.by_participation(linear, 1.0).fast_y.any()


def test_a_singular_gy_names_its_equations(make):
    gy = np.array([[1.0, 2.0, 0.0], [2.0, 4.0, 0.0], [0.0, 0.0, 1.0]])
    linear = make([[-1.0]], gy=gy, names_y=("a.p", "b.q", "c.r"), names_g=("a.g", "b.g", "c.g"))
    with pytest.raises(partitioning.PartitionError, match=r"gy is singular .*(a.g, b.g|b.g, a.g)") as error:
        partitioning.participation(linear)
    assert "c.g" not in str(error.value)


def test_a_structurally_singular_gy_names_an_equation(make):
    linear = make([[-1.0]], gy=[[1.0, 0.0], [1.0, 0.0]], names_g=("a.g", "b.g"))
    with pytest.raises(partitioning.PartitionError, match=r"structurally singular.*[ab].g"):
        partitioning.all_fast(linear)


def test_a_value_that_is_no_number_names_its_row(make):
    linear = make([[-1.0, 0.0], [np.nan, -2.0]], names_x=("G1.delta", "G1.omega"))
    with pytest.raises(partitioning.PartitionError, match=r"fx has the value nan in the row of G1.omega"):
        partitioning.participation(linear)


def test_too_many_states_point_to_by_device(make, monkeypatch):
    for module in ("participation", "selection"):
        monkeypatch.setattr(importlib.import_module(f"partitioning.{module}"), "LARGEST", 2)
    linear = make(np.diag([-1.0, -2.0, -300.0]))
    with pytest.raises(partitioning.PartitionError, match=r"3 states.*above 2; .*by_device\(linear, fast="):
        partitioning.by_participation(linear, 20.0)
    split = partitioning.by_device(linear, ["D2"])
    assert split.fast == ("D2.x",)
    assert split.table["magnitude"].isna().all()
