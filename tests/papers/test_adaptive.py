"""Adaptive Runge-Kutta and Adams: tolerance, cost against scipy, DAEs, limits, changes, failures."""

import math
import pickle

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from psmr import Adaptive, SingleRate
from psmr.errors import SchemeError, SimulationError
from psmr.papers.kuznetsov_krasnikov.runs import van_der_pol
from tests.internals import Change, integrate
from tests.systems import Blowup, Limited, NoRoot, forced, kaps, logistic, one, quadratic, two_rates

METHODS = ("RK54", "Adams")


def at_end(run):
    return np.concatenate([run.x[-1], run.y[-1]])


@pytest.mark.parametrize(
    "problem",
    [pytest.param(logistic, marks=pytest.mark.slow), forced, quadratic, kaps],
    ids=lambda p: p.__name__,
)
@pytest.mark.parametrize("method", METHODS)
def test_error_follows_the_tolerance(method, problem):
    given = problem()
    for tolerance in (1e-4, 1e-7, 1e-10):
        run = integrate(given.system, Adaptive(method, tolerance, tolerance, tolerance=1e-13), given.t_end)
        error = np.abs(at_end(run) - given.exact(given.t_end)).max()
        # A local tolerance; over these spans of a few time constants it adds up by less than a hundred.
        assert error < 100 * tolerance
        assert run.t[-1] == given.t_end
        assert (np.diff(run.t) > 0).all()


@pytest.mark.parametrize("tolerance", [1e-3, 1e-6, 1e-9])
def test_runge_kutta_takes_the_steps_of_scipy(tolerance):
    # The same pair, norm and control (Hairer, Norsett and Wanner, section II.4): not close, the same.
    run = integrate(van_der_pol(epsilon=0.01), Adaptive("RK54", tolerance, tolerance), 2.0)
    field = lambda t, y: [y[1], ((1 - y[0] ** 2) * y[1] - y[0]) / 0.01]  # noqa: E731
    other = solve_ivp(field, (0, 2.0), [2.0, -0.66], method="RK45", rtol=tolerance, atol=tolerance)
    assert run.counters.residuals["step"] == other.nfev
    assert len(run.t) == len(other.t)
    np.testing.assert_allclose(run.x[-1], other.y[:, -1], atol=1e-9)


def test_adams_needs_fewer_evaluations_than_runge_kutta_at_tight_tolerance():
    given = forced()
    work = {}
    for method in METHODS:
        run = integrate(given.system, Adaptive(method, 1e-11, 1e-11, tolerance=1e-12), 10.0)
        assert np.abs(at_end(run) - given.exact(10.0)).max() < 1e-9
        work[method] = run.counters.residuals["step"]
    assert work["Adams"] < 0.5 * work["RK54"]


def test_adams_is_as_good_as_vode_on_a_smooth_problem():
    from scipy.integrate import ode

    calls = [0]

    def field(t, y):
        calls[0] += 1
        return [y[1], -y[0]]

    other = ode(field).set_integrator("vode", method="adams", rtol=1e-9, atol=1e-9, nsteps=10_000)
    other.set_initial_value([1.0, 0.0], 0.0)
    error_vode = abs(other.integrate(20.0)[0] - math.cos(20.0))
    from tests.internals import linear_system
    from tests.papers.test_smes import linear as modes_of

    system = linear_system(modes_of(1j)).with_start([1.0, 0.0])
    run = integrate(system, Adaptive("Adams", 1e-9, 1e-9), 20.0)
    error = abs(run.x[-1, 0] - math.cos(20.0))
    assert error < 10 * error_vode
    assert run.counters.residuals["step"] < 2 * calls[0]


@pytest.mark.parametrize("method", METHODS)
def test_against_a_fine_run_across_a_change(method):
    system = two_rates(tau=0.05)
    change = Change(0.4, inputs=(("D.v_ref", 1.3),))
    run = integrate(system, Adaptive(method, 1e-9, 1e-9, tolerance=1e-12), 1.0, changes=[change])
    fine = integrate(system, SingleRate("RK4", 5e-4, tolerance=1e-12), 1.0, changes=[change])
    np.testing.assert_allclose(at_end(run), at_end(fine), atol=2e-8)
    assert np.count_nonzero(run.t == 0.4) == 2


