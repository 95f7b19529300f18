"""DC lines of a PSS/E RAW file as the powers that their converters take, with two terminals and more; FACTS.

A line is held at what the file schedules, in the power flow and in a run. A two-terminal line has
line-commutated converters. With N bridges in series, the voltage E = TR EBAS v / TAP behind the transformer
at the voltage v that the file stores for the bus, and the ideal no-load voltage V_d0 = N (3 sqrt(2)/pi) E,

    V_d = V_d0 cos(a) - N (3/pi X + 2 R) I,    cos(a) - cos(a + u) = sqrt(2) X I / E

and the power factor of `psmr.devices.direct_current.bridges`, where a is the firing angle of a rectifier
and the margin angle of an inverter, u the overlap. The inverter holds VSCHD by its margin angle, and that
at GAMMX or GAMMN where it comes to an end within a step of its tap: a whole step is what the tap of a
solved file would have taken. Sources: Kundur (1994), section 10.3; E. W. Kimbark, Direct Current
Transmission (1971), chapter 3, for the power factor; fields and units: Siemens PTI, PSS/E Program Operation
Manual, two-terminal and VSC DC line data. Evidence: stored solutions of PSS/E (docs/formats.md).

Of a multi-terminal line each converter stands between a DC bus and ground, or a second DC bus, and DC links
join the buses. One converter (VCONV, of the negative pole VCONVN) holds its DC voltage at SETVL kV; each
other one takes SETVL MW (MDC = 1), or carries SETVL A (MDC = 2), a rectifier above zero. The voltages of the
DC buses follow from

    (V_a - V_b) I = P for each converter,    G V = I for the DC network,

and the reactive powers from the angles at which the converters have these, as for two terminals. Source:
Siemens PTI, PSS/E Program Operation Manual, multi-terminal DC line data.

FACTS devices come in their form for the power flow. A shunt element at bus I (a STATCOM) holds the voltage
VSET there, or at another bus, with at most SHMX MVA. A series element from I to J works in one of several
modes. In normal mode (1) it delivers S = PDES + j QDES at J, and takes PDES and the reactive power
Im(S V_I / V_J) from I, at the voltages that the file stores: its current is the same at both ends, and the
shunt element makes up for the active power that the series voltage takes. Bypassed (2) it joins the two
buses; in mode 3 it is the impedance SET1 + j SET2. Modes 4 to 8 (a voltage in series, and devices that share
power) are not modelled. Source: Siemens PTI, PSS/E Program Operation Manual, FACTS device data; L. Gyugyi,
Unified power-flow control concept, IEE Proc. C 139 (1992).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from psmr.base.errors import warn
from psmr.dae.declare.component import NumericMath
from psmr.devices.direct_current.bridges import NO_LOAD, reactive_power
from psmr.files.psse.record import PsseRecord
from psmr.network.case.direct_current import solve_network

_FAR = 9999.0
"""The default of limits of reactive power."""
_STEP = 0.00625
"""The default of STP, a step of a converter's tap."""
NONE = 0.1
"""Reactance in ohms of capacitors in series with a converter below which they have no part."""


@dataclass(frozen=True)
class ConverterPower:
    """What a converter takes from its bus, in MW and Mvar; q_mvar is None where it holds a voltage.

    That is `v`, of its bus or of the one with the number `regulated`, of the power for which it gives `share`
    in percent; it gives reactive power between the two limits, and its rating is `rating_mva`, 0 where the
    file has none.
    """

    record: PsseRecord
    bus: int
    p_mw: float
    q_mvar: float | None
    v: float = 1.0
    regulated: int = 0
    q_min_mvar: float = -math.inf
    q_max_mvar: float = math.inf
    rating_mva: float = 0.0
    share: float = 100.0


def two_terminal(lines: Sequence[PsseRecord], voltage: dict[int, float]) -> list[ConverterPower]:
    """Return what the two converters of a line take; nothing where it is blocked (MDC = 0).

    `lines`: the three lines of the record; `voltage`: voltages in pu that the file stores, by bus number.
    Raises CaseError for values that no line can have.
    """
    found = terminals(lines, voltage)
    if found is None:
        return []
    volts, current, r, rectifier, inverter = found
    return [rectifier.drawn(volts + current * r, current, 1), inverter.drawn(volts, current, -1)]


