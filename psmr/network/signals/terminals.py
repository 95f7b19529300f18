"""Where devices meet the network, and what is computed there."""

from __future__ import annotations

from dataclasses import dataclass

from psmr.dae.declare.device import Device
from psmr.dae.system.system import System
from psmr.devices.network import Shunt
from psmr.network.topology.network import branches, buses, is_load, power_base

QUANTITIES = {"p": "MW", "q": "Mvar", "i": "pu"}
"""What is computed at a terminal, with its unit; the current is per unit on the system base."""


@dataclass(frozen=True)
class Terminal:
    """A place where a device injects current into a bus.

    Attributes
    ----------
    device, bus
        Names of both.
    end
        ``""`` for a device with one terminal, ``"_from"`` and ``"_to"`` for a branch.
    port
        End of the names of its ports, ``"i_re" + port``.
    sign
        1 where power into the bus counts positive (a source), -1 where power out of it does: what a load or
        a shunt takes, what flows into a branch.
    """

    device: str
    bus: str
    end: str
    port: str
    sign: float

    @property
    def names(self) -> tuple[str, ...]:
        """Names of its signals."""
        return tuple(f"{self.device}.{quantity}{self.end}" for quantity in QUANTITIES)


def terminals(system: System) -> tuple[Terminal, ...]:
    """Return the terminals of sources, loads, shunts and branches, in the order of the devices.

    None for a system without buses, or of which no device says the base of its per-unit powers.
    """
    known = set(buses(system))
    if not known or power_base(system) is None:
        return ()
    joins = {branch.name for branch in branches(system)}
    found = []
    for device in system.devices:
        ends = (("_from", "_i"), ("_to", "_j")) if device.name in joins else (("", ""),)
        for end, port in ends:
            bus = device.connections.get(f"i_re{port}", "").rpartition(".")[0]
            if bus in known and f"i_re{port}" in device.component.outputs:
                found.append(Terminal(device.name, bus, end, port, _sign(device, bool(end))))
    return tuple(found)


def _sign(device: Device, branch: bool) -> float:
    return -1.0 if branch or is_load(device) or issubclass(device.component, Shunt) else 1.0
