"""Buses that branches without impedance join, as one."""

from __future__ import annotations

import cmath
import math
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from psmr.base.errors import PsmrWarning
from psmr.network.case.tables import BranchRow, BusRow, DeviceRow, GeneratorRow, ShuntRow, TransformerRow

Rows = dict[str, list[Any]]

Joint = tuple[int, int, str]
"""The buses at both ends of a branch without impedance, and where it was read."""


def representatives(zero: Sequence[Joint], held: set[int]) -> dict[int, int]:
    """Return the bus that stands for each joined bus: one where a generator holds the voltage, or the lowest.

    Parameters
    ----------
    zero
        The branches without impedance.
    held
        Numbers of the buses with a generator.
    """
    group: dict[int, set[int]] = {}
    for i, j, _ in zero:
        both = group.get(i, {i}) | group.get(j, {j})
        group.update(dict.fromkeys(both, both))
    return {bus: min(buses, key=lambda n: (n not in held, n)) for bus, buses in group.items()}


def to_ground(row: BranchRow) -> complex:
    """Return the admittance to ground of a branch in service whose two ends are one bus, per unit.

    That is the sum of its admittance matrix: g + j b of a line; of a transformer with the complex ratio a
    (g + j b) / |a|^2 + y |1 - 1/a|^2, where y = 1 / (r + j x) carries what circulates.
    """
    own = complex(row.g, row.b)
    if not isinstance(row, TransformerRow):
        return own
    ratio = cmath.rect(row.tap, math.radians(row.shift_deg))
    return own / row.tap**2 + abs(1 - 1 / ratio) ** 2 / complex(row.r, row.x)


def join(tables: Rows, zero: Sequence[Joint], base: float) -> Rows:
    """Return the tables of a case with joined buses as one.

    Parameters
    ----------
    tables
        Rows by the names of the case's tables.
    zero
        See `representatives`.
    base
        System base in MVA.

    Warns
    -----
    PsmrWarning
        For every branch without impedance, with the bus that stands for both, and for every other branch
        between two buses that are one now, with the shunt that is left of it.
    """
    if not zero:
        return tables
    stands = representatives(zero, {row.bus for row in tables["generators"]})
    for i, j, where in zero:
        warnings.warn(
            f"{where}: {i}-{j}: has no impedance; buses {i} and {j} are one, bus {stands[i]}",
            PsmrWarning,
            stacklevel=3,
        )
    found: Rows = {"buses": list(_buses(tables["buses"], stands))}
    left: list[ShuntRow] = []
    for name in ("lines", "transformers"):
        found[name] = []
        for row in tables[name]:
            ends = [stands.get(bus, bus) for bus in (row.from_bus, row.to_bus)]
            if ends[0] == ends[1]:
                y = to_ground(row) * base if row.status else 0.0
                if y:
                    label = f"{row.name}-at{ends[0]}"
                    left.append(ShuntRow(ends[0], y.real, y.imag, 1, label, where=row.where))
                kept = f", but for its shunt of {y.real:.4g} MW, {y.imag:.4g} Mvar" if y else ""
                warnings.warn(
                    f"{row.place}: joins two buses that are one, bus {ends[0]}; left out{kept}",
                    PsmrWarning,
                    stacklevel=3,
                )
                continue
            found[name].append(replace(row, from_bus=ends[0], to_bus=ends[1]))
    for name in ("shunts", "loads", "relays"):
        found[name] = [replace(row, bus=stands.get(row.bus, row.bus)) for row in tables[name]]
    places = _places([row.bus for row in tables["generators"]], stands)
    found["shunts"] = [
        replace(row, static_var_system=_device(row.static_var_system, stands, places))
        if row.static_var_system is not None
        else row
        for row in (*found["shunts"], *left)
    ]
    found["generators"] = [_generator(row, stands, places) for row in tables["generators"]]
    return found


def _buses(rows: Sequence[BusRow], stands: Mapping[int, int]) -> Iterator[BusRow]:
    """Yield the buses that stand for others, with the numbers and names of these beside their own."""
    others: dict[int, list[str]] = {}
    for row in rows:
        if (bus := stands.get(row.number, row.number)) != row.number:
            others.setdefault(bus, []).extend((str(row.number), *row.aliases))
    for row in rows:
        if stands.get(row.number, row.number) == row.number:
            more = others.get(row.number, ())
            yield replace(row, aliases=tuple(dict.fromkeys((*row.aliases, *more)))) if more else row


def _places(buses: Sequence[int], stands: Mapping[int, int]) -> dict[tuple[int, int], int]:
    """Return the place of each generator at the bus that stands for its own, by bus and place there."""
    before: Counter[int] = Counter()
    after: Counter[int] = Counter()
    places = {}
    for bus in buses:
        joined = stands.get(bus, bus)
        before[bus] += 1
        after[joined] += 1
        places[bus, before[bus]] = after[joined]
    return places


def _generator(
    row: GeneratorRow, stands: Mapping[int, int], places: Mapping[tuple[int, int], int]
) -> GeneratorRow:
    devices = tuple(_device(device, stands, places) for device in row.devices)
    control_bus = stands.get(row.control_bus, row.control_bus)
    return replace(row, bus=stands.get(row.bus, row.bus), devices=devices, control_bus=control_bus)


def _device(row: DeviceRow, stands: Mapping[int, int], places: Mapping[tuple[int, int], int]) -> DeviceRow:
    component = row.component
    numbers = {
        name: float(stands[int(row.parameters[name])])
        for name in (*component.buses, *component.branch[:2], "bus2")
        if int(row.parameters.get(name, 0)) in stands
    }
    if "bus2" in row.parameters:
        second = int(row.parameters["bus2"]), int(row.parameters.get("unit2", 1))
        if second in places:
            numbers["unit2"] = float(places[second])
    return replace(row, parameters={**row.parameters, **numbers}) if numbers else row
