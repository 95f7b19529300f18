"""The protocol of detectors, and what they find: extremes, what is beyond a limit, what ends a run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, Protocol

from psmr.base.errors import first_few
from psmr.network.signals.points import Points
from psmr.network.topology.connections import Connections


@dataclass(frozen=True)
class Extreme:
    """A largest or smallest value, where it was in words, and when (in s; a duration begins there).

    `place` is the name of the one bus that it was at, "" for another place.
    """

    value: float
    where: str
    t: float
    place: str = ""


@dataclass(frozen=True)
class Finding:
    """A figure of a run that is beyond a limit.

    Attributes
    ----------
    t
        Time in s from which on it is.
    what
        Which detector found it, in words: ``"angle spread"``, ``"low voltage"``.
    where
        Which machines, bus or motor.
    value, limit, unit
        The figure and the limit, in their unit.
    colour
        How a run with it is judged.
    sentence
        All of it in a sentence.
    signals
        Names of the signals that show it.
    at_end
        Whether it is about how a run ends, so that it says nothing of one that did not come to its end.
    began
        The figure at `t`, where `value` is the furthest one from then on; None where they are the same.
    motor
        The motor that it is about; "" where it is about something else.
    """

    t: float
    what: str
    where: str
    value: float
    limit: float
    unit: str
    colour: Literal["red", "amber"]
    sentence: str
    signals: tuple[str, ...] = ()
    at_end: bool = False
    began: float | None = None
    motor: str = ""


@dataclass(frozen=True)
class Stop:
    """What ended a run.

    Attributes
    ----------
    t
        Time in s.
    monitor
        Which monitor, in words.
    what
        Which machines, bus or buses.
    value, limit, unit
        What was seen there and the limit of the monitor, in its unit; None where it is not a number.
    since
        Since when it is measured, in words.
    """

    t: float
    monitor: str
    what: str
    value: float | None = None
    limit: float | None = None
    unit: str = ""
    since: str = ""

    def __str__(self) -> str:
        if self.value is None or self.limit is None:
            return f"{self.monitor}: {self.what}"
        value = digits_beyond(self.value, self.limit, 4)
        since = f" {self.since}" if self.since else ""
        return f"{self.monitor}: {self.what} = {value} {self.unit}{since}, limit {self.limit:g} {self.unit}"


def digits_beyond(value: float, limit: float, digits: int) -> str:
    """Return a value in as many digits as it takes to see that it is not the limit."""
    texts = (f"{value:.{n}g}" for n in range(digits, 17))
    return next((text for text in texts if float(text) != limit), f"{value:g}")


def names_of(names: Iterable[str], most: int = 5) -> str:
    """Return names as a message has them, the first few of many."""
    return first_few(sorted(names), most)


class Detector(Protocol):
    """What every detector offers."""

    def begin(self, connections: Connections) -> None:
        """Start a span, of which these are the connections."""

    def take(self, points: Points) -> None:
        """Take the next points of the span."""

    def findings(self) -> tuple[Finding, ...]:
        """Return what is beyond a limit so far."""
