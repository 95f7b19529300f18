"""Runs that the attack with random events found failing where there is a solution.

The lists are those of seed 1 (`tests.programs.attack.runs`).
"""

import pytest

from tests.programs.attack.runs import task_of
from tests.programs.robustness.judge import outcomes


@pytest.mark.filterwarnings("ignore::psmr.errors.PsmrWarning")
@pytest.mark.parametrize("number", [153])
def test_a_step_with_a_solution_is_solved(number):
    """Past a corner of a limiter (153)."""
    (outcome,) = outcomes(task_of(1, number))
    assert outcome.kind == "completed"
