"""Case files in TOML, read and written: ``format = "psmr-case"``, ``version = 1``.

The head gives name, base and nominal frequency; then comes an array of tables for each kind of row. Powers
are in MW and Mvar, impedances per unit on the system base, angles in degrees, parameters of devices in the
units their component declares (mostly per unit on the device's own base ``s_n``)::

    format = "psmr-case"
    version = 1
    name = "two buses"
    base_mva = 100.0
    frequency_hz = 60.0
    modules = ["mine"]         # Python modules beside this file (mine.py) with components of your own, which
                               # are imported where whoever reads it allows that
    mechanical = "torque"      # what drives GENROU, GENSAL, GENROE, GENSAE: "torque" (also when left out),
                               # or "power", PSS/E's convention

    stator = "flux"            # stator voltages of the same machines (also when left out), or "speed": fluxes
                               # times the speed, PowerWorld's convention

    [dynamic]                  # the part of the network with its own dynamics, see `psmr.Region`: buses,
    buses = [1, 2]             # within, devices, or error and modes = ["-38.2+16.7j"]; left out: none

    [[bus]]                    # number; base_kv (label only), name (default "bus<number>"), aliases
    number = 1

    [[line]]                   # from, to, x; r, b, g (totals), status (1 or 0), circuit,
    from = 1                   # name (default "line<from>-<to>")
    to = 2
    x = 0.1

    [[transformer]]            # as a line, without the halving of b and g; tap and shift_deg at the from bus
    [[shunt]]                  # bus; g_mw, b_mvar at 1 pu, status, name (default "shunt<bus>")
                               # regulating = true for both: a control that stands still during a run, a note;
                               # [shunt.static_var_system]: type = "SVSMO1", its parameters: what a shunt is
                               # in the dynamics, an admittance in the power flow alone;
                               # [shunt.switching]: type = "SwitchedShunt", its parameters;
                               # [transformer.tap_changer]: type = "TapChanger", its parameters: what moves
                               # the tap during a run

    [[load]]                   # bus, p_mw, q_mvar, model; v_0, v_min, name (default "load<bus>");
                               # with v_0 the powers are those at that voltage, otherwise at the power flow's
    bus = 2
    p_mw = 50.0
    q_mvar = 10.0
    model = "impedance"        # or "current", "power"; or p_zip and q_zip = [impedance, current, power];
                               # or "exponential" with exponent_p and exponent_q: P = p_mw (V/V_0)^exponent_p;
                               # or "motor" with [load.motor]: type = "InductionMotor", its parameters;
                               # or "composite" with [load.composite]: type = "CMLD", its parameters;
                               # or "characteristic" with [load.characteristic]: type, parameters

    [[generator]]              # name, bus, control; v and angle_deg (slack), p_mw and v (pv),
    name = "G1"                # p_mw and q_mvar (pq); q_min_mvar, q_max_mvar, rating_mva
    bus = 1
    control = "slack"
    v = 1.0

    [generator.machine]        # roles: machine or converter, exciter, governor, stabiliser,
    type = "ClassicalMachine"  # electrical_control, over_excitation_limiter, ...; type, name, parameters
    s_n = 100.0
    h = 5.0
    d = 0.0
    x_d1 = 0.3

    [[sequence]]               # element, and what it is to the negative and zero sequence
    element = "G1"
    x2 = 0.25
    x0 = 0.1

    [[relay]]                  # name, bus (whose voltage it measures), acts_on (a load, generator or line)
    name = "shed-2"
    bus = 2
    acts_on = "load2"

    [relay.device]             # type, parameters
    type = "UnderFrequencyShedding"
    set_1 = 49.0
    pickup_1 = 0.1
    shed_1 = 0.2

    [[area]]                   # number; name, schedule_mw (left out: that of the power flow), tolerance_mw
    number = 1

    [area.control]             # type, parameters; units take part by [generator.participation]
    type = "GenerationControl"
    bias = 18.0
    k_i = 0.02

Direct current: DC buses, the lines between them, and converters, each a load of the power flow that is made
of what its grid carries (`psmr.network.case.direct_current`)::

    [[dc_bus]]                 # name, base_kv; c_uf
    [[dc_line]]                # name, from, to (DC buses), r_ohm; l_mh, holds, vcmod_kv
    [dc_line.control]          # type = "CDC4T" or "CDC6T", its parameters
    [[dc_converter]]           # name, bus, dc_bus, i_rated_ka; v_kv, p_mw or i_ka; bridges, x_ohm, r_ohm,
                               # angle_deg of a line-commutated one; q_mvar, loss_mw, loss_kv of another
    [dc_converter.device]      # type = "Rectifier", "Inverter" or "VoltageSource", its parameters

Devices of a plant are wired by name: the exciter's ``v_f`` goes to the machine that reads ``v_f``. Unless
named, they are called G1, AVR1, GOV1, PSS1, EC1, PPC1 for the generator G1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from psmr.base.errors import CaseError, Mistakes, nearest, shown
from psmr.dae.declare.component import Component
from psmr.devices.catalogue import (
    AREA_ROLES,
    CODE,
    DC_ROLES,
    LOAD_ROLES,
    RELAY_ROLES,
    ROLES,
    SHUNT_ROLES,
    TRANSFORMER_ROLES,
    role_objection,
)
from psmr.devices.placement import placement
from psmr.devices.protection.relays import RideThrough, curves
from psmr.files.toml.code import read_code
from psmr.files.toml.document import Document, Field, Spec, read_document, specification
from psmr.files.toml.lines import Path as TablePath
from psmr.files.toml.region import PLACE, read_region
from psmr.files.user_components import NONE, UserComponents, load_user_components
from psmr.network.case.case import Case
from psmr.network.case.direct_current import converter_loads
from psmr.network.case.edit import CALLED
from psmr.network.case.tables import (
    AreaRow,
    BusRow,
    DcBusRow,
    DcConverterRow,
    DcLineRow,
    DeviceRow,
    GeneratorRow,
    LineRow,
    LoadRow,
    RelayRow,
    SequenceRow,
    ShuntRow,
    TransformerRow,
    device_name,
)

FORMAT, VERSION = "psmr-case", 1

ROWS: Mapping[str, tuple[str, type]] = {
    "bus": ("buses", BusRow),
    "line": ("lines", LineRow),
    "transformer": ("transformers", TransformerRow),
    "shunt": ("shunts", ShuntRow),
    "load": ("loads", LoadRow),
    "generator": ("generators", GeneratorRow),
    "relay": ("relays", RelayRow),
    "area": ("areas", AreaRow),
    "sequence": ("sequence", SequenceRow),
    "dc_bus": ("dc_buses", DcBusRow),
    "dc_line": ("dc_lines", DcLineRow),
    "dc_converter": ("dc_converters", DcConverterRow),
}
"""The tables, the part of the case that each fills, and its record."""

AREA_KEYS = {role.removeprefix("area_"): role for role in AREA_ROLES}
"""The tables below an area, by the role of what they have."""

_BESIDE: Mapping[str, Spec] = {
    "load": {"model": Field((str,)), **dict.fromkeys(LOAD_ROLES, Field((dict,)))},
    "shunt": dict.fromkeys(SHUNT_ROLES, Field((dict,))),
    "transformer": dict.fromkeys(TRANSFORMER_ROLES, Field((dict,))),
    "generator": {**dict.fromkeys(ROLES, Field((dict,))), CODE: Field((dict, list))},
    "relay": {"device": Field((dict,), needed=True)},
    "area": {key: Field((dict,)) for key in AREA_KEYS},
    "dc_line": {"control": Field((dict,))},
    "dc_converter": {"device": Field((dict,), needed=True)},
}
"""What a table has in place of its record's devices, and the short way to say the parts of a load."""

