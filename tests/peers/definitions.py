"""psmr's cases with the options and definitions of ANDES, where the two programs differ by choice.

Each is a difference that docs/comparison.md explains; what is left after them is to agree.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from psmr.grid.case import Case
from psmr.grid.tables import DeviceRow

GUARD = 1e-8
"""pu that ANDES adds to r and x of every branch, so that none is divided by zero (its Line, y_hk)."""

IMPEDANCE = (1.0, 0.0, 0.0)


def guarded(case: Case) -> Case:
    """Add to every branch what ANDES adds."""
    rows = {
        table: tuple(
            dataclasses.replace(row, r=row.r + GUARD, x=row.x + GUARD) for row in getattr(case, table)
        )
        for table in ("lines", "transformers")
    }
    return dataclasses.replace(case, **rows)


def impedance_loads(case: Case) -> Case:
    """Let every load be an impedance from the power flow on, as ANDES' PQ is by its defaults."""
    loads = tuple(dataclasses.replace(row, p_zip=IMPEDANCE, q_zip=IMPEDANCE) for row in case.loads)
    return dataclasses.replace(case, loads=loads)


def system_base_currents(case: Case) -> Case:
    """Let the sources of ESST3A and ESST4B see currents per unit on the system base.

    The standard has them on the machine's. The gains of the current, k_i and x_l, take the quotient.
    """

    def changed(row: DeviceRow, s_n: float) -> DeviceRow:
        if row.type not in ("ESST3A", "ESST4B"):
            return row
        scaled = {name: row.parameters[name] * s_n / case.base_mva for name in ("k_i", "x_l")}
        return dataclasses.replace(row, parameters=dict(row.parameters) | scaled)

    return each_device(case, changed)


def each_device(case: Case, change: Callable[[DeviceRow, float], DeviceRow]) -> Case:
    """Change the devices of each plant, given the base of its machine in MVA."""
    plants = []
    for plant in case.generators:
        s_n = next(row.parameters["s_n"] for row in plant.devices if "s_n" in row.parameters)
        devices = tuple(change(row, s_n) for row in plant.devices)
        plants.append(dataclasses.replace(plant, devices=devices))
    return dataclasses.replace(case, generators=tuple(plants))


def as_andes(case: Case) -> Case:
    """Return the case with everything above."""
    return system_base_currents(impedance_loads(guarded(case)))
