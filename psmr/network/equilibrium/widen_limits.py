"""Widen the limits that a start lies beyond: how each is changed, and the words that report it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from psmr.dae.declare.component import parameters_of
from psmr.dae.declare.device import Device
from psmr.dae.system.system import System
from psmr.network.equilibrium.margins import Margin, margins

ADJUST, HOLD, REFUSE = "adjust", "hold", "refuse"
CHOICES = (ADJUST, HOLD, REFUSE)
"""What happens where a start is beyond a limit: the limit moves there, it holds, or that is an error."""


def widened(system: System, devices: Sequence[Device]) -> tuple[list[Device], list[str], list[Margin]]:
    """Return the devices with every limit that the start exceeds moved to the start.

    A limit that is a parameter takes the value that it limits. A limit that is computed moves with the limit
    parameter in it, by what the limit is short of; one that is a variable of the device, in proportion.

    Parameters
    ----------
    system
        The system at its start.
    devices
        The devices of its plants.

    Returns
    -------
    list of Device, list of str, list of Margin
        All devices; a sentence for each limit moved; the exceeded limits that no parameter moves.
    """
    found: list[Device] = []
    words: list[str] = []
    stuck: list[Margin] = []
    for device in devices:
        # A limit that is a variable follows its parameter when the system is solved again.
        done: list[Margin] = []
        while beyond := [m for m in margins(system, [device]) if m.outside and m not in (*stuck, *done)]:
            name, value = _moved(system, device, beyond[0])
            if name is None:
                stuck.append(beyond[0])
                continue
            if name != beyond[0].name and beyond[0].name:
                done.append(beyond[0])
            words.append(f"{beyond[0]}: {name} = {device.parameters[name]:.6g} set to {value:.6g}")
            device = replace(device, parameters={**device.parameters, name: value})
        found.append(device)
    return found, words, stuck


def _moved(system: System, device: Device, margin: Margin) -> tuple[str | None, float]:
    """Return the parameter that moves a limit to what it limits, and its new value; None where none does."""
    if margin.name in device.parameters:
        return margin.name, margin.value
    named = margin.name.replace("_high", "_max").replace("_low", "_min")
    if margin.name in device.component.algebraic and named in device.parameters and margin.limit:
        return named, device.parameters[named] * margin.value / margin.limit
    here = margins(system, [device])
    k = here.index(margin)
    ending = "_max" if margin.side == "upper" else "_min"
    references = device.component.references if margin.state else ()
    for name in (*references, *parameters_of(device.component)):
        if not (name.endswith(ending) or name in references) or name not in device.parameters:
            continue
        value = device.parameters[name]

        def short(trial: float, name: str = name) -> float:
            changed = replace(device, parameters={**device.parameters, name: trial})
            moved = margins(system, [changed])
            return moved[k].excess if len(moved) == len(here) else np.nan

        step = max(abs(value), 1.0)
        slope = (short(value + step) - short(value)) / step
        new = value - short(value) / slope if slope else np.nan
        # Limits are linear in their parameters: one step arrives, up to rounding.
        if np.isfinite(new) and abs(short(new)) <= 1e-9 * max(1.0, abs(margin.value)):
            return name, float(new)
    return None, 0.0
