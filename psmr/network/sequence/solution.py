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
from psmr.network.sequence.networks import Place, SequenceNetworks, sections_in
from psmr.network.sequence.two_port import Complexes
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
        sides = sections.voltages(at_ends, across=y)
        return np.asarray(sides[:, 0] - sides[:, 1])
    return sections.voltages(at_ends, ground=to_ground(p, z2, z0))[:, 0]  # type: ignore[arg-type]


def _into_line(system: System, place: Place, impedances: Impedances, k: int, nodes: Complexes) -> Complexes:
    """Return (K,) currents at bus i into a line that is cut, from (K, nodes) voltages."""
    ends = next(branch.ends for branch in branches(system) if branch.name == place.device)
    names = buses(system)
    n = len(names)
    sections = sections_in(impedances, place, NEGATIVE if k == 1 else ZERO)
    # Where a gap is at bus i, what goes through it enters the other section.
    row = 3 if sections.gap and sections.sides[0] == 0 else 0
    at = [names.index(ends[0]), names.index(ends[1]), n, n + 1]
    return np.asarray(nodes[:, at] @ sections.nodes()[row])
