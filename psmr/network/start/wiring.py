"""From a case and its power flow to devices: names, parameters, connections, and what each starts from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from types import SimpleNamespace
from typing import Any, cast

import numpy as np

from psmr.base.errors import CaseError, InputError
from psmr.dae.declare.component import Component, NumericMath, parameters_of
from psmr.dae.declare.device import Device
from psmr.devices.catalogue import LIMITER_ROLES, SOURCES
from psmr.devices.controller import LOOP, MACHINE, NETWORK
from psmr.devices.converters.bridge import BRIDGE, GRID
from psmr.devices.exciters.exciter import GATE, compensated, limited
from psmr.devices.governors.steam import IEEEG1CC
from psmr.devices.network import ALIASES, Bus, MonitoredLine, Shunt
from psmr.devices.placement import placement
from psmr.network.case.case import Case
from psmr.network.case.checks import branch_read, monitored_branches
from psmr.network.case.rows import (
    branch_component,
    branch_parameters,
    columns,
    component_of,
    device_parameters,
    load_component,
    load_parameters,
    shunt_parameters,
)
from psmr.network.case.tables import BranchRow, DeviceRow, GeneratorRow, LoadRow, ShuntRow, TransformerRow
from psmr.network.powerflow.powerflow import PowerFlow
from psmr.network.start.areas import area_devices, area_start, control_wires, moved_by_area, read_of_controls
from psmr.network.start.direct_current import dc_devices
from psmr.network.start.equilibrium import StartingPlant
from psmr.network.start.offers import givers, offered_by, signal_read
from psmr.network.start.switched_shunts import switching_devices, switching_start
from psmr.network.start.tap_changers import correction_data, tap_changer_devices, tap_changer_start
from psmr.sampled.code import ControllerCode


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
        if isinstance(branch, TransformerRow):
            data |= correction_data(branch)
            if "ratio" in component.inputs and branch.tap_changer is not None:
                wires["ratio"] = f"{branch.tap_changer.name}.ratio"
        yield Device(branch.name, component, branch_parameters(branch), wires, data=data)
    for shunt in (row for row in case.shunts if row.device is None):
        values, wires = shunt_parameters(shunt, case.base_mva), terminal_wires(names[shunt.bus])
        yield Device(shunt.name, Shunt, values, wires, data=sequence_data(case, shunt.name))
    direct = dc_devices(case, voltage)[0]
    converters = {device.name for device in direct}
    for load in case.loads:
        if load.name not in converters:
            yield load_device(case, load, voltage[load.bus], names[load.bus])
    yield from area_devices(case, flow)
    for relay in case.relays:
        component = component_of(relay.device)
        values = device_parameters(relay.device, case, abs(voltage[relay.bus]))
        wires = terminal_wires(names[relay.bus], component)
        if relay.branch:
            branch = case.branches_by_name[relay.branch]
            second = relay.bus == branch.to_bus
            values["end"] = float(second)
            wires |= {port: f"{branch.name}.{port}_{'j' if second else 'i'}" for port in ("m_re", "m_im")}
        yield Device(relay.name, component, values, wires, acts_on=_source_of(case, relay.acts_on))
    yield from tap_changer_devices(case, flow)
    yield from direct
    yield from switching_devices(case, flow)


def _source_of(case: Case, name: str) -> str:
    """Return the machine or converter of a generator, which may bear another name; of others the name."""
    devices = (d for row in case.generators if row.name == name for d in row.devices)
    return next((device.name for device in devices if device.role in SOURCES), name)


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

    Raises CaseError where two devices offer one name, a device gives a signal that nothing reads, or nothing
    gives what a stabiliser reads.
    """
    bus = case.bus(generator.bus).name
    kinds = {row.name: component_of(row) for row in generator.devices}
    kinds |= _code_classes(generator, kinds)
    kinds |= moved_by_area(generator, kinds)
    if any(row.role == "compensator" for row in generator.devices):
        for row in generator.devices:
            if row.role == "exciter":
                kinds[row.name] = compensated(kinds[row.name])
    kinds |= _with_limiters(generator, kinds)
    takes_power = any(
        row.role in SOURCES and "mechanical_power" in parameters_of(kinds[row.name])
        for row in generator.devices
    )
    devices = []
    source = next((row.name for row in generator.devices if row.role in SOURCES), "")
    for row in generator.devices:
        component = kinds[row.name]
        wires = terminal_wires(bus, component) | _measured_at(case, row, component, bus)
        wires |= control_wires(case, generator, component)
        if row.code is not None:
            wires |= row.code.elsewhere()
        for port in component.inputs:
            offering = givers(kinds, row.name, port)
            if len(offering) > 1:
                raise CaseError(
                    f"{row.place}: {port} is offered by {' and '.join(offering)}; keep one of them"
                )
            if offering:
                wires[port] = f"{offering[0]}.{signal_read(component, port)}"
            elif row.role in ("stabiliser", *LIMITER_ROLES) and port not in wires:
                wires[port] = f"{_holding(generator, row, port)}.{port}"
            elif (
                row.code is not None
                and port not in (*wires, *component.optional)
                and not port.endswith("_ref")
            ):
                raise CaseError(
                    f"{row.place}: inputs: nothing in {generator.name} gives {port}; name a variable of its"
                    " devices, a set-point (p_ref, q_ref, v_ref), a quantity of the terminal, or a number"
                )
        values = device_parameters(row, case, abs(voltage), power.imag, power.real)
        values |= _shared(generator, row, component)
        if not takes_power and "mechanical_power" in values:
            values["mechanical_power"] = 0.0
        data: dict[str, float | str] = {}
        if row.role in SOURCES and generator.rating_mva:
            data = sequence_data(case, generator.name, case.base_mva / generator.rating_mva)
        code = None
        if row.code is not None:
            values |= {"v_base": case.bus(generator.bus).base_kv}
            code = _code(row, values, bus)
        acts_on = source if placement(component).acts_on == "source" else ""
        devices.append(Device(row.name, component, values, wires, acts_on, data=data, code=code))
    _check_used(generator, kinds)
    return devices


