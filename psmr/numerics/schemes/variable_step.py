"""One step for all variables, chosen by the estimated error."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NoReturn

from psmr.errors import SchemeError
from psmr.numerics.schemes.adaptive import MOST_STEPS, no_operator, whole_steps
from psmr.numerics.schemes.choices import choice, positive
from psmr.numerics.schemes.scheme import Scheme
from psmr.numerics.schemes.single_rate import tableau_program
from psmr.numerics.schemes.tableaux import TABLEAUX, TR_BDF2_DIFFERENCE
from psmr.numerics.step.program import Program

if TYPE_CHECKING:
    from psmr.dae.system.linear import LinearDae
    from psmr.dae.system.system import System

VARIABLE_METHODS = ("TR-BDF2",)

# A hundred times the rounding of a variable of size one, which an increment must exceed to be an error.
LEAST_TOLERANCE = 1e-12


@dataclass(frozen=True)
class VariableStep(Scheme):
    r"""Advance every variable implicitly, with steps that keep the estimated error below a tolerance.

    TR-BDF2 (Hosea and Shampine, Applied Numerical Mathematics 20, 1996): the trapezoidal rule over a part of
    the step, then the backward differentiation formula of second order over the whole, one Newton matrix for
    both; L-stable, with an embedded estimate of third order. The estimate is filtered through the Newton
    matrix, so that it holds for stiff states and gives that of the algebraic variables. The steps follow a
    proportional-integral controller (Gustafsson, ACM Trans. Math. Software 17, 1991); a step that is rejected
    is taken again. Every event is met exactly, and the step begins anew behind it.

    Parameters
    ----------
    tolerance
        Largest estimated error of any state or algebraic variable in a step, relative to max(1, \|value\|).
    method
        ``"TR-BDF2"``.
    h_max
        Longest step in s; None for no limit but the next event.
    most_steps
        Steps after which a run that has not reached its end fails.

    Raises
    ------
    SchemeError
        For an unknown choice, or a tolerance that is no number between 1e-12 and 1.
    """

    tolerance: float = 1e-4
    method: Annotated[str, VARIABLE_METHODS] = "TR-BDF2"
    h_max: float | None = None
    most_steps: int = MOST_STEPS

    newton: ClassVar[str] = "very dishonest"
    split: ClassVar[None] = None
    ratio: ClassVar[int] = 1
    chooses_steps: ClassVar[bool] = True

    def __post_init__(self) -> None:
        positive("tolerance", self.tolerance)
        if not LEAST_TOLERANCE <= self.tolerance < 1.0:
            raise SchemeError(
                f"tolerance = {self.tolerance!r}: must be at least {LEAST_TOLERANCE:g}, a hundred times the "
                "rounding of a number near one and more, and below 1"
            )
        choice("method", self.method, VARIABLE_METHODS)
        if self.h_max is not None:
            positive("h_max", self.h_max, "s")
        whole_steps(self.most_steps)

    @property
    def step(self) -> float:
        """NaN: the time between two points is found in the run."""
        return math.nan

    def program(self, h: float, before: tuple[float, ...] = ()) -> Program:
        """See `Scheme`: the step that is tried, with the rates that the estimate needs."""
        return tableau_program(TABLEAUX[self.method], keep_last=True)

    def with_step(self, h: float) -> NoReturn:
        """See `Scheme`: there is none to set."""
        raise SchemeError(f"{self}: a method that chooses its own steps has none to set")

    def engine(self, system: System, parameters: Sequence[Any], w: Any, every: bool) -> Any:
        """See `Scheme`: the program, with steps that are found as it goes."""
        from psmr.numerics.step.variable import VariableEngine

        return VariableEngine(
            system, self.program(1.0), TR_BDF2_DIFFERENCE, self.tolerance, self.h_max, self.most_steps,
            parameters, w,
        )  # fmt: skip

    def operator(self, linear: LinearDae) -> NoReturn:
        """See `Scheme`: there is none."""
        raise no_operator(self)

    def __str__(self) -> str:
        longest = "" if self.h_max is None else f", steps up to {self.h_max:g} s"
        return f"variable step {self.method}, tolerance {self.tolerance:g}{longest}"
