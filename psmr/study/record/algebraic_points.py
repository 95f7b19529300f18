"""Recorded points with the network solved: what a tolerance leaves of 0 = g(x, y), taken away.

Newton leaves a part of its tolerance, and a scheme that follows an error solves its stages no more accurately
than its steps need, so that the algebraic variables of an accepted point are off by as much, and the balance
of power at each bus by that times the admittances there. The states are what was integrated; from them the
algebraic variables follow, and are solved anew here to rounding, one or two iterations a point with the
matrix kept over a whole span.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from psmr.base.arrays import Reals
from psmr.base.errors import PsmrWarning
from psmr.dae.system.system import System
from psmr.integrate.solve.block import Block
from psmr.integrate.solve.newton import ALL, VERY_DISHONEST
from psmr.integrate.solve.records import VALID
from psmr.integrate.solve.status import DONE, NO_ROOM
from psmr.integrate.timeline.span import Span
from psmr.study.record.dense_output import TOLERANCE, block_of


class AlgebraicPoints:
    """Solves 0 = g(x, y) at the points of one span.

    Parameters
    ----------
    system, span
        The DAE, and the span.
    left
        Gets the times in s of the points that stay as they were accepted, since no solution is found near
        them; see `warn_of`.
    """

    def __init__(self, system: System, span: Span, left: list[float]) -> None:
        self.system, self.span, self.left = system, span, left
        self._block: Block | None = None  # once there is a point
        self._w = system.w0.copy()

    def points(self, t: Reals, points: Reals) -> Reals:
        """Return (K, n + m) points at (K,) times in s with their algebraic variables solved from the states.

        A point where that does not converge from what was accepted stays as it is, and goes into `left`.
        """
        n, size = self.system.n, self.system.n + self.system.m
        if n == size or not len(t):
            return points
        if self._block is None:
            limits = self.system.constant_limits(self.span.parameters)
            self._block = block_of(self.system, self.span, limits, np.arange(n, size), "event")
        held, w, out = self.span.held(t), self._w, points.copy()
        for k, time in enumerate(t):
            w[:size], w[size:-1], w[-1] = points[k], held[k], time
            if self._solve(w):
                out[k] = w[:size]
            else:
                self.left.append(float(time))
        return out

    def _solve(self, w: Reals) -> bool:
        block = self._block
        assert block is not None
        while True:
            block.records.newton.scalars[VALID] = 0.0
            status = block.solve(w, 0.0, VERY_DISHONEST, TOLERANCE, ALL)
            if status != NO_ROOM:
                return bool(status == DONE)
            block.make_room()


def with_algebraic_solved(
    system: System, spans: Sequence[Span], t: Reals, x: Reals, y: Reals, rows: slice
) -> Reals:
    """Return the algebraic variables of some rows of a run's points, solved from their states."""
    first, last, _ = rows.indices(len(t))
    found, left = [y[first:first]], list[float]()
    for span in spans:
        own = slice(max(first, span.rows.start), min(last, span.rows.stop))
        if own.start < own.stop:
            points = np.hstack([x[own], y[own]])
            found.append(AlgebraicPoints(system, span, left).points(t[own], points)[:, x.shape[1] :])
    warn_of(left)
    return np.concatenate(found)


def warn_of(left: Sequence[float]) -> None:
    """Warn of the points at these times, in s, that stayed as they were accepted; say nothing of none."""
    if left:
        warnings.warn(
            f"at {len(left)} points, the first at t = {left[0]:.6g} s, no solution of the algebraic equations"
            " was found near the accepted one: their powers are as exact as the tolerance",
            PsmrWarning,
            stacklevel=3,
        )
