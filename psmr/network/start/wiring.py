"""From a case and its power flow to devices: names, parameters, and the connections within plants by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields

from psmr.base.errors import CaseError
from psmr.dae.declare.component import Component, parameters_of
from psmr.dae.declare.device import Device
from psmr.devices.catalogue import SOURCES, defaults
from psmr.devices.exciters.compensator import compensated
from psmr.devices.network import ALIASES, Bus, Shunt
from psmr.network.case.case import Case
from psmr.network.case.monitored_branches import branch_read, monitored_branches
from psmr.network.case.rows import (
    branch_component,
    branch_parameters,
    component_of,
    device_parameters,
    load_component,
    load_parameters,
    shunt_parameters,
)
from psmr.network.case.tables import DeviceRow, GeneratorRow, LoadRow, ShuntRow
from psmr.network.powerflow.powerflow import PowerFlow


def network_devices(case: Case, flow: PowerFlow) -> Iterator[Device]:
    """Yield buses, lines, transformers, loads, and shunts that are admittances, wired by bus name."""
    names = {bus.number: bus.name for bus in case.buses}
    voltage = flow.by_number()
    for bus in case.buses:
        other = {ALIASES: "\n".join(bus.aliases)} if bus.aliases else {}
        yield Device(bus.name, Bus, {"area": bus.area, "zone": bus.zone}, data=other)
    monitored = monitored_branches(case)
    for branch in case.branches:
        ends = {"i": names[branch.from_bus], "j": names[branch.to_bus]}
        wires = {
            f"{q}_{end}": f"{bus}.{q}" for end, bus in ends.items() for q in ("v_re", "v_im", "i_re", "i_im")
        }
        component = branch_component(branch, branch.name in monitored)
        data = sequence_data(case, branch.name)
        yield Device(branch.name, component, branch_parameters(branch), wires, data=data)
    for shunt in case.shunts:
        if shunt.device is not None:
            continue
        values, wires = shunt_parameters(shunt, case.base_mva), terminal_wires(names[shunt.bus])
        yield Device(shunt.name, Shunt, values, wires, data=sequence_data(case, shunt.name))
    for load in case.loads:
        yield load_device(case, load, voltage[load.bus], names[load.bus])
    for relay in case.relays:
        component = component_of(relay.device)
        values = device_parameters(relay.device, case, abs(voltage[relay.bus]))
        wires = terminal_wires(names[relay.bus], component)
        if relay.branch:
            branch = next(row for row in case.branches if row.name == relay.branch)
            second = relay.bus == branch.to_bus
            values["end"] = float(second)
            wires |= {port: f"{branch.name}.{port}_{'j' if second else 'i'}" for port in ("m_re", "m_im")}
        yield Device(relay.name, component, values, wires, acts_on=relay.acts_on)


def load_device(case: Case, row: LoadRow, voltage: complex, bus: str | None = None) -> Device:
    """Return the device of a load at the power flow's voltage, wired to its bus."""
    values = load_parameters(row, case, abs(voltage))
    wires = terminal_wires(bus or case.bus(row.bus).name)
    return Device(row.name, load_component(row), values, wires, data=sequence_data(case, row.name))


def shunt_device(case: Case, row: ShuntRow, device: DeviceRow, voltage: complex) -> Device:
    """Return the device that a shunt is in the dynamics, wired to its bus and to the one it regulates."""
    bus, component = case.bus(row.bus).name, component_of(device)
    wires = terminal_wires(bus, component) | _measured_at(case, device, component, bus)
    values = device_parameters(device, case, abs(voltage))
    return Device(row.name, component, values, wires, data=sequence_data(case, row.name))


def sequence_data(case: Case, element: str, part: float = 1.0) -> dict[str, float | str]:
    """Return what is given of an element's negative- and zero-sequence data, impedances times `part`."""
    row = case.sequence_of.get(element)
    if row is None:
        return {}
    given = {
        item.name: getattr(row, item.name) for item in fields(row) if item.name not in ("where", "element")
    }
    return {
        name: value * part if name[0] in "rx" else value
        for name, value in given.items()
        if value is not None and value != ""
    }


def terminal_wires(bus: str, component: type[Component] | None = None) -> dict[str, str]:
    """Return the connections of a device's voltage inputs and current outputs to its bus."""
    ports: tuple[str, ...] = ("v_re", "v_im", "i_re", "i_im")
    if component is not None:
        ports = tuple(port for port in ports if port in (*component.inputs, *component.outputs))
    return {port: f"{bus}.{port}" for port in ports}


