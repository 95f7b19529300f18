"""Relay records of branches in a PSS/E DYR file: DISTR1 and TIOCR1.

======== ================================== ============================================================
record   head                               values
======== ================================== ============================================================
DISTR1   bus, model, other bus, circuit,    time, reach, angle and centre of zones 1 to 3; angle of the
         slot, type, monitor; from bus, to  directional unit; threshold current; breaker and reclosing
         bus and circuit of three transfer  times of the own trip, then of the transfer trips; type,
         trips                              intercept and rotation of two blinders
TIOCR1   bus, model, other bus, circuit,    threshold current, reset time; multiple of the threshold and
         slot, monitor; bus and load to     time at five points; breaker time; part of the load
         shed; three transfer trips
======== ================================== ============================================================

Times of DISTR1 are in cycles, those of TIOCR1 in s; currents and impedances per unit on the system base. Both
open a branch at both of its ends. A zone of DISTR1 of type 1 (mho) is the circle of the diameter `reach`
about its centre. Sources: PSS/E, Model Library; for the order of the values and the circle GridPACK's parser
and its model of DISTR1; for what the values of both are the help of PowerWorld; for the order of TIOCR1 the
public text "Relays in PSSE" of its data sheet.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from psmr.base.errors import CaseError, PsmrWarning
from psmr.devices.protection.distance import ZONES, within
from psmr.devices.protection.overcurrent import POINTS
from psmr.files.psse.conventions import circuit_number
from psmr.files.psse.dyr_loads import LoadUnit, leave_out, no_load
from psmr.files.psse.record import PsseRecord, name_part
from psmr.network.case.tables import BranchRow

if TYPE_CHECKING:
    from psmr.files.psse.entries import Entry

TRANSFERS = tuple(f"{name}{k}" for k in (1, 2, 3) for name in ("IBUS", "JBUS", "CKT"))

DISTR1 = (
    "JBUS",
    "ID",
    "RS",
    "TYPE",
    "MON",
    *TRANSFERS,
    *(f"{name}{k}" for k in range(1, ZONES + 1) for name in ("T", "REACH", "ANG", "CENTER")),
    "DIRANG",
    "ITHRESH",
    "TSELF",
    "TSELFREC",
    "TTRANS",
    "TTRANSREC",
    *(f"{name}{k}" for k in (1, 2) for name in ("BLTYPE", "BLINT", "BLROT")),
)
TIOCR1 = (
    "JBUS",
    "ID",
    "RS",
    "MON",
    "LBUS",
    "LDID",
    *TRANSFERS,
    "THR",
    "T0",
    *(f"{name}{k}" for k in range(1, POINTS + 1) for name in ("CUR", "T")),
    "TB",
    "FRAC",
)
LAYOUTS = {"DISTR1": DISTR1, "TIOCR1": TIOCR1}
KINDS = {"DISTR1": ("DistanceRelay",), "TIOCR1": ("TimeCurrentRelay", "TimeCurrentShedding")}
"""Model to the component that opens branches, and the one that sheds load."""

MHO, MONITORS = 1, 0


@dataclass(frozen=True)
class Found:
    """A relay that a record is: its component, where it measures what, what it acts on, its parameters."""

    kind: str
    bus: int
    measures: str
    acts_on: str
    values: Mapping[str, float]


def branch_relays(
    entry: Entry, branches: Sequence[BranchRow], loads: Sequence[LoadUnit], frequency_hz: float
) -> Iterator[Found]:
    """Yield what a record is: a relay of its branch, one for each other branch that it opens, and of a load.

    Raises
    ------
    CaseError
        For a form that psmr does not have.

    Warns
    -----
    PsmrWarning
        For a record that is left out (it only monitors, or its branch is not in the RAW file), and for
        another branch or a load that is not there.
    """
    names, words = LAYOUTS[entry.model], [entry.words[0], *entry.words[2:]]
    if len(words) - 1 != len(names):
        raise CaseError(
            f"{entry.where}: {entry.model}: has {len(words) - 1} values; must have {len(names)}:"
            f" {' '.join(names)}; does the record end with a slash?"
        )
    lines = [line for line, _ in words]
    record = PsseRecord(entry.path, lines[0], entry.model, ("I", *names), [word for _, word in words])
    bus = record.bus("I")
    own = _branch(branches, bus, record.bus("JBUS"), record.text("ID"))
    if own is None:
        leave_out(entry, f"there is no branch {_named(record, 'I', 'JBUS', 'ID')} in the RAW file")
        return
    if record.one_of("MON", (MONITORS, 1), 1) == MONITORS:
        leave_out(entry, "only monitors (its monitor and operate flag is 0), and opens nothing")
        return
    distance = entry.model == "DISTR1"
    if distance and not any(record.real(f"REACH{k}") for k in range(1, ZONES + 1)):
        leave_out(entry, "has no zone (every reach is 0)")
        return
    values = _zones(record, frequency_hz) if distance else _points(record)
    trip, transfer = _breakers(record, frequency_hz) if distance else ({"breaker": record.real("TB")},) * 2
    kind = KINDS[entry.model][0]
    yield Found(kind, bus, own.name, own.name, {**values, **trip, "both": 1.0})
    opened = {own.name}
    for k in (1, 2, 3):
        ends = f"IBUS{k}", f"JBUS{k}", f"CKT{k}"
        if not record.whole(ends[0], 0):
            continue
        other = _branch(branches, record.bus(ends[0]), record.bus(ends[1]), record.text(ends[2], "1"))
        if other is None:
            named = _named(record, *ends)
            leave_out(entry, f"transfer trip {k}: there is no branch {named} in the RAW file")
        elif other.name not in opened:
            opened.add(other.name)
            yield Found(kind, bus, own.name, other.name, {**values, **transfer, "both": 1.0})
    if not distance and record.real("FRAC"):
        for row in _load(entry, record, loads):
            shed = {"breaker": record.real("TB"), "part": record.real("FRAC")}
            yield Found(KINDS[entry.model][1], bus, own.name, row, {**values, **shed})


def _zones(record: PsseRecord, frequency_hz: float) -> dict[str, float]:
    """Return the zones of a DISTR1 that ever act, and the current below which it does not."""
    if record.real("TYPE") != MHO:
        raise record.error(
            "TYPE", "psmr has zones of type 1 (mho) only; public texts do not say how 2 and 3 are directed"
        )
    found = {"i_min": record.real("ITHRESH"), "angle": record.real("ANG1") % 360 or 360.0}
    for k in range(1, ZONES + 1):
        reach = record.real(f"REACH{k}")
        found |= {
            f"reach_{k}": reach,
            f"offset_{k}": record.real(f"CENTER{k}") - reach / 2,
            f"turn_{k}": record.real(f"ANG{k}") - record.real("ANG1"),
            f"delay_{k}": record.real(f"T{k}") / frequency_hz,
        }
    for k in range(2, ZONES + 1):
        if any(found[f"reach_{j}"] and within(found, k, j) for j in range(1, k)):
            found[f"reach_{k}"] = 0.0
    far = max(abs(found[f"offset_{k}"]) + found[f"reach_{k}"] for k in range(1, ZONES + 1))
    for k in (1, 2):
        beyond = abs(record.real(f"BLINT{k}") * math.sin(math.radians(record.real(f"BLROT{k}"))))
        if record.real(f"BLTYPE{k}") and beyond <= far:
            right = f"psmr has no blinders; take it out (type 0), or give it an intercept beyond {far:g} pu"
            raise record.error(f"BLINT{k}", right)
    return found


def _breakers(record: PsseRecord, frequency_hz: float) -> tuple[dict[str, float], dict[str, float]]:
    """Return the breaker and reclosing times in s of the own trip and of the transfer trips."""
    own, transfer = (
        {"breaker": record.real(name) / frequency_hz, "dead_time": record.real(f"{name}REC") / frequency_hz}
        for name in ("TSELF", "TTRANS")
    )
    return own, transfer


def _points(record: PsseRecord) -> dict[str, float]:
    """Return the curve of a TIOCR1; points of nothing after others are as the last one."""
    found = {"i_set": record.real("THR"), "t_reset": record.real("T0")}
    last = 1
    for k in range(1, POINTS + 1):
        if record.real(f"CUR{k}"):
            last = k
        found |= {f"multiple_{k}": record.real(f"CUR{last}"), f"time_{k}": record.real(f"T{last}")}
    if found["multiple_1"] >= found["i_set"] > 1:
        warnings.warn(
            f"{record.where}: TIOCR1: CUR1 = {found['multiple_1']:g} is a multiple of THR ="
            f" {found['i_set']:g} pu: it begins to run at {found['multiple_1'] * found['i_set']:g} pu; where"
            " the currents are meant per unit, divide CUR1 ... by THR",
            PsmrWarning,
            stacklevel=5,
        )
    return found


def _load(entry: Entry, record: PsseRecord, loads: Sequence[LoadUnit]) -> tuple[str, ...]:
    """Return the rows of the load that a TIOCR1 sheds; none for bus 0."""
    if not record.whole("LBUS", 0):
        return ()
    bus, ident = record.bus("LBUS"), name_part(record.text("LDID", "1"))
    of = [unit for unit in loads if unit.bus == bus]
    mine = [unit.rows for unit in of if unit.ident == ident]
    if not mine:
        leave_out(entry, f"the load that it sheds: {no_load(ident, bus, of)}")
    return tuple(row for rows in mine for row in rows)


def _branch(branches: Sequence[BranchRow], i: int, j: int, ident: str) -> BranchRow | None:
    """Return the branch between two buses with a circuit identifier; None where there is none."""
    circuit = circuit_number(ident)
    here = (b for b in branches if b.circuit == circuit and {b.from_bus, b.to_bus} == {i, j})
    return next(here, None)


def _named(record: PsseRecord, i: str, j: str, ident: str) -> str:
    return f"{record.whole(i)}-{record.whole(j)}, circuit {record.text(ident, '1')!r},"
