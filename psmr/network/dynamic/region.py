"""What is dynamic in a region of a network: a closed set, its buses without capacitance, its zero sequence.

The zero sequence reaches as far as zero-sequence current flows from the region: up to windings in delta and
neutrals that are not grounded, also among the phasors. There it has no other form: it does not turn.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np

from psmr.base.errors import EventError, InputError, nearest, shown, warn
from psmr.dae.compile.trace import trace
from psmr.dae.declare.component import Component, NumericMath, local_rows, local_variables
from psmr.dae.declare.device import Device
from psmr.dae.system.system import System
from psmr.devices.dynamic_network.branch import CHARGED, DEPENDENT, JUNCTION, PHASOR
from psmr.devices.dynamic_network.forms import with_stator
from psmr.devices.dynamic_network.travelling_wave import wave_values
from psmr.devices.dynamic_network.zero_sequence import (
    GROUND,
    ZeroSequenceAdmittance,
    ZeroSequenceBranch,
    ZeroSequenceBus,
    ZeroSequenceWave,
)
from psmr.devices.loads.zip import ZipLoad
from psmr.devices.network import Line, Shunt
from psmr.network.case.region import ALL, Region
from psmr.network.sequence.impedances import Impedances, Path, ZeroSequence, assumed_words
from psmr.network.topology.network import Branch, at_buses, branches, branches_in_service, buses, find_bus

if TYPE_CHECKING:
    from psmr.dae.system.system import System


def region_devices(system: System, region: Region) -> frozenset[str]:
    """Return the names of all that is dynamic in a region of a phasor system: a closed set.

    A dynamic bus has dynamic branches, and a bus all of whose branches are dynamic is dynamic.

    Raises InputError for a bus or device that is not there, and a device that has no dynamics of its own to
    add.
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
    return closed_set(system, found)


def closed_set(system: System, names: Iterable[str]) -> frozenset[str]:
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


SMALLEST = 1e-6
"""Smallest singular value in pu of an admittance that determines a voltage."""


def ground_susceptances(system: System, waves: Collection[str]) -> dict[str, float]:
    """Return the susceptance to ground that is in service at each bus: charging and capacitors, in pu.

    That of lines on which `waves` travel is no part of their buses.
    """
    found = dict.fromkeys(buses(system), 0.0)
    for device in system.devices:
        p = device.parameters
        if device.name in waves:
            continue
        if issubclass(device.component, Line):
            for e in "ij":
                found[device.connections[f"v_re_{e}"].rpartition(".")[0]] += p["status"] * p["b"] / 2
        elif issubclass(device.component, Shunt) and p["b"] > 0:
            found[device.connections["v_re"].rpartition(".")[0]] += p["status"] * p["b"]
    return found


def reads_voltage(component: type[Component]) -> bool:
    """Return whether the current or an algebraic variable of a device depends on the voltage of its bus."""
    variables, rows = local_variables(component), local_rows(component)
    places = {variables.index(name) for name in ("v_re", "v_im") if name in variables}
    count = len(component.states)
    last = len(rows) - len(component.outputs)
    current = {last + component.outputs.index(name) for name in ("i_re", "i_im")}
    entries = [entry[:2] for part in trace(component).jacobian() for entry in part]
    return any(column in places and (row in current or count <= row < last) for row, column in entries)


def admittance_of(device: Device, w: Mapping[str, float], bus: str) -> np.ndarray:
    """Return the (2, 2) matrix of d(i_re, i_im into the device)/d(v_re, v_im), its algebraic part solved."""
    component = device.component
    names = (*component.states, *component.algebraic)
    v0 = {n: w[f"{device.name}.{n}"] for n in names}
    v0 |= {n: w[device.connections.get(n, f"{device.name}.{n}")] for n in component.inputs} | {"t": 0.0}
    p = SimpleNamespace(**device.parameters)
    k = len(component.algebraic)
    places = [component.outputs.index(name) for name in ("i_re", "i_im")]
    columns = []
    for name in (*component.algebraic, "v_re", "v_im"):
        v = {n: complex(x) for n, x in v0.items()}
        v[name] += 1e-30j
        _, residuals, injections = component.equations(NumericMath, SimpleNamespace(**v), p)
        rows = [*residuals, *(injections[i] for i in places)]
        columns.append([np.imag(complex(row)) / 1e-30 for row in rows])
    matrix = np.array(columns).T
    direct = matrix[k:, k:]
    if k:
        direct = direct - matrix[k:, :k] @ np.linalg.lstsq(matrix[:k, :k], matrix[:k, k:], rcond=None)[0]
    return np.asarray(-direct)


