"""The zero sequence of a network with a dynamic region, as states of its own.

It reaches as far as zero-sequence current flows from the region: up to windings in delta and neutrals that
are not grounded, also among the phasors. There it has no other form: it does not turn.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from psmr.base.errors import InputError, PsmrWarning
from psmr.dae.declare.device import Device
from psmr.dae.system.system import System
from psmr.devices.dynamic_network.branch import CHARGED, DEPENDENT, JUNCTION, PHASOR
from psmr.devices.dynamic_network.travelling_wave import wave_values
from psmr.devices.dynamic_network.zero_sequence import (
    GROUND,
    ZeroSequenceAdmittance,
    ZeroSequenceBranch,
    ZeroSequenceBus,
    ZeroSequenceWave,
)
from psmr.network.dynamic.region import dependent_ends
from psmr.network.sequence.assumptions import assumed_words
from psmr.network.sequence.impedances import Impedances
from psmr.network.sequence.zero_sequence import Path, ZeroSequence
from psmr.network.topology.network import Branch, buses

PART_OF = "sequence_of"
"""Datum of a zero-sequence element: the device whose zero sequence it is."""


@dataclass(frozen=True, eq=False)
class ZeroCircuit:
    """The zero sequence of a network.

    Attributes
    ----------
    devices
        Its elements.
    kinds
        What each bus in it is: with capacitance, with a conductance alone, or a junction.
    start
        Its variables in a balanced network: all zero but the susceptances.
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

    Raises
    ------
    InputError
        For an impedance that has no inductance, or one below zero between buses with a capacitance.
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
        warnings.warn(assumed_words(assumed), PsmrWarning, stacklevel=5)
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

    Raises
    ------
    InputError
        Where r0, x0 and b0 are of no such line.
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
