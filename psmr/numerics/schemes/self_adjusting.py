"""One step for all, and steps of their own for the devices whose error asks for them."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NoReturn

from psmr.arguments import settle_fields
from psmr.errors import SchemeError
from psmr.numerics.refine.activity import OwnSteps
from psmr.numerics.schemes.adaptive import MOST_STEPS
from psmr.numerics.schemes.nested_step import NestedStep
from psmr.numerics.schemes.scheme import Scheme
from psmr.numerics.schemes.single_rate import SingleRate
from psmr.numerics.schemes.variable_step import AUTO, VARIABLE_METHODS, VariableStep
from psmr.numerics.step.program import Program

if TYPE_CHECKING:
    from psmr.dae.system.linear import LinearDae
    from psmr.dae.system.system import System


@dataclass(frozen=True)
class SelfAdjusting(Scheme):
    r"""Advance all variables with one step, and those whose error asks for it with steps of their own.

    The multirate scheme of Savcenco, Hundsdorfer and Verwer (BIT Numerical Mathematics 47, 2007) on the
    methods of `VariableStep`: a step for all with the estimated error of each device, a bus being one;
    then the devices whose error is too large once more over the same interval with smaller steps, and within
    these again, while the others are interpolated by the method's dense output. The common step and the
    devices that are refined follow the split of the work that is cheapest at equal error; where none promises
    to be much cheaper than one step for all, the scheme is `VariableStep`.

    Parameters
    ----------
    tolerance
        As in `VariableStep`, for every device at its own steps.
    h_max
        Longest common step in s; None for no limit but the next event.
    method
        As in `VariableStep`.
    most_steps
        Common steps after which a run that has not reached its end fails.

    Raises
    ------
    SchemeError
        As `VariableStep`.

    Notes
    -----
    An error shows where it is large, which need not be where it arises. What would be left of the error of a
    step if the refined devices added none must therefore meet the tolerance too; where it does not, the
    common step is shortened. A run records the common points; `psmr.study.run.run.Run.activity` says who took
    how many steps between them, and what is asked for between them (`Run.at`) takes these common steps again
    with one step for all.
    """

    tolerance: float = 1e-4
    h_max: float | None = None
    method: Annotated[str, VARIABLE_METHODS] = AUTO
    most_steps: int = MOST_STEPS

    newton: ClassVar[str] = "very dishonest"
    split: ClassVar[None] = None
    ratio: ClassVar[int] = 1
    chooses_steps: ClassVar[bool] = True
    refines: ClassVar[bool] = True
    dense_output: ClassVar[bool] = True
    follows_error: ClassVar[bool] = True

    def __post_init__(self) -> None:
        settle_fields(self, SchemeError)
        _ = self.together

    @functools.cached_property
    def together(self) -> VariableStep:
        """The same method with one step for all."""
        return VariableStep(self.tolerance, self.method, self.h_max, self.most_steps)

    @property
    def step(self) -> float:
        """NaN: the time between two points is found in the run."""
        return math.nan

    @property
    def longest_step(self) -> float:
        """See `Scheme`."""
        return self.together.longest_step

    def program(self, h: float, before: tuple[float, ...] = ()) -> Program:
        """See `Scheme`: the step of any level, with the rates that the estimate needs."""
        return self.together.program(h)

    def with_step(self, h: float) -> NoReturn:
        """See `Scheme`: there is none to set."""
        raise SchemeError(f"{self}: a method that chooses its own steps has none to set")

    def at_step(self, h: float) -> SingleRate:
        """See `Scheme`: the common step, with none refined."""
        return self.together.at_step(h)

    def at_split(self, h: float, levels: tuple[OwnSteps, ...]) -> NestedStep:
        """See `Scheme`: the common step with devices refined in it."""
        return NestedStep(self.together.name, h, levels)

    def engine(self, system: System, parameters: Sequence[Any], w: Any, every: bool) -> Any:
        """See `Scheme`: the program at every level, with steps that are found as it goes.

        Raises
        ------
        SchemeError
            For points within a step, which it does not have for all devices at once.
        """
        from psmr.numerics.refine.engine import NestedEngine

        if every:
            raise SchemeError(
                f"{self}: its points within a step are other ones for each device, so that there are no fast "
                "points to record; leave out all=True (fast_points in a study): run.activity says who took "
                "how many steps, and psmr.VariableStep records every step for all"
            )
        return NestedEngine(self.together.engine(system, parameters, w, every), system, w)

    def operator(self, linear: LinearDae) -> NoReturn:
        """See `Scheme`: there is none, but one for each common step (`at_step`)."""
        self.together.operator(linear)

    def __str__(self) -> str:
        longest = "" if self.h_max is None else f", steps up to {self.h_max:g} s"
        return f"self-adjusting {self.together.name}, tolerance {self.tolerance:g}{longest}"