def terminals(
    lines: Sequence[PsseRecord], voltage: dict[int, float]
) -> tuple[float, float, float, Bridges, Bridges] | None:
    """Return the inverter's voltage in kV, the current in kA, the resistance, and the bridges at both ends.

    None of a line that is blocked.
    """
    first, *ends = lines
    mode = first.one_of("MDC", (0, 1, 2), 0)
    if mode == 0:
        return None
    scheduled = first.positive("VSCHD")
    r, set_point, compounded = first.real("RDC"), first.real("SETVL"), first.real("RCOMP", 0.0)
    first.require(r >= 0, "RDC", "must be >= 0")
    power = abs(set_point)
    # What the resistance carries to the end whose power is given.
    to_end = r if set_point >= 0 else 0.0
    rectifier, inverter = (Bridges.of(line, "IP", "NB", voltage) for line in ends)
    # VSCHD is the voltage at a point RCOMP from the inverter, in kV; the current is in kA.
    current = power / 1000 if mode == 2 else _current(first, scheduled, to_end - compounded, power)
    volts = scheduled - current * compounded
    angle = inverter.at_its_end(volts, current)
    if angle is not None:
        held = inverter.no_load * math.cos(angle)
        current = current if mode == 2 else _current(first, held, to_end - inverter.drop, power)
        volts = held - inverter.drop * current
    return volts, current, r, rectifier, inverter


def _current(record: PsseRecord, volts: float, ohms: float, power: float) -> float:
    """Return the current in kA with (volts + ohms I) I = power, in kV, ohm and MW: the smaller one."""
    square = volts * volts + 4 * ohms * power
    record.require(
        square >= 0, "SETVL", f"must be a power that VSCHD = {volts:g} kV and the resistance carry"
    )
    return 2 * power / (volts + math.sqrt(square))


