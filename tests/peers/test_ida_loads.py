"""Loads with states and relays against SUNDIALS' IDA on the same f and g, as `test_ida_models` has plants.

The loads are those of a three-bus case with PSS/E records; the relays measure and do not act. No limit is
reached and no device acts: what acts has tests of its own.
"""

import numpy as np
import pytest

import psmr
from tests.devices.loads.composite import read, text
from tests.internals import integrate
from tests.peers.test_ida_models import FLOOR, STEPS, T_END, reference

pytestmark = pytest.mark.peers

FAN = "1 0.01 0.1 3 0.005 0.08 0.15 0.175 0 0 0 0 80 0 0.4 0 0 0 1 0.2 0.3 1.5 0.5 0"
RECORDS = {
    "CMLD": text(vtr1_a=0, vtr2_a=0, vtr1_b=0, vtr2_b=0, vtr1_c=0, vtr2_c=0, f_uvr=0, ltc=0),
    "CIM6": f"102 'CIM6BL' 1 {FAN} /\n",
    "CIMW": f"102 'CIMWBL' 1 {FAN.rsplit(' ', 2)[0]} /\n",
    "IEEL with frequency": "102 'IEELBL' 1 1 0 0 1 0 0 1.5 -2 1 0 0 2 0 0 /\n",
    "relays": (
        "102 'LDS3BL' 1 0 '1' 0 40 0.1 0.05 0.2" + " 0" * 16 + " 0 /\n"
        "102 'LVSHBL' 1 103 0.2 0.05 0.5 0 0 0 0 0 0 0.02 /\n"
        "1 'VTGTPAT' 103 102 1 0.1 2 0.1 0.05 /\n2 'FRQTPAT' 102 102 1 40 80 0.2 0.05 /\n"
    ),
}
# The voltage stays above where motors stall and electronics leave.
DIP = psmr.Fault(bus=103, start=0.2, clear=0.3, x=0.3)


@pytest.mark.parametrize("name", RECORDS)
def test_trajectory(name):
    system = psmr.build(read(RECORDS[name]))
    changes = DIP.changes(system)
    runs = [integrate(system, psmr.SingleRate("TM", h, tolerance=1e-12), T_END, changes) for h in STEPS]
    assert not any(run.acted for run in runs)
    times = np.concatenate([np.arange(0.205, 0.3, 0.005), np.arange(0.31, 2.0, 0.01)])
    whole, half = (np.c_[run.x, run.y][[int(np.argmin(np.abs(run.t - t))) for t in times]] for run in runs)
    exact = reference(system, changes, times)
    scale = np.maximum(1.0, np.abs(exact))
    known = np.abs((whole - half) / scale).max() / 3
    assert np.abs((half - exact) / scale).max() <= 1.1 * known + FLOOR
    extrapolated = half + (half - whole) / 3
    assert np.abs((extrapolated - exact) / scale).max() <= 0.05 * known + FLOOR
