"""One step for all variables, chosen by the estimated error."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NoReturn

import numpy as np

from psmr.base.arguments import explains_keywords
from psmr.base.declared import Positive
from psmr.base.errors import SchemeError
from psmr.integrate.constants import BDF, TUNED
from psmr.integrate.schemes.choices import MOST_STEPS, check_fields, check_whole_steps
from psmr.integrate.schemes.fixed_formula import FixedFormula
from psmr.integrate.schemes.one_step import SingleRate, tableau_program
from psmr.integrate.schemes.scheme import (
    ErrorControl,
    PastReading,
    Scheme,
    StepChoice,
    StepOperator,
    rounded_down,
)
from psmr.integrate.step.program import Program
from psmr.integrate.tableaux import PAIRS, ImplicitPair

if TYPE_CHECKING:
    from psmr.dae.system.linear import LinearDae
    from psmr.dae.system.system import System

AUTO = "auto"
FORMULAE = "BDF"
VARIABLE_METHODS = (AUTO, *PAIRS, FORMULAE)

# The pair that begins after events and kinks where the formulae go on.
STARTER = "ESDIRK32"

# The order that most steps have at the usual tolerances (measured: WSCC-9, New England, NPCC, 1,354 buses).
USUAL_ORDER = 4

# From here on ESDIRK32 costs less than ESDIRK43 at equal error (tests/programs/benchmarks/equal_error).
LOOSE = 1e-4


@explains_keywords(SchemeError)
@dataclass(frozen=True, repr=False)
class VariableStep(Scheme):
    r"""Advance every variable implicitly, with steps that keep the estimated error below a tolerance.

    Each method is stiffly accurate, L-stable, has one Newton matrix for all its stages and estimates its own
    error: TR-BDF2 of order 2 (Hosea and Shampine, Applied Numerical Mathematics 20, 1996), ESDIRK32 of order
    3 and ESDIRK43 of order 4 (ESDIRK3(2)5L[2]SA and ESDIRK4(3)6L[2]SA of Kennedy and Carpenter,
    NASA/TM-2016-219173, 2016). The estimate is filtered through the Newton matrix, so that it holds for stiff
    states and gives that of the algebraic variables; that of ESDIRK32 has differences of higher order of the
    rates as well, which see the layers of stiff states after kinks. A step is kept, and its Newton matrix
    with it, as long as its error lies between 0.003 and 0.5 of what it is allowed; a step that is rejected
    is taken again. Every event is met exactly, and the step begins anew behind it. The error of the run is
    proportional to the tolerance.

    ``"BDF"`` takes backward differentiation formulae of order 1 to 5 (Shampine and Reichelt, SIAM J. Sci.
    Comput. 18, 1997; Brenan, Campbell and Petzold, section 5.2), one solve a step, with ESDIRK32 for the
    steps after events and kinks; see docs/theory.md.

    Parameters
    ----------
    tolerance
        Error of any state or algebraic variable, relative to max(1, \|value\|) and to the size of the
        disturbance; a step is allowed twice that, of which most have a hundredth. The size is the largest
        deviation so far of any variable from where it was before the last event, relative to
        max(1, \|value\|), at least 0.001 and at most 1: what moves the system little is followed as
        accurately, relative to what it does, as a fault, which has the size 1.
        Angles, and real and imaginary parts, deviate from their own mean over the last 0.2 s, so that a
        common frequency that is off does not make the disturbance large.
        TR-BDF2, whose error would go with the 2/3 power of that, is allowed 14 tolerance^(3/2) instead;
        ESDIRK43, whose estimate is a third of its error, 0.65 tolerance; the formulae, whose steps are many,
        0.2 tolerance.
    method
        ``"ESDIRK32"``, ``"ESDIRK43"``, ``"TR-BDF2"``, ``"BDF"``; ``"auto"``: ESDIRK32 from a tolerance of
        1e-4 on, ESDIRK43 below, as each costs less there at equal error. BDF costs less still where there are
        few kinks, which is not known before a run.
    h_max
        Longest step in s; None for no limit but the next event.
    most_steps
        Steps after which a run that has not reached its end fails; those that end at a
        sample or another stop are not counted.

    Raises
    ------
    SchemeError
        For an unknown choice, or a tolerance that is not a number in (0, 1) or below what double precision
        allows the method; it says the least.
    """

    tolerance: float = 1e-4
    method: Annotated[str, VARIABLE_METHODS] = AUTO
    h_max: Annotated[float | None, Positive("s")] = None
    most_steps: int = MOST_STEPS

    newton: ClassVar[str] = "very dishonest"
    split: ClassVar[None] = None

    def __post_init__(self) -> None:
        check_fields(self)
        number = isinstance(self.tolerance, int | float) and not isinstance(self.tolerance, bool)
        if not number or not 0.0 < self.tolerance < 1.0:
            raise SchemeError(
                f"tolerance = {self.tolerance!r}: must be a number above 0 and below 1, the error allowed "
                "relative to max(1, |value|) and to the size of the disturbance; 1e-3 is usual",
                field="tolerance",
            )
        if self.tolerance < self.least_tolerance * (1.0 - 1e-9):
            raise SchemeError(
                f"tolerance = {self.tolerance!r}: below what double precision allows {self.name}; the least "
                f"is {self.least_tolerance:.2g}",
                field="tolerance",
            )
        check_whole_steps(self.most_steps)

    @property
    def name(self) -> str:
        """The method, also where it is chosen by the tolerance."""
        return self.method if self.method != AUTO else _automatic(self.tolerance)

    @property
    def pair(self) -> ImplicitPair:
        """Coefficients of the method and of its estimate; of the formulae those of the pair that begins."""
        return PAIRS[_pair_of(self.name)]

    @property
    def least_tolerance(self) -> float:
        """The least tolerance that double precision allows the method."""
        return _least_tolerance(self.name)

    @property
    def longest_step(self) -> float:
        """Longest step in s; inf for no limit but the next event."""
        return math.inf if self.h_max is None else self.h_max

    @property
    def step_choice(self) -> StepChoice:
        """See `Scheme`."""
        return StepChoice(self.longest_step)

    @property
    def error_control(self) -> ErrorControl:
        """See `Scheme`."""
        return ErrorControl(self.at_step)

    @property
    def past(self) -> PastReading:
        """See `Scheme`: no step is longer than the delay."""
        return PastReading(3, limited=self._up_to)

    def _up_to(self, tau: float) -> VariableStep:
        return self if self.longest_step <= tau else replace(self, h_max=tau)

    def program(self, h: float, before: tuple[float, ...] = ()) -> Program:
        """See `Scheme`: the step that is tried, with the rates that the estimate needs."""
        return _program(_pair_of(self.name))

    @property
    def accuracy(self) -> tuple[tuple[str, float, str], ...]:
        """See `Scheme`."""
        return (("tolerance", self.tolerance, ""),)

    def finer(self, part: float) -> VariableStep | None:
        """See `Scheme`: the error is proportional to the tolerance."""
        tolerance = rounded_down(part * self.tolerance)
        least = _least_tolerance(self.method if self.method != AUTO else _automatic(tolerance))
        return replace(self, tolerance=tolerance) if least <= tolerance < self.tolerance else None

    def at_step(self, h: float) -> SingleRate | FixedFormula:
        """Return the method with a fixed step of h in s.

        What the pencil says of it holds for the steps of that size which a run took. The formulae have the
        order that most steps of the run had, `USUAL_ORDER` before one.
        """
        if self.name == FORMULAE and (order := self._order_taken()):
            return FixedFormula(order, h)
        return SingleRate(_pair_of(self.name), h, newton="very dishonest")

    def _order_taken(self) -> int:
        """Return the order that the pencil judges, 0 for the pair."""
        return USUAL_ORDER

    def after(self, by_order: Sequence[int]) -> VariableStep:
        """See `Scheme`."""
        if not any(by_order) or self.name != FORMULAE:
            return self
        own = (self.tolerance, self.method, self.h_max, self.most_steps)
        return _Taken(*own, order_taken=int(np.argmax(by_order)))

    def engine(self, system: System, parameters: Sequence[Any], w: Any, every: bool) -> Any:
        """See `Scheme`: the program, with steps that are found as it goes."""
        if self.name == FORMULAE:
            from psmr.integrate.control.bdf_engine import BdfSteps

            return BdfSteps(
                system, self.program(1.0), self.pair, self.tolerance, self.longest_step, self.most_steps,
                parameters, w,
            )  # fmt: skip
        from psmr.integrate.control.engine import ControlledSteps

        return ControlledSteps(
            system, self.program(1.0), self.pair,
            self.pair.tolerance_of_step(TUNED.run_tolerance * self.tolerance),
            self.longest_step, self.most_steps, parameters, w,
        )  # fmt: skip

    @property
    def operator(self) -> StepOperator:
        """See `Scheme`: there is none, but one for each step (`at_step`)."""
        return no_one_operator(self)

    def __str__(self) -> str:
        longest = "" if self.h_max is None else f", steps up to {self.h_max:g} s"
        return f"variable step {self.name}, tolerance {self.tolerance:g}{longest}"


@dataclass(frozen=True, repr=False)
class _Taken(VariableStep):
    """The scheme after a run: with the order that most steps had, 0 for the pair that begins."""

    order_taken: int = USUAL_ORDER

    def _order_taken(self) -> int:
        return self.order_taken


def _automatic(tolerance: float) -> str:
    """Return the method that costs less at a tolerance."""
    return "ESDIRK32" if tolerance >= LOOSE else "ESDIRK43"


def _pair_of(name: str) -> str:
    """Return the pair of a method."""
    return STARTER if name == FORMULAE else name


def _least_tolerance(name: str) -> float:
    """Return the least tolerance that double precision allows a method."""
    if name == FORMULAE:
        return TUNED.least_tolerance / BDF.tolerance
    return PAIRS[name].least_tolerance(TUNED.least_tolerance)


@functools.cache
def _program(name: str) -> Program:
    pair = PAIRS[name]
    return tableau_program(pair.tableau, keep_last=True, starts=pair.starts)


def no_one_operator(scheme: Scheme) -> StepOperator:
    """Return the operator of a scheme that chooses its steps, which objects where it is asked for."""

    def object_to(linear: LinearDae) -> NoReturn:
        raise SchemeError(
            f"{scheme}: a method that chooses its own steps has no one step operator; scheme.at_step(h) has "
            "that of a step of h, and the accuracy check of a run those of the steps that it took"
        )

    return StepOperator(object_to, math.nan)
