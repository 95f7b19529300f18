"""All events of a run together: changes in order of time, checked before any time is simulated."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from psmr.dae.system import System
from psmr.errors import EventError
from psmr.numerics.march import Change
from psmr.study.events import Event
from psmr.study.network import branches, graph

if TYPE_CHECKING:
    import networkx as nx


def schedule(system: System, events: Iterable[Event], t_end: float) -> tuple[Change, ...]:
    """Return the changes of all events in order of time, those of one instant merged into one.

    Raises
    ------
    EventError
        For an event that names something that is not there, lies at or after the end of the run, contradicts
        another event, or cuts part of the network off.
    """
    entries = sorted(
        ((change, event) for event in events for change in _checked(event, system, t_end)),
        key=lambda entry: entry[0].t,
    )
    _refuse_contradictions(system, entries)
    changes = _merged([change for change, _ in entries])
    _refuse_islands(system, changes)
    return changes


def _checked(event: Event, system: System, t_end: float) -> tuple[Change, ...]:
    if not callable(getattr(event, "changes", None)):
        raise EventError(
            f"{event!r} is no event; use psmr.Fault, psmr.LoadTrip, psmr.LineTrip or psmr.SetPoint"
        )
    changes = event.changes(system)
    for change in changes:
        if change.t >= t_end:
            raise EventError(
                f"{event}: {change.label!r} at t = {change.t:g} s would never be seen, the run ends at t_end "
                f"= {t_end:g} s; move the event or lengthen the run"
            )
    return changes


def _refuse_contradictions(system: System, entries: Sequence[tuple[Change, Event]]) -> None:
    """Refuse an event that would overwrite, or undo, what another one still holds changed."""
    held: dict[tuple[str, str], tuple[Event, float]] = {}
    for change, event in entries:
        for device, name, value in change.parameters:
            place = (device, name)
            holder, present = held.get(place, (event, value))
            if holder is not event and present != value and name != "status":
                raise EventError(
                    f"{event} ({change.label}, t = {change.t:g} s) overlaps with {holder}: both change "
                    f"{device}.{name}; combine them into one event or separate them in time"
                )
            held[place] = (event, value)
            if value == system.parameter(device, name):
                del held[place]


def _merged(changes: Sequence[Change]) -> tuple[Change, ...]:
    """Join the changes of one instant, so that the algebraic equations are solved once for all of them."""
    merged: list[Change] = []
    for change in changes:
        if merged and merged[-1].t == change.t:
            last = merged.pop()
            label = "; ".join(filter(None, (last.label, change.label)))
            change = Change(change.t, last.parameters + change.parameters, last.inputs + change.inputs, label)
        merged.append(change)
    return tuple(merged)


def _refuse_islands(system: System, changes: Sequence[Change]) -> None:
    names = {branch.name for branch in branches(system)}
    if not any(
        device in names and value == 0 for change in changes for device, _, value in change.parameters
    ):
        return
    before = _islands(graph(system))
    out: set[str] = set()
    for change in changes:
        for device, name, value in change.parameters:
            if device in names and name == "status":
                out = out - {device} if value else out | {device}
        now = _islands(graph(system, out))
        if len(now) > len(before):
            cut = min((island for island in now if island not in before), key=len)
            raise EventError(
                f"{change.label} at t = {change.t:g} s cuts {_names(cut)} off from the rest of the network; "
                "a run needs one connected network, trip a branch that leaves it connected or drop the event"
            )


def _islands(net: nx.MultiGraph) -> list[frozenset[str]]:
    import networkx as nx

    return [frozenset(island) for island in nx.connected_components(net)]


def _names(island: frozenset[str]) -> str:
    names = sorted(island)
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more buses" if len(names) > 5 else "")