@dataclass(frozen=True)
class Bridges:
    """The bridges of a line-commutated converter, in series.

    `line`, `at`, `in_series`: its record, and the fields of its bus and of its number of bridges.
    `bus`: number of its bus.
    `no_load`: ideal no-load voltage of all bridges in kV.
    `drop`, `overlap`: resistance in ohms by which the DC voltage falls; cos(a) - cos(a + u) per kA.
    `resistance`: the part of `drop` that is one.
    """

    line: PsseRecord
    at: str
    in_series: str
    bus: int
    no_load: float
    drop: float
    overlap: float
    resistance: float

    @classmethod
    def of(cls, line: PsseRecord, at: str, in_series: str, voltage: dict[int, float]) -> Bridges:
        """Return those of a record; `voltage` are stored ones in pu by bus."""
        bus, count = line.bus(at), line.whole(in_series)
        line.require(count >= 0, in_series, "must be > 0, the number of bridges in series")
        line.require(bus in voltage, at, "there is no bus with this number")
        if not count:
            return cls(line, at, in_series, bus, 0.0, 0.0, 0.0, 0.0)
        x, r = line.real("XC", 0.0), line.real("RC", 0.0)
        ac = line.positive("EBAS") * line.positive("TR", 1.0) / line.positive("TAP", 1.0) * voltage[bus]
        drop = count * (3 / math.pi * x + 2 * r)
        return cls(line, at, in_series, bus, count * NO_LOAD * ac, drop, math.sqrt(2) * x / ac, 2 * count * r)

    def cosine(self, volts: float, current: float) -> float:
        """Return the cosine of the angle at which it has a DC voltage in kV at a current in kA."""
        return (volts + self.drop * current) / self.no_load if self.no_load else 1.0

    def at_its_end(self, volts: float, current: float) -> float | None:
        """Return the margin angle in rad at which it stays where that for a voltage is beyond ANMX or ANMN.

        None where it is within them, where they are not given, and where a step of the tap goes before.
        """
        low, high = (math.radians(self.line.real(name, 0.0)) for name in ("ANMN", "ANMX"))
        cosine = self.cosine(volts, current)
        if not 0 < low <= high < math.pi / 2 or not -1 < cosine < 1 or self.line.real("XCAP", 0.0) > NONE:
            return None
        angle = math.acos(cosine)
        end = min(max(angle, low), high)
        step = self.line.real("STP", _STEP) / self.line.real("TAP", 1.0)
        if end == angle:
            return None
        if abs(math.cos(end) / cosine - 1) <= step:
            return end
        warn(
            f"{self.line.where}: VSCHD asks for a margin angle of {math.degrees(angle):.4g} degrees, and more"
            f" than a step of the tap lies between it and ANMN = {math.degrees(low):g} to ANMX ="
            f" {math.degrees(high):g}; the tap of a solved file would have moved. VSCHD is held at this"
            " angle; give TAP as PSS/E solves it"
        )
        return None

    def drawn(self, volts: float, current: float, sign: int) -> ConverterPower:
        """Return what it takes at a DC voltage in kV and current in kA; `sign` is -1 for an inverter."""
        self.line.require(
            self.no_load >= volts / 2 or not self.no_load,
            "EBAS",
            f"must give a no-load voltage of at least the {volts:.4g} kV of the line; with {self.in_series},"
            f" TR, TAP and the bus voltage it is {self.no_load:.4g} kV",
        )
        power = volts * current
        if self.no_load < volts:
            what = f"{self.in_series}, EBAS, TR, TAP and the bus voltage give a no-load voltage of"
            warn(
                f"{self.line.where}: {what} {self.no_load:.4g} kV, below the {volts:.4g} kV of the line; the"
                " converter is taken to draw no reactive power"
            )
            return ConverterPower(self.line, self.bus, sign * power, 0.0)
        return ConverterPower(self.line, self.bus, sign * power, self._reactive(volts, current))

    def _reactive(self, volts: float, current: float) -> float:
        """Return Q in Mvar; by the power factor V_d / V_d0 alone where there is no overlap to be had."""
        cosine = min(self.cosine(volts, current), 1.0)
        end = cosine - self.overlap * current
        if not -1 < end < cosine:
            return volts * current * math.sqrt(max((self.no_load / volts) ** 2 - 1, 0.0))
        a, end = math.acos(cosine), math.acos(end)
        return float(reactive_power(NumericMath, a, end, self.no_load, current, self.resistance))


class SourceEnd(NamedTuple):
    """A converter of a VSC line: its record, kV, kA into the line, and its losses and AC power in MW."""

    line: PsseRecord
    volts: float
    current: float
    losses: float
    p_mw: float


def voltage_source(lines: Sequence[PsseRecord]) -> list[ConverterPower]:
    """Return what the two converters of a VSC line take, in the file's order; nothing where MDC = 0."""
    return [source_power(end.line, end.p_mw) for end in source_ends(lines)]


def source_ends(lines: Sequence[PsseRecord]) -> list[SourceEnd]:
    """Return the two converters of a VSC line in the file's order; none where MDC = 0.

    The converter that holds the DC voltage takes what the other one gives or takes, and the losses.
    """
    first, *ends = lines
    if first.one_of("MDC", (0, 1), 1) == 0:
        return []
    kinds = [line.one_of("TYPE", (0, 1, 2)) for line in ends]
    ends[1].require(
        sorted(kinds) == [1, 2], "TYPE", "must be 2 (power) at one end and 1 (DC voltage) at the other"
    )
    power_end = ends[kinds.index(2)]
    other = ends[kinds.index(1)]
    volts = other.positive("DCSET")
    given = power_end.real("DCSET")  # MW into the AC network
    losses = _losses(power_end, abs(given), volts)
    at_line = given + losses  # MW that the converter takes from the DC line
    r = first.real("RDC")
    first.require(r >= 0, "RDC", "must be >= 0")
    # (volts - r I) I = at_line at the end that holds no voltage.
    square = volts * volts - 4 * r * at_line
    power_end.require(square >= 0, "DCSET", f"must be a power that {volts:g} kV and RDC = {r:g} ohm carry")
    current = 2 * at_line / (volts + math.sqrt(square))
    into = volts * current
    others = _losses(other, abs(into), volts)
    drawn = [
        SourceEnd(power_end, volts - r * current, -current, losses, -given),
        SourceEnd(other, volts, current, others, into + others),
    ]
    return drawn if ends[0] is power_end else drawn[::-1]


