"""PSS/E RAW files, versions 23 and 29 to 36, as cases.

Source: the description of the power flow raw data file in Siemens PTI, PSS/E Program Operation Manual. A
field that is left out has the default written there. What the case does otherwise than the file:

- devices out of service that have no status in a case (loads, generators) and isolated buses (type 4) with
  everything at them are left out;
- a load has its parts of constant power, current and impedance, and its power at a voltage of 1 pu;
- switched shunts stay at BINIT, taps where they are;
- DC lines are held at their powers, buses that a branch without impedance joins are one;
- a generator that regulates another bus holds its own at the voltage the file stores, with a warning.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path

from psmr.errors import CaseError, Mistakes, PsmrWarning
from psmr.grid.case.case import Case
from psmr.grid.case.checks import HIGHEST_HZ, LOWEST_HZ
from psmr.grid.case.tables import (
    POWER,
    TORQUE,
    BusRow,
    GeneratorRow,
    LineRow,
    LoadRow,
    RelayRow,
    ShuntRow,
    TransformerRow,
)
from psmr.io.psse.conventions import circuit_number
from psmr.io.psse.dc_lines import two_terminal, voltage_source
from psmr.io.psse.dyr import Unit, read_dyr
from psmr.io.psse.dyr_loads import LoadRecords, LoadUnit
from psmr.io.psse.dyr_relays import RelayRecords
from psmr.io.psse.joined import Rows, join
from psmr.io.psse.record import Record, name_part
from psmr.io.psse.sections import RawFile, read_sections, unmodelled
from psmr.io.psse.transformer import Transformers

Key = tuple[int, str]
Parts = tuple[float, float, float]

_POWER = (0.0, 0.0, 1.0)


def read_raw(
    path: str | Path,
    dynamics: str | Path | None = None,
    skip_unknown_models: bool = False,
    net_unmodelled: bool = False,
    mechanical: str | None = None,
) -> Case:
    """Return the case in a RAW file, with the plants of a DYR file if one is given.

    Parameters
    ----------
    path, dynamics
        RAW file; DYR file or None.
    skip_unknown_models
        Leave out, with a warning for each, devices that psmr has no model of: controllers in the DYR
        file, DC lines, FACTS devices, induction machines and impedance correction tables in the RAW file.
    net_unmodelled
        Leave generators without a machine in the DYR file without devices, for `net_generators`.
    mechanical
        What drives GENROU and its family; None: a power where there is a DYR file, as in PSS/E.

    Raises
    ------
    CaseError
        For everything the standard forbids and for what psmr cannot model; names file and line.
    """
    raw = read_sections(path)
    mistakes = Mistakes()
    tables = _Tables(raw, skip_unknown_models, mistakes)
    generators, frequency = tables.generators, _frequency(raw.head)
    if dynamics is not None:
        loads = LoadRecords(tables.load_units, mistakes, frequency)
        relays = RelayRecords(tables.load_units, tables.units)
        others = dict.fromkeys(loads.models(), loads.take) | relays.takers()
        generators = list(
            read_dyr(dynamics, tables.units, mistakes, skip_unknown_models, net_unmodelled, others)
        )
        tables.loads = loads.applied(tables.loads)
        tables.relays = relays.rows + loads.relays
    mistakes.finish()
    rows: Rows = {"generators": generators + tables.holding}
    names = ("buses", "lines", "transformers", "shunts", "loads", "relays")
    rows |= {name: getattr(tables, name) for name in names}
    rows = join(rows, tables.zero)
    return Case(
        name=raw.title or Path(path).stem,
        base_mva=tables.base,
        frequency_hz=frequency,
        source=str(path),
        mechanical=mechanical or (TORQUE if dynamics is None else POWER),
        **{name: tuple(table) for name, table in rows.items()},  # type: ignore[arg-type]  # by name
    )


def _frequency(head: Record) -> float:
    """Return the nominal frequency; 60 Hz with a warning where the file gives none."""
    if head.has("BASFRQ"):
        frequency_hz = head.positive("BASFRQ")
        if not LOWEST_HZ <= frequency_hz <= HIGHEST_HZ:
            words = f"must be between {LOWEST_HZ:g} (railways) and {HIGHEST_HZ:g} Hz (aircraft)"
            raise head.error("BASFRQ", words)
        return frequency_hz
    warnings.warn(f"{head.where}: gives no frequency; taken as 60 Hz", PsmrWarning, stacklevel=3)
    return 60.0


class _Tables:
    """The rows of a case, filled section by section."""

    def __init__(self, raw: RawFile, skip: bool, mistakes: Mistakes) -> None:
        self.raw, self.skip, self.mistakes = raw, skip, mistakes
        self.base = raw.head.positive("SBASE", 100.0)
        self.lines: list[LineRow] = []
        self.shunts: list[ShuntRow] = []
        self.loads: list[LoadRow] = []
        self.generators: list[GeneratorRow] = []
        self.holding: list[GeneratorRow] = []
        self.relays: list[RelayRow] = []
        self.zero: list[tuple[int, int, Record]] = []
        self.units: dict[Key, Unit] = {}
        self.load_units: list[LoadUnit] = []
        self._turned: list[TransformerRow] = []
        self._taken: dict[tuple, Record] = {}
        self._bus: dict[int, Record] = {}
        attempt = mistakes.attempt
        found = [attempt(self._bus_row, record) for record in self._records("bus")]
        self.buses = [row for row in found if row is not None]
        for record in unmodelled(raw):
            name = record.text("NAME") or record.text("I")
            attempt(self.leave_out, record, f"psmr has no model of {record.section}: {name}")
        self._windings = Transformers(self.base, self._bus, self.buses, self.leave_out)
        for section, take in (
            *(("load", self._load), ("fixed shunt", self._shunt), ("switched shunt", self._shunt)),
            *(("generator", self._generator), ("branch", self._line), ("switching device", self._line)),
        ):
            for record in self._records(section):
                attempt(take, record)
        self._check_swing()
        for lines in raw.records.get("transformer", ()):
            attempt(self._transformer, lines)
        for section in ("two-terminal dc", "vsc dc"):
            for lines in raw.records.get(section, ()):
                attempt(self._dc_line, lines)
        self.buses += self._windings.stars
        self.transformers = self._turned + self._windings.rows

    def _records(self, section: str) -> list[Record]:
        return [record for (record,) in self.raw.records.get(section, ())]

    def _transformer(self, lines: Sequence[Record]) -> None:
        ends = sorted(abs(lines[0].whole(name, 0)) for name in ("I", "J", "K"))
        self._once(lines[0], "CKT", "branch", *ends[1 - bool(ends[0]) :])
        self._windings.add(lines)

    def _dc_line(self, lines: Sequence[Record]) -> None:
        """Add the powers of a DC line's converters as loads, or as generators where they hold a voltage."""
        if lines[0].section == "vsc dc":
            ends = voltage_source(lines)
        else:
            ends = two_terminal(lines, {n: bus.positive("VM", 1.0) for n, bus in self._bus.items()})
        if not ends:
            return
        name = name_part(lines[0].text("NAME") or lines[0].text("I"))
        words = []
        for k, end in enumerate(ends):
            bus = self._bus.get(end.bus)
            field = "IBUS" if lines[0].section == "vsc dc" else "IP"
            if bus is None:
                raise end.record.error(field, "there is no bus with this number")
            end.record.require(bus.whole("IDE", 1) != 4, field, "must be a bus that is not isolated")
            label = f"dc-{name}-{'rectifier' if k == 0 else 'inverter'}"
            label = f"vsc-{name}-{k + 1}" if lines[0].section == "vsc dc" else label
            words.append(f"{end.p_mw:.6g} MW from bus {end.bus}")
            where = end.record.where
            if end.q_mvar is not None:
                whole = (0.0, 0.0, 1.0)
                row = LoadRow(end.bus, end.p_mw, end.q_mvar, whole, whole, name=label, held=True, where=where)
                self.loads.append(row)
                continue
            held = [row.v for row in self.generators if row.bus == end.bus and row.control != "pq"]
            self.holding.append(
                GeneratorRow(
                    label,
                    end.bus,
                    "pv",
                    -end.p_mw,
                    v=held[0] if held else end.v,
                    rating_mva=max(abs(end.p_mw), 1.0),
                    held=True,
                    where=where,
                )
            )
        what = "a VSC line" if lines[0].section == "vsc dc" else "a DC line"
        warnings.warn(
            f"{lines[0].where}: {name}: {what}, held at its powers in a run: {', '.join(words)}",
            PsmrWarning,
            stacklevel=2,
        )

    def leave_out(self, record: Record, what: str) -> None:
        """Warn that something is left out, or raise CaseError where that was not asked for."""
        if not self.skip:
            raise CaseError(f"{record.where}: {what}; take it out of the file, or skip it with a warning")
        warnings.warn(f"{record.where}: {what}; left out", PsmrWarning, stacklevel=2)

    def _once(self, record: Record, name: str, *key: object) -> str:
        """Return an identifier after checking that no earlier record has it."""
        ident = name_part(record.text(name, "1"))
        first = self._taken.setdefault((*key, ident), record)
        taken = f"is taken by line {first.line}; every {key[0]} needs its own identifier"
        record.require(first is record, name, taken)
        return ident

    def _at(self, record: Record, name: str = "I") -> Record | None:
        """Return the record of a bus that is named; None where it is isolated."""
        bus = self._bus.get(abs(record.whole(name)))
        if bus is None:
            raise record.error(name, "there is no bus with this number")
        return None if bus.whole("IDE", 1) == 4 else bus

    def _bus_row(self, record: Record) -> BusRow | None:
        number, kind = record.bus("I"), record.one_of("IDE", (1, 2, 3, 4), 1)
        first = self._bus.setdefault(number, record)
        record.require(first is record, "I", f"is taken by line {first.line}")
        kv = record.real("BASKV", 0.0)
        record.require(kv >= 0, "BASKV", "must be >= 0 (0: unknown)")
        record.real("VA", 0.0)
        if kind == 4:
            return None
        record.positive("VM", 1.0)
        powers = [record.real(name, 0.0) for name in ("PL", "QL")]
        if any(powers):
            self.loads.append(_row(record, f"load{number}", (powers[0], powers[1]), (_POWER, _POWER)))
            area, zone, owner = (record.whole(name, 1) for name in ("AREA", "ZONE", "OWNER"))
            self.load_units.append(LoadUnit(number, "1", area, zone, owner, (f"load{number}",)))
        g, b = record.real("GL", 0.0), record.real("BL", 0.0)
        if g or b:
            self.shunts.append(ShuntRow(number, g, b, 1, f"shunt{number}", where=record.where))
        return BusRow(number, kv, where=record.where)

    def _load(self, record: Record) -> None:
        bus = self._at(record)
        ident = self._once(record, "ID", "load", record.whole("I"))
        status = record.one_of("STATUS", (0, 1), 1)
        powers = {name: record.real(name, 0.0) for name in ("PL", "QL", "IP", "IQ", "YP", "YQ")}
        if bus is None or not status:
            return
        for power, own in (("PL", "DGENP"), ("QL", "DGENQ")):
            powers[power] -= record.real(own, 0.0) if record.one_of("DGENM", (0, 1), 0) else 0.0
        # Constant impedance, current, power. YQ is a susceptance: positive for a capacitor.
        p = (powers["YP"], powers["IP"], powers["PL"])
        q = (-powers["YQ"], powers["IQ"], powers["QL"])
        number = record.whole("I")
        name = f"load{number}{_suffix(ident)}"
        first = len(self.loads)
        if _one_sign(p) and _one_sign(q):
            self.loads.append(_row(record, name, (sum(p), sum(q)), (_parts(p), _parts(q))))
        else:
            # Fractions of opposite sign are no fractions: a row for each kind.
            for i, kind in enumerate("zip"):
                if p[i] or q[i]:
                    whole = (float(i == 0), float(i == 1), float(i == 2))
                    self.loads.append(_row(record, f"{name}-{kind}", (p[i], q[i]), (whole, whole)))
        area, zone, owner = (record.whole(name, 1) for name in ("AREA", "ZONE", "OWNER"))
        rows = tuple(row.name for row in self.loads[first:])
        self.load_units.append(LoadUnit(number, ident, area, zone, owner, rows))

    def _shunt(self, record: Record) -> None:
        kind = "switched" if record.section == "switched shunt" else "shunt"
        bus, number = self._at(record), record.whole("I")
        ident = self._once(record, "ID", record.section, number)
        status = record.one_of("STATUS" if kind == "shunt" else "STAT", (0, 1), 1)
        g, b = record.real("GL", 0.0), record.real("BL" if kind == "shunt" else "BINIT", 0.0)
        if bus is not None:
            name = f"{kind}{number}{_suffix(ident)}"
            self.shunts.append(ShuntRow(number, g, b, status, name, where=record.where))

    def _generator(self, record: Record) -> None:
        bus, number = self._at(record), record.whole("I")
        ident = self._once(record, "ID", "generator", number)
        status = record.one_of("STAT", (0, 1), 1)
        mbase = record.positive("MBASE", self.base)
        zr, zx = record.real("ZR", 0.0), record.real("ZX", 1.0)
        p, q = record.real("PG", 0.0), record.real("QG", 0.0)
        stepped = record.real("XT", 0.0) != 0
        row = None
        if bus is not None and status:
            high, low = record.real("QT", 9999.0), record.real("QB", -9999.0)
            record.require(high >= low, "QT", f"must be at least QB = {low:g}")
            row = GeneratorRow(
                name=f"G{number}{_suffix(ident)}",
                bus=number,
                control={1: "pq", 2: "pv", 3: "slack"}[bus.whole("IDE", 1)],
                p_mw=p,
                q_mvar=q,
                v=self._held(record, bus),
                angle_deg=bus.real("VA", 0.0),
                q_min_mvar=low,
                q_max_mvar=high,
                rating_mva=mbase,
                where=record.where,
            )
            self.generators.append(row)
        self.units[number, ident] = Unit(row, mbase, zr, zx, stepped, record.where)

    def _held(self, record: Record, bus: Record) -> float:
        """Return the voltage that a generator holds at its own bus."""
        held, remote = record.positive("VS", 1.0), record.whole("IREG", 0)
        if remote in (0, record.whole("I")) or bus.whole("IDE", 1) == 1:
            return held
        stored = bus.positive("VM", 1.0)
        warnings.warn(
            f"{record.where}: regulates bus {remote}; psmr holds its own bus at the stored VM = {stored:g}",
            PsmrWarning,
            stacklevel=2,
        )
        return stored

    def _line(self, record: Record) -> None:
        ends = [self._at(record, name) for name in ("I", "J")]
        i, j = (abs(record.whole(name)) for name in ("I", "J"))
        ident = self._once(record, "CKT", "branch", *sorted((i, j)))
        switch = record.section == "switching device"
        status = record.one_of("STAT" if switch else "ST", (0, 1), 1)
        r, x = record.real("R", 0.0), record.real("X", 1e-4 if switch else None)
        record.require(x != 0 or r == 0, "X", f"must not be 0 beside R = {r:g}")
        b = record.real("B", 0.0)
        g_i, b_i, g_j, b_j = (record.real(name, 0.0) for name in ("GI", "BI", "GJ", "BJ"))
        if None in ends:
            return
        if x == 0:
            self._joint(record, i, j, status)
            return
        if record.real("RATIO", 0.0):
            self._turn(record, (i, j), f"{i}-{j}{_suffix(ident)}", (r, x, b), status)
            return
        name = f"line{i}-{j}{_suffix(ident)}"
        line = {"name": name, "status": status, "circuit": circuit_number(ident)}
        # Equal shunts at both ends are part of the line; others stand at the buses.
        both = (g_i, b_i) == (g_j, b_j)
        g, more = (2 * g_i, 2 * b_i) if both else (0.0, 0.0)
        self.lines.append(LineRow(i, j, x, r, b + more, g, where=record.where, **line))  # type: ignore[arg-type]
        for bus, g_end, b_end in () if both else ((i, g_i, b_i), (j, g_j, b_j)):
            if g_end or b_end:
                mw, mvar = g_end * self.base, b_end * self.base
                self.shunts.append(ShuntRow(bus, mw, mvar, status, f"{name}-at{bus}", where=record.where))

    def _joint(self, record: Record, i: int, j: int, status: int) -> None:
        """Keep a branch without impedance for `join`; one out of service does nothing."""
        record.require(i != j, "J", "must be another bus than I")
        if status:
            self.zero.append((i, j, record))
            return
        what = f"{i}-{j}: has no impedance and is out of service; left out, it cannot be closed"
        warnings.warn(f"{record.where}: {what}", PsmrWarning, stacklevel=2)

    def _turn(
        self, record: Record, ends: tuple[int, int], name: str, rxb: tuple[float, float, float], status: int
    ) -> None:
        """Add a branch with a ratio (version 23): a transformer with half its charging behind the ratio."""
        (i, j), (r, x, b) = ends, rxb
        ratio, angle = record.positive("RATIO"), record.real("ANGLE", 0.0)
        label = f"transformer{name}"
        row = TransformerRow(
            i, j, x, r, b / 2, 0.0, status, name=label, tap=ratio, shift_deg=angle, where=record.where
        )
        self._turned.append(row)
        if b:
            mvar = b / 2 * self.base
            self.shunts.append(ShuntRow(j, 0.0, mvar, status, f"{label}-at{j}", where=record.where))

    def _check_swing(self) -> None:
        """Keep the mistake of each swing bus where no generator is in service."""
        held = {row.bus for row in self.generators if row.control == "slack"}
        if self.mistakes.found:
            # A generator that could not be read may be the one.
            return
        for number, record in self._bus.items():
            good = record.whole("IDE", 1) != 3 or number in held
            right = "must not be 3 (swing): no generator is in service at this bus"
            self.mistakes.attempt(record.require, good, "IDE", right)


def _suffix(ident: str) -> str:
    """Return what an identifier adds to a name: nothing for 1."""
    return "" if ident == "1" else f"-{ident}"


def _row(record: Record, name: str, power: tuple[float, float], parts: tuple[Parts, Parts]) -> LoadRow:
    """Return a load whose powers belong to 1 pu, or to any voltage where they are constant."""
    v_0 = None if parts[0][2] == parts[1][2] == 1 else 1.0
    return LoadRow(record.whole("I"), *power, *parts, v_0=v_0, name=name, where=record.where)


def _one_sign(parts: tuple[float, ...]) -> bool:
    return all(part >= 0 for part in parts) or all(part <= 0 for part in parts)


def _parts(powers: Parts) -> Parts:
    """Return the fractions of a load's power; all of it constant power where there is none."""
    total = sum(powers)
    if total == 0:
        return (0.0, 0.0, 1.0)
    z, i, p = (part / total for part in powers)
    return (z, i, p)
