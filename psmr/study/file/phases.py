"""Regions that get a zero sequence by the events of a study."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import replace

from psmr.base.errors import EventError, PsmrWarning
from psmr.dae.system.system import System
from psmr.network.case.case import Case
from psmr.network.dynamic.switching import dynamic_elements
from psmr.network.topology.network import find_branch, find_bus
from psmr.study.events import Event, Fault, LineTrip, OpenPhases, When


def with_phases(case: Case, system: System, events: Iterable[Event]) -> Case:
    """Return a case whose region has its phases where events need them in it, the same case otherwise.

    `system` is the case's. Warns (PsmrWarning) of what it does and by which event.
    """
    region = case.dynamic
    if region is None or region.zero_sequence:
        return case
    for event in events:
        if not _needs_phases(event.event if isinstance(event, When) else event, system):
            continue
        warnings.warn(
            f"{event}: phases are unequal, or open at zeros of their currents, in the region with dynamics"
            " of the network: its zero sequence is simulated (zero_sequence = true)",
            PsmrWarning,
            stacklevel=3,
        )
        return replace(case, dynamic=replace(region, zero_sequence=True))
    return case


def _needs_phases(event: Event, system: System) -> bool:
    """Return whether an event has to do with single phases to ground, or their zeros, in a region."""
    if not isinstance(event, Fault | LineTrip | OpenPhases):
        return False
    unequal = isinstance(event, OpenPhases) or (isinstance(event, Fault) and "g" in event.phases)
    if not unequal and not getattr(event, "at_zero", False):
        return False
    try:
        if isinstance(event, Fault) and event.bus is not None:
            name = find_bus(system, event.bus, str(event))
        else:
            name = find_branch(system, event.line or "", str(event)).name
    except EventError:
        return False  # said where its changes are made
    return name in dynamic_elements(system)
