"""PSS/E DYR files: the rows of a network with what the records of the file say of their dynamics.

A record is ``bus 'MODEL' id values /`` and goes on over lines up to its slash; `psmr.files.psse.dyr_entries`
takes the file apart. A record of a plant belongs to the generator of this bus and identifier; those of
generators out of service are passed over. Source: Siemens PTI, PSS/E Program Operation Manual, dynamics data
input.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from psmr.base.errors import CaseError, Mistakes, warn
from psmr.dae.declare.component import Component
from psmr.devices.catalogue import LIMITER_ROLES, SOURCES, role_objection
from psmr.devices.governors.steam import IEEEG1CC
from psmr.devices.machines.textbook import InfiniteBus
from psmr.devices.placement import placement
from psmr.files.load_flow_rules import Rows
from psmr.files.psse.conventions import NO_MODELS, circuit_number, why_idle, with_defaults_for_zeros
from psmr.files.psse.dyr_direct_current import NO_LINES, DirectCurrentRecords
from psmr.files.psse.dyr_entries import (
    ALIASES,
    LIBRARY,
    DyrModels,
    DyrRecord,
    GeneratorUnit,
    Key,
    LoadUnit,
    entries,
    parameters,
    unwrapped,
)
from psmr.files.psse.dyr_loads import LoadRecords, StaticVarRecords
from psmr.files.psse.dyr_relays import RelayRecords
from psmr.files.psse.dyr_transformers import TransformerRecords
from psmr.files.psse.record import PsseRecord, name_part
from psmr.files.text import WINDOWS, read_text
from psmr.files.user_components import NONE, UserComponents
from psmr.network.case.tables import DeviceRow, device_name

_LEAVE = "leave it out with a warning (--skip-unknown-models)"

OF_SOURCE = {
    "machine": ("exciter", "governor", "stabiliser", "compensator", "shaft", *LIMITER_ROLES),
    "converter": (
        *("electrical_control", "plant_control", "torque_control", "pitch_control", "aerodynamics"),
        "drive_train",
    ),
}
"""What acts on a machine, and what on a converter: with the source of a plant that another takes the place of
go its controls."""

SECOND = 3
"""Place of the bus of a second machine in a record of IEEEG1."""


class _Skip:
    """Warns of each thing that is left out, or raises CaseError where that was not asked for.

    Records of unknown models are counted by model where they may not be left out: the first, and how many.
    `all_units` says whether every generator of the RAW file could be read.
    """

    def __init__(self, allowed: bool, all_units: bool) -> None:
        self.allowed, self.all_units = allowed, all_units
        self.unknown: dict[str, tuple[DyrRecord, int]] = {}

    def __call__(self, what: str, remedy: str) -> None:
        if not self.allowed:
            raise CaseError(f"{what}; {remedy}")
        warn(f"{what}; left out")


def with_dynamics(
    rows: Rows,
    path: str | Path,
    units: Mapping[Key, GeneratorUnit],
    loads: Sequence[LoadUnit],
    switched: Mapping[Key, str],
    frequency_hz: float,
    mistakes: Mistakes,
    skip_unknown_models: bool = False,
    net_unmodelled: bool = False,
    own: UserComponents = NONE,
    direct: DirectCurrentRecords = NO_LINES,
) -> Rows:
    """Return the rows of a case with the devices, loads, tap changers and relays of a DYR file.

    `rows` have every bus still by itself; `units` and `switched` are generators and names of switched shunts
    by bus and identifier; `mistakes` collects what is wrong with records; `direct`
    has the DC lines. With `skip_unknown_models` devices
    of an unknown model are left out, as user-written ones are in any case: a plant whose machine is left out
    keeps no controllers either, one whose exciter is left out no stabiliser. With `net_unmodelled` a
    generator without a machine stays, without devices. Raises CaseError where the file cannot be cut into
    records.
    """
    of_loads = LoadRecords(loads, mistakes, frequency_hz)
    branches, buses = [*rows["lines"], *rows["transformers"]], [row.number for row in rows["buses"]]
    relays = RelayRecords(loads, units, branches, buses, frequency_hz)
    systems, tap_changers = StaticVarRecords(switched), TransformerRecords(rows["transformers"])
    others = of_loads.takers() | relays.takers() | systems.takers() | tap_changers.takers() | direct.takers()
    kinds = own.kinds.values()
    skip, records = _Skip(skip_unknown_models, not mistakes.found), LIBRARY.with_own(kinds)
    bare = {kind.__name__.upper(): kind for kind in kinds if not placement(kind).role}
    found: dict[Key, dict[str, DeviceRow]] = {}
    displaced: dict[Key, DeviceRow] = {}
    for record in entries(str(path), read_text(path, WINDOWS), others):
        entry = mistakes.attempt(unwrapped, record)
        if entry is None:
            continue
        if entry.model in bare:
            mistakes.attempt(_refuse_bare, entry, bare[entry.model])
        elif entry.model in others:
            mistakes.attempt(others[entry.model], entry)
        else:
            mistakes.attempt(_place, entry, records, units, skip, found, displaced)
    for entry, count in skip.unknown.values():
        also = f" ({count} records of it)" if count > 1 else ""
        mistakes.attempt(entry.refuse, also)
    generators = []
    # What a record that could not be read was for is not known.
    for key, unit in units.items() if not mistakes.found else ():
        if unit.row is None:
            continue
        plant = found.get(key, {})
        if key in displaced:
            _without_its_controls(plant, displaced[key])
        if not (net_unmodelled or plant.keys() & set(SOURCES)):
            what = f"{unit.where}: {path} has no machine for generator {key[1]!r} at bus {key[0]}"
            remedy = "add its record, net it (--net-unmodelled), or put the generator out of service"
            mistakes.attempt(skip, what, remedy)
        _drop_what_acts_on_nothing(plant)
        generators.append(replace(unit.row, devices=tuple(plant.values())))
    return rows | {
        "generators": generators,
        "loads": of_loads.applied(rows["loads"]),
        "relays": relays.settled(mistakes) + of_loads.relays,
        "shunts": systems.applied(rows["shunts"]),
        "transformers": tap_changers.applied(rows["transformers"]),
        **direct.applied(),
    }


def _drop(plant: dict[str, DeviceRow], roles: Iterable[str], why: str) -> None:
    """Take the devices of some roles out of a plant, with a warning for each."""
    for role in [role for role in roles if role in plant]:
        lone = plant.pop(role)
        warn(f"{lone.where}: {lone.type}: {why}; left out")


def _drop_what_acts_on_nothing(plant: dict[str, DeviceRow]) -> None:
    if not plant.keys() & set(SOURCES):
        _drop(plant, tuple(plant), "has no machine")
    elif "machine" in plant and plant["machine"].type == InfiniteBus.__name__:
        others = [role for role in plant if role != "machine"]
        _drop(plant, others, "acts on an infinite bus (GENCLS with H = 0), which nothing moves")
    elif "exciter" not in plant:
        _drop(plant, ("stabiliser", *LIMITER_ROLES), "its generator has no exciter")
    if "drive_train" not in plant:
        why = "turns nothing: its plant has no drive train, and the speed of the generator stays at 1"
        _drop(plant, ("pitch_control", "aerodynamics"), why)


def _without_its_controls(plant: dict[str, DeviceRow], earlier: DeviceRow) -> None:
    """Take the controls of a converter out of the plant of a machine that counts in its place, or the others.

    An induction generator has a drive train, too: it takes no torque of a governor.
    """
    source = next(plant[role] for role in SOURCES if role in plant)
    if source.role == earlier.role or (source.role == "machine" and "t_m" not in source.component.inputs):
        return
    why = f"acts on the {earlier.type}, in whose place the {source.type} counts"
    _drop(plant, OF_SOURCE[earlier.role], why)


def _refuse_bare(entry: DyrRecord, kind: type[Component]) -> None:
    """Raise CaseError for a component of the user's own that does not say what it is."""
    raise CaseError(f"{entry.where}: {role_objection(kind)}")


