"""What switches shunts as devices: where it stands, at which position, and whether its band is too narrow."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace

import numpy as np

from psmr.base.errors import CaseError, warn
from psmr.dae.declare.device import Device
from psmr.devices.switched_shunts import position_of, shunt_positions, steps_of
from psmr.network.case.case import Case
from psmr.network.case.row import DeviceRow
from psmr.network.case.rows import component_of, device_parameters
from psmr.network.case.tables import ShuntRow
from psmr.network.powerflow.adjustment import BLIND, effects
from psmr.network.powerflow.powerflow import PowerFlow


def _switched(case: Case) -> list[tuple[ShuntRow, DeviceRow, int]]:
    """Return the shunts that are switched, by what, and the bus whose voltage it keeps."""
    return [
        (row, row.switching, int(row.switching.values["bus"]) or row.bus)
        for row in case.shunts
        if row.switching is not None and "bus" in row.switching.values
    ]


def _by_static_var(case: Case) -> Iterator[tuple[ShuntRow, Device]]:
    """Yield the banks that static var systems switch, and what switches them, each wired to the one before.

    Raises CaseError where there is no static var system.
    """
    before: dict[str, str] = {}
    for row in case.shunts:
        if row.switching is None or "system_bus" not in row.switching.values:
            continue
        device, place = row.switching, row.switching.place
        bus = int(device.values["system_bus"])
        system = next((one for one in case.shunts if one.bus == bus and one.device is not None), None)
        if system is None or system.device is None:
            raise CaseError(
                f"{place}: system_bus = {bus}: there is no static var system in service at this bus, which"
                f" would switch {row.name}; correct the bus, or take the switching out"
            )
        component, own = component_of(device), system.device.values
        given = next(name for name in ("b", "i") if name in system.device.component.states)
        wires = {"b": f"{system.name}.{given}"}
        if system.name in before:
            wires |= {f"before_{side}": f"{before[system.name]}.{side}" for side in ("up", "down")}
        before[system.name] = device.name
        values = dict(device.parameters) | {
            "at": float(row.status),
            "kind": 1.0 if row.b_mvar > 0 else -1.0,
            "base": own["s_n"] if given == "i" else case.base_mva,
        }
        yield row, Device(device.name, component, values, wires, acts_on=row.name)


def switching_devices(case: Case, flow: PowerFlow) -> Iterator[Device]:
    """Yield what switches shunts, wired to the voltages that it keeps; blocked beside one out of service.

    Warns (PsmrWarning) of a band that is narrower than what a step changes, and of a shunt that does not act
    on the voltage.
    """
    yield from (device for _, device in _by_static_var(case))
    found = _switched(case)
    if not found:
        return
    rows = [replace(row, status=1, control_bus=bus) for row, _, bus in found]
    by_mvar = effects(case, flow, rows)
    voltage = flow.by_number()
    for (row, device, bus), effect in zip(found, by_mvar, strict=True):
        values = device_parameters(device, case, abs(voltage[bus]))
        at, low, high = position_of(SimpleNamespace(**device.values), row.b_mvar)
        values |= {"at": at, "lowest": low, "highest": high}
        if not row.status:
            values["blocked"] = 1.0
        elif not values.get("blocked"):
            _tell(row, device, bus, float(effect))
        component, name = component_of(device), case.bus(bus).name
        wires = {f"v_{part}": f"{name}.v_{part}" for part in ("re", "im")}
        yield Device(device.name, component, values, wires, acts_on=row.name)


def _tell(row: ShuntRow, device: DeviceRow, bus: int, by_mvar: float) -> None:
    """Warn of a shunt that does not act on the voltage, and of a band that a step crosses."""
    place, p = device.place, device.values
    steps = shunt_positions(steps_of(SimpleNamespace(**p)))
    largest = by_mvar * float(np.diff(steps).max())
    if abs(largest) < BLIND:
        warn(
            f"{place}: {row.name} does not act on the voltage of bus {bus} in the power flow (a generator"
            " holds it, or it is in another part): it would run to its last step; correct its bus"
        )
    elif p["v_high"] - p["v_low"] < largest:
        warn(
            f"{place}: v_low = {p['v_low']:g}, v_high = {p['v_high']:g}: a step changes the voltage by"
            f" {largest:.3g} pu, more than the width of the band: it can switch to and fro without end;"
            f" a band wider than {largest:.3g} ends that"
        )


def switching_start(case: Case, flow: PowerFlow) -> dict[str, float]:
    """Return the starting values of what switches shunts by full name."""
    start, voltage = {}, flow.by_number()
    for row, device, bus in _switched(case):
        at = position_of(SimpleNamespace(**device.values), row.b_mvar)[0]
        start |= {f"{device.name}.position": at, f"{device.name}.v": abs(voltage[bus])}
    # How many banks could be switched is linear in what each adds: any start will do.
    for row, device in _by_static_var(case):
        rest = {"position": float(row.status), "up": 0.0, "down": 0.0}
        start |= {f"{device.name}.{name}": value for name, value in rest.items()}
    return start
