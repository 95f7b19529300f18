"""The ties of areas, the units that take part in their controls, and what must hold of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from psmr.base.errors import CaseError
from psmr.network.case.direct_current import grids_of
from psmr.network.case.tables import AreaRow, DcConverterRow, DeviceRow, GeneratorRow, LoadRow, Tables

ROUNDING = 1e-6
"""How far the sum of parts may be from 1: they are written in decimals."""


class Tie(NamedTuple):
    """A branch to another area, the end at which it is metered, "i" or "j", and 1 where that reads export."""

    branch: str
    end: str
    direction: float


def ties_of(case: Tables, row: AreaRow) -> Iterator[Tie]:
    """Yield the branches that lead from a controlled area to others, those out of service too."""
    within = {bus.number for bus in case.buses if bus.area == row.number}
    own = row.area_control is not None and row.area_control.values.get("own_meters") == 1
    for branch in case.branches:
        begins, ends = branch.from_bus in within, branch.to_bus in within
        if begins and not ends:
            yield Tie(branch.name, "i", 1.0)
        elif ends and not begins:
            yield Tie(branch.name, "j", 1.0) if own else Tie(branch.name, "i", -1.0)


class DcTie(NamedTuple):
    """A converter that leads to other areas, or the load that it is held at, its bus, 1 for its export."""

    of: DcConverterRow | LoadRow
    bus: int
    direction: float


def dc_ties_of(case: Tables, row: AreaRow) -> Iterator[DcTie]:
    """Yield the converters by which a controlled area's exchange over DC lines and grids is metered.

    With common meters the converter that holds the voltage of its grid has none, nor the last one of a line
    that is held at its powers: what it takes is what the others do not, so that losses are in its area, and
    interchanges add up to zero.
    """
    within = {bus.number for bus in case.buses if bus.area == row.number}
    own = row.area_control is not None and row.area_control.values.get("own_meters") == 1
    at = {load.name: load.bus for load in case.loads}
    joined: list[list[tuple[DcConverterRow | LoadRow, bool]]] = [
        [(one, one.v_kv is not None) for one in case.dc_converters if one.dc_bus in grid and one.name in at]
        for grid in grids_of(case.dc_buses, case.dc_lines)
    ]
    devices = {one.name for one in case.dc_converters}
    lines: dict[str, list[LoadRow]] = {}
    for load in case.loads:
        if load.held and load.name not in devices and "-" in load.name:
            lines.setdefault(load.name.rpartition("-")[0], []).append(load)
    joined += [[(load, load is ends[-1]) for load in ends] for ends in lines.values()]
    for ends in joined:
        holds = not own and any(last and at[one.name] in within for one, last in ends)
        if {True, False} <= {at[one.name] in within for one, _ in ends}:
            for one, _ in ends:
                if (at[one.name] in within) != holds:
                    yield DcTie(one, at[one.name], -1.0 if holds else 1.0)


def area_of(case: Tables, generator: GeneratorRow) -> int:
    """Return the number of the area that a generator is in."""
    return next((bus.area for bus in case.buses if bus.number == generator.bus), 0)


def taking_part(case: Tables, row: AreaRow, role: str) -> list[tuple[GeneratorRow, DeviceRow]]:
    """Return the generators in an area that take part in a control, and their devices of that role."""
    return [
        (generator, device)
        for generator in case.generators
        for device in generator.devices
        if device.role == role and area_of(case, generator) == row.number
    ]


PARTS = {"participation": "area_control", "reactive_participation": "voltage_control"}
"""Roles of what units take part with, and of the control of their area."""


def check_areas(case: Tables) -> None:
    """Raise CaseError for a control without ties or units, for parts that are not 1, for a bus in no area."""
    seen: dict[int, AreaRow] = {}
    pilots: dict[int, DeviceRow] = {}
    for row in case.areas:
        row.require(row.number not in seen, "number", "has a row already; keep one")
        seen[row.number] = row
    for generator in case.generators:
        for device in generator.devices:
            if role := PARTS.get(device.role):
                number = area_of(case, generator)
                if number not in seen or getattr(seen[number], role) is None:
                    key = role.removeprefix("area_")
                    raise CaseError(
                        f"{device.place}: {generator.name} is in area {number}, whose [[area]] has no"
                        f" [area.{key}]; give it one, or take the {device.role} out"
                    )
    for row in case.areas:
        for part, role in PARTS.items():
            if (control := getattr(row, role)) is not None:
                _check_parts(case, row, control, part)
        if (control := row.voltage_control) is not None:
            other = pilots.setdefault(int(control.values["bus"]), control)
            if other is not control:
                raise CaseError(
                    f"{control.place}: bus = {control.values['bus']:g}: {other.name} keeps the voltage of"
                    " this bus already; two integrals would push each other to their limits; choose another"
                )
        if row.area_control is not None:
            _check_ties(case, row)


def _check_parts(case: Tables, row: AreaRow, control: DeviceRow, role: str) -> None:
    units = taking_part(case, row, role)
    if not units:
        raise CaseError(
            f"{control.place}: no unit in area {row.number} takes part; give one of its generators a"
            f" [generator.{role}] with its part"
        )
    total = sum(device.values["part"] for _, device in units)
    if abs(total - 1) > ROUNDING:
        names = ", ".join(f"{device.values['part']:g} of {generator.name}" for generator, device in units)
        raise CaseError(f"{control.place}: the parts of its units, {names}, must add up to 1, not {total:g}")


def _check_ties(case: Tables, row: AreaRow) -> None:
    for bus in case.buses:
        if not bus.area:
            raise CaseError(
                f"{bus.place}: area = 0: with the control of area {row.number} every bus must be in an area;"
                " give it the number of one"
            )
    others = {bus.area for bus in case.buses} - {row.number}
    if others and not [*ties_of(case, row), *dc_ties_of(case, row)]:
        raise CaseError(
            f"{row.place}: number = {row.number}: no branch and no DC grid leads from a bus of area"
            f" {row.number} to another area ({', '.join(map(str, sorted(others)[:5]))}): it has no"
            " interchange to control; correct the area of its buses, or take its control out"
        )
