"""The record of a run that did not store every variable at every point."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from psmr.study.outcome.outcome import Outcome
from psmr.study.record.sampled import Sampled

Reals = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ReducedRecord:
    """What a run stores in addition to its points where these are thinned or signals were chosen.

    Attributes
    ----------
    names, values
        Names of the j signals that were computed while the run went, and (K, j) values.
    chosen
        Whether signals were chosen; otherwise every state and algebraic variable is there.
    outcome
        The outcome, of every accepted step.
    ends
        (x, y) of the whole system at the first and at the last point.
    every
        Of how many accepted steps one was kept.
    sampled
        Voltages and speeds at some points, by which the error of the run is estimated.
    """

    names: tuple[str, ...]
    values: Reals
    chosen: bool
    outcome: Outcome
    ends: tuple[tuple[Reals, Reals], tuple[Reals, Reals]]
    every: int
    sampled: Sampled
