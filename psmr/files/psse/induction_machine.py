"""Induction machines of a PSS/E RAW file as the powers that they take in the power flow.

A machine takes the active power PSET (PCODE 2), or what gives the mechanical power PSET (PCODE 1), in MW;
above zero it is a motor. Its reactive power is that of its circuit at the voltage that the file stores: RA +
j XA, the magnetising reactance XM, and two rotor circuits R1/s + j X1 and R2/s + j X2 side by side behind
j X3, per unit on MBASE and RATEKV. A rotor circuit of 999, the default, is none; a machine without any takes
its power and its magnetising current. Source: Siemens PTI, PSS/E Program Operation Manual, induction machine
data; Kundur (1994), section 7.2.
"""

from __future__ import annotations

import math

import numpy as np

from psmr.files.psse.direct_current import Drawn
from psmr.files.psse.record import PsseRecord

_NONE = 999.0
_SLIPS = np.concatenate([np.geomspace(1e-6, 1.0, 400)])


def induction_machine(record: PsseRecord, v: float, base_kv: float) -> Drawn | None:
    """Return what a machine takes at a voltage in pu of a bus of `base_kv`; None for one out of service.

    Raises
    ------
    CaseError
        For a power that the machine cannot give or take at this voltage.
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
        return Drawn(record, record.bus("I"), asked * base, (v * current.conjugate()).imag * base)
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
    return Drawn(record, record.bus("I"), power.real * base, power.imag * base)


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
