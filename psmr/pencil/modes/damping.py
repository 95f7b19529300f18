"""Oscillations whose damping a scheme changes by more than a limit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psmr.base.errors import few

# Modes that a sentence lists.
LISTED = 2

Modes = NDArray[np.complex128]


@dataclass(frozen=True)
class DampingLimit:
    """By how much a scheme may change the damping ratio of an oscillation, in either direction.

    An oscillation that is damped too much is as wrong as one that is damped too little: a real one would last
    longer than the simulated one.

    `change`: Change of the damping ratio that is allowed, as a fraction (0.01: one percentage point).
    `part`: The same in parts of the mode's own damping ratio; the larger of both counts.
    `hz`: Highest frequency in Hz of the oscillations that count. Electromechanical ones are below 3 Hz, slow
      interactions of converters below 10 Hz (Hatziargyriou et al., Definition and classification of power
      system stability, IEEE Trans. Power Syst. 36 (2021) 3271-3281).
    `below`: An oscillation counts when its damping ratio is below this, in the system or as simulated. At 0.3
      it falls to a seventh from one period to the next.
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

        `s`, `s_hat`: modes of the system and as the scheme shows them, in 1/s and rad/s; NaN where it does
        not.
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


def changed_most(columns: Mapping[str, Any], limit: DampingLimit) -> list[tuple[complex, complex | None]]:
    """Return the modes of a deformation table whose damping is off by more than a limit, least damped first.

    Each with what the scheme makes of it, None where it does not show it.
    """
    s = columns["real"] + 1j * columns["imag"]
    s_hat = columns["real_numerical"] + 1j * columns["imag_numerical"]
    off = np.flatnonzero(limit.excess(s, s_hat) > 1.0)
    off = off[np.argsort(damping_ratio(s[off]), kind="stable")]
    return [(complex(s[k]), None if np.isnan(s_hat[k]) else complex(s_hat[k])) for k in off]


def sentences_on(
    changed: Sequence[tuple[complex, complex | None]], limit: DampingLimit, subject: str
) -> list[str]:
    """Return a sentence on oscillations that a scheme damps too much, one on too little, one on none shown.

    `changed`: modes and what the scheme makes of them, as of `changed_most`; `subject`: whose modes they are.
    """
    more: list[str] = []
    less: list[str] = []
    lost: list[str] = []
    for s, s_hat in changed:
        ratio = -s.real / abs(s)
        words = f"{s.imag / (2.0 * np.pi):.3g} Hz with a damping ratio of {100.0 * ratio:.3g} %"
        if s_hat is None:
            lost.append(words)
            continue
        simulated = -s_hat.real / abs(s_hat)
        (more if simulated > ratio else less).append(f"{words}, simulated with {100.0 * simulated:.3g} %")
    allowed = f"(limit: {100.0 * limit.change:.3g} pp or {100.0 * limit.part:.3g} % of the ratio)"
    sentences = [
        f"The scheme damps the {subject} too {much}: {few(listed, LISTED, '; ')} {allowed}; real "
        f"oscillations {real} than this run shows. Take smaller steps."
        for listed, much, real in ((more, "much", "last longer"), (less, "little", "die out sooner"))
        if listed
    ]
    if lost:
        sentences.append(
            f"The step is too long for oscillations of the {subject}: {few(lost, LISTED, '; ')}."
        )
    return sentences
