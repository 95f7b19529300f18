"""What a scheme is to everything else: a frozen record that yields the program of its step.

Nothing outside a scheme asks for its type. What every scheme has stands in `Scheme`; what only some have is a
record that is None for the others. A scheme whose step is no program (matrix exponentials, steps that the
error or the arc chooses) brings an engine and, where it has one, a step operator of its own.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from psmr.base.arrays import Reals
from psmr.base.errors import PrintedFields, PsmrError, SchemeError
from psmr.integrate.solve.status import FULL, NO_ROOM

if TYPE_CHECKING:
    from partitioning import Partition
    from psmr.dae.system.linear import LinearDae
    from psmr.dae.system.system import System
    from psmr.integrate.control.grid import Piece
    from psmr.integrate.solve.block import Block
    from psmr.integrate.solve.courses import Place
    from psmr.integrate.step.input_jumps import JumpTable
    from psmr.integrate.step.program import Program
    from psmr.integrate.step.sampling import Samplers


class Scheme(PrintedFields):
    """A scheme of integration; the base of every record of choices.

    Attributes
    ----------
    newton, tolerance
        How stages are solved.
    split
        Partition into fast and slow variables; None for a scheme without one.
    """

    if TYPE_CHECKING:

        @property
        def newton(self) -> str: ...  # noqa: D102
        @property
        def tolerance(self) -> float: ...  # noqa: D102
        @property
        def split(self) -> Partition | None: ...  # noqa: D102

    @classmethod
    def makers(cls) -> tuple[Callable[..., Scheme], ...]:
        """Return the functions whose arguments a study file's table may hold, `linear` and `split` aside."""
        return (cls,)

    @classmethod
    def chosen(cls, choices: Mapping[str, Any], linear: LinearDae | None) -> Scheme | None:
        """Return the scheme of the choices in a study file, `split` included, for a linearised DAE.

        Without one the choices are checked as far as no system is needed; None where they leave a search.

        Raises
        ------
        SchemeError
            For choices that are out of range, do not fit together, or cannot be had on this system.
        """
        return cls(**choices)

    @property
    def step(self) -> float:
        """Time between two accepted points in s; NaN where it is found in the run."""
        if self.step_choice is not None:
            return math.nan
        raise NotImplementedError

    def on(self, system: System) -> Scheme:
        """Return the scheme with what it finds in a system: itself, where it finds nothing there."""
        return self

    @property
    def order(self) -> int:
        """Power of the step with which the error of a run falls."""
        return 1

    @property
    def accuracy(self) -> tuple[tuple[str, float, str], ...]:
        """The fields of a study's table that set its error: name, value, and unit or ""; () for none."""
        return (("h", self.step, "s"),) if self.step_choice is None else ()

    def finer(self, part: float) -> Scheme | None:
        """Return the scheme with a shorter step, which makes its error smaller to a part of it, below 1.

        What sets the error (`accuracy`) is a round number then, rounded down. None where nothing sets it, and
        where no such scheme can be.
        """
        if self.step_choice is not None:
            return None
        h = rounded_down(self.step * part ** (1.0 / self.order))
        return self.with_step(h) if least_step(self) < h < self.step else None

    def with_step(self, h: float) -> Scheme:
        """Return the scheme with a step operator that spans h in s; all else stays.

        Raises
        ------
        SchemeError
            For a method that chooses its own steps, where no operator has a step to set.
        """
        if self.step_choice is not None:
            raise SchemeError(f"{self}: a method that chooses its own steps has none to set")
        raise NotImplementedError

    def program(self, h: float, before: tuple[float, ...] = ()) -> Program:
        """Return the program of a step of h in s.

        Parameters
        ----------
        h
            Step in s; the usual one or a shortened one.
        before
            Distances in s from the start of the step back to the accepted points that are there.

        Raises
        ------
        SchemeError
            For a scheme whose step is no program.
        """
        raise SchemeError(
            f"{self}: its step is no program of stages, so it has no equations to show and no step map:"
            " only a dense operator, of every mode of at most 2000 variables (leave out modes=)"
        )

    def engine(self, system: System, parameters: Sequence[Reals], w: Reals, every: bool) -> Engine:
        """Return the scheme on a system, ready to run; `every`: with the points within a step.

        Raises
        ------
        SchemeError
            For a partition of another system, or a system that the scheme cannot integrate.
        """
        from psmr.integrate.control.engine import FixedSteps
        from psmr.integrate.step.stepper import NewtonSettings

        oscillation, within = self.numerical_oscillation, functools.partial(point_times, self)
        first_step = None if oscillation is None else oscillation.first_step
        choices = NewtonSettings(self.newton, self.tolerance)
        return FixedSteps(
            system, self.program, first_step, self.step, choices, self.split, parameters, w, within, every
        )

    # What only some schemes have.
    @property
    def two_rates(self) -> TwoRates | None:
        """What has fast variables take shorter steps than slow ones: the scheme itself; None at one rate."""
        return None

    @property
    def step_choice(self) -> StepChoice | None:
        """How it chooses its steps; None where they are fixed before a run."""
        return None

    @property
    def error_control(self) -> ErrorControl | None:
        """What follows an estimated error: its steps, and by its tolerance Newton's accuracy; None: neither.

        Between two points of a run its dense output is wanted (`psmr.study.record.dense_output`).
        """
        return None

    @property
    def tableau(self) -> ModeMap | None:
        """The method, where every variable takes one step and a mode's multiplier follows from it alone."""
        return None

    def after(self, by_order: Sequence[int]) -> Scheme:
        """Return the scheme as it was in a run with so many steps by order (`Counters.by_order`)."""
        return self

    @property
    def inner_points(self) -> InnerPoints | None:
        """The points within a step; None where it has but its end."""
        return None

    @property
    def past(self) -> PastReading | None:
        """How it reads a signal as it was a delay ago; None where it keeps no past."""
        return None

    def resting(self, system: System) -> NDArray[np.intp] | None:
        """Return the positions of the states that are at rest whatever the others do; None for none."""
        return None

    @property
    def numerical_oscillation(self) -> NumericalOscillation | None:
        """What it does about what its rule leaves oscillating; None for a rule that damps it."""
        return None

    @property
    def operator(self) -> StepOperator | None:
        """What the pencil knows of a step that is no program; None where it is one."""
        return None


