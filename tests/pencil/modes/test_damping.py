"""Which oscillations count, and by how much a scheme may change their damping."""

import numpy as np
import pytest

from tests.internals import DampingLimit, damping_ratio


def mode(ratio, hz):
    """Return an eigenvalue of a damping ratio and a frequency of oscillation in Hz."""
    omega = 2.0 * np.pi * hz
    return complex(-ratio / np.sqrt(1.0 - ratio**2) * omega, omega)


def excess(ratio, simulated, hz=1.3, **limit):
    s, s_hat = np.array([mode(ratio, hz)]), np.array([mode(simulated, hz)])
    return float(DampingLimit(**limit).excess(s, s_hat)[0])


@pytest.mark.parametrize(
    ("ratio", "simulated", "part"),
    [
        (0.02, 0.02, 0.0),
        (0.02, 0.029, 0.9),  # below 5 % the percentage point is the larger allowance, either way
        (0.02, 0.011, 0.9),
        (0.02, 0.031, 1.1),
        (0.02, 0.009, 1.1),
        (0.05, 0.06, 1.0),
        (0.10, 0.118, 0.9),  # above it a fifth of the mode's own ratio
        (0.10, 0.122, 1.1),
        (0.10, 0.078, 1.1),
        (-0.02, -0.005, 1.5),  # one that grows
        (0.4, 0.25, 0.15 / 0.08),  # heavily damped, but not as simulated
        (0.25, 0.4, 3.0),
        (0.31, 0.6, 0.0),  # heavily damped in both
        (0.29, 0.6, 0.31 / 0.058),
    ],
)
def test_the_larger_of_a_point_and_a_fifth_is_allowed(ratio, simulated, part):
    assert excess(ratio, simulated) == pytest.approx(part, abs=1e-9)


def test_only_slow_oscillations_count():
    assert excess(0.02, 0.2, hz=9.9) > 1.0
    assert excess(0.02, 0.2, hz=10.1) == 0.0
    limit, s = DampingLimit(hz=12.0), np.array([mode(0.02, 11.9), mode(0.02, 12.1)])
    assert limit.excess(s, np.array([mode(0.2, 11.9), mode(0.2, 12.1)])).tolist() == [
        pytest.approx(18.0),
        0.0,
    ]


def test_limits_are_those_that_are_given():
    assert excess(0.02, 0.031, change=0.02) == pytest.approx(0.55)
    assert excess(0.10, 0.122, part=0.5) == pytest.approx(0.44)
    assert excess(0.31, 0.6, below=0.4) > 1.0


def test_an_oscillation_that_the_scheme_does_not_show_exceeds_every_limit():
    s, nothing = np.array([mode(0.05, 2.0), mode(0.5, 2.0), mode(0.05, 20.0)]), np.full(3, np.nan + 0j)
    assert DampingLimit().excess(s, nothing).tolist() == [np.inf, 0.0, 0.0]


def test_real_modes_and_zero_modes_do_not_oscillate():
    s = np.array([-1.0 + 0j, 0.0 + 0j])
    assert DampingLimit().excess(s, 2.0 * s).tolist() == [0.0, 0.0]
    assert np.isnan(damping_ratio(s)[1])
