"""Parts of the network that are left without a source.

A part is dead where nothing is left in it that holds the voltage: no machine, no converter that forms it, no
infinite bus. That follows from what is in service and not from points of a run: see
`psmr.network.topology.islands`.
"""

from __future__ import annotations

from collections.abc import Sequence

from psmr.dae.system.system import System
from psmr.integrate.run.trajectory import Change
from psmr.network.topology.islands import first_dead_island
from psmr.study.detectors.finding import Stop


def dead_part(system: System, changes: Sequence[Change]) -> Stop | None:
    """Return where the changes, in order of time, first leave a part without a source; None for nowhere."""
    dead = first_dead_island(system, changes)
    return None if dead is None else Stop(dead.t, "island", f"{dead.label} leaves {dead} without a source")
