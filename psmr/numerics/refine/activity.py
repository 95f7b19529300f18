"""When what was fast: the devices that took steps of their own, interval by interval."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Piece = tuple[NDArray[np.float64], NDArray[np.int64], tuple[str, ...], NDArray[np.uint32], NDArray[np.uint32]]
"""Intervals (K, 2) in s, entries of each, names, and of each entry the place of its name and its steps."""


@dataclass(frozen=True, eq=False)
class Activity:
    """Steps of the devices within the common steps of a run.

    Attributes
    ----------
    intervals
        (K, 2) beginnings and ends in s of the common steps, in the order of time.
    devices
        Devices that had steps of their own at some time; such that cannot be parted are joined by ``" + "``.
    steps
        (devices, K) steps that each took within each common step; 1 for those that went along with it.
    """

    intervals: NDArray[np.float64]
    devices: tuple[str, ...]
    steps: NDArray[np.int32]

    @classmethod
    def of(cls, pieces: Iterable[Piece]) -> Activity:
        """Put the pieces of a run together."""
        pieces = list(pieces)
        places: dict[str, int] = {}
        rows, columns, values, first = [], [], [], 0
        for _, many, names, sets, steps in pieces:
            used = np.unique(sets)
            number = np.zeros(len(names), np.intp)
            for a in used:
                number[a] = places.setdefault(names[a], len(places))
            rows.append(number[sets])
            columns.append(first + np.repeat(np.arange(many.size), many))
            values.append(steps)
            first += many.size
        table = np.ones((len(places), first), np.int32)
        if pieces:
            table[np.concatenate(rows), np.concatenate(columns)] = np.concatenate(values)
        intervals = np.concatenate([np.zeros((0, 2)), *(piece[0] for piece in pieces)])
        return cls(intervals, tuple(places), table)
