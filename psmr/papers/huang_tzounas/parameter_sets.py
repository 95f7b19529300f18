"""Parameter sets of controls with which the nine-bus system has the paper's size, mode and fast set.

The paper prints no data of its controls. `wscc9-static.toml` holds one set, ``wscc9-static-sets.csv`` all.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd

from psmr.base.errors import InputError
from psmr.network.case.case import Case

SETS = "wscc9-static-sets.csv"


def parameter_sets(folder: Path) -> dict[str, dict[str, float]]:
    """Return the sets of ``wscc9-static-sets.csv`` in a folder: name -> ``role.parameter`` -> value.

    Raises
    ------
    InputError
        For a value that is not a number.
    """
    table = pd.read_csv(folder / SETS).set_index("set")
    for name, row in table.iterrows():
        for column, value in row.items():
            if not isinstance(value, (int, float)) or value != value:
                raise InputError(f"{folder / SETS}, set {name}, {column} = {value!r}: must be a number")
    return {
        str(name): {str(column): float(value) for column, value in row.items()}
        for name, row in table.iterrows()
    }


def with_parameters(case: Case, values: dict[str, float]) -> Case:
    """Return the case with other parameters of the devices of every plant.

    Parameters
    ----------
    case
        A case whose plants all have the same roles.
    values
        ``role.parameter`` -> value, for instance ``exciter.k_a``.

    Raises
    ------
    InputError
        For a role or parameter that a plant has not.
    """
    plants = []
    for plant in case.generators:
        roles = {device.role: device for device in plant.devices}
        for name, value in values.items():
            role, _, parameter = name.partition(".")
            if role not in roles or parameter not in roles[role].parameters:
                raise InputError(f"{plant.name} has no {name}; {name} = {value:g} has no place")
            device = roles[role]
            roles[role] = replace(device, parameters={**device.parameters, parameter: value})
        plants.append(replace(plant, devices=tuple(roles.values())))
    return replace(case, generators=tuple(plants))
