"""Steps that follow the error: accuracy, cost, and what a tolerance may be."""

from typing import Any

import numpy as np
import pytest

import psmr
from psmr import Component, Device, assemble
from psmr.errors import SchemeError
from tests import systems
from tests.disturbances import load_step, local_fault, system_of, watched
from tests.internals import PAIRS, Change, Course, integrate


class Oscillator(Component):
    """An undamped oscillator of 1 Hz."""

    states = ("x", "v")

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> Any:
        return (2 * np.pi * v.v, -2 * np.pi * v.x), (), ()


def test_the_finest_run_is_that_of_a_fixed_step(faulted):
    system, events, exact = faulted
    changes = events[0].changes(system)
    fine = integrate(system, psmr.SingleRate("ESDIRK43", 1e-3, tolerance=1e-13), 3.0, changes)
    np.testing.assert_allclose(fine.x[-1], exact[list(system.names_x)].iloc[-1], rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("method", PAIRS)
def test_the_error_is_proportional_to_the_tolerance_across_a_fault(faulted, method):
    """Within a factor 3 over four decades, of states and algebraic variables, with dense output between."""
    system, events, exact = faulted
    tolerances = np.array([1e-2, 1e-3, 1e-4, 1e-5, 1e-6])
    ratios, steps = [], []
    for tolerance in tolerances:
        run = psmr.simulate(system, psmr.VariableStep(tolerance, method), 3.0, events, certify=False)
        off = np.abs(run.at(exact.index) - exact) / np.maximum(1.0, np.abs(exact))
        ratios.append(float(off.to_numpy().max()) / tolerance)
        steps.append(len(run.t))
    assert max(ratios) < 3**2 * min(ratios)  # c tol / 3 < error < 3 c tol for some c
    assert max(ratios) < 10
    order = PAIRS[method].tableau.order
    assert np.polyfit(np.log(tolerances), np.log(steps), 1)[0] == pytest.approx(-1 / order, abs=0.08)


def test_the_method_follows_the_tolerance_unless_it_is_named():
    assert psmr.VariableStep(1e-3).name == psmr.VariableStep(1e-4).name == "ESDIRK32"
    assert psmr.VariableStep(1e-5).name == "ESDIRK43"
    assert "ESDIRK43, tolerance 1e-05" in str(psmr.VariableStep(1e-5))
    assert psmr.VariableStep(1e-5, "TR-BDF2").name == "TR-BDF2"


def test_events_are_met_and_a_quiet_end_takes_few_steps(faulted):
    system, (fault,), _ = faulted
    changes = fault.changes(system)
    run = integrate(system, psmr.VariableStep(1e-3), 60.0, changes)
    assert np.count_nonzero(run.t == 0.5) == np.count_nonzero(run.t == 0.6) == 2
    assert run.t[-1] == 60.0
    busy = np.count_nonzero((run.t > 0.6) & (run.t < 1.6))
    quiet = np.count_nonzero(run.t > 50.0)
    assert quiet < busy
    short = integrate(system, psmr.VariableStep(1e-3, h_max=0.01), 1.0)
    assert np.diff(short.t).max() <= 0.01 * (1 + 1e-12)


@pytest.mark.parametrize(("name", "length"), [("wscc9-emt", 30.0), ("wscc9-gfm", 60.0)])
def test_pivots_of_the_first_steps_serve_steps_of_a_minute(wscc9, name, length):
    """Rows of states grow with the step, and with them the multipliers, but not relative to the rows."""
    system = psmr.build(psmr.read_case(wscc9 / f"{name}.toml"))
    fault = psmr.Fault(bus=7, start=0.5, clear=0.6, x=0.1)
    run = integrate(system, psmr.VariableStep(1e-3), 240.0, fault.changes(system))
    assert np.diff(run.t).max() > length
    assert run.counters.repivots == 2  # those of the steps and of the events


@pytest.fixture(scope="module")
def new_england():
    return system_of("new-england", 0.0)


def test_angles_do_not_drift_in_the_long_steps_of_a_quiet_minute(new_england):
    """What Newton leaves in all speeds in one step of seconds had turned the angles by 9.5 tolerances."""
    system, bus = new_england
    changes = local_fault(system, bus).changes
    ends = [
        integrate(system, psmr.VariableStep(tolerance), 60.0, changes).x[-1] for tolerance in (1e-4, 1e-8)
    ]
    angles = [k for k, name in enumerate(system.names_x) if name.endswith(".delta")]
    assert len(angles) == 10
    assert np.abs(ends[0] - ends[1])[angles].max() < 1e-4


def test_most_stages_take_one_iteration_and_every_other_one_a_look(new_england):
    system, bus = new_england
    fault = local_fault(system, bus)
    counters = integrate(system, psmr.VariableStep(1e-4), fault.t_end, fault.changes).counters
    iterations, residuals = counters.newton_iterations["step"], counters.residuals["step"]
    assert iterations < 4.3 * counters.steps  # 5.5 from parabolas through stages
    assert residuals - iterations < 2.4 * counters.steps  # 3.4 with a look at each stage


def test_a_stiff_state_and_an_algebraic_variable_are_followed():
    system = systems.quadratic().system  # x' = -x y, y = x^2
    run = integrate(system, psmr.VariableStep(1e-8), 5.0)
    np.testing.assert_allclose(run.y[:, 0], run.x[:, 0] ** 2, atol=1e-9)


def test_a_rest_is_one_step_unless_something_may_begin_within_it(wscc9):
    system = psmr.build(psmr.read_case(wscc9 / "wscc9.toml"))
    np.testing.assert_array_equal(integrate(system, psmr.VariableStep(1e-3), 2.0).t, [0.0, 2.0])
    course = Course.line(0.0, system.parameter("load6", "q"), 1e-12)
    timed = Change(0.0, courses=(("load6.q", course),))  # something moves with the time
    run = integrate(system, psmr.VariableStep(1e-3), 2.0, [timed])
    assert run.t[run.t > 0.0][0] == pytest.approx(0.02)


def test_a_voltage_that_rests_at_the_dip_of_a_converter_is_passed(wscc9):
    """Its controls rest below 0.85 pu and lift the voltage above: no step led on from there."""
    system = psmr.build(psmr.read_case(wscc9 / "wscc9-renewable.toml"))
    fault = psmr.Fault(bus="bus9", start=0.143, clear=0.432, trip="line6-9", x=1e-4)
    schemes = psmr.SingleRate("TM", 5e-3), psmr.SingleRate("SDIRK2", 1e-3), psmr.VariableStep(1e-6)
    runs = [psmr.simulate(system, scheme, 1.0, [fault], certify=False) for scheme in schemes]
    coarse, fine, true = (run["EC-W3.x_v"].iloc[-1] for run in runs)
    assert runs[0].t[-1] == 1.0
    assert abs(fine - true) < 1e-3 < abs(coarse - true)


@pytest.mark.parametrize("tolerance", [0, -1e-3, 1.0, float("nan"), "1e-3", True, None])
def test_a_tolerance_that_is_none_is_refused(tolerance):
    with pytest.raises(SchemeError, match=r"tolerance = .*: must be a number above 0 and below 1"):
        psmr.VariableStep(tolerance)


@pytest.mark.parametrize(("method", "least"), [("ESDIRK43", 1.447e-12), ("TR-BDF2", 3.4e-9)])
def test_a_tolerance_below_double_precision_is_refused_with_the_least(method, least):
    with pytest.raises(SchemeError, match=rf"double precision allows {method}; the least is {least:.2g}"):
        psmr.VariableStep(0.9 * least, method)
    assert psmr.VariableStep(1.03 * least, method).pair.tolerance_of_step(1.03 * least) < 1.1e-12
    run = integrate(systems.quadratic().system, psmr.VariableStep(1.03 * least, method), 0.01)
    np.testing.assert_allclose(run.x[-1, 0], 1 / np.sqrt(1 + 2 * 0.01), rtol=1e-2)


def test_it_has_an_operator_for_each_step_and_none_of_its_own(faulted):
    """Its eigenvalues are those of the method's stability function at h times the modes."""
    system, scheme = faulted[0], psmr.VariableStep()
    linear = system.linearise()
    with pytest.raises(SchemeError, match=r"chooses its own steps .*scheme.at_step"):
        psmr.step_operator(linear, scheme)
    h, tableau = 0.05, scheme.pair.tableau
    found = np.linalg.eigvals(psmr.step_operator(linear, scheme.at_step(h)))
    one = np.ones(tableau.stages)
    for mode in np.linalg.eigvals(linear.state_matrix()):
        z = h * mode
        expected = 1 + z * tableau.b @ np.linalg.solve(np.eye(tableau.stages) - z * tableau.A, one)
        assert np.abs(found - expected).min() < 1e-7


def test_the_certificate_is_that_of_the_steps_taken(faulted):
    system, events, _ = faulted
    run = psmr.simulate(system, t_end=10.0, events=events)
    assert run.scheme == psmr.VariableStep()
    h = np.diff(run.t)[np.diff(run.t) > 0]
    moving = h[run.t[1:][np.diff(run.t) > 0] > 0.5]
    median, longest, quiet = run.certificate.at_steps
    assert median.h == pytest.approx(np.median(moving))
    assert longest.h == pytest.approx(moving.max())
    assert quiet.h > median.h
    assert run.certificate.stable
    assert run.certificate.deformation == median.deformation < 1e-3 < 1
    assert longest.deformation > median.deformation
    fixed = psmr.simulate(system, run.scheme.at_step(median.h), 0.1).certificate
    assert fixed.deformation == median.deformation
    assert run.certificate_after.at_steps
    assert f"at the longest step, {longest.h:.4g} s: the dominant mode becomes" in str(run.certificate)


def test_a_span_ends_with_two_equal_steps_and_not_with_a_rest():
    steps = np.diff(integrate(systems.forced().system, psmr.VariableStep(1e-4, h_max=0.05), 1.0).t)
    assert steps[-3] == pytest.approx(0.05)
    assert steps[-2] == pytest.approx(steps[-1])
    assert 0.025 < steps[-1] < 0.05


def test_steps_end_at_the_stops():
    system = assemble([Device("O", Oscillator, {}, {})], {"O.x": 1.0})
    stops = np.array([0.1, 0.1 + 1e-9, 0.77, 0.9])
    found = integrate(system, psmr.VariableStep(1e-3), 1.0, stops=stops)
    assert np.isin(stops, found.t).all()
    assert np.abs(found.x[:, 0] - np.cos(2 * np.pi * found.t)).max() < 1e-2


def test_a_trip_and_a_ramp(faulted):
    system = faulted[0]
    changes = psmr.GeneratorTrip("G3", start=0.5).changes(system)
    fine = integrate(system, psmr.SingleRate("SDIRK2", 5e-4), 1.5, changes)
    run = integrate(system, psmr.VariableStep(1e-6), 1.5, [*changes, Change(1.2, label="nothing")])
    assert np.abs(run.x[-1] - fine.x[-1]).max() < 1e-3


@pytest.mark.parametrize("tolerance", [1e-3, 1e-4])
def test_what_newton_leaves_does_not_add_up_in_the_drift_of_all_machines(tolerance):
    system, bus = system_of("kundur", 0.0)
    what, chosen = load_step(system, bus), watched(system)
    fine, run = (
        integrate(system, psmr.VariableStep(each), what.t_end, what.changes) for each in (1e-8, tolerance)
    )
    off = np.hstack([run.x[-1], run.y[-1]]) - np.hstack([fine.x[-1], fine.y[-1]])
    assert np.abs(off[chosen]).max() < 0.5 * tolerance


@pytest.mark.parametrize(("tolerance", "most"), [(1e-4, 5e-3), (1e-5, 5e-4)])
def test_an_undamped_swing_keeps_its_energy_over_a_thousand_seconds(tolerance, most):
    """About a thousand swings of 28 degrees; at 1e-4 ESDIRK32 loses 4 % of their energy, ESDIRK43 0.3 %."""
    system = systems.one(systems.Swing, {"delta": 0.5, "omega": 0.0, "p": 40 * np.sin(0.5)})
    run = integrate(system, psmr.VariableStep(tolerance, "ESDIRK43"), 1000.0)
    energy = run.x[:, 1] ** 2 / 2 - 40 * np.cos(run.x[:, 0])
    assert np.abs(energy - energy[0]).max() < most * 40 * (1 - np.cos(0.5))
    np.testing.assert_allclose(run.y[:, 0], 40 * np.sin(run.x[:, 0]), atol=1e-3)


def test_where_all_angles_drift_steps_are_shortened_before_newton_is_forced():
    # Without governors the speed stays off after a load step, and the phasors turn by radians a step.
    system, bus = system_of("kundur", 0.0)
    run = integrate(system, psmr.VariableStep(1e-4), 60.0, load_step(system, bus).changes)
    counters = run.counters
    assert counters.rejected > 10
    assert sum(counters.factorisations_by_role.values()) < 12 * (counters.steps + counters.rejected)
    exact = integrate(system, psmr.VariableStep(1e-7), 60.0, load_step(system, bus).changes)
    places = [k for k, name in enumerate(system.names_x) if name.endswith(".omega")]
    np.testing.assert_allclose(run.x[-1, places], exact.x[-1, places], atol=1e-4)
