"""Steps that follow the error where limits are met, move and let go."""

from dataclasses import replace

import numpy as np
import pytest

import psmr
from tests import systems
from tests.disturbances import system_of
from tests.integrate.solve.test_moving_limits import LEFT, MET, chased, exact
from tests.internals import PAIRS, TUNED, integrate


@pytest.mark.parametrize("tolerance", [1e-4, 1e-6])
def test_a_limit_that_moves_holds(tolerance):
    run = integrate(chased(), psmr.VariableStep(tolerance), 2.0)
    np.testing.assert_allclose(run.x[:, 0], exact(run.t), atol=tolerance)
    held = (run.t > MET + 0.01) & (run.t < LEFT - 0.01)
    assert held.any()
    np.testing.assert_allclose(run.x[held, 0], run.y[held, 0], rtol=1e-9)


@pytest.mark.parametrize("pace", [1.0, 6.5, 1e3])
@pytest.mark.parametrize("method", PAIRS)
def test_a_limit_that_begins_to_move_lets_its_state_go_on_time(method, pace):
    """At once where it is the faster one; at 1e-6 the state was let go 3e3 tolerances early."""
    for tolerance in (1e-3, 1e-4, 1e-5, 1e-6):
        run = integrate(systems.one(systems.Gated, {}, pace=pace), psmr.VariableStep(tolerance, method), 2.0)
        assert np.abs(run.x[:, 0] - systems.gated_exact(run.t, pace)).max() < 5 * tolerance


@pytest.mark.parametrize("method", PAIRS)
def test_a_limit_that_begins_to_move_close_to_the_end_of_a_step_lets_its_state_go(method, monkeypatch):
    """Held at both ends of a step by a limit that is too fast for it behind 0.7 s.

    8 of 1,440 runs kept it there, up to 1e5 tolerances off. The first step decides where the other ends.
    """
    for move in np.geomspace(0.05, 0.1, 12):
        tuned = replace(TUNED, first_step_change=float(move))
        monkeypatch.setattr("psmr.integrate.control.controller.TUNED", tuned)
        for tolerance in (1e-4, 1e-5, 1e-6):
            system = systems.one(systems.Gated, {}, pace=6.5)
            run = integrate(system, psmr.VariableStep(tolerance, method), 2.0)
            assert np.abs(run.x[:, 0] - systems.gated_exact(run.t, 6.5)).max() < 5 * tolerance


def test_converters_in_a_fault_take_no_step_for_each_tolerance_that_a_limit_moves(wscc9):
    """The active current rides on what the reactive one leaves of the rating: 20,945 steps ended there."""
    system = psmr.build(psmr.read_case(wscc9 / "wscc9-renewable.toml"))
    fault = psmr.Fault(bus="bus6", start=1.994, clear=2.244, trip="line6-9", x=1e-4)
    ends = []
    for tolerance in (1e-5, 1e-6):
        run = psmr.simulate(system, psmr.VariableStep(tolerance), 3.0, [fault], certify=False)
        assert len(run.t) < 400
        ends.append(run.x[-1])
    assert np.abs(ends[0] - ends[1]).max() < 5e-4


@pytest.mark.parametrize("tolerance", [1e-2, 1e-4])
@pytest.mark.parametrize("method", PAIRS)
def test_a_step_ends_where_a_limit_is_met_and_left(method, tolerance):
    """x' = cos t up to 1/2: met at pi / 6, left at pi / 2.

    A step of ESDIRK43 may be 0.5 s long: by a parabola over it the limit was met 104 tolerances late.
    """
    run = psmr.simulate(systems.one(systems.Limited, {}), psmr.VariableStep(tolerance, method), 3.0)
    near = 2.0 * tolerance**0.5  # where the state is off its limit by the tolerance
    assert np.abs(run.t - np.pi / 6).min() < near
    assert np.abs(run.t - np.pi / 2).min() < near
    t = np.linspace(0.0, 3.0, 3001)
    true = np.where(t < np.pi / 6, np.sin(t), np.where(t < np.pi / 2, 0.5, np.sin(t) - 0.5))
    assert np.abs(run.at(t, "D.x")["D.x"] - true).max() < 5 * tolerance


def test_a_limit_that_is_met_at_once_hides_no_later_one():
    """A bolted fault in New England: a step that begins just below one ceiling meets three others further on.

    It passed all of them, and points within it were 239 tolerances off; 2 now.
    """
    system, tolerance = system_of("new-england", 0.0)[0], 1e-4
    fault, times = [psmr.Fault(16, start=1.0, clear=1.1)], np.linspace(1.0001, 1.0099, 50)
    run, fine = (
        psmr.simulate(system, psmr.VariableStep(each), 1.2, fault, certify=False)
        for each in (tolerance, 1e-8)
    )
    ceilings = [name for name in system.names_x if name.endswith(".v_f")]
    exact = fine.at(times, ceilings)
    off = (run.at(times, ceilings) - exact) / exact.abs().max().clip(lower=1.0)
    assert off.abs().to_numpy().max() < 5 * tolerance