def _place(
    entry: DyrRecord,
    records: DyrModels,
    units: Mapping[Key, GeneratorUnit],
    skip: _Skip,
    found: dict[Key, dict[str, DeviceRow]],
    displaced: dict[Key, DeviceRow],
) -> None:
    """Add the device of a record to the plant that it belongs to."""
    placed = _device(entry, records, units, skip)
    if placed is None:
        return
    key, device = placed
    plant = found.setdefault(key, {})
    rivals = SOURCES if device.role in SOURCES else (device.role,)
    earlier = next((plant.pop(role) for role in rivals if role in plant), None)
    if earlier is not None:
        displaced |= {key: earlier} if earlier.role in SOURCES else {}
        line = device.where.rpartition(":")[2]
        what = f"the {device.type} of line {line} is the {device.role} of this generator as well and counts"
        warn(f"{earlier.where}: {earlier.type}: {what}; left out")
    plant[device.role] = device


def _device(
    entry: DyrRecord, records: DyrModels, units: Mapping[Key, GeneratorUnit], skip: _Skip
) -> tuple[Key, DeviceRow] | None:
    """Return the device of a record and whose it is; None where it is left out."""
    head = entry.head()
    model = entry.model
    if not model:
        skip(f"{entry.where}: must be a record: bus 'MODEL' id values /", _LEAVE)
        return None
    if model in NO_MODELS:
        warn(f"{entry.where}: {model}: {NO_MODELS[model]}; left out")
        return None
    known = None if model in ALIASES else records.component_for(model)
    if known is None and not skip.allowed and not model.startswith("USR"):
        first, count = skip.unknown.get(entry.name, (entry, 0))
        skip.unknown[entry.name] = first, count + 1
        return None
    if known is None:
        warn(f"{entry.where}: psmr has no model {entry.name}; {entry.consequence}; left out")
        return None
    bus, ident = head.bus("bus"), name_part(head.text("id", "1"))
    unit = units.get((bus, ident))
    if unit is None and not skip.all_units:
        return None
    if unit is None:
        there = ", ".join(repr(i) for b, i in units if b == bus) or "none"
        what = f"there is no generator {ident!r} at bus {bus} in the RAW file (at this bus: {there})"
        warn(f"{entry.where}: {model}: {what}; left out")
        return None
    own = model in records.own
    second = entry.words[SECOND][1] if len(entry.words) > SECOND else ""
    if model == "IEEEG1" and not own and second.strip("0.") != "":
        model = IEEEG1CC.__name__
        known = "governor", IEEEG1CC
    values = _values(entry, model, records, skip, units)
    if unit.row is None or values is None:
        return None
    if unit.stepped:
        what = f"{unit.where}: has a step-up transformer of its own (XT), which psmr does not model"
        skip(what, f"make it a transformer, or {_LEAVE}")
    role, component = known
    if model == "GENCLS" and not own and values["h"] == 0:
        if values["d"]:
            what = f"D = {values['d']:g} without effect: H = 0 makes it an infinite bus"
            warn(f"{entry.where}: {model}: {what}")
        component, values = InfiniteBus, {}
    values |= {name: 0.0 for name in placement(component).buses if values.get(name) == bus}
    given = parameters(component, values, unit.mbase, unit.zr, unit.zx)
    if math.isnan(given.get("x_d1", given.get("x_e", 0.0))):
        raise CaseError(
            f"{entry.where}: {model}: its reactance is ZX of a RAW file, which {unit.where} has not; convert"
            " the network to RAW and give ZX there, or take a model with reactances of its own"
        )
    if not own and (why := why_idle(role, given)):
        warn(f"{entry.where}: {model}: {why}; left out")
        return None
    given, notes = (given, []) if own else with_defaults_for_zeros(model, given)
    for note in notes:
        warn(f"{entry.where}: {model}: {note}")
    name = device_name(unit.row.name, role)
    kind = component.__name__
    return (bus, ident), DeviceRow(name, role, kind, given, component if own else None, where=entry.where)


