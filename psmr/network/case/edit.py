"""A case with some of its values replaced: by name and column, or by whole tables; all of it or nothing.

A case as DataFrames: a table for each kind of row, and one for each type of device.
"""

from __future__ import annotations

import fnmatch
import math
import types
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import MISSING, fields, replace
from typing import TYPE_CHECKING, Any, TypeVar, Union, get_args, get_origin, get_type_hints

from psmr.base.errors import CaseError, Mistakes, nearest, shown, warn
from psmr.base.numbers import plain, real
from psmr.devices.catalogue import AREA_ROLES, LOAD_ROLES, SHUNT_ROLES, TRANSFORMER_ROLES, role_parameters
from psmr.network.case.checks import unlikely
from psmr.network.case.tables import (
    AreaRow,
    BusRow,
    DeviceRow,
    GeneratorRow,
    LineRow,
    LoadRow,
    RelayRow,
    Row,
    ShuntRow,
    Tables,
    TransformerRow,
)

if TYPE_CHECKING:
    import pandas as pd


ROWS: Mapping[str, type[Row]] = {
    "buses": BusRow,
    "lines": LineRow,
    "transformers": TransformerRow,
    "shunts": ShuntRow,
    "loads": LoadRow,
    "generators": GeneratorRow,
    "relays": RelayRow,
    "areas": AreaRow,
}
"""The tables of the network and the record of each."""

CALLED: Mapping[str, str] = {"from_bus": "from", "to_bus": "to"}
"""Columns that files and tables call otherwise than the records do."""

_OF_ELEMENTS = (*LOAD_ROLES, *SHUNT_ROLES, *TRANSFORMER_ROLES, *AREA_ROLES)
_NOT_SHOWN = ("name", "where", "devices", *_OF_ELEMENTS, "device")


def columns_of(kind: type[Row]) -> dict[str, str]:
    """Return the columns of a table beside the name, and the field of the record that each is."""
    return {CALLED.get(f.name, f.name): f.name for f in fields(kind) if f.name not in _NOT_SHOWN}


def devices_of(case: Tables) -> Iterator[tuple[str, DeviceRow]]:
    """Yield the devices of plants, areas, loads, shunts, transformers and relays with their owner's name."""
    owners: tuple[GeneratorRow | AreaRow | ShuntRow, ...] = (*case.generators, *case.areas, *case.shunts)
    for owner in owners:
        for device in owner.devices:
            yield owner.name, device
    for load in case.loads:
        if load.device is not None:
            yield load.name, load.device
    for transformer in case.transformers:
        if transformer.tap_changer is not None:
            yield transformer.name, transformer.tap_changer
    for relay in case.relays:
        yield relay.name, relay.device


class CaseTables(Mapping[str, "pd.DataFrame"]):
    """The tables of a case by name, each a DataFrame of its own; see `psmr.network.case.case.Case.tables`.

    The index is the row's name. A change to a DataFrame does not reach the case: give it to `Case.edit`.
    """

    def __init__(self, case: Tables) -> None:
        self._case = case
        types = dict.fromkeys(device.type for _, device in devices_of(case))
        self._names = (*ROWS, *types)

    def __getitem__(self, name: str) -> pd.DataFrame:
        if name in ROWS:
            return _network_table(getattr(self._case, name), ROWS[name])
        if name not in self._names:
            raise CaseError(
                f"{self._case.name} has no table {name!r}{nearest(str(name), self._names)}; it has "
                f"{', '.join(self._names)}"
            )
        return _device_table(self._case, name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        sizes = (f"{name}: {len(self[name])}" for name in self)
        return f"CaseTables({self._case.name!r}, rows {', '.join(sizes)})"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td style='text-align:left'>{name}</td><td>{len(table)}</td>"
            f"<td style='text-align:left'>{', '.join(map(str, table.columns))}</td></tr>"
            for name, table in self.items()
        )
        return f"<table><tr><th>table</th><th>rows</th><th>columns</th></tr>{rows}</table>"


def _network_table(rows: tuple[Any, ...], kind: type[Row]) -> pd.DataFrame:
    import pandas as pd

    columns = {
        column: pd.Series([getattr(row, field) for row in rows], dtype=None if rows else object)
        for column, field in columns_of(kind).items()
    }
    table = pd.DataFrame(columns)
    table.index = pd.Index([row.name for row in rows], name="name", dtype=object)
    return table


def _device_table(case: Tables, kind: str) -> pd.DataFrame:
    import pandas as pd

    found = [(owner, device) for owner, device in devices_of(case) if device.type == kind]
    declared = role_parameters(found[0][1].component)
    values = {
        key: [device.parameters.get(key, parameter.default) for _, device in found]
        for key, parameter in declared.items()
    }
    owners = {"plant": [owner for owner, _ in found], "role": [device.role for _, device in found]}
    index = pd.Index([device.name for _, device in found], name="name", dtype=object)
    return pd.DataFrame(owners | values, index=index)


