"""Stability limits of the explicit methods, and the warning that names them."""

import numpy as np
import pytest

import psmr
from psmr import ArcLength, SingleRate
from tests.internals import (
    EPSILON,
    EXPLICIT,
    Spectrum,
    boundary_layer,
    longest_step,
    mode_words,
    stability_limit,
)
from tests.papers.test_smes import linear


def test_polynomials_are_truncated_exponentials():
    z = np.array([-1.3 + 0.4j, 0.2j, 3.0])
    terms = [z**k / np.prod(np.arange(1, k + 1)) if k else np.ones(3) for k in range(5)]
    for method, order in (("FEM", 1), ("RK2", 2), ("RK4", 4)):
        np.testing.assert_allclose(
            EXPLICIT[method].stability_function(z), sum(terms[: order + 1]), rtol=1e-14
        )


# Real limits: 2, 2, 2.785 (root of the polynomial) and 3.307 (Dormand and Prince); RK4 on the axis: 2 sqrt 2.
@pytest.mark.parametrize(
    ("method", "limit"), [("FEM", 2.0), ("RK2", 2.0), ("RK4", 2.785294), ("RK54", 3.3066)]
)
def test_limit_on_the_real_axis(method, limit):
    assert longest_step([-10.0], method) == pytest.approx(limit / 10, rel=2e-4)


def test_limit_on_the_imaginary_axis():
    assert longest_step([1j], "FEM") == 0.0
    assert longest_step([10j], "RK4") == pytest.approx(0.28284, rel=2e-4)
    assert longest_step([-1 + 10j], "FEM") == pytest.approx(2 / 101)


def test_spectrum_leaves_rest_and_growth_aside():
    spectrum = Spectrum.of(linear(0.0, 0.3, -1e3, -2.0 + 7j))
    assert sorted(spectrum.damped.real) == pytest.approx([-1e3, -2.0, -2.0])


def test_modes_in_words():
    assert mode_words(-3.0 + 0j) == "-3 1/s (damping ratio 1)"
    assert mode_words(-0.1956 + 8.373j) == "-0.1956 ± j8.373 1/s (1.33 Hz, damping ratio 0.0234)"


def test_limit_is_said_for_explicit_methods_only():
    dae = linear(-1e3, -1.0)
    assert stability_limit(dae, SingleRate("RK4", 0.01)).startswith("RK4 is stable up to h = 0.00279 s")
    assert stability_limit(dae, ArcLength("FEM", 0.01, weight_t=2.0)).startswith(
        "FEM is stable up to h = 0.004,"
    )
    assert stability_limit(dae, SingleRate("TM", 0.01)) == ""
    assert "with no step" in stability_limit(linear(5j), SingleRate("FEM", 0.01))


def test_a_step_beyond_the_limit_is_warned_with_the_limit():
    # At t = 0 the mode is -1/epsilon = -320 1/s.
    system = boundary_layer()
    with pytest.warns(
        psmr.errors.PsmrWarning, match=r"FEM is stable up to h = 0.00625 s, where the mode -320"
    ):
        psmr.simulate(system, psmr.SingleRate("FEM", 2.5 * EPSILON), 0.05)