_OWN = ("where", "devices", "device", *LOAD_ROLES, *SHUNT_ROLES, *TRANSFORMER_ROLES, *AREA_ROLES)
_HEAD = specification(Case, without=("source", "dynamic", *(part for part, _ in ROWS.values())))
TABLES: Mapping[str, Spec] = {
    name: specification(row, without=_OWN, called=CALLED) | dict(_BESIDE.get(name, {}))
    for name, (_, row) in ROWS.items()
}
"""The fields of each table."""

NEEDED: Mapping[str, tuple[str, ...]] = {"slack": ("v",), "pv": ("p_mw", "v"), "pq": ("p_mw", "q_mvar")}
"""What a generator of each control must say."""

MODELS = {"impedance": (1.0, 0.0, 0.0), "current": (0.0, 1.0, 0.0), "power": (0.0, 0.0, 1.0)}
"""Loads of one part, as fractions of impedance, current and power."""

_LOAD_FIELDS = ("p_zip", "q_zip", "exponent_p", "exponent_q", *LOAD_ROLES)
_LOAD_MODELS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(MODELS, ()),
    "exponential": ("exponent_p", "exponent_q"),
    **{role: (role,) for role in LOAD_ROLES},
}


def read_toml(path: str | Path, mechanical: str | None = None, own: UserComponents = NONE) -> Case:
    """Return the case in a TOML file; `mechanical` stands in for what its head says.

    Components of the user's own are `own` and, where that allows it, those of the modules that the head
    names, beside the file.

    Raises
    ------
    CaseError
        For a file that cannot be read or is no TOML (with the line), for a missing, misspelt or mistyped
        field, and for everything that `Case` objects to; the message names file, line, table, field and
        value.
    """
    return case_of(read_document(path, CaseError, finite=False), mechanical, str(path), own)


