"""What the findings and figures on Kuznetsov and Krasnikov are made of, and Table 1 as printed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from psmr.numerics.run.trajectory import Trajectory
from psmr.reproduce.kuznetsov_krasnikov.claims import Circle, LongRun

# Table 1: method, h, error as printed (text), steps as printed. BP is Euler along the arc, E Euler along
# time.
TABLE_1 = (
    ("BP", 0.2, "0.127", 256),
    ("BP", 0.05, "0.029", 294),
    ("BP", 0.01, "0.0053", 586),
    ("BP", 0.005, "0.0025", 935),
    ("E", 0.005, "∞", 200),
    ("E", 0.004, "1.950", 250),
    ("E", 0.002, "0.584", 500),
    ("E", 0.001, "0.239", 1000),
    ("E", 0.0001, "0.020", 10000),
)

# Van der Pol, example 2, beyond where the paper's program overflowed.
FARTHER = 0.05


@dataclass(frozen=True)
class Work:
    """Van der Pol to t = 0.01 s at a tolerance: time along time over that along the arc, and mean steps in t.

    `step_ratio` is the mean step in t along the arc over that along time.
    """

    tolerance: float
    time_ratio: float
    step_ratio: float


@dataclass(frozen=True, eq=False)
class Evidence:
    """What the findings and figures are made of.

    Attributes
    ----------
    runs
        Runs of Table 1 by (method, h).
    table, van_der_pol, edsberg
        Tables of `reproduce`.
    farther
        Runs of van der Pol's equation to t = 0.05 s, along time and along the arc.
    multipliers
        By h: what a step of Euler along the arc multiplies a small deviation with at t = 1 s.
    work
        Time and mean step, along time against along the arc.
    end
        Van der Pol's equation to t = 2 s.
    transformed, homogeneous
        A circle along its arc by equation (13), and with the sign of dt free.
    conditions
        (K, 2) of the matrix of (11), see `conditions`.
    """

    runs: dict[tuple[str, float], Trajectory]
    table: pd.DataFrame
    van_der_pol: pd.DataFrame
    edsberg: pd.DataFrame
    farther: tuple[Trajectory, Trajectory]
    multipliers: dict[float, float]
    work: Work
    end: LongRun
    transformed: Circle
    homogeneous: Circle
    conditions: NDArray[np.float64]
