"""Write plants, loads and relays as PSS/E DYR records: what `dyr`, `dyr_loads` and `dyr_relays` read."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from psmr.base.errors import CaseError
from psmr.devices.catalogue import component_named, defaults
from psmr.devices.machines.textbook import InfiniteBus
from psmr.devices.protection.line_relays import ZONES
from psmr.devices.protection.overcurrent import POINTS
from psmr.devices.protection.relays import NO_VOLTAGE, STAGES
from psmr.files.psse.dyr_entries import (
    ALIASES,
    LOAD_COMPONENTS,
    LOAD_RECORDS,
    MODELS,
    component_for,
    parameters,
)
from psmr.files.psse.dyr_loads import THREE_PHASE
from psmr.files.psse.dyr_relays import KINDS, MHO, MONITORS
from psmr.network.case.case import Case
from psmr.network.case.tables import DeviceRow, LoadRow, RelayRow


def dyr_text(case: Case, units: Mapping[str, tuple[int, str]]) -> str:
    """Return the records of all plants' devices, empty where there are none.

    `units`: bus and identifier of each generator, by its name. Raises CaseError naming every device that
    PSS/E has no model of, or whose parameters its record has no place for.
    """
    records, wrong = [], []
    for generator in case.generators:
        bus, ident = units[generator.name]
        for device in generator.devices:
            try:
                model, values = _record(device)
            except CaseError as error:
                wrong.append(str(error))
                continue
            words: list[Any] = list(values)
            if model in ALIASES:
                bus2, place = (int(device.parameters[name]) for name in ("bus2", "unit2"))
                machines = [units[row.name][1] for row in case.generators if row.bus == bus2]
                model, words[1] = ALIASES[model], machines[place - 1]  # of a turbine's second machine
            records.append(_line(bus, model, ident, *words))
    if wrong:
        raise CaseError("; ".join(wrong) + "; keep the case as .toml, or choose other models")
    return "".join(records)


def _record(device: DeviceRow) -> tuple[str, list[float]]:
    """Return a device's model and the values of its record."""
    if device.type == InfiniteBus.__name__:
        return "GENCLS", [0.0, 0.0]
    wrong = f"{device.place}: PSS/E has no model of {device.type}"
    for model in _MODELS_OF.get(device.type, ()):
        try:
            return model, _values(device, model)
        except CaseError as error:
            wrong = str(error)
    raise CaseError(wrong)


def _values(device: DeviceRow, model: str) -> list[float]:
    """Return the values of a device's record; a CaseError says what has no place in it."""
    component = component_for(model)[1]  # type: ignore[index]
    own = defaults(component) | dict(device.parameters)
    values: dict[str, float] = {}
    written: list[float] = []
    for name in MODELS[model].split():
        plain, _, fixed = name.partition("=")
        idle = name.startswith("-")
        value = float(fixed) if fixed else 0.0 if idle else _value(plain, own)
        written.append(value)
        if not idle and not fixed:
            values[plain] = value
    # Read back: what the record has no place for would be lost.
    zr, zx = own.get("r_a", own.get("r_e", 0.0)), own.get("x_d1", own.get("x_e", 0.0))
    back = defaults(component) | parameters(component, values, own.get("s_n", 0.0), zr, zx)
    for name, value in own.items():
        if not math.isclose(back[name], value, rel_tol=1e-12):
            raise CaseError(
                f"{device.place}: {name} = {value:g}: a record of {model} makes it {back[name]:g}"
            )
    return written


def _value(name: str, own: Mapping[str, float]) -> float:
    """Return a value of a record from the component's parameters, the inverse of `psse_models.parameters`."""
    if name == "ta_tb":
        return own["t_a"] / own["t_b"] if own["t_b"] else 0.0
    if name.endswith("_deg"):
        return math.degrees(own[name.removesuffix("_deg")])
    return own[name]


