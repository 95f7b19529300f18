"""Events that a sweep varies: faults, generators lost, and lists in CSV files."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from psmr.base.arguments import explains_keywords, settle_fields
from psmr.base.errors import EventError, InputError, StudyError, nearest, shown
from psmr.base.numbers import real_in, whole_in
from psmr.files.text import csv_rows
from psmr.files.toml.document import Field, specification
from psmr.network.topology.islands import plants
from psmr.network.topology.network import branches, buses
from psmr.study.events import Event, Fault, GeneratorTrip
from psmr.study.events.schedule import schedule, with_event_devices
from psmr.study.file.study import EVENTS
from psmr.sweep.axes.axis import (
    EVENT,
    Base,
    Points,
    Variation,
    check_distinct,
    check_positive,
    check_start,
    matching_names,
    take_numbers,
    take_texts,
)

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
        for name in matching_names(self.branches, tuple(in_service), "branch in service"):
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
            for bus in matching_names(self.buses, buses(base.system), "bus")
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
            for name in matching_names(self.generators, tuple(plants(base.system)), "generator")
        ]


@explains_keywords(StudyError)
@dataclass(frozen=True)
class ListedEvents:
    """A run for each row of a CSV file, or for all rows that share their entry in a column ``run``.

    Parameters
    ----------
    file
        CSV file. The column ``type`` names the event as a study does (``fault``, ``line-trip``, ...), the
        others are its fields; empty cells are left out.
    beside, together
        As in `BranchOutages`.
    """

    file: str | os.PathLike[str]
    beside: bool = False
    together: str = ""

    kind: ClassVar[str] = "events"
    rank: ClassVar[int] = EVENT

    def __post_init__(self) -> None:
        settle_fields(self, StudyError)

    def points(self, base: Base) -> Points:
        """See `Axis`."""
        runs: dict[str, list[Event]] = {}
        places: dict[int, str] = {}
        rows = self._rows()
        taken = {row["run"] for _, row in rows if "run" in row}
        free = (str(number) for number in itertools.count(1) if str(number) not in taken)
        for number, row in rows:
            where = f"{self.file}:{number}"
            name = row.pop("run", None) or next(free)
            event = event_of(where, row)
            places[id(event)] = where
            runs.setdefault(name, []).append(event)
        for events in runs.values():
            self._check(events, places, base)
        return [
            Variation((("run_name", name),), events=tuple(events), beside=self.beside)
            for name, events in runs.items()
        ]

    def _check(self, events: list[Event], places: Mapping[int, str], base: Base) -> None:
        """Raise StudyError, with its row, for an event of a run that cannot happen."""
        together = [*base.study.events, *events] if self.beside else events
        t_end = math.inf if base.study.t_end is None else base.study.t_end
        try:
            schedule(with_event_devices(base.system, together), together, t_end)
        except EventError as error:
            where = places.get(id(error.event), places[id(events[0])])
            raise StudyError(f"{where}: {error}") from error

    def _rows(self) -> list[tuple[int, dict[str, str]]]:
        head, rows = csv_rows(Path(self.file), StudyError)
        _check_head(str(self.file), head)
        for line, cells in rows:
            if len(cells) > len(head):
                raise StudyError(
                    f"{self.file}:{line}: more cells than columns; name every column in the first line"
                )
        if not rows:
            raise StudyError(f"{self.file}: has no row under its column names; give at least one event")
        named = ((line, zip(head, map(str.strip, cells), strict=False)) for line, cells in rows)
        return [(line, {name: cell for name, cell in pairs if cell}) for line, pairs in named]


def _check_head(file: str, head: list[str]) -> None:
    """Raise StudyError for names of columns that leave open what a cell means."""
    for k, name in enumerate(head):
        if not name:
            raise StudyError(f"{file}:1: column {k + 1} has no name; name it, or remove it")
        if name in head[:k]:
            raise StudyError(f"{file}:1: two columns are called {shown(name)}; leave one of them out")
    if head and "type" not in head:
        raise StudyError(
            f"{file}:1: there is no column 'type'{nearest('type', head)}; it names the event of a row: "
            f"{', '.join(EVENTS)}"
        )


def event_of(where: str, row: Mapping[str, str]) -> Event:
    """Return the event of a row of the list, whose cells are texts; `where` is its place for messages."""
    kind = row.get("type", "")
    if kind not in EVENTS:
        raise StudyError(f"{where}: type = {shown(kind)}{nearest(kind, EVENTS)}; known: {', '.join(EVENTS)}")
    fields = specification(EVENTS[kind])
    values: dict[str, Any] = {}
    for name, cell in row.items():
        if name == "type":
            continue
        if name not in fields:
            raise StudyError(f"{where}: {kind} has no field {shown(name)}{nearest(name, fields)}")
        values[fields[name].fills or name] = _value(where, name, cell, fields[name])
    for name, field in fields.items():
        if field.needed and (field.fills or name) not in values:
            raise StudyError(f"{where}: {name} is missing; {kind} needs it")
    try:
        return EVENTS[kind](**values)
    except (EventError, InputError) as error:
        raise StudyError(f"{where}: {error}") from error


def _value(where: str, name: str, cell: str, field: Field) -> Any:
    """Return a cell as the first kind that it can be."""
    for kind, read in ((int, whole_in), (float, real_in)):
        if kind in field.kinds:
            try:
                return read(cell)
            except ValueError:
                continue
    if bool in field.kinds:
        if cell.lower() in ("true", "false"):
            return cell.lower() == "true"
    elif str in field.kinds or Path in field.kinds:
        return cell
    raise StudyError(f"{where}: {name} = {shown(cell)}: must be {field.right(True)}")
