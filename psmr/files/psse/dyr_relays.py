"""Relay records of a PSS/E DYR file.

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
at its bus; where several are for one load, the nearer goes before the other. DISTR1 and TIOCR1, relays of
branches, are in `psmr.files.psse.dyr_branch_relays`. Times are in s, frequencies in Hz, fractions parts of
the load. Sources: Siemens PTI, PSS/E Model Library and Program Operation Manual, load relays; for the order
of the values the parsers of GridPACK (LVSHBL, FRQTPAT) and InterPSS (LDS3BL, LVS3BL, VTGTPAT), and for UFLSBL
that of STEPS, whose model it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from psmr.base.errors import CaseError, Mistakes
from psmr.devices.protection import STAGES
from psmr.files.psse.dyr_branch_relays import KINDS, branch_relays
from psmr.files.psse.dyr_loads import LoadUnit, leave_out, no_load, numbers
from psmr.files.psse.load_layout import SCOPES
from psmr.files.psse.record import PsseRecord, name_part
from psmr.network.case.tables import BranchRow, DeviceRow, RelayRow

if TYPE_CHECKING:
    from psmr.files.psse.dyr import Unit
    from psmr.files.psse.entries import Entry

Values = dict[str, float]


def _forms(*families: str) -> tuple[str, ...]:
    """Return the names of the records of relays that shed load, for whomever they are."""
    return tuple(f"{family}{scope}" for family in families for scope in SCOPES)


RECORDS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys((*_forms("LDSH", "LDS3"), "UFLSBL"), ("UnderFrequencyShedding",)),
    **dict.fromkeys(_forms("LVSH", "LVS3"), ("UnderVoltageShedding",)),
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
        units: Mapping[tuple[int, str], Unit],
        branches: Sequence[BranchRow] = (),
        buses: Iterable[int] = (),
        frequency_hz: float = 60.0,
    ) -> None:
        self.loads, self.units, self.branches, self.frequency_hz = loads, units, branches, frequency_hz
        self.buses = frozenset(buses)
        self.rows: list[RelayRow] = []
        self._sheds: dict[tuple[str, str], list[tuple[int, Entry, int, Values]]] = {}

    def takers(self) -> dict[str, Callable[[Entry], None]]:
        """Return what takes the records of each model."""
        return {
            **dict.fromkeys(_forms("LDSH"), self._ldsh),
            **dict.fromkeys(_forms("LDS3"), self._lds3),
            **dict.fromkeys(_forms("LVSH"), self._lvsh),
            **dict.fromkeys(_forms("LVS3"), self._lvs3),
            "UFLSBL": self._uflsbl,
            **dict.fromkeys(("FRQTPAT", "FRQTPA"), self._frqtpa),
            **dict.fromkeys(("VTGTPAT", "VTGTPA"), self._vtgtpa),
            **dict.fromkeys(KINDS, self._of_branch),
        }

    def settled(self, mistakes: Mistakes) -> list[RelayRow]:
        """Return all relays, of those that shed a load the nearest; `mistakes` collects what is wrong."""
        for (_, row), found in self._sheds.items():
            nearest = min(rank for rank, *_ in found)
            for rank, entry, bus, given in found:
                if rank == nearest:
                    mistakes.attempt(self._add, entry, f"shed-{row}", bus, row, given)
        return self.rows

    def _ldsh(self, entry: Entry) -> None:
        names = [f"{name}{k}" for k in (1, 2, 3) for name in ("f", "t", "frac")]
        given = numbers(entry, [*names, "TB"])
        stages = [(given[f"f{k}"], given[f"t{k}"], given["TB"], given[f"frac{k}"]) for k in (1, 2, 3)]
        self._shedding(entry, stages)

    def _lds3(self, entry: Entry) -> None:
        self._five_stages(entry, "f", ("GBUS", "-GID", "SC"), ("TTB",))

    def _lvs3(self, entry: Entry) -> None:
        trips = ("FBUS1", "TBUS1", "-ID1", "FBUS2", "TBUS2", "-ID2", "SC")
        self._five_stages(entry, "v", trips, ("TTB1", "TTB2"))

    def _five_stages(self, entry: Entry, level: str, trips: tuple[str, ...], times: tuple[str, ...]) -> None:
        """Take a relay with five stages, each with its breaker's time, without what else it could trip."""
        each = (level, "t", "tb", "frac")
        names = [f"{name}{k}" for k in range(1, 6) for name in each]
        given = numbers(entry, [*trips, *names, *times])
        for name in trips:
            if given.get(name):
                raise CaseError(
                    f"{entry.where}: {entry.model}: {name} = {given[name]:g}: psmr has this relay only"
                    " without a transfer trip; make it 0"
                )
        self._shedding(entry, [tuple(given[f"{name}{k}"] for name in each) for k in range(1, 6)])

    def _lvsh(self, entry: Entry) -> None:
        names = [f"{name}{k}" for k in (1, 2, 3) for name in ("v", "t", "frac")]
        given = numbers(entry, ["JBUS", *names, "TB"])
        stages = [(given[f"v{k}"], given[f"t{k}"], given["TB"], given[f"frac{k}"]) for k in (1, 2, 3)]
        self._shedding(entry, stages, int(given["JBUS"]))

    def _uflsbl(self, entry: Entry) -> None:
        count = max(len(entry.words) - 5, 0) // 3
        names = [f"{name}{k}" for k in range(1, count + 1) for name in ("f", "t", "frac")]
        given = numbers(entry, ["TF", "TB", *names])
        if count > STAGES:
            raise CaseError(f"{entry.where}: {entry.model}: has {count} stages; psmr has at most {STAGES}")
        stages = [
            (given[f"f{k}"], given[f"t{k}"], given["TB"], given[f"frac{k}"]) for k in range(1, count + 1)
        ]
        own = {"t_f": given["TF"]} if given["TF"] else {}
        self._shedding(entry, stages, own=own)

    def _frqtpa(self, entry: Entry) -> None:
        self._trip(entry, "F")

    def _vtgtpa(self, entry: Entry) -> None:
        self._trip(entry, "V")

    def _shedding(
        self,
        entry: Entry,
        stages: Sequence[tuple[float, ...]],
        bus: int = 0,
        own: Mapping[str, float] | None = None,
    ) -> None:
        """Keep the relay of each load that a record is for, one for each row of the load."""
        head, family, scope = entry.head(), entry.model[:-2], entry.model[-2:]
        number, ident = head.whole("bus"), name_part(head.text("id", "1"))
        of = [unit for unit in self.loads if unit.belongs(scope, number)]
        mine = [unit for unit in of if "*" in ident or unit.ident == ident]
        if not mine:
            leave_out(entry, no_load(ident, number, of, scope))
            return
        given: Values = dict(own or {})
        used = [stage for stage in stages if stage[0]]
        if not used:
            leave_out(entry, "has no stage (every set value is 0)")
            return
        for k, (level, pickup, breaker, part) in enumerate(used, start=1):
            given |= {f"set_{k}": level, f"pickup_{k}": pickup, f"breaker_{k}": breaker, f"shed_{k}": part}
        rank = SCOPES.index(scope)
        for unit in mine:
            for row in unit.rows:
                found = self._sheds.setdefault((family, row), [])
                found.append((rank, entry, bus or unit.bus, given))

    def _trip(self, entry: Entry, letter: str) -> None:
        """Add the relay of a generator; one that is out of service has none."""
        words = entry.words[2:]
        names = ("BUS", "GENBUS", "GENID", f"{letter}L", f"{letter}U", "TP", "TB")
        if len(words) != len(names):
            raise CaseError(
                f"{entry.where}: {entry.model}: has {len(words)} values; must have {len(names)}:"
                f" {' '.join(names)}; does the record end with a slash?"
            )
        lines = [line for line, _ in words]
        record = PsseRecord(entry.path, lines[0], entry.model, names, [word for _, word in words])
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

    def _of_branch(self, entry: Entry) -> None:
        for found in branch_relays(entry, self.branches, self.loads, self.frequency_hz):
            name = f"{'shed' if 'part' in found.values else 'open'}-{found.acts_on}"
            self._add(entry, name, found.bus, found.acts_on, found.values, found.kind, found.measures)

    def _add(
        self,
        entry: Entry,
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
        name = next(label for label in _numbered(name) if label not in taken)
        device = DeviceRow(name, "relay", kind or RECORDS[entry.model][0], given, where=entry.where)
        measures = "" if measures == acts_on else measures
        self.rows.append(RelayRow(name, bus, acts_on, device, measures, where=entry.where))


def _numbered(name: str) -> Iterator[str]:
    """Yield a name, and then the name with numbers."""
    yield name
    k = 2
    while True:
        yield f"{name}-{k}"
        k += 1
