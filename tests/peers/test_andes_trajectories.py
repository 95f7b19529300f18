"""Rotor angles and voltages through a fault, against runs of ANDES whose own error is known.

The error of a run at half a step is estimated from the run at the whole one: their difference by 2^p - 1 at
order p. The trapezoidal rule has p = 2; where limiters act, neither program lands on the instants, and p = 1
is what can be promised (measured: 1.5 to 2).
"""

import pytest

from tests.peers.andes_system import aligned
from tests.peers.pairs import PAIRS
from tests.peers.trajectories import Disturbance, andes_run, psmr_run

pytestmark = [pytest.mark.peers, pytest.mark.filterwarnings("ignore:a limit is touched")]

T_END = 10.0
STEPS = (2e-3, 1e-3)
# The order of an estimate by two runs is itself only nearly p.
HONEST = 1.1

# Pair: the fault, ANDES' steps in s, and p.
RUNS = {
    "kundur_gencls": (Disturbance(7, 0.01), (0.02, 0.01), 2),
    "kundur_gencls, line trip": (Disturbance(8, 0.01, ("line8-9", "Line_8")), (0.02, 0.01), 2),
    "wecc_gencls": (Disturbance(30, 0.01), (0.02, 0.01), 2),
    "ieee14": (Disturbance(4, 0.1), (0.02, 0.01), 1),
    "kundur_full": (Disturbance(8, 0.1), (0.02, 0.01), 1),
    "npcc_full": (Disturbance(36, 0.05), (0.02, 0.01), 1),
}


def runs(name, folder):
    """Return (psmr, ANDES), each at its whole and its half step."""
    pair = PAIRS[name.partition(",")[0]]
    event, steps, _ = RUNS[name]
    dyr = pair.compared_in(folder)
    system, _ = aligned(pair.raw_path, dyr)
    ours = [psmr_run(system, event, h, T_END) for h in STEPS]
    return ours, [andes_run(pair.raw_path, dyr, event, h, T_END) for h in steps]


def errors(name, ours, theirs):
    """Return the known errors of psmr and ANDES and the difference between them, in angle and in voltage."""
    order = RUNS[name][2]
    known = [whole.differences(half) / (2**order - 1) for whole, half in (ours, theirs)]
    return (*known, ours[1].differences(theirs[1]))


@pytest.mark.parametrize("name", RUNS)
def test_trajectory(name, tmp_path):
    ours, theirs = runs(name, tmp_path)
    of_psmr, of_andes, found = errors(name, ours, theirs)
    assert (of_psmr < 0.02 * of_andes).all()
    assert (found <= HONEST * (of_psmr + of_andes)).all()
    if RUNS[name][2] == 2:
        # Without the errors of second order the two are together to a twentieth of them (measured: a 35th).
        ours, theirs = (half.extrapolated(whole) for whole, half in (ours, theirs))
        assert (ours.differences(theirs) <= 0.05 * of_andes).all()
