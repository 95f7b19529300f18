"""Whether the sources of an island keep in step: largest angle spread, first loss of synchronism."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from psmr.study.outcome.extreme import Extreme

Reals = NDArray[np.float64]

STEP_OUT_DEG = 180.0
"""Difference of two rotor angles in one island beyond which synchronism counts as lost.

Between two sources of equal voltage E the voltage half-way, at the electrical centre, is E cos(delta / 2):
zero at 180 degrees; beyond that the power between them falls while they drift apart. Where machines of a wide
network are further apart than that before anything happens, since the angles along it add up, the difference
is counted from there.
"""


@dataclass(frozen=True)
class LostSynchronism:
    """Two groups of machines in one island that fell out of step.

    Attributes
    ----------
    t
        Time in s at which two of them were first more than `STEP_OUT_DEG` apart.
    first, second
        The machines on both sides of the largest gap between their angles then, the smaller group first.
    spread_deg
        Largest difference of two rotor angles then.
    """

    t: float
    first: tuple[str, ...]
    second: tuple[str, ...]
    spread_deg: float

    def __str__(self) -> str:
        return (
            f"lost synchronism: {_several(self.first)} against {_several(self.second)} at t = {self.t:.4g} s"
        )


class Synchronism:
    """The angles of the sources of each island, as the points of a run come.

    Attributes
    ----------
    lost
        The first loss of synchronism; None where it was kept.
    spread
        Largest difference of two angles in one island, in degrees; None where no island has two sources.
    """

    def __init__(self) -> None:
        self.lost: LostSynchronism | None = None
        self.spread: Extreme | None = None
        self._started: dict[str, float] = {}

    def take(self, names: Sequence[str], t: Reals, degrees: Reals) -> None:
        """Take (K,) times and (K, members) angles in degrees of the named sources of one island, K > 0."""
        wide = degrees.max(axis=1) - degrees.min(axis=1)
        k = int(wide.argmax())
        if self.spread is None or wide[k] > self.spread.value:
            pair = f"{names[int(degrees[k].argmax())]} and {names[int(degrees[k].argmin())]}"
            self.spread = Extreme(float(wide[k]), f"between {pair}", float(t[k]))
        at_start = self._at_start(names, degrees[0])
        if np.ptp(at_start) > STEP_OUT_DEG:
            degrees = degrees - at_start
            wide = degrees.max(axis=1) - degrees.min(axis=1)
        over = np.flatnonzero(wide > STEP_OUT_DEG)
        if len(over) and (self.lost is None or t[over[0]] < self.lost.t):
            k = int(over[0])
            self.lost = _parted(names, float(t[k]), degrees[k], float(wide[k]))

    def _at_start(self, names: Sequence[str], degrees: Reals) -> Reals:
        """Return the angles of sources where each was first seen; `degrees` are those of this point."""
        named = zip(names, degrees.tolist(), strict=True)
        return np.array([self._started.setdefault(name, angle) for name, angle in named])


def _parted(names: Sequence[str], t: float, degrees: Reals, spread: float) -> LostSynchronism:
    """Return the two groups on both sides of the largest gap between (members,) angles."""
    order = np.argsort(degrees, kind="stable")
    cut = 1 + int(np.diff(degrees[order]).argmax())
    sides = [tuple(names[i] for i in sorted(part)) for part in (order[:cut], order[cut:])]
    first, second = sorted(sides, key=len)
    return LostSynchronism(t, first, second, spread)


def _several(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - 8} more" if len(names) > 8 else ""
    return ", ".join(names[:8]) + more
