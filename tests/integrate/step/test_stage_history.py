"""Where Newton begins: the history of stages, continued where that costs less."""

from dataclasses import replace

import numpy as np
import pytest

import partitioning
import psmr
from psmr import Multirate, SingleRate
from tests import systems
from tests.internals import (
    CONTINUED,
    DEPTH,
    HERE,
    NOW,
    REPEATED,
    TUNED,
    Iterate,
    Program,
    Repeat,
    Stage,
    Stepper,
    forget,
    integrate,
    make_block,
    no_stage_history,
    note_cost,
    restore_variables,
    store_result,
)
from tests.internals import start_from_history as start


class Ring:
    """The results of one stage of two variables, and where the next solve begins."""

    def __init__(self, deep: int = DEPTH) -> None:
        system = systems.quadratic().system
        at = np.arange(2)
        self.block = make_block(system, "step", system.parameters, system.w0, at, at)
        self.history = no_stage_history(np.array([deep]), np.array([2]))
        note_cost(self.history, 0, HERE, 5.0)

    def keep(self, t: float, *values: float, count: int = 0) -> None:
        store_result(self.history, 0, count, self.block.address, np.array([*values, t]))

    def begin(self, t: float, count: int = 0) -> tuple[int, np.ndarray]:
        self.w = np.array([7.0, 8.0, t])
        return start(self.history, 0, count, self.block.address, self.w), self.w[:2]


def cubic(t: float) -> float:
    return 5.0 + 0.6 * t - 0.05 * t**2 + 0.002 * t**3


def test_a_cubic_is_continued_exactly_from_steps_of_any_length():
    ring = Ring()
    for t in (0.0, 0.3, 0.4, 1.0, 1.2, 1.9):
        ring.keep(t, cubic(t), 3.0 - 0.1 * t)
    kind, found = ring.begin(2.5)
    assert kind == CONTINUED
    np.testing.assert_allclose(found, [cubic(2.5), 2.75], rtol=1e-14)
    restore_variables(ring.block.address, ring.w)
    np.testing.assert_array_equal(ring.w, [7.0, 8.0, 2.5])


def test_what_rings_is_held_beside_what_does_not():
    ring = Ring()
    for k in range(4):
        ring.keep(0.1 * k, (-1.0) ** k, 1.0 + k)
    np.testing.assert_allclose(ring.begin(0.4)[1], [-1.0, 5.0], rtol=1e-14)


def test_nothing_is_continued_without_four_results_one_after_the_other():
    ring = Ring()
    for t in (0.0, 0.1, 0.2):
        assert ring.begin(t)[0] == HERE
        ring.keep(t, t, t)
    ring.keep(0.2, 0.2, 0.2)
    assert ring.begin(0.3)[0] == HERE
    for t in (0.3, 0.4, 0.5):
        ring.keep(t, t, t)
    assert ring.begin(0.6)[0] == CONTINUED
    forget(ring.history)
    assert ring.begin(0.6)[0] == HERE
    np.testing.assert_array_equal(ring.w[:2], [7.0, 8.0])


def test_no_continuation_reaches_far_behind_a_short_step():
    ring = Ring()
    for t in (0.0, 0.1, 0.2, 0.2001):
        ring.keep(t, t, t)
    assert ring.begin(0.2003)[0] == CONTINUED
    assert ring.begin(0.3001)[0] == HERE


def test_what_takes_one_iteration_is_left_alone():
    ring = Ring()
    while ring.history.costs[0, HERE] > 2.0:
        note_cost(ring.history, 0, HERE, 1.9)
    for k in range(3 * TUNED.start_trial_interval):
        assert ring.begin(0.1 * k)[0] == HERE
        ring.keep(0.1 * k, k, k)
    assert np.isnan(ring.history.times).all()


def test_a_pass_begins_where_the_pass_before_it_ended():
    ring = Ring(deep=4)
    for t in (0.1, 0.2, 0.3):
        assert ring.begin(t, count=3)[0] == HERE
        ring.keep(t, t, 2 * t, count=3)
    for t in (0.1, 0.2, 0.3):
        kind, found = ring.begin(t, count=3)
        assert kind == REPEATED
        np.testing.assert_array_equal(found, [t, 2 * t])
        ring.keep(t, t, 2 * t, count=3)


def test_the_dearer_start_is_tried_now_and_then():
    ring = Ring()
    for t in (0.0, 0.1, 0.2, 0.3):
        ring.keep(t, t, t)
    note_cost(ring.history, 0, HERE, 4.0)
    note_cost(ring.history, 0, CONTINUED, 6.0)
    note_cost(ring.history, 0, REPEATED, 1.0)
    kinds = [ring.begin(0.4)[0] for _ in range(2 * TUNED.start_trial_interval)]
    assert kinds.count(CONTINUED) == 2
    while ring.history.costs[0, CONTINUED] > 4.0:
        note_cost(ring.history, 0, CONTINUED, 3.0)
    kinds = [ring.begin(0.4)[0] for _ in range(2 * TUNED.start_trial_interval)]
    assert kinds.count(HERE) == 2