def require_determined(bus: str, at: Sequence[Device], w: Mapping[str, float]) -> None:
    """Raise InputError where what is at a bus of dynamic branches without charging leaves its voltage open.

    An admittance determines it whose eigenvalues have no negative real part: currents decay through it.
    """
    admittance = sum((admittance_of(d, w, bus) for d in at), np.zeros((2, 2)))
    size = np.linalg.svd(admittance, compute_uv=False)
    real = np.linalg.eigvals(admittance).real
    if size[-1] > SMALLEST and real.min() >= -1e-9 * size[0]:
        return
    names = ", ".join(d.name for d in at)
    raise InputError(
        f"Region: {bus} has no charging, and {names} there keep the form of a phasor network, which leaves"
        " the voltage between dynamic branches undetermined; give the bus a capacitance (a [[shunt]] with"
        ' b_mvar > 0), turn loads into impedances (loads = "impedance"), or leave the bus out of the region'
    )


def dependent_ends(
    junctions: Sequence[str], branches: Sequence[Branch], capacitors: Collection[str] = ()
) -> dict[str, str]:
    """Return the branch whose current is what the others leave, for each junction that has one.

    The first junctions get theirs first. A series capacitor, named in `capacitors`, has no current of its
    own: at a junction it is always such a branch, and passes the rate of its current on to another junction.

    Raises InputError where series capacitors close a ring, so that their voltages depend on each other.
    """
    ends = {b.name: [end for end in b.ends if end in junctions] for b in branches}
    at: dict[str, list[str]] = {bus: [name for name in ends if bus in ends[name]] for bus in junctions}
    in_series = {b.name: b.ends for b in branches if b.name in capacitors and ends[b.name]}
    _require_no_ring(in_series, set(junctions))
    found: dict[str, str] = {}
    for name in in_series:
        _augmented(name, ends, found)
    for bus in junctions:
        if bus not in found:
            taken = {name: place for place, name in found.items()}
            if _augmented(bus, at, taken):
                found = {place: name for name, place in taken.items()}
    return found


def require_paths(lost: Sequence[str]) -> None:
    """Raise InputError of junctions at which no branch's current can be what the others leave."""
    if lost:
        raise InputError(
            f"Region: {', '.join(lost)}: no path for the current: every element there has its current as a"
            " state and no branch is left whose current could be their sum; give the bus a capacitance (a"
            " [[shunt]] with b_mvar > 0), or leave it out of the region"
        )


def _require_no_ring(capacitors: Mapping[str, Sequence[str]], junctions: set[str]) -> None:
    """Raise InputError where series capacitors close a ring of their own or over buses with a capacitance."""
    joined: dict[str, str] = {}

    def root(bus: str) -> str:
        bus = bus if bus in junctions else ""
        while bus in joined:
            bus = joined[bus]
        return bus

    for name, ends in capacitors.items():
        one, other = map(root, ends)
        if one == other:
            raise InputError(
                f"Region: {name} closes a ring of series capacitors over buses without charging: their"
                " voltages depend on each other; make one of those in parallel, or leave them out of the"
                " region"
            )
        # What is no junction stays a root: "" stands for all of it.
        one, other = (other, one) if not one else (one, other)
        joined[one] = other


def _augmented(one: str, choices: Mapping[str, Sequence[str]], taken: dict[str, str]) -> bool:
    """Return whether `one` gets one of its choices, others moving to theirs; what is taken stays taken."""
    tried: set[str] = set()

    def place(who: str) -> bool:
        for choice in choices[who]:
            if choice not in tried:
                tried.add(choice)
                if choice not in taken or place(taken[choice]):
                    taken[choice] = who
                    return True
        return False

    return place(one)


