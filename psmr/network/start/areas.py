"""The controls of areas at the start: their devices and wires, what they begin with, the gains of units."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from psmr.base.errors import CaseError
from psmr.dae.declare.component import Component, own_variables
from psmr.dae.declare.device import Device
from psmr.devices.areas import Meter, Participation, SourceTie, TieLine, moving
from psmr.devices.catalogue import SOURCES
from psmr.devices.placement import placement
from psmr.devices.secondary_voltage import OF_CONVERTER, OF_MACHINE, following
from psmr.network.case.areas import PARTS, area_of, dc_ties_of, taking_part, ties_of
from psmr.network.case.case import Case
from psmr.network.case.rows import branch_component, component_of, device_parameters, two_ports
from psmr.network.case.tables import AreaRow, DeviceRow, GeneratorRow, LoadRow
from psmr.network.powerflow.powerflow import PowerFlow
from psmr.network.start.equilibrium import StartingPlant, solve_plants
from psmr.network.start.offers import Kinds, givers, offered_by, signal_read

REFERENCES = {
    "participation": ("p_plant", "p_ref", "t_m"),
    "reactive_participation": ("v_ref",),
}
"""Set-points by which a plant is moved: the first that nothing in the plant gives."""

STEP = 1e-3
"""Change of a unit's power in pu by which the gain of its reference is found."""

LEAST_GAIN = 1e-6
"""Gain below which a reference does not move the power: that of the speed of an isochronous governor."""


def moved_by_area(generator: GeneratorRow, kinds: Kinds) -> dict[str, type[Component]]:
    """Return the class of what takes part in the control of an area: it offers what the plant reads.

    Raises CaseError where nothing in the plant has a load reference.
    """
    found: dict[str, type[Component]] = {}
    ports = [(name, port) for name, kind in kinds.items() for port in kind.inputs]
    for row in generator.devices:
        if row.role not in REFERENCES:
            continue
        free = (
            reference
            for reference in REFERENCES[row.role]
            for name, port in ports
            if signal_read(kinds[name], port) == reference and not givers(kinds, name, port)
        )
        reference = next(free, "")
        kind = kinds[row.name]
        if reference and row.role == Participation.role:
            found[row.name] = moving(kind, reference)
        elif reference and (measured := _measured(generator, kinds)):
            found[row.name] = following(kind, reference, measured)
        else:
            raise CaseError(_not_moved(generator, row))
    return found


def _measured(generator: GeneratorRow, kinds: Kinds) -> tuple[str, ...]:
    """Return what the reactive power of a plant is found from; nothing where it has no such variables."""
    source = next(row for row in generator.devices if row.role in SOURCES)
    offered = (*offered_by(kinds[source.name]), "v_re", "v_im")
    return next((names for names in (OF_MACHINE, OF_CONVERTER) if {*names} <= {*offered}), ())


def _not_moved(generator: GeneratorRow, row: DeviceRow) -> str:
    """Return the objection to a plant without a reference that a control of its area could move."""
    types = ", ".join(device.type for device in generator.devices if device is not row)
    if row.role == Participation.role:
        what, remedy = "load reference", "a governor or a plant control"
    else:
        what, remedy = "voltage reference, and a reactive power to measure,", "an exciter"
    return (
        f"{row.place}: no device of {generator.name} ({types}) has a {what} that is free"
        f" ({', '.join(REFERENCES[row.role])}); give it {remedy} with one, or take the {row.role} out"
    )


def control_wires(case: Case, generator: GeneratorRow, component: type[Component]) -> dict[str, str]:
    """Return the connections of a participation to the control of its area."""
    role = placement(component).role
    if role not in PARTS:
        return {}
    number = area_of(case, generator)
    control = next(getattr(row, PARTS[role]) for row in case.areas if row.number == number)
    return {port: f"{control.name}.{port}" for port in ("level", *component.outputs)}


def read_of_controls(devices: Sequence[Device]) -> Iterator[str]:
    """Yield the full names of what a plant reads of the controls of areas, zero at the start."""
    for device in devices:
        if placement(device.component).role in PARTS:
            yield device.connections["level"]