class ModeMap(Protocol):
    """A method by what a step of it makes of a mode: a tableau, or a formula of differentiation.

    `name`: Its name; `a_stable`: whether no step makes a mode grow that does not grow itself.
    """

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def a_stable(self) -> bool: ...  # noqa: D102

    def stability_function(self, z: ArrayLike) -> NDArray[np.complex128]:
        """Return by what a step of h multiplies modes s, for z = h s."""


@dataclass(frozen=True)
class StepChoice:
    """How a scheme chooses its steps in a run: the longest in s, as far as it is known before; may be inf."""

    longest: float


@dataclass(frozen=True)
class ErrorControl:
    """Steps that follow an estimated error.

    `at_step`: Returns the method with a fixed step of h in s. What the pencil says of it holds for the steps
      of that size which a run took.
    `dense`: Whether its method has a dense output; not where others take shorter steps within its own.
    """

    at_step: Callable[[float], Scheme]
    dense: bool = True


class TwoRates(Protocol):
    """What a scheme with two rates has; its choices are those of `psmr.Multirate`.

    `passes`: How often a step is done over, with every correction made.
    `work`: What the work of a step depends on, step sizes and corrections aside.
    """

    @property
    def split(self) -> Partition: ...  # noqa: D102
    @property
    def ratio(self) -> int: ...  # noqa: D102
    @property
    def h_fast(self) -> float: ...  # noqa: D102
    @property
    def predictor(self) -> str: ...  # noqa: D102
    @property
    def predict(self) -> str: ...  # noqa: D102
    @property
    def solution(self) -> str: ...  # noqa: D102
    @property
    def interpolation(self) -> str: ...  # noqa: D102
    @property
    def corrections(self) -> int | str: ...  # noqa: D102
    @property
    def epsilon(self) -> float: ...  # noqa: D102
    @property
    def coupling(self) -> str | None: ...  # noqa: D102
    @property
    def interface(self) -> str | None: ...  # noqa: D102
    @property
    def passes(self) -> int: ...  # noqa: D102
    @property
    def work(self) -> Hashable: ...  # noqa: D102

    def has(self, fast: bool) -> bool:
        """Return whether a side has variables."""

    def fast_steps(self, h: float) -> int:
        """Return the number of fast steps in a macro step of h in s."""

    def with_ratio(self, ratio: int) -> Scheme:
        """Return the scheme with another ratio at the same smallest step."""

    def converged(self) -> Scheme:
        """Return the scheme with corrections until prediction and result agree."""

    def predicting_implicitly(self) -> Scheme | None:
        """Return the scheme with an implicit prediction; None where it has no explicit one that decides."""


