"""What every event offers, and the checks that their fields share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Protocol

from psmr.base.errors import EventError, nearest, shown
from psmr.integrate.timeline.span import Change

if TYPE_CHECKING:
    from psmr.dae.system.system import System


class Event(Protocol):
    """What every event offers; `kind` is its type in study files."""

    kind: ClassVar[str]

    @property
    def start(self) -> float:
        """Time of the first change in s."""

    @property
    def end(self) -> float | None:
        """Time at which it is undone in s, None if never."""

    def changes(self, system: System) -> tuple[Change, ...]:
        """Return the changes it makes, in order of time."""


class Lasting:
    """An event that nothing undoes."""

    @property
    def end(self) -> float | None:
        """None: what has happened stays."""
        return None


def bus_words(bus: int | str) -> str:
    """Return how a message calls a bus given as ``5`` or ``"bus5"``."""
    return f"bus{bus}" if str(bus).isdigit() else str(bus)


def check_finite(event: object, field: str, value: object) -> None:
    """Raise EventError for a value that is no finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise EventError(f"{event}: {field} = {shown(value)}; must be a finite number")


def check_time(event: object, field: str, value: float) -> None:
    """Raise EventError for a value that is no time of a run in s."""
    check_finite(event, field, value)
    if value < 0:
        raise EventError(f"{event}: {field} = {value:g} s; must be >= 0, a run starts at t = 0")


def check_given(event: object, field: str, value: float | None) -> float:
    """Return a time in s; raise EventError where it is not given."""
    if value is None:
        raise EventError(f"{event}: {field} is missing; give the time in s")
    return value


def check_after(event: object, field: str, value: float, start: float, what: str = "start =") -> None:
    """Raise EventError for a time in s that is not after `start`."""
    check_finite(event, field, value)
    if value <= start:
        raise EventError(f"{event}: {field} = {value:g} s; must be after {what} {start:g} s")


def check_fraction(event: object, field: str, value: object, remedy: str) -> None:
    """Raise EventError for a value that is no part of a length, both ends left out."""
    check_finite(event, field, value)
    if not 0.0 < value < 1.0:  # type: ignore[operator]  # a finite number
        raise EventError(
            f"{event}: {field} = {value:g}; must be between 0 and 1, a part of the line's length; {remedy}"
        )


def check_choice(event: object, field: str, value: object, choices: Sequence[str], remedy: str = "") -> None:
    """Raise EventError for a value that is none of a few texts."""
    if not isinstance(value, str) or value not in choices:
        hint = nearest(value, choices) if isinstance(value, str) else ""
        known = ", ".join(choices)
        raise EventError(f"{event}: {field} = {shown(value)}: must be one of {known}{hint}{remedy}")
