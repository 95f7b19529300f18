"""What a scheme is to everything else: a frozen record that yields the program of its step.

Nothing outside a scheme asks for its type. What the simulator, the pencil, the cost model and the
explanation need of a scheme stands here; a scheme whose step is no program (matrix exponentials, steps that
the error or the arc chooses) brings an engine and, where it has one, a step operator of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import Field, fields
from html import escape
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from psmr.base.errors import PsmrError, SchemeError

if TYPE_CHECKING:
    from partitioning import Partition
    from psmr.dae.system.linear import LinearDae
    from psmr.dae.system.system import System
    from psmr.integrate.control.time_grid import Piece
    from psmr.integrate.solve.block import Block
    from psmr.integrate.solve.ramps import Place
    from psmr.integrate.step.program import Program
    from psmr.integrate.tableaux import Tableau

Reals = NDArray[np.float64]


class Scheme:
    """A scheme of integration; the base of every record of choices.

    Attributes
    ----------
    newton, tolerance
        How stages are solved.
    split
        Partition into fast and slow variables; None for a scheme without one.
    ratio
        Fast steps in a step.
    chooses_steps
        Whether the times of its points are found in the run.
    dense_output
        Whether its steps are as long as the error allows, so that between two points of a run its dense
        output is wanted (`psmr.study.record.dense_output`), and no straight line.
    follows_error
        Whether its steps follow an estimated error and Newton's accuracy its tolerance.
    leaves_tolerance
        Whether Newton's tolerance alone is left of the algebraic equations at its points, so that they are
        solved anew where that matters. With two rates the sides differ by an error of the scheme.
    step_name, has_ratio
        Name of the field that is its step, and whether `ratio` can be chosen.
    """

    if TYPE_CHECKING:

        @property
        def newton(self) -> str: ...  # noqa: D102
        @property
        def tolerance(self) -> float: ...  # noqa: D102
        @property
        def split(self) -> Partition | None: ...  # noqa: D102
        @property
        def ratio(self) -> int: ...  # noqa: D102

    chooses_steps: ClassVar[bool] = False
    dense_output: ClassVar[bool] = False
    follows_error: ClassVar[bool] = False
    leaves_tolerance: ClassVar[bool] = False
    step_name: ClassVar[str] = "h"
    has_ratio: ClassVar[bool] = False

    def __repr__(self) -> str:
        """Return the call that makes the scheme, without what has its default."""
        shown = (f"{f.name}={getattr(self, f.name)!r}" for f in self._fields() if not self._is_default(f))
        return f"{type(self).__name__}({', '.join(shown)})"

    def _repr_html_(self) -> str:
        left = "style='text-align:left'"
        rows = "".join(
            f"<tr><td {left}>{f.name}</td><td {left}>{escape(str(getattr(self, f.name)))}</td>"
            f"<td {left}>{'default' if self._is_default(f) else ''}</td></tr>"
            for f in self._fields()
        )
        return f"<p><strong>{escape(str(self))}</strong></p><table>{rows}</table>"

    def _fields(self) -> tuple[Field[Any], ...]:
        return fields(self)  # type: ignore[arg-type]

    def _is_default(self, field: Field[Any]) -> bool:
        return bool(getattr(self, field.name) == field.default)

    @classmethod
    def makers(cls) -> tuple[Callable[..., Scheme], ...]:
        """Return the functions whose arguments a study file's table may hold, `linear` and `split` aside."""
        return (cls,)

    @classmethod
    def chosen(cls, choices: Mapping[str, Any], linear: LinearDae) -> Self:
        """Return the scheme of the choices in a study file, `split` included, for a linearised DAE.

        Raises
        ------
        SchemeError
            For choices that are out of range, do not fit together, or cannot be had on this system.
        """
        return cls(**choices)

    @classmethod
    def check_choices(cls, choices: Mapping[str, Any]) -> None:
        """Raise SchemeError for choices in a study file that no system would make right."""
        cls(**choices)

    @property
    def step(self) -> float:
        """Time between two accepted points in s; NaN where it is found in the run."""
        if self.chooses_steps:
            return math.nan
        raise NotImplementedError

    @property
    def longest_step(self) -> float:
        """Longest time between two accepted points in s, as far as it is known before a run; may be inf."""
        return self.step

    @property
    def h_fast(self) -> float:
        """Smallest step in s."""
        return self.step / self.ratio

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

    @property
    def leaves_swinging(self) -> bool:
        """Whether it leaves what decays within a fraction of a step swinging from step to step."""
        return False

    def damped_after_events(self) -> Scheme:
        """Return the scheme with what swings after events damped, where that is not chosen and it can be."""
        return self

    def program_after_event(self, h: float) -> Program | None:
        """Return the program of the first step after an event, of h in s; None: that of any other."""
        return None

    def steady_program(self) -> Program:
        """Return the program of a usual step with all the history that it uses.

        Raises
        ------
        SchemeError
            For a scheme whose step is no program.
        """
        if not math.isfinite(self.step):
            raise SchemeError(f"{self}: chooses its own steps, so that there is no one step to show")
        program = self.program(self.step)
        if not program.history:
            return program
        return self.program(self.step, tuple((k + 1) * self.step for k in range(program.history)))

    @property
    def kind(self) -> Hashable:
        """What the work of a step depends on, step sizes and corrections aside."""
        return str(self)

    @property
    def passes(self) -> int:
        """How often a step is done over, with every correction made."""
        return 1

    def point_times(self, h: float) -> Reals:
        """Return the times in s of the points within a step of h in s; the last one is h."""
        return np.array([h])

    def engine(self, system: System, parameters: Sequence[Reals], w: Reals, every: bool) -> Engine:
        """Return the scheme on a system, ready to run.

        Raises
        ------
        SchemeError
            For a partition of another system, or a system that the scheme cannot integrate.
        """
        from psmr.integrate.control.engine import FixedSteps
        from psmr.integrate.step.stepper import NewtonSettings

        choices = NewtonSettings(self.newton, self.tolerance)
        return FixedSteps(
            system,
            self.program,
            self.program_after_event,
            self.step,
            choices,
            self.split,
            parameters,
            w,
            self.point_times,
            every,
        )

    def operator(self, linear: LinearDae) -> Reals | None:
        """Return the step operator (n + m, n + m) of a scheme whose step is no program; None where it is one.

        Raises
        ------
        SchemeError
            For a scheme that has none, or that does not fit the system.
        """
        return None

    @property
    def tableau(self) -> Tableau | None:
        """The method, where every variable takes one step of a one-step method; None otherwise.

        What it makes of a mode follows from that mode alone: `Tableau.stability_function`.
        """
        return None

    @property
    def delay_degree(self) -> int:
        """Degree of the polynomials on which it reads the past: 1 up to order 2, otherwise 3."""
        return 1 if self.order <= 2 and not self.chooses_steps else 3

    @property
    def reads_unsolved_step(self) -> bool:
        """Whether its steps may be longer than a delay: what they read of themselves is on a line."""
        return False

    def reading(self, reader: str, source: str, place: int, tau: float) -> Scheme:
        """Return the scheme with steps that allow it to read a signal as it was tau in s ago.

        Parameters
        ----------
        reader, source, place
            Names of the input and of what it reads, and the position of that in w.
        tau
            The delay in s.

        Raises
        ------
        SchemeError
            Where it cannot.
        """
        raise SchemeError(
            f"{self}: keeps no past, and {reader} reads {source} with a delay; take SingleRate, Multirate or "
            "VariableStep"
        )

    def read_within_steps(self, places: Sequence[int]) -> NDArray[np.bool_]:
        """Return of which variables (positions in w) the past has the points within a step too."""
        return np.zeros(len(places), bool)

    @property
    def operator_step(self) -> float:
        """Time in s that one application of the step operator spans."""
        return self.step

    @property
    def shortest_step(self) -> float:
        """Step in s above which the scheme is defined."""
        return 0.0

    def with_step(self, h: float) -> Scheme:
        """Return the scheme with a step operator that spans h in s; all else stays.

        Raises
        ------
        SchemeError
            For a method that chooses its own steps, where no operator has a step to set.
        """
        if self.chooses_steps:
            raise SchemeError(f"{self}: a method that chooses its own steps has none to set")
        raise NotImplementedError

    @property
    def order(self) -> int:
        """Power of the step with which the error of a run falls."""
        return 1

    @property
    def accuracy(self) -> tuple[tuple[str, float, str], ...]:
        """The fields of a study's table that set its error: name, value, and unit or ""; () for none."""
        return () if self.chooses_steps else ((self.step_name, self.step, "s"),)

    def finer(self, part: float) -> Scheme | None:
        """Return the scheme with a shorter step, which makes its error smaller to a part of it, below 1.

        What sets the error (`accuracy`) is a round number then, rounded down. None where nothing sets it, and
        where no such scheme can be.
        """
        if self.chooses_steps:
            return None
        h = rounded_down(self.step * part ** (1.0 / self.order))
        return self.with_step(h) if self.shortest_step < h < self.step else None

    def at_step(self, h: float) -> Scheme | None:
        """Return a scheme that chooses its steps with every step of h in s; None where it has none.

        What the pencil says of it holds for the steps of that size which a run took.
        """
        return None

    def with_ratio(self, ratio: int) -> Scheme:
        """Return the scheme with another ratio at the same smallest step.

        Raises
        ------
        SchemeError
            For a scheme that has one step size.
        """
        raise SchemeError(f"{self}: has one step size and no ratio")

    def converged(self) -> Scheme:
        """Return the scheme with corrections until prediction and result agree.

        Raises
        ------
        SchemeError
            For a scheme that predicts nothing.
        """
        raise SchemeError(f"a {type(self).__name__} scheme has no corrections; pass a Multirate scheme")

    def predicting_implicitly(self) -> Scheme | None:
        """Return the scheme with an implicit prediction; None where it has no explicit one that decides."""
        return None

    def remarks(self) -> tuple[str, ...]:
        """Return what a report on the scheme must say besides its figures."""
        return ()

    def limit(self, linear: LinearDae) -> str:
        """Say up to which step the scheme is stable and what sets that; "" where there is nothing to say."""
        return ""


