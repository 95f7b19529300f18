"""The step operator: against an independent step, against its pencil, and what must hold between schemes."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
import scipy.linalg

from psmr import Multirate, SingleRate, step_operator
from psmr.errors import SchemeError, SingularError
from psmr.pencil import correction_rate, macro_pencil, spectral_radius
from tests.internals import HISTORY, PREDICTED, TUNED, lagrange_weights, response_matrix_module
from tests.pencil.oracle import Oracle, linear_dae, ode, partition, random_dae

METHODS = ("FEM", "TM", "BEM", "RK4", "SDIRK2")
FAMILIES = list(
    itertools.product(
        ("FEM", "TM", "BEM"), ("TM", "BEM"), ("linear", "spline"), ("all", "slow"), (0, 1, 3, "converge")
    )
)

COUPLED = [
    *itertools.product(("end", "mean"), ("schur",), ("FEM", "TM"), ("TM", "BEM"), HISTORY, PREDICTED, (0,)),
    *itertools.product(("mean",), ("held",), ("TM",), ("TM", "BEM"), HISTORY, PREDICTED, (0, 1, "converge")),
]


def family(linear, predictor, solution, interpolation, predict, corrections, h=0.02, ratio=4):
    split = partition(linear, [0, 1], [0, 2])
    return Multirate(
        split, h, ratio, predictor, solution, interpolation, corrections=corrections, predict=predict
    )


def assert_one(linear, scheme):
    """Assert that the pencil, solved, is the operator."""
    operator = step_operator(linear, scheme)
    left, right = macro_pencil(linear, scheme)
    size = len(operator)
    assert right[:, :-size].nnz == 0
    stacked = np.linalg.solve(left.toarray(), right.toarray())[-size:, -size:]
    np.testing.assert_allclose(operator, stacked, atol=1e-12)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("sizes", [(0,), (1,), (2,), (4, 5, 0)])  # of the last nothing is algebraic
def test_single_rate_operator_is_the_step(method, sizes):
    linear, scheme = random_dae(*sizes), SingleRate(method, 0.01)
    np.testing.assert_allclose(step_operator(linear, scheme), Oracle(linear, scheme).operator(), atol=1e-12)


@pytest.mark.parametrize("choices", FAMILIES, ids=lambda c: "-".join(map(str, c)))
def test_multirate_operator_is_the_step(choices):
    linear = random_dae(1)
    scheme = family(linear, *choices)
    np.testing.assert_allclose(step_operator(linear, scheme), Oracle(linear, scheme).operator(), atol=1e-12)


@pytest.mark.parametrize("coupled", COUPLED, ids=lambda c: "-".join(map(str, c)))
def test_operator_of_couplings_is_the_step(monkeypatch, coupled):
    monkeypatch.setattr(response_matrix_module, "TUNED", replace(TUNED, negligible=0.0))
    coupling, interface, *choices = coupled
    linear = random_dae(1)
    scheme = replace(family(linear, *choices), coupling=coupling, interface=interface)
    np.testing.assert_allclose(step_operator(linear, scheme), Oracle(linear, scheme).operator(), atol=1e-12)


@pytest.mark.parametrize("solution", ["TM", "BEM"])
def test_one_fast_step_with_the_mean_and_converged_corrections_is_single_rate_where_g_holds(solution):
    linear = random_dae(5)
    scheme = replace(family(linear, "TM", solution, "linear", "all", "converge", ratio=1), coupling="mean")
    single = step_operator(linear, SingleRate(solution, scheme.h_slow))
    consistent = np.vstack([np.eye(linear.n), -np.linalg.solve(linear.gy.toarray(), linear.gx.toarray())])
    multi = step_operator(linear, scheme)
    np.testing.assert_allclose(multi @ consistent, single @ consistent, atol=1e-13)


def test_the_schur_interface_has_no_corrections():
    linear = random_dae(1)
    with pytest.raises(SchemeError, match="corrections = 1: none with interface='schur'"):
        replace(family(linear, "TM", "TM", "linear", "all", 1), interface="schur")


@pytest.mark.parametrize("choices", FAMILIES, ids=lambda c: "-".join(map(str, c)))
def test_pencil_and_operator_are_one(choices):
    linear = random_dae(2)
    assert_one(linear, family(linear, *choices))


@pytest.mark.parametrize("method", METHODS)
def test_single_rate_pencil_and_operator_are_one(method):
    assert_one(random_dae(3), SingleRate(method, 0.01))


def test_finite_eigenvalues_of_the_pencil_are_those_of_the_operator():
    linear = random_dae(0)
    scheme = family(linear, "TM", "TM", "linear", "all", 0)
    left, right = (matrix.toarray() for matrix in macro_pencil(linear, scheme))
    pencil = scipy.linalg.eigvals(right, left)
    pencil = pencil[np.abs(pencil) > 1e-6]
    operator = np.linalg.eigvals(step_operator(linear, scheme))
    operator = operator[np.abs(operator) > 1e-6]
    assert len(pencil) == len(operator)
    assert np.abs(pencil[:, None] - operator[None, :]).min(axis=0).max() < 1e-12


@pytest.mark.parametrize("solution", ["TM", "BEM"])
@pytest.mark.parametrize("predictor", ["FEM", "TM", "BEM"])
@pytest.mark.parametrize("interpolation", ["linear", "spline"])
def test_one_fast_step_with_converged_corrections_is_single_rate(predictor, solution, interpolation):
    linear = random_dae(5)
    scheme = family(linear, predictor, solution, interpolation, "all", "converge", ratio=1)
    single = step_operator(linear, SingleRate(solution, scheme.h_slow))
    size = len(single)
    multi = step_operator(linear, scheme)
    np.testing.assert_allclose(multi[:size, :size], single, atol=1e-13)
    assert not multi[:size, size:].any()


@pytest.mark.parametrize("solution", ["TM", "BEM"])
def test_everything_fast_is_single_rate_with_the_fast_step(solution):
    linear = random_dae(6)
    split = partition(linear, list(range(linear.n)), list(range(linear.m)))
    single = step_operator(linear, SingleRate(solution, 0.005))
    multi = step_operator(linear, Multirate(split, 0.04, 8, "FEM", solution))
    np.testing.assert_allclose(multi, np.linalg.matrix_power(single, 8), atol=1e-13)


@pytest.mark.parametrize("solution", ["TM", "BEM"])
def test_everything_slow_is_single_rate_with_the_slow_step(solution):
    linear = random_dae(6)
    split = partition(linear, [], [])
    single = step_operator(linear, SingleRate(solution, 0.04))
    multi = step_operator(linear, Multirate(split, 0.04, 8, "FEM", solution))
    np.testing.assert_allclose(multi, single, atol=1e-13)


def test_many_corrections_come_to_the_converged_operator():
    linear = random_dae(7)
    many = family(linear, "FEM", "TM", "linear", "all", 40)
    converged = family(linear, "FEM", "TM", "linear", "all", "converge")
    assert correction_rate(linear, many) < 0.3
    np.testing.assert_allclose(step_operator(linear, many), step_operator(linear, converged), atol=1e-12)


def test_correction_rate_of_an_extrapolation_is_that_with_the_interface_held():
    linear = random_dae(2)
    scheme = family(linear, "extrapolation", "TM", "linear", "slow", 0)
    responding = replace(scheme, interface="schur")
    held = replace(scheme, interface="held")
    assert 0.0 < correction_rate(linear, responding) == correction_rate(linear, held)


def test_correction_rate_is_the_factor_between_two_corrections():
    linear = random_dae(7)
    operators = [step_operator(linear, family(linear, "FEM", "TM", "linear", "all", k)) for k in range(8)]
    changes = [np.linalg.norm(b - a) for a, b in itertools.pairwise(operators)]
    rate = correction_rate(linear, family(linear, "FEM", "TM", "linear", "all", 0))
    # The largest eigenvalue takes over geometrically; after six corrections it is most of what is left.
    assert (changes[6] / changes[4]) ** 0.5 == pytest.approx(rate, rel=0.2)


@pytest.mark.parametrize(("kind", "order"), [("linear", 2.0), ("spline", 4.0)], ids=["linear", "spline"])
def test_interpolation_order(kind, order):
    """Error of the interpolated exponential in mid-step: (h s)^2 / 8, and 4th order for the cubic."""
    errors = []
    for h in (0.08, 0.04, 0.02, 0.01):
        nodes = np.array([1.0, 0.0, -1.0, -2.0])[: 2 + HISTORY[kind]]
        value = lagrange_weights(nodes, 0.5) @ np.exp(nodes * h)
        errors.append(abs(value - np.exp(0.5 * h)))
    slopes = np.diff(np.log2(errors)) * -1.0
    np.testing.assert_allclose(slopes, order, atol=0.05)


def test_stability_limits_from_theory():
    """On x' = -x: FEM is stable up to h = 2, RK4 up to 2.785, TM and BEM always (Hairer and Wanner, IV)."""
    linear = ode([[-1.0]])
    for method, limit in (("FEM", 2.0), ("RK4", 2.785293563)):
        assert spectral_radius(linear, SingleRate(method, 0.999 * limit)) < 1.0
        assert spectral_radius(linear, SingleRate(method, 1.001 * limit)) > 1.0
    assert spectral_radius(linear, SingleRate("TM", 100.0)) < 1.0
    assert spectral_radius(linear, SingleRate("BEM", 100.0)) == pytest.approx(1.0 / 101.0)


