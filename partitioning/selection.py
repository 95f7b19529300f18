"""Splits that are chosen and not computed: by device, by variable, everything fast, everything slow."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from partitioning.linear import Linear, check_finite, device_of, positions, require_linear, variables
from partitioning.matching import refuse_singular
from partitioning.participation import LARGEST, Modes, modes
from partitioning.partition import Array, Partition, PartitionError
from partitioning.repair import SpectralRadius, Wish, well_posed


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
    wish = Wish(wanted, reasons, None, origin, _known_modes(linear), wanted)
    return well_posed(linear, wish, spectral_radius, limit)


def _known_modes(linear: Linear) -> Modes | None:
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