_MODELS_OF: dict[str, list[str]] = {}
"""The models of each component, those declared last first."""
for _model in reversed(tuple(MODELS)):
    if _found := component_for(_model):
        _MODELS_OF.setdefault(_found[1].__name__, []).append(_model)


TRANSFERS = 3
"""Other branches that a record opens."""

_OPERATES = 1 - MONITORS
_BREAKER = ("breaker", "dead_time")

_DISTANCE, (_OPENS, _SHEDS) = KINDS["DISTR1"][0], KINDS["TIOCR1"]
_MODELS = {_DISTANCE: "DISTR1", _OPENS: "TIOCR1"}

Ends = tuple[int, int, str]


@dataclass
class _RelayRecord:
    """The relays of one record: that of its own branch, those of others, that which sheds load."""

    own: RelayRow
    transfers: list[RelayRow] = field(default_factory=list)
    sheds: RelayRow | None = None


def branch_relay_records(
    case: Case, ends: Mapping[str, Ends], loads: Mapping[str, tuple[int, str]], lost: list[str]
) -> Iterator[str]:
    """Yield the records of the relays of branches.

    `ends`: buses and circuit of each branch, by its name; `loads`: bus and identifier of each load, by its
    name; `lost`: takes the relays that no record keeps.
    """
    slots: Counter[tuple[int, str]] = Counter()
    for record in _grouped(case.relays, loads, lost):
        own = record.own
        slots[own.bus, own.acts_on] += 1
        i, j, circuit = ends[own.acts_on]
        head = [j if own.bus == i else i, circuit, slots[own.bus, own.acts_on]]
        transfers: list[Any] = []
        for k in range(TRANSFERS):
            other = record.transfers[k].acts_on if k < len(record.transfers) else ""
            transfers += ends[other] if other else (0, 0, "")
        model = _MODELS[own.device.type]
        if model == "DISTR1":
            words = [*head, MHO, _OPERATES, *transfers, *_zones(record, case.frequency_hz)]
        else:
            load = (0, "") if record.sheds is None else loads[record.sheds.acts_on]
            words = [*head, _OPERATES, *load, *transfers, *_points(record)]
        yield _line(own.bus, model, *words)


def _grouped(
    rows: Sequence[RelayRow], loads: Mapping[str, tuple[int, str]], lost: list[str]
) -> list[_RelayRecord]:
    """Return the records that relays make: one each that opens its own branch, and what goes with it."""
    found: list[_RelayRecord] = []
    for row in rows:
        if row.branch == row.acts_on and row.device.type in _MODELS and _kept(row):
            found.append(_RelayRecord(row))
        elif row.branch:
            joined = next((record for record in found if _joins(row, record, loads)), None)
            if joined is None:
                lost.append(f"{row.name}, a relay")
            elif row.device.type == _SHEDS:
                joined.sheds = row
            else:
                joined.transfers.append(row)
    return found


def _kept(row: RelayRow) -> bool:
    """Say whether a record has a place for how a relay opens its branch."""
    p = row.device.values
    distance = row.device.type == _DISTANCE
    return p["both"] == 1 and (p["shots"] == 1 or not p["dead_time"]) and (distance or not p["dead_time"])


def _joins(row: RelayRow, record: _RelayRecord, loads: Mapping[str, tuple[int, str]]) -> bool:
    """Say whether a relay is a transfer trip, or the shedding, of a record's own relay."""
    own, mine, theirs = record.own, _measuring(row), _measuring(record.own)
    if (row.bus, row.branch) != (own.bus, own.acts_on) or mine != theirs:
        return False
    if row.device.type == _SHEDS:
        return (
            record.sheds is None
            and row.acts_on in loads
            and row.device.values["breaker"] == own.device.values["breaker"]
        )
    alike = record.transfers[0] if record.transfers else own if own.device.type == _OPENS else row
    same = all(row.device.values[name] == alike.device.values[name] for name in _BREAKER)
    return row.device.type == own.device.type and _kept(row) and same and len(record.transfers) < TRANSFERS


