"""No step gives up on a problem that has a solution: a sample of tests/programs/robustness."""

from dataclasses import replace

import pytest

from tests.programs.robustness import judge, lists
from tests.programs.robustness.systems import OWN

COARSE = 0.005  # s: New England with the steps from here up in the fast sample


def none_gives_up(tasks):
    """Run all; a failure that a run at 0.5 ms or the oracle solves is shown with the call that repeats it."""
    outcomes = [outcome for task in tasks for outcome in judge.outcomes(task)]
    assert not [str(outcome) for outcome in outcomes if outcome.kind == judge.REFUSED]
    wrong = [outcome for outcome in outcomes if outcome.wrong]
    shown = "\n".join(map(str, wrong[:5]))
    assert not wrong, (
        f"{len(wrong)} of {len(outcomes)} runs gave up on what has a solution, the first:\n{shown}"
    )


def test_converters_through_a_bolted_fault_at_each_bus():
    none_gives_up(lists.of_part("converters"))


@pytest.mark.parametrize("case", ["kundur", "thyristor", "dc"])
def test_kundur_lines_reclosed_generators_lost_and_faults(case):
    none_gives_up(lists.of_part("kundur", case=case))


def test_new_england_faults_at_buses_and_lines_with_coarse_steps():
    tasks = lists.of_part("new-england", limit=27, case="new-england")
    none_gives_up([replace(t, schemes=tuple(s for s in t.schemes if s.h >= COARSE)) for t in tasks])


def test_random_events_on_every_case():
    none_gives_up([task for name in OWN for task in lists.random(4, 1, name)])


@pytest.mark.parametrize(
    ("case", "number"),
    [("wscc9-renewable", 153), pytest.param("andes-kundur_full", 28, marks=pytest.mark.peers)],
)
def test_lists_that_were_given_up_once(case, number):
    """After a loss of synchronism, and at a fold from which only one direction leads to what goes on."""
    none_gives_up([lists.random_task(case, 1, number)])


@pytest.mark.slow
def test_new_england_faults_with_every_step():
    none_gives_up(lists.of_part("new-england", limit=54))


@pytest.mark.slow
def test_random_events_on_the_pairs_of_andes_too():
    none_gives_up(lists.of_part("random", limit=300, seed=2))
