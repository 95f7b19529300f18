"""What a run read with a delay, found again from its accepted points."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from psmr.dae.system.system import System
from psmr.integrate.timeline.past import Past

Reals = NDArray[np.float64]

# Times closer than this in s are one.
SAME = 1e-9


class LateInputs:
    """Held inputs that read signals as they were some time ago, at times of a run.

    Signals of which a scheme reads points within its steps are on the lines between the accepted ones here.

    Parameters
    ----------
    system
        What reads signals with a delay.
    degree
        Of the polynomials on which the run reads its past: 1 or 3.

    Attributes
    ----------
    places
        (q,) places of the inputs among the held inputs.
    """

    def __init__(self, system: System, degree: int) -> None:
        delays = system.delays
        self.places = np.array([delay.input for delay in delays], dtype=np.intp) - system.n - system.m
        self._sources = np.array([delay.source for delay in delays])
        self._tau = np.array([delay.tau for delay in delays])
        self._degree = degree
        self._past: Past | None = None
        self._fresh = False

    @classmethod
    def of_run(cls, system: System, degree: int, t: Reals, points: Reals) -> LateInputs | None:
        """Return those of a run with all its (K,) times and (K, n + m) points; None where there are none."""
        if not system.delays:
            return None
        found = cls(system, degree)
        for own in np.split(np.arange(len(t)), np.flatnonzero(np.diff(t) == 0.0) + 1):
            found.begin()
            found.add(t[own], points[own])
        return found

    def begin(self) -> None:
        """Let no polynomial cross the time of the next point."""
        self._fresh = True

    def add(self, t: Reals, points: Reals) -> None:
        """Take (K,) times in s and (K, n + m) accepted points."""
        if not len(t):
            return
        if self._past is None:
            longest = float(self._tau.max())
            self._past = Past(self._sources, float(t[0]), points[0], longest + SAME, self._degree + 1)
            self._fresh = True
        self._past.add(t, points, self._fresh)
        self._fresh = False

    def forget(self, t: float) -> None:
        """Drop what nothing reads any more from t in s on."""
        if self._past is not None:
            self._past.forget(t)

    def values(self, t: Reals, begin: float) -> tuple[Reals, Reals]:
        """Return (K, q) values and rates in 1/s at (K,) ascending times in s.

        They are those within the span that began at `begin` in s: at its end ahead of a jump.
        """
        found, rates = np.zeros((2, len(t), len(self.places)))
        if self._past is None or not len(t):
            return found, rates
        first = max(begin, float(t[0]) - 4.0 * SAME)
        for tau in np.unique(self._tau).tolist():
            own = np.flatnonzero(self._tau == tau)
            times, c = self._past.between(own, first - tau, float(t[-1]) - tau, SAME)
            row = np.maximum(np.searchsorted(times + tau, t + SAME, side="right") - 1, 0)
            x, c = (t - tau - times[row])[:, None], c[row]
            found[:, own] = c[:, 0] + x * (c[:, 1] + x * (c[:, 2] + x * c[:, 3]))
            rates[:, own] = c[:, 1] + x * (2.0 * c[:, 2] + 3.0 * x * c[:, 3])
        return found, rates