def _measuring(row: RelayRow) -> dict[str, float]:
    """Return the parameters that say when a relay picks up."""
    apart = (*_BREAKER, "both", "shots", "part")
    return {name: value for name, value in row.device.values.items() if name not in apart}


def _zones(record: _RelayRecord, frequency_hz: float) -> Iterator[float]:
    """Yield the values of a DISTR1 after its transfers; times in cycles, no blinders."""
    p = record.own.device.values
    for k in range(1, ZONES + 1):
        reach, offset = p[f"reach_{k}"], p[f"offset_{k}"]
        yield from (p[f"delay_{k}"] * frequency_hz, reach, p["angle"] + p[f"turn_{k}"], offset + reach / 2)
    yield from (0.0, p["i_min"])
    for row in (record.own, record.transfers[0] if record.transfers else record.own):
        yield from (row.device.values[name] * frequency_hz for name in _BREAKER)
    yield from (0.0,) * 6


def _points(record: _RelayRecord) -> Iterator[float]:
    """Yield the values of a TIOCR1 after its transfers."""
    p = record.own.device.values
    yield from (p["i_set"], p["t_reset"])
    for k in range(1, POINTS + 1):
        yield from (p[f"multiple_{k}"], p[f"time_{k}"])
    yield from (p["breaker"], 0.0 if record.sheds is None else record.sheds.device.values["part"])


Place = tuple[int, str]

CHARACTERISTICS = LOAD_COMPONENTS["IEEL*"]


def load_records(
    case: Case, loads: Mapping[str, Place], units: Mapping[str, Place], lost: list[str]
) -> Iterator[str]:
    """Yield the records of loads with a model of their own, and of relays that read no current.

    `loads`, `units`: bus and identifier of each load and generator, by its name; `lost`: takes what the
    records cannot keep.
    """
    dropping = {row.acts_on: row for row in case.relays if _drops_a_motor(case, row)}
    for row in case.loads:
        if row.device is None and not row.exponential:
            continue
        bus, ident = loads[row.name]
        model, values = _load(row, dropping.get(row.name), case.frequency_hz, lost)
        yield _line(bus, f"{model.replace('*', 'BL')}", ident, *values)
    for relay in case.relays:
        if relay in dropping.values() or relay.branch:
            continue
        found = _relay(relay, loads, units)
        if found is None:
            lost.append(f"{relay.name}, a relay")
        else:
            yield found


def _line(number: int, model: str, *rest: Any) -> str:
    words = (f"'{word}'" if isinstance(word, str) else repr(word) for word in rest)
    return f"{number} '{model}' {' '.join(words)} /\n"


def _load(row: LoadRow, relay: RelayRow | None, hertz: float, lost: list[str]) -> tuple[str, list[float]]:
    """Return the model of a load, with a star for whom it is for, and the values of its record."""
    if row.device is None:
        own = defaults(component_named("characteristic", CHARACTERISTICS[0]))
        return _valued("IEEL*", own | {"n_1": row.exponent_p, "n_4": row.exponent_q})
    kind = row.device.type
    own = row.device.values
    if kind in CHARACTERISTICS:
        start = defaults(component_named("characteristic", kind))
        lost += [
            f"{row.name}: {name} = {own[name]:g}"
            for name in ("v_min", "t_f")
            if own.get(name) != start.get(name)
        ]
        return _valued("IEEL*", own)
    if kind == "CMLD":
        start = defaults(component_named("composite", kind))
        lost += [f"{row.name}: {name} = {own[name]:g}" for name in ("v_z", "t_y") if own[name] != start[name]]
        return _valued("CMLD*U2", own | {f"mtyp_{k}": float(THREE_PHASE) for k in "abc"})
    if kind == "InductionMotor":
        # The same circuit and torque under other names.
        lost.append(f"{row.name}: InductionMotor becomes CIM6")
        own |= {"circuit": 1.0, "r_1": own["r_r"], "x_1": own["x_r"], "r_2": 0.0, "x_2": 0.0}
        own |= {"a": own["torque_a"], "b": own["torque_b"], "d": 0.0, "e": 0.0}
        own["c_0"] = 1.0 - own["torque_a"] - own["torque_b"]
        kind = "CIM6"
    times = relay.device.parameters if relay is not None else {"low": 0.0, "pickup": 0.0, "breaker": 0.0}
    own |= dict.fromkeys(("E1", "SE1", "E2", "SE2", "PMULT", "Tnom"), 0.0) | {"MBASE": own["s_n"]}
    own |= {"VI": times["low"], "TI": times["pickup"] * hertz, "TB": times["breaker"] * hertz}
    return _valued(f"{kind}*", own)


