"""States that reach a non-windup limit, and when each first does (s).

A state is at its limit where the projection onto it has put it, to rounding. That is no fault of a run: it
says which regulators no longer regulate.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from psmr.dae.compile.decorators import lean
from psmr.dae.system.system import System
from psmr.integrate.timeline.span import Span
from psmr.study.detectors.detector import Connections, Points
from psmr.study.detectors.finding import Finding

# A state counts as at its limit within this part of max(1, |limit|): rounding of the projection onto it.
AT_LIMIT = 1e-9

SIDES = ("lower limit", "upper limit")


@dataclass(frozen=True)
class Limit:
    """A state that reached a non-windup limit, and when first (s)."""

    state: str
    side: str
    t: float


class Limits:
    """See the module."""

    def __init__(self, system: System) -> None:
        self.system = system
        self._open = [system.limited.copy(), system.limited.copy()]  # limits of each side not met so far
        self._met: dict[tuple[int, str], float] = {}

    def begin(self, span: Span, connections: Connections) -> None:
        """See `Detector`."""
        self._span, self._constant = span, self.system.constant_limits(span.parameters)

    def take(self, points: Points) -> None:
        """See `Detector`."""
        t, x = points.t, points.x
        at = (self.system.lower_at, self.system.upper_at)
        found = []
        for k, (constant, moving) in enumerate(zip(self._constant, at, strict=True)):
            open_ = np.flatnonzero(self._open[k])
            if not open_.size:
                continue
            over = np.flatnonzero(moving[open_] >= 0)
            column, limits = np.full(open_.size, -1), self._span.values(t, x, points.y, moving[open_[over]])
            column[over] = np.arange(over.size)
            rows = np.empty(open_.size, np.int64)
            first_met(np.take(x, open_, axis=1), constant[open_], column, limits, k == 1, rows)
            for j in np.flatnonzero(rows >= 0).tolist():
                i = int(open_[j])
                if self.system.names_x[i].rpartition(".")[0] not in self._span.out:
                    found.append((i, SIDES[k], float(t[rows[j]])))
                    self._open[k][i] = False
        for i, side, when in sorted(found):
            self._met[i, side] = when

    def findings(self) -> tuple[Finding, ...]:
        """See `Detector`: there are none."""
        return ()

    def met(self) -> tuple[Limit, ...]:
        """Return the limits that were met, in order of time."""
        names = self.system.names_x
        found = [Limit(names[i], side, t) for (i, side), t in self._met.items()]
        return tuple(sorted(found, key=lambda limit: limit.t))


@lean
def first_met(values, constant, column, limits, upper, rows):  # type: ignore[no-untyped-def]
    """Write for each column of `values` the first row in which it is at its limit, -1 where in none.

    The limit is `constant`, or the `column` of `limits` where that is not negative.
    """
    sign = -1.0 if upper else 1.0
    for c in range(rows.size):
        rows[c] = -1
        moves, bound = column[c] >= 0, constant[c]
        if not moves and not np.isfinite(bound):
            continue
        for k in range(values.shape[0]):
            if moves:
                bound = limits[k, column[c]]
            slack = AT_LIMIT * max(1.0, abs(bound))
            if np.isfinite(bound) and sign * (values[k, c] - bound) <= slack:
                rows[c] = k
                break
