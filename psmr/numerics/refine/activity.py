"""When what was fast: the devices that took steps of their own, interval by interval."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

# Two ends of steps no further apart than this, in units of the common step, are one.
SAME = 1e-10

# Between the names of devices that cannot be parted.
JOINED = " + "

_NONE, _NO_SETS = np.zeros(0, np.int64), np.zeros(0, np.uint32)


@dataclass(frozen=True, eq=False)
class OwnEnds:
    """Ends of the steps within common steps, one common step after another.

    Attributes
    ----------
    many
        (K,) how many there are in each common step; 0 where none was taken, or none was kept.
    levels
        Levels that the steps were of, 1 below the common step.
    times
        Their ends in s. One of a level that ends with a step of a deeper level stands behind that.
    """

    many: NDArray[np.int64]
    levels: NDArray[np.uint8]
    times: NDArray[np.float64]

    @classmethod
    def none(cls, count: int) -> OwnEnds:
        """Return those of common steps within which none was taken, or none was kept."""
        return cls(np.zeros(count, np.int64), np.zeros(0, np.uint8), np.zeros(0))

    def first(self, count: int) -> OwnEnds:
        """Return those of the first common steps."""
        used = int(self.many[:count].sum())
        return OwnEnds(self.many[:count], self.levels[:used], self.times[:used])


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
    own
        Where the steps within these ended.
    """

    begin: float
    ends: NDArray[np.float64]
    many: NDArray[np.int64]
    names: tuple[str, ...]
    sets: NDArray[np.uint32]
    steps: NDArray[np.uint32]
    own: OwnEnds

    def until(self, t: float) -> Piece:
        """Return the steps that end no later than t in s."""
        count = int(np.searchsorted(self.ends, t, side="right"))
        used = int(self.many[:count].sum())
        return self._replace(
            ends=self.ends[:count],
            many=self.many[:count],
            sets=self.sets[:used],
            steps=self.steps[:used],
            own=self.own.first(count),
        )


def unrefined(begin: float, ends: NDArray[np.float64]) -> Piece:
    """Return a piece of common steps without any others."""
    return Piece(begin, ends, _NONE, (), _NO_SETS, _NO_SETS, OwnEnds.none(ends.size))


@dataclass(frozen=True)
class OwnSteps:
    """Devices with as many steps of their own within a common step.

    Attributes
    ----------
    devices
        As in `Activity`, in that order.
    ends
        Ends of their steps in units of the common step; the last one is 1.
    """

    devices: tuple[str, ...]
    ends: tuple[float, ...]

    @property
    def steps(self) -> int:
        """How many steps each took."""
        return len(self.ends)


@dataclass(frozen=True, eq=False)
class Activity:
    """Steps of the devices within the common steps of a run.

    Attributes
    ----------
    intervals
        (K, 2) beginnings and ends in s of the common steps, in the order of time.
    devices
        Devices that had steps of their own at some time, in the order in which they first had; such that
        cannot be parted are joined by `JOINED`.
    steps
        (devices, K) steps that each took within each common step; 1 for those that went along with it.
    own
        Where the steps within the common steps ended; the first million of a run are kept.
    """

    intervals: NDArray[np.float64]
    devices: tuple[str, ...]
    steps: NDArray[np.int32]
    own: OwnEnds

    def levels(self, k: int) -> tuple[OwnSteps, ...]:
        """Return who had which steps within common step k, the fewest first; () where none was refined.

        Where the ends of the steps were not kept, or a device was refined in a part of the steps of the level
        above only, all steps within one of the level above are equally long here, and spread over these as
        evenly as whole numbers allow.
        """
        column = self.steps[:, k]
        counts = np.unique(column[column > 1]).tolist()
        ends = self._ends(k)
        if not set(counts) <= ends.keys():
            ends = {}
            for before, count in zip((0, *counts), counts, strict=False):
                ends[count] = evenly(ends.get(before, (1.0,)), count)
        return tuple(
            OwnSteps(tuple(self.devices[d] for d in np.flatnonzero(column == count)), ends[count])
            for count in counts
        )

    def _ends(self, k: int) -> dict[int, tuple[float, ...]]:
        """Return the ends of the steps of each level that were kept, by their number in the common step."""
        after = int(self.own.many[: k + 1].sum())
        within = slice(after - int(self.own.many[k]), after)
        levels, (begin, end) = self.own.levels[within], self.intervals[k]
        if not levels.size:
            return {}
        parts = (self.own.times[within] - begin) / (end - begin)
        parts[np.abs(parts - 1.0) <= SAME] = 1.0
        different, of = np.unique(parts, return_inverse=True)
        last = np.append(np.diff(different) > SAME, True)  # of those that are one
        reached = different[last]
        of = (np.cumsum(last) - last)[of]
        found = {}
        for level in np.unique(levels).tolist():
            ends = reached[np.unique(of[levels <= level])].tolist()
            if ends[-1] == 1.0:
                found[len(ends)] = tuple(ends)
        return found

    @classmethod
    def of(cls, pieces: Iterable[Piece]) -> Activity:
        """Put the pieces of a run together."""
        pieces = [piece for piece in pieces if piece.ends.size]
        places: dict[str, int] = {}
        parts = [OwnEnds.none(0), *(piece.own for piece in pieces)]
        own = OwnEnds(
            np.concatenate([part.many for part in parts]),
            np.concatenate([part.levels for part in parts]),
            np.concatenate([part.times for part in parts]),
        )
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
            part = intervals[first : first + piece.ends.size]
            part[0, 0], part[1:, 0], part[:, 1] = piece.begin, piece.ends[:-1], piece.ends
            first += piece.ends.size
        table = np.ones((len(places), first), np.int32)
        if rows:
            table[np.concatenate(rows), np.concatenate(columns)] = np.concatenate(values)
        return cls(intervals, tuple(places), table, own)


def evenly(above: tuple[float, ...], count: int) -> tuple[float, ...]:
    """Return the ends of so many steps within steps that end at `above`, spread as evenly as can be."""
    found: list[float] = []
    many = len(above)
    for j, (begin, end) in enumerate(zip((0.0, *above), above, strict=False)):
        parts = (j + 1) * count // many - j * count // many
        found += [begin + (end - begin) * i / parts for i in range(1, parts)]
        found.append(end)
    return tuple(found)
