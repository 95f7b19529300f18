"""Machines that another plant's turbine drives: how they start, and their connection to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from psmr.base.errors import CaseError
from psmr.dae.declare.device import Device
from psmr.devices.governors.cross_compound import IEEEG1CC
from psmr.network.case.case import Case
from psmr.network.case.tables import DeviceRow, GeneratorRow
from psmr.network.equilibrium.equilibrium import Plant


def coupled(
    case: Case, plants: Sequence[Plant], start: Mapping[str, float]
) -> tuple[list[Plant], dict[str, float]]:
    """Return plants and start with second machines connected to the turbines that drive them.

    Each plant has been solved by itself, the torque of its machine a set-point. Of a second machine it is the
    turbine's other output then, with what its fractions leave open as a constant.

    Raises
    ------
    CaseError
        Where a turbine drives a machine that is not there, has a governor, takes no torque, or is driven
        already.
    """
    found, values = {plant.name: plant for plant in plants}, dict(start)
    driven: dict[str, str] = {}
    for row in case.generators:
        for device in row.devices:
            if device.type != IEEEG1CC.__name__ or row.name not in found:
                continue
            other = _second(case, device)
            before = driven.setdefault(other.name, device.place)
            if before != device.place:
                raise CaseError(f"{device.place}: {other.name}: is driven by {before} already; keep one")
            if other.name in found:
                _couple(found, values, row, device, other)
    return list(found.values()), values


def _second(case: Case, device: DeviceRow) -> GeneratorRow:
    """Return the plant of a turbine's second machine."""
    bus, place = (int(device.parameters.get(name, 1)) for name in ("bus2", "unit2"))
    there = [row for row in case.generators if row.bus == bus]
    if not 1 <= place <= len(there):
        raise CaseError(
            f"{device.place}: bus2 = {bus}, unit2 = {place}: there are {len(there)} generators at bus {bus}"
        )
    roles = [part.role for part in there[place - 1].devices]
    if "governor" in roles or "machine" not in roles:
        what = "has a governor of its own" if "governor" in roles else "has no machine"
        raise CaseError(f"{device.place}: drives {there[place - 1].name} as well, which {what}")
    return there[place - 1]


def _couple(
    found: dict[str, Plant],
    values: dict[str, float],
    row: GeneratorRow,
    turbine: DeviceRow,
    other: GeneratorRow,
) -> None:
    """Connect a second machine, and give the turbine the torque that it needs at the start."""
    machine = next(part for part in other.devices if part.role == "machine")
    own = next(part for part in row.devices if part.role == "machine")
    wanted, given = f"{machine.name}.t_m", f"{turbine.name}.t_m2"
    if wanted not in values:
        raise CaseError(
            f"{turbine.place}: drives {other.name} as well, which is {machine.type} and takes no torque; give"
            " it a machine with inertia (GENCLS with H > 0), or let the turbine drive one machine (bus2 = 0)"
        )
    base = own.parameters["s_n"] / machine.parameters["s_n"]
    needed = values.pop(wanted)
    rest = needed - base * values[given]
    values[given] = needed

    def changed(device: Device) -> Device:
        if device.name == turbine.name:
            return replace(device, parameters={**device.parameters, "base": base, "t_rest": rest})
        if device.name == machine.name:
            return replace(device, connections={**device.connections, "t_m": given})
        return device

    for name in (row.name, other.name):
        plant = found[name]
        found[name] = replace(plant, devices=tuple(map(changed, plant.devices)))