Edited = TypeVar("Edited", bound=Tables)
Changes = dict[tuple[str, str], dict[str, Any]]
"""New values by table and name of the row, then by column. Devices stand in a table called "device"."""

DEVICE = "device"


def edited(case: Edited, values: Mapping[str, Any], tables: Mapping[str, pd.DataFrame]) -> Edited:
    """Return the case with new values; see `psmr.network.case.case.Case.edit`."""
    mistakes = Mistakes(CaseError)
    changes: Changes = {}
    for key, value in values.items():
        for table, name, column in mistakes.attempt(_meant, case, key) or ():
            changes.setdefault((table, name), {})[column] = value
    parts = {name: getattr(case, name) for name in ROWS}
    for name, frame in tables.items():
        if name in ROWS:
            parts[name] = mistakes.attempt(_rows_of, case, name, frame) or ()
        else:
            mistakes.attempt(_device_changes, case, name, frame, changes)
    for name, rows in parts.items():
        done = [mistakes.attempt(_row, name, row, changes) for row in rows]
        parts[name] = tuple(row for row in done if row is not None)
    mistakes.finish()
    gone = _elements(case.__dict__) - _elements(case.__dict__ | parts)
    sequence = tuple(row for row in case.sequence if row.element not in gone)
    new = replace(case, **parts, source="", sequence=sequence)
    known = {(found.name, found.words) for found in unlikely(case)}
    for found in unlikely(new):
        if (found.name, found.words) not in known:
            warn(str(found))
    return new


def _elements(tables: Mapping[str, Any]) -> set[str]:
    """Return the names of what may have sequence data."""
    kinds = ("lines", "transformers", "generators", "shunts", "loads")
    return {row.name for kind in kinds for row in tables[kind]}


def _meant(case: Tables, key: str) -> list[tuple[str, str, str]]:
    """Return the (table, name, column) that a text such as ``"load5.p_mw"`` or ``"load*.v_min"`` means."""
    pattern, dot, column = str(key).rpartition(".")
    if not dot:
        raise CaseError(f'{key!r}: write "name.column", for instance "load5.p_mw"')
    places = [
        (table, name, known) for table, name, known in _places(case) if fnmatch.fnmatchcase(name, pattern)
    ]
    if not places:
        names = [name for _, name, _ in _places(case)]
        raise CaseError(f"{key!r}: {case.name} has nothing called {pattern!r}{nearest(pattern, names)}")
    found = [(table, name, column) for table, name, known in places if column in known]
    if not found:
        known = list(dict.fromkeys(column for _, _, known in places for column in known))
        raise CaseError(
            f"{key!r}: {pattern} has no column {column!r}{nearest(column, known)}; it has {', '.join(known)}"
        )
    return found