def _with_limiters(
    generator: GeneratorRow, kinds: Mapping[str, type[Component]]
) -> dict[str, type[Component]]:
    """Return the class of an exciter beside limiters, by its name: their signals act where its codes say."""
    limiters = [row for row in generator.devices if row.role in LIMITER_ROLES]
    found: dict[str, type[Component]] = {}
    for row in generator.devices if limiters else ():
        if row.role != "exciter":
            continue
        kind, places = cast("Any", kinds[row.name]), []
        for limiter in limiters:
            name, own = LIMITER_ROLES[limiter.role], cast("Any", kinds[limiter.name])
            try:
                code = kind.place(name, row.values)
            except (AttributeError, InputError) as error:
                why = error if isinstance(error, InputError) else "takes no signal of a limiter"
                raise CaseError(f"{row.place}: {row.type}: {why}; or remove {limiter.name}") from None
            acts_at = getattr(own, "acts_at", "")
            code = min(code, GATE - 1) if acts_at == "error" else code
            if acts_at == "gate" and code < GATE:
                where = f"acts at a gate, and {row.type} adds its signal to the error"
                raise CaseError(f"{limiter.place}: {limiter.type}: {where}; choose another limiter")
            places.append((name, code))
        try:
            found[row.name] = limited(kind, tuple(sorted(places)))
        except InputError as error:
            raise CaseError(f"{row.place}: {error}; correct the code of the exciter") from None
    return found


def _code_classes(
    generator: GeneratorRow, kinds: Mapping[str, type[Component]]
) -> dict[str, type[Component]]:
    """Return the classes of the controllers in files of a plant, by the frame of its currents."""
    codes = [row for row in generator.devices if row.code is not None]
    if not codes:
        return {}
    source = next(row for row in generator.devices if row.role in SOURCES)
    offered = offered_by(kinds[source.name])
    frame = MACHINE if source.role == "machine" else LOOP if "theta" in offered else NETWORK
    terminal = GRID if set(GRID) <= set(offered) else BRIDGE
    return {row.name: row.code.component(frame, terminal) for row in codes if row.code is not None}


