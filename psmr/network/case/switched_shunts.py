"""Shunts that regulate a voltage in the power flow, made to do so in a run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from psmr.base.errors import CaseError, shown, warn
from psmr.devices.switched_shunts import BLOCKS, SwitchedShunt
from psmr.network.case.case import Case
from psmr.network.case.row import DeviceRow, device_name
from psmr.network.case.tables import ShuntRow

SHOWN = 5
"""Most names in a message."""


def switching_of(row: ShuntRow, values: Mapping[str, float], where: str = "") -> DeviceRow:
    """Return what switches a shunt by its steps, with other parameters of `SwitchedShunt`."""
    blocks = {f"{'nb'[k % 2]}_{k // 2 + 1}": x for k, x in enumerate(row.steps[: 2 * BLOCKS])}
    name = device_name(row.name, SwitchedShunt.role)
    return DeviceRow(name, SwitchedShunt.role, SwitchedShunt.__name__, {**blocks, **values}, where=where)


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
        if why := _stands_still(row):
            still.append(f"{row.name} ({why})")
            continue
        bus = 0.0 if row.control_bus == row.bus else float(row.control_bus)
        values = {"bus": bus, "v_low": row.v_low, "v_high": row.v_high, "t_low": delays[0]}
        device = switching_of(row, {**values, "t_high": delays[1]}, row.where)
        made[row.name] = replace(row, switching=device)
    named = ", ".join(made) if len(made) <= SHOWN else f"{', '.join([*made][:SHOWN])}, ..."
    words = f"; {len(still)} stand still: {'; '.join(still[:SHOWN])}" if still else ""
    low, high = delays
    switched = f"{len(made)} shunts are switched in a run, {low:g} s below and {high:g} s above their bands"
    typical = "; the file has no delays (typical: 5 to 60 s)"
    warn(f"{case.source or case.name}: {switched}{f': {named}' if made else ''}{words}{typical}")
    return replace(case, shunts=tuple(made.get(row.name, row) for row in case.shunts))


def _stands_still(row: ShuntRow) -> str:
    """Return why a shunt is not switched in a run; nothing where it is."""
    if row.continuous:
        return "continuous: MODSW = 2; a model of a static var system moves it"
    if not row.control_bus:
        return "controls a reactive power, or no bus that is there"
    if not row.steps:
        return "no steps"
    return "" if row.v_low < row.v_high else f"a band without width at {row.v_low:g} pu"
