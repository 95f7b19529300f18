"""What a run needs for its events in a region with dynamics of the network, and no system without them.

A fault through an inductance has a device that carries its current, and an element that opens at the zeros of
its currents a pole in each phase.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from psmr.dae.declare.component import own_variables
from psmr.dae.declare.device import Device, structure_for
from psmr.dae.system.assemble import assemble
from psmr.dae.system.places import cached_by_devices
from psmr.devices.dynamic_network.branch import (
    DEPENDENT,
    JUNCTION,
    DynamicLine,
    DynamicLoad,
    DynamicReactor,
    DynamicTransformer,
)
from psmr.devices.dynamic_network.breaker_poles import (
    CLOSED,
    GROUNDED,
    POLE_VOLTAGES,
    THROUGH,
    UNGROUNDED,
    with_breaker_poles,
)
from psmr.devices.dynamic_network.bus import IDLE, DynamicBus, FaultInductor, ThreePhaseBus
from psmr.devices.dynamic_network.zero_sequence import ZeroSequenceBranch, ZeroSequenceBus
from psmr.devices.network import FAULTS
from psmr.network.dynamic.region import zero_name
from psmr.network.dynamic.switching import zero_elements

if TYPE_CHECKING:
    from psmr.dae.system.system import System

_OPENING = (DynamicLine, DynamicTransformer, DynamicReactor, DynamicLoad)

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


def with_inductors_and_breaker_poles(
    system: System, places: Iterable[Place], elements: Iterable[str]
) -> System:
    """Return a system with a device, out of service, for each fault through an inductance, and with poles.

    The states of such a device come after all others, and begin at zero. Elements that can have no poles stay
    as they are.
    """
    known = {device.name for device in system.devices}
    inductors = [
        _inductor(system, place)
        for place in dict.fromkeys(places)
        if inductor_name(place) not in known and carries_fault(system, place)
    ]
    opening: dict[str, Device] = {}
    for name in dict.fromkeys(elements):
        if can_have_breaker_poles(system, name) and not has_breaker_poles(system.device(name)):
            opening |= _with_breaker_poles(system, name)
    if not (inductors or opening):
        return system
    as_they_are = (replace(d, parameters=system.parameters_at(d.name)) for d in system.devices)
    return _assembled(system, [*(opening.get(d.name, d) for d in as_they_are), *inductors])


def has_breaker_poles(device: Device) -> bool:
    """Return whether each phase of an element may be open by itself."""
    return device.parameters.keys() >= CLOSED.keys()


def can_have_breaker_poles(system: System, name: str) -> bool:
    """Return whether each phase of an element may open at the zero of its current.

    In a region with phases these are branches of one section between buses that are no junctions, and
    reactors and loads at a bus with capacitance, with one path for the zero sequence or none.
    """
    device = system.device(name)
    if has_breaker_poles(device):
        return True
    p, component = device.parameters, device.component
    if not has_phases(system) or not issubclass(component, _OPENING):
        return False
    if "v_re" in component.inputs and (
        "d_re" in component.outputs
        or p.get("g")
        or not issubclass(system.device(_buses_of(device)[""]).component, DynamicBus)
    ):
        return False
    if {p.get("end_i"), p.get("end_j")} & {JUNCTION, DEPENDENT} or p.get("sections", 1) != 1:
        return False
    parts = zero_elements(system).get(name, ())
    return len(parts) <= 1 and all(issubclass(part.component, ZeroSequenceBranch) for part in parts)


@cached_by_devices
def has_phases(system: System) -> bool:
    """Return whether a system has a region with a zero sequence."""
    return any(issubclass(device.component, ZeroSequenceBus) for device in system.devices)


def _buses_of(device: Device) -> dict[str, str]:
    """Return the buses of an element by its ends."""
    ends = [end for end in ("", "_i", "_j") if f"v_re{end}" in device.component.inputs]
    return {end[1:]: device.connections[f"v_re{end}"].rpartition(".")[0] for end in ends}


def _with_breaker_poles(system: System, name: str) -> dict[str, Device]:
    """Return an element with poles at the end of its zero-sequence current, and what carries that."""
    device, found = system.device(name), {}
    device = replace(device, parameters=system.parameters_at(name))
    ends = _buses_of(device)
    end, zero, values, wires = next(iter(ends)), UNGROUNDED, {}, {}
    for part in zero_elements(system).get(name, ()):
        reads, own = part.connections, system.parameters_at(part.name)
        end = next(e for e, bus in ends.items() if reads["v_i"] == f"{zero_name(bus)}.v")
        zero = THROUGH if "v_j" in reads else GROUNDED
        values = {f"{parameter}_0": own[parameter] for parameter in ("r", "x", "tap")}
        wires = {"v_0": reads["v_i"], "i_0": f"{part.name}.i"}
        wires |= {"v_0_far": reads["v_j"]} if zero == THROUGH else {}
        across = {pole: f"{name}.{pole}" for pole in POLE_VOLTAGES}
        found[part.name] = replace(part, parameters=own, connections={**reads, **across})
    return found | {
        name: replace(
            device,
            component=with_breaker_poles(device.component, end, zero),
            parameters={**device.parameters, **values},
            connections={**device.connections, **wires},
        )
    }


def _assembled(system: System, devices: Sequence[Device]) -> System:
    """Return the system of other devices at the start of this one; what is new is zero there."""
    names = (*system.names_x, *system.names_y, *system.names_u)
    own = {f"{d.name}.{n}" for d in devices for n in (*own_variables(d.component), *d.held)}
    start = dict(zip(names, map(float, system.w0[:-1]), strict=True))
    start = dict.fromkeys(own, 0.0) | {n: value for n, value in start.items() if n in own}
    found = assemble(devices, start, name=system.name)
    return replace(found, w0=found.buffer(t=float(system.w0[-1])), timers=system.timers)


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
