"""Cases written as TOML: what has its default is left out, and reading it gives the same case."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields, replace
from typing import Any

from psmr.devices.catalogue import CODE
from psmr.devices.placement import placement
from psmr.files.toml.case import AREA_KEYS, FORMAT, MODELS, NEEDED, ROWS, TABLES, VERSION
from psmr.files.toml.code import code_tables
from psmr.files.toml.region import PLACE, region_values
from psmr.network.case.case import Case
from psmr.network.case.tables import (
    AS_STORED,
    FLUX,
    AreaRow,
    DcConverterRow,
    DcLineRow,
    DeviceRow,
    GeneratorRow,
    LoadRow,
    RelayRow,
    Row,
    ShuntRow,
    TransformerRow,
    device_name,
)


def toml_pairs(values: Mapping[str, Any]) -> str:
    """Return a line ``key = value`` for each value: texts, numbers, truth values, and lists of these."""
    bare = re.compile("[A-Za-z0-9_-]+")
    return "".join(
        f"{key if bare.fullmatch(key) else _text(key)} = {_value(value)}\n" for key, value in values.items()
    )


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
    converters = {row.name for row in case.dc_converters}
    for header, (part, _) in ROWS.items():
        for row in getattr(case, part):
            if isinstance(row, LoadRow) and row.name in converters:
                continue
            parts.append(f"[[{header}]]\n{toml_pairs(_row_fields(header, row))}")
            if isinstance(row, GeneratorRow):
                codes = [device for device in row.devices if device.code is not None]
                parts += [
                    _device_table("generator", device, device_name(row.name, device.role))
                    for device in row.devices
                    if device.code is None
                ]
                for device in codes:
                    for end, values in code_tables(device, device_name(row.name, CODE)).items():
                        head = f"generator.{CODE}{end}"
                        head = f"[[{head}]]" if len(codes) > 1 and not end else f"[{head}]"
                        parts.append(f"{head}\n{toml_pairs(values)}")
            if isinstance(row, LoadRow) and row.device is not None:
                parts.append(_device_table("load", row.device, row.name))
            if isinstance(row, ShuntRow):
                made = [(device, device_name(row.name, device.role)) for device in row.devices]
                parts += [_device_table("shunt", device, name) for device, name in made]
            if isinstance(row, TransformerRow) and row.tap_changer is not None:
                name = device_name(row.name, row.tap_changer.role)
                parts.append(_device_table("transformer", row.tap_changer, name))
            if isinstance(row, RelayRow):
                parts.append(_device_table("relay", row.device, row.name, "device"))
            if isinstance(row, AreaRow):
                controls = [(key, getattr(row, role)) for key, role in AREA_KEYS.items()]
                parts += [_device_table("area", of, of.name, key) for key, of in controls if of is not None]
            if isinstance(row, DcConverterRow):
                parts.append(_device_table("dc_converter", row.device, row.name, "device"))
            if isinstance(row, DcLineRow) and row.device is not None:
                parts.append(_device_table("dc_line", row.device, row.device.name, "control"))
    return "\n".join(parts)


def _row_fields(header: str, row: Row) -> Mapping[str, Any]:
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


def _device_table(table: str, device: DeviceRow, name: str, key: str = "") -> str:
    values: dict[str, Any] = {"type": device.type}
    if device.name != name:
        values["name"] = device.name
    component = device.component
    whole = {*component.structural, *placement(component).buses}
    given = {k: int(x) if k in whole else x for k, x in device.parameters.items()}
    return f"[{table}.{key or device.role}]\n{toml_pairs(values | given)}"
