"""Write a case as TOML, in the format that `psmr.files.toml.read_case` reads."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields, replace
from typing import Any

from psmr.devices.placement import placement
from psmr.files.toml.read_case import FORMAT, MODELS, NEEDED, PLACE, ROWS, TABLES, VERSION, region_values
from psmr.network.case.case import Case
from psmr.network.case.tables import (
    AS_STORED,
    FLUX,
    DeviceRow,
    GeneratorRow,
    LoadRow,
    RelayRow,
    Row,
    ShuntRow,
    device_name,
)


def toml_pairs(values: Mapping[str, Any]) -> str:
    """Return a line ``key = value`` for each value: texts, numbers, truth values, and lists of these."""
    return "".join(f"{key} = {_value(value)}\n" for key, value in values.items())


def _value(value: Any) -> str:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Iterable):
        return f"[{', '.join(map(_value, value))}]"
    return repr(value)


def _text(value: str) -> str:
    """Return a basic string of TOML."""
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + re.sub(r"[\x00-\x1f\x7f-\x9f]", lambda found: f"\\u{ord(found[0]):04x}", escaped) + '"'


_WORKED_OUT = ("name", "rating_mva")
"""Where these are left out, the row works them out itself."""


def toml_text(case: Case) -> str:
    """Return a case as TOML; what has its default is left out, and reading it gives the same case."""
    parts = [
        toml_pairs(
            {
                "format": FORMAT,
                "version": VERSION,
                "name": case.name,
                "base_mva": case.base_mva,
                "frequency_hz": case.frequency_hz,
                "mechanical": case.mechanical,
                **({} if case.stator == FLUX else {"stator": case.stator}),
                **({} if case.reactive == AS_STORED else {"reactive": case.reactive}),
                **({"modules": case.modules} if case.modules else {}),
            }
        )
    ]
    if case.dynamic is not None:
        parts.append(f"[{PLACE[0]}]\n{toml_pairs(region_values(case.dynamic))}")
    for header, (part, _) in ROWS.items():
        for row in getattr(case, part):
            parts.append(f"[[{header}]]\n{toml_pairs(_fields(header, row))}")
            if isinstance(row, GeneratorRow):
                parts += [
                    _device("generator", device, device_name(row.name, device.role)) for device in row.devices
                ]
            if isinstance(row, LoadRow) and row.device is not None:
                parts.append(_device("load", row.device, row.name))
            if isinstance(row, ShuntRow) and row.static_var_system is not None:
                parts.append(_device("shunt", row.static_var_system, row.name))
            if isinstance(row, RelayRow):
                parts.append(_device("relay", row.device, row.name, "device"))
    return "\n".join(parts)


def _fields(header: str, row: Row) -> Mapping[str, Any]:
    """Return the fields of a row as the format calls them, without what it has by default."""
    default: dict[str, Any] = {item.name: item.default for item in fields(row)}
    left_out = {name: default[name] for name in _WORKED_OUT if default.get(name, MISSING) is not MISSING}
    bare = replace(row, **left_out)
    default |= {name: getattr(bare, name) for name in left_out}
    always = NEEDED[row.control] if isinstance(row, GeneratorRow) else ()
    values: dict[str, Any] = {}
    for key, field in TABLES[header].items():
        # A field that fills none stands for something else of the row, as a load's model does.
        if field.fills and (
            field.needed or key in always or getattr(row, field.fills) != default[field.fills]
        ):
            values[key] = getattr(row, field.fills)
    return _with_model(row, values) if isinstance(row, LoadRow) else values


def _with_model(row: LoadRow, values: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a load with its model's name, where it has one."""
    model = next((model for model, parts in MODELS.items() if row.p_zip == row.q_zip == parts), None)
    if model:
        values = {key: value for key, value in values.items() if key not in ("p_zip", "q_zip")}
    role = row.device.role if row.device is not None else None
    named = model or role or ("exponential" if row.exponential else None)
    return values | ({"model": named} if named else {})


def _device(table: str, device: DeviceRow, name: str, key: str = "") -> str:
    values: dict[str, Any] = {"type": device.type}
    if device.name != name:
        values["name"] = device.name
    component = device.component
    whole = {*component.structural, *placement(component).buses}
    given = {k: int(x) if k in whole else x for k, x in device.parameters.items()}
    return f"[{table}.{key or device.role}]\n{toml_pairs(values | given)}"
