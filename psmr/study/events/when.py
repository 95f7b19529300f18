"""Events that happen when a condition has held for a time."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any

from psmr.base.arguments import explains_keywords, settle_fields
from psmr.base.errors import EventError, shown
from psmr.integrate.timeline.span import Change
from psmr.network.signals.quantities import QUANTITIES
from psmr.network.signals.signals import is_sum, quantity
from psmr.network.topology.network import find_branch
from psmr.study.events.branch import LineClose
from psmr.study.events.event import Event
from psmr.study.events.value import TimeSeries

if TYPE_CHECKING:
    from psmr.dae.system.system import System

TIMES = ("start", "end", "clear", "clear_from", "clear_to", "clear_again", "close", "reclose", "reconnect")
"""The fields of events that are times."""

CONDITION = re.compile(
    r"\s*([^\s<>](?:[^<>]*[^\s<>])?)\s*([<>])\s*([-+0-9.eE]+)(?:\s+for\s+([-+0-9.eE]+)\s*s)?\s*"
)


@explains_keywords(EventError)
@dataclass(frozen=True)
class When:
    """An event that happens once, when a signal has been beyond a value for a time.

    Parameters
    ----------
    condition
        Signal, ``<`` or ``>``, value and, if it has to hold for a time without a break, that time:
        ``"bus7.v < 0.7 for 0.2 s"``.
    event
        What happens then; its times count from that instant, a `start` of 0 is at once.

    Raises
    ------
    EventError
        For a text that is no condition, a condition that can never hold, and a `TimeSeries`, whose times are
        those of its file.
    """

    condition: str
    event: Event

    def __post_init__(self) -> None:
        settle_fields(self, EventError)
        match = CONDITION.fullmatch(self.condition) if isinstance(self.condition, str) else None
        try:
            numbers = [float(part) for part in match.group(3, 4) if part] if match else []
        except ValueError:
            numbers = []
        if not numbers or not all(map(math.isfinite, numbers)):
            raise EventError(
                f"when = {shown(self.condition)}: is no condition; write a signal, < or >, a value and, if "
                'it has to hold for a time, that: "bus7.v < 0.7 for 0.2 s"'
            )
        known: object = self.event
        if isinstance(known, When | TimeSeries):
            raise EventError(
                f"{known}: cannot happen on a condition, its times are its own; give a SetPoint or a LoadRamp"
            )
        if (
            isinstance(known, type)
            or not is_dataclass(known)
            or not callable(getattr(known, "changes", None))
        ):
            raise EventError(
                f"when = {shown(self.condition)}: {shown(known)} is not an event; give a psmr.Fault"
            )
        if self.delay < 0:
            raise EventError(f"{self}: for {self.delay:g} s; must be >= 0")
        known = None if is_sum(self.signal) else QUANTITIES.get(quantity(self.signal))
        if known is not None and known.magnitude is True:
            self.refuse_below_zero()

    def refuse_below_zero(self) -> None:
        """Raise EventError where the signal, a magnitude, would have to be below zero."""
        if self.below and self.value <= 0:
            raise EventError(
                f"{self}: can never hold, {self.signal} is a magnitude and not below 0; is the sign right?"
            )

    @property
    def signal(self) -> str:
        """Name of the signal."""
        return self._parts[0]

    @property
    def below(self) -> bool:
        """Whether the signal has to be below the value."""
        return self._parts[1] == "<"

    @property
    def value(self) -> float:
        """The value."""
        return float(self._parts[2])

    @property
    def delay(self) -> float:
        """For how long in s the condition has to hold."""
        return float(self._parts[3] or 0.0)

    @property
    def _parts(self) -> tuple[str, ...]:
        match = CONDITION.fullmatch(self.condition)
        assert match is not None
        return match.groups()

    @property
    def start(self) -> float:
        """Never by itself: infinite."""
        return math.inf

    @property
    def end(self) -> None:
        """None: the run says when."""
        return

    def __str__(self) -> str:
        wait = f"{self.event.start:g} s after " if self.event.start else "when "
        return f"{self.event} {wait}{self.condition}"

    def changes(self, system: System) -> tuple[Change, ...]:
        """Return what happens, in time from the instant of the condition; what closes is out by then."""
        if isinstance(self.event, LineClose):
            line = find_branch(system, self.event.line, str(self.event)).name
            system = system.with_values([(line, "status", 0.0)])
        return self.event.changes(system)

    def at(self, t: float) -> Event:
        """Return the event as it happens from t in s on."""
        names = {field.name for field in fields(self.event)}  # type: ignore[arg-type]  # checked above
        given: dict[str, Any] = {name: getattr(self.event, name) for name in TIMES if name in names}
        moved = {name: value + t for name, value in given.items() if value is not None}
        return replace(self.event, **moved)  # type: ignore[type-var]

    def named(self, change: Change) -> Change:
        """Return a change that happens by the condition, with words that say so."""
        return replace(change, label=f"{change.label} ({self.condition})")

    def not_done(self, t: float, why: object) -> Change:
        """Return the words on an event that is not possible any more at t in s."""
        return Change(t, label=f"{self}: not done, {why}")
