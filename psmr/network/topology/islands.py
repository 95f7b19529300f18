"""Islands: the connected parts of the network, what feeds them, and those that nothing feeds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from psmr.base.errors import EventError
from psmr.integrate.run.trajectory import Change
from psmr.network.case.connected_parts import connected_parts
from psmr.network.topology.network import branches, buses, out_of_service
from psmr.network.topology.plants import plants
from psmr.network.topology.remembered import of_devices

if TYPE_CHECKING:
    from psmr.dae.system.system import System


# Networks, by the branches that they are without, whose islands are kept.
NETWORKS = 500


@dataclass(frozen=True)
class DeadIsland:
    """A part of the network in which nothing is left that could hold it.

    Attributes
    ----------
    t, label
        Instant in s, and what happened then.
    buses
        Its buses in order of name.
    """

    t: float
    label: str
    buses: tuple[str, ...]

    def __str__(self) -> str:
        more = f" and {len(self.buses) - 5} more buses" if len(self.buses) > 5 else ""
        return ", ".join(self.buses[:5]) + more


def islands(system: System, out: Iterable[str] = ()) -> list[frozenset[str]]:
    """Return the buses of each connected part of the network, without the branches in `out`."""
    known = _known_islands(system)
    left_out = frozenset(out_of_service(system) | set(out))
    if left_out not in known:
        if len(known) >= NETWORKS:
            known.clear()
        joined = (branch.ends for branch in branches(system) if branch.name not in left_out)
        known[left_out] = connected_parts(buses(system), joined)
    return list(known[left_out])


@of_devices
def _known_islands(system: System) -> dict[frozenset[str], list[frozenset[str]]]:
    """Return room for the islands of a system by the branches that are left out."""
    return {}


def absent(system: System, changes: Iterable[Change]) -> frozenset[str]:
    """Return the devices that are out of service after the changes: by their status, or tripped."""
    out = set(out_of_service(system))
    for change in changes:
        for device, name, value in change.parameters:
            if name == "status":
                out = out - {device} if value else out | {device}
        out |= set(change.out)
    return frozenset(out)


def first_dead_island(system: System, changes: Sequence[Change]) -> DeadIsland | None:
    """Return the first island that the changes leave with nothing that holds it, None where there is none.

    What holds an island is a machine, or a converter that does not follow the voltage of others. An island
    that is dead from the start is none of the changes'.
    """
    joins, sources = {branch.name for branch in branches(system)}, plants(system).values()
    members = {device for plant in sources for device in plant.devices}

    def dead(out: frozenset[str]) -> set[frozenset[str]]:
        fed = {plant.bus for plant in sources if plant.holds and plant.name not in out}
        return {island for island in islands(system, out) if not island & fed}

    known: set[frozenset[str]] | None = None
    for k, change in enumerate(changes):
        switched = {device for device, name, _ in change.parameters if name == "status"} | set(change.out)
        if not switched & (joins | members):
            continue
        known = dead(out_of_service(system)) if known is None else known
        found = dead(absent(system, changes[: k + 1]))
        if new := found - known:
            smallest = min(map(sorted, new), key=len)
            return DeadIsland(change.t, change.label, tuple(smallest))
        known = found
    return None


def refuse_dead_islands(system: System, changes: Sequence[Change]) -> None:
    """Raise EventError where the changes leave a part of the network without a source."""
    island = first_dead_island(system, changes)
    if island is not None:
        raise EventError(
            f"{island.label} at t = {island.t:g} s leaves {island} without a machine or converter that holds "
            "the voltage; keep them connected to one, drop the event, or let the monitor Island "
            "end the run there"
        )