def area_devices(case: Case, flow: PowerFlow) -> Iterator[Device]:
    """Yield the controls of areas and the meters of their ties."""
    yield from _voltage_controls(case, flow)
    ends = {branch.name: (branch.from_bus, branch.to_bus) for branch in case.branches}
    for row, control in _controlled(case):
        component = component_of(control)
        number = int(control.values["bus"]) or _largest(case, row).bus
        bus = case.bus(number).name
        values = device_parameters(control, case, abs(flow.by_number()[number]))
        yield Device(control.name, component, values, {part: f"{bus}.{part}" for part in ("v_re", "v_im")})
        for tie in ties_of(case, row):
            bus = case.bus(ends[tie.branch][tie.end == "j"]).name
            wires = {f"v_{part}": f"{bus}.v_{part}" for part in ("re", "im")}
            wires |= {f"m_{part}": f"{tie.branch}.m_{part}_{tie.end}" for part in ("re", "im")}
            wires["interchange"] = f"{control.name}.interchange"
            yield Device(f"{control.name}-{tie.branch}", TieLine, {"direction": tie.direction}, wires)
        for link in dc_ties_of(case, row):
            name, bus, row_of_sum = link.of.name, case.bus(link.bus).name, f"{control.name}.interchange"
            if isinstance(link.of, LoadRow) or link.of.commutated:
                wires = {} if isinstance(link.of, LoadRow) else {"reading": f"{name}.p_ac"}
                wires["total"] = row_of_sum
                yield Device(f"{control.name}-{name}", Meter, {"factor": link.direction}, wires)
            else:
                wires = {part: f"{bus}.{part}" for part in ("v_re", "v_im")} | {"i_p": f"{name}.i_p"}
                wires["interchange"] = row_of_sum
                yield Device(f"{control.name}-{name}", SourceTie, {"direction": link.direction}, wires)


def _voltage_controls(case: Case, flow: PowerFlow) -> Iterator[Device]:
    """Yield the regulators of pilot buses, with the levels at which all their units are at their limits.

    Raises CaseError where a unit starts outside its limits.
    """
    names = [generator.name for generator in case.generators]
    reactive = dict(zip(names, np.asarray(flow.q) * case.base_mva, strict=True))
    for row in case.areas:
        if (control := row.voltage_control) is None:
            continue
        ends = []
        for generator, device in taking_part(case, row, "reactive_participation"):
            p, q = device.values, float(reactive[generator.name])
            if not p["q_min"] <= q <= p["q_max"]:
                raise CaseError(
                    f"{device.place}: q_min = {p['q_min']:g}, q_max = {p['q_max']:g}: {generator.name} starts"
                    f" at {q:.6g} Mvar, outside these limits; widen them, or change its voltage"
                )
            ends.append([(p[name] - q) / p["part"] / case.base_mva for name in ("q_min", "q_max")])
        least, most = np.min([low for low, _ in ends]), np.max([high for _, high in ends])
        bus = case.bus(int(control.values["bus"])).name
        values = dict(control.parameters) | {"least": float(least), "most": float(most)}
        wires = {f"v_{part}": f"{bus}.v_{part}" for part in ("re", "im")}
        yield Device(control.name, component_of(control), values, wires)


def _controlled(case: Case) -> Iterator[tuple[AreaRow, DeviceRow]]:
    """Yield the areas with generation control, and that control."""
    for row in case.areas:
        if row.area_control is not None:
            yield row, row.area_control


def _largest(case: Case, row: AreaRow) -> GeneratorRow:
    """Return the generator with the largest part in an area's control."""
    units = taking_part(case, row, Participation.role)
    return max(units, key=lambda unit: unit[1].values["part"])[0]