PART_OF = "sequence_of"
"""Datum of a zero-sequence element: the device whose zero sequence it is."""


@dataclass(frozen=True, eq=False)
class ZeroCircuit:
    """The zero sequence of a network.

    `devices`: its elements.
    `kinds`: what each bus in it is: with capacitance, with a conductance alone, or a junction.
    `start`: its variables in a balanced network: all zero but the susceptances.
    """

    devices: tuple[Device, ...] = ()
    kinds: Mapping[str, int] = field(default_factory=dict)
    start: Mapping[str, float] = field(default_factory=dict)


def zero_name(device: str) -> str:
    """Return the name of the zero sequence of a bus or of another device."""
    return f"{device}_zero"


def zero_circuit(
    system: System, region: Collection[str], frequency: float, waves: Collection[str] = ()
) -> ZeroCircuit:
    """Return the zero sequence that the buses of a region, `region`, are part of; `frequency` in Hz.

    Warns (PsmrWarning) of sequence data that are taken by usual ratios.

    Raises InputError for an impedance that has no inductance, or one below zero between buses with a
    capacitance.
    """
    impedances = Impedances(system)
    parts = [(device, impedances.zero_sequence(device)) for device in system.devices]
    reached = _reached(system, region, [part for _, part in parts])
    charge, conductance = dict.fromkeys(reached, 0.0), dict.fromkeys(reached, 0.0)
    kept: list[tuple[Device, ZeroSequence, float]] = []
    for device, part in parts:
        ends = {path.first for path in part.paths} | {bus for bus, _ in part.admittances}
        if not ends & reached:
            continue
        status = getattr(impedances.parameters(device), "status", 1.0)
        kept.append((device, part, status))
        if device.name in waves:
            # Their characteristic admittance leaves the voltage to the sum of the currents.
            for bus in ends:
                conductance[bus] += 1.0
            continue
        for bus, y in part.admittances:
            charge[bus] += status * y.imag
            conductance[bus] += status * y.real
    kinds = {bus: CHARGED if charge[bus] > 0 else PHASOR if conductance[bus] else JUNCTION for bus in reached}
    joined = [
        Branch(_path_name(device, k), (path.first, path.second))
        for device, part, status in kept if status and device.name not in waves
        for k, path in enumerate(part.paths)
    ]  # fmt: skip
    dependent = dependent_ends(sorted(bus for bus in reached if kinds[bus] == JUNCTION), joined)
    names = {
        device.name for device in system.devices
        if any(target.rpartition(".")[0] in reached for target in device.connections.values())
    }  # fmt: skip
    lists = ((words, [n for n in devices if n in names]) for words, devices in impedances.assumed.items())
    assumed = {words: devices for words, devices in lists if devices}
    if assumed:
        warn(assumed_words(assumed))
    found = [_bus(bus, kinds[bus], frequency) for bus in buses(system) if bus in reached]
    for device, part, status in kept:
        if device.name in waves:
            found.append(_wave(device, part, status, frequency))
            continue
        found += _elements(device, part, status, kinds, dependent, frequency)
    start = {f"{d.name}.{n}": 0.0 for d in found for n in (*d.component.states, *d.component.algebraic)}
    start |= {f"{zero_name(bus)}.b": b for bus, b in charge.items() if kinds[bus] == CHARGED}
    return ZeroCircuit(tuple(found), kinds, start)


def _reached(system: System, region: Collection[str], parts: Collection[ZeroSequence]) -> set[str]:
    """Return the buses that zero-sequence current reaches from the region: parts with a capacitance."""
    import networkx as nx  # slow to import, for regions alone

    graph = nx.Graph()
    graph.add_nodes_from(bus for bus in buses(system) if bus in region)
    grounded: set[str] = set()
    for part in parts:
        graph.add_edges_from((path.first, path.second) for path in part.paths if path.second)
        graph.add_nodes_from(path.first for path in part.paths)
        grounded |= {bus for bus, y in part.admittances if y.imag > 0}
    found: set[str] = set()
    for island in nx.connected_components(graph):
        if island & set(region) and island & grounded:
            found |= island
    return found


