"""The columns of a partition's table: a value per variable."""

from __future__ import annotations

from typing import Any

import numpy as np

from partitioning.linear import Linear, device_of, variables
from partitioning.participation import Modes
from partitioning.partition import Array


def partition_columns(
    linear: Linear,
    fast: Array,
    equations: Array,
    modes: Modes | None,
    moved: Array,
    reasons: list[str],
) -> dict[str, Any]:
    """Return the columns of `Partition.table`.

    Those of the eigenvalue are NaN for a variable that no state moves, and everywhere when `modes` is None.
    """
    names = variables(linear)
    owners = modes.owners() if modes is not None else np.full(len(names), np.nan + 0j)
    known = ~np.isnan(owners.real)
    imag = np.where(known, owners.imag, np.nan)
    return {
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
    }