def _place_of(record: PsseRecord, bus: float, units: Mapping[Key, GeneratorUnit]) -> float:
    """Return the place of a machine among those in service at a bus, given by its identifier."""
    there = [ident for (at, ident), unit in units.items() if at == bus and unit.row is not None]
    ident = name_part(record.text("unit2", "1"))
    if ident not in there:
        known = ", ".join(map(repr, there)) or "none"
        raise record.error(
            "unit2", f"there is no generator in service with it at bus {bus:g} (there: {known})"
        )
    return there.index(ident) + 1.0


def _values(
    entry: DyrRecord, model: str, records: DyrModels, skip: _Skip, units: Mapping[Key, GeneratorUnit]
) -> dict[str, float] | None:
    """Return the values of a record by the names of its parameters; None where it is left out."""
    words = entry.words[3:]
    names = records.names_of(model, len(words))
    entry.check_count(len(words), names, model)
    values: dict[str, float] = {}
    for name, (line, word) in zip(names, words, strict=True):
        if name.startswith("-"):
            continue
        name, _, fixed = name.partition("=")
        record = PsseRecord(entry.path, line, model, (name,), (word,))
        if name == "circuit":
            value = float(circuit_number(word))
        elif name == "unit2":
            value = _place_of(record, values["bus2"], units)
        else:
            value = record.real(name)
        if not fixed:
            values[name] = value
        elif value != float(fixed):
            what = str(record.error(name, f"psmr has this model only with {fixed}"))
            skip(what, f"take it out, or {_LEAVE}")
            return None
    return values
