"""Faults at every branch or bus, and every generator lost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from psmr.base.arguments import settle_fields
from psmr.base.errors import EventError, StudyError
from psmr.base.keywords import explains_keywords
from psmr.network.topology.network import branches, buses
from psmr.network.topology.plants import plants
from psmr.study.events import Fault, GeneratorTrip
from psmr.sweep.axes.axis import (
    EVENT,
    Base,
    check_distinct,
    check_positive,
    check_start,
    chosen,
    take_numbers,
    take_texts,
)
from psmr.sweep.variation import Points, Variation

# Durations in s of faults for which none are given.
USUAL = (0.1,)


def _durations(axis: BranchOutages | BusFaults) -> tuple[float, ...]:
    """Return for how long the faults last, in s."""
    return USUAL if axis.clearing is None else axis.clearing


@explains_keywords(StudyError)
@dataclass(frozen=True)
class BranchOutages:
    """Every branch lost after a fault at either of its ends: N-1 with primary clearing.

    Parameters
    ----------
    start
        Beginning of the faults in s.
    clearing
        Durations in s after which the fault is cleared and the branch out of service; 0.1 s where neither
        they are given nor the measure finds them.
    branches
        Names or patterns.
    ends
        ``True``: a fault at either end; ``False``: at the first end alone.
    r, x
        Fault impedance, see `psmr.Fault`.
    beside
        Whether the study's own events happen too.
    together
        As in `ParameterAxis`.
    """

    start: float
    clearing: tuple[float, ...] | None = None
    branches: tuple[str, ...] = ("*",)
    ends: bool = True
    r: float = 0.0
    x: float = 1e-4
    beside: bool = False
    together: str = ""

    kind: ClassVar[str] = "n-1"
    rank: ClassVar[int] = EVENT

    def __post_init__(self) -> None:
        take_texts(self, "branches")
        settle_fields(self, StudyError, numbers=True)
        _check(self)

    durations = property(_durations)

    def points(self, base: Base) -> Points:
        """See `Axis`."""
        in_service = {
            branch.name: branch
            for branch in branches(base.system)
            if base.system.parameter(branch.name, "status") != 0
        }
        found = []
        for name in chosen(self.branches, tuple(in_service), "branch in service"):
            for bus in in_service[name].ends[: 2 if self.ends else 1]:
                for duration in self.durations:
                    fault = _fault(self, bus, duration, name)
                    labels = (("branch", name), ("bus", bus), ("clearing", duration))
                    found.append(Variation(labels, events=(fault,), beside=self.beside))
        return found


@explains_keywords(StudyError)
@dataclass(frozen=True)
class BusFaults:
    """A fault at every bus, cleared without losing a branch, or by bus-bar protection.

    Parameters
    ----------
    start, clearing, r, x, beside, together
        As in `BranchOutages`.
    buses
        Names or patterns.
    trip
        ``"all"``: clearing takes out every branch and every plant at the bus; None: nothing.
    """

    start: float
    clearing: tuple[float, ...] | None = None
    buses: tuple[str, ...] = ("*",)
    r: float = 0.0
    x: float = 1e-4
    beside: bool = False
    together: str = ""
    trip: Literal["all"] | None = None

    kind: ClassVar[str] = "bus-faults"
    rank: ClassVar[int] = EVENT

    def __post_init__(self) -> None:
        take_texts(self, "buses")
        settle_fields(self, StudyError, numbers=True)
        _check(self)

    durations = property(_durations)

    def points(self, base: Base) -> Points:
        """See `Axis`."""
        return [
            Variation(
                (("bus", bus), ("clearing", duration)),
                events=(_fault(self, bus, duration, self.trip),),
                beside=self.beside,
            )
            for bus in chosen(self.buses, buses(base.system), "bus")
            for duration in self.durations
        ]


def _check(axis: BranchOutages | BusFaults) -> None:
    if axis.clearing is not None:
        take_numbers(axis, "clearing")
    check_start(axis)
    check_positive(axis, "clearing", axis.durations)
    check_distinct(axis, "clearing", axis.durations)
    _fault(axis, "1", axis.durations[0], None)


def _fault(axis: BranchOutages | BusFaults, bus: str, duration: float, trip: str | None) -> Fault:
    try:
        return Fault(bus, axis.start, axis.start + duration, trip, axis.r, axis.x)
    except EventError as error:
        raise StudyError(f"{axis.kind}: {error}") from error


@explains_keywords(StudyError)
@dataclass(frozen=True)
class GeneratorTrips:
    """Every generator lost, one at a time.

    Parameters
    ----------
    start
        Time of the trips in s.
    generators
        Names or patterns.
    beside, together
        As in `BranchOutages`.
    """

    start: float
    generators: tuple[str, ...] = ("*",)
    beside: bool = False
    together: str = ""

    kind: ClassVar[str] = "generator-trips"
    rank: ClassVar[int] = EVENT

    def __post_init__(self) -> None:
        take_texts(self, "generators")
        settle_fields(self, StudyError, numbers=True)
        check_start(self)

    def points(self, base: Base) -> Points:
        """See `Axis`."""
        return [
            Variation((("generator", name),), events=(GeneratorTrip(name, self.start),), beside=self.beside)
            for name in chosen(self.generators, tuple(plants(base.system)), "generator")
        ]
