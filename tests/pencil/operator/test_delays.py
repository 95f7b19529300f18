"""The step operator of systems that read signals with a delay: shift states, exact for any delay."""

import re

import numpy as np
import pytest

import psmr
from partitioning import by_device, by_hand
from psmr.errors import SchemeError
from tests.internals import integrate, point_times, step_equations
from tests.systems.delayed import integrator, three_delays, two_delays

DELAYS = [(20.4, 7.3), (1.0, 1.6), (5.0, 2.5), (2.0, 3.0)]  # in steps


def difference(scheme, delays, steps=30, make=two_delays):
    """Return how far the powers of the step operator are from a run, and its order."""
    system = make(*(scheme.step * np.array(delays)))
    # The corner at the start is read three delays later at most; from then on every step is whole.
    begin = int(5 * max(delays)) + 8
    end = (begin + steps + 5) * scheme.step
    start = (np.linspace(1.0, 0.5, system.n), [0.0])
    run = integrate(system, scheme, end, start=start, every=True)
    w = np.hstack([run.x, run.y])
    points = point_times(scheme, scheme.step).size
    begin = len(w) - 1 - points * (steps + 1)  # the end of a step; all of them are whole
    linear = system.linearise()
    equations = step_equations(linear, scheme)
    sources = np.unique([delay.source for delay in system.delays])
    inner = scheme.past.has_within(sources.tolist())
    state = [w[begin]]
    for name in equations.state[1:]:
        if kept := re.fullmatch(r"remembered\(t-(\d?)h\)", name):
            state.append(w[begin - points * int(kept[1] or 1), equations.history_of])
            continue
        back = re.fullmatch(r"read\(t-(\d+)h(/\d+)?\)", name)
        own = sources if points == 1 else sources[inner == bool(back[2])]
        state.append(w[begin - int(back[1]) * (1 if back[2] else points), own])
    state, operator = np.concatenate(state), psmr.step_operator(linear, scheme)
    off = 0.0
    for k in range(1, steps + 1):
        state = operator @ state
        off = max(off, abs(state[: w.shape[1]] - w[begin + k * points]).max())
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


@pytest.mark.parametrize("ratio", [1, 2, 10])
@pytest.mark.parametrize(
    "choices",
    [
        {},
        {"interface": "schur"},
        {"coupling": "mean"},
        {"corrections": 2},
        {"solution": "BEM"},
        {"predictor": "TM", "interpolation": "spline"},
        {"predictor": "extrapolation"},
    ],
)
def test_the_operator_of_two_rates_is_a_run(choices, ratio):
    for fast in (["L.z"], ["L.x"], ["L.y", "L.z"], ["L.x", "L.y", "L.z"]):
        split = by_hand(two_delays(0.1, 0.1).linearise().without_delays(), fast)
        off, _ = difference(psmr.Multirate(split, h_slow=0.01, ratio=ratio, **choices), (20.43, 7.3))
        assert off < 1e-13, fast


@pytest.mark.parametrize("ratio", [1, 2])
@pytest.mark.parametrize("fast", [["L.x", "I.x"], ["L.y"], ["I.x", "L.y", "L.z"]])
@pytest.mark.parametrize("choices", [{}, {"interface": "schur"}, {"coupling": "mean"}, {"solution": "BEM"}])
def test_the_operator_is_a_run_where_the_sides_have_other_numbers_of_delayed_signals(fast, choices, ratio):
    """With one fast step both sides have their past at the ends of steps: it is one past."""
    split = by_hand(three_delays(0.1, 0.1, 0.1).linearise().without_delays(), fast)
    scheme = psmr.Multirate(split, h_slow=0.01, ratio=ratio, **choices)
    off, _ = difference(scheme, (4.4, 7.3, 2.0), make=three_delays)
    assert off < 1e-13


@pytest.mark.parametrize("fast", [["G2", "GOV2", "AVR1"], ["GOV1"]])
def test_one_fast_step_with_converged_corrections_is_single_rate(fast):
    delays = {"GOV2.omega": 0.034, "GOV1.omega": 0.02, "AVR1.v": 0.06}
    linear = psmr.with_delays(psmr.build(psmr.case("wscc9-ibr")), delays).linearise()
    split = by_device(linear.without_delays(), fast)
    scheme = psmr.Multirate(
        split, h_slow=0.02, ratio=1, solution="TM", predictor="TM", corrections="converge"
    )
    off = psmr.step_operator(linear, scheme) - psmr.step_operator(linear, psmr.SingleRate("TM", 0.02))
    assert abs(off).max() < 1e-11


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
