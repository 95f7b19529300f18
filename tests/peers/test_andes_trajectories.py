"""Rotor angles and voltages through a fault, against runs of ANDES whose own error is known.

The error of either program is that of its trapezoidal rule at half the step: a third of the difference to the
run at the whole step, as the rule is of second order. ANDES acts on an event in the step after it, of
`EVENT` s.
"""

import pytest

from tests.peers.andes_system import aligned
from tests.peers.pairs import PAIRS
from tests.peers.trajectories import Disturbance, andes_run, psmr_run

pytestmark = pytest.mark.peers

T_END = 10.0
# The estimate of an error by Richardson is itself off by terms of the next order.
HONEST = 1.3

RUNS = {
    "kundur_gencls": (Disturbance(7, 0.01), 0.02),
    "kundur_gencls, line trip": (Disturbance(8, 0.01, ("line8-9", "Line_8")), 0.02),
    "wecc_gencls": (Disturbance(30, 0.01), 0.02),
}


@pytest.mark.parametrize("name", RUNS)
def test_trajectory(name):
    pair = PAIRS[name.partition(",")[0]]
    event, h = RUNS[name]
    system, _ = aligned(pair.raw_path, pair.dyr_path)
    ours = [psmr_run(system, event, step, T_END) for step in (2e-3, 1e-3)]
    theirs = [andes_run(pair.raw_path, pair.dyr_path, event, step, T_END) for step in (h, h / 2)]
    known = ours[0].differences(ours[1]) / 3 + theirs[0].differences(theirs[1]) / 3
    found = ours[1].differences(theirs[1])
    print(
        name,
        "ANDES",
        theirs[0].differences(theirs[1]) / 3,
        "psmr",
        ours[0].differences(ours[1]) / 3,
        "diff",
        found,
    )
    assert (found <= HONEST * known).all()
