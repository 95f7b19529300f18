"""The march: times, spans, changes, records, progress, and what it refuses."""

import numpy as np
import pytest

from psmr import SingleRate
from psmr.errors import EventError, InputError, SchemeError
from tests import systems
from tests.internals import TABLEAUX, Change, integrate, linear_system
from tests.internals import span_module as marching


def test_times_are_multiples_of_the_step_not_sums():
    trajectory = integrate(systems.logistic().system, SingleRate("BEM", 0.1), 10.0)
    np.testing.assert_array_equal(trajectory.t[:-1], 0.1 * np.arange(100))
    assert trajectory.t[-1] == 10.0
    assert trajectory.x.shape == (101, 1)
    assert trajectory.h == 0.1


def test_the_last_step_is_shortened():
    problem = systems.quadratic()
    trajectory = integrate(problem.system, SingleRate("TM", 0.3), 1.0)
    np.testing.assert_allclose(trajectory.t, [0, 0.3, 0.6, 0.9, 1.0], rtol=1e-15)
    # It is a step of 0.1 and nothing else: the same as one from there.
    system = problem.system.with_start(trajectory.x[3], trajectory.y[3])
    again = integrate(system, SingleRate("TM", 0.1), 0.1)
    np.testing.assert_allclose(trajectory.x[-1], again.x[-1], atol=1e-10)


def test_a_step_longer_than_the_run_is_shortened_too():
    trajectory = integrate(systems.quadratic().system, SingleRate("TM", 5.0), 0.5)
    np.testing.assert_array_equal(trajectory.t, [0, 0.5])


def test_a_change_stands_before_and_after():
    change = Change(0.25, (("D", "b", 4.0),))
    trajectory = integrate(systems.quadratic().system, SingleRate("TM", 0.1), 0.5, [change])
    np.testing.assert_allclose(trajectory.t, [0, 0.1, 0.2, 0.25, 0.25, 0.35, 0.45, 0.5], rtol=1e-14)
    before, after = np.flatnonzero(trajectory.t == 0.25)
    assert trajectory.x[after] == trajectory.x[before]
    np.testing.assert_allclose(trajectory.y[after], 4 * trajectory.y[before], rtol=1e-9)


def test_changes_at_one_instant_are_one_and_at_the_ends_they_count():
    changes = [
        Change(0.2, (("D", "a", 2.0),)),
        Change(0.0, (("D", "b", 2.0),)),
        Change(0.2, (("D", "b", 3.0),)),
    ]
    changes.append(Change(0.4, (("D", "b", 5.0),)))
    trajectory = integrate(systems.quadratic().system, SingleRate("TM", 0.1), 0.4, changes)
    np.testing.assert_allclose(trajectory.t, [0, 0, 0.1, 0.2, 0.2, 0.3, 0.4, 0.4], rtol=1e-14)
    factor = trajectory.y[:, 0] / trajectory.x[:, 0] ** 2
    np.testing.assert_allclose(factor, [1, 2, 2, 2, 3, 3, 3, 5], rtol=1e-9)


def test_changes_do_not_outlive_the_march():
    system = systems.quadratic().system
    first = integrate(system, SingleRate("TM", 0.1), 1.0)
    integrate(system, SingleRate("TM", 0.1), 1.0, [Change(0.5, (("D", "a", 9.0),))])
    np.testing.assert_array_equal(integrate(system, SingleRate("TM", 0.1), 1.0).x, first.x)
    assert system.parameter("D", "a") == 1.0


def test_a_start_is_made_consistent():
    trajectory = integrate(systems.quadratic().system, SingleRate("TM", 0.1), 0.1, start=([2.0], [0.0]))
    np.testing.assert_allclose(trajectory.y[0], [4.0], rtol=1e-14)


def test_a_start_outside_its_limits_is_refused():
    with pytest.raises(InputError, match=r"D\.x = 0\.7 is outside its limits \[-0\.5, 0\.5\]"):
        integrate(systems.one(systems.Limited, {}), SingleRate("TM", 0.1), 1.0, start=([0.7], [0.0]))


def test_a_start_that_is_not_finite_is_refused():
    with pytest.raises(InputError, match=r"D\.x = nan"):
        integrate(systems.logistic().system, SingleRate("TM", 0.1), 1.0, start=([np.nan], []))


