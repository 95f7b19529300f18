"""A fault of a network in phase quantities, beside DPsim's three-phase EMT."""

import numpy as np
import pytest

import psmr
from tests.network.dynamic.test_dynamic_abc import NINE, made
from tests.peers.dpsim_emt import ours, theirs

pytest.importorskip("dpsimpy")


def test_dpsim_comes_to_the_same_phase_voltages_as_its_step_shrinks():
    """Measured: 0.13 pu at 20 us, 0.066 at 10 us; its switch acts at a step, an error of order h."""
    system = psmr.build(made(**NINE), dynamic=psmr.Region("all"))
    exact = ours(system, psmr.VariableStep(1e-8))[1]
    coarse, fine = (np.abs(theirs(system, h)[1] - exact).max() for h in (2e-5, 1e-5))
    assert fine < 0.07
    assert fine == pytest.approx(coarse / 2, rel=0.1)
