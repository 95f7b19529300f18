"""The mode fitted to a ringdown."""

import numpy as np
import pytest

from psmr import fit_mode
from psmr.errors import InputError

T = np.linspace(0.0, 8.0, 161)


def test_known_modes_come_back():
    s = np.array([-0.2 + 8.4j, -1.5 + 2.0j, -3.0 + 0j])
    signal = sum(a * np.exp(mode * T).real for a, mode in zip((1e-3, 2e-4, 5e-4), s, strict=True))
    for mode in s:
        assert fit_mode(T, signal, mode * 1.1) == pytest.approx(mode, rel=1e-7)


def test_the_frequency_is_unwrapped_towards_the_mode():
    """Samples 0.5 s apart alias 8.4 rad/s; the mode asked for tells which alias is meant."""
    t, s = np.arange(40) * 0.5, -0.2 + 8.4j
    assert fit_mode(t, np.exp(s * t).real, s) == pytest.approx(s, rel=1e-9)


def test_order_limits_the_number_of_exponentials():
    noise = 1e-5 * np.random.default_rng(0).standard_normal(len(T))
    s = -0.2 + 8.4j
    assert fit_mode(T, np.exp(s * T).real + noise, s, order=2) == pytest.approx(s, rel=1e-5)


@pytest.mark.parametrize(
    ("t", "signal", "message"),
    [
        (np.arange(5.0), np.arange(5.0), "one length >= 8"),
        (np.arange(9.0), np.arange(8.0), "one length >= 8"),
        (np.arange(9.0) ** 2, np.arange(9.0), "not equally spaced: steps from 1 to 15 s"),
        (np.arange(9.0), np.zeros(9), "nothing to fit"),
        (np.arange(9.0), np.full(9, np.nan), "not finite"),
    ],
)
def test_what_cannot_be_fitted_is_refused(t, signal, message):
    with pytest.raises(InputError, match=message):
        fit_mode(t, signal, 1j)
