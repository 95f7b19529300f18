"""Transformers of a PSS/E RAW file: their codes, and three windings as a star.

Everything becomes per unit on the system base and the bus voltages. A two-winding transformer with the
ratios t1 and t2 and the impedance z between them is one with the ratio t1/t2 at bus I and z t2^2 behind it.
The magnetising admittance stands at bus I, before the ratio. Source: Siemens PTI, PSS/E Program Operation
Manual, transformer data:

====  =================================  =================================  ============================
code  1                                  2                                  3
====  =================================  =================================  ============================
CW    ratio per unit of the bus voltage  winding voltage in kV              ratio per unit of NOMV
CZ    per unit on the system base        per unit on SBASE of the pair      loss in W, abs(z) on that SBASE
CM    g, b per unit on the system base   loss in W, current on SBASE1-2
====  =================================  =================================  ============================

Impedance correction tables of a PSS/E RAW file: factors of a winding's impedance by its tap or its angle.

Up to version 33 a table is one line of pairs (T, F); from 34 on F is complex and a table goes on over lines
until a point of zeros. A table is one of angles in degrees where its T leave the range of ratios, otherwise
one of ratios in pu; between points F is linear, beyond the ends it is that of the end. Source: Siemens PTI,
PSS/E Program Operation Manual, transformer impedance correction tables.

Branches of a PSS/E RAW file that are no transformers: lines, switching devices, joints.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from psmr.base.errors import warn
from psmr.files.load_flow_rules import Joint, with_charging_in_front
from psmr.files.psse.conventions import THRSHZ, bus_of, circuit_number, suffix, tell_of_absent
from psmr.files.psse.record import PsseRecord, name_part
from psmr.network.case.tables import (
    ACTIVE,
    REACTIVE_POWER,
    VOLTAGE,
    BusRow,
    LineRow,
    ShuntRow,
    TransformerRow,
)
from psmr.network.case.tap_changers import POSITIONS

RATIOS = (0.0, 3.0)
"""Range of T, both ends left out, of a table by ratio."""


@dataclass(frozen=True)
class Correction:
    """A table: points and factors, and whether the points are angles in degrees."""

    points: tuple[float, ...]
    factors: tuple[complex, ...]
    by_angle: bool

    def factor(self, ratio: float, angle_deg: float) -> complex:
        """Return the factor of an impedance at a ratio in pu and an angle in degrees."""
        at = angle_deg if self.by_angle else ratio
        return complex(
            np.interp(at, self.points, np.real(self.factors)),
            np.interp(at, self.points, np.imag(self.factors)),
        )


def corrections(records: Iterable[PsseRecord], version: int) -> dict[int, Correction]:
    """Return the tables of a file by number.

    Raises CaseError for a table without two points, or whose points do not ascend.
    """
    width = 2 if version < 34 else 3
    found: dict[int, Correction] = {}
    number, start = 0, None
    points: list[list[float]] = []
    for record in records:
        values = [record.real(name, 0.0) for name in record.names]
        if start is None:
            start, number, points = record, record.bus("V0"), []
            values = values[1:]
        for k in range(0, len(values), width):
            point = (values[k : k + width] + [0.0] * width)[:width]
            if not any(point):
                break
            points.append(point)
        else:
            if width == 3:
                continue
        found[number] = _table(start, points)
        start = None
    if start is not None:
        found[number] = _table(start, points)
    return found


def _table(record: PsseRecord, points: list[list[float]]) -> Correction:
    at = [point[0] for point in points]
    good = len(at) > 1 and all(a < b for a, b in pairwise(at))
    record.require(good, "V0", "its table must have two points or more, with ascending T")
    factors = tuple(complex(*point[1:]) for point in points)
    return Correction(tuple(at), factors, not RATIOS[0] < at[0] < at[-1] < RATIOS[1])


_PAIRS = ("1-2", "2-3", "3-1")

# Sums and differences of three impedances that cancel leave a rounding error of this size at most, relative
# to the largest.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class _Winding:
    """A winding: its bus, its ratio and angle in degrees, whether it is in service, and its regulation.

    `control` has the fields of a row that say what it regulates; `correction` is of its impedance.
    """

    bus: int
    ratio: float
    angle: float
    on: bool
    regulating: bool = False
    control: Mapping[str, Any] | None = None
    correction: Correction | None = None

    @property
    def factor(self) -> complex:
        """The factor of its impedance at its ratio and angle."""
        return 1.0 if self.correction is None else self.correction.factor(self.ratio, self.angle)


_CONTROLS = {1: VOLTAGE, 2: REACTIVE_POWER, 3: ACTIVE}


class Transformers:
    """Collects the rows of transformers, and the star buses that three windings need.

    `base`: system base in MVA; `records`, `buses`: the records of all buses by number, and the rows of those
    that are not isolated; `tables`: impedance correction tables by number.
    """

    def __init__(
        self,
        base: float,
        records: Mapping[int, PsseRecord],
        buses: Sequence[BusRow],
        tables: Mapping[int, Correction],
    ) -> None:
        self._base, self._records, self._tables = base, records, tables
        self._connected = {bus.number for bus in buses}
        self._next = max(records, default=0) + 1
        self.rows: list[TransformerRow] = []
        self.stars: list[BusRow] = []

    def add(self, lines: Sequence[PsseRecord]) -> None:
        """Add the rows of a transformer, given the records of its lines."""
        first, second, *given = lines
        two = len(given) == 2
        buses = [abs(first.whole(name)) for name in ("I", "J", "K")[: len(given)]]
        status = first.one_of("STAT", (0, 1) if two else (0, 1, 2, 3, 4), 1)
        # 2, 3, 4: winding 2, 3, 1 alone is out of service.
        out = {0: (0, 1, 2), 2: (1,), 3: (2,), 4: (0,)}.get(status, ())
        absent = [k for k in out if k < len(buses) and buses[k] not in self._records]
        for k in absent:
            tell_of_absent(first, "IJK"[k], "the transformer" if two else f"winding {k + 1}")
        if absent and not (set(range(len(buses))) - set(out)):
            return
        windings = []
        for k, (bus, line) in enumerate(zip(buses, given, strict=True)):
            if k in absent:
                windings.append(_Winding(bus, 1.0, 0.0, False))
                continue
            angle = line.real("ANG", 0.0) if k == 0 or not two else 0.0
            ratio = self._ratio(first, line, bus)
            # The second of two windings has no codes of its own; below 0 the control is switched off.
            regulating = (k == 0 or not two) and line.whole("COD", 0) > 0
            on = k not in out and bus in self._connected
            control = self._control(line, ratio) if regulating else None
            winding = _Winding(bus, ratio, angle, on, regulating, control, self._correction(line))
            windings.append(winding)
        z = [self._impedance(first, second, pair) for pair in _PAIRS[: 1 if two else 3]]
        shunt = 0.0 if 0 in absent else self._magnetising(first, second, given[0], buses[0])
        ident = name_part(first.text("CKT", "1"))
        name = f"transformer{'-'.join(map(str, buses))}{'' if ident == '1' else f'-{ident}'}"
        if two:
            if not z[0]:
                warn(f"{second.where}: X1-2: {name} has no impedance; x = {THRSHZ:g} pu stands for it")
                z[0] = complex(0.0, THRSHZ)
            # The ratio of both windings is what the table goes by.
            whole = replace(windings[0], ratio=windings[0].ratio / windings[1].ratio)
            self._row(first, name, windings[0], windings[1], z[0] * whole.factor, shunt)
        elif any(winding.on for winding in windings):
            self._star(first, second, name, windings, z, shunt)

    def _star(
        self,
        first: PsseRecord,
        second: PsseRecord,
        name: str,
        windings: Sequence[_Winding],
        pairs: Sequence[complex],
        shunt: complex,
    ) -> None:
        """Add three windings as a star; the magnetising admittance is at the first."""
        z12, z23, z31 = pairs
        small = _ROUNDING * max(map(abs, pairs))
        legs = [
            complex(*(0.0 if abs(part) <= small else part for part in (z.real, z.imag)))
            for z in ((z12 + z31 - z23) / 2, (z12 + z23 - z31) / 2, (z23 + z31 - z12) / 2)
        ]
        none = [k for k, z in enumerate(legs) if not z]
        second.require(len(none) < 2, "X1-2", "two windings of the star have no impedance; join them")
        centre = next((k for k in none if windings[k].on), None)
        if centre is None:
            number, self._next = self._next, self._next + 1
            star = _Winding(number, 1.0, 0.0, True)
            label = name.replace("transformer", "star", 1)
            self.stars.append(BusRow(number, name=label, where=first.where))
            self._connected.add(number)
        else:
            # A winding without impedance is the star itself, behind its ratio.
            star = windings[centre]
        for k, winding in enumerate(windings):
            y = shunt if 0 in (k, centre) else 0.0
            if k == centre or (k in none):
                continue
            # The row begins at the first winding's bus where that is one of its two.
            ends = (star, winding) if centre == 0 else (winding, star)
            self._row(first, f"{name}-w{k + 1}", *ends, legs[k] * winding.factor, y)
            shunt = 0.0 if y else shunt

    def _row(
        self, first: PsseRecord, name: str, i: _Winding, j: _Winding, z: complex, shunt: complex
    ) -> None:
        """Add a transformer between two windings, unless one of their buses is isolated."""
        if not (i.bus in self._connected and j.bus in self._connected):
            return
        tap, square = i.ratio / j.ratio if j.ratio else 0.0, j.ratio * j.ratio
        y = shunt * tap * tap
        row = TransformerRow(
            circuit=circuit_number(first.text("CKT", "1")),
            from_bus=i.bus,
            to_bus=j.bus,
            r=z.real * square,
            x=z.imag * square,
            g=y.real,
            b=y.imag,
            status=int(i.on and j.on),
            name=name,
            tap=tap,
            shift_deg=i.angle - j.angle,
            regulating=i.regulating or j.regulating,
            where=first.where,
            **self._regulation(i, j.ratio),
        )
        self.rows.append(row)

    def _correction(self, line: PsseRecord) -> Correction | None:
        number = line.whole("TAB", 0)
        if number and number not in self._tables:
            what = f"TAB = {number}: there is no impedance correction table with this number"
            self._warn(line, f"{what}; the impedance is taken as given at every ratio")
        return self._tables.get(number) if number else None

    def _control(self, line: PsseRecord, ratio: float) -> dict[str, Any] | None:
        """Return what a winding regulates as the fields of its row, its own ratio still within `tap_min`."""
        what = _CONTROLS.get(line.whole("COD", 0))
        if what is None:
            return None
        # RMA, RMI are in the unit of WINDV, of a phase shifter in degrees.
        unit = 1.0 if what == ACTIVE else ratio / line.real("WINDV", ratio)
        defaults = {ACTIVE: (180.0, -180.0)}.get(what, (1.1 / unit if unit != 1 else 1.1, 0.9 / unit))
        high, low = (line.real(name, d) for name, d in zip(("RMA", "RMI"), defaults, strict=True))
        top, bottom = line.real("VMA", 1.1), line.real("VMI", 0.9)
        bus = abs(line.whole("CONT", 0))
        good = high > low and top >= bottom and (what != VOLTAGE or bus in self._connected)
        good &= what == ACTIVE or low > 0
        if not good:
            words = (
                f"COD = {line.text('COD')} with CONT = {bus}, [RMI, RMA] = [{low:g}, {high:g}], [VMI, VMA] ="
            )
            self._warn(line, f"{words} [{bottom:g}, {top:g}] regulates nothing; the tap is held")
            return None
        if (positions := line.whole("NTP", POSITIONS)) < 2:
            words = "a range has two positions or more; PSS/E's default is taken"
            self._warn(line, f"NTP = {positions}: {words}, {POSITIONS}")
            positions = POSITIONS
        return {
            "controls": what,
            "control_bus": bus if what == VOLTAGE else 0,
            "control_low": bottom,
            "control_high": top,
            "tap_min": low * unit,
            "tap_max": high * unit,
            "positions": positions,
            "r_c": line.real("CR", 0.0) if what == VOLTAGE else 0.0,
            "x_c": line.real("CX", 0.0) if what == VOLTAGE else 0.0,
        }

    @staticmethod
    def _warn(record: PsseRecord, words: str) -> None:
        warn(f"{record.where}: {words}")

    @staticmethod
    def _regulation(i: _Winding, other: float) -> dict[str, Any]:
        """Return the fields of a row that say what its tap regulates, and how its impedance follows."""
        found: dict[str, Any] = {}
        if i.correction is not None:
            found["correction"] = tuple(
                number
                for at, factor in zip(i.correction.points, i.correction.factors, strict=True)
                for number in (at, factor.real, factor.imag)
            )
        if i.control is None:
            return found
        by_ratio = {name: i.control[name] / other for name in ("tap_min", "tap_max")}
        return found | dict(i.control) | ({} if i.control["controls"] == ACTIVE else by_ratio)

    def _base_kv(self, record: PsseRecord, bus: int, why: str) -> float:
        """Return the base voltage of a bus; raise CaseError where it is not known but needed."""
        known = self._records.get(bus)
        if known is None:
            name = next(name for name in ("I", "J", "K") if abs(record.whole(name, 0)) == bus)
            raise record.error(name, "there is no bus with this number")
        kv = known.real("BASKV", 0.0)
        known.require(
            not why or kv > 0, "BASKV", f"must be > 0 for the transformer of line {record.line}: {why}"
        )
        return kv

    def _ratio(self, first: PsseRecord, line: PsseRecord, bus: int) -> float:
        """Return the ratio of a winding per unit of its bus voltage."""
        code = first.one_of("CW", (1, 2, 3), 1)
        nominal = line.real("NOMV", 0.0)
        line.require(nominal >= 0, "NOMV", "must be >= 0 (0: as the bus)")
        why = f"its CW is {code}" if code == 2 or (code == 3 and nominal) else ""
        kv = self._base_kv(first, bus, why)
        wind = line.positive("WINDV", kv if code == 2 else 1.0)
        if code == 1 or (code == 3 and not nominal):
            return wind
        return wind / kv if code == 2 else wind * (nominal / kv)

    def _impedance(self, first: PsseRecord, second: PsseRecord, pair: str) -> complex:
        """Return the impedance between two windings per unit on the system base."""
        code = first.one_of("CZ", (1, 2, 3), 1)
        r, x = second.real(f"R{pair}", 0.0), second.real(f"X{pair}")
        own = second.positive(f"SBASE{pair}", self._base)
        if code == 1:
            return complex(r, x)
        if code == 2:
            return complex(r, x) * (self._base / own)
        second.require(r >= 0, f"R{pair}", "must be >= 0 (CZ = 3: the load loss in W)")
        loss = r / 1e6 / own
        right = f"must be an impedance > 0, at least the {loss:g} that the loss R{pair} makes (CZ = 3)"
        second.require(x > 0 and x >= loss, f"X{pair}", right)
        return complex(loss, math.sqrt(x * x - loss * loss)) * (self._base / own)

    def _magnetising(self, first: PsseRecord, second: PsseRecord, line: PsseRecord, bus: int) -> complex:
        """Return the magnetising admittance per unit on the system base and the voltage of bus I."""
        code = first.one_of("CM", (1, 2), 1)
        mag1, mag2 = first.real("MAG1", 0.0), first.real("MAG2", 0.0)
        if code == 1:
            return complex(mag1, mag2)
        first.require(mag1 >= 0, "MAG1", "must be >= 0 (CM = 2: the no-load loss in W)")
        first.require(mag2 >= 0, "MAG2", "must be >= 0 (CM = 2: the exciting current)")
        nominal = line.real("NOMV", 0.0)
        kv = self._base_kv(first, bus, "its CM is 2" if nominal else "")
        voltage = kv / nominal if nominal else 1.0
        loss = mag1 / 1e6 / self._base
        current = mag2 * (second.positive("SBASE1-2", self._base) / self._base)
        right = f"must be a current of at least the {loss:g} pu (system base) that the loss MAG1 makes"
        first.require(current >= loss, "MAG2", right)
        return complex(loss, -math.sqrt(current * current - loss * loss)) * (voltage * voltage)


class Lines:
    """Collects the rows of branches.

    `base`: system base in MVA.

    `rows`, `turned`, `shunts`: lines; branches with a ratio; what stands at one end of a branch.
    `zero`: branches without impedance: the two buses and where it was read.
    """

    def __init__(self, base: float, buses: Mapping[int, PsseRecord]) -> None:
        self._base, self._buses = base, buses
        self.rows: list[LineRow] = []
        self.turned: list[TransformerRow] = []
        self.shunts: list[ShuntRow] = []
        self.zero: list[Joint] = []

    def add(self, record: PsseRecord) -> None:
        """Add the row of a branch, and the shunts at its ends."""
        i, j = (abs(record.whole(name)) for name in ("I", "J"))
        ident = name_part(record.text("CKT", "1"))
        switch = record.section == "switching device"
        status = record.one_of("STAT" if switch else "ST", (0, 1), 1)
        ends = [bus_of(self._buses, record, name, status) for name in ("I", "J")]
        r, x = record.real("R", 0.0), record.real("X", 1e-4 if switch else None)
        b = record.real("B", 0.0)
        g_i, b_i, g_j, b_j = (record.real(name, 0.0) for name in ("GI", "BI", "GJ", "BJ"))
        if None in ends:
            return
        if i == j:
            warn(f"{record.where}: joins bus {i} with itself; left out")
            return
        if r == x == 0:
            self._joint(record, i, j, status)
            if status:
                # What it has to ground stays, at the one bus.
                y = complex(g_i + g_j, b + b_i + b_j)
                self._at(i, y, f"line{i}-{j}{suffix(ident)}", status, record)
            return
        if record.real("RATIO", 0.0):
            self._turn(record, (i, j), f"{i}-{j}{suffix(ident)}", (r, x, b), status)
            return
        name = f"line{i}-{j}{suffix(ident)}"
        line = {"name": name, "status": status, "circuit": circuit_number(ident)}
        # Equal shunts at both ends are part of the line; others stand at the buses.
        both = (g_i, b_i) == (g_j, b_j)
        g, more = (2 * g_i, 2 * b_i) if both else (0.0, 0.0)
        self.rows.append(LineRow(i, j, x, r, b + more, g, where=record.where, **line))  # type: ignore[arg-type]
        for bus, y in () if both else ((i, complex(g_i, b_i)), (j, complex(g_j, b_j))):
            self._at(bus, y, name, status, record)

    def _at(self, bus: int, y: complex, name: str, status: int, record: PsseRecord) -> None:
        """Add what stands to ground at an end of a branch, per unit, if anything does."""
        if y:
            mva = y * self._base
            self.shunts.append(
                ShuntRow(bus, mva.real, mva.imag, status, f"{name}-at{bus}", where=record.where)
            )

    def _joint(self, record: PsseRecord, i: int, j: int, status: int) -> None:
        """Keep a branch without impedance for `join`; one out of service does nothing."""
        if status:
            self.zero.append((i, j, record.where))
            return
        what = f"{i}-{j}: has no impedance and is out of service; left out, it cannot be closed"
        warn(f"{record.where}: {what}")

    def _turn(
        self,
        record: PsseRecord,
        ends: tuple[int, int],
        name: str,
        rxb: tuple[float, float, float],
        status: int,
    ) -> None:
        """Add a branch with a ratio (version 23): a transformer with half its charging behind the ratio."""
        (i, j), (r, x, b) = ends, rxb
        ratio, angle = record.positive("RATIO"), record.real("ANGLE", 0.0)
        label = f"transformer{name}"
        row = TransformerRow(
            i, j, x, r, b, 0.0, status, name=label, tap=ratio, shift_deg=angle, where=record.where
        )
        branch, shunts = with_charging_in_front(row, self._base)
        self.turned.append(branch)
        self.shunts += shunts
