"""A case with other values in its rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, replace
from typing import Any

from psmr.base.errors import CaseError, StudyError
from psmr.devices.catalogue import LOAD_ROLES
from psmr.network.case.case import Case
from psmr.network.case.tables import DeviceRow, LoadRow
from psmr.sweep.variation import Setting

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
    own = {field.name for field in fields(row)} - {"name", "where", "devices", *LOAD_ROLES}
    if row.name == setting.device and setting.name in own:
        return _set(row, {setting.name: _value(setting, getattr(row, setting.name))}), False
    devices: tuple[DeviceRow, ...] = getattr(row, "devices", ())
    for k, device in enumerate(devices):
        if device.name == setting.device:
            new = _device(device, setting)
            return replace(row, devices=(*devices[:k], new, *devices[k + 1 :])), True
    own_device: DeviceRow | None = getattr(row, "device", None) if isinstance(row, LoadRow) else None
    if own_device is not None and own_device.name == setting.device:
        return replace(row, **{own_device.role: _device(own_device, setting)}), True
    return None, False


def _device(device: DeviceRow, setting: Setting) -> DeviceRow:
    from psmr.devices.catalogue import defaults

    known = {**defaults(device.component), **device.parameters}
    value = _value(setting, known.get(setting.name))
    return _set(device, {"parameters": {**device.parameters, setting.name: value}})


def _set(row: Any, values: dict[str, Any]) -> Any:
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
