"""What faults and open phases are to the positive-sequence network: admittances of buses and lines.

A parameter says which phases are joined or open, and where; the admittances that the equations read follow
from these and from the networks of the other sequences.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from types import SimpleNamespace

import numpy as np

from psmr.base.errors import EventError
from psmr.dae.declare.component import parameters_of
from psmr.dae.system.system import System
from psmr.devices.dynamic_network.bus import PAIRS, TO_GROUND, DynamicBus, ThreePhaseBus
from psmr.devices.network import FAULTS, OPEN, Bus, Line
from psmr.network.sequence.interconnection import fault_admittance, gap_admittance, phase_conductances
from psmr.network.sequence.networks import (
    Place,
    SequenceNetworks,
    connected,
    cut,
    place_of,
    sequence_networks,
)
from psmr.network.sequence.two_port import Complexes, Sections

Values = tuple[tuple[str, str, float], ...]

CHANGED = ("g_ii", "b_ii", "g_ij", "b_ij", "g_jj", "b_jj")
"""The parameters of a line that follow from a fault on it."""

CAUSES = ("fault", "open_phases", "open_i", "open_j")
"""The parameters of a line of which one that is not zero says that there is something on it."""


def unbalance(system: System, out: Collection[str] = ()) -> tuple[Place, SequenceNetworks] | None:
    """Return where a system is unbalanced and the networks that the place sees; None where it is balanced.

    Raises
    ------
    EventError
        For two places at once, whose networks are joined with each other.
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

    Parameters
    ----------
    system
        The system with its parameters as they are.
    out
        Devices that were taken out.
    devices
        Those whose admittances are asked for; None: all on which there is an unbalance or an open end.
    every
        Whether those are returned too that are so already.
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

    Raises
    ------
    EventError
        For a fault that joins phases with the ground where there is no zero sequence, and one of single
        phases through a capacitance.
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
    series, shunt = 1.0 / complex(p.r, p.x), complex(p.g, p.b) / 2
    return np.asarray(p.status * np.array([[series + shunt, -series], [-series, series + shunt]]))


def on_line(p: SimpleNamespace, z2: complex, z0: complex) -> Complexes:
    """Return the (2, 2) admittance matrix of a line with what is on it, zero where both ends are open."""
    if not connected(p.status, p.open_i, p.open_j) or not any(getattr(p, name) for name in CAUSES):
        return without_fault(p)
    sections = sections_of(p)
    if sections.gap:
        return sections.two_port(across=gap_admittance(OPEN[int(p.open_phases)], z2, z0))
    return sections.two_port(ground=to_ground(p, z2, z0))


def sections_of(p: SimpleNamespace) -> Sections:
    """Return a line as it is cut at what is on it."""
    return cut(p, complex(p.r, p.x), complex(p.g, p.b))


def to_ground(p: SimpleNamespace, z2: complex, z0: complex) -> complex:
    """Return the admittance to ground of the fault at a bus or on a line, zero where there is none."""
    if not p.fault:
        return 0j
    return fault_admittance(FAULTS[int(p.fault)], complex(p.r_fault, p.x_fault), z2, z0)
