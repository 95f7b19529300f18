"""Shunts that keep a voltage or a reactive power in the power flow, made to do so in a run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from psmr.base.errors import CaseError, shown, warn
from psmr.dae.declare.component import Component
from psmr.devices.secondary_voltage import OF_CONVERTER, OF_MACHINE
from psmr.devices.switched_shunts import (
    BLOCKS,
    ContinuousShunt,
    SwitchedByReactivePower,
    SwitchedShunt,
    shunt_positions,
)
from psmr.network.case.case import Case
from psmr.network.case.row import DeviceRow, device_name
from psmr.network.case.tables import VOLTAGE, GeneratorRow, ShuntRow
from psmr.network.case.tap_changers import fights

SHOWN = 5
"""Most names in a message."""


def switching_of(
    row: ShuntRow, values: Mapping[str, float], where: str = "", kind: type[Component] = SwitchedShunt
) -> DeviceRow:
    """Return what switches a shunt by its steps, with other parameters of its kind."""
    blocks = {f"{'nb'[k % 2]}_{k // 2 + 1}": x for k, x in enumerate(row.steps[: 2 * BLOCKS])}
    name = device_name(row.name, SwitchedShunt.role)
    return DeviceRow(name, SwitchedShunt.role, kind.__name__, {**blocks, **values}, where=where)


def with_switched_shunts(case: Case, delays: Sequence[float]) -> Case:
    """Return the case with shunts that are switched in a run as they are in the power flow.

    `delays`: times in s below and above the band before a step. Warns (PsmrWarning) with what is switched
    and what stands still. Raises CaseError for other delays.
    """
    if len(delays) != 2 or not all(math.isfinite(t) and t > 0 for t in delays):
        raise CaseError(
            f"switched_shunts = {shown(tuple(delays))}: must be two times > 0 in s, below and above the band,"
            " such as (10.0, 10.0)"
        )
    made, still = {}, []
    for row in case.shunts:
        if not row.regulating or not row.status or row.devices:
            continue
        values: dict[str, float] | str
        if (values := _stands_still(row)) or isinstance(values := _band(case, row), str):
            still.append(f"{row.name} ({values})")
            continue
        kind: type[Component] = ContinuousShunt if row.continuous else SwitchedShunt
        if row.controls != VOLTAGE:
            kind = SwitchedByReactivePower
        values |= {"t_low": delays[0], "t_high": delays[1]}
        made[row.name] = replace(row, switching=switching_of(row, values, row.where, kind))
    rows = [made.get(row.name, row) for row in case.shunts]
    for name, (_, words) in fights(case.transformers, rows, made).items():
        still.append(f"{name} ({words})")
        del made[name]
    named = ", ".join(made) if len(made) <= SHOWN else f"{', '.join([*made][:SHOWN])}, ..."
    words = f"; {len(still)} stand still: {'; '.join(still[:SHOWN])}" if still else ""
    low, high = delays
    switched = f"{len(made)} shunts are switched in a run, {low:g} s below and {high:g} s above their bands"
    typical = "; the file has no delays (typical: 5 to 60 s)"
    warn(f"{case.source or case.name}: {switched}{f': {named}' if made else ''}{words}{typical}")
    return replace(case, shunts=tuple(made.get(row.name, row) for row in case.shunts))


def metered(case: Case, bus: int) -> list[tuple[GeneratorRow, DeviceRow, tuple[str, ...]]]:
    """Return the units at a bus whose reactive power can be found, from which variables of which device."""
    found: list[tuple[GeneratorRow, DeviceRow, tuple[str, ...]]] = []
    for unit in case.generators:
        for device in unit.devices if unit.bus == bus else ():
            offered = {"v_re", "v_im", *device.component.states, *device.component.algebraic}
            names = next((names for names in (OF_MACHINE, OF_CONVERTER) if {*names} <= offered), None)
            found += [(unit, device, names)] if names else []
    return found


def _stands_still(row: ShuntRow) -> str:
    """Return why a shunt is not switched in a run whatever else there is; nothing where it is."""
    if row.controls == "converter":
        return (
            "keeps the reactive power of a VSC converter, MODSW = 4: not modelled; MODSW = 1 keeps a voltage"
        )
    if row.controls == "facts":
        return "keeps the shunt of a FACTS device, MODSW = 6, which is held at its powers in a run"
    if not row.control_bus:
        return "its bus SWREM is not there, or isolated"
    if not row.steps:
        return "no steps"
    wide = row.v_low < row.v_high or row.continuous
    return "" if wide else f"a band without width at {row.v_low:g}{' pu' * (row.controls == VOLTAGE)}"


def _band(case: Case, row: ShuntRow) -> dict[str, float] | str:
    """Return the band that a shunt keeps and where, or why it stands still."""
    bus = row.control_bus
    if row.controls == VOLTAGE:
        return {"bus": 0.0 if bus == row.bus else float(bus), "v_low": row.v_low, "v_high": row.v_high}
    if row.controls == "plant":
        units = [unit for unit, _, _ in metered(case, bus)]
        ends = [sum(getattr(unit, name) for unit in units) for name in ("q_min_mvar", "q_max_mvar")]
        if not units or not all(map(math.isfinite, ends)):
            return f"MODSW = 3: no unit at its bus {bus} whose reactive power has limits and can be measured"
    else:
        others = [other for other in case.shunts if other.bus == bus and other is not row and other.steps]
        ends = list(shunt_positions(others[0].steps)[[0, -1]]) if others else []
        if not others or not (others[0].continuous or others[0].static_var_system):
            return f"MODSW = 5: no shunt at its bus {bus} that goes continuously, MODSW = 2 or SVSMO1"
    low, high = (float(ends[0] + share * (ends[1] - ends[0])) for share in (row.v_low, row.v_high))
    return {f"{row.controls}_bus": float(bus), "q_low": low, "q_high": high}