def area_start(case: Case, flow: PowerFlow) -> dict[str, float]:
    """Return what the controls of areas begin with, by full name.

    Raises CaseError where a schedule is off the interchange of the power flow by more than its tolerance.
    """
    start: dict[str, float] = {}
    for row in case.areas:
        if (regulator := row.voltage_control) is not None:
            v = float(abs(flow.by_number()[int(regulator.values["bus"])]))
            rest = {"v": v, "v_set": v, "integral": 0.0, "level": 0.0}
            start |= {f"{regulator.name}.{name}": value for name, value in rest.items()}
    for row, control in _controlled(case):
        number = int(control.values["bus"]) or _largest(case, row).bus
        component, name = component_of(control), control.name
        start |= dict.fromkeys((f"{name}.{variable}" for variable in own_variables(component)), 0.0)
        found = interchange(case, flow, row)
        off = case.base_mva * found - (row.schedule_mw if row.schedule_mw is not None else 0.0)
        if row.schedule_mw is not None and abs(off) > row.tolerance_mw:
            raise CaseError(
                f"{row.place}: schedule_mw = {row.schedule_mw:g}: the interchange of the power flow is"
                f" {case.base_mva * found:.6g} MW, off by more than tolerance_mw = {row.tolerance_mw:g};"
                " change the dispatch, leave schedule_mw out to keep what the power flow has, or step or ramp"
                f" {name}.schedule to it in the run (psmr.SetPoint)"
            )
        start |= {
            f"{name}.angle": float(np.angle(flow.by_number()[number])),
            f"{name}.f": case.frequency_hz,
            f"{name}.interchange": found,
            f"{name}.schedule": found,
        }
        held = [link.of for link in dc_ties_of(case, row) if isinstance(link.of, LoadRow)]
        start |= {f"{name}-{load.name}.reading": load.p_mw / case.base_mva for load in held}
    return start


def interchange(case: Case, flow: PowerFlow, row: AreaRow) -> float:
    """Return the power in pu that leaves an area over its ties, as they are metered."""
    voltage, total = flow.by_number(), 0.0
    for tie in ties_of(case, row):
        branch = case.branches_by_name[tie.branch]
        v = np.array([voltage[branch.from_bus], voltage[branch.to_bus]])
        into = two_ports(branch_component(branch), [branch])[0] @ v
        end = int(tie.end == "j")
        total += tie.direction * float((v[end] * np.conj(into[end])).real)
    drawn = {load.name: load.p_mw / case.base_mva for load in case.loads}
    return total + sum(link.direction * drawn[link.of.name] for link in dc_ties_of(case, row))


def with_gains(
    plants: Sequence[StartingPlant], start: Mapping[str, float], case: Case
) -> list[StartingPlant]:
    """Return the plants with the gains of their participations, from another solution at a little more power.

    Raises CaseError for a unit that starts outside its limits, and for a reference that does not move its
    power.
    """
    parts = (row for plant in case.generators for row in plant.devices if row.role == Participation.role)
    rows = {row.name: row for row in parts}
    own = [(k, d) for k, plant in enumerate(plants) for d in plant.devices if d.name in rows]
    found = list(plants)
    more = [replace(p, current=p.current + STEP / np.conj(p.voltage)) for p in (found[k] for k, _ in own)]
    moved = solve_plants(more)
    for k, device in own:
        plant, row = found[k], rows[device.name]
        power = (plant.voltage * np.conj(plant.current)).real * case.base_mva
        low, high = row.values["p_min"], row.values["p_max"]
        if not low <= power <= high:
            raise CaseError(
                f"{row.place}: p_min = {low:g}, p_max = {high:g}: {plant.name} starts at {power:.6g} MW,"
                " outside these limits; widen them, or change its dispatch"
            )
        name = f"{device.name}.set_point"
        gain = (moved[name] - start[name]) / STEP
        if abs(gain) < LEAST_GAIN:
            raise CaseError(
                f"{row.place}: the reference {device.component.algebraic[0]} of {plant.name} does not move"
                " its power (an isochronous governor keeps its speed by it); give it a droop, or take the"
                " participation out"
            )
        changed = replace(device, parameters={**device.parameters, "gain": gain})
        devices = tuple(changed if one is device else one for one in plant.devices)
        found[k] = replace(plant, devices=devices)
    return found
