"""Every RAW and DYR pair in ANDES' package: it is read, starts at rest, and runs through a fault.

What psmr leaves out of a pair is named, each model with its reason; nothing else may be left out.
"""

import re
import warnings

import numpy as np
import pytest

import psmr
from psmr.errors import PsmrWarning
from tests.internals import integrate
from tests.peers.pairs import CASES, PAIRS, Pair

pytestmark = [
    pytest.mark.peers,
    pytest.mark.filterwarnings("ignore:a limit is touched"),
    pytest.mark.filterwarnings("ignore:.* stands for the value that holds the start"),
]

_LEFT_OUT = r"no model '(\w+)'|(TOGGLE): is an event"

UNCOMPARED = {"nordic44": Pair("nordic44/N44_BC.raw", "nordic44/N44_BC.dyr", {})}
"""Pairs that ANDES cannot run: it has no GENSAL, and finds no power flow."""

# Bus of the fault. Buses 30 and 74 of WECC, with loads of constant power, lose their voltages for good.
FAULTS = {
    "kundur_gencls": 7,
    "npcc_full": 36,
    "ieee14": 4,
    "ieee14_ieeevc": 4,
    "wecc_gencls": 30,
    "nordic44": 5101,
    "kundur_full": 8,
    "wecc_full": 77,
}
# Kundur's two areas, with loads of constant power, do so after any fault.
LOADS = {"kundur_full": "impedance"}
ALL = PAIRS | UNCOMPARED


@pytest.mark.parametrize("name", ALL)
def test_start_and_fault(name):
    pair = ALL[name]
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", PsmrWarning)
        case = psmr.read_case(pair.raw_path, pair.dyr_path, skip_unknown_models=bool(pair.left_out))
    unknown = {match[1] or match[2] for w in warned if (match := re.search(_LEFT_OUT, str(w.message)))}
    assert unknown == set(pair.left_out)
    # A stabiliser is left out with its exciter.
    expected = "no model|not a model|has no exciter|saturation curve one point|v_r_m.. = 0 stands for"
    assert all(re.search(expected, str(w.message)) for w in warned)
    system = psmr.build(case, loads=LOADS.get(name))
    assert np.abs(system.residual(system.w0)).max() < 1e-10
    fault = psmr.Fault(bus=FAULTS[name], start=1.0, clear=1.1)
    run = integrate(system, psmr.SingleRate("TM", 5e-3), 10.0, fault.changes(system))
    speeds = run.x[:, [i for i, state in enumerate(system.names_x) if state.endswith(".omega")]]
    assert run.t[-1] == 10.0
    # It was disturbed, and the machines are together at the end.
    assert np.ptp(speeds) > 1e-3
    assert np.ptp(speeds[-1]) < 0.01


def test_every_pair_of_the_package_is_here():
    there = {str(path.relative_to(CASES)) for path in CASES.rglob("*.dyr")}
    assert {pair.dyr for pair in ALL.values()} == there
