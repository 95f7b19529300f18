"""Short circuits at a bus or along a line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, ClassVar

from psmr.base.arguments import explains_keywords, settle_fields
from psmr.base.errors import EventError, Mistakes
from psmr.devices.dynamic_network.breaker_poles import SIGNS
from psmr.devices.dynamic_network.bus import ThreePhaseBus
from psmr.devices.network import FAULTS
from psmr.integrate.timeline.span import Change
from psmr.network.dynamic.event_devices import (
    carries_fault,
    inductor_name,
    inductor_values,
)
from psmr.network.sequence.unbalance import Values
from psmr.network.topology.islands import plants
from psmr.network.topology.network import branches_in_service, find_branch, find_bus, reversed_ends
from psmr.study.events.branch import (
    changes_at,
    closing_values,
    find_line,
    in_service,
    line_words,
    opening_values,
)
from psmr.study.events.event import (
    bus_words,
    check_after,
    check_choice,
    check_finite,
    check_fraction,
    check_given,
    check_time,
)

if TYPE_CHECKING:
    from psmr.dae.system.system import System

# Beyond the first the admittance takes every digit of the currents at its bus, beyond the second none.
SMALLEST, LARGEST = 1e-9, 1e9

PHASES = FAULTS[1:]

# What `trip` says of bus-bar protection.
ALL = "all"


@explains_keywords(EventError)
@dataclass(frozen=True)
class Fault:
    """A short circuit at a bus or along a line, cleared with or without a branch trip.

    Parameters
    ----------
    bus
        Bus as ``5`` or ``"bus5"``; left out for a fault along a line.
    start, clear
        Times in s at which the fault begins and ends.
    trip
        Branch that the clearing takes out of service, as ``"5-7"`` or ``"line5-7"``, or several;
        ``"all"``: every branch and every plant at the bus, as bus-bar protection does. None leaves the
        network whole.
    r, x
        Fault resistance and reactance in pu on the system base. The default, j 1e-4 pu, leaves about 0.1 % of
        the voltage on a bus with a short-circuit power of ten times the base: a bolted fault for every
        purpose, and a bus voltage that stays well defined.
    line, at
        Line along which the fault is, and where, as a part of its length from the bus that is named first:
        ``line="5-7", at=0.3``. Either section has its part of the impedance and of the charging.
    clear_from, clear_to
        In place of `clear`: times in s at which the breakers open at the end from which `at` counts and at
        the other end. The fault ends with the second, and the line is out of service.
    reclose
        Time in s at which the line that the clearing took out is in service again.
    permanent
        Whether the fault is still there then. Without `clear`: whether it stays to the end of the run.
    clear_again
        Time in s at which such a line is taken out for good.
    phases
        The phases that are joined, g the ground: ``"abc"``, ``"ag"`` and so on for one phase to ground,
        ``"bc"`` for two phases, ``"bcg"`` for two phases to ground. The impedance is to ground, or between
        the two phases. See `psmr.network.sequence`.
    at_zero
        Whether each phase of the fault, and of the lines that its clearing takes out, is interrupted at the
        first zero of its current after `clear`; None: where the bus, or the line, has its phases, in a region
        with `zero_sequence`. False: all at once.

    Raises
    ------
    EventError
        For times that are out of order, a place outside the line, and for an impedance that is zero or has a
        negative resistance.
    """

    kind: ClassVar[str] = "fault"

    bus: int | str | None = None
    start: float = None  # type: ignore[assignment]  # what must be given follows a field that may be left out
    clear: float | None = None
    trip: str | tuple[str, ...] | None = None
    r: float = 0.0
    x: float = 1e-4
    line: str | None = None
    at: float | None = None
    clear_from: float | None = None
    clear_to: float | None = None
    reclose: float | None = None
    permanent: bool = False
    clear_again: float | None = None
    phases: Annotated[str, PHASES] = "abc"
    at_zero: bool | None = None

    def __post_init__(self) -> None:
        settle_fields(self, EventError)
        check_choice("fault", "phases", self.phases, PHASES)
        self._check_place()
        check_given(self, "start", self.start)
        check_time(self, "start", self.start)
        self._check_clearing()
        self._check_reclosing()
        check_finite(self, "r", self.r)
        check_finite(self, "x", self.x)
        if self.r < 0 or self.r == self.x == 0:
            raise EventError(
                f"{self}: fault impedance r + jx = {self.r:g} + j{self.x:g} pu; "
                "r must be >= 0 and not both may be 0, a bolted fault is x = 1e-4"
            )
        if not SMALLEST <= abs(complex(self.r, self.x)) <= LARGEST:
            raise EventError(
                f"{self}: fault impedance |r + jx| = {abs(complex(self.r, self.x)):g} pu; must lie between "
                f"{SMALLEST:g} and {LARGEST:g} pu, a bolted fault is x = 1e-4"
            )

    def _check_place(self) -> None:
        if (self.bus is None) == (self.line is None):
            given = "neither" if self.bus is None else f"bus = {self.bus} and line = {self.line}"
            raise EventError(f"fault: {given}; must be at a bus, or along a line: give one of the two")
        if self.line is None:
            for name in ("at", "clear_from", "clear_to"):
                if getattr(self, name) is not None:
                    raise EventError(f"{self}: {name} is for a fault along a line; give line in place of bus")
            return
        if self.trip == ALL:
            raise EventError(
                f'{self}: trip = "all" is for a fault at a bus; name the branches, or leave it out'
            )
        if self.at is None:
            raise EventError(f"{self}: at is missing; give the part of the line's length, between 0 and 1")
        check_fraction(self, "at", self.at, "a fault at an end is one at the bus")

    def _check_clearing(self) -> None:
        ends = {"clear_from": self.clear_from, "clear_to": self.clear_to}
        given = {name: t for name, t in ends.items() if t is not None}
        if self.stays:
            if self.trip is not None:
                raise EventError(f"{self}: trip is what the clearing takes out; give clear as well")
        elif not given:
            if self.clear is None:
                raise EventError(
                    f"{self}: clear is missing; give the time in s, or permanent = True: the fault stays"
                )
            given = {"clear": self.clear}
        elif self.clear is not None or self.trip is not None:
            other = "clear" if self.clear is not None else "trip"
            raise EventError(
                f"{self}: {other} and {' and '.join(given)}; give clear (and trip), or the times clear_from "
                "and clear_to at which the ends of the line open"
            )
        elif len(given) == 1:
            missing = next(name for name in ends if name not in given)
            raise EventError(f"{self}: {missing} is missing; the fault ends when both ends are open")
        for name, t in given.items():
            check_after(self, name, t, self.start)

    def _check_reclosing(self) -> None:
        if self.reclose is None:
            for name in ("permanent", "clear_again"):
                if getattr(self, name) not in (None, False) and not self.stays:
                    raise EventError(f"{self}: {name} is for a line that recloses; give reclose as well")
            return
        check_after(self, "reclose", self.reclose, self.cleared, "the clearing at")
        if self.trip is None and self.clear_from is None:
            raise EventError(
                f"{self}: reclose = {self.reclose:g} s: the clearing takes no line out; give trip"
            )
        if self.permanent:
            again = check_given(self, "clear_again", self.clear_again)
            check_after(self, "clear_again", again, self.reclose, "reclose =")
        elif self.clear_again is not None:
            raise EventError(f"{self}: clear_again is given; it is for a fault that is permanent")

    def __str__(self) -> str:
        if self.line is None:
            return f"fault at {bus_words(self.bus)}" if self.bus is not None else "fault"
        return f"fault on {line_words(self.line)}"

    @property
    def stays(self) -> bool:
        """Whether the fault is never cleared."""
        times = (self.clear, self.clear_from, self.clear_to, self.reclose, self.clear_again)
        return self.permanent and all(t is None for t in times)

    @property
    def cleared(self) -> float:
        """Time in s at which the fault ends for the first time."""
        return max(t for t in (self.clear, self.clear_from, self.clear_to) if t is not None)

    @property
    def end(self) -> float | None:
        """Time in s of the last thing that it does."""
        return None if self.stays else self.clear_again or self.reclose or self.cleared

    def changes(self, system: System) -> tuple[Change, ...]:
        """Return what the fault, its clearing and what recloses change.

        Raises
        ------
        EventError
            When the bus or the branch is not there.
        """
        mistakes = Mistakes(EventError)
        if self.line is None:
            place = mistakes.attempt(find_bus, system, self.bus or "", str(self))
        else:
            place = mistakes.attempt(find_line, system, self.line, str(self))
        trip = mistakes.attempt(self._tripped, system, place)
        mistakes.finish()
        assert place is not None
        assert trip is not None
        changes = changes_at(system, place, self._stages(system, place, trip))
        lost = [plant for plant in plants(system).values() if self.trip == ALL and plant.bus == place]
        if not lost:
            return changes
        words = f", {', '.join(plant.name for plant in lost)} tripped"
        out = tuple(name for plant in lost for name in plant.devices)
        return tuple(
            replace(c, label=c.label + words, out=out) if c.t == self.cleared else c for c in changes
        )

    def _stages(
        self, system: System, place: str, trip: tuple[str, ...]
    ) -> Iterator[tuple[float, str, Values]]:
        """Yield time, words and values of parameters of all that happens, in order of time."""
        on: Values = (
            (place, "fault", float(FAULTS.index(self.phases))),
            (place, "r_fault", self.r),
            (place, "x_fault", self.x),
        )
        off: Values = ((place, "fault", 0.0), (place, "r_fault", 0.0), (place, "x_fault", 0.0))
        if self._at_zero(system, place):
            on = (*on, (place, "clearing", 0.0), *((place, sign, 0.0) for sign in SIGNS))
            off = ((place, "clearing", 1.0),)
        for inductor in self.inductors(system):
            on = (*on, *inductor_values(inductor, status=1.0, r=self.r, x=self.x))
            ends = ((inductor_name(inductor), "clearing", 1.0),)
            off = ends if self._at_zero(system, place) else (*off, *inductor_values(inductor))
        what = "fault" if self.phases == "abc" else f"{self.phases} fault"
        where = f"{what} at {place}"
        if self.line is not None:
            assert self.at is not None
            at = 1.0 - self.at if reversed_ends(system, self.line, place) else self.at
            on, off = (*on, (place, "at", at)), (*off, (place, "at", 0.0))
            where = f"{what} on {place} at {100 * self.at:g} %"
        yield self.start, where, on
        if self.stays:
            return
        if self.clear_from is not None and self.clear_to is not None:
            trip = (place,)
            if self.clear_from != self.clear_to:
                yield self._first_end(system, place, self.clear_from, self.clear_to)
            off = (*off, (place, "open_i", 0.0), (place, "open_j", 0.0))
        if not trip:
            yield self.cleared, f"{where} cleared", off
            return
        names = ", ".join(trip)
        label, off = f"{where} cleared, {names} tripped", off
        for name in trip:
            off = (*off, *opening_values(system, name, self.at_zero, str(self)))
        yield self.cleared, label, off
        if self.reclose is None:
            return
        back = tuple(value for name in trip for value in closing_values(system, name))
        if self.clear_again is None:
            yield self.reclose, f"{names} reclosed", back
            return
        yield self.reclose, f"{names} reclosed onto the {where}", (*on, *back)
        yield self.clear_again, f"{label} for good", off

    def inductors(self, system: System) -> tuple[tuple[str, str], ...]:
        """Return the bus and phases of a fault whose current is a state; none of one among phasors."""
        if self.bus is None or self.x <= 0:
            return ()
        try:
            place = find_bus(system, self.bus, str(self)), self.phases
        except EventError:
            return ()  # said where its changes are made
        return (place,) if carries_fault(system, place) else ()

    def _at_zero(self, system: System, place: str) -> bool:
        """Return whether the fault ends at zeros of its currents; raise EventError where it cannot."""
        phases = issubclass(system.device(place).component, ThreePhaseBus)
        if self.at_zero and not phases:
            raise EventError(
                f"{self}: at_zero = True: {place} has no phases of its own; buses with capacitance have them"
                " in psmr.Region(..., zero_sequence=True)"
            )
        return phases and self.at_zero is not False

    def _first_end(self, system: System, line: str, t_from: float, t_to: float) -> tuple[float, str, Values]:
        """Return what happens where the first end of the line opens."""
        i = (t_from < t_to) != reversed_ends(system, self.line, line)
        ends = find_branch(system, line, str(self)).ends
        label = f"{line} opened at {ends[0 if i else 1]}"
        return min(t_from, t_to), label, ((line, "status", 0.0), (line, "open_i" if i else "open_j", 1.0))

    def _tripped(self, system: System, place: str | None) -> tuple[str, ...]:
        """Return the branches that the clearing takes out of service."""
        if self.trip == ALL:
            return tuple(b.name for b in branches_in_service(system) if place in b.ends)
        named = (self.trip,) if isinstance(self.trip, str) else self.trip or ()
        found = [in_service(system, find_branch(system, name, str(self)), str(self)).name for name in named]
        for name in found:
            if found.count(name) > 1:
                raise EventError(f"{self}: trip names {name} twice")
        return tuple(found)
