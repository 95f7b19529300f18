"""A backward differentiation formula at one step and order: what the pencil judges of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from psmr.base.arrays import Reals
from psmr.dae.system.linear import LinearDae
from psmr.integrate.differentiation import FORMULAE, Differentiation
from psmr.integrate.schemes.one_step import UniformStep
from psmr.integrate.schemes.scheme import StepOperator
from psmr.integrate.schemes.stability import with_algebraic


@dataclass(frozen=True, repr=False)
class FixedFormula(UniformStep):
    """The formula of one order with points h in s apart: no scheme of a run, but what the pencil judges.

    A mode s is multiplied by a root of the characteristic polynomial at h s in each step; see
    `psmr.integrate.differentiation.Differentiation.stability_function`. The algebraic variables follow.
    """

    formula: int
    h: float

    newton: ClassVar[str] = "very dishonest"
    tolerance: ClassVar[float] = 1e-10

    @property
    def tableau(self) -> Differentiation:
        """See `Scheme`: the formula, by what it makes of a mode."""
        return FORMULAE[self.formula - 1]

    @property
    def order(self) -> int:
        """See `Scheme`."""
        return self.formula

    @property
    def operator(self) -> StepOperator:
        """See `Scheme`: what a step makes of a point on a solution that has been followed for long."""
        return StepOperator(self._matrix, self.h)

    def _matrix(self, linear: LinearDae) -> Reals:
        linear.require_no_delays("multiplier for each mode by itself")
        s, vectors = np.linalg.eig(linear.state_matrix())
        z = self.tableau.stability_function(self.h * s)
        return with_algebraic(linear, np.real(vectors * z @ np.linalg.inv(vectors)))

    def __str__(self) -> str:
        return f"{self.tableau.name}, h = {self.h:g} s"