def _valued(model: str, own: Mapping[str, Any]) -> tuple[str, list[float]]:
    return model, [float(own.get(name.lstrip("-"), 0.0)) for name in LOAD_RECORDS[model].split()]


def _drops_a_motor(case: Case, row: RelayRow) -> bool:
    """Say whether a relay is the one that a motor's record has."""
    load = next((load for load in case.loads if load.name == row.acts_on), None)
    return (
        load is not None
        and load.motor is not None
        and row.device.type == "VoltageTrip"
        and row.device.parameters["high"] >= NO_VOLTAGE
        and row.bus == load.bus
    )


def _relay(row: RelayRow, loads: Mapping[str, Place], units: Mapping[str, Place]) -> str | None:
    """Return the record of a relay; None where no record keeps it."""
    usual, p = defaults(row.device.component), row.device.values
    if row.acts_on in units:
        if p.get("t_f") != usual.get("t_f"):
            return None
        model = {"FrequencyTrip": "FRQTPAT", "VoltageTrip": "VTGTPAT"}[row.device.type]
        bus, ident = units[row.acts_on]
        return _line(bus, model, row.bus, bus, ident, p["low"], p["high"], p["pickup"], p["breaker"])
    if row.acts_on not in loads or "set_1" not in p:
        return None
    bus, ident = loads[row.acts_on]
    used = [k for k in range(1, STAGES + 1) if p[f"set_{k}"]]
    stages = [[p[f"{name}_{k}"] for name in ("set", "pickup", "shed")] for k in used]
    breakers = [p[f"breaker_{k}"] for k in used]
    alike = len(set(breakers)) == 1
    if row.device.type == "UnderVoltageShedding":
        if not alike or len(stages) > 3:
            if row.bus != bus or len(stages) > 5:
                return None
            own = _with_breakers(stages, breakers)
            return _line(bus, "LVS3BL", ident, 0, 0, "0", 0, 0, "0", 0, *_filled(own, 5), 0.0, 0.0)
        return _line(bus, "LVSHBL", ident, row.bus, *_filled(stages, 3), breakers[0])
    if row.bus != bus:
        return None
    if alike and (p["t_f"] != usual["t_f"] or len(stages) > 5):
        return _line(bus, "UFLSBL", ident, p["t_f"], breakers[0], *_filled(stages, len(stages)))
    if p["t_f"] != usual["t_f"] or len(stages) > 5:
        return None
    if alike and len(stages) <= 3:
        return _line(bus, "LDSHBL", ident, *_filled(stages, 3), breakers[0])
    return _line(bus, "LDS3BL", ident, 0, "1", 0, *_filled(_with_breakers(stages, breakers), 5), 0.0)


def _with_breakers(stages: Sequence[Sequence[float]], breakers: Sequence[float]) -> list[list[float]]:
    """Return set value, pick-up time, breaker time and part of each stage."""
    rows = zip(stages, breakers, strict=True)
    return [[level, wait, breaker, part] for (level, wait, part), breaker in rows]


def _filled(stages: Sequence[Sequence[float]], count: int) -> list[float]:
    """Return the values of stages one after the other, zeros for those that are not there."""
    width = len(stages[0])
    return [float(value) for stage in stages for value in stage] + [0.0] * (width * (count - len(stages)))
