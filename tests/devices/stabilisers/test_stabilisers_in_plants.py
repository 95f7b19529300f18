"""Stabilisers in plants: what each input code reads, where, and what it is at the start."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from psmr import ParameterStep, build, read_case
from psmr.errors import CaseError, EventError
from tests.components import IEEEST, ST2CUT
from tests.devices.library import PARAMETERS
from tests.internals import DeviceRow, power_flow

WSCC9 = Path(__file__).parents[3] / "cases" / "wscc9" / "wscc9.toml"


def with_stabiliser(kind, roles=("machine", "exciter", "governor"), **parameters):
    """The paper's case with a stabiliser of this kind at its second plant, and its power flow."""
    case = read_case(WSCC9)
    own = {k: v for k, v in PARAMETERS[kind].items() if k not in ("f_n", "v_0")}
    row = DeviceRow("PSS2", "stabiliser", kind.__name__, own | parameters)
    one, plant, *rest = case.generators
    plant = replace(plant, devices=(*(d for d in plant.devices if d.role in roles), row))
    return replace(case, generators=(one, plant, *rest)), power_flow(case)


def value(system, name):
    return float(system.w0[system.index(name)])


@pytest.mark.parametrize("code", range(1, 7))
def test_signal_at_the_start_is_that_of_the_power_flow(code):
    case, flow = with_stabiliser(IEEEST, input=code)
    system = build(case)
    machine = case.generators[1].devices[0].parameters
    place = [bus.number for bus in case.buses].index(case.generators[1].bus)
    s = complex(flow.p[1], flow.q[1]) * case.base_mva / machine["s_n"]
    losses = machine.get("r_a", 0.0) * abs(s / flow.voltage[place]) ** 2
    expected = {1: 0.0, 2: 0.0, 3: s.real, 4: losses, 5: abs(flow.voltage[place]), 6: 0.0}[code]
    # The washout's state is what the signal is at rest.
    assert value(system, "PSS2.x_w") == pytest.approx(expected, abs=1e-10)
    if code == 2:
        assert next(d for d in system.devices if d.name == "PSS2").component.units["x_theta"] == "rad"
        assert value(system, "PSS2.x_theta") == pytest.approx(np.angle(flow.voltage[place]), abs=1e-10)
    if code == 6:
        assert value(system, "PSS2.x_v") == pytest.approx(abs(flow.voltage[place]), abs=1e-10)


@pytest.mark.parametrize("code", [2, 5, 6])
def test_signal_of_another_bus(code):
    """The other bus starts at its own voltage, and only the cut-off reads the machine's."""
    case, flow = with_stabiliser(IEEEST, input=code, bus=8)
    system = build(case)
    there = flow.voltage[[bus.number for bus in case.buses].index(8)]
    device = next(d for d in system.devices if d.name == "PSS2")
    assert device.connections["u_re"] == "bus8.v_re"
    assert device.connections["v_re"] == "bus2.v_re"
    state, expected = {2: ("x_theta", np.angle(there)), 5: ("x_w", abs(there)), 6: ("x_v", abs(there))}[code]
    assert value(system, f"PSS2.{state}") == pytest.approx(expected, abs=1e-10)


def test_plants_that_measure_at_different_buses_start_together():
    """Plants of one structure are solved as arrays, each with the bus that it reads."""
    case, flow = with_stabiliser(IEEEST, input=5, bus=8)
    plants = []
    for number, plant in enumerate(case.generators, start=1):
        row = replace(case.generators[1].devices[-1], name=f"PSS{number}")
        far = {"bus": {1: 5, 2: 8, 3: 3}[number]}
        row = replace(row, parameters={**row.parameters, **far})
        plants.append(replace(plant, devices=(*(d for d in plant.devices if d.role != "stabiliser"), row)))
    system = build(replace(case, generators=tuple(plants)))
    v = dict(zip((bus.number for bus in case.buses), flow.v, strict=True))
    found = [value(system, f"PSS{number}.x_w") for number in (1, 2, 3)]
    assert found == pytest.approx([v[5], v[8], v[3]], abs=1e-10)


def test_bus_that_cannot_be():
    with pytest.raises(CaseError, match=r"PSS2\): bus = 77: there is no bus with this number"):
        with_stabiliser(IEEEST, input=5, bus=77)
    with pytest.raises(CaseError, match=r"bus = 8 and input = 3: bus must be 0, the signal is the machine's"):
        with_stabiliser(IEEEST, input=3, bus=8)
    case, _ = with_stabiliser(ST2CUT, input_2=5, bus_2=8)
    words = r"PSS2\.bus_2 = 5: is a connection, which stays during a run; give the case this value"
    with pytest.raises(EventError, match=words):
        ParameterStep("PSS2", "bus_2", 5.0, 1.0).changes(build(case))


def test_torque_that_the_machine_holds_is_read():
    """Without a governor the torque is an input of the machine."""
    case, _ = with_stabiliser(ST2CUT, ("machine", "exciter"), input_1=1, input_2=4)
    system = build(case)
    device = next(d for d in system.devices if d.name == "PSS2")
    assert device.connections["t_m"] == "G2.t_m"
    assert "G2.t_m" in system.names_u
    assert device.parameters["v_0"] == pytest.approx(1.025, abs=1e-9)


def test_signal_that_the_machine_does_not_give():
    case, _ = with_stabiliser(IEEEST, input=3)
    machine = DeviceRow("G2", "machine", "ClassicalMachine", {"s_n": 192.0, "h": 3.0, "d": 0.0, "x_d1": 0.2})
    one, plant, *rest = case.generators
    plant = replace(plant, devices=(machine, *plant.devices[1:]))
    match = r"PSS2\): IEEEST reads i_d, which no device of G2 gives; .* has i_d instead of ClassicalMachine"
    with pytest.raises(CaseError, match=match):
        build(replace(case, generators=(one, plant, *rest)))
