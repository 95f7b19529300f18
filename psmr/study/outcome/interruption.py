"""A part of the network that was dead, and what was lost with it."""

from __future__ import annotations

from dataclasses import dataclass

from psmr.study.detectors.finding import names_of


@dataclass(frozen=True)
class Interruption:
    """Buses that lost their supply at the same time, for as long.

    Attributes
    ----------
    t, until
        Time in s at which they lost it, and at which they have it again; None: to the end of the run.
    buses
        Names of the buses.
    p_mw
        Active power of their loads in MW: of static loads by their data at that time, of motors and composite
        loads that at the start of the run.
    lost
        Plants and motors that went out of service with them, and stay out.
    every
        Whether no bus of the network had supply any more.
    """

    t: float
    until: float | None
    buses: tuple[str, ...]
    p_mw: float
    lost: tuple[str, ...]
    every: bool

    @property
    def what(self) -> str:
        """What happened, in words."""
        place = "the whole network" if self.every else names_of(self.buses)
        lost = [f"{names_of(self.lost)} out of service"] if self.lost else []
        load = [f"{self.p_mw:.4g} MW of load lost"] if self.p_mw else []
        return ", ".join([f"{place} dead", *lost, *load])

    def __str__(self) -> str:
        until = "" if self.until is None else f" to {self.until:.4g} s"
        return f"{self.what} (t = {self.t:.4g} s{until})"
