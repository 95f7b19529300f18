"""What every axis offers: its points, what each makes of the base study, and checks that several share."""

from __future__ import annotations

import fnmatch
import itertools
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from psmr.base.errors import CaseError, StudyError, nearest, shown
from psmr.base.numbers import plain, real
from psmr.dae.system.system import System
from psmr.devices.catalogue import LOAD_ROLES, SHUNT_ROLES, defaults, role_parameters
from psmr.network.case.case import Case
from psmr.network.case.load_groups import loads_at
from psmr.network.case.tables import DeviceRow, LoadRow
from psmr.study.events import Event
from psmr.study.file.study import Study

Value = float | int | str


@dataclass(frozen=True)
class Setting:
    """A parameter of a device with its new value, or the factor that its own is multiplied by."""

    device: str
    name: str
    value: float
    factor: bool = False


@dataclass(frozen=True)
class LoadGrowth:
    """Loads, as events name them, that draw so many MW more in all, each in proportion to its power.

    `adjust`: what the power flow moves then, as `psmr.read_case` has it.
    """

    loads: int | str
    growth: float
    adjust: tuple[str, ...] = ()

    def of(self, case: Case) -> tuple[Setting, ...]:
        """Return the settings of their rows; StudyError where they cannot shrink so far."""
        names = loads_at(case, self.loads, "loads")
        total = sum(row.p_mw for row in case.loads if row.name in names)
        factor = 1 + self.growth / total if total > 0 else -1.0
        if factor < 0:
            raise StudyError(f"loads = {shown(self.loads)}: {total:g} MW cannot grow by {self.growth:g} MW")
        return tuple(
            Setting(name, power, factor, True) for name in sorted(names) for power in ("p_mw", "q_mvar")
        )


@dataclass(frozen=True)
class Variation:
    """What a point changes, and what its row says of it.

    Attributes
    ----------
    labels
        (column, value) pairs of the row.
    case
        Number of the case among those of the sweep; None where it stays.
    settings, choices
        Parameters of devices, and (field, value) pairs of the scheme.
    events, beside
        Events of the run, None where the axis has none; whether they come beside those of the study.
    """

    labels: tuple[tuple[str, Value], ...] = ()
    case: int | None = None
    settings: tuple[Setting | LoadGrowth, ...] = ()
    choices: tuple[tuple[str, Value], ...] = ()
    events: tuple[Event, ...] | None = None
    beside: bool = False

    def without_labels(self, names: Sequence[str]) -> Variation:
        """Return it without some of its labels."""
        return replace(self, labels=tuple(label for label in self.labels if label[0] not in names))


Points = Sequence[Variation]
"""The points of an axis, each made when it is asked for."""


class PointsOnDemand(Sequence[Variation]):
    """A number of points, each made when it is asked for by a function that another process can have."""

    def __init__(self, length: int, make: Callable[[int], Variation]) -> None:
        self.length, self.make = length, make

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, k: Any) -> Any:
        at = range(self.length)[k]
        return [*map(self.make, at)] if isinstance(at, range) else self.make(at)


def points_over(
    label: str, devices: Sequence[str], name: str, values: NDArray[np.float64], factor: bool
) -> Points:
    """Return the points of an axis along which a parameter of devices takes the (K,) given values."""
    return PointsOnDemand(len(values), partial(_set, label, tuple(devices), name, values, factor))


def _set(
    label: str, devices: tuple[str, ...], name: str, values: NDArray[np.float64], factor: bool, k: int
) -> Variation:
    value = float(values[k])
    settings = tuple(Setting(device, name, value, factor) for device in devices)
    return Variation(((label, value),), settings=settings)


def advancing_together(name: str, members: Sequence[Points]) -> Points:
    """Return the points of axes of equal length that advance as one."""
    lengths = [len(member) for member in members]
    if len(set(lengths)) > 1:
        raise StudyError(
            f"the axes together = {name!r} have {', '.join(map(str, lengths))} points; axes that advance "
            "together need as many of each"
        )
    return PointsOnDemand(lengths[0], partial(_joined_at, tuple(members)))


