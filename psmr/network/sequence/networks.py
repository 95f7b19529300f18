"""The negative- and zero-sequence networks of a system, seen from a fault or from a gap in a line."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import splu

from psmr.base.arrays import Complexes
from psmr.base.errors import EventError
from psmr.dae.declare.component import parameters_of
from psmr.dae.system.system import System
from psmr.devices.dynamic_network.bus import DynamicBus
from psmr.devices.network import OPEN, Bus, Line
from psmr.network.sequence.impedances import NEGATIVE, ZERO, Element, Impedances
from psmr.network.topology.network import branch_ends, buses, out_of_service


@dataclass(frozen=True)
class Sections:
    """A line cut in two: each section is a pi circuit with its part of the impedance and of the charging.

    Its nodes are bus i, bus j and the two sides of the cut. A side at a bus whose breaker is closed is that
    bus; behind an open breaker it is a node of the line, as anywhere along it.

    `z`, `y`: series impedance and total shunt admittance of the whole line in pu.
    `at`: part of the length from bus i at which it is cut; 0 and 1: at the buses.
    `open_i`, `open_j`: whether the breakers of either end are open.
    `gap`: whether the two sides of the cut are apart; otherwise they are one node.
    """

    z: complex
    y: complex
    at: float = 0.0
    open_i: bool = False
    open_j: bool = False
    gap: bool = False

    @property
    def sides(self) -> tuple[int, int]:
        """The nodes of the two sides of the cut: 0 and 1 are the buses."""
        i = 0 if self.at == 0 and not self.open_i else 2
        j = 1 if self.at == 1 and not self.open_j else 3
        return (i, j) if self.gap else (min(i, j),) * 2

    def nodes(self, ground: complex = 0j, across: complex = 0j) -> Complexes:
        """Return the (4, 4) admittance matrix of the nodes; an open end is eliminated.

        `ground`, `across`: admittances in pu to ground at the cut, from its side towards bus i, and across
        it.
        """
        found = np.zeros((4, 4), dtype=complex)
        i, j = self.sides
        for bus, cut, part, opened in ((0, i, self.at, self.open_i), (1, j, 1.0 - self.at, self.open_j)):
            if part == 0:
                continue
            series, shunt = 1.0 / (self.z * part), self.y * part / 2
            if opened:
                found[cut, cut] += shunt + series * shunt / (series + shunt)
                continue
            _join(found, bus, cut, series)
            found[bus, bus] += shunt
            found[cut, cut] += shunt
        found[i, i] += ground
        _join(found, i, j, across)
        return found

    def two_port(self, ground: complex = 0j, across: complex = 0j) -> Complexes:
        """Return the (2, 2) admittance matrix that the buses see."""
        nodes = self.nodes(ground, across)
        return nodes[:2, :2] + nodes[:2, 2:] @ _voltages_inside(nodes)

    def voltages(self, v: Complexes, ground: complex = 0j, across: complex = 0j) -> Complexes:
        """Return (K, 2) voltages of the two sides of the cut for (K, 2) voltages of the buses."""
        inside = _voltages_inside(self.nodes(ground, across))
        return np.hstack([v, v @ inside.T])[:, list(self.sides)]


def _join(nodes: Complexes, a: int, b: int, admittance: complex) -> None:
    """Add an admittance between two nodes; between a node and itself there is none."""
    if a != b:
        nodes[np.ix_((a, b), (a, b))] += admittance * np.array([[1, -1], [-1, 1]])


def _voltages_inside(nodes: Complexes) -> Complexes:
    """Return (2, 2) voltages of the nodes inside by those of the buses; one that nothing joins has none."""
    found = np.zeros((2, 2), dtype=complex)
    used = 2 + np.flatnonzero(nodes[2:, 2:].any(axis=1))
    found[used - 2] = -np.linalg.solve(nodes[np.ix_(used, used)], nodes[used, :2])
    return found


ENDS = ("status", "open_i", "open_j")
"""The parameters that say which ends of a line are closed."""

LEAK = 1e-9
"""Admittance to ground in pu at one bus of a part without any: no current flows, and the voltage is one."""


@dataclass(frozen=True)
class Place:
    """Where a system is unbalanced: at a bus, or inside a line.

    `device`: the bus or line.
    `line`: whether it is a line.
    `gap`: whether phases are open there; otherwise phases are joined.
    """

    device: str
    line: bool
    gap: bool


@dataclass(frozen=True, eq=False)
class SequenceNetwork:
    """The voltages of one sequence network for a unit current.

    `impedance`: what the place sees, between phase and ground or across the gap, in pu.
    `voltages`: (nodes,) voltages where a current of 1 pu flows into the place: buses, then inside a line the
        two sides of the cut.
    `elements`: what carries current.
    """

    impedance: complex
    voltages: Complexes
    elements: tuple[Element, ...]


@dataclass(frozen=True, eq=False)
class SequenceNetworks:
    """Both networks, and what was assumed in making them.

    `negative`, `zero`: the networks.
    `assumed`: what was taken by usual ratios: the words, and the devices.
    """

    negative: SequenceNetwork
    zero: SequenceNetwork
    assumed: dict[str, list[str]]


def is_connected(status: float, open_i: float, open_j: float) -> bool:
    """Return whether a line is closed at one of its ends at least; `status` is 0 where an end is open."""
    return bool(status) or open_i != open_j


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
            if line and not is_connected(*(matrix[row, column(end)] for end in ENDS)):
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
    found = [_network(impedances, place, sequence, out) for sequence in (NEGATIVE, ZERO)]
    return SequenceNetworks(found[0], found[1], impedances.assumed)


def _network(impedances: Impedances, place: Place, sequence: int, out: Collection[str]) -> SequenceNetwork:
    system = impedances.system
    names = list(buses(system))
    at = {bus: k for k, bus in enumerate(names)}
    without = {*out, place.device} if place.line else {*out}
    whole = impedances.elements(sequence, sorted(without | out_of_service(system)))
    elements = (*whole, *_hanging(impedances, sequence, without))
    n = len(names)
    blocks = [([at[bus] for bus in element.buses], element.admittance) for element in elements]
    into = np.zeros(n + 2)
    if place.line:
        ends = branch_ends(system)[place.device]
        sections = sections_in(impedances, place, sequence)
        nodes = [at[ends[0]], at[ends[1]], n, n + 1]
        blocks.append((nodes, sections.nodes()))
        first, second = (nodes[side] for side in sections.sides)
        into[first] += 1.0
        if place.gap:
            into[second] -= 1.0
    else:
        into[at[place.device]] = 1.0
    voltages = _solved(blocks, n + 2, into)
    return SequenceNetwork(complex(into @ voltages), voltages, elements)


def _hanging(impedances: Impedances, sequence: int, without: Collection[str]) -> Iterator[Element]:
    """Yield the lines that hang at one of their buses, with what they draw there."""
    system = impedances.system
    ends = branch_ends(system)
    for name in sorted(out_of_service(system).difference(without)):
        device = system.device(name)
        p = impedances.parameters(device)
        if issubclass(device.component, Line) and p.open_i != p.open_j:
            data = impedances.line(device, p, sequence)
            sections = Sections(data.z, data.y, open_i=bool(p.open_i), open_j=bool(p.open_j))
            yield Element(name, ends[name], sections.two_port())


def sections_in(impedances: Impedances, place: Place, sequence: int) -> Sections:
    """Return the line at a place as it is cut, in the negative or zero sequence."""
    device = impedances.system.device(place.device)
    p = impedances.parameters(device)
    data = impedances.line(device, p, sequence)
    return cut_line(p, data.z, data.y)


def cut_line(p: SimpleNamespace, z: complex, y: complex) -> Sections:
    """Return a line of some impedance and admittance as its parameters say that it is cut."""
    return Sections(z, y, p.at, bool(p.open_i), bool(p.open_j), bool(p.open_phases))


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
