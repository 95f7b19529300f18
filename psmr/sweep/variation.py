"""What one point of an axis makes of the base study, and a case with other values in its rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from psmr.base.errors import CaseError, StudyError
from psmr.devices.catalogue import LOAD_ROLES, SHUNT_ROLES
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
    raise StudyError(
        f"{what}: no row of the case has this parameter; a sweep varies what the case's rows hold, such as "
        "parameters of machines, controllers, lines and loads"
    )


def _changed(row: Any, setting: Setting) -> tuple[Any, bool]:
    """Return the row with a parameter set and whether the power flow stays; None where it is another's."""
    own = {field.name for field in fields(row)} - {"name", "where", "devices", *LOAD_ROLES, *SHUNT_ROLES}
    if row.name == setting.device and setting.name in own:
        return _replaced(row, {setting.name: _value(setting, getattr(row, setting.name))}), False
    devices: tuple[DeviceRow, ...] = getattr(row, "devices", ())
    for k, device in enumerate(devices):
        if device.name == setting.device:
            new = _device(device, setting)
            return replace(row, devices=(*devices[:k], new, *devices[k + 1 :])), True
    own_device: DeviceRow | None = (
        getattr(row, "device", None) if isinstance(row, LoadRow | ShuntRow) else None
    )
    if own_device is not None and own_device.name == setting.device:
        return replace(row, **{own_device.role: _device(own_device, setting)}), True
    return None, False


def _device(device: DeviceRow, setting: Setting) -> DeviceRow:
    from psmr.devices.catalogue import defaults

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
