"""A case as DataFrames: a table for each kind of row, and one for each type of device."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from psmr.base.errors import CaseError, nearest
from psmr.devices.catalogue import LOAD_ROLES, SHUNT_ROLES, role_parameters
from psmr.network.case.tables import (
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
}
"""The tables of the network and the record of each."""

CALLED: Mapping[str, str] = {"from_bus": "from", "to_bus": "to"}
"""Columns that files and tables call otherwise than the records do."""

_NOT_SHOWN = ("name", "where", "devices", *LOAD_ROLES, *SHUNT_ROLES, "device")


def columns_of(kind: type[Row]) -> dict[str, str]:
    """Return the columns of a table beside the name, and the field of the record that each is."""
    return {CALLED.get(f.name, f.name): f.name for f in fields(kind) if f.name not in _NOT_SHOWN}


def devices_of(case: Tables) -> Iterator[tuple[str, DeviceRow]]:
    """Yield the devices of plants, loads, shunts and relays with the name of what they belong to."""
    for generator in case.generators:
        for device in generator.devices:
            yield generator.name, device
    elements: tuple[LoadRow | ShuntRow, ...] = (*case.loads, *case.shunts)
    for row in elements:
        if row.device is not None:
            yield row.name, row.device
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
