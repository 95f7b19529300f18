"""Oscillations whose damping a scheme changes by more than a limit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Modes = NDArray[np.complex128]


@dataclass(frozen=True)
class DampingLimit:
    """By how much a scheme may change the damping ratio of an oscillation, in either direction.

    An oscillation that is damped too much is as wrong as one that is damped too little: a real one would last
    longer than the simulated one.

    Attributes
    ----------
    change
        Change of the damping ratio that is allowed, as a fraction (0.01: one percentage point).
    part
        The same in parts of the mode's own damping ratio; the larger of both counts.
    hz
        Highest frequency in Hz of the oscillations that count. Electromechanical ones are below 3 Hz, slow
        interactions of converters below 10 Hz (Hatziargyriou et al., Definition and classification of power
        system stability, IEEE Trans. Power Syst. 36 (2021) 3271-3281).
    below
        An oscillation counts when its damping ratio is below this, in the system or as simulated. At 0.3 it
        falls to a seventh from one period to the next.
    """

    change: float = 0.01
    part: float = 0.2
    hz: float = 10.0
    below: float = 0.3

    def allowed(self, ratio: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the allowed change of (k,) damping ratios."""
        return np.maximum(self.change, self.part * np.abs(ratio))

    def counts(self, s: Modes, s_hat: Modes) -> NDArray[np.bool_]:
        """Return which of (k,) modes are oscillations that count.

        Parameters
        ----------
        s, s_hat
            Modes of the system and as the scheme shows them, in 1/s and rad/s; NaN where it does not.
        """
        least = np.fmin(damping_ratio(s), damping_ratio(s_hat))
        return (s.imag > 0.0) & (s.imag <= 2.0 * np.pi * self.hz) & (least < self.below)

    def excess(self, s: Modes, s_hat: Modes) -> NDArray[np.float64]:
        """Return by what part of the allowance each of (k,) modes is damped otherwise than in the system.

        Above 1: more than is allowed. Infinite for an oscillation that the scheme does not show, and 0 for
        what does not count.
        """
        ratio = damping_ratio(s)
        part = np.abs(damping_ratio(s_hat) - ratio) / self.allowed(ratio)
        return np.where(self.counts(s, s_hat), np.where(np.isnan(part), np.inf, part), 0.0)


def damping_ratio(s: Modes) -> NDArray[np.float64]:
    """Return the damping ratios of (k,) modes, NaN at 0."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(-s.real / np.abs(s))
