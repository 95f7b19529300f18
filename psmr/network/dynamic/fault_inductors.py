"""Faults through an inductance at buses with their own dynamics: the devices that carry their currents."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from psmr.dae.declare.device import Device
from psmr.dae.declare.structure import structure_for
from psmr.dae.system.assemble import assemble
from psmr.devices.dynamic_network.bus import DynamicBus
from psmr.devices.dynamic_network.fault_inductor import IDLE, FaultInductor
from psmr.devices.dynamic_network.three_phase_bus import ThreePhaseBus
from psmr.devices.network import FAULTS
from psmr.network.dynamic.zero_circuit import zero_name

if TYPE_CHECKING:
    from psmr.dae.system.system import System

Place = tuple[str, str]
"""A bus and the phases that a fault joins there."""


def carries_fault(system: System, place: Place) -> bool:
    """Return whether a fault through an inductance has a current of its own at a place."""
    bus, phases = place
    component = system.device(bus).component
    return issubclass(component, ThreePhaseBus if "g" in phases else DynamicBus)


def inductor_name(place: Place) -> str:
    """Return the name of the device that carries the current of a fault through an inductance."""
    return "_fault_".join(place)


def inductor_values(place: Place, **values: float) -> tuple[tuple[str, str, float], ...]:
    """Return the parameters of the device of a fault: without one, but for those given."""
    return tuple((inductor_name(place), name, value) for name, value in (IDLE | values).items())


def with_fault_inductors(system: System, places: Iterable[Place]) -> System:
    """Return a system that has a device, out of service, for each fault through an inductance.

    Its states come after all others, and begin at zero.
    """
    known = {device.name for device in system.devices}
    new = [
        _inductor(system, place)
        for place in dict.fromkeys(places)
        if inductor_name(place) not in known and carries_fault(system, place)
    ]
    if not new:
        return system
    names = (*system.names_x, *system.names_y, *system.names_u)
    start = dict(zip(names, map(float, system.w0[:-1]), strict=True))
    start |= {f"{d.name}.{state}": 0.0 for d in new for state in d.component.states}
    devices = [replace(d, parameters=system.parameters_at(d.name)) for d in system.devices]
    found = assemble([*devices, *new], start, name=system.name)
    return replace(found, w0=found.buffer(t=float(system.w0[-1])))


def _inductor(system: System, place: Place) -> Device:
    bus, phases = place
    grounded = issubclass(system.device(bus).component, ThreePhaseBus)
    values = {
        "f_n": system.device(bus).parameters["f_n"],
        "phases": float(FAULTS.index(phases)),
        "grounded": float(grounded),
    }
    wires = {port: f"{bus}.{port}" for port in ("v_re", "v_im", "i_re", "i_im")}
    if grounded:
        wires |= {"v_0": f"{zero_name(bus)}.v", "i_0": f"{zero_name(bus)}.i"}
    component = structure_for(FaultInductor, values)
    return Device(inductor_name(place), component, values, wires, acts_on=bus)
