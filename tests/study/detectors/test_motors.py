"""Motors that stall, by the definition of `psmr.study.detectors.converters`."""

import numpy as np
import pytest

import psmr
from tests.internals import Change
from tests.programs.verdicts.lists import system_of
from tests.study.detectors.made import detected, found, made_points


@pytest.fixture(scope="module")
def with_motor():
    """WSCC-9 with a motor of 20 MW and constant load torque at bus 8."""
    return system_of("wscc9-motor")


def over_time(system, slip, **kwargs):
    t = np.arange(float(len(slip)))
    x, y = made_points(system, t, {"motor8.slip": np.array(slip)})
    return detected(system, t, x, y, **kwargs)


@pytest.mark.parametrize("at_once", [1000, 1])
@pytest.mark.parametrize(("slip", "stalled"), [(0.199, False), (0.201, True)])
def test_a_motor_that_is_slow_at_the_end_has_stalled(with_motor, slip, stalled, at_once):
    seen = found(over_time(with_motor, [0.01, 0.5, 0.1, 0.3, slip], at_once=at_once), "motor stalled")
    assert [(f.where, f.colour, f.t) for f in seen] == ([("motor8", "amber", 3.0)] if stalled else [])


@pytest.mark.parametrize(("slip", "state"), [(1.0, "stands still"), (0.5, "has not come back to speed")])
def test_how_a_stalled_motor_ends_is_said(with_motor, slip, state):
    (finding,) = found(over_time(with_motor, [0.01, slip]), "motor stalled")
    assert finding.sentence.startswith("motor8 stalled: ")
    assert state in finding.sentence


def test_a_motor_that_comes_back_has_not(with_motor):
    assert found(over_time(with_motor, [0.01, 0.9, 0.9, 0.01]), "motor stalled") == []


@pytest.mark.parametrize(("slip", "backwards"), [(1.0005, 0), (1.0015, 1)])
def test_a_motor_that_turns_backwards_is_red(with_motor, slip, backwards):
    seen = found(over_time(with_motor, [0.01, slip, 0.01]), "motor runs backwards")
    assert [(f.colour, f.t) for f in seen] == [("red", 1.0)] * backwards


def test_a_motor_out_of_service_does_not_count(with_motor):
    trip = Change(1.0, out=("motor8",), label="motor8 tripped")
    t = np.array([0.0, 1.0, 1.0, 2.0])
    x, y = made_points(with_motor, t, {"motor8.slip": np.array([0.01, 0.5, 1.2, 1.2])})
    seen = detected(with_motor, t, x, y, changes=[trip])
    assert found(seen, "motor stalled") == []
    assert found(seen, "motor runs backwards") == []


def test_a_stalled_motor_stands_still_and_draws_what_its_circuit_says(with_motor):
    """A constant torque is passive: it holds the shaft at slip 1 and does not turn it backwards."""
    run = psmr.simulate(with_motor, t_end=10.0, events=[psmr.Fault(8, 1.0, 1.2)], certify=False)
    assert run.judgement.colour == "amber"
    (stalled,) = found_in(run, "motor stalled")
    assert stalled.where == "motor8"
    end = run["motor8.slip"].iloc[-1]
    assert end == pytest.approx(1.0, abs=1e-9)
    assert run["motor8.slip"].max() <= 1.0 + 1e-9
    # The equivalent circuit with its rotor locked, per unit on 25 MVA, and the load's own susceptance; the
    # network ends 0.6 % above nominal frequency, which the circuit leaves out.
    r_s, x_s, x_m, r_r, x_r, v = 0.031, 0.1, 3.2, 0.018, 0.18, run["bus8.v"].iloc[-1]
    z = r_s + 1j * x_s + 1 / (1 / (1j * x_m) + 1 / (r_r + 1j * x_r))
    power = 25.0 * v**2 / z.conjugate()
    b = dict(zip(with_motor.names_u, with_motor.u0, strict=True))["motor8.b_shunt"]
    assert run["motor8.p"].iloc[-1] == pytest.approx(power.real, rel=6e-3)
    assert run["motor8.q"].iloc[-1] == pytest.approx(power.imag - 100.0 * b * v**2, rel=6e-3)


def found_in(run, what):
    return [finding for finding in run.outcome.findings if finding.what == what]
