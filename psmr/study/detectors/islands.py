"""Parts of the network that are left without a source.

A part is dead where nothing is left in it that holds the voltage: no machine, no converter that forms it, no
infinite bus. That follows from what is in service and not from points of a run: see
`psmr.network.topology.islands`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from psmr.dae.system.system import System
from psmr.integrate.run.trajectory import Change
from psmr.study.detectors.finding import Stop
from psmr.study.events.spans import Spans


def names_of(names: Iterable[str], most: int = 5) -> str:
    """Return names as a message has them, the first few of many."""
    ordered = sorted(names)
    more = f" and {len(ordered) - most} more" if len(ordered) > most else ""
    return ", ".join(ordered[:most]) + more


def dead_part(system: System, changes: Sequence[Change]) -> Stop | None:
    """Return where the changes, in order of time, first leave a part without a source; None for nowhere."""
    spans, dead = Spans(system, changes), frozenset[str]()
    spans.begin(0.0)
    for t in sorted({change.t for change in changes}):
        now = spans.begin(t).devices.dead
        if now - dead:
            labels = "; ".join(change.label for change in changes if change.t == t and change.label)
            return Stop(t, "island", f"{labels} leaves {names_of(now - dead)} without a source")
        dead = now
    return None
