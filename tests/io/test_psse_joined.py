"""Branches without impedance: their buses are one."""

import numpy as np
import pytest

from psmr.errors import CaseError, PsmrWarning
from psmr.grid.powerflow.powerflow import power_flow
from psmr.io.read import read_case
from tests.io.raw import RATES, raw_text

BUS = "\n6,'SIX', 100.0,1,1,1,1,1.0,0.0\n7,'SEVEN', 100.0,1,1,1,1,1.0,0.0"
ZERO = f"\n2,6,'Z ',0.0,0.0,0.0,{RATES},0,0,0,0,1\n6,7,'Z ',0.0,0.0,0.0,{RATES},0,0,0,0,1"


def text_with(lines, load="6,'1 ',1,1,1,8.0,3.0"):
    text = raw_text()
    text = text.replace("\n0 / END OF BUS", f"{BUS}\n0 / END OF BUS")
    text = text.replace("\n0 / END OF BRANCH", f"{lines}\n0 / END OF BRANCH")
    return text.replace("\n0 / END OF LOAD", f"\n{load}\n0 / END OF LOAD")


def read(tmp_path, text):
    (tmp_path / "case.raw").write_text(text)
    return read_case(tmp_path / "case.raw")


def test_joined(tmp_path):
    """Buses 2, 6 and 7 are bus 2, where the generator is; the solution is that with very small reactances."""
    with pytest.warns(
        PsmrWarning, match=r"case\.raw:\d+ \(branch\): \d-\d: has no impedance; buses"
    ) as warned:
        case = read(tmp_path, text_with(ZERO))
    said = [str(w.message) for w in warned]
    assert any("buses 2 and 6 are one, bus 2" in words for words in said)
    assert any("buses 6 and 7 are one, bus 2" in words for words in said)
    assert not {6, 7} & {bus.number for bus in case.buses if "star" not in bus.name}
    assert [load.bus for load in case.loads if load.name == "load6"] == [2]
    small = read(tmp_path, text_with(ZERO.replace("0.0,0.0,0.0,", "0.0,1e-5,0.0,")))
    ours, theirs = power_flow(case).by_number(), power_flow(small).by_number()
    # The small reactances of 1e-5 pu carry 0.08 pu.
    assert abs(ours[2] - theirs[2]) < 1e-6
    assert np.isclose(abs(ours[3]), abs(theirs[3]), atol=1e-6)


def test_a_parallel_branch_is_left_out(tmp_path):
    lines = ZERO + f"\n2,6,'P ',0.01,0.1,0.0,{RATES},0,0,0,0,1"
    with pytest.warns(PsmrWarning, match=r"\(line2-6-P\): joins two buses that are one, bus 2; left out"):
        read(tmp_path, text_with(lines))


def test_out_of_service(tmp_path):
    """One that is open joins nothing and cannot be closed."""
    lines = ZERO + f"\n2,6,'O ',0.0,0.0,0.0,{RATES},0,0,0,0,0"
    with pytest.warns(PsmrWarning, match="2-6: has no impedance and is out of service; left out"):
        read(tmp_path, text_with(lines))


def test_resistance_alone(tmp_path):
    lines = ZERO.replace("'Z ',0.0,0.0", "'Z ',0.01,0.0")
    with pytest.raises(CaseError, match=r"2 mistakes:\n.*X = '0\.0': must not be 0 beside R = 0\.01"):
        read(tmp_path, text_with(lines))
