"""Which variables are fast: by name, by device, or by a threshold of their participation."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from partitioning.matching import refuse_singular
from partitioning.participation import LARGEST, Participation, modes
from partitioning.partition import (
    Array,
    Linear,
    Partition,
    PartitionError,
    check_finite,
    device_of,
    group_labels,
    positions,
    require_linear,
    variables,
)
from partitioning.repair import RequestedSplit, SpectralRadius, well_posed

if TYPE_CHECKING:
    import pandas as pd


def by_device(
    linear: Linear,
    fast: Iterable[str],
    spectral_radius: SpectralRadius | None = None,
    limit: float = 1.0,
) -> Partition:
    """Make every variable of the named devices fast and all others slow.

    It needs no eigenvalues, so it serves systems of any size; above 2000 states the table has none.

    Parameters
    ----------
    linear
        A linearised DAE whose variables are named ``device.variable``.
    fast
        Names of devices. Buses are devices as well (``bus3``).
    spectral_radius, limit
        As in `by_participation`.

    Returns
    -------
    Partition

    Raises
    ------
    PartitionError
        For a device that owns no variable (with the nearest one that does), a singular gy, or a split that no
        change of side makes well posed.
    """
    require_linear(linear)
    names = variables(linear)
    devices = list(dict.fromkeys(device_of(name) for name in names))
    chosen = {devices[i] for i in positions(fast, devices, "device with variables named", "")}
    wanted = np.array([device_of(name) in chosen for name in names], dtype=bool)
    reasons = [f"device {device_of(name)} was {'' if w else 'not '}chosen as fast"
               for name, w in zip(names, wanted, strict=True)]  # fmt: skip
    return _checked(linear, wanted, reasons, "device", spectral_radius, limit)


def by_hand(
    linear: Linear,
    fast: Iterable[str],
    spectral_radius: SpectralRadius | None = None,
    limit: float = 1.0,
) -> Partition:
    """Make the named variables fast and all others slow, unless a group or a singular block says otherwise.

    Parameters
    ----------
    linear
        A linearised DAE.
    fast
        Names of states and algebraic variables, such as ``"AVR1.v_m"``.
    spectral_radius, limit
        As in `by_participation`.

    Returns
    -------
    Partition

    Raises
    ------
    PartitionError
        For a variable that is not there (with the nearest one), a singular gy, or a split that no change of
        side makes well posed.
    """
    require_linear(linear)
    names = variables(linear)
    wanted = np.zeros(len(names), dtype=bool)
    wanted[positions(fast, names, "variable", "")] = True
    reasons = ["chosen as fast" if w else "not chosen as fast" for w in wanted]
    return _checked(linear, wanted, reasons, "manual", spectral_radius, limit)


def all_fast(linear: Linear) -> Partition:
    """Make every variable fast: a multirate scheme with it is its single-rate method at the fast step.

    Raises
    ------
    PartitionError
        For a singular gy, naming its equations.
    """
    require_linear(linear)
    size = linear.n + linear.m
    return _checked(linear, np.ones(size, dtype=bool), ["everything is fast"] * size, "manual", None, 1.0)


def all_slow(linear: Linear) -> Partition:
    """Make every variable slow: a multirate scheme with it is its single-rate method at the slow step.

    Raises
    ------
    PartitionError
        For a singular gy, naming its equations.
    """
    require_linear(linear)
    size = linear.n + linear.m
    return _checked(linear, np.zeros(size, dtype=bool), ["everything is slow"] * size, "manual", None, 1.0)


def _checked(
    linear: Linear,
    wanted: Array,
    reasons: list[str],
    origin: str,
    spectral_radius: SpectralRadius | None,
    limit: float,
) -> Partition:
    check_finite(linear)
    wish = RequestedSplit(wanted, reasons, None, origin, _known_modes(linear), wanted)
    return well_posed(linear, wish, spectral_radius, limit)


def _known_modes(linear: Linear) -> Participation | None:
    """Return the modes for the table; None where the system is too large or its factors have no meaning.

    A choice by name needs no modes, so what stands in the way of them must not forbid it.
    """
    refuse_singular(linear)
    if linear.n > LARGEST:
        return None
    try:
        return modes(linear)
    except PartitionError:
        return None


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
    return well_posed(
        linear, RequestedSplit(fast, reasons, delta, algebraic, found, firm), spectral_radius, limit
    )


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
