"""Voltages and currents of all sequences and phases, from those of the positive sequence."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from psmr.dae.system.system import System
from psmr.devices.network import FAULTS, OPEN
from psmr.network.sequence.equivalents import sections_of, to_ground, unbalance
from psmr.network.sequence.impedances import NEGATIVE, ZERO, Impedances
from psmr.network.sequence.interconnection import (
    A,
    fault_currents,
    gap_admittance,
    gap_currents,
)
from psmr.network.sequence.networks import Place, SequenceNetworks
from psmr.network.sequence.two_port import Complexes, Sections, joined
from psmr.network.topology.network import branches, buses

SEQUENCES, PHASES = ("1", "2", "0"), ("a", "b", "c")

TO_PHASES = np.array([[1, 1, 1], [A**2, A, 1], [A, A**2, 1]])
"""From positive-, negative- and zero-sequence quantities to those of phases a, b and c."""


@dataclass(frozen=True, eq=False)
class SequenceSolution:
    """Voltages of the negative and zero sequence at K points between two changes.

    Attributes
    ----------
    system
        The system as it is there.
    v
        (3, K, buses) voltages in pu: positive, negative and zero sequence.
    """

    system: System
    v: Complexes
    _impedances: Impedances
    _unbalance: tuple[Place, SequenceNetworks] | None
    _through: Complexes

    @classmethod
    def of(cls, system: System, v: Complexes, out: Collection[str] = ()) -> SequenceSolution:
        """Return the solution for (K, buses) positive-sequence voltages of a system.

        Parameters
        ----------
        system
            The system with its parameters as they are at these points.
        v
            Voltages of its buses in pu.
        out
            Devices that were taken out.
        """
        found = unbalance(system, sorted(out))
        impedances = Impedances(system)
        voltages, through = np.zeros((3, *v.shape), dtype=complex), np.zeros((3, len(v)), dtype=complex)
        voltages[0] = v
        if found is not None:
            place, networks = found
            device = system.device(place.device)
            p = impedances.parameters(device)
            z2, z0 = networks.negative.impedance, networks.zero.impedance
            own = _own_voltage(system, place, p, v, z2, z0)
            if place.gap:
                phases = OPEN[int(p.open_phases)]
                y, parts = gap_admittance(phases, z2, z0), gap_currents(phases, z2, z0)
            else:
                fault = complex(p.r_fault, p.x_fault)
                y, parts = to_ground(p, z2, z0), fault_currents(FAULTS[int(p.fault)], fault, z2, z0)
            through = np.array([1, *parts])[:, None] * (y * own)
            for k, network in ((1, networks.negative), (2, networks.zero)):
                voltages[k] = -through[k][:, None] * network.voltages[None, : v.shape[1]]
        return cls(system, voltages, impedances, found, through)

    def current_into(self, branch: str, positive: Complexes) -> Complexes:
        """Return (3, K) currents into a branch at its bus i, of which `positive` is the first."""
        found = np.zeros((3, self.v.shape[1]), dtype=complex)
        found[0] = positive
        if self._unbalance is None:
            return found
        place, networks = self._unbalance
        for k, network in ((1, networks.negative), (2, networks.zero)):
            if branch == place.device:
                nodes = -self._through[k][:, None] * network.voltages[None, :]
                found[k] = _into_line(self.system, place, self._impedances, k, nodes)
            for element in network.elements:
                if element.device == branch:
                    at = [buses(self.system).index(bus) for bus in element.buses]
                    found[k] = self.v[k][:, at] @ element.admittance[0]
        return found


def _own_voltage(
    system: System, place: Place, p: object, v: Complexes, z2: complex, z0: complex
) -> Complexes:
    """Return (K,) positive-sequence voltages of the place: to ground, or across the gap."""
    if not place.line:
        return v[:, buses(system).index(place.device)]
    ends = next(branch.ends for branch in branches(system) if branch.name == place.device)
    at_ends = v[:, [buses(system).index(bus) for bus in ends]]
    sections = sections_of(p)  # type: ignore[arg-type]
    if place.gap:
        y = gap_admittance(OPEN[int(p.open_phases)], z2, z0)  # type: ignore[attr-defined]
        sides = _inner(sections, y, None, at_ends)
        return np.asarray(sides[:, 0] - sides[:, 1])
    return _inner(sections, None, to_ground(p, z2, z0), at_ends)[:, 0]  # type: ignore[arg-type]


def _inner(sections: Sections, gap: complex | None, ground: complex | None, v: Complexes) -> Complexes:
    """Return (K, 2) voltages of both sides of the cut of a line for (K, 2) voltages at its ends."""
    nodes = sections.nodes()
    if gap is None:
        nodes = joined(nodes, 2, 3)
        at = -(nodes[2, :2] @ v.T) / (nodes[2, 2] + (ground or 0j))
        return np.column_stack([at, at])
    nodes[2:, 2:] += gap * np.array([[1, -1], [-1, 1]])
    if sections.at == 0:
        nodes = joined(nodes, 0, 2)
        return np.column_stack([v[:, 0], -(nodes[2, :2] @ v.T) / nodes[2, 2]])
    if sections.at == 1:
        nodes = joined(nodes, 1, 3)
        return np.column_stack([-(nodes[2, :2] @ v.T) / nodes[2, 2], v[:, 1]])
    return np.asarray(-np.linalg.solve(nodes[2:, 2:], nodes[2:, :2] @ v.T).T)


def _into_line(system: System, place: Place, impedances: Impedances, k: int, nodes: Complexes) -> Complexes:
    """Return (K,) currents at bus i into a line that is cut, from (K, nodes) voltages."""
    device = system.device(place.device)
    p = impedances.parameters(device)
    data = impedances.line(device, p, NEGATIVE if k == 1 else ZERO)
    ends = next(branch.ends for branch in branches(system) if branch.name == place.device)
    names = buses(system)
    n, i = len(names), names.index(ends[0])
    sections = Sections(data.z, data.y, p.at, bool(p.open_i), bool(p.open_j))
    if not p.at:  # the cut is at bus i: what goes through it enters the other section
        block = sections.nodes()[[1, 3]][:, [1, 3]]
        return np.asarray(nodes[:, [names.index(ends[1]), n + 1]] @ block[1])
    return np.asarray(nodes[:, [i, n]] @ sections.nodes()[0, [0, 2]])
