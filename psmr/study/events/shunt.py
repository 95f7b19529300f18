"""Capacitors and reactors that are switched."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from psmr.base.arguments import settle_fields
from psmr.base.errors import EventError, nearest, shown
from psmr.base.keywords import explains_keywords
from psmr.integrate.timeline.change import Change
from psmr.network.topology.network import shunts
from psmr.study.events.branch import closing, opening
from psmr.study.events.event import Lasting, check_time

if TYPE_CHECKING:
    from psmr.dae.system.system import System


@explains_keywords(EventError)
@dataclass(frozen=True)
class ShuntSwitch(Lasting):
    """A shunt, capacitor or reactor, is switched on or off.

    Parameters
    ----------
    shunt
        Device name, ``"shunt5"``.
    start
        Time of the switching in s. In a region with `zero_sequence` each phase of a reactor opens at the
        first zero of its current after it.
    on
        Whether it is on afterwards. One that the case has out of service (``status = 0``) can be switched on.

    Raises
    ------
    EventError
        For a time that is not a number or is below zero, and for `on` other than True or False.
    """

    kind: ClassVar[str] = "shunt"

    shunt: str
    start: float
    on: bool = True

    def __post_init__(self) -> None:
        settle_fields(self, EventError)
        check_time(self, "start", self.start)

    def __str__(self) -> str:
        return f"switching of {self.shunt}"

    def changes(self, system: System) -> tuple[Change, ...]:
        """Return the switching.

        Raises
        ------
        EventError
            When the shunt is not there, or is as it should be already.
        """
        known = shunts(system)
        if self.shunt not in known:
            listed = f"; shunts: {', '.join(known)}" if known else "; it has none"
            raise EventError(
                f"{self}: there is no shunt {shown(self.shunt)}{nearest(str(self.shunt), known)}{listed}"
            )
        words = "on" if self.on else "off"
        if system.parameter(self.shunt, "status") == self.on:
            raise EventError(
                f"{self}: {self.shunt} is {words} already at t = {self.start:g} s; drop the event"
            )
        status = closing(system, self.shunt) if self.on else opening(system, self.shunt, None, str(self))
        return (Change(self.start, parameters=status, label=f"{self.shunt} switched {words}"),)