def plant_devices(case: Case, generator: GeneratorRow, voltage: complex, power: complex) -> list[Device]:
    """Return the devices of a plant, wired to each other and to their bus by name.

    An input takes the variable of that name that another device of the plant offers, or the bus; otherwise it
    is held. A stabiliser has no set-points: it also reads what the machine holds. `voltage` and
    `power` (into the bus) are the power flow's, in pu.

    Raises
    ------
    CaseError
        Where two devices offer one name, a device gives a signal that nothing reads, or nothing gives what a
        stabiliser reads.
    """
    bus = case.bus(generator.bus).name
    kinds = {row.name: component_of(row) for row in generator.devices}
    if any(row.role == "compensator" for row in generator.devices):
        for row in generator.devices:
            if row.role == "exciter":
                kinds[row.name] = compensated(kinds[row.name])  # type: ignore[arg-type]  # a class is hashable
    takes_power = any(
        row.role in SOURCES and "mechanical_power" in parameters_of(kinds[row.name])
        for row in generator.devices
    )
    devices = []
    for row in generator.devices:
        component = kinds[row.name]
        wires = terminal_wires(bus, component) | _measured_at(case, row, component, bus)
        for port in component.inputs:
            offering = _offering(kinds, row.name, port)
            if len(offering) > 1:
                raise CaseError(
                    f"{row.place}: {port} is offered by {' and '.join(offering)}; keep one of them"
                )
            if offering:
                wires[port] = f"{offering[0]}.{_signal(component, port)}"
            elif row.role == "stabiliser" and port not in wires:
                wires[port] = f"{_holding(generator, row, port)}.{port}"
        values = device_parameters(row, case, abs(voltage), power.imag, power.real)
        values |= _shared(generator, row, component)
        if not takes_power and "mechanical_power" in values:
            values["mechanical_power"] = 0.0
        data: dict[str, float | str] = {}
        if row.role in SOURCES and generator.rating_mva:
            data = sequence_data(case, generator.name, case.base_mva / generator.rating_mva)
        devices.append(Device(row.name, component, values, wires, data=data))
    _check_used(generator, kinds)
    return devices


def _measured_at(case: Case, row: DeviceRow, component: type[Component], own: str) -> dict[str, str]:
    """Return the connections of a device to the buses and the branch that its parameters number."""
    wires: dict[str, str] = {}
    for name, (re, im) in component.buses.items():
        number = int(row.parameters.get(name, 0))
        bus = case.bus(number).name if number else own
        wires |= {re: f"{bus}.v_re", im: f"{bus}.v_im"}
    if read := branch_read(case, row):
        branch, end = read
        bus = case.bus(branch.from_bus if end == "i" else branch.to_bus).name
        read_at = (f"{branch.name}.m_re_{end}", f"{branch.name}.m_im_{end}", f"{bus}.v_re", f"{bus}.v_im")
        wires |= dict(zip(component.branch[3:], read_at, strict=True))
    return wires


def _offering(kinds: Mapping[str, type[Component]], name: str, port: str) -> list[str]:
    """Return the devices that offer what an input reads; one that passes a signal on stands before others."""
    signal = _signal(kinds[name], port)
    found = [other for other, kind in kinds.items() if other != name and signal in _offered(kind)]
    passing = [other for other in found if signal in kinds[other].passes]
    return passing or found


def _shared(generator: GeneratorRow, row: DeviceRow, component: type[Component]) -> dict[str, float]:
    """Return the parameters that a device takes from others of its plant, from the source of power first."""
    others = [other for other in generator.devices if other.name != row.name]
    found: dict[str, float] = {}
    for other in sorted(others, key=lambda other: other.role not in SOURCES):
        values = {**defaults(other.component), **other.parameters}
        found = {name: values[name] for name in component.shared if name in values} | found
    return found


def _offered(component: type[Component]) -> tuple[str, ...]:
    return (*component.states, *component.algebraic)


def _holding(generator: GeneratorRow, row: DeviceRow, port: str) -> str:
    """Return the machine that holds what a stabiliser reads."""
    source = next(device for device in generator.devices if device.role in SOURCES)
    if port not in component_of(source).inputs:
        raise CaseError(
            f"{row.place}: {row.type} reads {port}, which no device of {generator.name} gives; choose another"
            f" input code, or a machine that has {port} instead of {source.type}"
        )
    return source.name


def _signal(kind: type[Component], port: str) -> str:
    """Return the signal that an input reads: its name, but for one that is passed on."""
    return next((signal for signal, own in kind.passes.items() if own == port), port)


def _check_used(generator: GeneratorRow, kinds: Mapping[str, type[Component]]) -> None:
    """Raise CaseError where an exciter, governor or stabiliser acts on nothing: it would change nothing.

    A plant control has two references, and both must be taken.
    """
    for row in generator.devices:
        component = kinds[row.name]
        if component.outputs:
            continue
        read = {
            _signal(kind, port) for name, kind in kinds.items() if name != row.name for port in kind.inputs
        }
        if not read & set(_offered(component)):
            raise CaseError(
                f"{row.place}: no device of {generator.name} reads the output of {row.type}; remove it, or"
                " choose a"
                " machine (or exciter) that has this input"
            )
        if row.role == "plant_control" and (lost := [n for n in component.algebraic if n not in read]):
            source = next(device for device in generator.devices if device.role in SOURCES)
            own = kinds[source.name].inputs
            takes = ", ".join(port for port in own if port not in terminal_wires(""))
            raise CaseError(
                f"{row.place}: nothing in {generator.name} takes the {' and '.join(lost)} of {row.type};"
                f" {source.type} as it is set takes {takes}: choose another mode of it, or take {row.type}"
                " out"
            )
