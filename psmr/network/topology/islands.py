"""Islands: the connected parts of the network."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from psmr.network.case.connected_parts import connected_parts
from psmr.network.topology.network import branches, buses
from psmr.network.topology.remembered import of_devices

if TYPE_CHECKING:
    from psmr.dae.system.system import System


# Networks, by the branches that they are without, whose islands are kept.
NETWORKS = 500


def islands(system: System, out: Iterable[str]) -> list[frozenset[str]]:
    """Return the buses of each connected part of the network, without the branches in `out`."""
    known, left_out = _known_islands(system), frozenset(out) & _names_of_branches(system)
    if left_out not in known:
        if len(known) >= NETWORKS:
            known.clear()
        joined = (branch.ends for branch in branches(system) if branch.name not in left_out)
        known[left_out] = connected_parts(buses(system), joined)
    return list(known[left_out])


@of_devices
def _names_of_branches(system: System) -> frozenset[str]:
    return frozenset(branch.name for branch in branches(system))


@of_devices
def _known_islands(system: System) -> dict[frozenset[str], list[frozenset[str]]]:
    """Return room for the islands of a system by the branches that are left out."""
    return {}
