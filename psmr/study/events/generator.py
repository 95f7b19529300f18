"""Generators that are lost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from psmr.base.arguments import settle_fields
from psmr.base.errors import EventError
from psmr.base.slips import explains_slips
from psmr.integrate.run.trajectory import Change
from psmr.network.topology.plants import find_plant
from psmr.study.events.event import Lasting, check_time

if TYPE_CHECKING:
    from psmr.dae.system.system import System


@explains_slips(EventError)
@dataclass(frozen=True)
class GeneratorTrip(Lasting):
    """A generator's breaker opens: the whole plant, machine or converter with its controllers, is lost.

    Parameters
    ----------
    generator
        Plant by name, ``"G2"``, or by its bus, ``2`` or ``"bus2"``. A bus with several generators needs the
        name.
    start
        Time of the trip in s.

    Raises
    ------
    EventError
        For a time that is not a number or is below zero.

    Notes
    -----
    The plant injects nothing from then on, and its variables keep their last values for the rest of the run:
    what the machine does behind the open breaker is not simulated.
    """

    kind: ClassVar[str] = "generator-trip"

    generator: int | str
    start: float

    def __post_init__(self) -> None:
        settle_fields(self, EventError)
        check_time(self, "start", self.start)

    def __str__(self) -> str:
        return f"trip of generator {self.generator}"

    def changes(self, system: System) -> tuple[Change, ...]:
        """Return the trip.

        Raises
        ------
        EventError
            When the generator is not there, or its bus has several.
        """
        plant = find_plant(system, self.generator, str(self))
        return (Change(self.start, out=plant.devices, label=f"{plant.name} tripped"),)
