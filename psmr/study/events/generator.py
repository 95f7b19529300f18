"""Generators that are lost, and come back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from psmr.base.arguments import settle_fields
from psmr.base.errors import EventError, shown
from psmr.base.keywords import explains_keywords
from psmr.integrate.timeline.change import Change
from psmr.network.topology.islands import find_plant
from psmr.network.topology.network import find_branch
from psmr.study.events.branch import in_service
from psmr.study.events.event import check_after, check_finite, check_time
from psmr.study.events.scaling import scaled_names, scaling
from psmr.study.events.synchronisation import synchronisation

if TYPE_CHECKING:
    from psmr.dae.system.system import System


@explains_keywords(EventError)
@dataclass(frozen=True)
class GeneratorTrip:
    """A generator's breaker opens: the plant, machine or converter with its controllers, is lost, or a part.

    Parameters
    ----------
    generator
        Plant by name, ``"G2"``, or by its bus, ``2`` or ``"bus2"``. A bus with several generators needs the
        name.
    start
        Time of the trip in s.
    fraction
        Part of the plant that is lost: above 0, at most 1. Less than 1 is one or more of several equal units,
        or turbines, by the rating; the others go on as they are.
    transformer
        Branch that trips with it, its step-up transformer, as ``"1-4"`` or ``"transformer1-4"``; it closes
        with it again.
    reconnect
        Time in s at which the whole plant is synchronised; None: never.
    ramp
        Time in s in which it goes from no power back to its set-points after that; given with `reconnect`.

    Raises
    ------
    EventError
        For times that are no numbers, below zero or out of order, and a fraction out of range.

    Notes
    -----
    The plant injects nothing from the trip on, and its variables keep their last values: what the machine
    does behind the open breaker is not simulated. It comes back as `psmr.study.run.planned` says.
    """

    kind: ClassVar[str] = "generator-trip"

    generator: int | str
    start: float
    fraction: float = 1.0
    transformer: str | None = None
    reconnect: float | None = None
    ramp: float | None = None

    def __post_init__(self) -> None:
        settle_fields(self, EventError)
        check_time(self, "start", self.start)
        check_finite(self, "fraction", self.fraction)
        if not 0 < self.fraction <= 1:
            raise EventError(
                f"{self}: fraction = {self.fraction!r}; must be above 0 and at most 1 "
                "(0.5 trips one of two equal units)"
            )
        if self.transformer is not None and self.fraction < 1:
            raise EventError(f"{self}: transformer trips with the whole plant; leave it or fraction out")
        if self.reconnect is None:
            if self.ramp is not None:
                raise EventError(f"{self}: ramp = {shown(self.ramp)} without reconnect; give both or neither")
            return
        check_after(self, "reconnect", self.reconnect, self.start)
        if self.fraction < 1:
            raise EventError(f"{self}: reconnect is of the whole plant; leave it or fraction out")
        if self.ramp is None:
            raise EventError(f"{self}: reconnect = {self.reconnect:g} s without ramp; give both or neither")
        check_finite(self, "ramp", self.ramp)
        if self.ramp <= 0:
            raise EventError(
                f"{self}: ramp = {self.ramp:g} s; must be above 0, the plant returns without power"
            )

    def __str__(self) -> str:
        return f"trip of generator {self.generator}"

    @property
    def end(self) -> float | None:
        """Time of reconnection in s."""
        return self.reconnect

    def changes(self, system: System) -> tuple[Change, ...]:
        """Return the trip, and the return.

        Raises
        ------
        EventError
            When the generator is not there, or its bus has several; when the transformer is not there, or
            not at its bus.
        """
        plant = find_plant(system, self.generator, str(self))
        if self.fraction < 1:
            rated = [d.name for d in system.devices if d.name in plant.devices and scaled_names(d)]
            label = f"{100 * self.fraction:g} % of {plant.name} tripped"
            return (scaling(system, self.start, label, ((n, 1 - self.fraction) for n in rated)),)
        back: tuple[Change, ...] = ()
        if self.reconnect is not None and self.ramp is not None:
            back = (synchronisation(system, self.reconnect, plant, self.ramp),)
        if self.transformer is None:
            return Change(self.start, out=plant.devices, label=f"{plant.name} tripped"), *back
        branch = in_service(system, find_branch(system, self.transformer, str(self)), str(self))
        if plant.bus not in branch.ends:
            raise EventError(f"{self}: {branch.name} is not at {plant.bus}, where {plant.name} is")
        opened = ((branch.name, "status", 0.0),)
        label = f"{plant.name} and {branch.name} tripped"
        trip = Change(self.start, opened, out=plant.devices, label=label)
        if self.reconnect is None:
            return (trip,)
        closed = ((branch.name, "status", 1.0),)
        return trip, Change(self.reconnect, closed, label=f"{branch.name} closed"), *back
