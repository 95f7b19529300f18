"""What faults and open phases are to the positive-sequence network, and the voltages of all sequences then.

A parameter says which phases are joined or open, and where; the admittances that the equations read follow
from these and from the networks of the other sequences.

The networks of the three sequences are joined there. To the positive sequence that is one admittance: between
phase and ground for phases that are joined, in series for phases that are open. Source: Anderson, Analysis of
Faulted Power Systems (1973), chapters 3 and 7; Grainger and Stevenson, Power System Analysis (1994), chapter
12.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np

from psmr.base.arrays import Complexes
from psmr.base.errors import EventError
from psmr.dae.declare.component import parameters_of
from psmr.dae.system.system import System
from psmr.devices.dynamic_network.bus import JOINT, PAIRS, TO_GROUND, DynamicBus, ThreePhaseBus
from psmr.devices.network import FAULTS, OPEN, Bus, Line
from psmr.network.sequence.impedances import NEGATIVE, ZERO, Impedances, pi_admittance
from psmr.network.sequence.networks import (
    Place,
    Sections,
    SequenceNetworks,
    cut_line,
    is_connected,
    place_of,
    sections_in,
    sequence_networks,
)
from psmr.network.topology.network import branch_ends, buses

A = cmath.rect(1.0, 2 * math.pi / 3)
"""The operator that turns by 120 degrees."""


def phase_conductances(phases: str, r: float) -> dict[str, float]:
    """Return the conductances between phases, and to ground, of an unbalanced fault through r in pu.

    Two phases and the ground are a star whose point has r to ground and `JOINT` to each of the phases:
    phases that are joined without a resistance would change the voltages of their capacitances at once.
    """
    own = phases.removesuffix("g")
    if len(own) == 1 or own == phases:
        return {f"g_{own}": 1.0 / r}
    sum_ = 2.0 / JOINT + 1.0 / r
    return {f"g_{own}": 1.0 / JOINT**2 / sum_} | dict.fromkeys(
        [f"g_{k}" for k in own], 1.0 / (JOINT * r * sum_)
    )


def fault_admittance(phases: str, z: complex, z2: complex, z0: complex) -> complex:
    """Return the admittance of a fault through z, seen by the positive sequence.

    `phases`: one of `FAULTS`; `z`: impedance of the fault in pu: to ground, or between two phases; `z2`,
    `z0`: what the place sees of the other networks in pu.
    """
    if phases == "abc":
        return 1.0 / z
    if "g" not in phases:
        return 1.0 / (z2 + z)
    return 1.0 / (z2 + z0 + 3 * z) if len(phases) == 2 else 1.0 / z2 + 1.0 / (z0 + 3 * z)


def gap_admittance(phases: str, z2: complex, z0: complex) -> complex:
    """Return the admittance between the two sides of a gap where phases, one of `OPEN`, are open."""
    if phases == "abc":
        return 0j
    return 1.0 / z2 + 1.0 / z0 if len(phases) == 1 else 1.0 / (z2 + z0)


def fault_currents(phases: str, z: complex, z2: complex, z0: complex) -> tuple[complex, complex]:
    """Return the negative- and zero-sequence current of a fault per unit of the positive-sequence one."""
    turn = _turn(phases, FAULTS)
    if phases in ("", "abc"):
        return 0j, 0j
    if "g" not in phases:
        return -turn, 0j
    if len(phases) == 2:
        return turn, turn**2
    negative = -(z0 + 3 * z) / (z2 + z0 + 3 * z)
    return negative * turn, (-1 - negative) * turn**2


def gap_currents(phases: str, z2: complex, z0: complex) -> tuple[complex, complex]:
    """Return the same of the current through a gap."""
    turn = _turn(phases, OPEN)
    if phases in ("", "abc"):
        return 0j, 0j
    if len(phases) == 2:
        return turn, turn**2
    return -turn * z0 / (z2 + z0), -(turn**2) * z2 / (z2 + z0)


def _turn(phases: str, known: tuple[str, ...]) -> complex:
    """Return what turns the components of phase a into those of the phase that differs from the two others.

    With the components of phase b in place of a, Va1 = a Vb1, Va2 = a^2 Vb2.
    """
    own = phases.removesuffix("g")
    special = own if len(own) == 1 else next(iter(set("abc") - set(own)), "a")
    return A ** "abc".index(special)


Values = tuple[tuple[str, str, float], ...]

CHANGED = ("g_ii", "b_ii", "g_ij", "b_ij", "g_jj", "b_jj")
"""The parameters of a line that follow from a fault on it."""

CAUSES = ("fault", "open_phases", "open_i", "open_j")
"""The parameters of a line of which one that is not zero says that there is something on it."""


def unbalance(system: System, out: Collection[str] = ()) -> tuple[Place, SequenceNetworks] | None:
    """Return where a system is unbalanced and the networks that the place sees; None where it is balanced.

    Raises EventError for two places at once, whose networks are joined with each other.
    """
    place = unbalanced_place(system)
    return None if place is None else (place, sequence_networks(system, place, out))


def unbalanced_place(system: System) -> Place | None:
    """Return where a system is unbalanced, None where it is balanced; raise EventError for two places."""
    places = place_of(system)
    if len(places) > 1:
        names = " and ".join(place.device for place in places)
        raise EventError(
            f"unbalanced at {names} at one time: each is an admittance of its own only while the rest is "
            "balanced; let one end before the other begins, or make one of them balanced"
        )
    return places[0] if places else None


def dependent_admittances(
    system: System, out: Collection[str] = (), devices: Iterable[str] | None = None, every: bool = False
) -> Values:
    """Return the admittances of buses and lines that follow from the faults and open phases on them.

    Devices in `out` were taken out. `devices` are those whose admittances are asked for; None: all on which
    there is an unbalance or an open end. With `every` those are returned too that are so already.
    """
    unbalanced = unbalance(system, out)
    place, networks = unbalanced or (None, None)
    wanted = dict.fromkeys(_affected(system) if devices is None else devices)
    if devices is None and place is not None:
        wanted[place.device] = None
    found: list[tuple[str, str, float]] = []
    for device in wanted:
        own = networks if place is not None and place.device == device else None
        found += _of_device(system, device, own)
    return tuple(entry for entry in found if every or system.parameter(*entry[:2]) != entry[2])


def _affected(system: System) -> Iterator[str]:
    """Yield the lines with something on them, or with admittances of it."""
    for group, matrix in zip(system.groups, system.parameters, strict=True):
        component = group.compiled.component
        if issubclass(component, Line):
            names = tuple(parameters_of(component))
            columns = [names.index(name) for name in (*CAUSES, *CHANGED)]
            yield from (group.names[row] for row in np.flatnonzero(matrix[:, columns].any(axis=1)))


def _of_device(
    system: System, device: str, networks: SequenceNetworks | None
) -> Iterator[tuple[str, str, float]]:
    component = system.device(device).component
    p = SimpleNamespace(**system.parameters_at(device))
    if issubclass(component, DynamicBus):
        yield from ((device, name, value) for name, value in _of_phases(device, component, p).items())
        return
    z2, z0 = (networks.negative.impedance, networks.zero.impedance) if networks else (0j, 0j)
    if issubclass(component, Bus):
        y = to_ground(p, z2, z0)
        yield from ((device, "g_fault", y.real), (device, "b_fault", y.imag))
        return
    change = on_line(p, z2, z0) - without_fault(p)
    entries = [part for y in (change[0, 0], change[0, 1], change[1, 1]) for part in (y.real, y.imag)]
    yield from ((device, name, float(value)) for name, value in zip(CHANGED, entries, strict=True))


def _of_phases(device: str, component: type[Bus], p: SimpleNamespace) -> dict[str, float]:
    """Return the fault admittances of a bus whose phases are simulated.

    Raises EventError for a fault that joins phases with the ground where there is no zero sequence, and one
    of single phases through a capacitance.
    """
    phases = FAULTS[int(p.fault)]
    found = dict.fromkeys(("g_fault", "b_fault", *PAIRS), 0.0)
    with_ground = issubclass(component, ThreePhaseBus)
    found |= dict.fromkeys(TO_GROUND, 0.0) if with_ground else {}
    if "g" in phases and not with_ground:
        raise EventError(
            f"{phases} fault at {device}: {device} has its own dynamics without a zero sequence, in which a"
            " part of this fault's current flows; build the system with psmr.Region(...,"
            " zero_sequence=True), and where that is done give a line or shunt at the bus a b0 > 0 under"
            f" [[sequence]]; or take a fault between phases, or leave {device} out of the region"
        )
    if p.x_fault > 0:
        return found  # a device of its own carries its current, see `psmr.network.dynamic.event_devices`
    if phases == "abc" and with_ground and p.clearing and not p.x_fault:
        return found | dict.fromkeys(TO_GROUND, 1.0 / p.r_fault)  # the same in single phases
    if phases in ("", "abc"):
        y = to_ground(p, 0j, 0j)
        return found | {"g_fault": y.real, "b_fault": y.imag}
    if p.x_fault:
        raise EventError(
            f"{phases} fault at {device}: r + jx = {p.r_fault:g} + j{p.x_fault:g} pu: in single phases of a"
            " bus with its own dynamics x must be >= 0"
        )
    return found | phase_conductances(phases, p.r_fault)


def without_fault(p: SimpleNamespace) -> Complexes:
    """Return the (2, 2) admittance matrix of a line with nothing on it, zero where it is out of service."""
    return np.asarray(p.status * pi_admittance(complex(p.r, p.x), complex(p.g, p.b)))


def on_line(p: SimpleNamespace, z2: complex, z0: complex) -> Complexes:
    """Return the (2, 2) admittance matrix of a line with what is on it, zero where both ends are open."""
    if not is_connected(p.status, p.open_i, p.open_j) or not any(getattr(p, name) for name in CAUSES):
        return without_fault(p)
    sections = sections_of(p)
    if sections.gap:
        return sections.two_port(across=gap_admittance(OPEN[int(p.open_phases)], z2, z0))
    return sections.two_port(ground=to_ground(p, z2, z0))


def sections_of(p: SimpleNamespace) -> Sections:
    """Return a line as it is cut at what is on it."""
    return cut_line(p, complex(p.r, p.x), complex(p.g, p.b))


def to_ground(p: SimpleNamespace, z2: complex, z0: complex) -> complex:
    """Return the admittance to ground of the fault at a bus or on a line, zero where there is none."""
    if not p.fault:
        return 0j
    return fault_admittance(FAULTS[int(p.fault)], complex(p.r_fault, p.x_fault), z2, z0)


SEQUENCES, PHASES = ("1", "2", "0"), ("a", "b", "c")

TO_PHASES = np.array([[1, 1, 1], [A**2, A, 1], [A, A**2, 1]])
"""From positive-, negative- and zero-sequence quantities to those of phases a, b and c."""


@dataclass(frozen=True, eq=False)
class SequenceSolution:
    """Voltages of the negative and zero sequence at K points between two changes.

    `system`: the system as it is there.
    `v`: (3, K, buses) voltages in pu: positive, negative and zero sequence.
    """

    system: System
    v: Complexes
    _impedances: Impedances
    _unbalance: tuple[Place, SequenceNetworks] | None
    _through: Complexes

    @classmethod
    def of(cls, system: System, v: Complexes, out: Collection[str] = ()) -> SequenceSolution:
        """Return the solution for (K, buses) positive-sequence voltages of a system.

        The system has its parameters as they are at these points; devices in `out` were taken out.
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
    ends = branch_ends(system)[place.device]
    at_ends = v[:, [buses(system).index(bus) for bus in ends]]
    sections = sections_of(p)  # type: ignore[arg-type]
    if place.gap:
        y = gap_admittance(OPEN[int(p.open_phases)], z2, z0)  # type: ignore[attr-defined]
        sides = sections.voltages(at_ends, across=y)
        return np.asarray(sides[:, 0] - sides[:, 1])
    return sections.voltages(at_ends, ground=to_ground(p, z2, z0))[:, 0]  # type: ignore[arg-type]


def _into_line(system: System, place: Place, impedances: Impedances, k: int, nodes: Complexes) -> Complexes:
    """Return (K,) currents at bus i into a line that is cut, from (K, nodes) voltages."""
    ends = branch_ends(system)[place.device]
    names = buses(system)
    n = len(names)
    sections = sections_in(impedances, place, NEGATIVE if k == 1 else ZERO)
    # Where a gap is at bus i, what goes through it enters the other section.
    row = 3 if sections.gap and sections.sides[0] == 0 else 0
    at = [names.index(ends[0]), names.index(ends[1]), n, n + 1]
    return np.asarray(nodes[:, at] @ sections.nodes()[row])