def _from_here(instruction):
    if isinstance(instruction, Iterate | Repeat):
        return replace(instruction, body=tuple(_from_here(inner) for inner in instruction.body))
    return replace(instruction, guess=NOW) if isinstance(instruction, Stage) else instruction


class FromHere(SingleRate):
    """A single rate whose stages begin from the point before."""

    def program(self, h: float, before: tuple[float, ...] = ()) -> Program:
        program = super().program(h, before)
        return replace(program, instructions=tuple(map(_from_here, program.instructions)))


def work(run) -> int:
    return sum(run.counters.newton_iterations.values()) + sum(run.counters.residuals.values())


def values(run) -> np.ndarray:
    return np.hstack([run.x, run.y])


def off(run, exact) -> float:
    """Return the largest difference as Newton measures it."""
    return float((np.abs(values(run) - values(exact)) / np.maximum(1.0, np.abs(values(exact)))).max())


@pytest.fixture(scope="module")
def kundur(wscc9):
    return psmr.build(psmr.read_case(wscc9.parent / "kundur" / "kundur.toml"))


@pytest.fixture(scope="module")
def fault(kundur):
    return psmr.Fault(bus=8, start=1.0, clear=1.1, x=0.1).changes(kundur)


@pytest.mark.parametrize("method", ["TM", "BEM", "SDIRK2"])
@pytest.mark.parametrize(("newton", "tolerance"), [("dishonest", 1e-10), ("very dishonest", 1e-7)])
def test_a_continuation_saves_work_and_costs_no_accuracy(kundur, fault, method, newton, tolerance):
    choices = {"h": 0.005, "newton": newton, "tolerance": tolerance}
    own, here = (integrate(kundur, kind(method, **choices), 3.0, fault) for kind in (SingleRate, FromHere))
    exact = integrate(kundur, FromHere(method, 0.005, "honest", 1e-13), 3.0, fault)
    most = 0.97 if newton == "dishonest" else 0.8
    assert work(own) < most * work(here)
    # In 600 steps 13 to 257 tolerances are left here, and 54 to 279 from the point before.
    assert off(own, exact) < 500 * tolerance


def test_an_event_drops_the_past(kundur, fault, monkeypatch):
    seen = []
    usual = Stepper.forget

    def watched(stepper, autonomous):
        before = np.isnan(stepper.interpreter.stage_history.times).all()
        usual(stepper, autonomous)
        seen.append((bool(before), bool(np.isnan(stepper.interpreter.stage_history.times).all())))

    monkeypatch.setattr(Stepper, "forget", watched)
    integrate(kundur, SingleRate("TM", 0.005), 1.5, fault)
    # There is something to drop at the clearing, 20 steps behind the fault, at least.
    assert (False, True) in seen
    assert all(after for _, after in seen)


def test_a_trip_and_the_response_of_the_network_make_room_anew(wscc9):
    """What is continued has the sizes of the blocks that are there: rows come and go with a plant."""
    system = psmr.build(psmr.read_case(wscc9.parent / "new-england" / "new-england-plants.toml"))
    split = partitioning.by_device(system.linearise(), ["G30_full", "G32_full"])
    trip = psmr.GeneratorTrip("G32_full", 0.1).changes(system)
    choices = {"predictor": "extrapolation", "predict": "slow"}
    kept = Multirate(split, 0.002, 10, newton="very dishonest", tolerance=1e-9, **choices)
    exact = Multirate(split, 0.002, 10, newton="honest", tolerance=1e-13, **choices)
    assert kept.interface == "schur"
    assert off(integrate(system, kept, 0.3, trip), integrate(system, exact, 0.3, trip)) < 500 * 1e-9


def test_a_correction_begins_with_the_pass_before():
    system = systems.two_rates(tau=0.02)
    split = partitioning.by_hand(system.linearise(), ["D.current", "D.voltage"])
    two, three = (
        integrate(system, Multirate(split, 0.02, 4, corrections=count, epsilon=1e-14), 2.0).counters
        for count in (2, 3)
    )
    # The last pass of 100 macro steps of four fast ones: one iteration sees that there is nothing left to do.
    for role, solves in (("fast", 400), ("slow", 100)):
        assert three.newton_iterations[role] - two.newton_iterations[role] == pytest.approx(solves, rel=0.02)
