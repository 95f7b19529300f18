"""Relay records of a PSS/E DYR file: of loads and generators first, of branches below.

======== ================================================= =============================================
record   head                                              values
======== ================================================= =============================================
LDSHBL   bus, model, load                                  f1 t1 frac1 f2 t2 frac2 f3 t3 frac3 TB
LDS3BL   bus, model, load, bus, machine and switch of a    f1 t1 tb1 frac1 ... f5 t5 tb5 frac5 TTB
         transfer trip
LVSHBL   bus, model, load, bus that is measured            v1 t1 frac1 v2 t2 frac2 v3 t3 frac3 TB
LVS3BL   bus, model, load, two branches of a transfer      v1 t1 tb1 frac1 ... v5 t5 tb5 frac5 TTB1 TTB2
         trip and their switch
UFLSBL   bus, model, load                                  TF TB f1 t1 frac1 f2 t2 frac2 ...
FRQTPAT  instance, model, bus, bus and machine             FL FU TP TB
VTGTPAT  instance, model, bus, bus and machine             VL VU TP TB
======== ================================================= =============================================

LDSH, LDS3, LVSH and LVS3 have the forms of load records: LDSHBL for one load of a bus, LDSHOW, LDSHZN and
LDSHAR for the loads of an owner, a zone, an area, LDSHAL for all. Each of these loads has a relay of its own,
at its bus; where several are for one load, the nearer goes before the other. Times are in s, frequencies in
Hz, fractions parts of the load. Sources: Siemens PTI, PSS/E Model Library and Program Operation Manual, load
relays; for the order of the values the parsers of GridPACK (LVSHBL, FRQTPAT) and InterPSS (LDS3BL, LVS3BL,
VTGTPAT), and for UFLSBL that of STEPS, whose model it is.

Relays of branches, DISTR1 and TIOCR1:

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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from psmr.base.errors import CaseError, Mistakes, warn
from psmr.devices.protection.line_relays import ZONES, within
from psmr.devices.protection.overcurrent import POINTS
from psmr.devices.protection.relays import STAGES
from psmr.files.psse.conventions import circuit_number
from psmr.files.psse.dyr_entries import SCOPES, DyrRecord, GeneratorUnit, Key, LoadUnit
from psmr.files.psse.dyr_loads import leave_out, no_load, numbers
from psmr.files.psse.record import PsseRecord, name_part
from psmr.network.case.tables import BranchRow, DeviceRow, RelayRow

TRANSFERS = tuple(f"{name}{k}" for k in (1, 2, 3) for name in ("IBUS", "JBUS", "CKT"))

DISTR1 = (
    *("JBUS", "ID", "RS", "TYPE", "MON"),
    *TRANSFERS,
    *(f"{name}{k}" for k in range(1, ZONES + 1) for name in ("T", "REACH", "ANG", "CENTER")),
    *("DIRANG", "ITHRESH", "TSELF", "TSELFREC", "TTRANS", "TTRANSREC"),
    *(f"{name}{k}" for k in (1, 2) for name in ("BLTYPE", "BLINT", "BLROT")),
)
TIOCR1 = (
    *("JBUS", "ID", "RS", "MON", "LBUS", "LDID"),
    *TRANSFERS,
    *("THR", "T0"),
    *(f"{name}{k}" for k in range(1, POINTS + 1) for name in ("CUR", "T")),
    *("TB", "FRAC"),
)
LAYOUTS = {"DISTR1": DISTR1, "TIOCR1": TIOCR1}
KINDS = {"DISTR1": ("DistanceRelay",), "TIOCR1": ("TimeCurrentRelay", "TimeCurrentShedding")}
"""Model to the component that opens branches, and the one that sheds load."""

MHO, MONITORS = 1, 0


@dataclass(frozen=True)
class BranchRelay:
    """A relay that a record is: its component, where it measures what, what it acts on, its parameters."""

    kind: str
    bus: int
    measures: str
    acts_on: str
    values: Mapping[str, float]


def branch_relays(
    entry: DyrRecord, branches: Sequence[BranchRow], loads: Sequence[LoadUnit], frequency_hz: float
) -> Iterator[BranchRelay]:
    """Yield what a record is: a relay of its branch, one for each other branch that it opens, and of a load.

    Raises CaseError for a form that psmr does not have. Warns for a record that is left out (it only
    monitors, or its branch is not in the RAW file), and for another branch or a load that is not there.
    """
    record = entry.record("I", *LAYOUTS[entry.model])
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
    yield BranchRelay(kind, bus, own.name, own.name, {**values, **trip, "both": 1.0})
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
            yield BranchRelay(kind, bus, own.name, other.name, {**values, **transfer, "both": 1.0})
    if not distance and record.real("FRAC"):
        for row in _load(entry, record, loads):
            shed = {"breaker": record.real("TB"), "part": record.real("FRAC")}
            yield BranchRelay(KINDS[entry.model][1], bus, own.name, row, {**values, **shed})


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
        warn(
            f"{record.where}: TIOCR1: CUR1 = {found['multiple_1']:g} is a multiple of THR ="
            f" {found['i_set']:g} pu: it begins to run at {found['multiple_1'] * found['i_set']:g} pu; where"
            " the currents are meant per unit, divide CUR1 ... by THR"
        )
    return found


def _load(entry: DyrRecord, record: PsseRecord, loads: Sequence[LoadUnit]) -> tuple[str, ...]:
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


Values = dict[str, float]


SHEDDING: Mapping[str, tuple[str, str, int, str]] = {
    "LDSH": ("", "f", 3, "TB"),
    "LVSH": ("JBUS", "v", 3, "TB"),
    "LDS3": ("GBUS -GID SC", "f", 5, "TTB"),
    "LVS3": ("FBUS1 TBUS1 -ID1 FBUS2 TBUS2 -ID2 SC", "v", 5, "TTB1 TTB2"),
}
"""Relays that shed load: what stands before the stages, their level, how many there are, what stands after.