def _code(row: DeviceRow, values: Mapping[str, float], bus: str) -> ControllerCode:
    """Return the code of a controller in a file, with the parameters of its device."""
    assert row.code is not None
    if row.code.needs_voltage() and not values["v_base"]:
        raise CaseError(f"{row.place}: its ports are in kV or kA: give {bus} its base_kv")
    return ControllerCode(row.code.file, row.name, row.code.scales(SimpleNamespace(**values)))


def _measured_at(case: Case, row: DeviceRow, component: type[Component], own: str) -> dict[str, str]:
    """Return the connections of a device to the buses and the branch that its parameters number."""
    wires: dict[str, str] = {}
    for name, (re, im) in placement(component).buses.items():
        number = int(row.parameters.get(name, 0))
        bus = case.bus(number).name if number else own
        wires |= {re: f"{bus}.v_re", im: f"{bus}.v_im"}
    if read := branch_read(case, row):
        branch, end = read
        bus = case.bus(branch.from_bus if end == "i" else branch.to_bus).name
        read_at = (f"{branch.name}.m_re_{end}", f"{branch.name}.m_im_{end}", f"{bus}.v_re", f"{bus}.v_im")
        wires |= dict(zip(placement(component).branch[3:], read_at, strict=True))
    return wires


def _shared(generator: GeneratorRow, row: DeviceRow, component: type[Component]) -> dict[str, float]:
    """Return the parameters that a device takes from others of its plant, from the source of power first."""
    others = [other for other in generator.devices if other.name != row.name]
    found: dict[str, float] = {}
    for other in sorted(others, key=lambda other: other.role not in SOURCES):
        values = other.values
        found = {name: values[name] for name in placement(component).shared if name in values} | found
    return found


def _holding(generator: GeneratorRow, row: DeviceRow, port: str) -> str:
    """Return the machine that holds what a stabiliser reads."""
    source = next(device for device in generator.devices if device.role in SOURCES)
    if port not in component_of(source).inputs:
        raise CaseError(
            f"{row.place}: {row.type} reads {port}, which no device of {generator.name} gives; choose another"
            f" input code, or a machine that has {port} instead of {source.type}"
        )
    return source.name


def _check_used(generator: GeneratorRow, kinds: Mapping[str, type[Component]]) -> None:
    """Raise CaseError where an exciter, governor or stabiliser acts on nothing: it would change nothing.

    A plant control has two references, and both must be taken.
    """
    for row in generator.devices:
        component = kinds[row.name]
        if component.outputs:
            continue
        read = {
            signal_read(kind, port)
            for name, kind in kinds.items()
            if name != row.name
            for port in kind.inputs
        }
        if not read & set(offered_by(component)):
            raise CaseError(
                f"{row.place}: no device of {generator.name} reads the output of {row.type}; remove it, or"
                " choose a"
                " machine (or exciter) that has this input"
            )
        given = (*component.algebraic, *component.sampled_outputs)
        if row.role == "plant_control" and (lost := [name for name in given if name not in read]):
            source = next(device for device in generator.devices if device.role in SOURCES)
            own = kinds[source.name].inputs
            takes = ", ".join(port for port in own if port not in terminal_wires(""))
            raise CaseError(
                f"{row.place}: nothing in {generator.name} takes the {' and '.join(lost)} of {row.type};"
                f" {source.type} as it is set takes {takes}: choose another mode of it, or take {row.type}"
                " out"
            )


