"""Runs that the attack with random events found failing where there is a solution.

The lists are those of seed 1 (`tests.attack.runs`).
"""

import pytest

import psmr
from tests.attack.runs import task_of
from tests.benchmarks.robustness.judge import outcomes


@pytest.mark.filterwarnings("ignore::psmr.errors.PsmrWarning")
@pytest.mark.parametrize("number", [153])
def test_a_step_with_a_solution_is_solved(number):
    """Past a corner of a limiter (153)."""
    (outcome,) = outcomes(task_of(1, number))
    assert outcome.kind == "completed"


@pytest.mark.filterwarnings("ignore::psmr.errors.PsmrWarning")
def test_a_control_that_the_voltage_freezes_passes_its_threshold(wscc9):
    """The control of a plant rests while its voltage, which it moves, is low: steps of 1 ms pass 0.4775 s."""
    system = psmr.build(psmr.read_case(wscc9 / "wscc9-renewable.toml"))
    fault = psmr.Fault("bus9", 0.143, 0.432, trip="line6-9")
    fixed, free = (
        psmr.simulate(system, scheme, 1.0, [fault], certify=False)
        for scheme in (psmr.SingleRate("TM", 0.001), psmr.VariableStep(1e-5))
    )
    assert fixed["bus9.v"].iloc[-1] == pytest.approx(free["bus9.v"].iloc[-1], abs=5e-3)
