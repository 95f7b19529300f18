"""Case files in TOML: ``format = "psmr-case"``, ``version = 1``.

The head gives name, base and nominal frequency; then comes an array of tables for each kind of row. Powers
are in MW and Mvar, impedances per unit on the system base, angles in degrees, parameters of devices in the
units their component declares (mostly per unit on the device's own base ``s_n``)::

    format = "psmr-case"
    version = 1
    name = "two buses"
    base_mva = 100.0
    frequency_hz = 60.0
    mechanical = "torque"      # what drives GENROU, GENSAL, GENROE, GENSAE: "torque" (also when left out),
                               # or "power", PSS/E's convention

    [[bus]]                    # number; base_kv (label only), name (default "bus<number>")
    number = 1

    [[line]]                   # from, to, x; r, b, g (totals), status (1 or 0), circuit,
    from = 1                   # name (default "line<from>-<to>")
    to = 2
    x = 0.1

    [[transformer]]            # as a line, without the halving of b and g; tap and shift_deg at the from bus
    [[shunt]]                  # bus; g_mw, b_mvar at 1 pu, status, name (default "shunt<bus>")

    [[load]]                   # bus, p_mw, q_mvar, model; v_0, v_min, name (default "load<bus>");
                               # with v_0 the powers are those at that voltage, otherwise at the power flow's
    bus = 2
    p_mw = 50.0
    q_mvar = 10.0
    model = "impedance"        # or "current", "power"; or p_zip and q_zip = [impedance, current, power];
                               # or "exponential" with exponent_p and exponent_q: P = p_mw (V/V_0)^exponent_p;
                               # or "motor" with [load.motor]: type = "InductionMotor", its parameters

    [[generator]]              # name, bus, control; v and angle_deg (slack), p_mw and v (pv),
    name = "G1"                # p_mw and q_mvar (pq); q_min_mvar, q_max_mvar, rating_mva
    bus = 1
    control = "slack"
    v = 1.0

    [generator.machine]        # roles: machine or converter, exciter, governor, stabiliser,
    type = "ClassicalMachine"  # electrical_control, plant_control; type, name, parameters
    s_n = 100.0
    h = 5.0
    d = 0.0
    x_d1 = 0.3

Devices of a plant are wired by name: the exciter's ``v_f`` goes to the machine that reads ``v_f``. Unless
named, they are called G1, AVR1, GOV1, PSS1, EC1, PPC1 for the generator G1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from psmr.dae.declare.component import Component
from psmr.errors import CaseError, nearest
from psmr.grid.case.case import Case
from psmr.grid.case.tables import (
    TORQUE,
    BusRow,
    DeviceRow,
    GeneratorRow,
    LineRow,
    LoadRow,
    ShuntRow,
    TransformerRow,
    device_name,
)
from psmr.grid.models.catalogue import LOAD_ROLES, ROLES
from psmr.io.mistakes import Mistakes
from psmr.io.text import decoded, parsed_toml
from psmr.io.toml.lines import Lines
from psmr.io.toml.lines import Path as TablePath

FORMAT, VERSION = "psmr-case", 1

Spec = Mapping[str, tuple[type, bool]]

_HEAD: Spec = {
    "format": (str, True),
    "version": (int, True),
    "name": (str, True),
    "base_mva": (float, True),
    "frequency_hz": (float, True),
    "mechanical": (str, False),
}
_BRANCH: Spec = {
    "from": (int, True),
    "to": (int, True),
    "x": (float, True),
    "r": (float, False),
    "b": (float, False),
    "g": (float, False),
    "status": (int, False),
    "circuit": (int, False),
    "name": (str, False),
}
_TABLES: Mapping[str, Spec] = {
    "bus": {"number": (int, True), "base_kv": (float, False), "name": (str, False)},
    "line": _BRANCH,
    "transformer": {**_BRANCH, "tap": (float, False), "shift_deg": (float, False)},
    "shunt": {
        "bus": (int, True),
        "g_mw": (float, False),
        "b_mvar": (float, False),
        "status": (int, False),
        "name": (str, False),
    },
    "load": {
        "bus": (int, True),
        "p_mw": (float, True),
        "q_mvar": (float, True),
        "model": (str, False),
        "v_0": (float, False),
        "p_zip": (list, False),
        "q_zip": (list, False),
        "exponent_p": (float, False),
        "exponent_q": (float, False),
        **dict.fromkeys(LOAD_ROLES, (dict, False)),
        "v_min": (float, False),
        "held": (bool, False),
        "name": (str, False),
    },
    "generator": {
        "name": (str, True),
        "bus": (int, True),
        "control": (str, True),
        "p_mw": (float, False),
        "q_mvar": (float, False),
        "v": (float, False),
        "angle_deg": (float, False),
        "q_min_mvar": (float, False),
        "q_max_mvar": (float, False),
        "rating_mva": (float, False),
        "held": (bool, False),
        **dict.fromkeys(ROLES, (dict, False)),
    },
}
_NEEDED: Mapping[str, tuple[str, ...]] = {"slack": ("v",), "pv": ("p_mw", "v"), "pq": ("p_mw", "q_mvar")}
_MODELS = {"impedance": (1.0, 0.0, 0.0), "current": (0.0, 1.0, 0.0), "power": (0.0, 0.0, 1.0)}
_LOAD_FIELDS = ("p_zip", "q_zip", "exponent_p", "exponent_q", "motor")
_LOAD_MODELS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(_MODELS, ()),
    "exponential": ("exponent_p", "exponent_q"),
    "motor": ("motor",),
}
_KINDS = {
    float: "a number",
    int: "a whole number",
    str: "a text in quotes",
    list: "a list",
    dict: "a table",
    bool: "true or false",
}


class _Reader:
    """Takes values out of the parsed document and knows where each one stands."""

    def __init__(self, path: Path, text: str) -> None:
        self.path = path
        self.lines = Lines(text)

    def where(self, table: TablePath, key: str | None = None) -> str:
        line = self.lines.key(table, key) if key else self.lines.table(table)
        names = ".".join(str(part) for part in table if isinstance(part, str))
        array = any(isinstance(part, int) for part in table)
        header = f" [[{names}]]" if array and len(table) == 2 else f" [{names}]" if names else ""
        return f"{self.path}:{max(line, 1)}{header}"

    def values(self, table: TablePath, given: Mapping[str, Any], spec: Spec) -> dict[str, Any]:
        """Return the values of a table after checking names, presence and types."""
        for key in given:
            if key not in spec:
                hint = nearest(key, spec) or f"; known: {', '.join(spec)}"
                raise CaseError(f"{self.where(table, key)}: there is no field {key!r}{hint}")
        for key, (_, needed) in spec.items():
            if needed and key not in given:
                raise CaseError(f"{self.where(table)}: {key} is missing; add it as {_KINDS[spec[key][0]]}")
        return {key: self.typed(table, key, value, spec[key][0]) for key, value in given.items()}

    def typed(self, table: TablePath, key: str, value: Any, kind: type) -> Any:
        """Return a value as the type of its field; a whole number may stand for a real one."""
        good = isinstance(value, (int, float) if kind is float else kind)
        good = good and isinstance(value, bool) == (kind is bool)
        if not good:
            raise CaseError(f"{self.where(table, key)}: {key} = {value!r}: must be {_KINDS[kind]}")
        return float(value) if kind is float else value


def read_toml(path: str | Path, mechanical: str | None = None) -> Case:
    """Return the case in a TOML file; `mechanical` stands in for what its head says.

    Raises
    ------
    CaseError
        For a file that cannot be read or is no TOML (with the line), for a missing, misspelt or mistyped
        field, and for everything that `Case` objects to; the message names file, line, table, field and
        value.
    """
    path = Path(path)
    text = decoded(path)
    document = parsed_toml(path, text)
    reader = _Reader(path, text)
    head = _head(reader, document)
    mistakes = Mistakes()
    rows = {name: _rows(reader, document, name, mistakes) for name in _TABLES}
    mistakes.finish()
    return Case(
        name=head["name"],
        base_mva=head["base_mva"],
        frequency_hz=head["frequency_hz"],
        buses=rows["bus"],
        lines=rows["line"],
        transformers=rows["transformer"],
        shunts=rows["shunt"],
        loads=rows["load"],
        generators=rows["generator"],
        source=str(path),
        mechanical=mechanical or head.get("mechanical", TORQUE),
    )


def _head(reader: _Reader, document: Mapping[str, Any]) -> dict[str, Any]:
    found = document.get("format")
    if found != FORMAT:
        raise CaseError(
            f"{reader.where((), 'format')}: format = {found!r}: must be {FORMAT!r} for a case file"
        )
    spec = {**_HEAD, **dict.fromkeys(_TABLES, (list, False))}
    values = reader.values((), document, spec)
    if values["version"] != VERSION:
        raise CaseError(
            f"{reader.where((), 'version')}: version = {values['version']}: this psmr reads version"
            f" {VERSION};"
            " update psmr, or write the file in that version"
        )
    return values


def _rows(reader: _Reader, document: Mapping[str, Any], name: str, mistakes: Mistakes) -> tuple[Any, ...]:
    """Return the rows of a table, and keep what is wrong with the others."""
    tables = enumerate(document.get(name, []))
    found = [mistakes.attempt(_a_row, reader, (name, i), given) for i, given in tables]
    return tuple(row for row in found if row is not None)


def _a_row(reader: _Reader, table: tuple[str, int], given: Any) -> Any:
    name = table[0]
    if not isinstance(given, dict):
        raise CaseError(
            f"{reader.where((), name)}: {name} must be a list of tables; write [[{name}]] for each row"
        )
    row = _FINISH[name](reader, table, reader.values(table, given, _TABLES[name]))
    return _ROWS[name](**row, where=reader.where(table))


def _plain(reader: _Reader, table: TablePath, row: dict[str, Any]) -> dict[str, Any]:
    return row


def _branch(reader: _Reader, table: TablePath, row: dict[str, Any]) -> dict[str, Any]:
    row["from_bus"], row["to_bus"] = row.pop("from"), row.pop("to")
    return row


def _load(reader: _Reader, table: TablePath, row: dict[str, Any]) -> dict[str, Any]:
    model = row.pop("model", None)
    given = [key for key in _LOAD_FIELDS if key in row]
    if model is None and not set(given) & {"p_zip", "q_zip"}:
        raise CaseError(
            f"{reader.where(table)}: model is missing; give model = {' | '.join(map(repr, _LOAD_MODELS))},"
            " or p_zip and q_zip = [impedance, current, power]"
        )
    if model is not None and model not in _LOAD_MODELS:
        raise CaseError(
            f"{reader.where(table, 'model')}: model = {model!r}: must be"
            f" {', '.join(_LOAD_MODELS)}{nearest(model, _LOAD_MODELS)}"
        )
    needed = _LOAD_MODELS.get(model, ("p_zip", "q_zip"))
    what = f"model = {model!r}" if model else "a load by its parts"
    for key in needed:
        if key not in given:
            named = f"a table [load.{key}]" if key in LOAD_ROLES else " and ".join(needed)
            raise CaseError(f"{reader.where(table)}: {key} is missing; {what} needs {named}")
    for key in given:
        if key not in needed:
            raise CaseError(f"{reader.where(table, key)}: {key} has no place beside {what}; keep one of them")
    for key in ("p_zip", "q_zip"):
        if model in _MODELS:
            row[key] = _MODELS[model]
        elif key in row:
            row[key] = tuple(reader.typed(table, key, part, float) for part in row[key])
    for role in [key for key in row if key in LOAD_ROLES]:
        name = row.get("name", f"load{row['bus']}")
        row[role] = _device(reader, table, role, LOAD_ROLES[role], row[role], name)
    return row


def _device(
    reader: _Reader,
    table: TablePath,
    role: str,
    kinds: Sequence[type[Component]],
    given: Mapping[str, Any],
    name: str,
) -> DeviceRow:
    """Return the device in a table below a generator or load."""
    place: TablePath = (*table, role)
    values = dict(given)
    if "type" not in values:
        known = ", ".join(component.__name__ for component in kinds)
        raise CaseError(f"{reader.where(place)}: type is missing; a {role} can be: {known}")
    kind = reader.typed(place, "type", values.pop("type"), str)
    if role in ROLES:
        name = reader.typed(place, "name", values.pop("name", name), str)
    return DeviceRow(name, role, kind, values, where=reader.where(place))


def _generator(reader: _Reader, table: TablePath, row: dict[str, Any]) -> dict[str, Any]:
    for key in _NEEDED.get(row["control"], ()):
        if key not in row:
            raise CaseError(f"{reader.where(table)}: {key} is missing; control = {row['control']!r} needs it")
    devices = tuple(
        _device(reader, table, role, ROLES[role], row.pop(role), device_name(row["name"], role))
        for role in [key for key in row if key in ROLES]
    )
    return row | {"devices": devices}


_ROWS: Mapping[str, type] = {
    "bus": BusRow,
    "line": LineRow,
    "transformer": TransformerRow,
    "shunt": ShuntRow,
    "load": LoadRow,
    "generator": GeneratorRow,
}
_FINISH: Mapping[str, Callable[[_Reader, TablePath, dict[str, Any]], dict[str, Any]]] = {
    "bus": _plain,
    "line": _branch,
    "transformer": _branch,
    "shunt": _plain,
    "load": _load,
    "generator": _generator,
}
