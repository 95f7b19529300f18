"""The step operator of systems that read signals with a delay: shift states, exact for any delay."""

import re

import numpy as np
import pytest

import psmr
from partitioning import by_hand
from psmr.errors import SchemeError
from tests.internals import integrate, step_equations
from tests.systems.delayed import integrator, two_delays

DELAYS = [(20.4, 7.3), (1.0, 1.6), (5.0, 2.5), (2.0, 3.0)]  # in steps


def difference(scheme, delays, steps=30):
    """Return how far the powers of the step operator are from a run, and its order."""
    system = two_delays(*(scheme.step * np.array(delays)))
    # The corner at the start is read three delays later at most; from then on every step is whole.
    begin = int(5 * max(delays)) + 8
    end = (begin + steps + 5) * scheme.step
    run = integrate(system, scheme, end, start=([1.0, 0.5], [0.0]), every=True)
    w = np.hstack([run.x, run.y])
    points = scheme.point_times(scheme.step).size
    begin = len(w) - 1 - points * (steps + 1)  # the end of a step; all of them are whole
    linear = system.linearise()
    equations = step_equations(linear, scheme)
    state = [w[begin]]
    for name in equations.state[1:]:
        back = re.fullmatch(r"read\(t-(\d+)h(/\d+)?\)", name)
        fine = scheme.read_within_steps([0, 2]) == bool(back[2])
        state.append(w[begin - int(back[1]) * (1 if back[2] else points), np.array([0, 2])[fine]])
    state, operator = np.concatenate(state), psmr.step_operator(linear, scheme)
    off = 0.0
    for k in range(1, steps + 1):
        state = operator @ state
        off = max(off, abs(state[:3] - w[begin + k * points]).max())
    return off, len(operator)


@pytest.mark.parametrize("method", ["TM", "BEM", "FEM", "SDIRK2", "RK4", "ESDIRK43"])
@pytest.mark.parametrize("delays", DELAYS)
def test_the_operator_is_a_run(method, delays):
    off, order = difference(psmr.SingleRate(method, 0.01), delays)
    assert off < 1e-13
    degree = 1 if method in ("TM", "BEM", "FEM", "SDIRK2") else 3
    assert order <= 3 + 2 * (int(max(delays)) + 1 + degree)


def test_the_operator_is_a_run_where_a_stage_lies_beyond_the_step():
    """ESDIRK43 has a stage at 1.04 h, which reads a delay of whole steps beyond an end of a step."""
    off, _ = difference(psmr.SingleRate("ESDIRK43", 0.08, tolerance=1e-15), (7.0, 7.0))
    assert off < 1e-13


@pytest.mark.parametrize("method", ["TM", "BEM", "FEM", "SDIRK2"])
@pytest.mark.parametrize("delays", [(0.3, 0.05), (0.8, 7.3), (0.2, 1.0)])
def test_the_operator_is_a_run_where_steps_are_longer_than_a_delay(method, delays):
    off, _ = difference(psmr.SingleRate(method, 0.01, tolerance=1e-15), delays)
    assert off < 1e-12


@pytest.mark.parametrize(
    "choices",
    [{}, {"interface": "schur"}, {"coupling": "mean"}, {"corrections": 2}, {"solution": "BEM"}],
)
def test_the_operator_of_two_rates_is_a_run(choices):
    for fast in (["L.z"], ["L.x"], ["L.y", "L.z"], ["L.x", "L.y", "L.z"]):
        split = by_hand(two_delays(0.1, 0.1).linearise().without_delays(), fast)
        off, _ = difference(psmr.Multirate(split, h_slow=0.01, ratio=10, **choices), (20.43, 7.3))
        assert off < 1e-13, fast


def test_the_shift_states_are_no_more_than_needed():
    """A delay of 20.4 steps reads the points 19 to 21 steps ago: 21 past values of one signal."""
    assert len(psmr.step_operator(integrator(0.204, 1.0).linearise(), psmr.SingleRate("TM", 0.01))) == 22


def spectral_radius(tau, b, h):
    operator = psmr.step_operator(integrator(tau, b).linearise(), psmr.SingleRate("TM", h))
    return abs(np.linalg.eigvals(operator)).max()


def test_the_critical_delay_of_the_simulated_loop():
    """x' = -b x(t - tau) is stable up to tau = pi / (2 b); a scheme of order 2 is off by h^2."""
    b, errors = 2.0, []
    for h in (0.04, 0.02):
        low, high = 0.7, 0.87
        while high - low > 1e-9:
            middle = 0.5 * (low + high)
            low, high = (low, middle) if spectral_radius(middle, b, h) > 1.0 else (middle, high)
        errors.append(abs(low - np.pi / (2 * b)))
    assert errors[0] < 3e-3
    assert 1.5 < np.log2(errors[0] / errors[1]) < 2.5


def test_steps_longer_than_the_delay_have_no_operator():
    with pytest.raises(SchemeError, match=r"I\.late reads I\.x as it was 0\.005 s ago"):
        psmr.step_operator(integrator(0.005, 1.0).linearise(), psmr.SingleRate("RK4", 0.01))
