"""Records of loads and of static var systems in a PSS/E DYR file: what they are for, and what that becomes.

The first number of a load record is that of the bus, owner, zone or area, and 0 for all; the identifier is
that of the load, ``*`` for any. Where several records are for one load, that of the bus goes before that of
the owner, the zone, the area and of all. Source: Siemens PTI, PSS/E Program Operation Manual and Model
Library, load models; `psmr.files.psse.dyr_entries` for the values.

Static var systems stand on switched shunts:

======== ============================== ===============================================================
record   head                           values
======== ============================== ===============================================================
SVSMO1T2 bus, model                     regulated bus, flag of the mechanically switched shunts, flag
                                        of the slope, bus and identifier of eight mechanically switched
                                        shunts, then those of `VALUES`
SVSMO1T3 bus, model, identifier         the same
======== ============================== ===============================================================

Susceptances are per unit on the system base, thresholds of susceptance in Mvar. Source: for the order of the
values the public test data of InterPSS with a record that PSS/E 36 ran, for what they are the help of
PowerWorld.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from psmr.base.errors import CaseError, Mistakes, warn
from psmr.devices.loads.composite.three_phase import LETTERS
from psmr.devices.protection.relays import NO_VOLTAGE
from psmr.devices.static_var import SVSMO1
from psmr.devices.switched_shunts import SwitchedByStaticVar, SwitchedShunt
from psmr.files.psse.conventions import suffix
from psmr.files.psse.dyr_entries import (
    LOAD_COMPONENTS,
    LOAD_KINDS,
    LOAD_RECORDS,
    SCOPES,
    DyrRecord,
    Key,
    LoadUnit,
)
from psmr.files.psse.record import PsseRecord, name_part
from psmr.network.case.row import device_name
from psmr.network.case.switched_shunts import switching_of
from psmr.network.case.tables import DeviceRow, LoadRow, RelayRow, ShuntRow

if TYPE_CHECKING:
    from psmr.files.psse.dyr_entries import DyrRecord


THREE_PHASE = 3
"""Code of a three-phase motor in a composite load."""


class LoadRecords:
    """The load records of a DYR file, gathered and then applied to the loads of the RAW file.

    `relays`: the relays of motors, which drop at a low voltage.
    """

    def __init__(self, units: Sequence[LoadUnit], mistakes: Mistakes, frequency_hz: float) -> None:
        self.units, self.mistakes, self.frequency_hz = units, mistakes, frequency_hz
        self.relays: list[RelayRow] = []
        self._found: dict[LoadUnit, tuple[int, DyrRecord]] = {}

    def takers(self) -> dict[str, Callable[[DyrRecord], None]]:
        """Return what takes the records of each model."""
        return dict.fromkeys(LOAD_KINDS, self.take)

    def take(self, entry: DyrRecord) -> None:
        """Keep a record for the loads that it is for.

        Raises CaseError where it is for a load that another record of its kind is for. Warns where it is for
        no load of the RAW file; it is left out.
        """
        head = entry.head()
        scope = LOAD_KINDS[entry.model][1]
        number, ident = head.whole("bus"), name_part(head.text("id", "1"))
        of = [unit for unit in self.units if unit.belongs(scope, number)]
        mine = [unit for unit in of if "*" in head.text("id", "1") or unit.ident == ident]
        if not mine and scope == "BL":
            leave_out(entry, no_load(ident, number, of))
        rank = SCOPES.index(scope)
        for unit in mine:
            before = self._found.get(unit)
            if before is not None and before[0] == rank:
                raise CaseError(
                    f"{entry.where}: {entry.model}: {before[1].where} gives load {unit.ident!r} at bus"
                    f" {unit.bus} a model already; keep one"
                )
            if before is None or rank < before[0]:
                self._found[unit] = rank, entry

    def applied(self, loads: Sequence[LoadRow]) -> list[LoadRow]:
        """Return the loads with what the records make of them."""
        becomes: dict[str, Callable[[LoadRow], LoadRow]] = {}
        for unit, (_, entry) in self._found.items():
            kind = LOAD_KINDS[entry.model][0]
            makers = {"IEEL*": _characteristic, "CMLD*U2": _composite}
            made = self.mistakes.attempt(makers.get(kind, self._motor), entry)
            if made is not None:
                becomes |= dict.fromkeys(unit.rows, made)
        found = []
        for row in loads:
            new = self.mistakes.attempt(becomes[row.name], row) if row.name in becomes else row
            found.append(row if new is None else new)
        return found

    def _motor(self, entry: DyrRecord) -> Callable[[LoadRow], LoadRow]:
        """Return what makes a load the motor in a record; its relay is kept."""
        kind = LOAD_KINDS[entry.model][0]
        values = numbers(entry, LOAD_RECORDS[kind].split())
        low, wait, breaker = (values.pop(name) for name in ("VI", "TI", "TB"))
        base, times = values.pop("MBASE"), values.pop("PMULT")
        saturation = [values.pop(name) for name in ("E1", "SE1", "E2", "SE2")]
        if saturation[1] or saturation[3]:
            raise CaseError(
                f"{entry.where}: {entry.model}: S(E1) = {saturation[1]:g} and S(E2) = {saturation[3]:g}: psmr"
                " has this motor without saturation only; make both 0"
            )
        if base <= 0 and times <= 0:
            raise CaseError(
                f"{entry.where}: {entry.model}: MBASE = {base:g} and PMULT = {times:g}: one must be > 0; they"
                " give the motor its base"
            )
        double = values["r_2"] > 0 and values["x_2"] > 0
        if not double:
            # The second type with one cage is the first: the reactance is in series with it in both.
            values |= {"r_2": 0.0, "x_2": 0.0, "circuit": 1.0}

        def made(row: LoadRow) -> LoadRow:
            _constant_power(entry, row)
            own = values | {"s_n": base or times * row.p_mw, "cages": 2.0 if double else 1.0}
            device = DeviceRow(row.name, "motor", LOAD_COMPONENTS[kind][0], own, where=entry.where)
            if low > 0:
                cycles = {"pickup": wait / self.frequency_hz, "breaker": breaker / self.frequency_hz}
                trip = DeviceRow(
                    f"drop-{row.name}",
                    "relay",
                    "VoltageTrip",
                    {"low": low, "high": NO_VOLTAGE} | cycles,
                    where=entry.where,
                )
                self.relays.append(RelayRow(trip.name, row.bus, row.name, trip, where=entry.where))
            return replace(row, p_zip=(), q_zip=(), v_0=None, motor=device)

        return made


def _constant_power(entry: DyrRecord, row: LoadRow) -> None:
    """Raise CaseError for a load with parts of constant current or impedance."""
    if row.v_0 is not None:
        raise CaseError(
            f"{entry.where}: {entry.model}: {row.where}: the load has parts of constant current or"
            " impedance (IP, IQ, YP, YQ), which the record would replace; make it PL and QL"
        )


def _characteristic(entry: DyrRecord) -> Callable[[LoadRow], LoadRow]:
    """Return what makes a load one of the characteristic in a record."""
    values = numbers(entry, LOAD_RECORDS["IEEL*"].split())
    steady, following = LOAD_COMPONENTS["IEEL*"]
    component = following if values["a_7"] or values["a_8"] else steady
    if component == steady:
        values = {k: v for k, v in values.items() if k not in ("a_7", "a_8")}

    def made(row: LoadRow) -> LoadRow:
        given = dict(values)
        _constant_power(entry, row)
        for power, parts in ((row.p_mw, ("a_1", "a_2", "a_3")), (row.q_mvar, ("a_4", "a_5", "a_6"))):
            # Parts of nothing may be nothing.
            if power == 0 and sum(given[part] for part in parts) == 0:
                given[parts[0]] = 1.0
        device = DeviceRow(row.name, "characteristic", component, given, where=entry.where)
        return replace(row, p_zip=(), q_zip=(), v_0=None, characteristic=device)

    return made


def _composite(entry: DyrRecord) -> Callable[[LoadRow], LoadRow]:
    """Return what makes a load the composite load in a record."""
    values = numbers(entry, LOAD_RECORDS["CMLD*U2"].split())
    for k in LETTERS:
        if (kind := values.pop(f"mtyp_{k}")) != THREE_PHASE and values[f"fm_{k}"] > 0:
            raise CaseError(
                f"{entry.where}: {entry.model}: Mtyp{k.upper()} = {kind:g}: psmr has this motor with three"
                f" phases only; make it {THREE_PHASE}"
            )
        if values[f"tppo_{k}"] == 0 or values[f"lpp_{k}"] == 0:
            # One cage: the subtransient circuit is the transient one, with whatever time constant.
            values |= {f"tppo_{k}": values[f"tpo_{k}"], f"lpp_{k}": values[f"lp_{k}"]}
    for gain, exponent in (("kp1", "np1"), ("kq1", "nq1"), ("kp2", "np2"), ("kq2", "nq2")):
        if values[gain] == 0:
            values[exponent] = max(values[exponent], 1.0)

    def made(row: LoadRow) -> LoadRow:
        _constant_power(entry, row)
        device = DeviceRow(row.name, "composite", LOAD_COMPONENTS["CMLD*U2"][0], values, where=entry.where)
        return replace(row, p_zip=(), q_zip=(), v_0=None, composite=device)

    return made


WHOSE = {"BL": "at bus", "OW": "of owner", "ZN": "in zone", "AR": "in area"}


def no_load(ident: str, number: int, there: Sequence[LoadUnit], scope: str = "BL") -> str:
    """Return the words on a load that a bus, owner, zone or area has not in the RAW file."""
    whose = f"{WHOSE[scope]} {number} " if scope in WHOSE else ""
    known = ", ".join(dict.fromkeys(repr(unit.ident) for unit in there)) or "none"
    here = "at this bus" if scope == "BL" else "there"
    return f"there is no load {ident!r} {whose}in the RAW file ({here}: {known})"


def leave_out(entry: DyrRecord, what: str) -> None:
    """Warn of a record, or a part of it, that is left out, and why."""
    warn(f"{entry.where}: {entry.model}: {what}; left out")


def numbers(entry: DyrRecord, names: Sequence[str]) -> dict[str, float]:
    """Return the values of a record by name; those whose name begins with - are passed over.

    Raises CaseError where there are too few or too many, or one is not a number.
    """
    words = entry.words[3:]
    entry.check_count(len(words), names)
    return {
        name: PsseRecord(entry.path, line, entry.model, (name,), (word,)).real(name)
        for name, (line, word) in zip(names, words, strict=True)
        if not name.startswith("-")
    }


SHUNTS = tuple(f"{name}{k}" for k in range(1, 9) for name in ("MSSBUS", "MSSID"))
"""Bus and identifier of each mechanically switched shunt that the system could switch."""

_VALUES = (
    "uvsb_max uv1 uv2 uvt ov1 ov2 uv_tm1 uv_tm2 ov_tm1 ov_tm2 x_c1 x_c2 x_c3 v_up v_low t_c1 t_b1 t_c2 "
    "t_b2 k_pv k_iv ve_max ve_min t_2 b_shrt b_max b_min t_shrt k_ps k_is vr_max vr_min vdbd1 vdbd2 "
    "t_dbd pll_delay eps Blcs b_scs Blis b_sis Tmssbrk Tdelay1 Tdelay2 Tout v_ref_min v_ref_max"
)
VALUES = tuple(_VALUES.split())
"""Parameters of SVSMO1 in the order of the values, and those of mechanically switched shunts."""

OF_BANKS = ("Blcs", "Blis", "Tmssbrk", "Tdelay1", "Tdelay2", "Tout")

LAYOUT = ("IBUS", "FLAG1", "slope_flag", *SHUNTS, *VALUES)

SWITCHED = ("IB", "NS", "v_high", "t_high", "s_high", "v_low", "t_low", "s_low")
"""Values of SWSHNT: remote bus, steps that it may take, then parameters of `SwitchedShunt`."""

STATIC_VAR_RECORDS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("SVSMO1T2", "SVSMO1T3"), (SVSMO1.__name__,)),
    "SWSHNT": (SwitchedShunt.__name__,),
}
"""Model to the components that it becomes."""


class StaticVarRecords:
    """The records of static var systems in a DYR file, and what they make of the shunts.

    `shunts`: name of each switched shunt of the RAW file by its bus and identifier.
    """

    def __init__(self, shunts: Mapping[Key, str]) -> None:
        self.shunts = shunts
        self.found: dict[str, DeviceRow] = {}
        self.switched: dict[str, tuple[DyrRecord, dict[str, float]]] = {}
        self.banks: dict[Key, tuple[DyrRecord, dict[str, float]]] = {}

    def takers(self) -> dict[str, Callable[[DyrRecord], None]]:
        """Return what takes the records of each model."""
        return {**dict.fromkeys(STATIC_VAR_RECORDS, self._svsmo1), "SWSHNT": self._swshnt}

    def applied(self, rows: Sequence[ShuntRow]) -> list[ShuntRow]:
        """Return the shunts with their static var systems, and with what switches them."""
        return [self._applied(row) for row in rows]

    def _applied(self, row: ShuntRow) -> ShuntRow:
        if row.name in self.found:
            return replace(row, static_var_system=self.found[row.name])
        if (found := self.switched.get(row.name)) is None:
            return self._bank(row)
        entry, values = found
        if not row.steps:
            leave_out(entry, f"{row.name} has no blocks of steps in the RAW file that a voltage switches")
            return row
        return replace(row, switching=switching_of(row, values, where=entry.where))

    def _swshnt(self, entry: DyrRecord) -> None:
        record = entry.record("I", *SWITCHED)
        if (name := self._shunt(record, False)) is None:
            return
        values = {value: record.real(value) for value in SWITCHED[2:]}
        remote = record.whole("IB", 0)
        bus = 0.0 if remote == record.bus("I") else float(remote)
        self.switched[name] = entry, values | {"bus": bus, "moves": float(record.whole("NS", 0))}

    def _svsmo1(self, entry: DyrRecord) -> None:
        identified = entry.model == "SVSMO1T3"
        record = entry.record("I", *(("ID",) if identified else ()), *LAYOUT)
        name = self._shunt(record, identified)
        if name is None:
            return
        if record.one_of("FLAG1", (0, 1)) == 1:
            self._banks(entry, record)
        values = {value: record.real(value) for value in VALUES if value not in OF_BANKS}
        regulated = record.whole("IBUS", 0)
        values["bus"] = 0.0 if regulated == record.bus("I") else float(regulated)
        values["slope_flag"] = float(record.one_of("slope_flag", (0, 1)))
        self.found[name] = DeviceRow(name, SVSMO1.role, SVSMO1.__name__, values, where=entry.where)

    def _banks(self, entry: DyrRecord, record: PsseRecord) -> None:
        """Note the mechanically switched shunts of a record, which are fixed or switched ones."""
        values = {
            **{"system_bus": float(record.bus("I")), "t_breaker": record.real("Tmssbrk")},
            **{"t_large": record.real("Tdelay1"), "t_small": record.real("Tdelay2")},
            **{"over_large": record.real("Blcs"), "over_small": record.real("b_scs")},
            **{"under_large": -record.real("Blis"), "under_small": -record.real("b_sis")},
            "t_discharge": record.real("Tout"),
        }
        places = [(record.whole(bus, 0), ident) for bus, ident in zip(SHUNTS[::2], SHUNTS[1::2], strict=True)]
        given = [(bus, name_part(record.text(ident, "1"))) for bus, ident in places if bus]
        if not given:
            warn(f"{entry.where}: {entry.model}: FLAG1 = 1, and it names no shunt to switch")
        self.banks |= dict.fromkeys(given, (entry, values))

    def _bank(self, row: ShuntRow) -> ShuntRow:
        """Return a shunt with what switches it, where a static var system does."""
        for key, (entry, values) in self.banks.items():
            names = {f"shunt{key[0]}{suffix(key[1])}", self.shunts.get(key, "")}
            if row.name in names and row.static_var_system is None:
                name = device_name(row.name, SwitchedByStaticVar.role)
                step = values | {"n_1": 1.0, "b_1": row.b_mvar}
                kind = SwitchedByStaticVar
                made = DeviceRow(name, kind.role, kind.__name__, step, where=entry.where)
                return replace(row, switching=made, b_mvar=row.status * row.b_mvar, status=1)
        return row

    def _shunt(self, record: PsseRecord, identified: bool) -> str | None:
        """Return the shunt that a record belongs to, by name; None, with a warning, without one."""
        bus = record.bus("I")
        there = {ident: name for (at, ident), name in self.shunts.items() if at == bus}
        ident = name_part(record.text("ID")) if identified else next(iter(there), "1")
        if ident in there:
            return there[ident]
        known = ", ".join(map(repr, there)) or "none"
        what = f"there is no switched shunt {ident!r} at bus {bus} in the RAW file (at this bus: {known})"
        warn(f"{record.where}: {what}; left out")
        return None


def static_var_record(row: ShuntRow, device: DeviceRow) -> str:
    """Return the record of a shunt's static var system, without mechanically switched shunts."""
    values = device.values
    shunts = " ".join(f"0 '{k}'" for k in range(1, 9))
    numbers = " ".join(repr(values.get(name, 0.0)) for name in VALUES)
    regulated = int(values["bus"]) or row.bus
    return f"{row.bus} 'SVSMO1T2' {regulated} 0 {int(values['slope_flag'])} {shunts} {numbers} /\n"
