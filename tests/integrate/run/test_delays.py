"""Runs of systems that read signals with a delay."""

import itertools

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.special import lambertw

import psmr
from partitioning import by_hand
from psmr.errors import EventError, SchemeError
from tests.internals import Change, integrate
from tests.systems.delayed import integrator, step_of_integrator, two_delays

TM, RK4 = psmr.SingleRate("TM", 0.01), psmr.SingleRate("RK4", 0.01)
STEP = [Change(0.0, inputs=(("I.u", 1.0),))]


def error(scheme, tau=0.204, b=2.0):
    run = integrate(integrator(tau, b), scheme, 4.0, STEP)
    return abs(run.x[:, 0] - step_of_integrator(run.t, tau, b)).max()


@pytest.mark.parametrize(
    ("method", "order"), [("FEM", 1), ("BEM", 1), ("TM", 2), ("SDIRK2", 2), ("ESDIRK32", 3), ("RK4", 4)]
)
def test_the_past_costs_a_method_none_of_its_order(method, order):
    steps = 0.204 / np.array([10.4, 20.4, 40.4])  # of them are the delay: within a step it ends at one place
    errors = [error(psmr.SingleRate(method, h)) for h in steps]
    slopes = np.log2(np.divide(errors[:-1], errors[1:]))
    assert (slopes > order - 0.3).all(), (errors, slopes)


@pytest.mark.parametrize("tolerance", [1e-3, 1e-5, 1e-7])
def test_variable_steps_keep_their_tolerance(tolerance):
    assert error(psmr.VariableStep(tolerance)) < 2 * tolerance


def test_no_step_is_longer_than_the_delay():
    run = integrate(integrator(0.1, 0.1), psmr.VariableStep(1e-2), 20.0, STEP)
    assert 0.099 < np.diff(run.t).max() <= 0.1 * (1 + 1e-12)


@pytest.mark.slow
def test_against_the_method_of_steps_with_scipy():
    """Two delays, one of an algebraic variable that jumps at an event; DOP853 at 1e-12, delay by delay."""
    tau_x, tau_y, b = 0.31, 0.17, 1.3
    known = [lambda t: np.zeros(3)]
    ends = np.unique(np.round(np.arange(0.0, 3.1, 0.01), 10))  # no delayed time is beyond what is known

    def late(t, tau):
        return known[max(0, int(np.searchsorted(ends, t - tau, side="right")))](t - tau)

    def y(t, x):
        return x[0] + 0.2 * x[1] + 0.1 * late(t, tau_y)[2]

    def rate(t, x):
        return [-b * late(t, tau_x)[0] - 0.3 * x[1], late(t, tau_y)[2] - x[1]]

    x = np.array([1.0, 0.5])
    for begin, end in itertools.pairwise(ends):
        part = solve_ivp(rate, (begin, end), x, "DOP853", rtol=1e-12, atol=1e-14, dense_output=True)
        known.append(lambda t, sol=part.sol: np.array([*sol(t), y(t, sol(t))]))
        x = part.y[:, -1]
    system = two_delays(tau_x, tau_y, b)
    change = Change(0.0, states=(("L.x", 1.0), ("L.z", 0.5)))
    for scheme, allowed in ((psmr.SingleRate("RK4", 0.005), 3e-9), (psmr.VariableStep(1e-7), 2e-7)):
        run = integrate(system, scheme, 3.0, [change])
        last = run.t > 2.0
        exact = np.array([known[min(int(np.searchsorted(ends, t)), len(known) - 1)](t) for t in run.t[last]])
        np.testing.assert_allclose(run.x[last], exact[:, :2], rtol=0, atol=allowed)
        np.testing.assert_allclose(run.y[last], exact[:, 2:], rtol=0, atol=allowed)


def test_a_jump_is_met_by_a_step_where_it_is_read():
    """y = x + 0.2 z + 0.1 y(t - tau): a jump of y by d is one of d / 10 a delay later, and so on."""
    change = Change(0.5, states=(("L.x", 1.0), ("L.z", 0.0)))
    run = integrate(two_delays(0.3, 0.1004, b=0.0), TM, 1.0, [change])
    twice = np.flatnonzero(np.diff(run.t) == 0.0)
    read = 0.5 + 0.1004 * np.arange(5)
    np.testing.assert_allclose(run.t[twice], np.insert(read, 3, 0.8), rtol=1e-12)  # x is read 0.3 s later
    jumps = np.insert(0.1 ** np.arange(5), 3, 0.0)
    np.testing.assert_allclose(np.diff(run.y[:, 0])[twice], jumps, rtol=1e-9, atol=1e-12)


def test_a_delay_beyond_the_end_of_the_run_reads_the_start():
    run = integrate(integrator(9.0, 2.0), TM, 1.0, STEP, start=([3.0], []))
    np.testing.assert_allclose(run.x[:, 0], 3.0 - 5.0 * run.t, atol=1e-12)


@pytest.mark.parametrize(("part", "grows"), [(0.98, False), (1.02, True)])
def test_the_critical_delay_of_a_loop(part, grows):
    """x' = -b x(t - tau) is stable up to tau = pi / (2 b) (Stepan, Retarded Dynamical Systems, 1989)."""
    b = 2.0
    run = integrate(integrator(part * np.pi / (2 * b), b), psmr.VariableStep(1e-6), 40.0, start=([1.0], []))
    early, late = (abs(run.x[(run.t > a) & (run.t < a + 10), 0]).max() for a in (10, 30))
    assert (late > early) == grows