def case_of(
    document: Document, mechanical: str | None = None, source: str = "", own: UserComponents = NONE
) -> Case:
    """Return the case in a document; see `read_toml`."""
    head = document.head(FORMAT, VERSION, _HEAD, (*ROWS, *PLACE))
    if mechanical:
        head["mechanical"] = mechanical
    given = head.get("modules", ())
    allowed = own.allow_code or set(given) <= set(own.modules)
    named = load_user_components(given, (document.path.parent,), document.where((), "modules"), allowed)
    head["modules"] = tuple(dict.fromkeys((*named.modules, *own.modules)))
    document = replace(document, own={**named.kinds, **own.kinds}, allow_code=own.allow_code)
    mistakes = Mistakes()
    rows: dict[str, Any] = {part: document.each(name, _row, mistakes) for name, (part, _) in ROWS.items()}
    dynamic = mistakes.attempt(read_region, document)
    mistakes.finish()
    rows["loads"] += converter_loads(rows["dc_buses"], rows["dc_lines"], rows["dc_converters"])
    return Case(**head, **rows, dynamic=dynamic, source=source)


def _row(document: Document, table: TablePath, given: Mapping[str, Any]) -> Any:
    name = str(table[0])
    values = document.values(table, given, TABLES[name])
    if name in _FINISH:
        values = _FINISH[name](document, table, values)
    return ROWS[name][1](**values, where=document.where(table))


def _load(document: Document, table: TablePath, row: dict[str, Any]) -> dict[str, Any]:
    model = row.pop("model", None)
    given = [key for key in _LOAD_FIELDS if key in row]
    if model is None and not set(given) & {"p_zip", "q_zip"}:
        known = " | ".join(map(repr, _LOAD_MODELS))
        words = f"model is missing; give model = {known}, or p_zip and q_zip = [impedance, current, power]"
        document.fail(words, table)
    if model is not None and model not in _LOAD_MODELS:
        right = f"{', '.join(_LOAD_MODELS)}{nearest(model, _LOAD_MODELS)}"
        document.fail(f"model = {shown(model)}: must be {right}", table, "model")
    needed = _LOAD_MODELS.get(model, ("p_zip", "q_zip"))
    what = f"model = {model!r}" if model else "a load by its parts"
    for key in needed:
        if key not in given:
            named = f"a table [load.{key}]" if key in LOAD_ROLES else " and ".join(needed)
            document.fail(f"{key} is missing; {what} needs {named}", table)
    for key in given:
        if key not in needed:
            document.fail(f"{key} has no place beside {what}; keep one of them", table, key)
    if model in MODELS:
        row["p_zip"] = row["q_zip"] = MODELS[model]
    for role in [key for key in row if key in LOAD_ROLES]:
        name = row.get("name", f"load{row['bus']}")
        row[role] = _device(document, table, role, LOAD_ROLES[role], row[role], name)
    return row


def _shunt(document: Document, table: TablePath, row: dict[str, Any]) -> dict[str, Any]:
    name = row.get("name", f"shunt{row['bus']}")
    made = {
        role: _device(document, table, role, kinds, row[role], device_name(name, role))
        for role, kinds in SHUNT_ROLES.items()
        if role in row
    }
    return row | made


def _transformer(document: Document, table: TablePath, row: dict[str, Any]) -> dict[str, Any]:
    suffix = "" if row.get("circuit", 1) == 1 else f"-{row['circuit']}"
    name = row.get("name", f"transformer{row['from_bus']}-{row['to_bus']}{suffix}")
    made = {
        role: _device(document, table, role, kinds, row[role], device_name(name, role))
        for role, kinds in TRANSFORMER_ROLES.items()
        if role in row
    }
    return row | made


