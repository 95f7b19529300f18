"""The points of a march, gathered piece by piece."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from psmr.numerics.counters import Counters
from psmr.numerics.trajectory import Trajectory

Reals = NDArray[np.float64]


class Log:
    """Points in the order of time, and how many steps made them.

    Attributes
    ----------
    states, size
        Number of states n, and of states and algebraic variables n + m.
    steps, macro_steps
        As in `Counters`.
    """

    def __init__(self, states: int, size: int) -> None:
        self.states, self.size = states, size
        self.steps = self.macro_steps = 0
        self._times: list[Reals] = []
        self._rows: list[Reals] = []

    def add(self, times: Reals, rows: Reals, steps: int = 0, macro_steps: int = 0) -> None:
        """Take (K,) times and (K, n + m) points, made by so many steps; the arrays are kept, not copied."""
        self._times.append(times)
        self._rows.append(rows)
        self.steps += steps
        self.macro_steps += macro_steps

    def trajectory(self, counters: Counters, h: float) -> Trajectory:
        """Return everything so far."""
        rows = np.concatenate(self._rows)
        return Trajectory(
            np.concatenate(self._times), rows[:, : self.states], rows[:, self.states :], counters, h
        )
