"""DC lines of a PSS/E RAW file as the powers that their converters take from the AC network.

A line is held at what the file schedules, in the power flow and in a run. A two-terminal line has
line-commutated converters: with the DC voltage V_d and the ideal no-load voltage V_d0 = N (3 sqrt(2)/pi) E
the power factor is V_d / V_d0 at both ends, where N is the number of bridges and E = TR EBAS v / TAP the
voltage behind the transformer, at the voltage v that the file stores for the bus. Source: Kundur (1994),
section 10.3; fields and units: Siemens PTI, PSS/E Program Operation Manual, two-terminal and VSC DC line
data.
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
    # VSCHD is the voltage at a point RCOMP from the inverter, in kV; the current is in kA.
    if mode == 2:
        current = abs(set_point) / 1000
        inverter = scheduled - current * compounded
    elif set_point >= 0:
        # P = (V_i + I r) I with V_i = VSCHD - I RCOMP.
        current = _current(first, scheduled, r - compounded, set_point)
        inverter = scheduled - current * compounded
    else:
        current = _current(first, scheduled, -compounded, -set_point)
        inverter = scheduled - current * compounded
    rectifier = inverter + current * r
    return [
        line_commutated(line, "IP", "NB", rectifier if k == 0 else inverter, current, 1 - 2 * k, voltage)
        for k, line in enumerate(ends)
    ]


def _current(record: PsseRecord, volts: float, ohms: float, power: float) -> float:
    """Return the current in kA with (volts + ohms I) I = power, in kV, ohm and MW: the smaller one."""
    square = volts * volts + 4 * ohms * power
    record.require(
        square >= 0, "SETVL", f"must be a power that VSCHD = {volts:g} kV and the resistance carry"
    )
    return 2 * power / (volts + math.sqrt(square))


def line_commutated(
    line: PsseRecord,
    at: str,
    in_series: str,
    volts: float,
    current: float,
    sign: int,
    voltage: dict[int, float],
) -> Drawn:
    """Return what a line-commutated converter takes at a DC voltage in kV and current in kA.

    `at` and `in_series` are the fields of its bus and of its number of bridges, `sign` is 1 for a rectifier
    and -1 for an inverter, `voltage` are stored ones in pu by bus.
    """
    bus, bridges = line.bus(at), line.whole(in_series)
    line.require(bridges >= 0, in_series, "must be > 0, the number of bridges in series")
    line.require(bus in voltage, at, "there is no bus with this number")
    no_load = 0.0
    if bridges:
        ac = line.positive("EBAS") * line.positive("TR", 1.0) / line.positive("TAP", 1.0) * voltage[bus]
        no_load = bridges * _NO_LOAD * ac
    line.require(
        bridges == 0 or no_load >= volts / 2,
        "EBAS",
        f"must give a no-load voltage of at least the {volts:.4g} kV of the line; with {in_series}, TR, TAP"
        f" and the bus voltage it is {no_load:.4g} kV",
    )
    if no_load < volts:
        what = f"{in_series}, EBAS, TR, TAP and the bus voltage give a no-load voltage of {no_load:.4g} kV"
        warnings.warn(
            f"{line.where}: {what}, below the {volts:.4g} kV of the line; the converter is taken to draw no"
            " reactive power",
            PsmrWarning,
            stacklevel=5,
        )
    power = volts * current
    reactive = math.sqrt(max((no_load * current) ** 2 - power**2, 0.0))
    return Drawn(line, bus, sign * power, reactive)


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
        high, low = line.real("MAXQ", _FAR), line.real("MINQ", -_FAR)
        line.require(high >= low, "MAXQ", f"must be at least MINQ = {low:g}")
        rating = line.real("SMAX", 0.0)
        line.require(rating >= 0, "SMAX", "must be >= 0 (0: no limit)")
        regulated = line.whole("REMOT", 0)
        share = line.share(regulated > 0)
        return Drawn(line, bus, p_mw, None, set_point, regulated, low, high, rating, share)
    line.require(0 < abs(set_point) <= 1, "ACSET", "must be a power factor, between 0 and 1")
    # A positive power factor is that of a load that takes reactive power, as the manual signs it.
    reactive = abs(p_mw) * math.sqrt(1 / set_point**2 - 1)
    return Drawn(line, bus, p_mw, math.copysign(reactive, set_point))
