"""Hours with devices that act by themselves: no restart where nothing jumps, a frame that turns with all."""

import numpy as np
import pytest

import psmr
from tests.internals import Action, turned
from tests.programs.acting.instants import STEP, compared
from tests.systems import tapping


class Clock(psmr.Component):
    """x' = 1, and an action that changes nothing of the equations when x passes a time."""

    states = ("x",)
    at = psmr.Parameter("s", "when it acts", default=10.0)
    acted = psmr.Parameter("1", "whether it has", default=0.0)
    actions = (
        Action(
            "strikes",
            lambda m, v, p: m.min(v.x - p.at, 0.5 - p.acted),
            effect=lambda v, p: {"acted": 1.0},
        ),
    )

    @staticmethod
    def equations(m, v, p):
        return (1.0 + 0.0 * v.x,), (), ()


class Swing(psmr.Component):
    """x'' = -w^2 x."""

    states = ("x", "v")
    w = psmr.Parameter("rad/s", "frequency", default=1.0)

    @staticmethod
    def equations(m, v, p):
        return (v.v, -(p.w**2) * v.x), (), ()


def run_of(*times):
    clocks = [psmr.Device(f"C{k}", Clock, {"at": t}) for k, t in enumerate(times)]
    start = {"S.x": 1.0, "S.v": 0.0} | {f"C{k}.x": 0.0 for k in range(len(times))}
    system = psmr.assemble([*clocks, psmr.Device("S", Swing, {})], start)
    return psmr.simulate(system, psmr.VariableStep(1e-5), 30.0, certify=False)


def test_an_action_that_changes_memory_alone_costs_the_steps_that_end_at_it():
    quiet, acting = run_of(1e3), run_of(*np.arange(1.0, 21.0) + 0.123)
    assert len(acting.changes) == 20
    late = np.array([change.t for change in acting.changes]) - np.arange(1.0, 21.0) - 0.123
    assert (late >= -1e-9).all()
    assert late.max() < 1.1e-4  # a thousandth of a step, and no more than 0.1 ms
    assert acting.stats.counters.steps <= quiet.stats.counters.steps + 3 * 20
    assert abs(acting["S.x"].iloc[-1] - np.cos(30.0)) < 1e-3


@pytest.fixture(scope="module")
def system():
    return tapping.system()


def test_what_turns_is_found_by_turning_it(system):
    found = turned(system)
    assert len(found.angles) == 10
    assert len(found.real) == 56
    assert turned(psmr.build(psmr.case("ieee-fbm"))) is None  # an infinite bus holds the angle


def test_angles_that_run_on_do_not_shorten_steps(system):
    """A twentieth of the load goes: the frequency is 0.09 Hz off, and nothing else moves."""
    ramp = psmr.LoadRamp(bus="*", start=1.0, end=20.0, factor=0.95)
    run = psmr.simulate(system, psmr.VariableStep(1e-4), 400.0, [ramp], certify=False)
    off = float(run["G39.omega"].iloc[-1]) - 1.0
    turns = 2 * np.pi * 60.0 * off
    assert turns > 0.3
    quiet = np.diff(run.t[run.t > max(change.t for change in run.changes) + 60.0])
    assert quiet.max() > 10.0  # a radian and more in one step
    t, delta = run.t[-2:], run["G39.delta"].iloc[-2:]
    assert float(np.diff(delta)[0] / np.diff(t)[0]) == pytest.approx(turns, rel=1e-6)


@pytest.mark.slow
def test_a_random_list_acts_at_the_instants_of_steps_of_a_millisecond():
    """One of the lists of `tests.programs.acting.instants`: taps, banks, limiters, generation control."""
    number, (apart, label) = compared(5)
    assert number > 5
    assert apart < STEP, label
