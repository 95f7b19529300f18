"""Steps, ramps and recordings that inputs, parameters and loads of a device follow."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from psmr.base.arguments import explains_keywords, settle_fields
from psmr.base.errors import EventError, InputError, Mistakes, nearest, shown
from psmr.base.numbers import real_in
from psmr.files.text import csv_rows
from psmr.integrate.solve.courses import Course
from psmr.integrate.timeline.span import Change
from psmr.network.topology.network import is_load, is_motor
from psmr.study.events.event import Lasting, check_after, check_finite, check_time
from psmr.study.events.staircase import CLOSE, FEWEST

if TYPE_CHECKING:
    from psmr.dae.system.system import System


@explains_keywords(EventError)
@dataclass(frozen=True)
class _Step(Lasting):
    """What both steps have."""

    device: str
    name: str
    value: float
    start: float

    def __post_init__(self) -> None:
        settle_fields(self, EventError)
        check_time(self, "start", self.start)
        check_finite(self, "value", self.value)


@dataclass(frozen=True)
class SetPoint(_Step):
    """A held input of a device (a reference, for instance ``v_ref`` or ``p_ref``) takes a new value.

    Parameters
    ----------
    device, name
        Device and its held input.
    value
        New value in the input's unit.
    start
        Time of the step, or of the begin of the ramp, in s.
    end
        Time in s at which a ramp from what the input is at `start` has reached the value; None: a step.

    Raises
    ------
    EventError
        For a value or time that is not a number, and an end that is not after the start.
    """

    kind: ClassVar[str] = "set-point"

    end: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.end is not None:
            check_after(self, "end", self.end, self.start)

    def __str__(self) -> str:
        return f"{'step' if self.end is None else 'ramp'} of {self.device}.{self.name}"

    def changes(self, system: System) -> tuple[Change, ...]:
        """Return the step, or the begin and the end of the ramp.

        Raises
        ------
        EventError
            When the device has no such held input.
        """
        full = f"{self.device}.{self.name}"
        if full in _set_points(system):
            reached = ((full, self.value),)
            if self.end is None:
                return (Change(self.start, inputs=reached, label=f"{full} = {self.value:g}"),)
            now = float(system.w0[system.index(full)])
            rate = (self.value - now) / (self.end - self.start)
            words = f"{full} ramps to {self.value:g}"
            return (
                Change(self.start, inputs=((full, now),), rates=((full, rate),), label=words),
                Change(self.end, inputs=reached, label=f"ramp of {full} ends"),
            )
        devices = {d.name: d for d in system.devices}
        if self.device not in devices:
            hint = nearest(self.device, devices)
            raise EventError(f"{self}: there is no device {shown(self.device)}{hint}")
        held = [u.rpartition(".")[2] for u in _set_points(system) if u.rpartition(".")[0] == self.device]
        provider = devices[self.device].connections.get(self.name)
        if provider:
            raise EventError(
                f"{self}: {full} is not a set-point, {provider} provides it; step a reference of that device"
            )
        raise EventError(
            f"{self}: {self.device} has no set-point {shown(self.name)}{nearest(self.name, held)}; "
            f"its set-points: {', '.join(held) or 'none'}"
        )


@dataclass(frozen=True)
class ParameterStep(_Step):
    """A parameter of a device takes a new value.

    Parameters
    ----------
    device, name
        Device and its parameter, as its component declares it (``"GOV1"``, ``"droop"``).
    value
        New value in the parameter's unit.
    start
        Time of the step in s.

    Raises
    ------
    EventError
        For a value or time that is not a number.

    Notes
    -----
    States stay as they are and the algebraic equations are solved anew, so that the system is in general no
    longer at rest.
    """

    kind: ClassVar[str] = "parameter"

    def __str__(self) -> str:
        return f"step of parameter {self.device}.{self.name}"

    def changes(self, system: System) -> tuple[Change, ...]:
        """Return the step.

        Raises
        ------
        EventError
            When the device has no such parameter, or cannot take the value.
        """
        # With the engine, which an event that is only written down does not need.
        from psmr.devices.placement import placement
        from psmr.integrate.run.advance_span import objection

        full = f"{self.device}.{self.name}"
        if full in _set_points(system):
            raise EventError(f"{self}: {full} is a set-point, not a parameter; use a set-point step")
        try:
            wrong = objection(system, self.device, self.name, self.value)
        except InputError as error:
            raise EventError(f"{self}: {error}") from error
        if self.name in placement(system.device(self.device).component).buses:
            wrong = "is a connection, which stays during a run; give the case this value"
        if wrong:
            raise EventError(f"{self}: {full} = {self.value:g}: {wrong}")
        step = ((self.device, self.name, float(self.value)),)
        return (Change(self.start, parameters=step, label=f"{full} = {self.value:g}"),)


def _set_points(system: System) -> tuple[str, ...]:
    """Return the held inputs that an event may set: those that no sample writes."""
    return system.names_u[system.s :]


Point = tuple[float, float]


@explains_keywords(EventError)
@dataclass(frozen=True)
class TimeSeries:
    """P or Q of a load, or a set-point, follows a column of a CSV file.

    Between its rows the value is linear, or with `hold` that of the row before. After the last row it keeps
    that one's value; before the first it is what it was.

    Parameters
    ----------
    file
        CSV file with a line of column names first.
    column
        Column with the values.
    signal
        What follows them: ``"load5.p"``, ``"load5.q"`` (pu at the nominal voltage) or a set-point,
        ``"AVR2.v_ref"``, in its unit.
    time
        Column with the times in s, increasing.
    scale
        What a value of the column is multiplied by: 0.01 for MW on a base of 100 MVA.
    hold
        Whether each value holds until the next row: a staircase in place of lines.

    Raises
    ------
    EventError
        For a file that cannot be read, a column that is not there, a cell that is no finite number and times
        that do not increase; with file and line.

    Notes
    -----
    The file is read when the record is made. Lines are followed within the compiled loop, whatever their
    number: only the first and the last row are instants of the run, and a step ends at each of the others, so
    that no kink lies within it; with `VariableStep` that also costs least at equal error (docs/events.md
    has the figures). With `hold` each row with another value than the row before is an instant, but for rows
    of a set-point less than 0.1 s apart: those are followed within the loop too, and the record has each
    such instant twice, before and behind its jump.
    """

    kind: ClassVar[str] = "time-series"

    file: str | os.PathLike[str]
    column: str
    signal: str
    time: str = "t"
    scale: float = 1.0
    hold: bool = False
    points: tuple[Point, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        settle_fields(self, EventError)
        check_finite(self, "scale", self.scale)
        rows = read_points(Path(self.file), self.time, self.column, self.scale)
        object.__setattr__(self, "points", tuple(rows))

    def __str__(self) -> str:
        return f"time series of {self.signal}"

    @property
    def start(self) -> float:
        """Time of the first row in s."""
        return self.points[0][0]

    @property
    def end(self) -> float | None:
        """Time of the last row in s."""
        return self.points[-1][0]

    def changes(self, system: System) -> tuple[Change, ...]:
        """Return where it begins and where it ends; with `hold` also where its value jumps by itself.

        Raises
        ------
        EventError
            When the signal is neither P or Q of a load nor a set-point.
        """
        device, _, name = self.signal.rpartition(".")
        if self.signal not in _set_points(system):
            self._check_load(system, device, name)
        label = f"{self.signal} follows {Path(self.file).name}"
        if self.hold or len(self.points) == 1:
            first, *others = self._stairs(system)
            return replace(first, label=label), *others
        course = Course.through(*zip(*self.points, strict=True))
        first, last = (self._set(system, *self.points[k]) for k in (0, -1))
        return replace(first, courses=((self.signal, course),), label=label), last

    def _jumps(self) -> list[Point]:
        """Return the rows at which a staircase jumps, and the first and the last, between which it lasts."""
        jumps = [row for before, row in pairwise(self.points[:-1]) if row[1] != before[1]]
        return [self.points[0], *jumps, *self.points[1:][-1:]]

    def _stairs(self, system: System) -> Iterator[Change]:
        """Yield what begins where a staircase jumps; jumps of a held input that are close begin together."""
        jumps = self._jumps()
        t = np.array([t for t, _ in jumps])
        far = np.ones(len(jumps) + 1, bool)
        if self.signal in _set_points(system):
            far[1:-1] = np.diff(t) >= CLOSE
        for first, end in pairwise(np.flatnonzero(far).tolist()):
            made = self._set(system, *jumps[first])
            if end - first >= FEWEST:
                course = Course.held(*zip(*jumps[first:end], strict=True))
                made = replace(made, courses=((self.signal, course),))
            yield made
            if end - first > 1:
                yield self._set(system, *jumps[end - 1])

    def _set(self, system: System, t: float, value: float) -> Change:
        """Return the change to a value at t in s, which stays."""
        if self.signal in _set_points(system):
            return Change(t, inputs=((self.signal, value),))
        device, _, name = self.signal.rpartition(".")
        return Change(t, parameters=((device, name, value),))

    def _check_load(self, system: System, device: str, name: str) -> None:
        devices = {d.name: d for d in system.devices}
        if device in devices and name in ("p", "q") and is_load(devices[device]):
            if not is_motor(devices[device]):
                return
            raise EventError(
                f"{self}: {device} is a motor, which draws what its shaft asks for; its load torque "
                f"{device}.t_0 can follow a series"
            )
        loads = [f"{d.name}.{q}" for d in system.devices if is_load(d) and not is_motor(d) for q in "pq"]
        known = (*loads, *_set_points(system))
        listed = f"; signals: {', '.join(known)}" if len(known) <= 20 else ""
        raise EventError(
            f"{self}: {self.signal} is neither p or q of a load nor a set-point"
            f"{nearest(self.signal, known)}{listed}"
        )


def read_points(file: Path, time: str, column: str, scale: float = 1.0) -> list[Point]:
    """Return the (time, scale * value) pairs of two columns of a CSV file.

    Raises EventError see `TimeSeries`.
    """
    points: list[Point] = []
    head, rows = csv_rows(file, EventError)
    mistakes = Mistakes(EventError)
    places = [mistakes.attempt(_place, file, head, name) for name in (time, column)]
    mistakes.finish()
    for line, row in rows:
        where = f"{file}:{line}"
        t, value = (_number(where, row, head, place) for place in places if place is not None)
        _check_order(where, time, t, points)
        if not math.isfinite(scale * value):
            raise EventError(f"{where}: {column} = {value:g} times scale = {scale:g} is too large")
        points.append((t, scale * value))
    if not points:
        raise EventError(f"{file}: has no row under its column names; give at least one time and value")
    return points


def _place(file: Path, head: list[str], name: str) -> int:
    if name not in head:
        raise EventError(
            f"{file}:1: there is no column {shown(name)}{nearest(name, head)}; columns: "
            f"{', '.join(head) or 'none'}; the first line must name them"
        )
    return head.index(name)


def _number(where: str, row: list[str], head: list[str], place: int) -> float:
    if place >= len(row):
        raise EventError(f"{where}: has {len(row)} cells, column {shown(head[place])} is missing")
    try:
        value = real_in(row[place])
    except ValueError:
        raise EventError(
            f"{where}: {head[place]} = {shown(row[place].strip())}: must be a number without a unit (a "
            "decimal point, no thousands separator); give the unit's factor as scale"
        ) from None
    if not math.isfinite(value):
        words = "must be finite; fill the gap or leave the row out"
        raise EventError(f"{where}: {head[place]} = {row[place].strip()}: {words}")
    return value


def _check_order(where: str, time: str, t: float, points: list[Point]) -> None:
    if t < 0:
        raise EventError(f"{where}: {time} = {t:g} s: must be >= 0, a run starts at t = 0")
    if points and t <= points[-1][0]:
        raise EventError(
            f"{where}: {time} = {t:g} s: must be after the row before, {points[-1][0]:g} s; sort the rows "
            "and leave repeated times out"
        )
