"""Short circuits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from psmr.base.arguments import settle_fields
from psmr.base.errors import EventError, Mistakes
from psmr.base.slips import explains_slips
from psmr.integrate.run.trajectory import Change
from psmr.network.topology.network import Branch, find_branch, find_bus
from psmr.study.events.branch import in_service
from psmr.study.events.event import bus_words, check_after, check_finite, check_time

if TYPE_CHECKING:
    from psmr.dae.system.system import System


# Beyond the first the admittance takes every digit of the currents at its bus, beyond the second none.
SMALLEST, LARGEST = 1e-9, 1e9


@explains_slips(EventError)
@dataclass(frozen=True)
class Fault:
    """A three-phase short circuit at a bus through an impedance, cleared with or without a branch trip.

    Parameters
    ----------
    bus
        Bus as ``5`` or ``"bus5"``.
    start, clear
        Times in s at which the fault begins and ends.
    trip
        Branch that the clearing takes out of service, as ``"5-7"`` or ``"line5-7"``; None leaves the network
        whole.
    r, x
        Fault resistance and reactance in pu on the system base. The default, j 1e-4 pu, leaves about 0.1 % of
        the voltage on a bus with a short-circuit power of ten times the base: a bolted fault for every
        purpose, and a bus voltage that stays well defined.

    Raises
    ------
    EventError
        For times that are out of order and for an impedance that is zero or has a negative resistance.
    """

    kind: ClassVar[str] = "fault"

    bus: int | str
    start: float
    clear: float
    trip: str | None = None
    r: float = 0.0
    x: float = 1e-4

    def __post_init__(self) -> None:
        settle_fields(self, EventError)
        check_time(self, "start", self.start)
        check_after(self, "clear", self.clear, self.start)
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

    def __str__(self) -> str:
        return f"fault at {bus_words(self.bus)}"

    @property
    def end(self) -> float | None:
        """Time of clearing in s."""
        return self.clear

    def changes(self, system: System) -> tuple[Change, ...]:
        """Return the closing and the opening of the fault's admittance to ground.

        Raises
        ------
        EventError
            When the bus or the branch is not there.
        """
        mistakes = Mistakes(EventError)
        bus = mistakes.attempt(find_bus, system, self.bus, str(self))
        line = None if self.trip is None else mistakes.attempt(self._tripped, system, self.trip)
        mistakes.finish()
        assert bus is not None
        y = 1.0 / complex(self.r, self.x)
        on = ((bus, "g_fault", y.real), (bus, "b_fault", y.imag))
        off: tuple[tuple[str, str, float], ...] = ((bus, "g_fault", 0.0), (bus, "b_fault", 0.0))
        label = f"fault at {bus} cleared"
        if line is not None:
            off = (*off, (line.name, "status", 0.0))
            label += f", {line.name} tripped"
        return (
            Change(self.start, parameters=on, label=f"fault at {bus}"),
            Change(self.clear, parameters=off, label=label),
        )

    def _tripped(self, system: System, trip: str) -> Branch:
        return in_service(system, find_branch(system, trip, str(self)), str(self))
