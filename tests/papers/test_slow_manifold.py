"""The slow-manifold scheme: its record, refusals, order, limits, kept linearisation."""

import dataclasses
import pickle

import numpy as np
import pytest

import partitioning
import psmr
from psmr import Component, Device, Parameter, SlowManifold, assemble
from psmr.errors import SchemeError
from psmr.papers.gil_sanfelice_nikravesh.slow_manifold import condition, eliminated, integrals
from tests.internals import Change, integrate
from tests.systems import kaps, one, two_rates


def split(system, *fast):
    return partitioning.by_hand(system.linearise(), fast=fast)


class Driven(Component):
    """A fast state that follows the time: x' = z - x, z' = rate (sin t - z); its rest moves with t alone."""

    states = ("x", "z")
    rate = Parameter(unit="1/s", doc="speed of the fast state", default=100.0)

    @staticmethod
    def equations(m, v, p):
        return (v.z - v.x, p.rate * (m.sin(v.t) - v.z)), (), ()


class Regulator(Component):
    """A fast state between non-windup limits that drives a slow one: z' = (u - x - z) / T, x' = z - x."""

    states = ("x", "z")
    inputs = ("u",)
    limits = {"z": ("low", "high")}
    T = Parameter(unit="s", doc="time constant", default=0.01)
    low = Parameter(unit="1", doc="limit", default=-0.5)
    high = Parameter(unit="1", doc="limit", default=0.5)

    @staticmethod
    def equations(m, v, p):
        return (v.z - v.x, (v.u - v.x - v.z) / p.T), (), ()


class Integrator(Component):
    """z' = x: nothing brings z back."""

    states = ("x", "z")

    @staticmethod
    def equations(m, v, p):
        return (-v.x - v.z, 50 * v.x), (), ()


@pytest.mark.parametrize("h", [1e-3, 0.3])
def test_integrals_are_those_of_the_scalar_functions(h):
    values = np.array([-1000.0, -3.0, -1e-9, 0.2])
    E, F1, F2 = integrals(np.diag(values), h)
    s = values * h
    assert np.allclose(np.diag(E), np.exp(s), rtol=1e-12, atol=0)
    assert np.allclose(np.diag(F1), h * np.array([np.expm1(a) / a for a in s]), rtol=1e-12, atol=0)
    # (e^s - 1 - s) / s^2 cancels for small s, where its series is 1/2 + s/6 + s^2/24.
    second = [(np.expm1(a) - a) / a**2 if abs(a) > 1e-3 else 0.5 + a / 6 + a**2 / 24 for a in s]
    assert np.allclose(np.diag(F2), h**2 * np.array(second), rtol=1e-9, atol=0)


def test_condition_takes_units_out():
    number, _ = condition(np.array([[0.0, 1.0], [-5e5, 0.0]]))  # a spring: regular in any unit
    assert number == pytest.approx(1.0)
    number, share = condition(np.array([[-1.0, 0.0], [1e3, 0.0]]))
    assert number > 1e15
    assert share.argmax() == 1


def test_sparse_and_dense_elimination_agree(monkeypatch):
    system = two_rates()
    matrix = system.linearise().jacobian()
    places = np.array([0, 1]), np.array([2])
    dense = eliminated(matrix, system.n, *places)
    monkeypatch.setattr("psmr.papers.gil_sanfelice_nikravesh.slow_manifold.DENSE", 0)
    for a, b in zip(dense, eliminated(matrix, system.n, *places), strict=True):
        assert np.allclose(a, b, rtol=1e-13, atol=1e-13)
    A = system.linearise().state_matrix()
    assert np.allclose(dense[2], A[2:, 2:], rtol=1e-13)


@pytest.mark.parametrize("jacobian", ["step", "kept"])
def test_order_one_on_a_nonlinear_dae(jacobian):
    # h |lambda_f| << 1: local error of order 2 (Gil et al., accuracy analysis), so order 1; kept matrices
    # change nothing.
    problem = kaps(mu=5.0)
    fast = split(problem.system, "D.x1")
    steps = 0.02 / 2.0 ** np.arange(5)
    errors = []
    for h in steps:
        end = integrate(problem.system, SlowManifold(fast, float(h), jacobian=jacobian), problem.t_end)
        errors.append(np.abs(np.r_[end.x[-1], end.y[-1]] - problem.exact(problem.t_end)).max())
    slope = np.polyfit(np.log(steps), np.log(errors), 1)[0]
    assert slope == pytest.approx(1.0, abs=0.2)


def test_stiff_limit_has_runge_kuttas_accuracy_for_the_slow_states():
    # z rests on the manifold: what is left is Runge-Kutta 4 and terms of the size of the fast time constant.
    system = two_rates(tau=1e-6)
    fast = split(system, "D.current")
    reference = integrate(system, psmr.SingleRate("SDIRK2", 1e-4), 1.0).x[-1]
    end = integrate(system, SlowManifold(fast, 0.05), 1.0).x[-1]
    assert np.abs(end - reference)[:2].max() < 1e-5


def test_a_rest_that_moves_with_time_is_followed():
    system = one(Driven, {"x": 0.0, "z": 0.0}, rate=1000.0)
    run = integrate(system, SlowManifold(split(system, "D.z"), 0.01), 2.0)
    rate, t = 1000.0, run.t
    # The forced response of z' = rate (sin t - z), the transient e^{-rate t} being gone after a step.
    exact = rate * (rate * np.sin(t) - np.cos(t)) / (1 + rate**2)
    # Secant in place of tangent: h / 2 of curvature, seen through 1 / rate.
    assert np.abs(run.x[1:, 1] - exact[1:]).max() < 0.01 / 2 / rate * 1.1


