"""What is dynamic in a region of a network: a closed set."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from psmr.base.errors import EventError, InputError, nearest, shown
from psmr.dae.declare.device import Device
from psmr.devices.dynamic_network.stator import with_stator
from psmr.devices.loads.zip import ZipLoad
from psmr.devices.network import Shunt
from psmr.network.case.region import ALL, Region
from psmr.network.topology.network import at_buses, branches, branches_in_service, buses, find_bus

if TYPE_CHECKING:
    from psmr.dae.system.system import System


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