def _losses(line: PsseRecord, power: float, volts: float) -> float:
    """Return the losses of a converter in MW: ALOSS in kW, BLOSS in kW/A, at least MINLOSS in kW."""
    a, b, least = (line.real(name, 0.0) for name in ("ALOSS", "BLOSS", "MINLOSS"))
    return max(a + b * power / volts * 1000, least) / 1000


def source_power(line: PsseRecord, p_mw: float) -> ConverterPower:
    """Return what a converter of a VSC line takes that takes a power in MW."""
    bus = line.bus("IBUS")
    set_point = line.real("ACSET", 1.0)
    if line.one_of("MODE", (1, 2), 1) == 1:
        line.require(set_point > 0, "ACSET", "must be > 0, the voltage in pu")
        low, high = line.limits("MINQ", "MAXQ", _FAR)
        rating = line.real("SMAX", 0.0)
        line.require(rating >= 0, "SMAX", "must be >= 0 (0: no limit)")
        regulated = line.whole("REMOT", 0)
        share = line.share(regulated > 0)
        return ConverterPower(line, bus, p_mw, None, set_point, regulated, low, high, rating, share)
    line.require(0 < abs(set_point) <= 1, "ACSET", "must be a power factor, between 0 and 1")
    # A positive power factor is that of a load that takes reactive power, as the manual signs it.
    reactive = abs(p_mw) * math.sqrt(1 / set_point**2 - 1)
    return ConverterPower(line, bus, p_mw, math.copysign(reactive, set_point))


def multi_terminal(lines: Sequence[PsseRecord], voltage: dict[int, float]) -> list[ConverterPower]:
    """Return what the converters of a line take; nothing where it is blocked (MDC = 0).

    `lines`: the lines of the record: one for itself, then those of converters, DC buses and links; `voltage`:
    voltages in pu that the file stores, by bus number. Raises CaseError for values that no line can have, and
    powers that its resistances do not carry.
    """
    first = lines[0]
    mode = first.one_of("MDC", (0, 1, 2), 0)
    if mode == 0:
        return []
    counts = [first.whole(name) for name in ("NCONV", "NDCBS", "NDCLN")]
    ends = np.cumsum([1, *counts])
    converters, buses, links = (lines[a:b] for a, b in pairwise(ends))
    place = {record.bus("IDC"): i for i, record in enumerate(buses)}
    nodes = [_nodes(record, buses, place) for record in converters]
    holding = {first.whole("VCONV"), first.whole("VCONVN", 0)} - {0}
    if not {record.bus("IB") for record in converters} & holding:
        raise first.error("VCONV", "must be the AC bus of a converter of this line")
    branches = _branches(buses, links, place, {high for _, high in nodes if high >= 0})
    given = np.array([record.real("SETVL") for record in converters])
    holds = np.array([record.bus("IB") in holding for record in converters])
    kinds = ["v" if held else "p" if mode == 1 else "i" for held in holds]
    sign = np.array([-1.0 if record.bus("IB") == first.whole("VCONVN", 0) else 1.0 for record in converters])
    given = given * np.where(holds & (given > 0), sign, 1.0) / np.where(holds | (mode == 1), 1.0, 1000.0)
    found = solve_network(len(buses), branches, nodes, kinds, given)
    if found is None:
        raise first.error("NCONV", "the DC network does not carry the powers SETVL of its converters")
    v, _, amperes = found
    volts = np.array([v[low] - (v[high] if high >= 0 else 0.0) for low, high in nodes])
    return [
        Bridges.of(record, "IB", "N", voltage).drawn(abs(v), abs(current), 1 if v * current >= 0 else -1)
        for record, v, current in zip(converters, volts.tolist(), amperes.tolist(), strict=True)
    ]


