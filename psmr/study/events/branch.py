"""Lines and transformers that leave and come back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from psmr.base.arguments import settle_fields
from psmr.base.errors import EventError
from psmr.base.slips import explains_slips
from psmr.devices.dynamic_network.branch import DynamicLine
from psmr.devices.network import Line
from psmr.integrate.run.trajectory import Change
from psmr.network.topology.network import Branch, find_branch
from psmr.study.events.event import check_after, check_time

if TYPE_CHECKING:
    from psmr.dae.system.system import System


@explains_slips(EventError)
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
        Time in s at which it is in service again; None: never.

    Raises
    ------
    EventError
        For times that are out of order.
    """

    kind: ClassVar[str] = "line-trip"

    line: str
    start: float
    reclose: float | None = None

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
        """Return the trip and the reclosing.

        Raises
        ------
        EventError
            When the branch is not there or is out of service already.
        """
        line = in_service(system, find_branch(system, self.line, str(self)), str(self)).name
        first = Change(self.start, parameters=((line, "status", 0.0),), label=f"{line} tripped")
        if self.reclose is None:
            return (first,)
        return first, Change(self.reclose, parameters=((line, "status", 1.0),), label=f"{line} reclosed")


def line_words(line: str) -> str:
    """Return how a message calls a line given as ``"5-7"`` or ``"line5-7"``."""
    return f"line {str(line).removeprefix('line')}"


def find_line(system: System, line: str, what: str) -> str:
    """Return the name of a line in service.

    Raises
    ------
    EventError
        When it is not there, out of service already, or no line with a length.
    """
    branch = in_service(system, find_branch(system, line, what), what)
    component = next(d.component for d in system.devices if d.name == branch.name)
    if issubclass(component, DynamicLine):
        raise EventError(
            f"{what}: {branch.name} has its own dynamics, along which no fault can be; take one of its "
            f"buses, {' or '.join(branch.ends)}"
        )
    if not issubclass(component, Line):
        raise EventError(
            f"{what}: {branch.name} is a {branch.kind}, not a line with a length; take one of its buses, "
            f"{' or '.join(branch.ends)}"
        )
    return branch.name


def in_service(system: System, branch: Branch, what: str) -> Branch:
    """Return the branch.

    Raises
    ------
    EventError
        When it is out of service already.
    """
    if system.parameter(branch.name, "status") == 0:
        raise EventError(f"{what}: {branch.name} is out of service already; a trip of it would do nothing")
    return branch
