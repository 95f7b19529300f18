"""The negative- and zero-sequence networks of a system, seen from a fault or from a gap in a line."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import splu

from psmr.base.errors import EventError
from psmr.dae.declare.component import parameters_of
from psmr.dae.system.system import System
from psmr.devices.dynamic_network.bus import DynamicBus
from psmr.devices.network import OPEN, Bus, Line
from psmr.network.sequence.impedances import NEGATIVE, ZERO, Element, Impedances
from psmr.network.sequence.two_port import Complexes, Sections
from psmr.network.topology.network import branches, buses, out_of_service

ENDS = ("status", "open_i", "open_j")
"""The parameters that say which ends of a line are closed."""

LEAK = 1e-9
"""Admittance to ground in pu at one bus of a part without any: no current flows, and the voltage is one."""


@dataclass(frozen=True)
class Place:
    """Where a system is unbalanced: at a bus, or inside a line.

    Attributes
    ----------
    device
        The bus or line.
    line
        Whether it is a line.
    gap
        Whether phases are open there; otherwise phases are joined.
    """

    device: str
    line: bool
    gap: bool


@dataclass(frozen=True, eq=False)
class Network:
    """The voltages of one sequence network for a unit current.

    Attributes
    ----------
    impedance
        What the place sees, between phase and ground or across the gap, in pu.
    voltages
        (nodes,) voltages where a current of 1 pu flows into the place: buses, then inside a line the two
        sides of the cut.
    elements
        What carries current.
    """

    impedance: complex
    voltages: Complexes
    elements: tuple[Element, ...]


@dataclass(frozen=True, eq=False)
class SequenceNetworks:
    """Both networks, and what was assumed in making them.

    Attributes
    ----------
    negative, zero
        The networks.
    assumed
        What was taken by usual ratios: the words, and the devices.
    """

    negative: Network
    zero: Network
    assumed: dict[str, list[str]]


def connected(status: float, open_i: float, open_j: float) -> bool:
    """Return whether a line is closed at one of its ends at least; `status` is 0 where an end is open."""
    return bool(status or open_i or open_j)


def place_of(system: System) -> list[Place]:
    """Return where a system is unbalanced."""
    found = []
    for group, matrix in zip(system.groups, system.parameters, strict=True):
        component = group.compiled.component
        line = issubclass(component, Line)
        if not (line or issubclass(component, Bus)) or issubclass(component, DynamicBus):
            continue  # the phases of a dynamic bus are simulated
        column = tuple(parameters_of(component)).index
        fault = matrix[:, column("fault")]
        gap = matrix[:, column("open_phases")] > OPEN.index("abc") if line else np.zeros(len(matrix), bool)
        for row in np.flatnonzero((fault > 1) | gap):
            name = group.names[row]
            if line and not connected(*(matrix[row, column(end)] for end in ENDS)):
                continue
            if fault[row] and gap[row]:
                raise EventError(
                    f"{name} has a fault along it and phases open at one time: one admittance does not"
                    " say both; let one end before the other begins"
                )
            found.append(Place(name, line, bool(gap[row])))
    return found


def sequence_networks(system: System, place: Place, out: Collection[str] = ()) -> SequenceNetworks:
    """Return the networks of a system, without the devices in `out` and those out of service."""
    impedances = Impedances(system)
    absent = {*out, *out_of_service(system)}
    found = [_network(impedances, place, sequence, absent) for sequence in (NEGATIVE, ZERO)]
    return SequenceNetworks(found[0], found[1], impedances.assumed)


def _network(impedances: Impedances, place: Place, sequence: int, absent: set[str]) -> Network:
    system = impedances.system
    names = list(buses(system))
    at = {bus: k for k, bus in enumerate(names)}
    without = sorted({*absent, place.device} if place.line else absent)
    elements = tuple(impedances.elements(sequence, without))
    n = len(names)
    blocks = [([at[bus] for bus in element.buses], element.admittance) for element in elements]
    into = np.zeros(n + 2)
    if place.line:
        nodes, block = _inside(impedances, place, sequence, at, n)
        blocks.append((nodes, block))
        into[nodes[2]] += 1.0
        if place.gap:
            into[nodes[3]] -= 1.0
    else:
        into[at[place.device]] = 1.0
    voltages = _solved(blocks, n + 2, into)
    return Network(complex(into @ voltages), voltages, elements)


def _inside(
    impedances: Impedances, place: Place, sequence: int, at: dict[str, int], n: int
) -> tuple[list[int], Complexes]:
    """Return the nodes of a line that is cut, and its admittances between them."""
    system = impedances.system
    device = system.device(place.device)
    p = impedances.parameters(device)
    data = impedances.line(device, p, sequence)
    ends = next(branch.ends for branch in branches(system) if branch.name == device.name)
    i, j = at[ends[0]], at[ends[1]]
    first = i if p.at == 0 else n
    second = first if not place.gap else j if p.at == 1 else n + 1
    nodes = [i, j, first, second]
    return nodes, Sections(data.z, data.y, p.at, bool(p.open_i), bool(p.open_j)).nodes()


def _solved(blocks: Sequence[tuple[list[int], Complexes]], size: int, into: np.ndarray) -> Complexes:
    """Return (size,) voltages of a network for currents into its nodes."""
    rows, columns, values = [], [], []
    for nodes, block in blocks:
        for a, node in enumerate(nodes):
            for b, other in enumerate(nodes):
                rows.append(node)
                columns.append(other)
                values.append(block[a, b])
    matrix = sparse.csc_matrix((values, (rows, columns)), shape=(size, size), dtype=complex)
    _, part = connected_components(abs(matrix) > 0, directed=False)
    ground = np.zeros(part.max() + 1)
    np.add.at(
        ground, part, abs(matrix @ np.ones(size)) / np.maximum(abs(matrix).max(axis=1).toarray().ravel(), 1.0)
    )
    floating = [int(np.flatnonzero(part == k)[0]) for k in np.flatnonzero(ground < 1e-12)]
    leak = sparse.csc_matrix((np.full(len(floating), LEAK), (floating, floating)), shape=(size, size))
    return np.asarray(splu((matrix + leak).tocsc()).solve(into.astype(complex)))