def _device(
    document: Document,
    table: TablePath,
    role: str,
    kinds: Sequence[type[Component]],
    given: Mapping[str, Any],
    name: str,
    key: str = "",
) -> DeviceRow:
    """Return the device in a table below a generator, load, shunt or relay; `key` is its name there."""
    place: TablePath = (*table, key or role)
    if "type" not in given:
        known = ", ".join(component.__name__ for component in kinds)
        document.fail(f"type is missing; a {role} can be: {known}", place)
    words = ("type", "name") if role in (*ROLES, *TRANSFORMER_ROLES, "switching") else ("type",)
    texts = {key: value for key, value in given.items() if key in words}
    values = {"name": name} | document.values(place, texts, dict.fromkeys(words, Field((str,))))
    own = _own(document, place, role, kinds, values["type"])
    parameters = {key: value for key, value in given.items() if key not in words}
    # What the row says of a wrong parameter says more, but a whole number may be longer than it can take.
    whole = {key: value for key, value in parameters.items() if type(value) is int}
    parameters |= document.values(place, whole, dict.fromkeys(whole, Field((float,))))
    return DeviceRow(role=role, parameters=parameters, own=own, where=document.where(place), **values)


def _own(
    document: Document, place: TablePath, role: str, kinds: Sequence[type[Component]], name: str
) -> type[Component] | None:
    """Return the component of the user's own that a device's type names; None for one of psmr's."""
    own = document.own.get(name)
    if own is None:
        known = [kind.__name__ for kind in (*document.own.values(), *kinds) if placement(kind).role == role]
        if document.own and name not in known:
            words = f"type = {shown(name)}: there is no {role} of this name{nearest(name, known)}"
            document.fail(f"{words}; known: {', '.join(known)}", place, "type")
    elif not (declared := placement(own).role):
        document.fail(role_objection(own), place, "type")
    elif declared != role:
        words = f"type = {name!r}: is a {declared} (the role that its class declares) and no {role}"
        document.fail(words, place, "type")
    return own


def _generator(document: Document, table: TablePath, row: dict[str, Any]) -> dict[str, Any]:
    for key in NEEDED.get(row["control"], ()):
        if key not in row:
            document.fail(f"{key} is missing; control = {row['control']!r} needs it", table)
    devices = [
        _device(document, table, role, ROLES[role], row.pop(role), device_name(row["name"], role))
        for role in [key for key in row if key in ROLES]
    ]
    given = row.pop(CODE, ())
    for k, one in enumerate([given] if isinstance(given, dict) else given):
        place = (*table, CODE) if isinstance(given, dict) else (*table, CODE, k)
        name = device_name(row["name"], CODE) + (f"-{k + 1}" if k else "")
        devices.append(read_code(document, place, one, name))
    return row | {"devices": tuple(devices)}


def _relay(document: Document, table: TablePath, row: dict[str, Any]) -> dict[str, Any]:
    kinds, given = RELAY_ROLES["relay"], row["device"]
    if given.get("type") == RideThrough.__name__ and "curve" in given:
        given = _with_points(document, (*table, "device"), given)
    return row | {"device": _device(document, table, "relay", kinds, given, row["name"], "device")}


def _with_points(document: Document, place: TablePath, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is given of a ride-through relay with the points of the curve that it names."""
    points = {key: value for key, value in given.items() if key not in ("type", "curve")}
    if points:
        document.fail(
            f"curve and {next(iter(points))} are given; give the name of a curve or its points", place
        )
    name = document.values(place, {"curve": given["curve"]}, {"curve": Field((str,))})["curve"]
    if name not in curves():
        known = ", ".join(curves())
        words = f"curve = {shown(name)}: there is none of this name{nearest(name, curves())}"
        document.fail(f"{words}; known: {known}", place, "curve")
    return {"type": given["type"], **curves()[name]}


def _area(document: Document, table: TablePath, row: dict[str, Any]) -> dict[str, Any]:
    for key, role in AREA_KEYS.items():
        if key in row:
            given = row.pop(key)
            row[role] = _device(document, table, role, AREA_ROLES[role], given, role, key)
    return row


def _dc_line(document: Document, table: TablePath, row: dict[str, Any]) -> dict[str, Any]:
    if "control" not in row:
        return row
    kinds = DC_ROLES["dc_control"]
    given, name = row.pop("control"), f"{row['name']}-control"
    return row | {"device": _device(document, table, "dc_control", kinds, given, name, "control")}


def _dc_converter(document: Document, table: TablePath, row: dict[str, Any]) -> dict[str, Any]:
    kinds = DC_ROLES["dc_converter"]
    return row | {
        "device": _device(document, table, "dc_converter", kinds, row["device"], row["name"], "device")
    }


_FINISH: Mapping[str, Callable[[Document, TablePath, dict[str, Any]], dict[str, Any]]] = {
    "shunt": _shunt,
    "transformer": _transformer,
    "load": _load,
    "generator": _generator,
    "relay": _relay,
    "area": _area,
    "dc_line": _dc_line,
    "dc_converter": _dc_converter,
}
