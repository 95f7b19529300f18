"""The angles of voltages over time: continuous, and undefined where there is no voltage."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]


def phases(re: Reals, im: Reals) -> Reals:
    """Return angles in rad within half a turn of zero; NaN where the voltage is zero, in a dead part."""
    return np.where((re == 0.0) & (im == 0.0), np.nan, np.arctan2(im, re))


def continuous(angles: Reals) -> Reals:
    """Return (K,) or (K, j) angles in rad that go on without jumps, also from before to after a NaN."""
    if not np.isnan(angles).any():
        return np.unwrap(angles, axis=0)
    found = angles.reshape(len(angles), -1).copy()
    for column in found.T:
        known = ~np.isnan(column)
        column[known] = np.unwrap(column[known])
    return found.reshape(angles.shape)
