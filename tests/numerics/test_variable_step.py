"""Steps that follow the error: accuracy, events, limits, and what ends a run."""

import numpy as np
import pytest

import psmr
from psmr.errors import SchemeError, SimulationError
from psmr.numerics.run.integrate import integrate
from psmr.numerics.run.trajectory import Change
from psmr.numerics.schemes.tableaux import TABLEAUX, TR_BDF2_DIFFERENCE
from tests import systems
from tests.numerics.test_moving_limits import LEFT, MET, chased, exact


@pytest.fixture(scope="module")
def faulted(wscc9):
    system = psmr.build(psmr.read_case(wscc9 / "wscc9.toml"))
    changes = psmr.Fault(bus=5, start=0.5, clear=0.6, trip="5-7").changes(system)
    fine = integrate(system, psmr.SingleRate("SDIRK2", 2e-4, tolerance=1e-12), 3.0, changes)
    return system, changes, fine


def test_the_companion_is_of_third_order():
    """b - difference satisfies the conditions of order 1, 2 and 3 (Hairer and Wanner, section II.2)."""
    tableau = TABLEAUX["TR-BDF2"]
    companion = tableau.b - np.array(TR_BDF2_DIFFERENCE)
    assert companion.sum() == pytest.approx(1.0)
    assert companion @ tableau.c == pytest.approx(1 / 2)
    assert companion @ tableau.c**2 == pytest.approx(1 / 3)
    assert companion @ tableau.A @ tableau.c == pytest.approx(1 / 6)


def test_the_error_follows_the_tolerance_across_a_fault(faulted):
    """Order 2 with the error of a step held constant: the error of the run goes with the 2/3 power."""
    system, changes, fine = faulted
    tolerances = np.array([1e-3, 1e-4, 1e-5, 1e-6])
    runs = [integrate(system, psmr.VariableStep(tolerance), 3.0, changes) for tolerance in tolerances]
    errors = [np.abs(run.x[-1] - fine.x[-1]).max() for run in runs]
    assert np.polyfit(np.log(tolerances), np.log(errors), 1)[0] == pytest.approx(2 / 3, abs=0.15)
    steps = [run.counters.steps for run in runs]
    assert np.polyfit(np.log(tolerances), np.log(steps), 1)[0] == pytest.approx(-1 / 3, abs=0.08)
    assert errors[1] < 1e-2


def test_events_are_met_and_a_quiet_end_takes_few_steps(faulted):
    system, changes, _ = faulted
    run = integrate(system, psmr.VariableStep(1e-3), 60.0, changes)
    assert np.count_nonzero(run.t == 0.5) == np.count_nonzero(run.t == 0.6) == 2
    assert run.t[-1] == 60.0
    busy = np.count_nonzero((run.t > 0.6) & (run.t < 1.6))
    quiet = np.count_nonzero(run.t > 50.0)
    assert quiet < busy
    short = integrate(system, psmr.VariableStep(1e-3, h_max=0.01), 1.0)
    assert np.diff(short.t).max() <= 0.01 * (1 + 1e-12)


def test_a_stiff_state_and_an_algebraic_variable_are_followed():
    system = systems.quadratic().system  # x' = -x y, y = x^2
    run = integrate(system, psmr.VariableStep(1e-8), 5.0)
    np.testing.assert_allclose(run.y[:, 0], run.x[:, 0] ** 2, atol=1e-9)


def test_a_limit_that_moves_holds():
    run = integrate(chased(), psmr.VariableStep(1e-6), 2.0)
    np.testing.assert_allclose(run.x[:, 0], exact(run.t), atol=2e-4)
    held = (run.t > MET + 0.01) & (run.t < LEFT - 0.01)
    assert held.any()
    np.testing.assert_allclose(run.x[held, 0], run.y[held, 0], rtol=1e-9)


def test_a_run_that_does_not_end_names_the_variable():
    system = systems.one(systems.Blowup, {"x": 1.0})
    with pytest.raises(SimulationError, match=r"D\.x"):
        integrate(system, psmr.VariableStep(1e-4), 2.0)
    with pytest.raises(SimulationError, match=r"most_steps = 5; the error of D\.x"):
        integrate(system, psmr.VariableStep(1e-8, most_steps=5), 0.9)


@pytest.mark.parametrize("tolerance", [0, -1e-3, 1.0, 1e-14, float("nan"), "1e-3"])
def test_a_tolerance_out_of_range_is_refused(tolerance):
    with pytest.raises(SchemeError, match="tolerance = "):
        psmr.VariableStep(tolerance)


def test_it_says_that_it_has_no_operator(faulted):
    system = faulted[0]
    with pytest.raises(SchemeError, match="chooses its own steps"):
        psmr.step_operator(system.linearise(), psmr.VariableStep())
    run = psmr.simulate(system, psmr.VariableStep(), 1.0)
    assert "chooses its own steps" in run.certificate.note


def test_a_trip_and_a_ramp(faulted):
    system = faulted[0]
    changes = psmr.GeneratorTrip("G3", start=0.5).changes(system)
    fine = integrate(system, psmr.SingleRate("SDIRK2", 5e-4), 1.5, changes)
    run = integrate(system, psmr.VariableStep(1e-6), 1.5, [*changes, Change(1.2, label="nothing")])
    assert np.abs(run.x[-1] - fine.x[-1]).max() < 1e-3
