"""Load records of a PSS/E DYR file: which loads a record is for, and what they become.

The first number of a record is that of the bus, owner, zone or area, and 0 for all; the identifier is that of
the load, ``*`` for any. Where several records are for one load, that of the bus goes before that of the
owner, the zone, the area and of all. Source: Siemens PTI, PSS/E Program Operation Manual and Model Library,
load models; `psmr.files.psse.load_layout` for the values.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from psmr.base.errors import CaseError, Mistakes, PsmrWarning
from psmr.devices.loads.composite.three_phase import LETTERS
from psmr.devices.protection import NO_VOLTAGE
from psmr.files.psse.load_layout import COMPONENTS, KINDS, RECORDS, SCOPES
from psmr.files.psse.record import PsseRecord, name_part
from psmr.network.case.tables import DeviceRow, LoadRow, RelayRow

if TYPE_CHECKING:
    from psmr.files.psse.entries import Entry

THREE_PHASE = 3
"""Code of a three-phase motor in a composite load."""


@dataclass(frozen=True)
class LoadUnit:
    """What load records need of a load of the RAW file: to whom it belongs, and the names of its rows."""

    bus: int
    ident: str
    area: int
    zone: int
    owner: int
    rows: tuple[str, ...]

    def belongs(self, scope: str, number: int) -> bool:
        """Return whether a record with this ending and number is for it."""
        mine = {"BL": self.bus, "OW": self.owner, "ZN": self.zone, "AR": self.area}
        return scope == "AL" or mine[scope] == number


class LoadRecords:
    """The load records of a DYR file, gathered and then applied to the loads of the RAW file.

    Attributes
    ----------
    relays
        The relays of motors, which drop at a low voltage.
    """

    def __init__(self, units: Sequence[LoadUnit], mistakes: Mistakes, frequency_hz: float) -> None:
        self.units, self.mistakes, self.frequency_hz = units, mistakes, frequency_hz
        self.relays: list[RelayRow] = []
        self._found: dict[LoadUnit, tuple[int, Entry]] = {}

    @staticmethod
    def models() -> tuple[str, ...]:
        """Return the names of all load models with a record here."""
        return tuple(KINDS)

    def take(self, entry: Entry) -> None:
        """Keep a record for the loads that it is for.

        Raises
        ------
        CaseError
            Where it is for a load that another record of its kind is for.

        Warns
        -----
        PsmrWarning
            Where it is for no load of the RAW file; it is left out.
        """
        head = entry.head()
        scope = KINDS[entry.model][1]
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
            kind = KINDS[entry.model][0]
            makers = {"IEEL*": _characteristic, "CMLD*U2": _composite}
            made = self.mistakes.attempt(makers.get(kind, self._motor), entry)
            if made is not None:
                becomes |= dict.fromkeys(unit.rows, made)
        found = []
        for row in loads:
            new = self.mistakes.attempt(becomes[row.name], row) if row.name in becomes else row
            found.append(row if new is None else new)
        return found

    def _motor(self, entry: Entry) -> Callable[[LoadRow], LoadRow]:
        """Return what makes a load the motor in a record; its relay is kept."""
        kind = KINDS[entry.model][0]
        values = numbers(entry, RECORDS[kind].split())
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
            device = DeviceRow(row.name, "motor", COMPONENTS[kind][0], own, where=entry.where)
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


def _constant_power(entry: Entry, row: LoadRow) -> None:
    """Raise CaseError for a load with parts of constant current or impedance."""
    if row.v_0 is not None:
        raise CaseError(
            f"{entry.where}: {entry.model}: {row.where}: the load has parts of constant current or"
            " impedance (IP, IQ, YP, YQ), which the record would replace; make it PL and QL"
        )


def _characteristic(entry: Entry) -> Callable[[LoadRow], LoadRow]:
    """Return what makes a load one of the characteristic in a record."""
    values = numbers(entry, RECORDS["IEEL*"].split())
    steady, following = COMPONENTS["IEEL*"]
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


def _composite(entry: Entry) -> Callable[[LoadRow], LoadRow]:
    """Return what makes a load the composite load in a record."""
    values = numbers(entry, RECORDS["CMLD*U2"].split())
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
        device = DeviceRow(row.name, "composite", COMPONENTS["CMLD*U2"][0], values, where=entry.where)
        return replace(row, p_zip=(), q_zip=(), v_0=None, composite=device)

    return made


WHOSE = {"BL": "at bus", "OW": "of owner", "ZN": "in zone", "AR": "in area"}


def no_load(ident: str, number: int, there: Sequence[LoadUnit], scope: str = "BL") -> str:
    """Return the words on a load that a bus, owner, zone or area has not in the RAW file."""
    whose = f"{WHOSE[scope]} {number} " if scope in WHOSE else ""
    known = ", ".join(dict.fromkeys(repr(unit.ident) for unit in there)) or "none"
    here = "at this bus" if scope == "BL" else "there"
    return f"there is no load {ident!r} {whose}in the RAW file ({here}: {known})"


def leave_out(entry: Entry, what: str) -> None:
    """Warn of a record, or a part of it, that is left out, and why."""
    warnings.warn(f"{entry.where}: {entry.model}: {what}; left out", PsmrWarning, stacklevel=5)


def numbers(entry: Entry, names: Sequence[str]) -> dict[str, float]:
    """Return the values of a record by name; those whose name begins with - are passed over.

    Raises
    ------
    CaseError
        Where there are too few or too many, or one is not a number.
    """
    words = entry.words[3:]
    if len(words) != len(names):
        raise CaseError(
            f"{entry.where}: {entry.model}: has {len(words)} values; must have {len(names)}:"
            f" {' '.join(name.lstrip('-') for name in names)}; does the record end with a slash?"
        )
    return {
        name: PsseRecord(entry.path, line, entry.model, (name,), (word,)).real(name)
        for name, (line, word) in zip(names, words, strict=True)
        if not name.startswith("-")
    }