def _path_name(device: Device, k: int) -> str:
    return zero_name(device.name) + (f"_{k + 1}" if k else "")


def _bus(bus: str, kind: int, frequency: float) -> Device:
    return Device(
        zero_name(bus), ZeroSequenceBus, {"f_n": frequency, "kind": float(kind)}, data={PART_OF: bus}
    )


def _elements(
    device: Device,
    part: ZeroSequence,
    status: float,
    kinds: Mapping[str, int],
    dependent: Mapping[str, str],
    frequency: float,
) -> Iterator[Device]:
    """Yield the zero-sequence elements of a device."""
    data = {PART_OF: device.name}
    for k, path in enumerate(part.paths):
        name = _path_name(device, k)
        ends = {"i": path.first, "j": path.second}
        kind = {e: _kind(name, bus, kinds, dependent) for e, bus in ends.items()}
        _refuse_impossible(device, path, kind)
        half = dict(part.admittances) if path.second else {}
        y = 2 * half.get(path.first, 0j)
        values = {"f_n": frequency, "r": path.z.real, "x": path.z.imag, "tap": path.tap, "status": status}
        values |= {"g": y.real, "b": y.imag} | {f"end_{e}": float(kind[e]) for e in ends}
        wires: dict[str, str] = {}
        for e, bus in ends.items():
            if kind[e] == GROUND:
                continue
            node = zero_name(bus)
            wires |= {f"v_{e}": f"{node}.v", f"i_{e}": f"{node}.i"}
            if kind[e] in (JUNCTION, DEPENDENT):
                wires[f"d_{e}"] = f"{node}.d"
            elif kind[e] == CHARGED:
                wires[f"b_{e}"] = f"{node}.b"
        yield Device(name, ZeroSequenceBranch, values, wires, data=data)
    if any(path.second for path in part.paths):
        return  # the admittances are its charging
    for bus, y in part.admittances:
        name, node = zero_name(device.name) + ("_y" if part.paths else ""), zero_name(bus)
        wires = {"v": f"{node}.v", "i": f"{node}.i"}
        wires |= {"b": f"{node}.b"} if kinds[bus] == CHARGED else {}
        values = {"g": y.real, "b": y.imag, "status": status, "kind": float(kinds[bus])}
        yield Device(name, ZeroSequenceAdmittance, values, wires, data=data)


def _wave(device: Device, part: ZeroSequence, status: float, frequency: float) -> Device:
    """Return the zero sequence of a line on which waves travel: with z_c and tau of its own.

    Raises InputError where r0, x0 and b0 are of no such line.
    """
    (path,), name = part.paths, zero_name(device.name)
    y = 2 * dict(part.admittances).get(path.first, 0j)
    values = wave_values(name, path.z.real, path.z.imag, y.imag, y.real, frequency)
    wires = {f"b_{e}_late": f"{name}.b_{e}" for e in "ij"}
    for e, bus in (("i", path.first), ("j", path.second)):
        wires |= {f"v_{e}": f"{zero_name(bus)}.v", f"i_{e}": f"{zero_name(bus)}.i"}
    return Device(name, ZeroSequenceWave, values | {"status": status}, wires, data={PART_OF: device.name})


def _kind(name: str, bus: str, kinds: Mapping[str, int], dependent: Mapping[str, str]) -> int:
    if not bus:
        return GROUND
    return DEPENDENT if dependent.get(bus) == name else kinds[bus]


def _refuse_impossible(device: Device, path: Path, kind: Mapping[str, int]) -> None:
    x = path.z.imag
    if x > 0 or (x < 0 and {JUNCTION, DEPENDENT} & set(kind.values())):
        return
    what = "has no inductance" if x == 0 else "is a capacitor in series"
    raise InputError(
        f"Region: {device.name}: its zero-sequence impedance {path.z.real:g} + j{x:g} pu {what}, which has no"
        " dynamic form; give x0 > 0 under [[sequence]], or leave zero_sequence out of the region"
    )
