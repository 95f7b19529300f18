"""What the power flow hands to each plant, motor and load, and whether they can start from it."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace

import numpy as np

from psmr.errors import CaseError
from psmr.grid.case.case import Case
from psmr.grid.case.tables import GeneratorRow, LoadRow
from psmr.grid.equilibrium.equilibrium import Plant
from psmr.grid.models.loads.motors import pull_out_power
from psmr.grid.powerflow.powerflow import PowerFlow
from psmr.grid.start.wiring import load_device, plant_devices


def generator_plant(case: Case, row: GeneratorRow, voltages: Mapping[int, complex], power: complex) -> Plant:
    """Return the plant of a generator with a power in pu, at the voltages of the buses by number.

    Raises
    ------
    CaseError
        Where it has no dynamic devices, or they cannot be wired to each other.
    """
    if not row.devices:
        raise CaseError(
            f"{row.place}: no machine and no converter; add a [generator.machine] table, or name the DYR file"
            " that belongs to a .raw file (--dynamics)"
        )
    voltage = voltages[row.bus]
    current = complex(np.conj(power / voltage))
    devices = tuple(plant_devices(case, row, voltage, power))
    read = {target.rpartition(".")[0] for device in devices for target in device.connections.values()}
    far = {bus.name: voltages[bus.number] for bus in case.buses if bus.name in read and bus.number != row.bus}
    return Plant(row.name, devices, voltage, current, far)


def motor_plant(case: Case, row: LoadRow, voltage: complex) -> Plant:
    """Return a load with states of its own and what the power flow gives its bus for it.

    Raises
    ------
    CaseError
        Where a motor cannot take its power at the voltage, with the most that it can.
    """
    device = load_device(case, row, voltage)
    p = SimpleNamespace(**device.parameters)
    most = float(pull_out_power(p, abs(voltage))) * p.s_n
    if row.p_mw > most:
        raise CaseError(
            f"{row.place}: p_mw = {row.p_mw:g}: the most that this motor takes at {abs(voltage):.4f} pu is"
            f" {most:.4g} MW, at its pull-out torque; raise s_n = {p.s_n:g}, or mend its reactances"
        )
    current = -complex(row.p_mw, -row.q_mvar) / case.base_mva / voltage.conjugate()
    return Plant(row.name, (device,), voltage, current)


def check_load(row: LoadRow, voltage: complex) -> None:
    """Raise CaseError where a load whose power is given would be an impedance at the power flow's voltage."""
    given = row.motor is None and row.v_0 is None and not row.impedance
    if given and abs(voltage) <= row.v_min:
        raise CaseError(
            f"{row.place}: v_min = {row.v_min:g}: the power flow's voltage there is {abs(voltage):.4f} pu,"
            " where the load would be an impedance already; lower v_min, or mend the power flow"
        )


def bus_start(case: Case, flow: PowerFlow) -> dict[str, float]:
    """Return the starting values of the buses by full name."""
    start: dict[str, float] = {}
    for bus, v in zip(case.buses, flow.voltage, strict=True):
        start |= {f"{bus.name}.v_re": float(v.real), f"{bus.name}.v_im": float(v.imag)}
    return start
