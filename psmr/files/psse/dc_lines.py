"""DC lines of a PSS/E RAW file as the powers that their converters take from the AC network.

A line is held at what the file schedules, in the power flow and in a run. A two-terminal line has
line-commutated converters. With N bridges in series, the voltage E = TR EBAS v / TAP behind the transformer
at the voltage v that the file stores for the bus, and the ideal no-load voltage V_d0 = N (3 sqrt(2)/pi) E,

    V_d = V_d0 cos(a) - N (3/pi X + 2 R) I,    cos(a) - cos(a + u) = sqrt(2) X I / E,
    tan(phi) = (2 u + sin 2a - sin 2(a + u)) / (cos 2a - cos 2(a + u)),

where a is the firing angle of a rectifier and the margin angle of an inverter, u the overlap. The inverter
holds VSCHD by its margin angle, and that at GAMMX or GAMMN where it comes to an end within a step of its tap:
a whole step is what the tap of a solved file would have taken. Sources: Kundur (1994), section 10.3; E. W.
Kimbark, Direct Current Transmission (1971), chapter 3, for the power factor; fields and units: Siemens PTI,
PSS/E Program Operation Manual, two-terminal and VSC DC line data. Evidence: stored solutions of PSS/E
(docs/formats.md).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

from psmr.base.errors import PsmrWarning
from psmr.files.psse.record import PsseRecord

_FAR = 9999.0
"""The default of limits of reactive power."""
_NO_LOAD = 3 * math.sqrt(2) / math.pi
_STEP = 0.00625
"""The default of STP, a step of a converter's tap."""
_NONE = 0.1
"""Reactance in ohms of capacitors in series with a converter below which they have no part."""


@dataclass(frozen=True)
class Drawn:
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


def two_terminal(lines: Sequence[PsseRecord], voltage: dict[int, float]) -> list[Drawn]:
    """Return what the two converters of a line take; nothing where it is blocked (MDC = 0).

    Parameters
    ----------
    lines
        The three lines of the record.
    voltage
        Voltages in pu that the file stores, by bus number.

    Raises
    ------
    CaseError
        For values that no line can have.
    """
    first, *ends = lines
    mode = first.one_of("MDC", (0, 1, 2), 0)
    if mode == 0:
        return []
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
    return [
        rectifier.drawn(volts + current * r, current, 1),
        inverter.drawn(volts, current, -1),
    ]


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

    Attributes
    ----------
    line, at, in_series
        Its record, and the fields of its bus and of its number of bridges.
    bus
        Number of its bus.
    no_load
        Ideal no-load voltage of all bridges in kV.
    drop, overlap
        Resistance in ohms by which the DC voltage falls; cos(a) - cos(a + u) per kA.
    """

    line: PsseRecord
    at: str
    in_series: str
    bus: int
    no_load: float
    drop: float
    overlap: float

    @classmethod
    def of(cls, line: PsseRecord, at: str, in_series: str, voltage: dict[int, float]) -> Bridges:
        """Return those of a record; `voltage` are stored ones in pu by bus."""
        bus, count = line.bus(at), line.whole(in_series)
        line.require(count >= 0, in_series, "must be > 0, the number of bridges in series")
        line.require(bus in voltage, at, "there is no bus with this number")
        if not count:
            return cls(line, at, in_series, bus, 0.0, 0.0, 0.0)
        x, r = line.real("XC", 0.0), line.real("RC", 0.0)
        ac = line.positive("EBAS") * line.positive("TR", 1.0) / line.positive("TAP", 1.0) * voltage[bus]
        drop = count * (3 / math.pi * x + 2 * r)
        return cls(line, at, in_series, bus, count * _NO_LOAD * ac, drop, math.sqrt(2) * x / ac)

    def cosine(self, volts: float, current: float) -> float:
        """Return the cosine of the angle at which it has a DC voltage in kV at a current in kA."""
        return (volts + self.drop * current) / self.no_load if self.no_load else 1.0

    def at_its_end(self, volts: float, current: float) -> float | None:
        """Return the margin angle in rad at which it stays where that for a voltage is beyond ANMX or ANMN.

        None where it is within them, where they are not given, and where a step of the tap goes before.
        """
        low, high = (math.radians(self.line.real(name, 0.0)) for name in ("ANMN", "ANMX"))
        cosine = self.cosine(volts, current)
        if not 0 < low <= high < math.pi / 2 or not -1 < cosine < 1 or self.line.real("XCAP", 0.0) > _NONE:
            return None
        angle = math.acos(cosine)
        end = min(max(angle, low), high)
        step = self.line.real("STP", _STEP) / self.line.real("TAP", 1.0)
        return end if end != angle and abs(math.cos(end) / cosine - 1) <= step else None

    def drawn(self, volts: float, current: float, sign: int) -> Drawn:
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
            warnings.warn(
                f"{self.line.where}: {what} {self.no_load:.4g} kV, below the {volts:.4g} kV of the line; the"
                " converter is taken to draw no reactive power",
                PsmrWarning,
                stacklevel=5,
            )
            return Drawn(self.line, self.bus, sign * power, 0.0)
        return Drawn(self.line, self.bus, sign * power, power * self._tangent(volts, current))

    def _tangent(self, volts: float, current: float) -> float:
        """Return Q / P; by the power factor V_d / V_d0 alone where there is no overlap to be had."""
        cosine = min(self.cosine(volts, current), 1.0)
        behind = cosine - self.overlap * current
        if not -1 < behind < cosine:
            return math.sqrt(max((self.no_load / volts) ** 2 - 1, 0.0))
        a, both = math.acos(cosine), math.acos(behind)
        return (2 * (both - a) + math.sin(2 * a) - math.sin(2 * both)) / (
            math.cos(2 * a) - math.cos(2 * both)
        )


def voltage_source(lines: Sequence[PsseRecord]) -> list[Drawn]:
    """Return what the two converters of a VSC line take, in the file's order; nothing where MDC = 0.

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
    taken = into + _losses(other, abs(into), volts)
    drawn = [_source(power_end, -given), _source(other, taken)]
    return drawn if ends[0] is power_end else drawn[::-1]


def _losses(line: PsseRecord, power: float, volts: float) -> float:
    """Return the losses of a converter in MW: ALOSS in kW, BLOSS in kW/A, at least MINLOSS in kW."""
    a, b, least = (line.real(name, 0.0) for name in ("ALOSS", "BLOSS", "MINLOSS"))
    return max(a + b * power / volts * 1000, least) / 1000


def _source(line: PsseRecord, p_mw: float) -> Drawn:
    bus = line.bus("IBUS")
    set_point = line.real("ACSET", 1.0)
    if line.one_of("MODE", (1, 2), 1) == 1:
        line.require(set_point > 0, "ACSET", "must be > 0, the voltage in pu")
        low, high = line.limits("MINQ", "MAXQ", _FAR)
        rating = line.real("SMAX", 0.0)
        line.require(rating >= 0, "SMAX", "must be >= 0 (0: no limit)")
        regulated = line.whole("REMOT", 0)
        share = line.share(regulated > 0)
        return Drawn(line, bus, p_mw, None, set_point, regulated, low, high, rating, share)
    line.require(0 < abs(set_point) <= 1, "ACSET", "must be a power factor, between 0 and 1")
    # A positive power factor is that of a load that takes reactive power, as the manual signs it.
    reactive = abs(p_mw) * math.sqrt(1 / set_point**2 - 1)
    return Drawn(line, bus, p_mw, math.copysign(reactive, set_point))
