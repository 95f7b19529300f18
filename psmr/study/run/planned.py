"""What the events of a run are to do: changes at known times, and events that wait for a condition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from psmr.dae.system.system import System
from psmr.integrate.run.trajectory import Change
from psmr.study.events import Event
from psmr.study.events.schedule import refuse_conditional_trips, schedule
from psmr.study.run.conditional import Waiting, waiting


class Planned(NamedTuple):
    """What is known of the events before a run.

    Attributes
    ----------
    scheduled
        Changes at their times, in order.
    conditional
        Events that wait for a condition.
    possible
        The changes that these may make.
    """

    scheduled: tuple[Change, ...]
    conditional: list[Waiting]
    possible: list[Change]


def planned(system: System, events: Sequence[Event], t_end: float) -> Planned:
    """Return what events are to do until t_end in s.

    Raises
    ------
    EventError
        For an event that cannot be, with the event.
    """
    conditional, scheduled = waiting(system, events), schedule(system, events, t_end)
    possible = [(each.when, change) for each in conditional for change in each.when.at(0.0).changes(system)]
    refuse_conditional_trips(scheduled, possible)
    return Planned(scheduled, conditional, [change for _, change in possible])
