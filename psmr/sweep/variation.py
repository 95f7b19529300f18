"""What one point of an axis makes of the base study, and a case with other values in its rows."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from psmr.base.errors import CaseError, StudyError
from psmr.devices.catalogue import LOAD_ROLES, SHUNT_ROLES, defaults, role_parameters
from psmr.network.case.case import Case
from psmr.network.case.tables import DeviceRow, LoadRow, ShuntRow
from psmr.study.events import Event

Value = float | int | str


@dataclass(frozen=True)
class Setting:
    """A parameter of a device with its new value, or the factor that its own is multiplied by."""

    device: str
    name: str
    value: float
    factor: bool = False


@dataclass(frozen=True)
class Variation:
    """What a point changes, and what its row says of it.

    Attributes
    ----------
    labels
        (column, value) pairs of the row.
    case
        Number of the case among those of the sweep; None where it stays.
    settings
        Parameters of devices.
    choices
        (field, value) pairs of the scheme.
    events
        Events of the run; None where the axis has none.
    beside
        Whether they come beside those of the study, or in their place.
    """

    labels: tuple[tuple[str, Value], ...] = ()
    case: int | None = None
    settings: tuple[Setting, ...] = ()
    choices: tuple[tuple[str, Value], ...] = ()
    events: tuple[Event, ...] | None = None
    beside: bool = False

    def joined(self, other: Variation) -> Variation:
        """Return both together."""
        events = self.events
        if other.events is not None:
            events = (*(self.events or ()), *other.events)
        return Variation(
            labels=(*self.labels, *other.labels),
            case=self.case if other.case is None else other.case,
            settings=(*self.settings, *other.settings),
            choices=(*self.choices, *other.choices),
            events=events,
            # One axis that replaces the study's events is enough for them to be replaced.
            beside=(self.beside or self.events is None) and (other.beside or other.events is None),
        )

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

    @overload
    def __getitem__(self, k: int) -> Variation: ...
    @overload
    def __getitem__(self, k: slice) -> Sequence[Variation]: ...
    def __getitem__(self, k: int | slice) -> Variation | Sequence[Variation]:
        if isinstance(k, slice):
            return [self[i] for i in range(*k.indices(self.length))]
        return self.make(range(self.length)[k])


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


def together(name: str, members: Sequence[Points]) -> Points:
    """Return the points of axes of equal length that advance as one."""
    lengths = [len(member) for member in members]
    if len(set(lengths)) > 1:
        raise StudyError(
            f"the axes together = {name!r} have {', '.join(map(str, lengths))} points; axes that advance "
            "together need as many of each"
        )
    return PointsOnDemand(lengths[0], partial(_joined_at, tuple(members)))


def _joined_at(members: tuple[Points, ...], k: int) -> Variation:
    return joined(member[k] for member in members)


def joined(parts: Iterable[Variation]) -> Variation:
    """Return what several variations make together."""
    whole = Variation()
    for part in parts:
        whole = whole.joined(part)
    return whole


NETWORK = ("lines", "transformers", "shunts", "loads", "generators")


def altered(case: Case, settings: Iterable[Setting]) -> tuple[Case, bool]:
    """Return the case with parameters set, and whether its power flow stays as it is.

    Parameters
    ----------
    case
        The case.
    settings
        Parameters by device. Those of machines, converters and their controllers leave the power flow; those
        of the network, of loads and of a generator's row do not.

    Raises
    ------
    StudyError
        For a device that no row of the case stands for, a parameter that its row does not have, and a value
        that it cannot take.
    """
    same_flow = True
    for setting in settings:
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
    """Return what `altered` can set: the parameters of each row and device of a case by its name."""
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
    if isinstance(row, LoadRow | ShuntRow):
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
            alone = isinstance(row, LoadRow | ShuntRow)
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
