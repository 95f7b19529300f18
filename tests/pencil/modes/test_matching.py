"""Which multiplier belongs to which mode."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from psmr import Multirate, SingleRate, deformation, step_operator
from tests.internals import match, modes_of, multipliers_of, unwrapped_logarithm
from tests.pencil.oracle import ode, partition, random_dae

SAMPLED = {
    "FEM": lambda x: 1 + x,
    "TM": lambda x: (1 + x / 2) / (1 - x / 2),
    "BEM": lambda x: 1 / (1 - x),
    "RK4": lambda x: 1 + x + x**2 / 2 + x**3 / 6 + x**4 / 24,
}


def pairs(*modes):
    """A real matrix with the given modes, complex ones with their conjugates, in a mixed basis."""
    blocks = []
    for s in modes:
        blocks.append(np.array([[s.real, s.imag], [-s.imag, s.real]]) if s.imag else np.array([[s.real]]))
    size = sum(len(block) for block in blocks)
    matrix, at = np.zeros((size, size)), 0
    for block in blocks:
        matrix[at : at + len(block), at : at + len(block)] = block
        at += len(block)
    basis = np.eye(size) + 0.3 * np.random.default_rng(0).standard_normal((size, size))
    return ode(basis @ matrix @ np.linalg.inv(basis))


@pytest.mark.parametrize("method", SAMPLED)
@pytest.mark.parametrize("h", [0.01, 0.05])
def test_single_rate_modes_are_the_stability_function(method, h):
    """For these methods T is a function of A: z = R(h s), so that every pair is known."""
    linear = pairs(-0.2 + 8.4j, -0.5 + 7.9j, -5.3 + 7.9j, -5.2 + 7.8j, -1.0 + 0j, -1.1 + 0j, -9.0 + 0j)
    report = deformation(linear, SingleRate(method, h))
    for row, z in zip(report.table.itertuples(), report.multipliers, strict=True):
        assert row.status == "represented"
        assert z == pytest.approx(SAMPLED[method](h * complex(row.real, row.imag)), abs=1e-12)
    assert report.spurious.empty


@pytest.mark.parametrize("seed", range(8))
def test_small_steps_match_every_mode_to_itself(seed):
    """As h goes to 0 each multiplier goes to exp(s h) of its own mode, and no other is left near 1."""
    linear = random_dae(seed)
    scheme = Multirate(partition(linear, [0, 1], [0, 2]), 1e-3, 4, "TM", "TM")
    report = deformation(linear, scheme)
    assert (report.table["status"] == "represented").all()
    assert report.table["relative_deformation"].max() < 1e-3
    assert (report.spurious["magnitude"] < 0.5).all()


def test_the_logarithm_is_unwrapped_towards_the_mode():
    """A multiplier whose angle has just passed pi belongs to a mode just below it."""
    h, s = 0.1, -1.0 + 30.0j
    z = np.exp((s + 2.0j) * h)
    assert np.angle(z) < 0.0
    assert unwrapped_logarithm(z, s, h) == pytest.approx(s + 2.0j)


def test_a_mode_beyond_half_the_sampling_rate_is_not_represented():
    report = deformation(pairs(-1.0 + 40.0j, -0.3 + 2.0j), SingleRate("TM", 0.1))
    fast = report.table[report.table["imag"] > 10.0].iloc[0]
    assert fast["status"].startswith("not represented: |Im s| h = 4 > pi, |z| = ")
    assert np.isnan(fast["real_numerical"])
    assert np.isnan(fast["relative_deformation"])
    assert "Not resolved by this step (they appear as other modes): -1 ± j40 1/s" in " ".join(report.warnings)


def test_a_mode_on_the_negative_axis_is_not_represented():
    """TM on s h = -10: z = (1 - 5) / (1 + 5) = -2/3."""
    report = deformation(pairs(-100.0 + 0j, -0.3 + 2.0j), SingleRate("TM", 0.1))
    stiff = report.table[report.table["real"] < -50.0].iloc[0]
    assert stiff["status"] == "not represented: z on the negative real axis, |z| = 0.667"
    assert np.isnan(stiff["real_numerical"])


def test_a_mode_damped_below_rounding_has_no_multiplier():
    """BEM, everything fast: z = (1 + 1e5 / 10)^-10 = 1e-40."""
    linear = pairs(-1e6 + 0j, -0.3 + 2.0j)
    scheme = Multirate(partition(linear, [0, 1, 2], []), 0.1, 10, "BEM", "BEM")
    report = deformation(linear, scheme)
    assert report.table.iloc[-1]["status"] == "not represented: no multiplier is like it"
    assert report.stable


def test_no_multiplier_serves_two_modes_and_the_rest_is_spurious():
    linear = random_dae(3, 8, 6, stiff=300.0)
    scheme = Multirate(partition(linear, [0, 1], [0, 2]), 0.05, 5, "TM", "TM", "spline")
    modes = modes_of(linear)
    numerical = multipliers_of(step_operator(linear, scheme), linear.n + linear.m)
    matched = match(modes, numerical, scheme.step)
    taken = matched.partner[matched.partner >= 0]
    assert len(np.unique(taken)) == len(taken)
    assert len(taken) + len(matched.spurious) == len(numerical.z)
    report = deformation(linear, scheme)
    assert len(report.spurious) == len(matched.spurious)
    np.testing.assert_array_equal(report.spurious["magnitude"], np.abs(numerical.z[matched.spurious]))


def test_conjugate_modes_get_conjugate_multipliers():
    linear = random_dae(2)
    scheme = Multirate(partition(linear, [0, 1], [0, 2]), 0.02, 4)
    modes = modes_of(linear)
    matched = match(modes, multipliers_of(step_operator(linear, scheme), linear.n + linear.m), scheme.step)
    for k in np.flatnonzero(modes.s.imag > 0.0):
        other = np.abs(modes.s - modes.s[k].conj()).argmin()
        assert matched.s_numerical[other] == pytest.approx(matched.s_numerical[k].conj(), rel=1e-9)


def test_a_change_of_units_changes_no_pair():
    """One state in millivolts: eigenvectors turn, participation factors do not."""
    linear = random_dae(1)
    split = partition(linear, [0, 1], [0, 2])
    scale = np.array([1.0, 1000.0, 1.0, 0.001, 1.0, 1.0])
    up, down = sp.diags_array(scale), sp.diags_array(1.0 / scale)
    scaled = replace(
        linear,
        fx=sp.csc_matrix(up @ linear.fx @ down),
        fy=sp.csc_matrix(up @ linear.fy),
        gx=sp.csc_matrix(linear.gx @ down),
    )
    scheme = Multirate(split, 0.02, 4)
    plain, other = deformation(linear, scheme), deformation(scaled, scheme)
    np.testing.assert_allclose(other.multipliers, plain.multipliers, rtol=1e-8)


def test_multipliers_are_free_of_the_scatter_of_the_null_space():
    """Those of T itself scatter around 0 up to sqrt(eps); here are the non-zero ones only."""
    linear = random_dae(4)
    operator = step_operator(linear, Multirate(partition(linear, [0, 1], [0, 2]), 0.02, 4))
    numerical = multipliers_of(operator, linear.n + linear.m)
    assert len(numerical.z) < len(operator)
    for z, vector in zip(numerical.z, numerical.vectors.T, strict=True):
        np.testing.assert_allclose(operator @ vector, z * vector, atol=1e-12)
    assert (numerical.error < 1e-12).all()
