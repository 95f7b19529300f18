"""Which part of a network has its own dynamics: by bus, by distance, by device."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from psmr.base.arguments import settle_fields
from psmr.base.errors import EventError, InputError, nearest, shown
from psmr.dae.declare.device import Device
from psmr.devices.dynamic_network.branch import MOST_SECTIONS
from psmr.devices.dynamic_network.stator import with_stator
from psmr.devices.loads.zip import ZipLoad
from psmr.devices.network import Shunt
from psmr.network.topology.network import at_buses, branches, branches_in_service, buses, find_bus

if TYPE_CHECKING:
    from psmr.dae.system.system import System

ALL = "all"


@dataclass(frozen=True)
class Region:
    """The part of a network that has its own dynamics; the rest stays phasors.

    Parameters
    ----------
    buses
        Buses as ``5`` or ``"bus5"``, with all that is connected to them; ``"all"`` for every bus.
    within
        Number of branches around `buses` up to which buses belong to the region as well.
    devices
        Names of buses, branches, loads, reactors and machines that have their dynamics beside those of
        `buses`. A bus brings its branches, and branches bring a bus of which they are all; loads and machines
        there come only if they are named.
    loads
        Whether loads of constant impedance at `buses` are resistance and inductance. Other loads stay as
        they are.
    stators
        Whether machines at `buses` have the fluxes of their stators as states.
    stator_speed
        Whether the speed voltages of these stators are flux times speed; otherwise they are the flux, as
        stators without dynamics have them.
    sections
        Number of pi sections of each line with charging in the region. Together they are the line's pi at
        nominal frequency.
    zero_sequence
        Whether the region has its phases: the zero sequence is states of its own, each phase may have a fault
        to ground or be open, and breakers open at the zeros of their currents.
    travelling_waves
        Names of lines in the region on which waves travel in place of pi sections.

    Raises
    ------
    InputError
        For a region of nothing, a name that is no text or a number that cannot be.
    """

    buses: tuple[int | str, ...] = ()
    within: int = 0
    devices: tuple[str, ...] = ()
    loads: bool = True
    stators: bool = True
    stator_speed: bool = True
    sections: int = 1
    zero_sequence: bool = False
    travelling_waves: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("buses", "devices", "travelling_waves"):
            given = getattr(self, name)
            if isinstance(given, str | int) and not isinstance(given, bool):
                object.__setattr__(self, name, (given,))
        settle_fields(self, numbers=True)
        if not self.buses and not self.devices:
            raise InputError(
                'a region names no bus and no device; write psmr.Region(5) or psmr.Region("all")'
            )
        if self.zero_sequence and self.travelling_waves:
            raise InputError(
                "Region: zero_sequence and travelling_waves: a travelling wave has no zero sequence here"
            )
        if self.within < 0:
            raise InputError(f"Region: within = {self.within}: must be >= 0, a number of branches")
        if not 1 <= self.sections <= MOST_SECTIONS:
            raise InputError(f"Region: sections = {self.sections}: must be from 1 to {MOST_SECTIONS}")

    def __str__(self) -> str:
        parts = [f"bus {', '.join(map(str, self.buses))}" if self.buses != (ALL,) else "all buses"]
        parts = parts if self.buses else []
        if self.within:
            parts.append(f"within {self.within} branches")
        if self.devices:
            parts.append(f"{len(self.devices)} devices")
        return ", ".join(parts)


def region_devices(system: System, region: Region) -> frozenset[str]:
    """Return the names of all that is dynamic in a region of a phasor system: a closed set.

    A dynamic bus has dynamic branches, and a bus all of whose branches are dynamic is dynamic.

    Raises
    ------
    InputError
        For a bus or device that is not there, and a device that has no dynamics of its own to add.
    """
    centre = _named_buses(system, region)
    joined = branches_in_service(system)
    for _ in range(region.within):
        centre = centre | {end for b in joined if centre & set(b.ends) for end in b.ends}
    found = set(centre)
    for bus, devices in at_buses(system).items():
        if bus in centre:
            found |= {d.name for d in devices if _comes_with_its_bus(d, region)}
    known = {device.name: device for device in system.devices}
    names = set(buses(system)) | {b.name for b in joined}
    names |= {d.name for d in known.values() if can_be_dynamic(d)}
    for name in region.devices:
        if name not in known:
            raise InputError(f"Region: there is no device {shown(name)}{nearest(name, names)}")
        if name not in names:
            kind = known[name].component.__name__
            raise InputError(
                f"Region: {name}: {kind} has no dynamics that a phasor network leaves out; name its bus, or"
                " branches, loads of constant impedance, reactors and machines with an algebraic stator"
            )
        found.add(name)
    return closed(system, found)


def closed(system: System, names: Iterable[str]) -> frozenset[str]:
    """Return names with the branches of their buses, and the buses all of whose branches they have.

    Branches out of service come with their buses: they may close.
    """
    found, joined = set(names), branches_in_service(system)
    found |= {b.name for b in branches(system) if found & set(b.ends)}
    at = {bus: {b.name for b in joined if bus in b.ends} for bus in buses(system)}
    return frozenset(found | {bus for bus, own in at.items() if own and own <= found})


def can_be_dynamic(device: Device) -> bool:
    """Return whether a load, shunt or machine of a phasor system has a form with dynamics of the network."""
    component, p = device.component, device.parameters
    if issubclass(component, ZipLoad):
        # Resistance and inductance of one sign: their current decays. Netted generation has both below zero.
        return bool(p["p_z"] == 1 and p["q_z"] == 1 and p["q"] != 0 and p["p"] / p["q"] >= 0)
    if issubclass(component, Shunt):
        return bool(p["b"] < 0)
    return with_stator(component) is not None


def _comes_with_its_bus(device: Device, region: Region) -> bool:
    if not can_be_dynamic(device):
        return False
    if issubclass(device.component, ZipLoad):
        return region.loads
    return issubclass(device.component, Shunt) or region.stators


def _named_buses(system: System, region: Region) -> set[str]:
    if ALL in region.buses:
        return set(buses(system))
    try:
        return {find_bus(system, bus, "Region") for bus in region.buses}
    except EventError as error:
        raise InputError(str(error)) from error