@pytest.mark.parametrize("method", METHODS)
def test_limits_hold(method):
    run = integrate(one(Limited, {"x": 0.0, "y": 0.0}), Adaptive(method, 1e-8, 1e-8), 8.0)
    assert run.x.max() == 0.5
    assert run.x.min() == -0.5
    np.testing.assert_allclose(run.y, 2 * run.x, atol=1e-14)
    # sin t up to the limit at t = pi/6, held to pi/2, then 0.5 + sin t - 1.
    inside = (run.t > 1.7) & (run.t < 2.5)
    np.testing.assert_allclose(run.x[inside, 0], np.sin(run.t[inside]) - 0.5, atol=1e-6)
    assert run.counters.rejected > 0


@pytest.mark.parametrize("method", METHODS)
def test_longest_step_is_kept(method):
    run = integrate(logistic().system, Adaptive(method, 1e-3, 1e-3, longest=0.05), 2.0)
    assert np.diff(run.t).max() <= 0.05 + 1e-12


@pytest.mark.parametrize("method", METHODS)
def test_a_solution_that_runs_to_infinity_is_named(method):
    with pytest.raises(
        SimulationError, match=r"t = 1\.0000\d* s of 2 s after .*has become rounding"
    ) as caught:
        integrate(one(Blowup, {"x": 1.0}), Adaptive(method), 2.0, partial=True)
    kept = caught.value.partial
    inside = kept.t < 0.99
    np.testing.assert_allclose(kept.x[inside, 0], 1 / (1 - kept.t[inside]), rtol=1e-3)


@pytest.mark.parametrize("method", METHODS)
def test_steps_that_are_spent_are_named(method):
    with pytest.raises(
        SimulationError, match=r"does not end within .*most_steps = 50\. Remedy: raise most_steps"
    ) as caught:
        integrate(van_der_pol(), Adaptive(method, most_steps=50), 1.0)
    assert caught.value.partial is None


def test_equations_without_a_solution_are_named():
    # y^2 = x - 1/2 has no root once x has fallen below 1/2.
    from psmr import Component, Device, assemble

    class Falling(Component):
        states = ("x",)
        algebraic = ("y",)

        @staticmethod
        def equations(m, v, p):
            return (-v.x - 0 * v.y,), (v.y**2 - v.x + 0.5,), ()

    system = assemble([Device("D", Falling, {})], {"D.x": 1.0, "D.y": 0.7})
    with pytest.raises(SimulationError, match=r"t = 0\.69\d* s.*the algebraic equations"):
        integrate(system, Adaptive("RK54"), 2.0)
    assert NoRoot  # the case without any root fails at the start already


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"method": "RK45"}, "method = 'RK45'.*'RK54', 'Adams'"),
        ({"rtol": 0.0}, "rtol = 0.0"),
        ({"rtol": 1e-15, "tolerance": 1e-16}, "rtol = 1e-15: must be at least 2.3e-14"),
        ({"atol": -1.0}, "atol = -1.0"),
        ({"longest": 0.0}, "longest = 0.0"),
        ({"most_steps": 0}, "most_steps = 0"),
        ({"most_steps": 1e6}, "most_steps = 1000000.0"),
        ({"rtol": 1e-12}, "tolerance = 1e-10 of Newton is above rtol = 1e-12"),
        ({"newton": "no"}, "newton = 'no'"),
    ],
)
def test_record_refuses_what_cannot_be(arguments, message):
    with pytest.raises(SchemeError, match=message):
        Adaptive(**arguments)


def test_record_is_printable_and_picklable():
    scheme = Adaptive("Adams", 1e-5, 1e-8)
    assert str(scheme) == "adaptive Adams PECE, rtol = 1e-05, atol = 1e-08"
    assert pickle.loads(pickle.dumps(scheme)) == scheme
    assert hash(scheme) == hash(Adaptive("Adams", 1e-5, 1e-8))
