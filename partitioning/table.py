"""The table of a partition: a row per variable."""

from __future__ import annotations

import numpy as np
import pandas as pd

from partitioning.linear import Linear, device_of, variables
from partitioning.participation import Modes
from partitioning.partition import Array

COLUMNS = (
    "variable", "kind", "device", "real", "imag", "magnitude", "frequency_hz", "equation", "side", "moved",
    "reason",
)  # fmt: skip


def partition_table(
    linear: Linear | None = None,
    fast: Array | None = None,
    equations: Array | None = None,
    modes: Modes | None = None,
    moved: Array | None = None,
    reasons: list[str] | None = None,
) -> pd.DataFrame:
    """Return the table of a partition as described at `Partition`; without arguments one without rows.

    The eigenvalue columns are NaN for a variable that no state moves, and everywhere when `modes` is None.
    """
    if linear is None or fast is None or equations is None or moved is None or reasons is None:
        return pd.DataFrame(columns=list(COLUMNS))
    names = variables(linear)
    owners = modes.owners() if modes is not None else np.full(len(names), np.nan + 0j)
    known = ~np.isnan(owners.real)
    imag = np.where(known, owners.imag, np.nan)
    return pd.DataFrame(
        {
            "variable": names,
            "kind": ["state"] * linear.n + ["algebraic"] * linear.m,
            "device": [device_of(name) for name in names],
            "real": owners.real,
            "imag": imag,
            "magnitude": np.where(known, np.abs(owners), np.nan),
            "frequency_hz": imag / (2 * np.pi),
            "equation": [""] * linear.n + [linear.names_g[row] for row in equations],
            "side": np.where(fast, "fast", "slow"),
            "moved": moved,
            "reason": reasons,
        },
        columns=list(COLUMNS),
    )
