"""A system after a fault, and its exact course."""

import numpy as np
import pytest

import psmr


@pytest.fixture(scope="module")
def faulted(wscc9):
    system = psmr.build(psmr.read_case(wscc9 / "wscc9.toml"))
    events = [psmr.Fault(bus=5, start=0.5, clear=0.6, trip="5-7")]
    fine = psmr.simulate(system, psmr.VariableStep(1e-10), 3.0, events, certify=False)
    return system, events, fine.at(np.linspace(0.0, 3.0, 301))
