"""Parameters that are set by the start of a plant: a zero in the data stands for "the value at the start"."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace

from psmr.base.errors import PsmrWarning
from psmr.dae.declare.device import Device
from psmr.network.equilibrium.equilibrium import Plant


def decide(plants: Sequence[Plant], start: Mapping[str, float]) -> list[Plant]:
    """Return the plants with the parameters that their start decides (`Component.at_start`).

    What changed has to be solved again. Warns (PsmrWarning) of every such parameter of a case,
    with its value.

    Parameters
    ----------
    plants
        With their equilibrium for the parameters as they are.
    start
        States, algebraic variables and set-points of that equilibrium, by full name.
    """
    return [replace(plant, devices=tuple(_decided(d, start) for d in plant.devices)) for plant in plants]


def _decided(device: Device, start: Mapping[str, float]) -> Device:
    component = device.component
    own = {v: start[f"{device.name}.{v}"] for v in (*component.states, *component.algebraic)}
    found = component.at_start(own, device.parameters)
    for name, value in found.items():
        if name in component.memory:
            continue
        warnings.warn(
            f"{device.name}.{name} = {device.parameters[name]:g} stands for the value that holds the start:"
            f" {value:.6g}",
            PsmrWarning,
            stacklevel=4,
        )
    return replace(device, parameters={**device.parameters, **found}) if found else device
