"""IEEEG1 with a second machine: its start, its torques through a disturbance, its record, refusals."""

from dataclasses import replace

import numpy as np
import pytest

import psmr
from psmr.errors import CaseError
from tests.devices.loads.composite import MACHINES, RAW
from tests.internals import GeneratorRow

TWO = "102 'GENROU' 2 8 0.03 0.4 0.05 4.0 0.05 1.8 1.7 0.3 0.55 0.25 0.2 0.1 0.8 /\n"
STAGES = "20 0.1 0.02 0.2 1 -1 2.2 0 0.3 0.2 0.15 5 0.2 0.1 0.4 0.1 0.15 0.2 0.05 0.05"
TURBINE = f"102 'IEEEG1' 1 102 '2' {STAGES} /\n"


@pytest.fixture
def read(tmp_path):
    def read(records, name="case"):
        lines = RAW.read_text().splitlines()
        # The second record that begins so: loads come before generators.
        at = [k for k, line in enumerate(lines) if line.strip().startswith("102,'1 '")][1]
        second = lines[at].replace("'1 '", "'2 '")
        (tmp_path / f"{name}.raw").write_text("\n".join([*lines[: at + 1], second, *lines[at + 1 :]]) + "\n")
        (tmp_path / f"{name}.dyr").write_text(MACHINES.read_text() + records)
        return psmr.read_case(tmp_path / f"{name}.raw", tmp_path / f"{name}.dyr")

    return read


def test_one_turbine_drives_two_machines(read):
    system = psmr.build(read(TWO + TURBINE))
    assert np.abs(system.f(system.x0, system.y0)).max() < 1e-9
    assert not any(name in ("G102.t_m", "G102-2.t_m") for name in system.names_u)
    trip = psmr.LoadTrip(bus=103, start=0.1, fraction=0.3)
    run = psmr.simulate(system, psmr.VariableStep(1e-6), t_end=3.0, events=[trip])
    frame = run.frame([f"GOV102.{name}" for name in ("t_m", "t_m2", "x_4", "x_5", "x_6", "x_7")])
    first = frame.iloc[:, 2:6] @ np.array([0.2, 0.2, 0.1, 0.05])
    second = frame.iloc[:, 2:6] @ np.array([0.15, 0.1, 0.15, 0.05])
    assert np.abs(first - frame["GOV102.t_m"]).max() < 1e-9
    off = frame["GOV102.t_m2"] - second
    assert np.ptp(off) < 1e-9
    # An infinite bus holds the frequency: the torques swing and come back.
    assert np.ptp(frame["GOV102.t_m2"]) > 1e-4


def test_the_record_goes_there_and_back(read, tmp_path):
    case = read(TWO + TURBINE)
    psmr.write_case(case, tmp_path / "out.raw")
    assert "'IEEEG1' '1' 102.0 '2' 20.0" in (tmp_path / "out.dyr").read_text()
    again = psmr.read_case(tmp_path / "out.raw", tmp_path / "out.dyr")
    assert [row.devices[-1].parameters for row in again.generators] == [
        row.devices[-1].parameters for row in case.generators
    ]


def test_what_it_cannot_drive_is_refused(read):
    governor = "102 'TGOV1' 2 0.05 0.49 33 0 2.1 7 0 /\n"
    with pytest.raises(CaseError, match="drives G102-2 as well, which has a governor"):
        psmr.build(read(TWO + TURBINE + governor))
    with pytest.raises(CaseError, match=r"unit2 = '3': there is no generator in service with it at bus 102"):
        read(TWO + TURBINE.replace("'2'", "'3'"))
    infinite = "102 'GENCLS' 2 0 0 /\n"
    with pytest.raises(CaseError, match=r"drives G102-2 as well, which is InfiniteBus and takes no torque"):
        psmr.build(read(infinite + TURBINE))
    with pytest.raises(CaseError, match="k_2, k_4, k_6 and k_8 are 0"):
        read(
            TWO
            + f"102 'IEEEG1' 1 102 '2' {STAGES.replace('0.15', '0').replace(' 0.1 0.4', ' 0 0.4')[:-5]} 0 /\n"
        )


def test_a_machine_has_one_turbine(read):
    case = read(TWO + TURBINE)
    (first, second) = (row for row in case.generators if row.bus == 102)
    turbine = first.devices[-1]
    third = GeneratorRow("G9", 102, "pv", 1.0, v=first.v, rating_mva=100.0)
    machine = replace(second.devices[0], name="G9")
    third = replace(third, devices=(machine, replace(turbine, name="GOV9")))
    with pytest.raises(CaseError, match=r"G102-2: is driven by .* already"):
        psmr.build(replace(case, generators=(*case.generators, third)))
