"""Newton's method: few iterations where few are needed, and messages that name the culprit otherwise."""

from dataclasses import replace

import numpy as np
import pytest

import psmr
from psmr import Component, SingleRate
from psmr.errors import SimulationError, SingularError
from tests import systems
from tests.disturbances import CASES, severe_fault
from tests.internals import (
    ALL,
    DONE,
    ITERATIONS,
    NOT_CONVERGED,
    NOTHING,
    PLAIN,
    TUNED,
    VALID,
    VERY_DISHONEST,
    Change,
    block_module,
    consistent,
    integrate,
    make_block,
)


@pytest.mark.parametrize("newton", ["honest", "dishonest", "very dishonest"])
@pytest.mark.parametrize("method", ["TM", "BEM", "SDIRK2"])
def test_a_linear_problem_takes_one_iteration_a_stage(method, newton):
    system = systems.one(systems.Spring, {"x": 1.0, "force": -4.0})
    counters = integrate(system, SingleRate(method, 0.01, newton=newton), 1.0).counters
    stages = 100 * (2 if method == "SDIRK2" else 1)
    # The very first stage does not know the rate yet and needs a second one to see it.
    assert counters.newton_iterations["step"] == stages + 1
    assert counters.refreshes == 0


def test_one_residual_and_one_solve_an_iteration():
    system = systems.two_rates()
    counters = integrate(system, SingleRate("TM", 0.002), 1.0).counters
    assert counters.solves["step"] == counters.newton_iterations["step"]
    # f at the end of a step serves the next one where that starts from there; where it is continued from
    # earlier results, its first residual is one more.
    assert counters.residuals["step"] <= counters.newton_iterations["step"] + counters.steps + 1


def test_a_step_without_a_solution_names_time_variable_and_remedy():
    # BEM on x' = x^2: x - h x^2 = x_t has no real solution for h > 1 / (4 x_t), and x(t) = 1 / (1 - t).
    system = systems.one(systems.Blowup, {"x": 1.0})
    with pytest.raises(SimulationError) as caught:
        integrate(system, SingleRate("BEM", 0.3), 2.0)
    message = str(caught.value)
    for part in (
        "s, step 0.3 s",
        "the step (1 unknowns)",
        "in parts down to 0.000293 s",
        "No solution was found",
        "D.x",
        "smaller step",
    ):
        assert part in message


@pytest.mark.parametrize("newton", ["honest", "dishonest", "very dishonest"])
def test_no_step_ends_where_an_equation_is_not_a_number(newton):
    # The update that leads there is small and finite: only the residual at the new point is not.
    system = systems.one(systems.EndOfRoot, {"x": 0.0, "y": 1.0})
    with pytest.raises(SimulationError, match=r"It is D\.y\. The equation of D\.y has no value") as caught:
        integrate(system, SingleRate("TM", 0.15, newton=newton), 2.0)
    assert 0.999 < float(str(caught.value).split()[2]) < 1.0


def test_a_step_that_is_too_long_is_taken_in_parts_and_said():
    # From 1 the step of 0.3 s has no solution, two of 0.15 s have: x = (1 - sqrt(1 - 4 h x_t)) / (2 h).
    system = systems.one(systems.Blowup, {"x": 1.0})
    run = integrate(system, SingleRate("BEM", 0.3), 0.3)
    expected = 1.0
    for _ in range(2):
        expected = (1 - np.sqrt(1 - 4 * 0.15 * expected)) / (2 * 0.15)
    np.testing.assert_allclose(run.x[:, 0], [1.0, expected], rtol=1e-9)
    counters = run.counters
    assert (counters.divided, counters.parts, counters.divided_at) == (1, 2, (0.0,))


def test_a_later_failure_names_its_own_time():
    system = systems.one(systems.Blowup, {"x": 1.0})
    with pytest.raises(SimulationError, match=r"t = (0\.9\d*|1) s, step 0.01 s"):
        integrate(system, SingleRate("BEM", 0.01), 2.0)


def test_numbers_that_overflow_are_named():
    system = systems.one(systems.Blowup, {"x": 1.0})
    with pytest.raises(SimulationError, match=r"D\.x = .*, and no quantity is beyond"):
        integrate(system, SingleRate("FEM", 0.1), 10.0)


def test_a_jump_without_a_solution_names_change_and_variable():
    system = systems.one(systems.NoRoot, {"x": 1.0, "y": 1.0})
    change = Change(0.5, (("D", "level", 0.5),), label="level raised")
    with pytest.raises(
        SimulationError, match=r"level raised \(t = 0.5 s\): .*D\.y.*residual at first D\.y = 1\.5"
    ):
        integrate(system, SingleRate("TM", 0.1), 1.0, [change])


def test_a_far_jump_is_found_with_damping():
    # 0 = atan(y - target): undamped Newton diverges from more than 1.39 away.
    system = systems.one(systems.Arctangent, {"x": 1.0, "y": 0.0})
    trajectory = integrate(system, SingleRate("TM", 0.1), 1.0, [Change(0.5, (("D", "target", 8.0),))])
    np.testing.assert_allclose(trajectory.y[trajectory.t > 0.5], 8.0, rtol=1e-11)
    at = np.flatnonzero(trajectory.t == 0.5)
    np.testing.assert_allclose(trajectory.y[at, 0], [0.0, 8.0], atol=1e-11)


def test_a_singular_g_y_names_the_variable():
    system = systems.one(systems.NoRoot, {"x": 1.0, "y": 0.0})
    with pytest.raises(SingularError, match=r"start \(t = 0 s\): the matrix is singular: D\.y"):
        integrate(system, SingleRate("TM", 0.1), 1.0)


