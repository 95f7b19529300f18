"""Write a case as TOML, in the format that `psmr.io.toml.read_case` reads."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

from psmr.grid.case.case import Case
from psmr.grid.case.tables import (
    BranchRow,
    BusRow,
    DeviceRow,
    GeneratorRow,
    LoadRow,
    Row,
    ShuntRow,
    TransformerRow,
    device_name,
)
from psmr.grid.models.catalogue import component_named
from psmr.io.toml.read_case import FORMAT, VERSION

_MODELS = {(1.0, 0.0, 0.0): "impedance", (0.0, 1.0, 0.0): "current", (0.0, 0.0, 1.0): "power"}


def toml_text(case: Case) -> str:
    """Return a case as TOML; what has its default is left out, and reading it gives the same case."""
    parts = [
        _pairs(
            {
                "format": FORMAT,
                "version": VERSION,
                "name": case.name,
                "base_mva": case.base_mva,
                "frequency_hz": case.frequency_hz,
                "mechanical": case.mechanical,
            }
        )
    ]
    for header, rows in (
        ("bus", case.buses),
        ("line", case.lines),
        ("transformer", case.transformers),
        ("shunt", case.shunts),
        ("load", case.loads),
        ("generator", case.generators),
    ):
        for row in rows:
            parts.append(f"[[{header}]]\n{_pairs(_fields(row))}")
            if isinstance(row, GeneratorRow):
                parts += [
                    _device("generator", device, device_name(row.name, device.role)) for device in row.devices
                ]
            if isinstance(row, LoadRow) and row.motor is not None:
                parts.append(_device("load", row.motor, row.name))
    return "\n".join(parts)


def _fields(row: Row) -> Mapping[str, Any]:
    """Return the fields of a row as the format calls them, in its order, without defaults."""
    match row:
        case BusRow():
            return _given(row, "number", base_kv=0.0, name=f"bus{row.number}")
        case TransformerRow():
            return _branch(row) | _given(row, tap=1.0, shift_deg=0.0)
        case BranchRow():
            return _branch(row)
        case ShuntRow():
            return _given(row, "bus", g_mw=0.0, b_mvar=0.0, status=1, name=f"shunt{row.bus}")
        case LoadRow():
            values = _given(row, "bus", "p_mw", "q_mvar")
            if row.motor is not None:
                values["model"] = "motor"
            elif row.exponential:
                values |= {"model": "exponential"} | _given(row, "exponent_p", "exponent_q")
            elif row.p_zip == row.q_zip and row.p_zip in _MODELS:
                values["model"] = _MODELS[row.p_zip]
            else:
                values |= {"p_zip": row.p_zip, "q_zip": row.q_zip}
            return values | _given(row, v_0=None, v_min=0.7, held=False, name=f"load{row.bus}")
        case GeneratorRow():
            values = _given(row, "name", "bus", "control")
            values |= _given(row, "p_mw", "v") if row.control == "pv" else {}
            values |= _given(row, "p_mw", "q_mvar") if row.control == "pq" else {}
            values |= _given(row, "v") if row.control == "slack" else {}
            own = sum(device.parameters.get("s_n", 0.0) for device in row.devices)
            limits = {"q_min_mvar": -math.inf, "q_max_mvar": math.inf}
            rest = _given(
                row, p_mw=0.0, q_mvar=0.0, v=1.0, angle_deg=0.0, **limits, rating_mva=own, held=False
            )
            return values | rest
    raise TypeError(f"no table for {type(row).__name__}")


def _branch(row: BranchRow) -> dict[str, Any]:
    ends = {"from": row.from_bus, "to": row.to_bus, "x": row.x}
    circuit = "" if row.circuit == 1 else f"-{row.circuit}"
    name = f"{row.kind}{row.from_bus}-{row.to_bus}{circuit}"
    return ends | _given(row, r=0.0, b=0.0, g=0.0, status=1, circuit=1, name=name)


def _given(row: Row, *always: str, **unless: Any) -> dict[str, Any]:
    """Return the fields `always`, and the others where they differ from their defaults."""
    values = {name: getattr(row, name) for name in always}
    return values | {k: getattr(row, k) for k, default in unless.items() if getattr(row, k) != default}


def _device(table: str, device: DeviceRow, name: str) -> str:
    values: dict[str, Any] = {"type": device.type}
    if device.name != name:
        values["name"] = device.name
    component = component_named(device.role, device.type)
    whole = {*component.structural, *component.buses}
    given = {k: int(x) if k in whole else x for k, x in device.parameters.items()}
    return f"[{table}.{device.role}]\n{_pairs(values | given)}"


def _pairs(values: Mapping[str, Any]) -> str:
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