def test_points_are_dropped_that_nothing_reads():
    run = integrate(integrator(0.02, 1.0), TM, 40.0, STEP)  # windows of two steps, 4,000 points
    assert abs(run.x[-1, 0] - 1.0) < 1e-9


@pytest.mark.parametrize(("method", "order"), [("FEM", 1), ("BEM", 1), ("TM", 2), ("SDIRK2", 2)])
def test_steps_longer_than_the_delay_keep_the_order(method, order):
    """Of a delay of 0.3 steps a step reads a part of itself; against x(t) by the method of steps."""
    errors = []
    for h in (0.04, 0.02, 0.01):
        tau = 0.3 * h
        run = integrate(integrator(tau, 2.0), psmr.SingleRate(method, h, tolerance=1e-13), 1.0, STEP)
        errors.append(abs(run.x[-1, 0] - step_response(1.0, tau, 2.0)))
    slopes = np.log2(np.divide(errors[:-1], errors[1:]))
    assert (slopes > order - 0.3).all(), (errors, slopes)


def step_response(t, tau, b):
    """Return x(t) after the step of u, by the residues at the roots of s + b e^{-s tau}; small tau."""
    s = np.array([lambertw(-b * tau, k) / tau for k in range(-60, 60)])
    return float(1.0 / b + np.sum(np.exp(s * t) / (s * (1.0 + s * tau))).real)


def test_steps_above_and_below_the_delay_meet():
    """At h = tau nothing of the step itself is read; beside it hardly anything."""
    ends = [
        integrate(integrator(0.01, 2.0), psmr.SingleRate("TM", h), 0.5, STEP).x[-1, 0]
        for h in (0.01 * (1 - 1e-7), 0.01, 0.01 * (1 + 1e-7))
    ]
    assert abs(np.diff(ends)).max() < 1e-8


@pytest.mark.parametrize(
    ("scheme", "why"),
    [
        (RK4, "method of order 4 reads a cubic"),
        (psmr.SingleRate("ESDIRK32", 0.01), "method of order 3 reads a cubic"),
    ],
)
def test_steps_longer_than_the_delay_are_refused_by_name(scheme, why):
    with pytest.raises(
        SchemeError, match=rf"I\.late reads I\.x as it was 0\.005 s ago.*{why}.*at most the delay"
    ):
        integrate(integrator(0.005, 1.0), scheme, 1.0)


def test_what_is_read_with_a_delay_cannot_be_set():
    with pytest.raises(EventError, match=r"I\.late reads a signal with a delay and cannot be set"):
        integrate(integrator(0.1, 1.0), TM, 1.0, [Change(0.5, inputs=(("I.late", 1.0),))])
    with pytest.raises(EventError, match=r"L\.tau = 0\.2: is a delay, which stays during a run"):
        integrate(two_delays(0.1, 0.1), TM, 1.0, [Change(0.5, parameters=(("L", "tau", 0.2),))])


def multirate(fast, h_slow=0.02, **choices):
    """Return a scheme with two rates for the system of two delays."""
    split = by_hand(two_delays(0.1, 0.1).linearise().without_delays(), fast)
    return psmr.Multirate(split, h_slow=h_slow, ratio=4, **choices)


@pytest.mark.parametrize("fast", [["L.z"], ["L.x"], ["L.y"], ["L.x", "L.y"]])
@pytest.mark.parametrize(
    "choices", [{}, {"interface": "schur", "coupling": "mean", "predictor": "extrapolation"}]
)
def test_two_rates_converge_to_one(fast, choices):
    system, start = two_delays(0.204, 0.073), [Change(0.0, states=(("L.x", 1.0), ("L.z", 0.5)))]
    exact = integrate(system, psmr.SingleRate("RK4", 0.002), 2.0, start)
    errors = []
    for h in (0.02, 0.01):
        run = integrate(system, multirate(fast, h, **choices), 2.0, start)
        errors.append(abs(run.x[-1] - exact.x[-1]).max())
    assert errors[0] < 1e-3
    assert errors[1] < 0.6 * errors[0]


def test_the_past_of_a_fast_signal_has_the_fast_points():
    """All fast: a run is that of one rate with the fast step, also where the delay is no multiple of it."""
    system, start = two_delays(0.203, 0.071), ([1.0, 0.5], [0.0])
    scheme, one = multirate(["L.x", "L.y", "L.z"], 0.02), psmr.SingleRate("TM", 0.005)
    fine = integrate(system, one, 1.0, start=start)
    ends = integrate(system, scheme, 1.0, start=start)
    every = integrate(system, scheme, 1.0, start=start, every=True)
    assert len(ends.t) == 51
    np.testing.assert_allclose(ends.x, fine.x[::4], rtol=0, atol=1e-12)
    np.testing.assert_allclose(every.x, fine.x, rtol=0, atol=1e-12)
    assert ends.counters.steps == every.counters.steps == 200
    assert ends.counters.macro_steps == 50


def test_two_rates_take_no_steps_above_a_delay():
    with pytest.raises(SchemeError, match=r"0\.1 s ago.*a macro step reads none of its own points"):
        integrate(two_delays(0.1, 0.1), multirate(["L.z"], 0.2), 1.0)
