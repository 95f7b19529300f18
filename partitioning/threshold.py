"""The threshold rule: a variable is fast when the mode it belongs to is faster than delta."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from partitioning.linear import Linear, group_labels, require_linear
from partitioning.participation import modes
from partitioning.partition import Array, Partition, PartitionError
from partitioning.repair import SpectralRadius, Wish, well_posed

if TYPE_CHECKING:
    import pandas as pd


def by_participation(
    linear: Linear,
    delta: float,
    algebraic: str = "participation",
    spectral_radius: SpectralRadius | None = None,
    limit: float = 1.0,
) -> Partition:
    r"""Split a linearised DAE by the modes its variables belong to (Huang and Tzounas, section 2.3).

    Each variable belongs to the eigenvalue with its largest absolute participation factor and is fast when
    that has \|lambda\| > delta. Variables of one group follow the fastest of them. The split is then made
    well posed: equations are paired with variables, and a group that leaves a block of gy singular (or, where
    `spectral_radius` is given, the macro step unstable) changes side, as the table says.

    Parameters
    ----------
    linear
        A linearised DAE of up to 2000 states; larger ones are split with `by_device`.
    delta
        Threshold in 1/s, at least 0. With 0 everything is fast, zero modes included: single rate at the fast
        step. With infinity everything is slow.
    algebraic
        ``"participation"`` applies the threshold to the algebraic variables as well, ``"fast"`` makes all of
        them fast.
    spectral_radius
        Gives the spectral radius of the macro step that a partition leads to; called with each candidate.
        Return infinity for a split with which the step is not defined.
    limit
        Largest spectral radius allowed, up to rounding. For a system that is itself unstable give
        exp(max(Re lambda) h_slow): more growth than that is the scheme's.

    Returns
    -------
    Partition

    Raises
    ------
    PartitionError
        For a threshold that is not a number >= 0, an unknown `algebraic`, a singular gy (naming its
        equations), more than 2000 states, or a split that no change of side makes well posed.
    """
    number = isinstance(delta, int | float | np.integer | np.floating) and not isinstance(delta, bool)
    if not number or not delta >= 0:  # true for NaN too
        raise PartitionError(
            f"delta = {delta!r}: the threshold must be a number >= 0 in 1/s; suggest_delta(linear) lists some"
        )
    if algebraic not in ("participation", "fast"):
        raise PartitionError(f"algebraic = {algebraic!r}: must be 'participation' or 'fast'")
    delta = float(delta)
    require_linear(linear)
    found = modes(linear)
    owners = found.owners()
    fast = (np.abs(owners) > delta) | (delta == 0)
    reasons = [_reason(value, delta) for value in owners]
    firm = np.zeros(len(fast), dtype=bool)
    if algebraic == "fast":
        fast[linear.n :] = firm[linear.n :] = True
        reasons[linear.n :] = ["every algebraic variable was asked to be fast"] * linear.m
    return well_posed(linear, Wish(fast, reasons, delta, algebraic, found, firm), spectral_radius, limit)


def suggest_delta(linear: Linear, rows: int = 10) -> pd.DataFrame:
    """Suggest thresholds from the gaps between the modes that variables belong to.

    A mode that owns no variable cannot move one, so it is passed over. A threshold is the geometric mean of
    the two ends of its gap. Eigenvalues that are zero to rounding have no gap above them, since any ratio to
    them is infinite.

    Parameters
    ----------
    linear
        A linearised DAE of up to 2000 states.
    rows
        Most rows to return.

    Returns
    -------
    DataFrame
        A row per gap, the widest first: ``delta``, ``below`` and ``above`` (ends of the gap) in 1/s,
        ``ratio`` (above / below), ``fast_states`` and ``fast_algebraic`` (how many the threshold and the
        groups make fast, before any repair).

    Raises
    ------
    PartitionError
        As `by_participation`; also when rows is not at least 1.
    """
    import pandas as pd  # slow to import, for tables alone

    if isinstance(rows, bool) or not isinstance(rows, int | np.integer) or rows < 1:
        raise PartitionError(f"rows = {rows!r}: must be a whole number >= 1")
    require_linear(linear)
    magnitude = np.abs(modes(linear).owners())
    labels = group_labels(linear)
    # Both of a conjugate pair, or of a repeated eigenvalue, are one mode to this many digits.
    ends = np.unique(magnitude[magnitude > 0.0].round(12))
    below, above = ends[:-1], ends[1:]
    table = pd.DataFrame(
        {"delta": np.sqrt(below * above), "below": below, "above": above, "ratio": above / below}
    )
    counts = np.array([_count(magnitude > delta, labels, linear.n) for delta in table["delta"]]).reshape(
        -1, 2
    )
    table["fast_states"], table["fast_algebraic"] = counts[:, 0].astype(int), counts[:, 1].astype(int)
    return table.sort_values("ratio", ascending=False, kind="stable").head(rows).reset_index(drop=True)


def _count(fast: Array, labels: Array, n: int) -> tuple[int, int]:
    whole = np.isin(labels, labels[fast])
    return int(whole[:n].sum()), int(whole[n:].sum())


def _reason(value: complex, delta: float) -> str:
    if delta == 0:
        return "delta = 0 makes everything fast"
    if np.isnan(value):
        return "no state moves it"
    size = abs(value)
    return f"its mode has |lambda| = {size:.6g} {'>' if size > delta else '<='} delta = {delta:g}"
