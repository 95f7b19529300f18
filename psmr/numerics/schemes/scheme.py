"""A scheme: one frozen record of every choice an integration makes.

The simulator and the pencil read the same record, so that a deformation report speaks of the run it stands
beside.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from partitioning import Partition
from psmr.errors import SchemeError

Newton = Literal["honest", "dishonest", "very dishonest"]

ONE_STEP_METHODS = ("FEM", "TM", "BEM", "RK4", "SDIRK2")
PREDICTORS = ("FEM", "TM", "BEM")
SOLUTIONS = ("TM", "BEM")
INTERPOLATIONS = ("linear", "spline")
NEWTONS = ("honest", "dishonest", "very dishonest")
PREDICTED = ("all", "slow")


@dataclass(frozen=True)
class SingleRate:
    r"""Advance every variable with one step size.

    Parameters
    ----------
    method
        ``"FEM"`` forward Euler, ``"TM"`` trapezoidal, ``"BEM"`` backward Euler, ``"RK4"`` classical
        Runge-Kutta, ``"SDIRK2"`` two-stage stiffly accurate SDIRK of order 2, gamma = 1 - 1/sqrt(2).
    h
        Step size in s.
    newton
        When the Jacobian is refreshed: ``"honest"`` at every iteration, ``"dishonest"`` once per time step,
        ``"very dishonest"`` when the convergence rate asks for it.
    tolerance
        Newton stops when the estimated error of w = (x, y), relative to max(1, \|w\|), is below this.

    Raises
    ------
    SchemeError
        For an unknown choice or a value out of range.
    """

    method: str
    h: float
    newton: Newton = "dishonest"
    tolerance: float = 1e-10

    def __post_init__(self) -> None:
        _choice("method", self.method, ONE_STEP_METHODS)
        _choice("newton", self.newton, NEWTONS)
        _positive("h", self.h, "s")
        _positive("tolerance", self.tolerance, "")

    @property
    def step(self) -> float:
        """Time between two accepted points in s."""
        return self.h

    def __str__(self) -> str:
        return f"single rate {self.method}, h = {self.h:g} s, {self.newton} Newton"


@dataclass(frozen=True)
class Multirate:
    """Advance the fast set with h_slow / ratio and the slow set with h_slow (Huang and Tzounas, section 2.2).

    Parameters
    ----------
    split
        Which variables are fast.
    h_slow
        Macro step in s.
    ratio
        Fast steps in a macro step; the fast step is ``h_slow / ratio``.
    predictor
        Method that predicts the slow variables at the end of the macro step: ``"FEM"``, ``"TM"`` or
        ``"BEM"``.
    solution
        Method that solves the fast and the slow rows: ``"TM"`` or ``"BEM"``.
    interpolation
        Slow values within the macro step: ``"linear"`` or ``"spline"``, the cubic through the last three
        accepted and the predicted value.
    newton
        As in `SingleRate`.
    corrections
        How often the slow solution may replace the prediction and the macro step be done again: 0, 1, 2, ...
        or ``"converge"``, which repeats until they agree to `epsilon` and fails where that does not happen.
    predict
        ``"all"`` predicts every variable (the published form); ``"slow"`` holds the fast set while the slow
        set is predicted, which keeps an explicit predictor usable beside very fast states.
    epsilon
        Corrections end when prediction and slow solution differ by less than this (infinity norm, per unit).
    tolerance
        As in `SingleRate`.

    Raises
    ------
    SchemeError
        For an unknown choice or a value out of range.
    """

    split: Partition
    h_slow: float
    ratio: int
    predictor: str = "FEM"
    solution: str = "TM"
    interpolation: str = "linear"
    newton: Newton = "dishonest"
    corrections: int | Literal["converge"] = 0
    predict: str = "all"
    epsilon: float = 1e-9
    tolerance: float = 1e-10

    def __post_init__(self) -> None:
        if not isinstance(self.split, Partition):
            raise SchemeError(
                f"split: a Partition is needed, not {type(self.split).__name__}; "
                "make one with partitioning.by_participation(linear, delta=...)"
            )
        _choice("predictor", self.predictor, PREDICTORS)
        _choice("solution", self.solution, SOLUTIONS)
        _choice("interpolation", self.interpolation, INTERPOLATIONS)
        _choice("newton", self.newton, NEWTONS)
        _choice("predict", self.predict, PREDICTED)
        _positive("h_slow", self.h_slow, "s")
        _positive("epsilon", self.epsilon, "pu")
        _positive("tolerance", self.tolerance, "")
        if isinstance(self.ratio, bool) or not isinstance(self.ratio, int) or self.ratio < 1:
            raise SchemeError(
                f"ratio = {self.ratio!r}: fast steps in a macro step must be a whole number >= 1, "
                "so that h_slow is a multiple of the fast step"
            )
        whole = isinstance(self.corrections, int) and not isinstance(self.corrections, bool)
        if self.corrections != "converge" and not (whole and self.corrections >= 0):  # type: ignore[operator]
            raise SchemeError(f"corrections = {self.corrections!r}: must be 0, 1, 2, ... or 'converge'")

    @classmethod
    def from_steps(cls, split: Partition, h_slow: float, h_fast: float, **choices: object) -> Multirate:
        """Make the scheme from both step sizes in s.

        Raises
        ------
        SchemeError
            When h_slow is not a whole multiple of h_fast.
        """
        _positive("h_slow", h_slow, "s")
        _positive("h_fast", h_fast, "s")
        ratio = round(h_slow / h_fast)
        # 1e-9 is far above the rounding of two decimal literals and far below any intended difference.
        if ratio < 1 or abs(ratio * h_fast - h_slow) > 1e-9 * h_slow:
            below = max(1, math.floor(h_slow / h_fast))
            raise SchemeError(
                f"h_slow = {h_slow:g} s is not a whole multiple of h_fast = {h_fast:g} s; "
                f"try h_slow = {below * h_fast:g} s or {(below + 1) * h_fast:g} s"
            )
        return cls(split, h_slow, ratio, **choices)  # type: ignore[arg-type]

    @property
    def h_fast(self) -> float:
        """Fast step in s."""
        return self.h_slow / self.ratio

    @property
    def step(self) -> float:
        """Time between two accepted points (the macro step) in s."""
        return self.h_slow

    def __str__(self) -> str:
        corrections = f"corrections: {self.corrections}" if self.corrections else "no corrections"
        return (
            f"multirate {self.predictor} predictor ({self.predict}), {self.solution} solution, "
            f"{self.interpolation} interpolation, h_slow = {self.h_slow:g} s, ratio {self.ratio}, "
            f"{corrections}, {self.newton} Newton"
        )


def _choice(field: str, value: object, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise SchemeError(f"{field} = {value!r}: must be one of {', '.join(map(repr, allowed))}")


def _positive(field: str, value: float, unit: str) -> None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not math.isfinite(value) or value <= 0:
        raise SchemeError(f"{field} = {value!r}: must be a finite number > 0{' in ' + unit if unit else ''}")
