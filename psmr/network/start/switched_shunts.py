"""What switches shunts as devices: where it stands, at which position, and whether its band is too narrow."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace

import numpy as np

from psmr.base.errors import CaseError, warn
from psmr.dae.declare.device import Device
from psmr.devices.areas import Meter
from psmr.devices.switched_shunts import (
    METERS,
    ContinuousShunt,
    position_of,
    shunt_positions,
    steps_of,
)
from psmr.network.case.case import Case
from psmr.network.case.row import DeviceRow
from psmr.network.case.rows import component_of, device_parameters
from psmr.network.case.switched_shunts import metered
from psmr.network.case.tables import ShuntRow
from psmr.network.powerflow.adjustment import BLIND, effects
from psmr.network.powerflow.powerflow import PowerFlow

ROUNDING = 1e-3
"""Mvar by which a susceptance may be off its steps unsaid."""


def switching_devices(case: Case, flow: PowerFlow) -> Iterator[Device]:
    """Yield what switches shunts, wired to what it reads; blocked beside a shunt that is out of service.

    Warns (PsmrWarning) of a start beyond the steps, of a band that is narrower than what a step changes, and
    of a shunt that does not act on the voltage. Raises CaseError where there is no static var system that a
    bank stands beside, nor what one is to keep the reactive power of.
    """
    before: dict[str, str] = {}
    made: list[tuple[ShuntRow, DeviceRow, dict[str, float], dict[str, str]]] = []
    by_voltage: list[tuple[ShuntRow, DeviceRow]] = []
    for row in case.shunts:
        if (switching := row.switching) is None:
            continue
        at, low, high = position_of(SimpleNamespace(**switching.values), row.b_mvar)
        ends = shunt_positions(steps_of(SimpleNamespace(**switching.values)))[[0, -1]]
        if not ends[0] - ROUNDING <= row.b_mvar <= ends[1] + ROUNDING:
            warn(
                f"{switching.place}: b_mvar = {row.b_mvar:g} is beyond its steps, {ends[0]:g} to {ends[1]:g}"
                " Mvar: it stays until the first step, which leads to the position beside the last one"
            )
        if switching.component is ContinuousShunt:
            at, low, high = row.b_mvar, float(ends[0]), float(ends[1])
        values = device_parameters(switching, case, 1.0) | {"at": at, "lowest": low, "highest": high}
        if "plant_bus" in switching.values:
            wires = {}
            yield from _meters(case, row, switching)
        elif "system_bus" in switching.values:
            system, given, values["base"] = _static_var_system(
                case, row, switching, int(switching.values["system_bus"])
            )
            wires = {"b": f"{system}.{given}"}
            if system in before:
                wires |= {f"before_{side}": f"{before[system]}.{side}" for side in ("up", "down")}
            before[system] = switching.name
        else:
            bus = case.bus(int(switching.values["bus"]) or row.bus).name
            wires = {f"v_{part}": f"{bus}.v_{part}" for part in ("re", "im")}
            if row.status:
                by_voltage.append((row, switching))
        if not row.status:
            values["blocked"] = 1.0
        made.append((row, switching, values, wires))
    rows = [replace(row, control_bus=int(by.values["bus"]) or row.bus) for row, by in by_voltage]
    slopes = effects(case, flow, rows).tolist() if rows else []
    found = {by.name: slope for (_, by), slope in zip(by_voltage, slopes, strict=True)}
    for row, switching, values, wires in made:
        slope = found.get(switching.name, 0.0)
        if switching.name in found and not switching.values["blocked"]:
            _tell(row, switching, slope)
        if switching.component is ContinuousShunt:
            values |= {"slope": slope} if slope >= BLIND else {"blocked": 1.0}
        yield Device(switching.name, component_of(switching), values, wires, acts_on=row.name)


def _meters(case: Case, row: ShuntRow, switching: DeviceRow) -> list[Device]:
    """Return what adds up the reactive power that a bank keeps.

    Warns (PsmrWarning) of a step that is larger than the band. Raises CaseError where there is nothing that
    gives it.
    """
    p, name, found = switching.values, switching.name, list[Device]()
    bus, readings = int(p["plant_bus"]), list[tuple[str, str, float]]()
    for unit, device, names in metered(case, bus) if bus else ():
        s_n = device.values.get("s_n", case.base_mva)
        wires = {"q": f"{name}.q"} | {port: f"{device.name}.{port}" for port in names}
        wires |= {part: f"{case.bus(bus).name}.{part}" for part in ("v_re", "v_im") if part in names}
        found.append(Device(f"{name}-{unit.name}", METERS[names], {"s_n": s_n}, wires))
    for other in case.shunts:
        if other.bus == p["shunt_bus"] and other is not row:
            if other.device is not None:
                readings.append(_static_var_system(case, other, switching, other.bus))
            elif (by := other.switching) is not None and by.component is ContinuousShunt:
                readings.append((by.name, "position", 1.0))
    for of, reading, factor in readings:
        wires = {"total": f"{name}.q", "reading": f"{of}.{reading}"}
        found.append(Device(f"{name}-{of}", Meter, {"factor": factor}, wires))
    if not found:
        key, what = "plant_bus", "unit whose reactive power can be measured"
        if not bus:
            key, what = "shunt_bus", "static var system and no ContinuousShunt"
        raise CaseError(
            f"{switching.place}: {key} = {p[key]:g}: there is no {what} in service at this bus; correct"
            " it, or take the switching out"
        )
    largest = float(np.diff(shunt_positions(steps_of(SimpleNamespace(**p)))).max())
    if p["q_high"] - p["q_low"] < largest:
        warn(
            f"{switching.place}: q_low = {p['q_low']:g}, q_high = {p['q_high']:g}: a step of {largest:g} Mvar"
            " is more than the width of the band: it can switch to and fro without end; a band wider than"
            f" {largest:g} Mvar ends that"
        )
    return found


def _static_var_system(case: Case, row: ShuntRow, switching: DeviceRow, bus: int) -> tuple[str, str, float]:
    """Return the static var system at a bus, what it gives, and the base of that in MVA."""
    for system in case.shunts:
        if system.bus == bus and (device := system.device) is not None:
            by_current = "i" in device.component.states
            return system.name, "i" if by_current else "b", device.values.get("s_n", case.base_mva)
    raise CaseError(
        f"{switching.place}: system_bus = {bus}: there is no static var system in service at this bus, which"
        f" would switch {row.name}; correct the bus, or take the switching out"
    )


def _tell(row: ShuntRow, switching: DeviceRow, by_mvar: float) -> None:
    """Warn of a shunt that does not act on the voltage, and of a band that a step crosses."""
    place, p = switching.place, switching.values
    largest = by_mvar * float(np.diff(shunt_positions(steps_of(SimpleNamespace(**p)))).max())
    stands = switching.component is ContinuousShunt
    if abs(largest) < BLIND or (stands and by_mvar < BLIND):
        blind = "it stands still in a run" if stands else "it would run to its last step"
        warn(
            f"{place}: {row.name} does not act on the voltage that it is to keep in the power flow (a"
            f" generator holds it, or it is in another part): {blind}; correct its bus"
        )
    elif not stands and p["v_high"] - p["v_low"] < largest:
        warn(
            f"{place}: v_low = {p['v_low']:g}, v_high = {p['v_high']:g}: a step changes the voltage by"
            f" {largest:.3g} pu, more than the width of the band: it can switch to and fro without end;"
            f" a band wider than {largest:.3g} ends that"
        )


def switching_start(case: Case, flow: PowerFlow) -> dict[str, float]:
    """Return the starting values of what switches shunts by full name; linear ones may be any."""
    start: dict[str, float] = {}
    for row in case.shunts:
        if (switching := row.switching) is not None:
            bus = int(switching.values.get("bus", 0)) or row.bus
            by_steps = switching.component is not ContinuousShunt
            at = position_of(SimpleNamespace(**switching.values), row.b_mvar)[0] if by_steps else row.b_mvar
            rest = {"position": at, "v": abs(flow.by_number()[bus])}
            names = component_of(switching).algebraic
            start |= {f"{switching.name}.{name}": rest.get(name, 0.0) for name in names}
    return start