def _nodes(record: PsseRecord, buses: Sequence[PsseRecord], place: dict[int, int]) -> tuple[int, int]:
    """Return the positions of the DC buses that a converter stands between; -1 for the ground."""
    own = [bus for bus in buses if bus.whole("IB", 0) == record.bus("IB")]
    record.require(len(own) == 1, "IB", "must be the AC bus of one DC bus of this line")
    second = own[0].whole("IDC2", 0)
    own[0].require(second == 0 or second in place, "IDC2", "must be a DC bus of this line, or 0 (ground)")
    return place[own[0].bus("IDC")], place.get(second, -1)


def _branches(
    buses: Sequence[PsseRecord], links: Sequence[PsseRecord], place: dict[int, int], grounded: set[int]
) -> list[tuple[int, int, float]]:
    """Return the links of the DC network, and what grounds its buses: (bus, bus, ohm), -1 the ground."""
    found = []
    for link in links:
        a, b = (link.whole(name) for name in ("IDC", "JDC"))
        for name, number in (("IDC", a), ("JDC", b)):
            link.require(number in place, name, "must be a DC bus of this line")
        found.append((place[a], place[b], link.positive("RDC")))
    for i in grounded:
        ohms = buses[i].real("RGRND", 0.0)
        buses[i].require(ohms >= 0, "RGRND", "must be >= 0")
        found.append((i, -1, ohms))
    return found


MODELLED = (0, 1, 2, 3)
"""Modes that the power flow has a model of."""


@dataclass(frozen=True)
class Facts:
    """What a FACTS device is to the network.

    `shunt`: the shunt element, which holds a voltage and takes what the series element delivers; None: none.
    `delivered`: what the series element draws at J and, of reactive power, at I; empty where it delivers no
        set power.
    `series`: impedance in pu of a series element of constant impedance, 0 of a bypassed one; None: no such
        element.
    """

    shunt: ConverterPower | None
    delivered: tuple[ConverterPower, ...]
    series: complex | None


def facts_device(record: PsseRecord, voltage: Mapping[int, complex]) -> Facts | None:
    """Return a device in one of the `MODELLED` modes; None for one out of service.

    `voltage` are the stored ones in pu by bus.

    Raises CaseError for values that no device can have.
    """
    mode = record.one_of("MODE", range(9), 1)
    i, j = record.bus("I"), abs(record.whole("J", 0))
    if mode == 0:
        return None
    if j == 0:
        return Facts(_shunt(record, voltage, i, 0.0), (), None)
    record.require(j in voltage, "J", "there is no bus with this number")
    if mode == 1:
        p, q = record.real("PDES", 0.0), record.real("QDES", 0.0)
        taken = (complex(p, q) * voltage[i] / voltage[j]).imag
        return Facts(
            _shunt(record, voltage, i, p),
            (ConverterPower(record, j, -p, -q), ConverterPower(record, i, 0.0, taken)),
            None,
        )
    has_shunt = record.real("SHMX", 9999.0) != 0
    shunt = _shunt(record, voltage, i, 0.0) if has_shunt else None
    impedance = complex(record.real("SET1", 0.0), record.real("SET2", 0.0)) if mode == 3 else 0j
    record.require(mode != 3 or impedance.imag != 0, "SET2", "must be a reactance that is not 0")
    return Facts(shunt, (), impedance)


def _shunt(record: PsseRecord, voltage: Mapping[int, complex], bus: int, p_mw: float) -> ConverterPower:
    """Return the shunt element. PSS/E's sample case has one at its limit of exactly SHMX at 1.057 pu."""
    record.require(bus in voltage, "I", "there is no bus with this number")
    v, most = record.positive("VSET", 1.0), record.real("SHMX", 9999.0)
    record.require(most >= 0, "SHMX", "must be >= 0, in MVA")
    regulated = record.whole("REMOT", 0)
    return ConverterPower(
        record, bus, p_mw, None, v, regulated, -most, most, most, record.share(regulated > 0)
    )