def test_consistent_values():
    system = systems.quadratic().system
    np.testing.assert_allclose(consistent(system, x=[3.0], y=[0.0]), [9.0], rtol=1e-14)


def test_pivots_are_chosen_anew_when_the_old_ones_do_not_suit():
    # [[s, 1], [1, s]] with s = cos(t): pivots on the diagonal at first, off it where s passes zero.
    system = systems.one(systems.Turning, {"x": 0.0, "y_a": 1.0, "y_b": 0.0})
    trajectory = integrate(system, SingleRate("TM", np.pi / 200), np.pi)
    assert trajectory.counters.repivots > 1
    s = 2 * np.cos(trajectory.t)
    np.testing.assert_allclose(trajectory.y[:, 0], (s - 0.5) / (s**2 - 1), rtol=1e-9, atol=1e-9)


def test_a_kept_matrix_is_renewed_when_it_slows_down_and_that_is_counted():
    system = systems.quadratic().system
    kept = integrate(system, SingleRate("TM", 0.02, newton="very dishonest"), 5.0)
    fresh = integrate(system, SingleRate("TM", 0.02, newton="honest"), 5.0)
    counters = kept.counters
    assert 0 < counters.refreshes < 0.5 * counters.steps
    assert counters.factorisations_by_role["step"] == 1 + counters.refreshes
    np.testing.assert_allclose(kept.x, fresh.x, atol=250 * 1e-10)  # the tolerance of each of 250 steps


def with_a_kept_matrix(rate, known, guess, tolerance):
    """Solve (1 + rate) x = known with the matrix 2 of the rate 1: theta is 1 - (1 + rate) / 2.

    Returns x and how many iterations it took.
    """
    system = systems.one(systems.Decay, {"x": 1.0, "rate": 1.0})
    w, rows = system.w0.copy(), np.arange(1)
    block = make_block(system, "step", system.parameters, w, rows, rows)
    block.load(system.parameters, *system.constant_limits(system.parameters), NOTHING, w)
    block.records.work.known[:] = 2.0
    assert block.solve(w, 1.0, VERY_DISHONEST, 1e-9, PLAIN) == DONE
    before = block.records.newton.counts[ITERATIONS]
    w[system.index("D.rate")], w[0], block.records.work.known[:] = rate, guess, known
    block.records.newton.scalars[VALID] = 0.0
    assert block.solve(w, 1.0, VERY_DISHONEST, tolerance, PLAIN) == DONE
    return w[0], int(block.records.newton.counts[ITERATIONS] - before)


def test_newton_stops_where_what_is_left_is_below_the_tolerance():
    """With updates d, theta d, theta^2 d the error behind the k-th is theta / (1 - theta) of it, and no less.

    Hairer and Wanner, Solving Ordinary Differential Equations II, section IV.8, equation (8.10): the second
    update, 0.2 d, leaves 0.05 d; theta of it, 0.04 d, is below a tolerance of 0.045 d that its error is not.
    """
    exact, d = 1.0, 0.8e-3  # the first update of an error of 1e-3
    x, iterations = with_a_kept_matrix(0.6, 1.6 * exact, exact + 1e-3, 0.045 * d)
    assert iterations == 3
    assert abs(x - exact) < 0.045 * d


def test_a_small_first_update_of_a_kept_matrix_is_not_enough():
    """At theta = 0.9 the first update is a tenth of the error; the matrix is renewed and the rest found."""
    exact, error = 1.0, 1e-3
    x, _ = with_a_kept_matrix(-0.8, 0.2 * exact, exact + error, 0.15 * error)
    assert abs(x - exact) < 1e-12


class Root(Component):
    """Newton for sqrt(|y|) sign(y), smooth at zero, goes from y to nearly -y and back."""

    states = ("x",)
    algebraic = ("y",)

    @staticmethod
    def equations(m, v, p):
        return (0 * v.x,), (v.y / m.sqrt(m.sqrt(v.y * v.y + 1e-8)),), ()


def test_a_solve_that_does_not_contract_is_given_up_at_once():
    system = systems.one(Root, {"x": 0.0, "y": 0.0})
    w, rows = system.w0.copy(), np.arange(2)
    block = make_block(system, "step", system.parameters, w, rows, rows)
    block.load(system.parameters, *system.constant_limits(system.parameters), NOTHING, w)
    w[1] = 1.0
    assert block.solve(w, 0.1, VERY_DISHONEST, 1e-9, PLAIN) == NOT_CONVERGED
    assert block.records.newton.counts[ITERATIONS] == 4  # two contractions of 1, each with a new matrix
    w[1] = 1.0
    block.forget()
    assert block.solve(w, 0.1, VERY_DISHONEST, 1e-9, ALL) == DONE  # with damping
    assert abs(w[1]) < 1e-9


@pytest.mark.parametrize("products", [TUNED.products_a_column, 0])
def test_limits_that_switch_and_small_changes_of_the_step_renew_a_part_of_the_matrix(products, monkeypatch):
    """New England, bolted fault: the whole of the matrix was factorised 135 times (measured).

    Without what a column costs beside its products, most of the work is the network's.
    """
    monkeypatch.setattr(block_module, "TUNED", replace(TUNED, products_a_column=products))
    system = psmr.build(psmr.read_case(CASES / "new-england" / "new-england.toml"))
    fault = severe_fault(system, 16)
    counters = integrate(system, psmr.VariableStep(1e-4), fault.t_end, fault.changes).counters
    assert counters.factorisations_by_role["step"] < (130 if products else 40)
    assert counters.partial > (5 if products else 100)
    assert counters.newton_iterations["step"] < 6 * counters.steps
