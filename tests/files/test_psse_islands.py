"""Two islands of a RAW file, each with its swing bus."""

import numpy as np
import pytest

import psmr
from psmr import build, read_case
from psmr.errors import PsmrWarning
from tests.files.raw import RATES, raw_text
from tests.internals import power_flow

BUSES = "\n11,'P', 100.0,3,1,1,1,1.03,20.0\n12,'Q', 100.0,1,1,1,1,1.0,0.0"
LINE = f"\n11,12,'1 ',0.0,0.1,0.0,{RATES},0,0,0,0,1"
TIE = f"\n1,11,'1 ',0.0,0.1,0.0,{RATES},0,0,0,0,1"
LOAD = "\n12,'1 ',1,1,1,30.0,10.0"
GENERATOR = "\n11,'1 ',0.0,0.0,999.0,-999.0,1.03,0,200.0,0.0,0.2,0.0,0.0,1.0,1,100.0,200.0,0.0"
DYR = "1 'GENCLS' 1 4 0 /\n2 'GENCLS' 'G1' 4 0 /\n11 'GENCLS' 1 0 0 /\n"


def read(tmp_path, tie=""):
    text = raw_text()
    for section, more in (("BUS", BUSES), ("LOAD", LOAD), ("GENERATOR", GENERATOR), ("BRANCH", LINE + tie)):
        text = text.replace(f"\n0 / END OF {section} DATA", f"{more}\n0 / END OF {section} DATA")
    (tmp_path / "case.raw").write_text(text)
    (tmp_path / "case.dyr").write_text(DYR)
    return read_case(tmp_path / "case.raw", tmp_path / "case.dyr")


def test_each_island_has_its_slack(tmp_path):
    """Each swing bus keeps its angle; an infinite bus alone holds its island in a run."""
    case = read(tmp_path)
    voltage = power_flow(case).by_number()
    assert np.degrees(np.angle(voltage[11])) == pytest.approx(20.0)
    assert abs(voltage[11]) == pytest.approx(1.03)
    # 0.3 + j0.1 pu over j0.1 pu.
    flow = voltage[12] * np.conj((voltage[11] - voltage[12]) / 0.1j)
    assert flow == pytest.approx(0.3 + 0.1j)
    system = build(case, loads="impedance")
    run = psmr.simulate(system, psmr.SingleRate("TM", h=0.01), t_end=0.5, certify=False)
    assert np.ptp(run.values("bus12.v")) < 1e-9


def test_two_slacks_in_one_island(tmp_path):
    """Each holds its voltage and its angle, as in PSS/E."""
    with pytest.warns(PsmrWarning, match=r"the slacks at buses 1, 11 are in one island"):
        case = read(tmp_path, TIE)
    voltage = power_flow(case).by_number()
    assert [np.degrees(np.angle(voltage[bus])) for bus in (1, 11)] == pytest.approx([0.0, 20.0])
