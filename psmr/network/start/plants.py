"""What the power flow hands to plants, static var systems, motors and loads, and whether they can start."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, cast

import numpy as np

from psmr.base.errors import CaseError
from psmr.dae.declare.mathematics import NumericMath
from psmr.devices.network import MonitoredLine
from psmr.network.case.case import Case
from psmr.network.case.monitored_branches import monitored_branches
from psmr.network.case.rows import branch_component, branch_parameters, columns, component_of, load_component
from psmr.network.case.tables import BranchRow, DeviceRow, GeneratorRow, LoadRow, ShuntRow
from psmr.network.equilibrium.equilibrium import Plant
from psmr.network.powerflow.powerflow import PowerFlow
from psmr.network.start.wiring import load_device, plant_devices, shunt_device


def generator_plant(case: Case, row: GeneratorRow, voltages: Mapping[int, complex], power: complex) -> Plant:
    """Return the plant of a generator with a power in pu, at the voltages of the buses by number.

    Raises
    ------
    CaseError
        Where it has no dynamic devices, or they cannot be wired to each other.
    """
    if not row.devices:
        raise CaseError(
            f"{row.place}: no machine and no converter; add a [generator.machine] table, name the DYR file "
            "that belongs to a .raw file (--dynamics), or have standard ones added (psmr convert "
            "--add-dynamics, psmr.add_dynamics)"
        )
    voltage = voltages[row.bus]
    current = complex(np.conj(power / voltage))
    devices = tuple(plant_devices(case, row, voltage, power))
    read = {target.rpartition(".")[0] for device in devices for target in device.connections.values()}
    known = sorted(read & case.buses_by_name.keys())
    far: dict[str, complex] = {
        name: voltages[case.buses_by_name[name].number] for name in known if name != case.bus(row.bus).name
    }
    flows: dict[str, float] = {}
    for branch in (branch for branch in case.branches if branch.name in read):
        flows |= branch_start(branch, voltages)
    return Plant(row.name, devices, voltage, current, far, flows)


def motor_plant(case: Case, row: LoadRow, voltage: complex) -> Plant:
    """Return a load with states of its own and what the power flow gives its bus for it.

    Raises
    ------
    CaseError
        Where a motor cannot take its power at the voltage, with the most that it can.
    """
    device = load_device(case, row, voltage)
    p = SimpleNamespace(**device.parameters)
    most = np.inf
    if row.motor is not None:
        most = cast("Any", device.component).most_power(p, abs(voltage)) * p.s_n
    if row.p_mw > most:
        raise CaseError(
            f"{row.place}: p_mw = {row.p_mw:g}: the most that this motor takes at {abs(voltage):.4f} pu is"
            f" {most:.4g} MW, at its pull-out torque; raise s_n = {p.s_n:g}, or correct its reactances"
        )
    current = -complex(row.p_mw, -row.q_mvar) / case.base_mva / voltage.conjugate()
    return Plant(row.name, (device,), voltage, current)


def shunt_plant(case: Case, row: ShuntRow, device: DeviceRow, voltages: Mapping[int, complex]) -> Plant:
    """Return the device that a shunt is, with the shunt's current at the voltages of the buses by number."""
    made = shunt_device(case, row, device, voltages[row.bus])
    number = int(device.parameters.get("bus", 0)) or row.bus
    far = {case.bus(number).name: voltages[number]} if number != row.bus else {}
    current = -complex(row.g_mw, row.b_mvar) / case.base_mva * voltages[row.bus]
    return Plant(row.name, (made,), voltages[row.bus], current, far)


def check_load(row: LoadRow, voltage: complex) -> None:
    """Raise CaseError where a characteristic could not have its given power at the power flow's voltage."""
    if row.characteristic is None:
        return
    least = row.characteristic.parameters.get("v_min", row.v_min)
    if abs(voltage) <= least:
        raise CaseError(
            f"{row.place}: v_min = {least:g}: the power flow's voltage there is {abs(voltage):.4f} pu, where"
            " the load could not have its power; lower v_min, or correct the power flow"
        )


def bus_start(case: Case, flow: PowerFlow) -> dict[str, float]:
    """Return the starting values of the buses by full name, and of what measures their phase."""
    start: dict[str, float] = {}
    for bus, v in zip(case.buses, flow.voltage, strict=True):
        start |= {f"{bus.name}.v_re": float(v.real), f"{bus.name}.v_im": float(v.imag)}
    voltages, monitored = flow.by_number(), monitored_branches(case)
    for branch in case.branches if monitored else ():
        start |= branch_start(branch, voltages) if branch.name in monitored else {}
    for load in case.loads:
        if load.characteristic is not None and "angle" in load_component(load).states:
            start[f"{load.name}.angle"] = float(np.angle(voltages[load.bus]))
    for relay in case.relays:
        component, v = component_of(relay.device), voltages[relay.bus]
        rest = {"angle": float(np.angle(v)), "f": case.frequency_hz, "v": abs(v), "theta": 0.0}
        start |= {f"{relay.name}.{name}": rest[name] for name in (*component.states, *component.algebraic)}
    return start


def branch_start(row: BranchRow, voltages: Mapping[int, complex]) -> dict[str, float]:
    """Return the currents into a monitored branch by full name, at the voltages of the buses by number."""
    component = branch_component(row)
    ends = {"i": voltages[row.from_bus], "j": voltages[row.to_bus]}
    v = {f"v_re_{k}": u.real for k, u in ends.items()} | {f"v_im_{k}": u.imag for k, u in ends.items()}
    p = columns(component, [branch_parameters(row)])
    into_buses = component.equations(NumericMath, SimpleNamespace(**v), p)[2]
    names = MonitoredLine.algebraic
    return {f"{row.name}.{name}": -float(i[0]) for name, i in zip(names, into_buses, strict=True)}
