"""What the findings and figures on Kuznetsov and Krasnikov are made of, and Table 1 as printed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from psmr.numerics.run.trajectory import Trajectory
from psmr.papers.kuznetsov_krasnikov.claims import Circle, LongRun

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


def claims_table(e: Evidence) -> pd.DataFrame:
    """Return the numbers of what the paper says beyond its tables: quantity and value."""
    more = e.conditions[:, 1] / e.conditions[:, 0]
    plain, arc = e.farther
    rows = [
        ("condition number, random direction over that along the arc: least", float(more.min())),
        ("the same: median", float(np.median(more))),
        ("the same: largest", float(more.max())),
        ("circle by (13): largest t", e.transformed.t_largest),
        ("circle by (13): least y", e.transformed.y_least),
        ("circle by (13): distance from the start after 2 pi", e.transformed.gap),
        ("circle, sign of dt free: least y", e.homogeneous.y_least),
        ("circle, sign of dt free: distance from the start after 2 pi", e.homogeneous.gap),
        (f"van der Pol at {e.work.tolerance:g}: time along time over along the arc", e.work.time_ratio),
        ("the same: mean step in t along the arc over along time", e.work.step_ratio),
        ("van der Pol along the arc: end in s", e.end.t),
        ("the same: steps", float(e.end.steps)),
        ("the same: y1", e.end.end[0]),
        ("the same: y2", e.end.end[1]),
        ("van der Pol along time beyond 0.03 s: end in s", float(plain.t[-1])),
        ("the same: steps along time", float(plain.counters.steps)),
        ("the same: steps along the arc", float(arc.counters.steps)),
    ]
    return pd.DataFrame(rows, columns=["quantity", "value"])
