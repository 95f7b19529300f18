"""PSS/E RAW files, versions 23 to 27 and 29 to 36, as cases.

Source: the description of the power flow raw data file in Siemens PTI, PSS/E Program Operation Manual. A
field that is left out has the default written there. What the case does otherwise than the file:

- devices out of service that have no status in a case (loads, generators) and isolated buses (type 4) with
  everything at them are left out;
- a load has its parts of constant power, current and impedance, and its power at a voltage of 1 pu;
- switched shunts stay at BINIT, taps where they are; those with MODSW or COD above 0 are `regulating`;
- DC lines are held at their powers, buses that a branch without impedance joins are one;
- the reactive power of a generator with QT = QB is held, also at a bus of type 2; machines at buses of
  type 1 are left out, as PSS/E does;
- an island that no generator in service feeds is left out, another one without a swing gets one, each with a
  warning.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from psmr.base.errors import CaseError, Mistakes, first_few, warn
from psmr.devices.placement import placement
from psmr.files.load_flow_rules import (
    Rows,
    energised_rows,
    join_buses,
    reachable,
    with_common_voltages,
    with_one_voltage,
)
from psmr.files.psse.conventions import bus_of, last_of_each, suffix
from psmr.files.psse.converters import Converters
from psmr.files.psse.dyr import with_dynamics
from psmr.files.psse.dyr_direct_current import DirectCurrentRecords, at_buses
from psmr.files.psse.dyr_entries import GeneratorUnit, Key, LoadUnit
from psmr.files.psse.record import PsseRecord, name_part
from psmr.files.psse.sections import UNMODELLED, RawFile, is_unmodelled, read_sections
from psmr.files.psse.transformer import Lines, Transformers, corrections
from psmr.files.user_components import NONE, UserComponents
from psmr.network.case.case import Case
from psmr.network.case.checks import HIGHEST_HZ, LOWEST_HZ
from psmr.network.case.tables import (
    KEPT,
    POWER,
    TORQUE,
    AreaRow,
    BusRow,
    GeneratorRow,
    LoadRow,
    RelayRow,
    ShuntRow,
)
from psmr.network.powerflow.voltages import balances, held_as_solved

Parts = tuple[float, float, float]

_POWER = (0.0, 0.0, 1.0)


def _row(record: PsseRecord, name: str, power: tuple[float, float], parts: tuple[Parts, Parts]) -> LoadRow:
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


SHOWN = 8
"""Most names in a list."""


def with_load_bus_machines(case: Case, machines: Sequence[GeneratorRow]) -> Case:
    """Return the case, with machines at buses of type 1 where its stored solution is one with them alone.

    MATPOWER and PowSyBl write generators of given power to such buses; PSS/E's solutions are without them.

    Warns with the machines, what becomes of them, and what to do for the other.
    """
    if not machines:
        return case
    at = {name: bus.number for bus in case.buses for name in (*bus.aliases, str(bus.number))}
    there = [replace(row, bus=at[str(row.bus)]) for row in machines if str(row.bus) in at]
    counted = replace(case, generators=(*case.generators, *there))
    counts = bool(there) and not balances(case) and balances(counted)
    total = sum(row.p_mw for row in machines)
    done = (
        f"{total:g} MW counted: the voltages of the file are a solution with them alone. PSS/E needs IDE = 2"
        " for them, with QT = QB = QG"
        if counts
        else f"{total:g} MW left out. Programs that write such machines as generators of given P and Q"
        " (MATPOWER, PowSyBl) mean them to count: then give their buses IDE = 2, with QT = QB = QG"
    )
    warn(
        f"{machines[0].where}: {listed(machines)} in service at buses of type 1 (IDE = 1), which PSS/E passes"
        f" over; {done}"
    )
    return counted if counts else case


def listed(machines: Sequence[GeneratorRow]) -> str:
    """Return how many machines there are, and the first by name, power and line."""
    found = [
        f"{row.name} {row.p_mw:g} MW, {row.q_mvar:g} Mvar, line {row.where.rpartition(':')[2].split()[0]}"
        for row in machines
    ]
    return f"{len(found)} machine{'s' if len(found) > 1 else ''} ({first_few(found, SHOWN, '; ')})"


_CONTROLS = {1: "pq", 2: "pv", 3: "slack"}

_SAME_V, _SAME_Q = 1e-5, 0.5
"""What stored voltages in pu and reactive powers in Mvar may be off and still be what is held."""


def read_raw(
    path: str | Path,
    dynamics: str | Path | None = None,
    skip_unknown_models: bool = False,
    net_unmodelled: bool = False,
    mechanical: str | None = None,
    form: str = "raw",
    own: UserComponents = NONE,
) -> Case:
    """Return the case in a RAW file, with the plants of a DYR file if one is given.

    `skip_unknown_models` leaves out devices that psmr has no model of: controllers in the DYR file, FACTS
    devices that exchange power among each other, and GNE devices in the RAW file. `net_unmodelled` leaves
    generators without a machine in the DYR file without devices, for `net_generators`. `form` is ``"raw"``,
    ``"rawx"`` (PSS/E's JSON) or ``"epc"`` (PSLF). Raises CaseError, with file and line, for everything that
    the standard forbids and for what psmr cannot model.
    """
    raw = read_sections(path, form)
    raw = replace(raw, records=last_of_each(raw.records))
    mistakes = Mistakes()
    tables = _Tables(raw, skip_unknown_models, mistakes)
    frequency = _frequency(raw.head)
    names = ("buses", "lines", "transformers", "shunts", "loads", "generators")
    rows: Rows = {name: getattr(tables, name) for name in names} | {"relays": []}
    controlled: Collection[str] = ()
    if dynamics is not None:
        direct = DirectCurrentRecords(tables.converters.direct, tables.converters.stored, tables.base)
        given = tables.units, tables.load_units, tables.switched, frequency, mistakes
        rows = with_dynamics(rows, dynamics, *given, skip_unknown_models, net_unmodelled, own, direct)
        controlled = direct.rows
    tables.converters.tell_held(controlled)
    mistakes.finish()
    generators = [*rows["generators"], *tables.holding]
    if not generators and tables.passed_over:
        raise CaseError(
            f"{path}: no generator counts: {listed(tables.passed_over)} in service at buses of type 1 (IDE ="
            " 1), which PSS/E passes over; give one of these IDE = 3 and the others 2"
        )
    rows["generators"] = with_one_voltage(generators, tables.without_impedance(raw.threshold))
    direct_current = {name: rows.pop(name, []) for name in ("dc_buses", "dc_lines", "dc_converters")}
    rows = join_buses(rows, tables.zero, tables.base)
    rows = energised_rows(rows, str(path))
    rows |= at_buses(rows | direct_current)
    rows["relays"] = list(_with_branches(rows))
    rows["areas"] = tables.areas
    branches = rows["lines"] + rows["transformers"]
    holding = reachable(rows["generators"], rows["buses"], branches)
    rows["generators"] = with_common_voltages(holding, {row.number: row.v for row in rows["buses"]})
    case = Case(
        name=raw.title or Path(path).stem,
        base_mva=tables.base,
        frequency_hz=frequency,
        source=str(path),
        mechanical=mechanical or (TORQUE if dynamics is None else POWER),
        modules=own.modules,
        **{name: tuple(table) for name, table in rows.items()},  # type: ignore[arg-type]  # by name
    )
    return held_as_solved(with_load_bus_machines(case, tables.passed_over))


def _area(record: PsseRecord) -> AreaRow:
    """Return an area; without a slack bus (ISW = 0) its interchange is not controlled."""
    schedule = record.real("PDES", 0.0) if record.whole("ISW", 0) else None
    label = "".join(record.text("ARNAME", "").replace(".", "").split())
    where = record.where
    return AreaRow(record.whole("I"), label, schedule, abs(record.real("PTOL", 10.0)), where=where)


def _with_branches(rows: Rows) -> Iterator[RelayRow]:
    """Yield the relays, with a warning in place of each whose branch is left out."""
    there = {row.name for name in ("lines", "transformers") for row in rows[name]}
    for row in rows["relays"]:
        opens = placement(row.device.component).acts_on == "branch"
        lost = [name for name in (row.branch, row.acts_on if opens else "") if name and name not in there]
        if lost:
            warn(f"{row.place}: {lost[0]} is left out, and the relay with it")
        else:
            yield row


def _frequency(head: PsseRecord) -> float:
    """Return the nominal frequency; 60 Hz with a warning where the file gives none."""
    if head.has("BASFRQ"):
        frequency_hz = head.positive("BASFRQ")
        if not LOWEST_HZ <= frequency_hz <= HIGHEST_HZ:
            words = f"must be between {LOWEST_HZ:g} (railways) and {HIGHEST_HZ:g} Hz (aircraft)"
            raise head.error("BASFRQ", words)
        return frequency_hz
    warn(f"{head.where}: gives no frequency; taken as 60 Hz")
    return 60.0


class _Tables:
    """The rows of a case, filled section by section."""

    def __init__(self, raw: RawFile, skip: bool, mistakes: Mistakes) -> None:
        self.raw, self.skip, self.mistakes = raw, skip, mistakes
        self.base = raw.head.positive("SBASE", 100.0)
        self.shunts: list[ShuntRow] = []
        self.switched: dict[Key, str] = {}
        self.loads: list[LoadRow] = []
        self.load_units: list[LoadUnit] = []
        self.generators: list[GeneratorRow] = []
        self.units: dict[Key, GeneratorUnit] = {}
        self.passed_over: list[GeneratorRow] = []
        self._bus: dict[int, PsseRecord] = {}
        attempt = mistakes.attempt
        found = [attempt(self._bus_row, record) for record in self._records("bus")]
        self.buses = [row for row in found if row is not None]
        for record in (lines[0] for section in UNMODELLED for lines in raw.records.get(section, ())):
            name = record.text("NAME") or record.text("I")
            if is_unmodelled(record):
                attempt(self.leave_out, record, f"psmr has no model of {record.section}: {name}")
        tables = attempt(corrections, self._records("impedance correction"), raw.version)
        windings = Transformers(self.base, self._bus, self.buses, tables or {})
        lines, converters = Lines(self.base, self._bus), Converters(self.base, self._bus)
        self.converters = converters
        for section, take in (
            ("load", self._load),
            ("fixed shunt", self._shunt),
            ("switched shunt", self._shunt),
            ("generator", self._generator),
            ("branch", lines.add),
            ("switching device", lines.add),
        ):
            for record in self._records(section):
                attempt(take, record)
        if not self.generators and not mistakes.found:
            self._sources()
        for section, take_lines in (
            ("transformer", windings.add),
            ("two-terminal dc", converters.add_line),
            ("vsc dc", converters.add_line),
            ("multi-terminal dc", converters.add_line),
        ):
            for part in raw.records.get(section, ()):
                attempt(take_lines, part)
        for record in self._records("facts"):
            if not is_unmodelled(record):
                attempt(converters.add_facts, record)
        for record in self._records("induction machine"):
            attempt(converters.add_machine, record)
        areas = [attempt(_area, record) for record in self._records("area")]
        self.areas = [row for row in areas if row is not None]
        self.holding = converters.holding
        self.buses += windings.stars
        self.loads += converters.loads
        self.lines, self.zero = lines.rows + converters.lines, lines.zero + converters.zero
        self.shunts += lines.shunts
        self.transformers = lines.turned + windings.rows

    def _records(self, section: str) -> list[PsseRecord]:
        return [record for (record,) in self.raw.records.get(section, ())]

    def without_impedance(self, threshold: float) -> list[tuple[int, int]]:
        """Return the buses at both ends of branches in service that PSS/E takes for none: R = 0, small X."""
        small = [row for row in self.lines if row.status and row.r == 0 and abs(row.x) <= threshold]
        return [(row.from_bus, row.to_bus) for row in small] + [(i, j) for i, j, _ in self.zero]

    def _sources(self) -> None:
        """Add a generator at each swing bus of a file without any in service: its voltage is held."""
        for number, bus in self._bus.items():
            if bus.whole("IDE", 1) != 3:
                continue
            what = "IDE = 3 (swing), and no generator is in service anywhere"
            warn(f"{bus.where}: {what}: taken as a source of its voltage")
            v, angle_deg = bus.positive("VM", 1.0), bus.real("VA", 0.0)
            row = GeneratorRow(
                f"G{number}", number, "slack", v=v, angle_deg=angle_deg, rating_mva=self.base, where=bus.where
            )
            self.generators.append(row)

    def leave_out(self, record: PsseRecord, what: str) -> None:
        """Warn that something is left out, or raise CaseError where that was not asked for."""
        if not self.skip:
            remedy = "take it out of the file, or skip it with a warning (--skip-unknown-models)"
            raise CaseError(f"{record.where}: {what}; {remedy}")
        warn(f"{record.where}: {what}; left out")

    def _bus_row(self, record: PsseRecord) -> BusRow | None:
        number, kind = record.bus("I"), record.one_of("IDE", (1, 2, 3, 4), 1)
        self._bus[number] = record
        kv = record.real("BASKV", 0.0)
        record.require(kv >= 0, "BASKV", "must be >= 0 (0: unknown)")
        if kind == 4:
            return None
        v, angle_deg = record.positive("VM", 1.0), record.real("VA", 0.0)
        self._load_at_bus(record)
        g, b = record.real("GL", 0.0), record.real("BL", 0.0)
        if g or b:
            self.shunts.append(ShuntRow(number, g, b, 1, f"shunt{number}", where=record.where))
        area, zone = (record.whole(name, 1) for name in ("AREA", "ZONE"))
        label = " ".join(record.text("NAME").split())
        known = not label or label == f"bus{number}" or label.isdecimal()
        aliases = () if known or not label.isprintable() else (label,)
        return BusRow(number, kv, "", v, angle_deg, area, zone, aliases, where=record.where)

    def _load_at_bus(self, record: PsseRecord) -> None:
        """Add the load that the record of a bus has (version 23)."""
        powers = [record.real(name, 0.0) for name in ("PL", "QL")]
        if not any(powers):
            return
        number = record.whole("I")
        self.loads.append(_row(record, f"load{number}", (powers[0], powers[1]), (_POWER, _POWER)))
        area, zone, owner = (record.whole(name, 1) for name in ("AREA", "ZONE", "OWNER"))
        self.load_units.append(LoadUnit(number, "1", area, zone, owner, (f"load{number}",)))

    def _load(self, record: PsseRecord) -> None:
        """Add the rows of a load: one, or one for each kind where its parts have opposite signs."""
        ident = name_part(record.text("ID", "1"))
        status = record.one_of("STATUS", (0, 1), 1)
        bus = bus_of(self._bus, record, status=status)
        powers = {name: record.real(name, 0.0) for name in ("PL", "QL", "IP", "IQ", "YP", "YQ")}
        if bus is None or not status:
            return
        for power, own in (("PL", "DGENP"), ("QL", "DGENQ")):
            powers[power] -= record.real(own, 0.0) if record.one_of("DGENM", (0, 1), 0) else 0.0
        # Constant impedance, current, power. YQ is a susceptance: positive for a capacitor.
        p = (powers["YP"], powers["IP"], powers["PL"])
        q = (-powers["YQ"], powers["IQ"], powers["QL"])
        number = record.whole("I")
        name = f"load{number}{suffix(ident)}"
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

    def _shunt(self, record: PsseRecord) -> None:
        kind = "switched" if record.section == "switched shunt" else "shunt"
        number, ident = record.whole("I"), name_part(record.text("ID", "1"))
        status = record.one_of("STATUS" if kind == "shunt" else "STAT", (0, 1), 1)
        bus = bus_of(self._bus, record, status=status)
        regulating = kind == "switched" and self._moves(record)
        g, b = record.real("GL", 0.0), record.real("BL" if kind == "shunt" else "BINIT", 0.0)
        if bus is not None:
            name = f"{kind}{number}{suffix(ident)}"
            control = self._switching(record) if regulating and status else {}
            if kind == "switched":
                self.switched[number, ident] = name
            self.shunts.append(
                ShuntRow(number, g, b, status, name, regulating, where=record.where, **control)
            )

    @staticmethod
    def _moves(record: PsseRecord) -> bool:
        """Return whether a switched shunt keeps something; warn of one whose record does not say what."""
        mode, high, low = record.whole("MODSW", 1), record.real("VSWHI", 1.0), record.real("VSWLO", 1.0)
        if not 0 <= mode <= 6:
            warn(f"{record.where}: MODSW = {mode}: must be 0 to 6; the shunt stays at BINIT")
        elif mode > 0 and high < low:
            order = f"VSWHI = {high:g} is below VSWLO = {low:g}"
            warn(f"{record.where}: {order}: the shunt stays at BINIT; exchange them")
        return 0 < mode <= 6 and high >= low

    def _switching(self, record: PsseRecord) -> dict[str, Any]:
        """Return what a switched shunt keeps by its MODSW as fields of its row, if it is there."""
        mode, high, low = record.whole("MODSW", 1), record.real("VSWHI", 1.0), record.real("VSWLO", 1.0)
        if mode in (4, 6):
            return {"controls": KEPT[mode - 2]}
        bus = abs(record.whole("SWREM", 0)) or record.whole("I")
        there = self._bus.get(bus)
        if there is None or there.whole("IDE", 1) == 4:
            return {}
        steps: list[float] = []
        for k in range(1, 9):
            count, each = record.whole(f"N{k}", 0), record.real(f"B{k}", 0.0)
            if record.one_of(f"S{k}", (0, 1), 1) and count > 0 and each:
                steps += [float(count), each]
        control = {"control_bus": bus, "v_low": low, "v_high": high, "controls": KEPT[max(mode - 2, 0)]}
        return control | {"steps": tuple(steps), "continuous": mode == 2}

    def _generator(self, record: PsseRecord) -> None:
        number, ident = record.whole("I"), name_part(record.text("ID", "1"))
        status = record.one_of("STAT", (0, 1), 1)
        bus = bus_of(self._bus, record, status=status)
        mbase = record.in_place_of_zero("MBASE", self.base)
        zr, zx = record.real("ZR", 0.0), record.real("ZX", 1.0)
        p, q = record.real("PG", 0.0), record.real("QG", 0.0)
        stepped = record.real("XT", 0.0) != 0
        row = None
        kind = 4 if bus is None or not status else bus.whole("IDE", 1)
        if bus is not None and kind != 4:
            low, high = record.limits("QB", "QT", 9999.0)
            name, control = f"G{number}{suffix(ident)}", _CONTROLS[kind]
            held = record.positive("VS", 1.0)
            regulated = record.whole("IREG", 0) if control == "pv" else 0
            solved = self._bus.get(regulated, bus).positive("VM", 1.0)
            if control == "pv" and high == low and self._fixed(record, solved, held, q, high):
                control, q, regulated = "pq", high, 0
            angle_deg = bus.real("VA", 0.0)
            share = record.share(regulated > 0) if control == "pv" else 100.0
            row = GeneratorRow(
                *(name, number, control, p, q, held, angle_deg, low, high, mbase),
                where=record.where,
                control_bus=regulated,
                share=share,
            )
            if kind == 1 and self.raw.load_buses_have_none:
                self.passed_over.append(row)
                row = None
            else:
                self.generators.append(row)
        self.units[number, ident] = GeneratorUnit(row, mbase, zr, zx, stepped, record.where)

    @staticmethod
    def _fixed(record: PsseRecord, solved: float, held: float, q: float, fixed: float) -> bool:
        """Return whether a unit with QT = QB is held there; not where the file was solved otherwise."""
        if abs(solved - held) > _SAME_V or abs(q - fixed) <= _SAME_Q:
            return True
        what = f"QT = QB = {fixed:g} and QG = {q:g} at VM = VS = {held:g}: the file was solved without limits"
        warn(f"{record.where}: {what}; the voltage is held")
        return False
