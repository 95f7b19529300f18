"""Modes of systems with delays: roots of the characteristic equation."""

import warnings

import numpy as np
import pytest
from scipy.special import lambertw

import psmr
from psmr.errors import InputError
from tests.systems.delayed import Integrator, integrator, two_delays


def test_the_modes_of_an_integrator_are_branches_of_the_lambert_function():
    """s = -b e^{-s tau} has the roots W_k(-b tau) / tau (Corless and others, Adv. Comput. Math. 5, 1996)."""
    b, tau = 2.0, 0.9
    table = psmr.modes(integrator(tau, b).linearise())
    found = (table["real"] + 1j * table["imag"]).to_numpy()
    exact = np.array([lambertw(-b * tau, k) / tau for k in range(len(found))])
    np.testing.assert_allclose(found, exact, rtol=1e-13)
    assert len(found) >= 8  # the first eight, of which the last turns 50 rad in a delay
    assert table["grows"].tolist() == [True] + [False] * (len(found) - 1)
    assert table["dominant_state"].unique().tolist() == ["I.x"]


def test_a_critical_delay_is_a_pair_on_the_imaginary_axis():
    table = psmr.modes(integrator(np.pi / 4, 2.0).linearise())
    assert table["real"][0] == pytest.approx(0.0, abs=1e-13)
    assert table["imag"][0] == pytest.approx(2.0, rel=1e-13)


def test_roots_with_two_delays_solve_the_equation():
    """det of (s + b e1, 0.3; -a y_x, s + 1 - ...) with y = (x + 0.2 z) / (1 - 0.1 e2), by hand."""
    table = psmr.modes(two_delays(0.3, 0.1, b=2.0).linearise())
    s = (table["real"] + 1j * table["imag"]).to_numpy()[:9]
    e1, e2 = np.exp(-0.3 * s), np.exp(-0.1 * s)
    y_x, y_z = 1 / (1 - 0.1 * e2), 0.2 / (1 - 0.1 * e2)
    terms = np.array([(s + 2 * e1) * (s + 1), -(s + 2 * e1) * e2 * y_z, 0.3 * e2 * y_x])
    np.testing.assert_array_less(abs(terms.sum(axis=0)), 1e-9 * abs(terms).sum(axis=0))
    assert len(s) == 9


def test_too_many_delayed_signals_are_refused():
    """Dense eigenvalues of the collocation take minutes from some order on."""
    devices = []
    for k in range(121):
        one = integrator(0.1, 1.0).devices[0]
        reads = {"late": f"I{k}.x"}
        devices.append(psmr.Device(f"I{k}", one.component, {"b": 1.0}, reads, delays={"late": 0.1}))
    with pytest.raises(InputError, match=r"121 delayed signals.*dense eigenvalues of order 3025, above 3000"):
        psmr.modes(psmr.assemble(devices).linearise())


class Exchange(psmr.Component):
    """Two states that come to agree, fast: the eigenvalues 0, by cancellation, and -2 k."""

    states = ("a", "b")
    k = psmr.Parameter("1/s", "rate")

    @staticmethod
    def equations(m, v, p):
        return (p.k * (v.b - v.a), p.k * (v.a - v.b)), (), ()


def test_a_root_at_which_the_matrix_is_singular_to_the_last_digit_is_found():
    """M(s) has 1e6 + s twice, in which s = 1e-12 is lost."""
    devices = [
        psmr.Device("E", Exchange, {"k": 1e6}),
        psmr.Device("I", Integrator, {"b": 2.0}, {"late": "I.x"}, delays={"late": 0.2}),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = psmr.modes(psmr.assemble(devices).linearise())
    size = np.hypot(found.real, found.imag)
    assert (size < 1e-8).sum() == 1
    assert np.abs(found.real[size > 1e-8].max() - psmr.modes(integrator(0.2, 2.0).linearise()).real[0]) < 1e-9
