"""Rows of DC lines, FACTS devices and induction machines: loads, and generators where they hold a voltage.

An induction machine takes the active power PSET (PCODE 2), or what gives the mechanical power PSET (PCODE 1),
in MW; above zero it is a motor. Its reactive power is that of its circuit at the voltage that the file
stores: RA + j XA, the magnetising reactance XM, and two rotor circuits R1/s + j X1 and R2/s + j X2 side by
side behind j X3, per unit on MBASE and RATEKV. A rotor circuit of 999, the default, is none; a machine
without any takes its power and its magnetising current. Source: Siemens PTI, PSS/E Program Operation Manual,
induction machine data; Kundur (1994), section 7.2.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from psmr.base.errors import warn
from psmr.files.load_flow_rules import Joint
from psmr.files.psse.conventions import suffix
from psmr.files.psse.direct_current import (
    ConverterPower,
    facts_device,
    multi_terminal,
    two_terminal,
    voltage_source,
)
from psmr.files.psse.record import PsseRecord, name_part
from psmr.network.case.tables import GeneratorRow, LineRow, LoadRow

_NONE = 999.0
_SLIPS = np.concatenate([np.geomspace(1e-6, 1.0, 400)])


def induction_machine(record: PsseRecord, v: float, base_kv: float) -> ConverterPower | None:
    """Return what a machine takes at a voltage in pu of a bus of `base_kv`; None for one out of service.

    Raises CaseError for a power that the machine cannot give or take at this voltage.
    """
    if record.one_of("STAT", (0, 1), 1) == 0:
        return None
    base = record.positive("MBASE")
    code, asked = record.one_of("PCODE", (1, 2), 1), record.real("PSET") / base
    rated = record.real("RATEKV", 0.0)
    if rated and base_kv:
        v = v * base_kv / rated
    admittance = _Circuit(record)
    if not admittance.rotors:
        current = v / (admittance.stator + admittance.magnetising)
        return ConverterPower(record, record.bus("I"), asked * base, (v * current.conjugate()).imag * base)
    if asked == 0:
        slip = 0.0
    else:
        slip = admittance.slip(v, abs(asked), math.copysign(1.0, asked), code == 1)
        most = admittance.most(v, math.copysign(1.0, asked), code == 1)
        record.require(
            not math.isnan(slip),
            "PSET",
            f"must be at most {most * base:.4g} MW in size, which the machine can turn over at {v:.4g} pu",
        )
    power = admittance.power(v, slip)
    return ConverterPower(record, record.bus("I"), power.real * base, power.imag * base)


class _Circuit:
    """The circuit of a machine, per unit."""

    def __init__(self, record: PsseRecord) -> None:
        self.stator = complex(record.real("RA", 0.0), record.real("XA", 0.0))
        self.magnetising = complex(0.0, record.positive("XM", 2.5))
        self.behind = complex(0.0, record.real("X3", 0.0))
        pairs = [(record.real(f"R{k}", _NONE), record.real(f"X{k}", _NONE)) for k in (1, 2)]
        self.rotors = [(r, x) for r, x in pairs if r < _NONE and x < _NONE and r > 0]

    def power(self, v: float, slip: float) -> complex:
        """Return the complex power that the machine takes at a voltage and a slip."""
        inner = 1 / self.magnetising
        if slip:
            rotor = sum(1 / complex(r / slip, x) for r, x in self.rotors)
            inner += 1 / (self.behind + 1 / rotor)
        current = v / (self.stator + 1 / inner)
        return v * current.conjugate()

    def _turned(self, v: float, slip: float, mechanical: bool) -> float:
        """Return the power at the shaft, or at the terminals, at a slip."""
        power = self.power(v, slip)
        if not mechanical:
            return power.real
        current = abs(power) / v
        across = abs(power.real - current**2 * self.stator.real)
        return math.copysign(across * (1 - slip), slip)

    def _sizes(self, v: float, sign: float, mechanical: bool) -> np.ndarray:
        return np.array([sign * self._turned(v, sign * float(s), mechanical) for s in _SLIPS])

    def most(self, v: float, sign: float, mechanical: bool) -> float:
        """Return the largest power in size, of a motor (1) or a generator (-1)."""
        return float(self._sizes(v, sign, mechanical).max())

    def slip(self, v: float, size: float, sign: float, mechanical: bool) -> float:
        """Return the smallest slip with a power; NaN where there is none."""
        sizes = self._sizes(v, sign, mechanical)
        above = np.flatnonzero(sizes >= size)
        if not len(above):
            return math.nan
        low, high = (float(_SLIPS[above[0] - 1]) if above[0] else 0.0), float(_SLIPS[above[0]])
        for _ in range(60):
            middle = (low + high) / 2
            enough = sign * self._turned(v, sign * middle, mechanical) >= size
            low, high = (low, middle) if enough else (middle, high)
        return sign * (low + high) / 2


_KINDS = {
    "two-terminal dc": ("dc", "IP", "a DC line"),
    "vsc dc": ("vsc", "IBUS", "a VSC line"),
    "multi-terminal dc": ("mtdc", "IB", "a multi-terminal DC line"),
}
_POWER = (0.0, 0.0, 1.0)


class Converters:
    """Collects the rows of DC lines, FACTS devices and induction machines.

    `base`: system base in MVA; `buses`: the records of the buses by number.

    `loads`, `holding`, `lines`, `zero`: loads of constant power; generators that hold a voltage; series
        elements of an impedance, and those that join two buses.
    `direct`: the lines of each DC line in service, by name.
    """

    def __init__(self, base: float, buses: Mapping[int, PsseRecord]) -> None:
        self._base, self._buses = base, buses
        self._facts: set[str] = set()
        self.loads: list[LoadRow] = []
        self.holding: list[GeneratorRow] = []
        self.lines: list[LineRow] = []
        self.zero: list[Joint] = []
        self.direct: dict[str, Sequence[PsseRecord]] = {}
        self._held: list[tuple[str, str]] = []

    def add_line(self, lines: Sequence[PsseRecord]) -> None:
        """Add the powers of a DC line's converters."""
        section = lines[0].section
        field = _KINDS[section][1]
        at = [line for line in lines[1:] if self._isolated(line, field)]
        if section != "multi-terminal dc" and at:
            what = f"{field} = {at[0].text(field)} is an isolated bus (IDE = 4); the line is left out"
            self._tell(at[0], what)
            return
        if section == "vsc dc":
            ends = voltage_source(lines)
        else:
            ends = (two_terminal if section == "two-terminal dc" else multi_terminal)(lines, self.stored())
        if not ends:
            return
        prefix, field, what = _KINDS[section]
        name = name_part(lines[0].text("NAME") or lines[0].text("I"))
        for k, end in enumerate(ends):
            part = ("rectifier", "inverter")[k] if prefix == "dc" else str(k + 1)
            self._add(end, f"{prefix}-{name}-{part}", field)
        words = ", ".join(f"{end.p_mw:.6g} MW from bus {end.bus}" for end in ends)
        self.direct[name] = lines
        self._held.append(
            (prefix + "-" + name, f"{lines[0].where}: {name}: {what}, held at its powers in a run: {words}")
        )

    def stored(self) -> dict[int, float]:
        """Return the voltages in pu that the file stores, by bus number."""
        return {number: bus.positive("VM", 1.0) for number, bus in self._buses.items()}

    def tell_held(self, controlled: Collection[str]) -> None:
        """Warn of each DC line that has no dynamics: those that are not controlled."""
        for name, words in self._held:
            if name not in controlled:
                warn(words)

    def _isolated(self, line: PsseRecord, field: str) -> bool:
        """Say whether a converter stands at a bus that is left out."""
        bus = self._buses.get(line.whole(field, 0))
        return bus is not None and bus.whole("IDE", 1) == 4

    def add_facts(self, record: PsseRecord) -> None:
        """Add the rows of a FACTS device."""
        stored = {
            number: cmath.rect(bus.positive("VM", 1.0), math.radians(bus.real("VA", 0.0)))
            for number, bus in self._buses.items()
        }
        device = facts_device(record, stored)
        if device is None:
            return
        name = name_part(record.text("NAME") or record.text("N"))
        if name in self._facts:
            # Programs number the devices of a bus.
            name += f"-{record.bus('I')}"
        self._facts.add(name)
        words = []
        if device.shunt is not None:
            self._add(device.shunt, f"facts-{name}", "I")
            holds = self.holding[-1]
            words.append(f"holds bus {holds.bus} at {holds.v:g} pu within {holds.q_max_mvar:g} Mvar")
        for end, field in zip(device.delivered, "JI", strict=False):
            self._add(end, f"facts-{name}-{field}", field)
        if device.delivered:
            words.append(f"delivers {-device.delivered[0].p_mw:g} MW at bus {device.delivered[0].bus}")
        if device.series is not None:
            self._series(record, name, device.series)
            words.append(f"is an impedance of {device.series:g} pu" if device.series else "is bypassed")
        self._tell(record, f"{name}: a FACTS device, {', '.join(words)}; held at its powers in a run")

    def add_machine(self, record: PsseRecord) -> None:
        """Add the load that an induction machine is."""
        bus = self._bus(record, "I", record.bus("I"))
        drawn = induction_machine(record, bus.positive("VM", 1.0), bus.real("BASKV", 0.0))
        if drawn is None:
            return
        name = f"motor{drawn.bus}{suffix(name_part(record.text('ID', '1')))}"
        self._add(drawn, name, "I")
        powers = f"{drawn.p_mw:.4g} MW and {drawn.q_mvar:.4g} Mvar"
        self._tell(record, f"{name}: an induction machine, held in a run at its powers: {powers}")

    def _series(self, record: PsseRecord, name: str, impedance: complex) -> None:
        i, j = record.bus("I"), abs(record.whole("J"))
        for field, number in (("I", i), ("J", j)):
            self._bus(record, field, number)
        if not impedance:
            self.zero.append((i, j, record.where))
            return
        self.lines.append(
            LineRow(i, j, impedance.imag, impedance.real, name=f"facts-{name}-series", where=record.where)
        )

    def _bus(self, record: PsseRecord, field: str, number: int) -> PsseRecord:
        bus = self._buses.get(number)
        if bus is None:
            raise record.error(field, "there is no bus with this number")
        record.require(bus.whole("IDE", 1) != 4, field, "must be a bus that is not isolated")
        return bus

    def _add(self, end: ConverterPower, name: str, field: str) -> None:
        """Add a converter's load, or its generator where it holds a voltage."""
        self._bus(end.record, field, end.bus)
        where = end.record.where
        if end.q_mvar is not None:
            self.loads.append(
                LoadRow(end.bus, end.p_mw, end.q_mvar, _POWER, _POWER, name=name, held=True, where=where)
            )
            return
        self.holding.append(
            GeneratorRow(
                name,
                end.bus,
                "pv",
                -end.p_mw,
                v=end.v,
                q_min_mvar=end.q_min_mvar,
                q_max_mvar=end.q_max_mvar,
                rating_mva=end.rating_mva or self._base,
                held=True,
                where=where,
                control_bus=end.regulated,
                share=end.share,
            )
        )

    @staticmethod
    def _tell(record: PsseRecord, words: str) -> None:
        warn(f"{record.where}: {words}")