def generator_plant(
    case: Case, row: GeneratorRow, voltages: Mapping[int, complex], power: complex
) -> StartingPlant:
    """Return the plant of a generator with a power in pu, at the voltages of the buses by number.

    Raises CaseError where it has no dynamic devices, or they cannot be wired to each other.
    """
    if not row.devices:
        raise CaseError(
            f"{row.place}: no machine and no converter; add a [generator.machine] table, name the DYR file "
            "that belongs to a .raw file (--dynamics), or have standard ones added (psmr convert "
            "--add-dynamics, psmr.add_dynamics)"
        )
    voltage = voltages[row.bus]
    current = complex(np.conj(power / voltage))
    devices = tuple(plant_devices(case, row, voltage, power))
    read = {target.rpartition(".")[0] for device in devices for target in device.connections.values()}
    known = sorted(read & case.buses_by_name.keys())
    far: dict[str, complex] = {
        name: voltages[case.buses_by_name[name].number] for name in known if name != case.bus(row.bus).name
    }
    flows = dict.fromkeys(read_of_controls(devices), 0.0)
    for name in sorted(read & case.branches_by_name.keys()):
        flows |= branch_start(case.branches_by_name[name], voltages)
    return StartingPlant(row.name, devices, voltage, current, far, flows)


def motor_plant(case: Case, row: LoadRow, voltage: complex) -> StartingPlant:
    """Return a load with states of its own and what the power flow gives its bus for it.

    Raises CaseError where a motor cannot take its power at the voltage, with the most that it can.
    """
    device = load_device(case, row, voltage)
    p = SimpleNamespace(**device.parameters)
    most = np.inf
    if row.motor is not None:
        most = cast("Any", device.component).most_power(p, abs(voltage)) * p.s_n
    if row.p_mw > most:
        raise CaseError(
            f"{row.place}: p_mw = {row.p_mw:g}: the most that this motor takes at {abs(voltage):.4f} pu is"
            f" {most:.4g} MW, at its pull-out torque; raise s_n = {p.s_n:g}, or correct its reactances"
        )
    current = -complex(row.p_mw, -row.q_mvar) / case.base_mva / voltage.conjugate()
    return StartingPlant(row.name, (device,), voltage, current)


def shunt_plant(
    case: Case, row: ShuntRow, device: DeviceRow, voltages: Mapping[int, complex]
) -> StartingPlant:
    """Return the device that a shunt is, with the shunt's current at the voltages of the buses by number."""
    made = shunt_device(case, row, device, voltages[row.bus])
    number = int(device.parameters.get("bus", 0)) or row.bus
    far = {case.bus(number).name: voltages[number]} if number != row.bus else {}
    current = -complex(row.g_mw, row.b_mvar) / case.base_mva * voltages[row.bus]
    return StartingPlant(row.name, (made,), voltages[row.bus], current, far)


def check_load(row: LoadRow, voltage: complex) -> None:
    """Raise CaseError where a characteristic could not have its given power at the power flow's voltage."""
    if row.characteristic is None:
        return
    least = row.characteristic.parameters.get("v_min", row.v_min)
    if abs(voltage) <= least:
        raise CaseError(
            f"{row.place}: v_min = {least:g}: the power flow's voltage there is {abs(voltage):.4f} pu, where"
            " the load could not have its power; lower v_min, or correct the power flow"
        )


def bus_start(case: Case, flow: PowerFlow) -> dict[str, float]:
    """Return the starting values of the buses by full name, and of what measures their phase."""
    start: dict[str, float] = {}
    for bus, v in zip(case.buses, flow.voltage, strict=True):
        start |= {f"{bus.name}.v_re": float(v.real), f"{bus.name}.v_im": float(v.imag)}
    voltages, monitored = flow.by_number(), monitored_branches(case)
    start |= dc_devices(case, voltages)[1]
    for branch in case.branches if monitored else ():
        start |= branch_start(branch, voltages) if branch.name in monitored else {}
    start |= area_start(case, flow)
    for load in case.loads:
        if load.characteristic is not None:
            rest = load_component(load).guess(SimpleNamespace(voltage=voltages[load.bus]), None)
            start |= {f"{load.name}.{name}": float(value) for name, value in rest.items()}
    for relay in case.relays:
        component, v = component_of(relay.device), voltages[relay.bus]
        rest = {"angle": float(np.angle(v)), "f": case.frequency_hz, "v": abs(v), "theta": 0.0, "area": 0.0}
        start |= {f"{relay.name}.{name}": rest[name] for name in (*component.states, *component.algebraic)}
    start |= tap_changer_start(case, flow) | switching_start(case, flow)
    return start