def _places(case: Tables) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Yield table, name and columns of every row and device."""
    for table, kind in ROWS.items():
        columns = tuple(columns_of(kind))
        for row in getattr(case, table):
            yield table, row.name, columns
    for _, device in devices_of(case):
        yield DEVICE, device.name, tuple(role_parameters(device.component))


def _device_changes(case: Tables, name: str, table: pd.DataFrame, changes: Changes) -> None:
    """Add what a table of devices changes."""
    there = CaseTables(case)[name]
    _check_frame(name, table)
    _check_columns(name, table, there.columns)
    for row in table.index:
        if row not in there.index:
            raise CaseError(
                f"{name}: there is no {name} called {row!r}{nearest(str(row), map(str, there.index))}; "
                "devices are added in a case file or by psmr.make_case"
            )
        for column in table.columns:
            new: Any = table.at[row, column]
            old: Any = there.at[row, column]
            if new == old or (new != new and old != old):
                continue
            if column in ("plant", "role"):
                raise CaseError(f"{name}: {column} of {row} cannot be changed from {old!r} to {new!r}")
            changes.setdefault((DEVICE, str(row)), {})[str(column)] = new


def _rows_of(case: Tables, name: str, table: pd.DataFrame) -> tuple[Row, ...]:
    """Return the rows that a DataFrame stands for; plants, loads and shunts keep the devices they have."""
    _check_frame(name, table)
    kind, known = ROWS[name], columns_of(ROWS[name])
    _check_columns(name, table, known)
    before = {row.name: row for row in getattr(case, name)}
    optional = {f.name for f in fields(kind) if f.default is None}
    hints = get_type_hints(kind)
    mistakes = Mistakes(CaseError)
    found = []
    for place, label in enumerate(table.index):
        where = f"{name}, row {place + 1} ({label})"
        values: dict[str, Any] = {"name": label, "where": where}
        for column in table.columns:
            field, value = known[column], table[column].iloc[place]
            if field in optional and (value is None or (isinstance(value, float) and math.isnan(value))):
                continue
            taken = mistakes.attempt(_fitted, hints[field], value, f"{where}: {column}")
            values[field] = taken
        needed = {f.name for f in fields(kind) if f.default is MISSING}
        missing = [column for column, field in known.items() if field in needed - values.keys()]
        if missing:
            mistakes.found.append(f"{where}: {', '.join(missing)} is missing")
            continue
        old = before.get(label)
        if isinstance(old, GeneratorRow):
            values["devices"] = old.devices
        if isinstance(old, LoadRow):
            values |= {role: getattr(old, role) for role in LOAD_ROLES}
        if isinstance(old, ShuntRow):
            values |= {role: getattr(old, role) for role in SHUNT_ROLES}
        if isinstance(old, TransformerRow):
            values |= {role: getattr(old, role) for role in TRANSFORMER_ROLES}
        if isinstance(old, AreaRow):
            values |= {role: getattr(old, role) for role in AREA_ROLES}
        if kind is RelayRow:
            if not isinstance(old, RelayRow):
                mistakes.found.append(
                    f"{where}: a relay without its device; relays are added in a case file or by "
                    "psmr.make_case"
                )
                continue
            values["device"] = old.device
        if not mistakes.found:
            found.append(mistakes.attempt(kind, **values))
    mistakes.finish()
    return tuple(row for row in found if row is not None)


def _check_frame(name: str, table: object) -> None:
    import pandas as pd

    if not isinstance(table, pd.DataFrame):
        raise CaseError(f"{name} = {type(table).__name__}: must be a DataFrame like case.tables[{name!r}]")


def _check_columns(name: str, table: pd.DataFrame, known: Iterable[str]) -> None:
    known = list(known)
    for column in table.columns:
        if column not in known:
            raise CaseError(
                f"{name} has no column {column!r}{nearest(str(column), known)}; it has {', '.join(known)}"
            )


_PARTS: Mapping[type[Row], tuple[str, ...]] = {
    LoadRow: tuple(LOAD_ROLES),
    ShuntRow: tuple(SHUNT_ROLES),
    TransformerRow: tuple(TRANSFORMER_ROLES),
    RelayRow: ("device",),
    AreaRow: tuple(AREA_ROLES),
}
"""Fields of rows that are devices, by the kind of row."""


def _row(table: str, row: Any, changes: Changes) -> Any:
    """Return a row with what the changes say of it and of its devices."""
    given = changes.get((table, row.name), {})
    known, hints = columns_of(type(row)), get_type_hints(type(row))
    place = f"edit of {row.name}"
    new = {known[c]: _fitted(hints[known[c]], value, f"{place}: {c}") for c, value in given.items()}
    if isinstance(row, GeneratorRow):
        devices = tuple(_device(device, changes) for device in row.devices)
        if devices != row.devices:
            own = sum(device.parameters.get("s_n", 0.0) for device in row.devices)
            # A rating that was the sum of the devices' stays that.
            new = {"devices": devices, **({"rating_mva": 0.0} if row.rating_mva == own else {}), **new}
    for field in _PARTS.get(type(row), ()):
        part = getattr(row, field)
        if part is not None and (other := _device(part, changes)) != part:
            new[field] = other
    return replace(row, **new, where="edit") if new else row


def _device(device: DeviceRow, changes: Changes) -> DeviceRow:
    given = changes.get((DEVICE, device.name))
    if not given:
        return device
    new = {key: _fitted(float, value, f"edit of {device.name}: {key}") for key, value in given.items()}
    return replace(device, parameters={**device.parameters, **new}, where="edit")


def _fitted(hint: Any, value: Any, place: str) -> Any:
    """Return a value as the type that a record declares; a numpy number becomes one of Python."""
    if get_origin(hint) in (Union, types.UnionType):
        if value is None and type(None) in get_args(hint):
            return None
        hint = next(part for part in get_args(hint) if part is not type(None))
    if get_origin(hint) is tuple:
        kind = get_args(hint)[0]
        if isinstance(value, Iterable) and not isinstance(value, str):
            return tuple(_fitted(kind, part, place) for part in value)
        raise CaseError(f"{place} = {shown(value)}: must be {'three numbers' if kind is float else 'texts'}")
    value = plain(value)
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if hint is float and number:
        return real(value)
    if hint is int and number and math.isfinite(real(value)) and value == int(value):
        return int(value)
    if hint is bool and isinstance(value, bool):
        return value
    if hint is str and isinstance(value, str):
        return value
    words = {float: "a number", int: "a whole number", bool: "True or False", str: "a text"}
    raise CaseError(f"{place} = {shown(value)}: must be {words[hint]}")
