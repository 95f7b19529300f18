"""Runs that the attack with random events found failing where there is a solution, and one without.

The lists are those of seed 1 (`tests.attack.runs`).
"""

import pytest

import psmr
from psmr.errors import SimulationError
from tests.attack.runs import task_of
from tests.benchmarks.robustness.judge import outcomes


@pytest.mark.filterwarnings("ignore::psmr.errors.PsmrWarning")
@pytest.mark.parametrize("number", [153])
def test_a_step_with_a_solution_is_solved(number):
    """Past a corner of a limiter (153)."""
    (outcome,) = outcomes(task_of(1, number))
    assert outcome.kind == "completed"


@pytest.mark.filterwarnings("ignore::psmr.errors.PsmrWarning")
def test_a_run_without_a_solution_says_so(wscc9):
    """A converter whose currents meet their limits: with 0.1 to 2 ms no start leads on at 0.4775 s."""
    system = psmr.build(psmr.read_case(wscc9 / "wscc9-renewable.toml"))
    fault = psmr.Fault("bus9", 0.143, 0.432, trip="line6-9")
    with pytest.raises(SimulationError, match=r"t = 0\.477\d+ s.*EC-W3") as error:
        psmr.simulate(system, psmr.SingleRate("TM", 0.001), 0.5, [fault], certify=False)
    assert "No solution was found" in str(error.value)