def branch_start(row: BranchRow, voltages: Mapping[int, complex]) -> dict[str, float]:
    """Return the currents into a monitored branch by full name, at the voltages of the buses by number."""
    component = branch_component(row)
    ends = {"i": voltages[row.from_bus], "j": voltages[row.to_bus]}
    v = {f"v_re_{k}": u.real for k, u in ends.items()} | {f"v_im_{k}": u.imag for k, u in ends.items()}
    p = columns(component, [branch_parameters(row)])
    into_buses = component.equations(NumericMath, SimpleNamespace(**v), p)[2]
    names = MonitoredLine.algebraic
    return {f"{row.name}.{name}": -float(i[0]) for name, i in zip(names, into_buses, strict=True)}


def coupled(
    case: Case, plants: Sequence[StartingPlant], start: Mapping[str, float]
) -> tuple[list[StartingPlant], dict[str, float]]:
    """Return plants and start with second machines connected to the turbines that drive them.

    Each plant has been solved by itself, the torque of its machine a set-point. Of a second machine it is the
    turbine's other output then, with what its fractions leave open as a constant.

    Raises CaseError where a turbine drives a machine that is not there, has a governor, takes no torque, or
    is driven already.
    """
    found, values = {plant.name: plant for plant in plants}, dict(start)
    driven: dict[str, str] = {}
    for row in case.generators:
        for device in row.devices:
            if device.type != IEEEG1CC.__name__ or row.name not in found:
                continue
            other = _second(case, device)
            before = driven.setdefault(other.name, device.place)
            if before != device.place:
                raise CaseError(f"{device.place}: {other.name}: is driven by {before} already; keep one")
            if other.name in found:
                _couple(found, values, row, device, other)
    return list(found.values()), values


def _second(case: Case, device: DeviceRow) -> GeneratorRow:
    """Return the plant of a turbine's second machine."""
    bus, place = (int(device.parameters.get(name, 1)) for name in ("bus2", "unit2"))
    there = [row for row in case.generators if row.bus == bus]
    if not 1 <= place <= len(there):
        raise CaseError(
            f"{device.place}: bus2 = {bus}, unit2 = {place}: there are {len(there)} generators at bus {bus}"
        )
    roles = [part.role for part in there[place - 1].devices]
    if "governor" in roles or "machine" not in roles:
        what = "has a governor of its own" if "governor" in roles else "has no machine"
        raise CaseError(f"{device.place}: drives {there[place - 1].name} as well, which {what}")
    return there[place - 1]


def _couple(
    found: dict[str, StartingPlant],
    values: dict[str, float],
    row: GeneratorRow,
    turbine: DeviceRow,
    other: GeneratorRow,
) -> None:
    """Connect a second machine, and give the turbine the torque that it needs at the start."""
    machine = next(part for part in other.devices if part.role == "machine")
    own = next(part for part in row.devices if part.role == "machine")
    wanted, given = f"{machine.name}.t_m", f"{turbine.name}.t_m2"
    if wanted not in values:
        raise CaseError(
            f"{turbine.place}: drives {other.name} as well, which is {machine.type} and takes no torque; give"
            " it a machine with inertia (GENCLS with H > 0), or let the turbine drive one machine (bus2 = 0)"
        )
    base = own.parameters["s_n"] / machine.parameters["s_n"]
    needed = values.pop(wanted)
    rest = needed - base * values[given]
    values[given] = needed

    def changed(device: Device) -> Device:
        if device.name == turbine.name:
            return replace(device, parameters={**device.parameters, "base": base, "t_rest": rest})
        if device.name == machine.name:
            return replace(device, connections={**device.connections, "t_m": given})
        return device

    for name in (row.name, other.name):
        plant = found[name]
        found[name] = replace(plant, devices=tuple(map(changed, plant.devices)))