@dataclass(frozen=True)
class InnerPoints:
    """The points within a step.

    `times`: Their times in s, of a step of h in s; the last one is h.
    `least_step`: Step in s above which the scheme is defined.
    """

    times: Callable[[float], Reals]
    least_step: float = 0.0


@dataclass(frozen=True, eq=False)
class PastReading:
    """How a scheme reads a signal as it was a delay ago.

    `degree`: Of the polynomials on which it reads the past.
    `own_step`: Whether its steps may be longer than a delay: what they read of themselves is on a line.
    `why_not`: Why not, in words.
    `within`: (n + m,) of which variables the past has the points within a step too; None for none of them.
    `limited`: Returns the scheme with steps of at most a delay, where it can limit them.
    """

    degree: int
    own_step: bool = False
    why_not: str = ""
    within: NDArray[np.bool_] | None = None
    limited: Callable[[float], Scheme] | None = None

    def has_within(self, places: Sequence[int] | NDArray[Any]) -> NDArray[np.bool_]:
        """Return of which variables (positions in w) the past has the points within a step too."""
        return np.zeros(len(places), bool) if self.within is None else np.asarray(self.within[places])


@dataclass(frozen=True)
class NumericalOscillation:
    """What a scheme does about that which its rule leaves oscillating from step to step after an event.

    `first_step`: Program of the first step after an event, where that damps it.
    `damped`: The scheme with such a step, where that is not chosen and it can be.
    """

    first_step: Program | None = None
    damped: Scheme | None = None


@dataclass(frozen=True)
class StepOperator:
    """What the pencil knows of a scheme whose step is no program.

    `matrix`: The step operator (n + m, n + m) on a linear DAE; raises SchemeError where there is none, or
      where the scheme does not fit the system.
    `step`: Time in s that one application of it spans; NaN where it is found in the run.
    `limit`: Says up to which step the scheme is stable on a linear DAE and what sets that; "" for nothing to
      say.
    `remarks`: What a report on the scheme must say besides its figures.
    """

    matrix: Callable[[LinearDae], Reals]
    step: float
    limit: Callable[[LinearDae], str] = lambda linear: ""
    remarks: tuple[str, ...] = ()


class Engine(Protocol):
    """A scheme on a system, ready to run.

    `blocks`: Its blocks of equations by number.
    `samplers`: What samples within its steps; None where it takes no samples.
    `ends_at_stops`: Whether its steps end at the `stops` of a span. Otherwise a span ends at each.
    `marches`: Whether fast steps end where inputs jump that fast equations alone read, at any instant.
    """

    ends_at_stops: bool
    marches: bool

    @property
    def blocks(self) -> dict[int, Block]: ...  # noqa: D102

    @property
    def samplers(self) -> Samplers | None: ...  # noqa: D102

    def begin(self, end: float, w: Reals, stops: Reals) -> int:
        """Begin a span from the point in w; `stops` are times in s before its end; return a status."""

    def note(self, w: Reals | None) -> None:
        """Take note of the point w ahead of a change, behind which planned steps may go on; None: not."""

    def take_jumps(self, jumps: JumpTable | None) -> bool:
        """Let held inputs jump within a span from the next `begin` on; return whether they can."""

    def advance(self, most: int, w: Reals) -> tuple[Piece, int]:
        """Take up to `most` steps; return their points and a status, `FULL` where the span goes on."""

    def failed(self) -> tuple[Block, float | None]:
        """Return the block in which a step failed, and when that was to end in s; None where that is free."""

    def failure(self, status: int, end: float, w: Reals) -> PsmrError:
        """Return the error for a span that did not reach its end; w is the last point."""

    def forget(self, autonomous: bool) -> None:
        """Drop history, since w is about to jump; `autonomous` holds from here on."""

    def read_slowly(self, inputs: Collection[int], parameters: Collection[Place]) -> bool:
        """Return whether slow equations read a held input (positions in w) or a parameter of these."""

    def take_out_of_service(
        self, system: System, parameters: Sequence[Reals], w: Reals, out: Collection[str]
    ) -> None:
        """Make the blocks anew with the devices in `out` out of service."""

    def counted(self) -> dict[str, Any]:
        """Return what `Counters` has beside the work of the blocks."""


