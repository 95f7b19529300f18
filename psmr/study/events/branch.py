"""Lines and transformers that leave and come back, and phases of a line that open and close again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

from psmr.base.arguments import explains_keywords, settle_fields
from psmr.base.errors import EventError
from psmr.dae.declare.component import parameters_of
from psmr.devices.dynamic_network.branch import DynamicLine
from psmr.devices.dynamic_network.breaker_poles import CLOSED
from psmr.devices.dynamic_network.bus import DynamicBus
from psmr.devices.dynamic_network.travelling_wave import TravellingWaveLine
from psmr.devices.network import OPEN, Line
from psmr.integrate.timeline.span import Change
from psmr.network.dynamic.event_devices import can_have_breaker_poles, has_breaker_poles
from psmr.network.sequence.networks import is_connected
from psmr.network.sequence.unbalance import Values, dependent_admittances
from psmr.network.topology.network import Branch, find_branch, reversed_ends
from psmr.study.events.event import Lasting, check_after, check_choice, check_fraction, check_time

if TYPE_CHECKING:
    from psmr.dae.system.system import System


OPEN_ENDS = ("open_i", "open_j")
"""The parameters of a line that say that it hangs at its other end."""


@explains_keywords(EventError)
@dataclass(frozen=True)
class LineTrip:
    """A line or transformer is taken out of service and, if asked for, put back.

    Parameters
    ----------
    line
        Branch by its buses, ``"5-7"``, or by name, ``"line5-7"``.
    start
        Time of the trip in s.
    reclose
        Time in s at which it is in service again, in all phases at once; None: never.
    at_zero
        Whether each phase opens at the first zero of its current after `start`; None: where the line has its
        phases, in a region with `zero_sequence`. False: all at once.

    Raises
    ------
    EventError
        For times that are out of order.
    """

    kind: ClassVar[str] = "line-trip"

    line: str
    start: float
    reclose: float | None = None
    at_zero: bool | None = None

    def __post_init__(self) -> None:
        settle_fields(self, EventError)
        check_time(self, "start", self.start)
        if self.reclose is not None:
            check_after(self, "reclose", self.reclose, self.start)

    def __str__(self) -> str:
        return f"trip of {line_words(self.line)}"

    @property
    def end(self) -> float | None:
        """Time of reclosing in s."""
        return self.reclose

    def changes(self, system: System) -> tuple[Change, ...]:
        """Return the trip and the reclosing; of a branch that is out of service already the closing alone.

        Raises
        ------
        EventError
            When the branch is not there, or is out of service already and is not closed.
        """
        branch = find_branch(system, self.line, str(self))
        if self.reclose is not None and _is_out(system, branch.name):
            return LineClose(branch.name, self.reclose).changes(system)
        line = in_service(system, branch, str(self)).name
        opened = opening_values(system, line, self.at_zero, str(self))
        first = Change(self.start, parameters=opened, label=f"{line} tripped")
        if self.reclose is None:
            return (first,)
        return first, Change(self.reclose, parameters=closing_values(system, line), label=f"{line} reclosed")


@explains_keywords(EventError)
@dataclass(frozen=True)
class LineClose(Lasting):
    """A line or transformer that is out of service is closed.

    Parameters
    ----------
    line
        Branch by its buses, ``"5-7"``, or by name, ``"line5-7"``: one that the case has out of service
        (``status = 0``), or that an event before has tripped.
    start
        Time of the closing in s, in all phases at once.

    Raises
    ------
    EventError
        For a time that is not a number or is below zero.
    """

    kind: ClassVar[str] = "line-close"

    line: str
    start: float

    def __post_init__(self) -> None:
        settle_fields(self, EventError)
        check_time(self, "start", self.start)

    def __str__(self) -> str:
        return f"closing of {line_words(self.line)}"

    def changes(self, system: System) -> tuple[Change, ...]:
        """Return the closing.

        Raises
        ------
        EventError
            When the branch is not there, or is in service already.
        """
        line = find_branch(system, self.line, str(self)).name
        if system.parameter(line, "status") == 1:
            raise EventError(f"{self}: {line} is in service already at t = {self.start:g} s; drop the event")
        return (Change(self.start, parameters=closing_values(system, line), label=f"{line} closed"),)


def opening_values(system: System, line: str, at_zero: bool | None, what: str) -> Values:
    """Return the parameters by which a branch opens: each phase at the zero of its current, or all at once.

    Raises EventError where it is to open at zeros of currents that it does not have.
    """
    poles = can_have_breaker_poles(system, line)
    if at_zero and not poles:
        raise EventError(
            f"{what}: at_zero = True: {line} has no phases of its own; branches of one section between buses"
            " that are no junctions have them in psmr.Region(..., zero_sequence=True)"
        )
    if poles and at_zero is not False:
        return ((line, "trip", float(OPEN.index("abc"))),)
    return ((line, "status", 0.0), *_ends_as_status_says(system, line))


def closing_values(system: System, line: str) -> Values:
    """Return the parameters by which a branch is in service with all its phases."""
    poles = CLOSED if has_breaker_poles(system.device(line)) else {}
    return (
        (line, "status", 1.0),
        *_ends_as_status_says(system, line),
        *((line, name, value) for name, value in poles.items()),
    )


def _ends_as_status_says(system: System, line: str) -> Values:
    """Return the parameters by which neither end of a line, of which a relay may have opened one, differs."""
    declared = parameters_of(system.device(line).component)
    return tuple((line, name, 0.0) for name in OPEN_ENDS if name in declared)


def _is_out(system: System, line: str) -> bool:
    """Return whether a branch is out of service, and does not hang at one end either."""
    values = system.parameters_at(line)
    return not is_connected(values["status"], *(values.get(name, 0.0) for name in OPEN_ENDS))


def line_words(line: str) -> str:
    """Return how a message calls a line given as ``"5-7"`` or ``"line5-7"``."""
    return f"line {str(line).removeprefix('line')}"


def find_line(system: System, line: str, what: str) -> str:
    """Return the name of a line in service.

    Raises EventError when it is not there, out of service already, or no line with a length.
    """
    branch = in_service(system, find_branch(system, line, what), what)
    component = system.device(branch.name).component
    if issubclass(component, DynamicLine | TravellingWaveLine):
        raise EventError(
            f"{what}: {branch.name} has its own dynamics, along which no fault can be; take one of its "
            f"buses, {' or '.join(branch.ends)}"
        )
    if not issubclass(component, Line):
        raise EventError(
            f"{what}: {branch.name} is no line with a length; take one of its buses, "
            f"{' or '.join(branch.ends)}"
        )
    return branch.name


def in_service(system: System, branch: Branch, what: str) -> Branch:
    """Return the branch; raises EventError when it is out of service already."""
    if _is_out(system, branch.name):
        raise EventError(
            f"{what}: {branch.name} is out of service already; a trip of it would do nothing (a LineClose"
            " closes it)"
        )
    return branch


PHASES = OPEN[2:]


@explains_keywords(EventError)
@dataclass(frozen=True)
class OpenPhases:
    """One or two phases of a line open and, if asked for, close again: a broken conductor, a breaker's pole.

    Parameters
    ----------
    line
        Line by its buses, ``"5-7"``, or by name, ``"line5-7"``.
    start
        Time in s at which they open; in a region with `zero_sequence` each at the first zero of its current
        after it.
    phases
        Which, as ``"a"`` or ``"bc"``.
    close
        Time in s at which they are closed; None: never.
    at
        Where, as a part of the line's length from the bus that is named first; None: at that bus.

    Raises
    ------
    EventError
        For times that are out of order, other phases, and a place outside the line.
    """

    kind: ClassVar[str] = "open-phases"

    line: str
    start: float
    phases: Annotated[str, PHASES] = "a"
    close: float | None = None
    at: float | None = None

    def __post_init__(self) -> None:
        settle_fields(self, EventError)
        check_time(self, "start", self.start)
        if self.close is not None:
            check_after(self, "close", self.close, self.start)
        if self.at is not None:
            check_fraction(self, "at", self.at, "phases that open at an end are those without at")
        check_choice(self, "phases", self.phases, PHASES, "; all three are a LineTrip")

    def __str__(self) -> str:
        return f"open phases of {line_words(self.line)}"

    @property
    def end(self) -> float | None:
        """Time of closing in s."""
        return self.close

    def changes(self, system: System) -> tuple[Change, ...]:
        """Return the opening and the closing.

        Raises
        ------
        EventError
            When the line is not there, is out of service or is a transformer.
        """
        code = float(OPEN.index(self.phases))
        line = find_branch(system, self.line, str(self)).name
        if can_have_breaker_poles(system, line):
            if self.at is not None:
                raise EventError(
                    f"{self}: at = {self.at:g}: {line} has its own dynamics and opens at an end; leave at out"
                )
            in_service(system, find_branch(system, self.line, str(self)), str(self))
            opened: Values = ((line, "trip", code),)
            closed: Values = tuple((line, name, value) for name, value in CLOSED.items())
        else:
            line = self._line_of_phasors(system)
            at = 0.0 if self.at is None else self.at
            backwards = reversed_ends(system, self.line, line)
            opened = ((line, "open_phases", code), (line, "at", 1.0 - at if backwards else at))
            closed = ((line, "open_phases", 0.0), (line, "at", 0.0))
        words = f"phase{'s' if len(self.phases) > 1 else ''} {self.phases} of {line}"
        stages = [(self.start, f"{words} open", opened)]
        if self.close is not None:
            stages.append((self.close, f"{words} closed", closed))
        if can_have_breaker_poles(system, line):
            return tuple(Change(t, parameters=values, label=label) for t, label, values in stages)
        return changes_at(system, line, stages)

    def _line_of_phasors(self, system: System) -> str:
        branch = in_service(system, find_branch(system, self.line, str(self)), str(self))
        component = system.device(branch.name).component
        if issubclass(component, DynamicLine | TravellingWaveLine):
            raise EventError(
                f"{self}: {branch.name} has its own dynamics and no phases; branches of one section between"
                " buses that are no junctions have them in psmr.Region(..., zero_sequence=True)"
            )
        if not issubclass(component, Line):
            raise EventError(
                f"{self}: {branch.name} is no line, of which alone phases open; take a line beside it"
            )
        return branch.name


def changes_at(system: System, place: str, stages: Iterable[tuple[float, str, Values]]) -> tuple[Change, ...]:
    """Return the changes of a bus or line by (time in s, words, values), with the admittances that follow.

    The values may set what a system has for a run with the event alone, an inductor of a fault or poles.
    """
    found: list[Change] = []
    so_far: Values = ()
    # All of them: an event on a condition may have left others. The phases of a dynamic bus are its own.
    every = not issubclass(system.device(place).component, DynamicBus)
    known = {device.name: device.parameters for device in system.devices}
    for t, label, values in stages:
        there = (entry for entry in (*so_far, *values) if entry[1] in known.get(entry[0], ()))
        now = system.with_values(tuple(there))
        values = (*values, *dependent_admittances(now, devices=[place], every=every))
        so_far = (*so_far, *values)
        found.append(Change(t, parameters=values, label=label))
    return tuple(found)
