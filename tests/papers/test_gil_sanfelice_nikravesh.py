"""Gil, Sanfelice and Nikravesh (2013): the facts that the corrected algorithm must show."""

import numpy as np
import pytest

import partitioning
import psmr
from psmr.papers.catalogue import reproduce
from psmr.papers.gil_sanfelice_nikravesh import paper as gil_paper
from psmr.papers.gil_sanfelice_nikravesh import pendulum, two_scales
from psmr.papers.gil_sanfelice_nikravesh.pendulum import H, pendulum_runs
from psmr.papers.gil_sanfelice_nikravesh.slow_manifold import slow_manifold_map
from tests.internals import integrate
from tests.papers.mutated import assert_followed


def test_the_test_equation_is_the_complex_one():
    A = two_scales.linear_two_scales(100.0, 0.1).linearise().state_matrix()
    expected = (-1 + 1j) * np.array([[1, 0.1], [10.0, 100.0]])
    assert np.allclose(A[0::2, 0::2] + 1j * A[1::2, 0::2], expected)
    assert np.allclose(A[0::2, 1::2], -A[1::2, 0::2])


def test_formulas_equal_the_operator_and_the_printed_one_with_m12_corrected():
    rng = np.random.default_rng(1)
    for _ in range(50):
        alpha, beta = 10 ** rng.uniform(0.3, 3), rng.uniform(0, 0.9)
        xi = -rng.uniform(0.05, 2.5) + 1j * rng.uniform(-2, 2)
        M = two_scales.algorithm(alpha, beta, xi)
        A = two_scales.linear_two_scales(alpha, beta, xi).linearise().state_matrix()
        T = slow_manifold_map(A, np.array([False, False, True, True]), 1.0)
        assert np.abs(T[0::2, 0::2] + 1j * T[1::2, 0::2] - M).max() < 1e-12
        assert np.abs(two_scales.printed_55_56(alpha, beta, xi, corrected=True) - M).max() < 1e-12


def test_stability_limit_does_not_depend_on_alpha():
    # NUMERICS of the scheme: 2.81 at beta = 0.1 on the negative real axis, within 1 %.
    limits = [
        two_scales.stability_limit(two_scales.algorithm, alpha, 0.1, 180.0) for alpha in (10, 100, 1000)
    ]
    assert limits == pytest.approx([2.81] * 3, rel=0.01)
    assert gil_paper.spread(two_scales.stability_table()) < 0.01


def test_slopes_of_the_local_error_in_both_regimes():
    slopes = two_scales.slope_table(two_scales.local_errors()).set_index(["alpha", "beta"])
    below = slopes.filter(like="< 0.03").to_numpy()
    beyond = slopes.filter(like="> 30").loc[(1000, 0.1)]
    assert np.nanmax(np.abs(below - 2.0)) < 0.01
    assert np.abs(beyond - 1.0).max() < 0.01


@pytest.mark.slow
def test_pendulum_with_a_step_of_5_ms():
    r = pendulum_runs()
    assert pendulum.largest_change(r.ours) == pytest.approx(1.3e-5, rel=0.05)
    assert r.angle_error(r.ours) == pytest.approx(2.8e-7, rel=0.05)
    passed = r.rk4_t[np.argmax(np.abs(r.rk4).max(axis=1) > 1e6)]
    assert 0 < passed < 0.08


def test_the_printed_block_matrix_loses_the_accuracy():
    assert pendulum_runs().printed_energy > 1.0
    q = pendulum_runs().reference[0]
    for _ in range(20):
        q = pendulum.published_step(q, H, printed=False)
    # Corrected, the same step keeps angle, speed and place of the particle; measured 2e-7 after 0.1 s.
    assert np.abs(q - pendulum_runs().reference[20])[:4].max() < 1e-6


def test_the_pendulum_keeps_its_energy_and_its_joint_in_a_tight_run():
    system = pendulum.pendulum()
    run = integrate(system, psmr.SingleRate("RK4", 5e-5), 0.5)
    energy = pendulum.energy(run.x)
    assert np.abs(energy - energy[0]).max() < 1e-9
    assert np.abs(run.x[:, 0] - np.sin(run.x[:, 2]) / 2).max() < 1e-10
    q = pendulum_runs().reference[100]
    assert np.abs(run.x[-1, [2, 5]] - q[:2]).max() < 1e-9


def test_the_reproduction_writes_tables_figures_and_a_page(tmp_path):
    result = reproduce("gil-sanfelice-nikravesh", tmp_path)
    assert_followed("gil-sanfelice-nikravesh", result)
    files = result.write(tmp_path)
    assert all(path.stat().st_size > 0 for path in files)
    assert {path.suffix for path in files} == {".csv", ".svg", ".html"}
    assert result.count("misprint") == 6
    page = (tmp_path / "index.html").read_text()
    assert "gil-pendulum.svg" in page
    assert "misprint" in str(result)
    assert set(result.record()) == {"name", "citation", "findings", "tables", "figures"}


def test_a_paper_that_is_not_there(tmp_path):
    with pytest.raises(
        psmr.PsmrError, match="no paper 'gil-sanfelice'; did you mean 'gil-sanfelice-nikravesh'"
    ):
        reproduce("gil-sanfelice", tmp_path)


def test_no_fast_set_of_the_pendulum_is_an_integrator():
    system = pendulum.pendulum()
    with pytest.raises(psmr.PsmrError, match="pure integrator"):
        integrate(
            system,
            psmr.SlowManifold(partitioning.by_hand(system.linearise(), ["P.r_x", "P.r_y"]), 0.005),
            1.0,
        )