def advance(engine: Engine, most: int, w: Reals) -> tuple[Piece, int]:
    """Let an engine take up to `most` steps; return their points and a status, FULL where the span goes on.

    Where the factors of a block need more room than there is, it gets it, and the span goes on.
    """
    piece, status = engine.advance(most, w)
    if status == NO_ROOM:
        engine.failed()[0].make_room()
        status = FULL
    return piece, status


def operator_step(scheme: Scheme) -> float:
    """Return the time in s that one application of the step operator spans; NaN where it has none."""
    return scheme.step if scheme.operator is None else scheme.operator.step


def smallest_step(scheme: Scheme) -> float:
    """Return the smallest step in s: of two rates the fast one."""
    return scheme.step if scheme.two_rates is None else scheme.two_rates.h_fast


def least_step(scheme: Scheme) -> float:
    """Return the step in s above which the scheme is defined."""
    return 0.0 if scheme.inner_points is None else scheme.inner_points.least_step


def point_times(scheme: Scheme, h: float) -> Reals:
    """Return the times in s of the points within a step of h in s; the last one is h."""
    return np.array([h]) if scheme.inner_points is None else scheme.inner_points.times(h)


def damped_after_events(scheme: Scheme) -> Scheme:
    """Return the scheme with what oscillates after events damped, where that is not chosen and it can be."""
    oscillation = scheme.numerical_oscillation
    return scheme if oscillation is None or oscillation.damped is None else oscillation.damped


def oscillates(scheme: Scheme) -> bool:
    """Return whether it leaves what decays within a fraction of a step oscillating from step to step."""
    return scheme.numerical_oscillation is not None and scheme.numerical_oscillation.first_step is None


def leaves_newton_tolerance(scheme: Scheme) -> bool:
    """Return whether Newton's tolerance alone is left of the algebraic equations at its points.

    They are solved anew where that matters. With two rates the sides differ by an error of the scheme.
    """
    return scheme.tableau is not None or scheme.error_control is not None


def steady_program(scheme: Scheme) -> Program:
    """Return the program of a usual step with all the history that it uses.

    Raises SchemeError for a scheme whose step is no program.
    """
    if not math.isfinite(scheme.step):
        raise SchemeError(f"{scheme}: chooses its own steps, so that there is no one step to show")
    program = scheme.program(scheme.step)
    if not program.history:
        return program
    return scheme.program(scheme.step, tuple((k + 1) * scheme.step for k in range(program.history)))


def reading_past(scheme: Scheme, reader: str, source: str, tau: float) -> Scheme:
    """Return the scheme with steps that allow the input `reader` to read `source` as it was tau in s ago.

    Raises SchemeError where it cannot.
    """
    if scheme.past is None:
        raise SchemeError(
            f"{scheme}: keeps no past, and {reader} reads {source} with a delay; take SingleRate, Multirate "
            "or VariableStep"
        )
    if scheme.past.limited is not None:
        return scheme.past.limited(tau)
    if not scheme.past.own_step and scheme.step > tau * (1.0 + 1e-9):
        raise SchemeError(
            f"{scheme}: {reader} reads {source} as it was {tau:g} s ago, which with steps of {scheme.step:g} "
            f"s is a part of the step that is still to be solved: {scheme.past.why_not}; take a step of at "
            "most the delay, SingleRate with TM, BEM or SDIRK2, VariableStep, whose steps are no longer, or "
            "a delay of 0"
        )
    return scheme


def rounded_down(value: float) -> float:
    """Return the largest round number that a positive number reaches; 0 below 1e-300."""
    if value < 1e-300:
        return 0.0
    exponent, round_ones = math.floor(math.log10(value)), (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0)
    up_to = float(f"{value:.12g}") / float(f"1e{exponent}") * (1.0 + 1e-12)
    return float(f"{max(number for number in round_ones if number <= up_to)}e{exponent}")
