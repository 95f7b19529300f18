"""Loads with records of their own and relays through a RAW and a DYR file and back."""

from dataclasses import replace

import pytest

import psmr
from psmr.errors import PsmrWarning
from tests.devices.loads.composite import MACHINES, RAW, text
from tests.internals import DeviceRow, LoadRow, power_flow

FAN = "1 0.01 0.1 3 0.005 0.08 0.15 0.175 0 0 0 0 80 0 0.4 0.6 6 3 1 0.2 0.3 1.5 0.5 0"
PARTS = "0.5 0.5 0 0.6 0.4 0 0 0 0 2 0 1 2 0"
RELAYS = (
    "102 'LDSHBL' 1 59.3 0.1 0.2 58.9 0.2 0.1 0 0 0 0.08 /\n"
    "102 'LDS3BL' 1 0 '1' 0 59.3 0.1 0.05 0.2 58.9 0.2 0.08 0.1" + " 0" * 12 + " 0 /\n"
    "102 'UFLSBL' 1 0.04 0.06 59.2 0.1 0.2 /\n"
    "102 'LVSHBL' 1 103 0.8 0.05 0.5 0 0 0 0 0 0 0.02 /\n"
    "1 'VTGTPAT' 103 102 1 0.7 1.3 0.1 0.05 /\n2 'FRQTPAT' 102 102 1 57 63 0.2 0.05 /\n"
)


def read(folder, records):
    (folder / "in.dyr").write_text(MACHINES.read_text() + records)
    return psmr.read_case(RAW, folder / "in.dyr")


def again(folder, case):
    psmr.write_case(case, folder / "out.raw")
    return psmr.read_case(folder / "out.raw", folder / "out.dyr")


def close(before, after):
    assert (before.name, before.bus, before.device.type) == (after.name, after.bus, after.device.type)
    assert after.device.parameters == pytest.approx(dict(before.device.parameters), rel=1e-12, abs=1e-15)


@pytest.mark.parametrize(
    "records",
    [
        text(),
        f"103 'IEELBL' '2' {PARTS} /\n102 'IEELBL' 1 1 0 0 1 0 0 1.5 -2 1 0 0 2 0 0 /\n",
        f"103 'CIM6BL' '2' {FAN} /\n",
        RELAYS,
    ],
    ids=["composite", "characteristics", "motor with its relay", "relays"],
)
def test_there_and_back(tmp_path, records):
    case = read(tmp_path, records)
    new = again(tmp_path, case)
    for before, after in zip(case.loads, new.loads, strict=True):
        assert (before.device is None) == (after.device is None)
        assert (after.p_mw, after.q_mvar) == pytest.approx((before.p_mw, before.q_mvar), rel=1e-9)
        if before.device is not None:
            close(before, after)
    assert len(case.relays) == len(new.relays)
    for relay, back in zip(case.relays, new.relays, strict=True):
        close(relay, back)


def test_powers_of_the_voltage_become_a_characteristic(tmp_path):
    case = read(tmp_path, "")
    exponential = LoadRow(102, 50.0, 30.0, exponent_p=1.3, exponent_q=2.6, v_0=1.0, name="load102")
    case = replace(case, loads=(exponential, *case.loads[1:]))
    flow = power_flow(case)
    (load, *_) = again(tmp_path, case).loads
    assert load.p_mw == pytest.approx(100 * flow.load_p[0], rel=1e-9)
    p = load.characteristic.parameters
    assert (p["a_1"], p["n_1"], p["a_4"], p["n_4"]) == (1.0, 1.3, 1.0, 2.6)


def test_the_plain_motor_is_one_of_the_standard_library(tmp_path):
    case = read(tmp_path, "")
    values = {"s_n": 60.0, "r_s": 0.01, "x_s": 0.1, "x_m": 3.0, "r_r": 0.01, "x_r": 0.1, "h": 0.5}
    device = DeviceRow("m", "motor", "InductionMotor", values | {"torque_a": 0.6, "torque_b": 0.1})
    case = replace(case, loads=(LoadRow(102, 50.0, 30.0, motor=device, name="load102"), *case.loads[1:]))
    with pytest.warns(PsmrWarning, match="InductionMotor becomes CIM6"):
        new = again(tmp_path, case)
    one, other = (psmr.build(c) for c in (case, new))
    a, b = (psmr.modes(system.linearise()).real.to_numpy() for system in (one, other))
    assert a == pytest.approx(b, rel=1e-6, abs=1e-6)


def test_what_no_record_keeps_is_said(tmp_path):
    case = read(tmp_path, "102 'UFLSBL' 1 0.04 0.06 59.2 0.1 0.2 59 0.1 0.3 /\n")
    (relay,) = case.relays
    other = replace(relay.device, parameters={**relay.device.parameters, "breaker_2": 0.5})
    case = replace(case, relays=(replace(relay, device=other),))
    with pytest.warns(PsmrWarning, match="cannot keep 1 of its names and values: shed-load102, a relay"):
        assert again(tmp_path, case).relays == ()


def test_what_the_record_of_a_composite_load_lacks_is_said(tmp_path):
    case = read(tmp_path, text())
    at = next(k for k, load in enumerate(case.loads) if load.composite is not None)
    device = case.loads[at].composite
    device = replace(device, parameters={**device.parameters, "v_z": 0.5, "t_y": 0.5})
    loads = [*case.loads[:at], replace(case.loads[at], composite=device), *case.loads[at + 1 :]]
    with pytest.warns(
        PsmrWarning, match=r"2 of its names and values: load102: v_z = 0\.5.*load102: t_y = 0\.5"
    ):
        again(tmp_path, replace(case, loads=tuple(loads)))
