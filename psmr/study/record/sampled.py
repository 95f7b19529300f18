"""Samples of a run, by which its error is estimated."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Sampled:
    """Samples of a run.

    Attributes
    ----------
    t
        (S,) times in s, ascending, none at the instant of an event.
    values
        (S, q) values in pu; NaN where one does not count.
    first
        (q,) values of the first point of the run.
    """

    t: Reals
    values: Reals
    first: Reals
