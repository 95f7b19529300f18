"""Branches without impedance: their buses are one."""

import numpy as np
import pytest

from psmr import read_case
from psmr.errors import PsmrWarning
from tests.components import IEEEG1CC
from tests.devices.library import PARAMETERS
from tests.files.raw import RATES, raw_text
from tests.internals import DeviceRow, GeneratorRow, PsseRecord, join_buses, power_flow

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


def test_what_stands_to_ground_stays(tmp_path):
    """Charging and shunts of a joint, what a branch beside it takes: the solution is that with 2e-6 pu."""
    joint = f"\n2,6,'Z ',0.0,0.0,0.03,{RATES},0.001,0.02,0.002,0.01,1\n6,7,'Z ',0.0,0.0,0.0,{RATES},0,0,0,0,1"
    beside = f"\n2,6,'P ',0.01,0.1,0.04,{RATES},0,0,0,0,1\n2,6,'O ',0.01,0.1,0.5,{RATES},0,0,0,0,0"
    turned = "\n6,2,0,'T ',1,1,1,0.001,-0.01,2,'',1\n0.002,0.05\n1.02,0,3.0\n0.99,0"
    text = text_with(joint + beside).replace("\n0 / END OF TRANSFORMER", f"{turned}\n0 / END OF TRANSFORMER")
    with pytest.warns(PsmrWarning) as warned:
        case = read(tmp_path, text)
    said = [str(w.message) for w in warned]
    assert any(
        "(line2-6-P): joins two" in w and "left out, but for its shunt of 0 MW, 4 Mvar" in w for w in said
    )
    assert any("(line2-6-O): joins two" in w and w.endswith("left out") for w in said)
    left = {row.name: complex(row.g_mw, row.b_mvar) for row in case.shunts if row.bus == 2}
    assert left["line2-6-Z-at2"] == pytest.approx(0.3 + 6j)
    # (g + j b) at bus 6, and what circulates in 0.002 + 0.05j behind the ratio 1.02 / 0.99.
    ratio = 1.02 / 0.99 * np.exp(1j * np.radians(3.0))
    y = 0.001 - 0.01j + abs(1 - 1 / ratio) ** 2 / ((0.002 + 0.05j) * 0.99**2)
    assert left["transformer6-2-T-at2"] == pytest.approx(100 * y)
    small = read(tmp_path, text.replace("'Z ',0.0,0.0,", "'Z ',0.0,2e-6,"))
    ours, theirs = power_flow(case), power_flow(small)
    assert np.isclose(abs(ours.by_number()[3]), abs(theirs.by_number()[3]), atol=1e-7)
    assert ours.q.sum() == pytest.approx(theirs.q.sum(), abs=2e-5)
    assert ours.p.sum() == pytest.approx(theirs.p.sum(), abs=2e-5)


def test_out_of_service(tmp_path):
    """One that is open joins nothing and cannot be closed."""
    lines = ZERO + f"\n2,6,'O ',0.0,0.0,0.0,{RATES},0,0,0,0,0"
    with pytest.warns(PsmrWarning, match="2-6: has no impedance and is out of service; left out"):
        read(tmp_path, text_with(lines))


def test_resistance_alone(tmp_path):
    lines = ZERO.replace("'Z ',0.0,0.0", "'Z ',0.01,0.0")
    v = power_flow(read(tmp_path, text_with(lines))).by_number()
    assert v[6] * np.conj((v[2] - v[6]) / 0.01) == pytest.approx(0.08 + 0.03j, abs=1e-9)


def test_a_second_machine_stays_the_same_one():
    """Its place is counted anew where the generators of another bus come before those of its own."""
    own = {k: v for k, v in PARAMETERS[IEEEG1CC].items() if k not in IEEEG1CC.memory}
    turbine = DeviceRow("GOV1", "governor", "IEEEG1CC", own | {"bus2": 6.0, "unit2": 2.0})
    at = {"G1": 1, "G2": 2, "G3": 6, "G4": 6}
    rows = [
        GeneratorRow(name, bus, "pv", 1.0, v=1.0, rating_mva=100.0, devices=(turbine,) if bus == 1 else ())
        for name, bus in at.items()
    ]
    others = ("buses", "lines", "transformers", "shunts", "loads", "relays")
    tables = {"generators": rows} | {name: [] for name in others}
    with pytest.warns(PsmrWarning, match="buses 2 and 6 are one, bus 2"):
        joined = join_buses(tables, [(2, 6, PsseRecord("case.raw", 1, "branch", (), ()))], 100.0)[
            "generators"
        ]
    own = joined[0].devices[0].parameters
    assert [row.name for row in joined if row.bus == own["bus2"]][int(own["unit2"]) - 1] == "G4"