def _joined_at(members: tuple[Points, ...], k: int) -> Variation:
    return merged_variation(member[k] for member in members)


def merged_variation(parts: Iterable[Variation]) -> Variation:
    """Return what several variations make together; one that replaces the study's events is enough."""
    parts = tuple(parts)
    own = [part for part in parts if part.events is not None]
    return Variation(
        labels=tuple(label for part in parts for label in part.labels),
        case=next((part.case for part in reversed(parts) if part.case is not None), None),
        settings=tuple(setting for part in parts for setting in part.settings),
        choices=tuple(choice for part in parts for choice in part.choices),
        events=tuple(event for part in own for event in part.events or ()) if own else None,
        beside=all(part.beside for part in own),
    )


NETWORK = ("lines", "transformers", "shunts", "loads", "generators")


def with_settings(case: Case, settings: Iterable[Setting | LoadGrowth]) -> tuple[Case, bool]:
    """Return the case with parameters set, and whether its power flow stays as it is.

    Those of machines, converters and their controllers leave the power flow; those of the network, of loads
    and of a generator's row do not. Raises StudyError for a device that no row of the case stands for, a
    parameter that its row does not have, and a value that it cannot take.
    """
    same_flow = True
    for given in settings:
        for setting in given.of(case) if isinstance(given, LoadGrowth) else (given,):
            case, same = _with(case, setting)
            same_flow &= same
    return case, same_flow


def _with(case: Case, setting: Setting) -> tuple[Case, bool]:
    what = f"{setting.device}.{setting.name}"
    for table in NETWORK:
        rows = getattr(case, table)
        for k, row in enumerate(rows):
            changed, same = _changed(row, setting)
            if changed is not None:
                try:
                    new: Any = {table: (*rows[:k], changed, *rows[k + 1 :])}
                    return replace(case, **new), same
                except CaseError as error:
                    raise StudyError(f"{what}: {error}") from error
    raise StudyError(f"{what}: no row of {case.name} has this parameter")


def parameters_in(case: Case) -> Mapping[str, frozenset[str]]:
    """Return what `with_settings` can set: the parameters of each row and device of a case by its name."""
    found: dict[str, frozenset[str]] = {}
    for row in itertools.chain.from_iterable(getattr(case, table) for table in NETWORK):
        found[row.name] = found.get(row.name, frozenset()) | _fields_of(row)
        for device in _devices_of(row):
            found[device.name] = found.get(device.name, frozenset()) | {*role_parameters(device.component)}
    return found


def _fields_of(row: Any) -> set[str]:
    left_out = {"name", "where", "devices", *LOAD_ROLES, *SHUNT_ROLES}
    return {field.name for field in fields(row)} - left_out


def _devices_of(row: Any) -> tuple[DeviceRow, ...]:
    if isinstance(row, LoadRow):
        return () if row.device is None else (row.device,)
    return getattr(row, "devices", ())


def _changed(row: Any, setting: Setting) -> tuple[Any, bool]:
    """Return the row with a parameter set and whether the power flow stays; None where it is another's."""
    if row.name == setting.device and setting.name in _fields_of(row):
        return _replaced(row, {setting.name: _value(setting, getattr(row, setting.name))}), False
    devices = _devices_of(row)
    for k, device in enumerate(devices):
        if device.name == setting.device:
            new = _device(device, setting)
            alone = hasattr(row, device.role)
            place: dict[str, Any] = (
                {device.role: new} if alone else {"devices": (*devices[:k], new, *devices[k + 1 :])}
            )
            return replace(row, **place), True
    return None, False


def _device(device: DeviceRow, setting: Setting) -> DeviceRow:
    known = {**defaults(device.component), **device.parameters}
    value = _value(setting, known.get(setting.name))
    return _replaced(device, {"parameters": {**device.parameters, setting.name: value}})


def _replaced(row: Any, values: dict[str, Any]) -> Any:
    try:
        return replace(row, **values)
    except CaseError as error:
        raise StudyError(str(error)) from error


