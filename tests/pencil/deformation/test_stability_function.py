"""What a one-step method makes of the modes follows from the modes: the step operator says the same."""

import numpy as np
import pytest

import psmr
from psmr.errors import SchemeError
from tests.internals import TABLEAUX, OneStepModes
from tests.pencil.oracle import ode


@pytest.fixture(scope="module")
def linear(wscc9):
    return psmr.build(psmr.read_case(wscc9 / "wscc9.toml")).linearise()


@pytest.mark.parametrize("method", ["TM", "SDIRK2", "FEM", "RK4", "ESDIRK32", "ESDIRK43", "TR-BDF2"])
@pytest.mark.parametrize("h", [0.002, 0.05])
def test_modes_and_step_operator_agree(linear, method, h):
    scheme = psmr.SingleRate(method, h)
    found, expected = OneStepModes.of(linear).deformation(scheme), psmr.deformation(linear, scheme)
    assert found.stable == expected.stable
    assert found.spectral_radius == pytest.approx(expected.spectral_radius, rel=1e-9)
    if expected.stable:
        assert found.verdict == expected.verdict
    for name in ("real_numerical", "imag_numerical", "relative_deformation"):
        a, b = found.dominant[name], expected.dominant[name]
        assert a == pytest.approx(b, rel=1e-6, abs=1e-12)


def test_stability_function_of_known_methods():
    z = np.array([-0.3 + 2.0j, -40.0, 0.0])
    assert TABLEAUX["TM"].stability_function(z) == pytest.approx((1 + z / 2) / (1 - z / 2), rel=1e-13)
    assert TABLEAUX["BEM"].stability_function(z) == pytest.approx(1 / (1 - z), rel=1e-13)
    assert TABLEAUX["RK4"].stability_function(z) == pytest.approx(
        1 + z + z**2 / 2 + z**3 / 6 + z**4 / 24, rel=1e-13
    )


def test_a_mode_on_the_axis_is_no_instability():
    undamped = OneStepModes.of(ode(np.array([[0.0, 8.0], [-8.0, 0.0]])))
    assert undamped.deformation(psmr.SingleRate("TM", 0.01)).stable
    assert not undamped.deformation(psmr.SingleRate("FEM", 0.01)).stable


def test_a_scheme_of_two_rates_is_refused(linear):
    with pytest.raises(SchemeError, match="no one-step method"):
        OneStepModes.of(linear).deformation(psmr.VariableStep())


@pytest.mark.parametrize("h", [0.002, 0.05, 3.0])
def test_the_dominant_mode_in_short(linear, h):
    report = OneStepModes.of(linear).deformation(psmr.SingleRate("TM", h))
    s_hat, off = report.dominant_shown
    assert (s_hat is None) == (off is None) == (h > 1.0)
    if s_hat is not None:
        row = report.dominant
        assert s_hat == complex(row.real_numerical, row.imag_numerical)
        assert off == row.relative_deformation


def test_without_oscillation_there_is_no_dominant_mode():
    report = OneStepModes.of(ode(np.array([[-3.0]]))).deformation(psmr.SingleRate("FEM", 1.0))
    assert not report.stable
    assert report.dominant_shown == (None, None)
