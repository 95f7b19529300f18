"""The oracle of the robustness study: its steps are psmr's, and it knows where there is none."""

from types import SimpleNamespace

import numpy as np
import pytest

import psmr
from psmr import Component, Device, Parameter, assemble
from psmr.errors import SimulationError
from tests.programs.robustness.lists import random_list
from tests.programs.robustness.oracle import failed_step
from tests.programs.robustness.systems import load

H, T_END = 0.005, 0.6
RUNS = {
    "a fault, exciters at their ceilings": ("kundur", [psmr.Fault(8, 0.1, 0.2, trip="line7-8-2")]),
    "limits that move": ("wscc9-renewable", [psmr.Fault(8, 0.1, 0.2, x=0.1)]),
    "a plant that has left, and a ramp": (
        "new-england",
        [psmr.GeneratorTrip("G35", 0.1), psmr.LoadRamp(4, 0.15, 0.4, 1.3, 1.1)],
    ),
    "a motor, and a set-point": (
        "wscc9-gfm",
        [psmr.LoadTrip(6, 0.1, 0.5, reconnect=0.3), psmr.SetPoint("AVR2", "v_ref", 1.1, 0.2)],
    ),
    "a limit that moves with its parameter": ("wscc9", [psmr.ParameterStep("AVR1", "v_r_max", 0.5, 0.1)]),
}


def up_to(run, k):
    """Return what a run that failed after row k would have kept."""
    return SimpleNamespace(t=run.t[: k + 1], x=run.x[: k + 1], y=run.y[: k + 1])


@pytest.mark.parametrize(("case", "events"), RUNS.values(), ids=RUNS)
def test_its_steps_are_those_of_psmr(case, events):
    """Steps and solutions after events, to the tolerance of Newton in a step (1e-10) and a margin."""
    _, system = load(case)
    run = psmr.simulate(system, psmr.SingleRate("TM", H), T_END, events, certify=False)
    instants = [k for k in range(len(run.t) - 1) if run.t[k + 1] == run.t[k]]
    assert instants
    names = (*system.names_x, *system.names_y)
    for k in sorted({*instants, *range(0, len(run.t) - 1, 9)}):
        found = failed_step(system, events, T_END, up_to(run, k), H)
        assert found.solved, (k, str(found))
        assert found.what == ("event" if k in instants else "step")
        there = dict(zip(names, np.r_[run.x[k + 1], run.y[k + 1]], strict=True))
        far = {name: abs(value - there[name]) for name, value in found.point.items()}
        worst = max(far, key=far.get)
        assert far[worst] < 1e-8 * max(1.0, abs(there[worst])), (k, worst, far[worst], str(found))


class Fold(Component):
    """x' = -x + y and 0 = y^2 - p - q x: without a solution where p + q x is negative."""

    states = ("x",)
    algebraic = ("y",)
    p = Parameter("1", "square of y, without x")
    q = Parameter("1", "part that x has in it")

    @staticmethod
    def equations(m, v, p):
        """Return the equations of the class's text."""
        return (-v.x + v.y,), (v.y**2 - p.p - p.q * v.x,), ()


@pytest.fixture(scope="module")
def fold():
    device = Device("D", Fold, {"p": 1.0, "q": 0.0})
    return assemble([device], {"D.x": 1.0, "D.y": 1.0})


@pytest.mark.parametrize(("p", "solved"), [(-1.0, False), (0.01, True)])
def test_an_event_without_a_solution_is_known(fold, p, solved):
    events = [psmr.ParameterStep("D", "p", p, 0.1)]
    run = psmr.simulate(fold, psmr.SingleRate("TM", H), T_END, [psmr.ParameterStep("D", "p", 1.0, 0.1)])
    before = up_to(run, int(np.flatnonzero(run.t == 0.1)[0]))
    found = failed_step(fold, events, T_END, before, H)
    assert (found.what, found.solved) == ("event", solved)
    if solved:
        assert abs(found.point["D.y"]) == pytest.approx(0.1, abs=1e-9)


def test_a_step_past_the_fold_is_known(fold):
    """With p = -0.9 and q = 1 there is no y below x = 0.9, and there x still falls: x' = -0.9."""
    events = [psmr.ParameterStep("D", "p", -0.9, 0.1), psmr.ParameterStep("D", "q", 1.0, 0.1)]
    with pytest.raises(SimulationError) as caught:
        psmr.simulate(fold, psmr.SingleRate("TM", H), 20.0, events, partial=True)
    found = failed_step(fold, events, 20.0, caught.value.partial, H)
    assert (found.what, found.start) == ("step", "")


def test_random_lists_are_legal_and_follow_from_case_seed_and_number():
    lists = [random_list("wscc9", 1, k) for k in range(20)]
    assert lists == [random_list("wscc9", 1, k) for k in range(20)]
    assert len(set(lists)) == 20
    assert lists != [random_list("wscc9", 2, k) for k in range(20)]
    assert {type(event).__name__ for events in lists for event in events} >= {"Fault", "LineTrip", "LoadTrip"}