def _value(setting: Setting, old: Any) -> float:
    if not setting.factor:
        return setting.value
    if isinstance(old, bool) or not isinstance(old, int | float):
        raise StudyError(f"{setting.device}.{setting.name}: there is no value that a factor could multiply")
    return setting.value * old


# The order in which axes are nested, the outermost first: runs that share a start stand together.
CASE, PARAMETER, SCHEME, EVENT = range(4)


# As many values may one axis make of a range or a distribution: 80 MB.
MOST_VALUES = 10_000_000


@dataclass(frozen=True)
class Base:
    """What an axis looks its names up in: the study, one of the cases, and its system at the start."""

    study: Study
    case: Case
    system: System


class Axis(Protocol):
    """What every axis offers."""

    kind: ClassVar[str]
    rank: ClassVar[int]

    @property
    def together(self) -> str:
        """Name that it shares with the axes that it advances with; "" for an axis of its own."""

    def points(self, base: Base) -> Points:
        """Return its points on a system; StudyError for an unknown name or an invalid range."""


def matching_names(patterns: Iterable[str], known: Sequence[str], what: str) -> tuple[str, ...]:
    """Return the names that patterns mean, in the order in which they are known; each means at least one."""
    found: set[str] = set()
    for pattern in patterns:
        meant = [name for name in known if fnmatch.fnmatchcase(name, pattern)]
        if not meant:
            listed = f"; known: {', '.join(known)}" if 0 < len(known) <= 20 else ""
            raise StudyError(f"there is no {what} {pattern!r}{nearest(pattern, known)}{listed}")
        found.update(meant)
    return tuple(name for name in known if name in found)


def check_positive(axis: Any, name: str, values: Iterable[float]) -> None:
    """Raise StudyError for a value that is not finite and above zero, and where there is none."""
    values = tuple(values)
    if not values:
        raise StudyError(f"{axis.kind}: {name} is empty; give at least one value")
    for value in values:
        if not (math.isfinite(value) and value > 0):
            raise StudyError(f"{axis.kind}: {name} = {value!r}: must be a finite number > 0")


def check_start(axis: Any) -> None:
    """Raise StudyError for a start that is no time of a run."""
    if not (math.isfinite(axis.start) and axis.start >= 0):
        raise StudyError(f"{axis.kind}: start = {axis.start!r}: must be a time in s, >= 0")


def check_many(what: str, count: int) -> None:
    """Raise StudyError for more values than one list of them should hold."""
    if count > MOST_VALUES:
        raise StudyError(
            f"{what}: count = {count:,}: must be at most {MOST_VALUES:,}; at a millisecond a run these would "
            "take hours already"
        )


def check_distinct(axis: Any, name: str, values: Sequence[Any]) -> None:
    """Raise StudyError where a value stands twice: its runs would be made twice."""
    seen: set[Any] = set()
    for value in values:
        if value not in seen:
            seen.add(value)
        else:
            raise StudyError(f"{axis.kind}: {name} has {value!r} twice; leave one of them out")


def take_numbers(axis: Any, name: str) -> None:
    """Let a field be a tuple of floats, whatever sequence of numbers it was given as."""
    given = getattr(axis, name)
    values = (None,) if _single(given) else tuple(map(plain, given))
    if any(isinstance(value, bool) or not isinstance(value, int | float) for value in values):
        raise StudyError(f"{axis.kind}: {name} = {shown(given)}: must be a list of numbers")
    object.__setattr__(axis, name, tuple(map(real, values)))


def take_texts(axis: Any, name: str) -> None:
    """Let a field be a tuple of texts; a single one may stand for itself, and a path for a text."""
    given = getattr(axis, name)
    values = (given,) if _single(given) else tuple(given)
    if not all(isinstance(value, str | os.PathLike) for value in values):
        raise StudyError(f"{axis.kind}: {name} = {shown(given)}: must be a list of texts")
    object.__setattr__(axis, name, tuple(str(os.fspath(value)) for value in values))


def _single(given: object) -> bool:
    """Return whether something is no list of values."""
    return not isinstance(given, Iterable) or isinstance(given, str | bytes | Mapping | type)