def test_predicting_only_slow_variables_keeps_forward_euler_usable():
    """An explicit step of a state of -2000 1/s reaches a slow algebraic variable and returns."""
    fx, fy = np.array([[-2000.0, 0.0], [0.0, -1.0]]), np.array([[1600.0], [0.5]])
    gx, gy = np.array([[0.5, 1.0]]), np.array([[-1.0]])
    linear = linear_dae(fx, fy, gx, gy)
    split = partition(linear, [0], [])
    slow = Multirate(split, 0.02, 10, "FEM", "TM", predict="slow")
    everything = Multirate(split, 0.02, 10, "FEM", "TM", predict="all")
    assert spectral_radius(linear, slow) < 1.0 < spectral_radius(linear, everything)


def test_singular_fast_block_is_named():
    """The fast algebraic equation does not contain the fast algebraic variable."""
    linear = linear_dae(-np.eye(2), np.ones((2, 2)), np.zeros((2, 2)), np.array([[0.0, 1.0], [1.0, 0.0]]))
    split = partition(linear, [0], [0])
    object.__setattr__(split, "fast_g", np.array([True, False]))
    with pytest.raises(
        SingularError, match=r"'fast point 1'.*fast, step 0.02 s.*well posed.*order 4 is singular"
    ):
        step_operator(linear, Multirate(split, 0.02, 4))


def test_partition_of_another_system_is_refused():
    split = partition(random_dae(0, 7, 5), [0], [0])
    with pytest.raises(
        SchemeError, match="7 states and 5 algebraic variables of another system; this one has 6"
    ):
        step_operator(random_dae(0), Multirate(split, 0.02, 4))


def test_unknown_scheme_is_refused():
    with pytest.raises(SchemeError, match="scheme = 'TM': must be a scheme; use psmr"):
        step_operator(random_dae(0), "TM")


def test_single_rate_has_no_corrections():
    with pytest.raises(SchemeError, match="SingleRate scheme has no corrections; pass a Multirate"):
        correction_rate(random_dae(0), SingleRate("TM", 0.01))
