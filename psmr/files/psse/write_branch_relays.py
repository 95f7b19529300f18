"""Write relays of branches as PSS/E DYR records, DISTR1 and TIOCR1: what `dyr_branch_relays` reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from psmr.devices.catalogue import defaults
from psmr.devices.protection.distance import ZONES
from psmr.devices.protection.overcurrent import POINTS
from psmr.files.psse.dyr_branch_relays import KINDS, MHO, MONITORS
from psmr.network.case.case import Case
from psmr.network.case.tables import RelayRow

TRANSFERS = 3
"""Other branches that a record opens."""

_OPERATES = 1 - MONITORS
_BREAKER = ("breaker", "dead_time")

_DISTANCE, (_OPENS, _SHEDS) = KINDS["DISTR1"][0], KINDS["TIOCR1"]
_MODELS = {_DISTANCE: "DISTR1", _OPENS: "TIOCR1"}

Ends = tuple[int, int, str]


@dataclass(frozen=True)
class _Record:
    """The relays of one record: that of its own branch, those of others, that which sheds load."""

    own: RelayRow
    transfers: tuple[RelayRow, ...] = ()
    sheds: RelayRow | None = None


def branch_relay_records(
    case: Case, ends: Mapping[str, Ends], loads: Mapping[str, tuple[int, str]], lost: list[str]
) -> Iterator[str]:
    """Yield the records of the relays of branches.

    Parameters
    ----------
    case
        The case.
    ends
        Buses and circuit of each branch, by its name.
    loads
        Bus and identifier of each load, by its name.
    lost
        Takes the relays that no record keeps.
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
        text = " ".join(f"'{word}'" if isinstance(word, str) else repr(word) for word in words)
        yield f"{own.bus} '{model}' {text} /\n"


def _grouped(
    rows: Sequence[RelayRow], loads: Mapping[str, tuple[int, str]], lost: list[str]
) -> list[_Record]:
    """Return the records that relays make: one each that opens its own branch, and what goes with it."""
    found: list[_Record] = []
    for row in rows:
        if row.branch == row.acts_on and row.device.type in _MODELS and _kept(row):
            found.append(_Record(row))
        elif row.branch:
            place = next((k for k, record in enumerate(found) if _joins(row, record, loads)), None)
            if place is None:
                lost.append(f"{row.name}, a relay")
            elif row.device.type == _SHEDS:
                found[place] = replace(found[place], sheds=row)
            else:
                found[place] = replace(found[place], transfers=(*found[place].transfers, row))
    return found


def _kept(row: RelayRow) -> bool:
    """Say whether a record has a place for how a relay opens its branch."""
    p = _full(row)
    distance = row.device.type == _DISTANCE
    return p["both"] == 1 and (p["shots"] == 1 or not p["dead_time"]) and (distance or not p["dead_time"])


def _joins(row: RelayRow, record: _Record, loads: Mapping[str, tuple[int, str]]) -> bool:
    """Say whether a relay is a transfer trip, or the shedding, of a record's own relay."""
    own, mine, theirs = record.own, _measuring(row), _measuring(record.own)
    if (row.bus, row.branch) != (own.bus, own.acts_on) or mine != theirs:
        return False
    if row.device.type == _SHEDS:
        return (
            record.sheds is None and row.acts_on in loads and _full(row)["breaker"] == _full(own)["breaker"]
        )
    alike = record.transfers[0] if record.transfers else own if own.device.type == _OPENS else row
    same = all(_full(row)[name] == _full(alike)[name] for name in _BREAKER)
    return row.device.type == own.device.type and _kept(row) and same and len(record.transfers) < TRANSFERS


def _full(row: RelayRow) -> dict[str, float]:
    return defaults(row.device.component) | dict(row.device.parameters)


def _measuring(row: RelayRow) -> dict[str, float]:
    """Return the parameters that say when a relay picks up."""
    apart = (*_BREAKER, "both", "shots", "part")
    return {name: value for name, value in _full(row).items() if name not in apart}


def _zones(record: _Record, frequency_hz: float) -> Iterator[float]:
    """Yield the values of a DISTR1 after its transfers; times in cycles, no blinders."""
    p = _full(record.own)
    for k in range(1, ZONES + 1):
        reach, offset = p[f"reach_{k}"], p[f"offset_{k}"]
        yield from (p[f"delay_{k}"] * frequency_hz, reach, p["angle"] + p[f"turn_{k}"], offset + reach / 2)
    yield from (0.0, p["i_min"])
    for row in (record.own, record.transfers[0] if record.transfers else record.own):
        yield from (_full(row)[name] * frequency_hz for name in _BREAKER)
    yield from (0.0,) * 6


def _points(record: _Record) -> Iterator[float]:
    """Yield the values of a TIOCR1 after its transfers."""
    p = _full(record.own)
    yield from (p["i_set"], p["t_reset"])
    for k in range(1, POINTS + 1):
        yield from (p[f"multiple_{k}"], p[f"time_{k}"])
    yield from (p["breaker"], 0.0 if record.sheds is None else _full(record.sheds)["part"])
