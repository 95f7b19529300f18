"""The record of an explicit method that chooses its own steps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NoReturn

import numpy as np

from psmr.base.arguments import settle_fields
from psmr.base.errors import SchemeError
from psmr.base.keywords import explains_keywords
from psmr.integrate.schemes.choices import (
    MOST_STEPS,
    NEWTONS,
    Newton,
    check_choice,
    check_positive,
    check_whole_steps,
)
from psmr.integrate.schemes.scheme import Scheme

if TYPE_CHECKING:
    from psmr.dae.system.linear import LinearDae
    from psmr.dae.system.system import System

ADAPTIVE_METHODS = ("RK54", "Adams")


@explains_keywords(SchemeError)
@dataclass(frozen=True, repr=False)
class Adaptive(Scheme):
    r"""Advance every variable explicitly, with steps that keep the local error below a tolerance.

    Parameters
    ----------
    method
        ``"RK54"``, the Runge-Kutta pair of Dormand and Prince, order 5 with an error estimate of order 4; or
        ``"Adams"``, Adams-Bashforth-Moulton of order 1 to 12 in PECE form, two evaluations a step.
    rtol, atol
        The root mean square over the states of error / (atol + rtol \|x\|) is kept below 1 at each step.
    longest
        Longest step in s.
    most_steps
        Steps after which a run that has not reached its end fails.
    newton, tolerance
        How g = 0 is solved at every evaluation, as in `SingleRate`; `tolerance` must not be above `rtol`.

    Raises
    ------
    SchemeError
        For an unknown choice or a value out of range.

    Notes
    -----
    On a stiff system the step is that of the stability limit, whatever the tolerance: an explicit method
    stays explicit. A state that meets its limit is held there; the error control shortens the steps around
    that instant. A limit that moves with a variable is refused: no stage has the derivative of a state on it.
    """

    method: Annotated[str, ADAPTIVE_METHODS] = "RK54"
    rtol: float = 1e-6
    atol: float = 1e-9
    longest: float = math.inf
    most_steps: int = MOST_STEPS
    newton: Newton = "very dishonest"
    tolerance: float = 1e-10

    split: ClassVar[None] = None
    ratio: ClassVar[int] = 1

    def __post_init__(self) -> None:
        settle_fields(self, SchemeError)
        check_choice("method", self.method, ADAPTIVE_METHODS)
        check_choice("newton", self.newton, NEWTONS)
        for field in ("rtol", "atol", "tolerance"):
            check_positive(field, getattr(self, field))
        if self.longest != math.inf:
            check_positive("longest", self.longest, "s")
        check_whole_steps(self.most_steps)
        # An increment below the rounding of a number cannot be distinguished from an error.
        if self.rtol < 100 * np.finfo(float).eps:
            raise SchemeError(
                f"rtol = {self.rtol:g}: must be at least 2.3e-14, a hundred times the rounding of a number"
            )
        if self.tolerance > self.rtol:
            raise SchemeError(
                f"tolerance = {self.tolerance:g} of Newton is above rtol = {self.rtol:g}: the algebraic"
                " variables would carry "
                "a larger error than the steps are chosen for; take tolerance <= rtol"
            )

    chooses_steps: ClassVar[bool] = True

    @property
    def longest_step(self) -> float:
        """See `Scheme`."""
        return self.longest

    def engine(self, system: System, parameters: Sequence[Any], w: Any, every: bool) -> Any:
        """See `Scheme`: it finds its points as it goes."""
        from psmr.papers.kuznetsov_krasnikov.explicit_engine import ExplicitChoices, ExplicitEngine

        chosen = (self.rtol, self.atol), self.longest, self.most_steps, self.newton, self.tolerance
        return ExplicitEngine(system, ExplicitChoices(self.method, None, *chosen, str(self)), parameters, w)

    def operator(self, linear: LinearDae) -> NoReturn:
        """See `Scheme`: there is none."""
        raise no_operator(self)

    def __str__(self) -> str:
        name = {"RK54": "Runge-Kutta 5(4)", "Adams": "Adams PECE"}[self.method]
        return f"adaptive {name}, rtol = {self.rtol:g}, atol = {self.atol:g}"


def no_operator(scheme: Scheme) -> SchemeError:
    """Return the error for a report on a method that chooses its own steps."""
    return SchemeError(
        f"{scheme}: a method that chooses its own steps has no step operator; its steps follow the "
        "tolerance, and on a stiff system the stability limit of the method. For a report take a fixed-step "
        "method"
    )
