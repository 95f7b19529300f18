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
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from psmr.base.errors import PsmrWarning
from psmr.files.psse.conventions import THRSHZ, circuit_number
from psmr.files.psse.impedance_correction import Correction
from psmr.files.psse.places import tell_of_absent
from psmr.files.psse.record import PsseRecord, name_part
from psmr.network.case.tables import ACTIVE, REACTIVE_POWER, VOLTAGE, BusRow, TransformerRow

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

    Parameters
    ----------
    base
        System base in MVA.
    records, buses
        The records of all buses by number, and the rows of those that are not isolated.
    tables
        Impedance correction tables by number.
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
                what = f"X1-2: {name} has no impedance; x = {THRSHZ:g} pu stands for it"
                warnings.warn(f"{second.where}: {what}", PsmrWarning, stacklevel=3)
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
        return {
            "controls": what,
            "control_bus": bus if what == VOLTAGE else 0,
            "control_low": bottom,
            "control_high": top,
            "tap_min": low * unit,
            "tap_max": high * unit,
            "positions": max(line.whole("NTP", 33), 2),
        }

    @staticmethod
    def _warn(record: PsseRecord, words: str) -> None:
        warnings.warn(f"{record.where}: {words}", PsmrWarning, stacklevel=2)

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
