"""Impedance correction tables of a PSS/E RAW file: factors of a winding's impedance by its tap or its angle.

Up to version 33 a table is one line of pairs (T, F); from 34 on F is complex and a table goes on over lines
until a point of zeros. A table is one of angles in degrees where its T leave the range of ratios, otherwise
one of ratios in pu; between points F is linear, beyond the ends it is that of the end. Source: Siemens PTI,
PSS/E Program Operation Manual, transformer impedance correction tables.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from psmr.files.psse.record import PsseRecord

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

    Raises
    ------
    CaseError
        For a table without two points, or whose points do not ascend.
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
