"""The steps between two changes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Span:
    """The steps between two changes: start and size in s of each, and its fast steps (1 for single rate)."""

    times: Reals
    steps: Reals
    ratios: NDArray[np.int64]
    end: float
