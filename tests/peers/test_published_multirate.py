"""Published methods with two rates, as the benchmark has them, have their orders on a linear DAE."""

from __future__ import annotations

import numpy as np
import pytest

from tests.programs.benchmarks.two_rates.baselines import MultirateRos2, mri_gark, partitioned
from tests.systems.rippling import rippling

STEPS = (0.01, 0.005, 0.0025)
METHODS = {
    "ROS2": (2, lambda problem, h: MultirateRos2(problem, 1.0, fixed=(h, h)).run()),
    "ROS2 with two steps of what is fast": (
        2,
        lambda problem, h: MultirateRos2(problem, 1.0, fixed=(h, h / 2)).run(),
    ),
    "MRI-GARK-ESDIRK34a": (3, lambda problem, h: mri_gark(problem, h, 2)),
    "states and network in turn, once": (2, lambda problem, h: partitioned(problem, h, 1)),
    "states and network in turn, twice": (2, lambda problem, h: partitioned(problem, h, 2)),
}


def test_exact_solution_satisfies_the_equations():
    problem = rippling()
    for t, w in zip(problem.times, problem.exact, strict=True):
        assert np.abs(problem.rate(w, t)[problem.n :]).max() < 1e-12


@pytest.mark.parametrize("method", METHODS)
def test_order(method):
    order, run = METHODS[method]
    problem = rippling()
    errors = [problem.error(run(problem, h)[0]) for h in STEPS]
    slope = np.polyfit(np.log(STEPS), np.log(errors), 1)[0]
    assert slope == pytest.approx(order, abs=0.25)


def test_refinement_by_the_error_keeps_to_the_tolerance():
    problem = rippling()
    for tolerance in (1e-2, 1e-3):
        found, _ = MultirateRos2(problem, tolerance).run()
        assert 0.1 < problem.error(found) / tolerance < 2.0
