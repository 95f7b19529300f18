"""What the findings and figures on Kuznetsov and Krasnikov are made of, and Table 1 as printed."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pandas as pd

from psmr.numerics.run.trajectory import Trajectory

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
    """

    runs: dict[tuple[str, float], Trajectory]
    table: pd.DataFrame
    van_der_pol: pd.DataFrame
    edsberg: pd.DataFrame
    farther: tuple[Trajectory, Trajectory]
    multipliers: dict[float, float]


def truncated(value: float, printed: str) -> str:
    """Return a value cut after as many digits as are printed; infinity as it is printed."""
    if printed == "∞":
        return "∞" if value > 1e20 else f"{value:.4g}"
    digits = len(printed.partition(".")[2])
    # The guard keeps a value such as 0.29 from becoming 0.28 by rounding alone.
    return f"{math.floor(value * 10**digits * (1 + 1e-12)) / 10**digits:.{digits}f}"
