"""Bouterakos and Tzounas: where the trapezoidal rule loses the stability of a system with delays."""

import math

import numpy as np
import pytest

from psmr import SingleRate
from psmr.errors import SchemeError
from psmr.papers.bouterakos_tzounas.paper import (
    PLANTS,
    delayed_stabilisers,
    least_stable,
    least_stable_numerical,
)
from psmr.papers.bouterakos_tzounas.scalar_equation import (
    ThetaMethod,
    boundaries,
    delay_independent,
    exact_growth,
    growth,
    oscillator,
    scalar_equation,
    simulated,
)
from psmr.papers.catalogue import reproduce
from tests.papers.mutated import assert_followed


def test_the_exact_growth_is_that_of_the_lambert_function():
    """s = lambda + W(mu tau exp(-lambda tau)) / tau, at tau = 0.29 s; by scipy.special.lambertw."""
    from scipy.special import lambertw

    tau, lam = 0.29, 7j
    branches = [lam + lambertw(tau * np.exp(-lam * tau), k) / tau for k in range(-3, 4)]
    assert exact_growth(oscillator(tau)) == pytest.approx(max(s.real for s in branches), abs=1e-12)


def test_the_boundaries_of_the_trapezoidal_rule_are_the_formula():
    table = boundaries()
    for column in table.columns[2:]:
        assert table[column].to_numpy() == pytest.approx(table["2 m tan(pi/4m)"].to_numpy(), rel=1e-9)
    # m = 1: 2 exactly; the limit is pi / 2, at order 2.
    errors = table["2 m tan(pi/4m)"].to_numpy() - math.pi / 2
    assert table["2 m tan(pi/4m)"][0] == pytest.approx(2.0, rel=1e-14)
    assert np.log2(errors[-2] / errors[-1]) == pytest.approx(2.0, abs=0.2)


def test_theta_from_the_trapezoidal_rule_to_backward_euler():
    system = oscillator(0.29)
    for theta, method in ((0.5, "TM"), (1.0, "BEM")):
        one, other = ThetaMethod(0.145, theta=theta), SingleRate(method, 0.145)
        assert growth(system, one) == pytest.approx(growth(system, other), rel=1e-12)
    assert growth(system, ThetaMethod(0.29, theta=0.51)) > 0.0 > growth(system, ThetaMethod(0.29, theta=0.52))


def test_theta_without_a_delay_is_its_stability_function():
    """R(z) = (1 + (1 - theta) z) / (1 - theta z); Hairer and Wanner, section IV.3."""
    h, theta, lam = 0.1, 0.7, -3.0
    exact = abs((1 + (1 - theta) * h * lam) / (1 - theta * h * lam))
    system = scalar_equation(complex(lam), 0j, 1.0)
    assert growth(system, ThetaMethod(h, theta=theta)) == pytest.approx(math.log(exact) / h, rel=1e-9)


@pytest.mark.parametrize("theta", [0.0, -0.1, 1.1, math.nan])
def test_a_theta_out_of_range_is_refused(theta):
    with pytest.raises(SchemeError, match="theta"):
        ThetaMethod(0.1, theta=theta)


def test_what_is_stable_for_every_delay_stays_stable():
    assert delay_independent(12) < 0.0


def test_a_run_is_what_the_pencil_says():
    assert simulated(1).difference < 1e-12
    assert simulated(4).grown < 1.0 < simulated(1).grown


def test_five_delayed_stabilisers_lose_what_four_keep():
    numerical = []
    for count in (4, 5):
        linear = delayed_stabilisers(PLANTS[:count]).linearise()
        assert least_stable(linear).real < 0.0
        numerical.append(least_stable_numerical(linear, SingleRate("TM", 0.2)).real)
    assert numerical[0] < 0.0 < numerical[1]


@pytest.mark.slow
def test_reproduction(tmp_path):
    result = reproduce("bouterakos-tzounas", tmp_path)
    assert_followed("bouterakos-tzounas", result)
    assert result.count("agrees") == 4
    assert result.count("beyond the paper") == len(result.findings) - 4
    assert all(path.stat().st_size < 200_000 for path in result.figures.values())