@pytest.mark.parametrize("t_end", [0.0, -1.0, np.nan, np.inf])
def test_an_end_that_is_none_is_refused(t_end):
    with pytest.raises(InputError, match="t_end"):
        integrate(systems.logistic().system, SingleRate("TM", 0.1), t_end)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (Change(2.0, label="late"), "late: t = 2 s is outside the run from 0 s to 1 s"),
        (Change(0.5, (("E", "a", 1.0),)), "no device 'E'"),
        (Change(0.5, (("D", "aa", 1.0),)), r"no parameter 'aa'.*did you mean 'a'"),
        (Change(0.5, inputs=(("D.v_rf", 1.0),)), r"no variable 'D\.v_rf'.*did you mean 'D\.v_ref'"),
        (Change(0.5, inputs=(("D.angle", 1.0),)), r"D\.angle is a variable, not a held input"),
    ],
)
def test_impossible_changes_are_refused_before_the_run(change, message):
    system = systems.two_rates()
    if "parameter" in message:
        system = systems.quadratic().system
    with pytest.raises(InputError, match=message):
        integrate(system, SingleRate("TM", 0.1), 1.0, [change])


def test_values_that_are_not_finite_are_refused():
    with pytest.raises(EventError, match=r"D\.a = nan"):
        Change(0.5, (("D", "a", float("nan")),))
    with pytest.raises(EventError, match="t = inf"):
        Change(float("inf"))


def test_progress_reaches_the_end(monkeypatch):
    monkeypatch.setattr(marching, "CHUNK", 1e-4)
    seen = []
    integrate(systems.logistic().system, SingleRate("TM", 1e-4), 1.0, [Change(0.5)], progress=seen.append)
    assert len(seen) > 3
    assert seen == sorted(seen)
    assert seen[-1] == 1.0


def test_chunks_do_not_show(monkeypatch):
    problem = systems.kaps()
    scheme = SingleRate("SDIRK2", 1e-3, newton="very dishonest")
    whole = integrate(problem.system, scheme, 1.0)
    monkeypatch.setattr(marching, "CHUNK", 1e-9)
    np.testing.assert_array_equal(integrate(problem.system, scheme, 1.0).x, whole.x)


def test_a_scheme_of_another_kind_is_refused():
    with pytest.raises((SchemeError, AttributeError)):
        integrate(systems.logistic().system, "TM", 1.0)  # type: ignore[arg-type]


@pytest.mark.parametrize("newton", ["honest", "dishonest", "very dishonest"])
@pytest.mark.parametrize("method", TABLEAUX)
def test_a_step_on_a_linear_dae_is_its_stability_function(method, newton):
    """x(t+h) = R(h A) x(t) with R from the tableau and A the state matrix (Hairer and Wanner, IV.3)."""
    linear = systems.two_rates(tau=0.1).linearise()
    system = linear_system(linear)
    tableau, h, n = TABLEAUX[method], 0.05, linear.n
    A = linear.state_matrix()
    big = np.eye(n * tableau.stages) - h * np.kron(tableau.A, A)
    stages = np.linalg.solve(big, np.tile(np.eye(n), (tableau.stages, 1)))
    R = np.eye(n) + h * np.kron(tableau.b, A) @ stages
    gy, gx = linear.gy.toarray(), linear.gx.toarray()
    rng = np.random.default_rng(7)
    for _ in range(5):
        x = rng.standard_normal(n)
        end = integrate(system, SingleRate(method, h, newton=newton), h, start=(x, np.zeros(linear.m)))
        np.testing.assert_allclose(end.x[-1], R @ x, atol=1e-12)
        np.testing.assert_allclose(end.y[-1], -np.linalg.solve(gy, gx @ R @ x), atol=1e-12)


@pytest.mark.parametrize("t_end", [0.3, 0.6, 0.7])
def test_a_whole_number_of_steps_has_no_shortened_one(t_end):
    """0.3 / 0.1 is 2.9999999999999996: a last step that is shorter by rounding had a matrix of its own."""
    scheme = SingleRate("TM", 0.1, newton="very dishonest")
    run = integrate(systems.two_rates(tau=0.05), scheme, t_end)
    assert run.t[-1] == t_end
    assert run.counters.factorisations_by_role["step"] == 1
