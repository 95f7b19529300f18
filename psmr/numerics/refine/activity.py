"""When what was fast: the devices that took steps of their own, interval by interval."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_NONE, _NO_SETS = np.zeros(0, np.int64), np.zeros(0, np.uint32)


class Piece(NamedTuple):
    """Common steps in a row, and the sets that had steps of their own within them.

    Attributes
    ----------
    begin, ends
        Beginning in s of the first step, and (K,) ends in s.
    many
        (K,) refined sets within each step; (0,) where there are none at all.
    names
        Names of all sets.
    sets, steps
        Refined sets, by their place in `names`, and how many steps each took; one common step after another.
    """

    begin: float
    ends: NDArray[np.float64]
    many: NDArray[np.int64]
    names: tuple[str, ...]
    sets: NDArray[np.uint32]
    steps: NDArray[np.uint32]

    def until(self, t: float) -> Piece:
        """Return the steps that end no later than t in s."""
        count = int(np.searchsorted(self.ends, t, side="right"))
        used = int(self.many[:count].sum())
        return self._replace(
            ends=self.ends[:count], many=self.many[:count], sets=self.sets[:used], steps=self.steps[:used]
        )


def unrefined(begin: float, ends: NDArray[np.float64]) -> Piece:
    """Return a piece of common steps without any others."""
    return Piece(begin, ends, _NONE, (), _NO_SETS, _NO_SETS)


@dataclass(frozen=True, eq=False)
class Activity:
    """Steps of the devices within the common steps of a run.

    Attributes
    ----------
    intervals
        (K, 2) beginnings and ends in s of the common steps, in the order of time.
    devices
        Devices that had steps of their own at some time, in the order in which they first had; such that
        cannot be parted are joined by ``" + "``.
    steps
        (devices, K) steps that each took within each common step; 1 for those that went along with it.
    """

    intervals: NDArray[np.float64]
    devices: tuple[str, ...]
    steps: NDArray[np.int32]

    @classmethod
    def of(cls, pieces: Iterable[Piece]) -> Activity:
        """Put the pieces of a run together."""
        pieces = [piece for piece in pieces if piece.ends.size]
        places: dict[str, int] = {}
        rows, columns, values = [], [], []
        intervals = np.empty((sum(piece.ends.size for piece in pieces), 2))
        first = 0
        for piece in pieces:
            if piece.sets.size:
                number = np.zeros(len(piece.names), np.intp)
                used, at = np.unique(piece.sets, return_index=True)
                for a in used[np.argsort(at)]:  # in the order of time, however the run was cut into pieces
                    number[a] = places.setdefault(piece.names[a], len(places))
                rows.append(number[piece.sets])
                columns.append(first + np.repeat(np.arange(piece.ends.size), piece.many))
                values.append(piece.steps)
            own = intervals[first : first + piece.ends.size]
            own[0, 0], own[1:, 0], own[:, 1] = piece.begin, piece.ends[:-1], piece.ends
            first += piece.ends.size
        table = np.ones((len(places), first), np.int32)
        if rows:
            table[np.concatenate(rows), np.concatenate(columns)] = np.concatenate(values)
        return cls(intervals, tuple(places), table)