class Engine(Protocol):
    """A scheme on a system, ready to run.

    Attributes
    ----------
    blocks
        Its blocks of equations by number.
    ends_at_stops
        Whether its steps end at the `stops` of a span. Otherwise a span ends at each.
    """

    blocks: dict[int, Block]
    ends_at_stops: bool

    def begin(self, end: float, w: Reals, stops: Reals) -> int:
        """Begin a span from the point in w; `stops` are times in s before its end; return a status."""

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

    def take_out(self, system: System, parameters: Sequence[Reals], w: Reals, out: Collection[str]) -> None:
        """Make the blocks anew with the devices in `out` out of service."""

    def counted(self) -> dict[str, Any]:
        """Return what `Counters` has beside the work of the blocks."""


def require_step_within(scheme: Scheme, reader: str, source: str, tau: float, why: str) -> None:
    """Raise SchemeError where a scheme's step is longer than a delay of tau in s; `why` it cannot be."""
    if scheme.step > tau * (1.0 + 1e-9):
        raise SchemeError(
            f"{scheme}: {reader} reads {source} as it was {tau:g} s ago, which with steps of {scheme.step:g} "
            f"s is a part of the step that is still to be solved: {why}; take a step of at most the delay, "
            "SingleRate with TM, BEM or SDIRK2, VariableStep, whose steps are no longer, or a delay of 0"
        )


ROUND = (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0)
"""Round numbers up to ten."""


def rounded_down(value: float) -> float:
    """Return the largest of `ROUND` times powers of ten that a positive number reaches; 0 below 1e-300."""
    if value < 1e-300:
        return 0.0
    exponent = math.floor(math.log10(value))
    up_to = float(f"{value:.12g}") / float(f"1e{exponent}") * (1.0 + 1e-12)
    return float(f"{max(number for number in ROUND if number <= up_to)}e{exponent}")


Progress = Callable[[float], Any]