Those with five stages have the time of a breaker for each, and a transfer trip."""

RECORDS: Mapping[str, tuple[str, ...]] = {
    **{
        f"{family}{scope}": ("UnderFrequencyShedding" if level == "f" else "UnderVoltageShedding",)
        for family, (_, level, _, _) in SHEDDING.items()
        for scope in SCOPES
    },
    "UFLSBL": ("UnderFrequencyShedding",),
    **dict.fromkeys(("FRQTPAT", "FRQTPA"), ("FrequencyTrip",)),
    **dict.fromkeys(("VTGTPAT", "VTGTPA"), ("VoltageTrip",)),
    **KINDS,
}
"""Model to the components that it becomes."""


class RelayRecords:
    """The relay records of a DYR file, gathered, and the relays that they are (`settled`)."""

    def __init__(
        self,
        loads: Sequence[LoadUnit],
        units: Mapping[Key, GeneratorUnit],
        branches: Sequence[BranchRow] = (),
        buses: Iterable[int] = (),
        frequency_hz: float = 60.0,
    ) -> None:
        self.loads, self.units, self.branches, self.frequency_hz = loads, units, branches, frequency_hz
        self.buses = frozenset(buses)
        self.rows: list[RelayRow] = []
        self._sheds: dict[tuple[str, str], list[tuple[int, DyrRecord, int, Values]]] = {}

    def takers(self) -> dict[str, Callable[[DyrRecord], None]]:
        """Return what takes the records of each model."""
        take = dict.fromkeys(("UnderFrequencyShedding", "UnderVoltageShedding"), self._shed)
        take |= dict.fromkeys(("FrequencyTrip", "VoltageTrip"), self._trip)
        return {model: take.get(kind, self._of_branch) for model, (kind, *_) in RECORDS.items()}

    def settled(self, mistakes: Mistakes) -> list[RelayRow]:
        """Return all relays, of those that shed a load the nearest; `mistakes` collects what is wrong."""
        for (_, row), found in self._sheds.items():
            nearest = min(rank for rank, *_ in found)
            for rank, entry, bus, given in found:
                if rank == nearest:
                    mistakes.attempt(self._add, entry, f"shed-{row}", bus, row, given)
        return self.rows

    def _shed(self, entry: DyrRecord) -> None:
        """Keep the relay of each load that a record is for, one for each row of the load."""
        many = max(len(entry.words) - 5, 0) // 3
        before, level, count, after = SHEDDING.get(entry.model[:-2], ("TF TB", "f", many, ""))
        own_breakers = count == 5 and entry.model != "UFLSBL"
        each = (level, "t", *(("tb",) if own_breakers else ()), "frac")
        stages = [f"{name}{k}" for k in range(1, count + 1) for name in each]
        values = numbers(entry, [*before.split(), *stages, *after.split()])
        if count > STAGES:
            raise CaseError(f"{entry.where}: {entry.model}: has {count} stages; psmr has at most {STAGES}")
        for name in before.split() if own_breakers else ():
            if values.get(name):
                raise CaseError(
                    f"{entry.where}: {entry.model}: {name} = {values[name]:g}: psmr has this relay only"
                    " without a transfer trip; make it 0"
                )
        head, family, scope = entry.head(), entry.model[:-2], entry.model[-2:]
        number, ident = head.whole("bus"), name_part(head.text("id", "1"))
        of = [unit for unit in self.loads if unit.belongs(scope, number)]
        mine = [unit for unit in of if "*" in ident or unit.ident == ident]
        if not mine:
            leave_out(entry, no_load(ident, number, of, scope))
            return
        used = [k for k in range(1, count + 1) if values[f"{level}{k}"]]
        if not used:
            leave_out(entry, "has no stage (every set value is 0)")
            return
        given: Values = {"t_f": values["TF"]} if values.get("TF") else {}
        for place, k in enumerate(used, start=1):
            given |= {
                f"set_{place}": values[f"{level}{k}"],
                f"pickup_{place}": values[f"t{k}"],
                f"breaker_{place}": values[f"tb{k}" if own_breakers else "TB"],
                f"shed_{place}": values[f"frac{k}"],
            }
        bus = int(values.get("JBUS", 0))
        rank = SCOPES.index(scope)
        for unit in mine:
            for row in unit.rows:
                found = self._sheds.setdefault((family, row), [])
                found.append((rank, entry, bus or unit.bus, given))

    def _trip(self, entry: DyrRecord) -> None:
        """Add the relay of a generator; one that is out of service has none."""
        letter, words = entry.model[0], entry.words[2:]
        names = ("BUS", "GENBUS", "GENID", f"{letter}L", f"{letter}U", "TP", "TB")
        entry.check_count(len(words), names)
        record = PsseRecord(entry.path, words[0][0], entry.model, names, [word for _, word in words])
        key = record.bus("GENBUS"), name_part(record.text("GENID", "1"))
        if key not in self.units:
            there = ", ".join(repr(i) for b, i in self.units if b == key[0]) or "none"
            what = f"there is no generator {key[1]!r} at bus {key[0]} in the RAW file (at this bus: {there})"
            leave_out(entry, what)
            return
        unit = self.units[key]
        if unit.row is None:
            return
        given = {
            "low": record.real(f"{letter}L"),
            "high": record.real(f"{letter}U"),
            "pickup": record.real("TP"),
            "breaker": record.real("TB"),
        }
        bus = record.whole("BUS", 0) or key[0]
        self._add(entry, f"trip-{unit.row.name}", bus, unit.row.name, given)

    def _of_branch(self, entry: DyrRecord) -> None:
        for found in branch_relays(entry, self.branches, self.loads, self.frequency_hz):
            name = f"{'shed' if 'part' in found.values else 'open'}-{found.acts_on}"
            self._add(entry, name, found.bus, found.acts_on, found.values, found.kind, found.measures)

    def _add(
        self,
        entry: DyrRecord,
        name: str,
        bus: int,
        acts_on: str,
        given: Mapping[str, float],
        kind: str = "",
        measures: str = "",
    ) -> None:
        if bus not in self.buses:
            leave_out(entry, f"there is no bus {bus} in service in the RAW file, whose voltage it measures")
            return
        taken = {row.name for row in self.rows}
        numbered = (f"{name}-{k}" for k in range(2, len(taken) + 3))
        name = next(label for label in (name, *numbered) if label not in taken)
        device = DeviceRow(name, "relay", kind or RECORDS[entry.model][0], given, where=entry.where)
        measures = "" if measures == acts_on else measures
        self.rows.append(RelayRow(name, bus, acts_on, device, measures, where=entry.where))
