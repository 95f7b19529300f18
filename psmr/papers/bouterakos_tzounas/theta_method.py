"""The theta method, from the trapezoidal rule (1/2) to backward Euler (1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from psmr.base.errors import SchemeError
from psmr.integrate.schemes.one_step import OneStep
from psmr.integrate.schemes.single_rate import tableau_program
from psmr.integrate.step.program import Program
from psmr.integrate.tableaux.tableaux import Tableau


@dataclass(frozen=True, repr=False)
class ThetaMethod(OneStep):
    """x(t+h) = x(t) + h ((1 - theta) f(t) + theta f(t+h)).

    Parameters
    ----------
    theta
        Weight of the end of the step, more than 0 and at most 1; A-stable from 1/2 on.

    Raises
    ------
    SchemeError
        For a theta out of range.
    """

    theta: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0.0 < self.theta <= 1.0:
            raise SchemeError(f"theta = {self.theta:g}: must be more than 0 and at most 1")

    @property
    def order(self) -> int:
        """See `Scheme`."""
        return 2 if self.theta == 0.5 else 1

    def program(self, h: float, before: tuple[float, ...] = ()) -> Program:
        """See `Scheme`."""
        weights = np.array([1.0 - self.theta, self.theta])
        rows = np.vstack([np.zeros(2), weights])
        return tableau_program(Tableau("theta", rows, weights, np.array([0.0, 1.0]), self.order))
