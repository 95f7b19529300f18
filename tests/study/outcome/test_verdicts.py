"""Verdicts on runs with random events, against the oracle of `tests.programs.verdicts`."""

import numpy as np
import pytest

import psmr
from tests.programs.verdicts.compare import ALARM, FINE, UNSAID, WRONG, compared
from tests.programs.verdicts.lists import CASES, system_of, task_of
from tests.programs.verdicts.network import grid_of, states_of
from tests.programs.verdicts.oracle import Limits, Oracle

CRITICAL = (psmr.Fault("bus7", 1.0, 1.3, trip="line5-7"),)  # beyond the critical clearing time of G2


@pytest.fixture(scope="module")
def unstable() -> Oracle:
    run = psmr.simulate(system_of("wscc9"), FINE, 3.0, CRITICAL, certify=False)
    return Oracle(run.system, CRITICAL, 3.0, run.t, run.x, run.y)


def test_the_oracle_integrates_speeds_to_the_angles_of_the_equations(unstable: Oracle) -> None:
    places = [unstable.system.index(f"{source.name}.delta") for source in unstable.grid.sources]
    deltas = unstable.x[:, places] - unstable.x[0, places]
    assert np.abs(unstable.angles - deltas).max() < 1e-3
    assert np.ptp(deltas[-1]) > np.pi


def test_the_oracle_sees_a_loss_of_synchronism(unstable: Oracle) -> None:
    seen = unstable.judge(Limits())
    assert seen.found["angle"] >= {"G1 G2"}
    assert seen.colour == "red"
    assert 1.3 < seen.since["angle"] < 3.0


def test_states_follow_the_events() -> None:
    grid = grid_of(system_of("wscc9"))
    fault = psmr.Fault("bus2", 1.0, 1.1, trip="transformer2-7")
    again = psmr.LineTrip("line4-5", 0.5, 2.0), psmr.GeneratorTrip("G3", 2.0)
    whole = frozenset(grid.buses)
    parted = {frozenset({"bus2"}), whole - {"bus2"}}
    found = states_of(grid, (fault, *again))
    assert [state.t for state in found] == [0.0, 0.5, 1.0, 1.1, 2.0]
    assert [set(state.islands) for state in found] == [{whole}, {whole}, {whole}, parted, parted]
    assert [state.faulted for state in found] == [set(), set(), {"bus2"}, set(), set()]
    assert [state.gone for state in found] == [set(), set(), set(), set(), {"G3"}]


@pytest.mark.parametrize("tolerance", [1e-3, 1e-4])
def test_steps_as_long_as_the_time_that_is_looked_at_do_not_widen_it(tolerance: float) -> None:
    # Three islands run away, each ever more slowly (ranges of a quarter 4.35, 4.12, 3.92 Hz in a fine run).
    task = task_of("manual-dyr", 1, 0)
    run = psmr.simulate(
        system_of(task.case), psmr.VariableStep(tolerance), task.t_end, task.events, certify=False
    )
    assert "not settled" not in {finding.what for finding in run.outcome.findings}
    assert not run.outcome.settling.settled


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_verdicts_are_those_of_the_oracle(case: str) -> None:
    results = [result for number in range(5) for result in compared(task_of(case, 1, number))]
    wrong = [str(result) for result in results if result.kind in (WRONG, UNSAID, ALARM)]
    assert not wrong, "\n".join(wrong)
    assert any(result.scheme == "fine" and not result.why for result in results)