def test_limits_hold_and_are_left():
    system = one(Regulator, {"x": 0.0, "z": 0.0, "u": 0.2})
    changes = (Change(1.0, inputs=(("D.u", 2.0),)), Change(4.0, inputs=(("D.u", 0.4),)))
    scheme = SlowManifold(split(system, "D.z"), 0.02)
    run = integrate(system, scheme, 8.0, changes)
    reference = integrate(system, psmr.SingleRate("TM", 1e-3), 8.0, changes)
    z = run.x[:, 1]
    assert z.max() == 0.5  # exactly at the limit, never beyond
    assert np.ptp(z[(run.t > 1.1) & (run.t < 3.9)]) == 0.0
    at = np.searchsorted(reference.t, [3.9, 8.0])
    assert np.abs(run.x[np.searchsorted(run.t, [3.9, 8.0])] - reference.x[at]).max() < 1e-3


def test_a_kept_linearisation_is_renewed_when_it_drifts():
    system = two_rates()
    fast = split(system, "D.current")
    each = integrate(system, SlowManifold(fast, 0.01), 2.0)
    kept = integrate(system, SlowManifold(fast, 0.01, jacobian="kept"), 2.0)
    made = [run.counters.factorisations_by_role["linearisation"] for run in (each, kept)]
    # One at every step and one that looks at the start; kept ones serve several steps each.
    assert made[0] == 201
    assert 1 < made[1] < 0.5 * made[0]
    reference = integrate(system, psmr.SingleRate("TM", 1e-4), 2.0).x[-1]
    errors = [np.abs(run.x[-1] - reference).max() for run in (each, kept)]
    assert errors[1] < 2 * errors[0]


def test_a_linear_system_needs_one_linearisation():
    system = one(Regulator, {"x": 0.0, "z": 0.0, "u": 0.2}, low=-9.0, high=9.0)
    run = integrate(system, SlowManifold(split(system, "D.z"), 0.01, jacobian="kept"), 1.0)
    assert run.counters.factorisations_by_role["linearisation"] == 2  # a look at the start, and one


def test_every_state_fast_is_the_exponential_euler_method():
    system = one(Regulator, {"x": 0.1, "z": 0.3, "u": 0.2}, low=-9.0, high=9.0)
    run = integrate(system, SlowManifold(partitioning.all_fast(system.linearise()), 0.5), 1.0)
    A = system.linearise().state_matrix()
    rest = np.linalg.solve(A, [0.0, -0.2 / 0.01])
    E, _, _ = integrals(A, 1.0)
    assert np.allclose(run.x[-1], rest + E @ (system.x0 - rest), rtol=1e-12)


def test_pure_integrators_are_refused_before_the_run():
    system = one(Integrator, {"x": 0.1, "z": 0.0})
    with pytest.raises(
        SchemeError, match=r"D\.z acts as a pure integrator in the fast set.*Take it out of the fast set"
    ):
        integrate(system, SlowManifold(split(system, "D.z"), 0.01), 1.0)


def test_a_partition_without_fast_states_is_refused():
    system = two_rates()
    with pytest.raises(SchemeError, match=r"no fast state.*SingleRate\('RK4', h\)"):
        SlowManifold(partitioning.all_slow(system.linearise()), 0.01)


def test_a_partition_of_another_system_is_refused():
    other = one(Driven, {"x": 0.0, "z": 0.0})
    with pytest.raises(SchemeError, match="another system"):
        integrate(two_rates(), SlowManifold(split(other, "D.z"), 0.01), 1.0)


@pytest.mark.parametrize(
    ("choices", "words"),
    [
        ({"h": 0.0}, "h = 0.0: must be a finite number > 0 in s"),
        ({"h": float("nan")}, "h = nan"),
        ({"drift": -1.0}, "drift = -1.0"),
        ({"jacobian": "never"}, "jacobian = 'never': must be 'step' or 'kept'"),
        ({"newton": "frugal"}, "newton = 'frugal'"),
        ({"split": None}, "split = None: must be a partition"),
    ],
)
def test_choices_out_of_range(choices, words):
    system = two_rates()
    given = {"split": split(system, "D.current"), "h": 0.01} | choices
    with pytest.raises(SchemeError, match=words):
        SlowManifold(**given)


def test_the_record_is_frozen_and_picklable():
    scheme = psmr.SlowManifold(split(two_rates(), "D.current"), 0.01)
    assert pickle.loads(pickle.dumps(scheme)) == scheme
    assert str(scheme) == "slow manifold, h = 0.01 s, 1 fast states, linearised at every step"
    with pytest.raises(dataclasses.FrozenInstanceError):
        scheme.h = 0.02


def test_a_step_that_leaves_the_finite_numbers_names_the_state():
    class Runaway(Component):
        states = ("x", "z")

        @staticmethod
        def equations(m, v, p):
            return (v.x**2, -1000 * (v.z - v.x**4)), (), ()

    system = assemble([Device("D", Runaway, {})], {"D.x": 1.0, "D.z": 1.0})
    with pytest.raises(psmr.PsmrError, match=r"t = .*(D\.z|slow manifold)"):
        integrate(system, SlowManifold(split(system, "D.z"), 0.05), 3.0)
