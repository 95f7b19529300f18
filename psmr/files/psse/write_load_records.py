"""Write loads and relays as PSS/E DYR records: what `dyr_loads` and `dyr_relays` read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from psmr.devices.catalogue import component_named, defaults
from psmr.devices.protection import NO_VOLTAGE, STAGES
from psmr.files.psse.dyr_loads import THREE_PHASE
from psmr.files.psse.load_layout import COMPONENTS, RECORDS
from psmr.network.case.case import Case
from psmr.network.case.tables import LoadRow, RelayRow

Place = tuple[int, str]

CHARACTERISTICS = COMPONENTS["IEEL*"]


def load_records(
    case: Case, loads: Mapping[str, Place], units: Mapping[str, Place], lost: list[str]
) -> Iterator[str]:
    """Yield the records of loads with a model of their own, and of relays that read no current.

    Parameters
    ----------
    case
        The case.
    loads, units
        Bus and identifier of each load and generator, by its name.
    lost
        Takes what the records cannot keep.
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
    own = defaults(row.device.component) | dict(row.device.parameters)
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
    return model, [float(own.get(name.lstrip("-"), 0.0)) for name in RECORDS[model].split()]


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
    kind = row.device.component
    usual = defaults(kind)
    p = usual | dict(row.device.parameters)
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
