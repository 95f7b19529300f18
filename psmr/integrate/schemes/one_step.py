"""One step size for all variables: schemes of one's own, and one-step methods by their tableau."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self

from psmr.base.arguments import explains_keywords
from psmr.base.declared import Positive
from psmr.base.errors import SchemeError
from psmr.integrate.schemes.choices import (
    NEWTON_WORDS,
    NEWTONS,
    Newton,
    check_choice,
    check_fields,
    check_newton_tolerance,
    check_positive,
)
from psmr.integrate.schemes.scheme import NumericalOscillation, PastReading, Scheme
from psmr.integrate.step.program import BEFORE, Each, Instruction, Side
from psmr.integrate.step.program import NEW as NEW
from psmr.integrate.step.program import NOW as NOW
from psmr.integrate.step.program import Program as Program
from psmr.integrate.step.program import Rate as Rate
from psmr.integrate.step.program import Stage as Stage
from psmr.integrate.tableaux import TABLEAUX, Tableau


class UniformStep(Scheme):
    """What schemes have in common that advance every variable with one step `h` in s."""

    if TYPE_CHECKING:

        @property
        def h(self) -> float: ...  # noqa: D102

    split: ClassVar[None] = None

    def __post_init__(self) -> None:
        check_fields(self)
        check_choice("newton", self.newton, NEWTONS)
        check_positive("h", self.h, "s")
        check_newton_tolerance(self.tolerance)

    @property
    def step(self) -> float:
        """Time between two accepted points in s."""
        return self.h

    def with_step(self, h: float) -> Self:
        """See `Scheme`."""
        return replace(self, h=h)  # type: ignore[type-var]

    @property
    def past(self) -> PastReading:
        """See `Scheme`: a line up to order 2, which a step may be a part of."""
        if self.order <= 2:
            return PastReading(1, own_step=True)
        why_not = f"a method of order {self.order} reads a cubic, through points that are not there yet"
        return PastReading(3, why_not=why_not)


@dataclass(frozen=True, repr=False)
class OneStep(UniformStep):
    """A one-step scheme: a subclass adds its choices as fields and writes `program`.

    Simulator, pencil, certificate and `psmr explain` all work from that program. A subclass is a frozen
    dataclass, too; see docs/your-own-component.md.

    Attributes
    ----------
    h
        Step size in s.
    newton, tolerance
        How stages are solved, as for `psmr.SingleRate`.

    Raises
    ------
    SchemeError
        For a value out of range, or a field that is not of its type.
    """

    h: float
    newton: Newton = "dishonest"
    tolerance: float = 1e-10

    def __str__(self) -> str:
        common = {item.name for item in fields(OneStep)}
        own = (f.name for f in fields(self) if f.name not in common)
        said = "".join(f"{name} = {getattr(self, name)}, " for name in own)
        return f"{type(self).__name__}, {said}h = {self.h:g} s{NEWTON_WORDS[self.newton]}"


ONE_STEP_METHODS = tuple(TABLEAUX)


@explains_keywords(SchemeError)
@dataclass(frozen=True, repr=False)
class SingleRate(UniformStep):
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
    damped
        Whether the first step after an event is two half steps of backward Euler, which end what the
        trapezoidal rule leaves swinging (critical damping adjustment: Marti and Lin, Suppression of numerical
        oscillations in the EMTP, IEEE Transactions on Power Systems 4, 1989). For ``"TM"``; None: where
        elements of the network have dynamics.

    Raises
    ------
    SchemeError
        For an unknown choice or a value out of range.
    """

    method: Annotated[str, ONE_STEP_METHODS, "single rate, with --h"]
    h: Annotated[float, Positive("s"), "step size in s", "S"]
    newton: Newton = "dishonest"
    tolerance: float = 1e-10
    damped: bool | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.damped and self.method != "TM":
            raise SchemeError(
                f"damped = True: is for method = 'TM'; leave it out with {self.method}", field="damped"
            )

    @property
    def tableau(self) -> Tableau:
        """See `Scheme`."""
        return TABLEAUX[self.method]

    @property
    def order(self) -> int:
        """See `Scheme`."""
        return self.tableau.order

    def program(self, h: float, before: tuple[float, ...] = ()) -> Program:
        """See `Scheme`: a stage for each row of the tableau, and one that puts the step together."""
        return tableau_program(TABLEAUX[self.method])

    @property
    def numerical_oscillation(self) -> NumericalOscillation | None:
        """See `Scheme`: the two stages of the first step have the matrix of the trapezoidal rule."""
        if self.method != "TM":
            return None
        if not self.damped:
            return NumericalOscillation(damped=replace(self, damped=True) if self.damped is None else None)
        half = Stage("step", "all", "half", NOW, gamma=0.5, at=(0.5,), guess=NOW)
        end = Stage("step", "all", NEW, "half", gamma=0.5, matrix="kept", guess="half")
        return NumericalOscillation(Program((half, end)))

    def __str__(self) -> str:
        damped = ", damped after events" if self.damped else ""
        return f"single rate {self.method}, h = {self.h:g} s{damped}{NEWTON_WORDS[self.newton]}"


def tableau_program(
    tableau: Tableau,
    keep_last: bool = False,
    starts: Mapping[int, tuple[str, ...]] | None = None,
    beside: Callable[[float], tuple[tuple[str, Each], ...]] | None = None,
) -> Program:
    """Return the program of a method: a stage for each row, and one that puts the step together.

    `tableau`: The method.
    `keep_last`: Whether the rate of a last stage that is the new point is kept too, for an error estimate.
    `starts`: Points, of this step or of the one before it, from which Newton's start of a stage (counted from
      1) is extrapolated; None to start from the point before.
    `beside`: Returns of which points the fast variables are combined at a part of the step, where the stages
      are those of the slow side; None where they are of both.
    """
    starts = starts or {}
    role: str
    side: Side
    role, side = ("step", "all") if beside is None else ("slow", "slow")
    instructions: list[Instruction] = []

    def rates(weights: tuple[float, ...]) -> tuple[tuple[str, float], ...]:
        return tuple((f"k{j + 1}", weight) for j, weight in enumerate(weights) if weight)

    for i in range(tableau.stages):
        row, last = tuple(map(float, tableau.A[i])), i == tableau.stages - 1
        outside = () if beside is None else beside(float(tableau.c[i]))
        if i == 0 and tableau.first_explicit:
            begin = Stage(role, side, "begin", NOW, at=(0.0,), outside=outside, rate="k1")
            instructions.append(Rate("k1", "step") if beside is None else begin)
            continue
        instructions.append(
            Stage(
                role,
                side,
                NEW if last and tableau.stiffly_accurate else f"stage {i + 1}",
                NOW,
                rates(row[:i]),
                row[i],
                at=(float(tableau.c[i]),),
                outside=outside,
                # Implicit stages of a method share one matrix, and so do the explicit ones.
                matrix="new" if i == int(tableau.first_explicit) else "kept",
                rate=None if last and tableau.stiffly_accurate and not keep_last else f"k{i + 1}",
                guess=starts.get(i + 1),
                cubes=_cubes(tableau, i, starts.get(i + 1, ())),
            )
        )
    if not tableau.stiffly_accurate:
        weights = rates(tuple(map(float, tableau.b)))
        matrix: Literal["new", "kept"] = "new" if tableau.stages == 1 else "kept"
        instructions.append(Stage("step", "all", NEW, NOW, weights, matrix=matrix))
    outliving = {
        name[len(BEFORE) :] for names in starts.values() for name in names if name.startswith(BEFORE)
    }
    return Program(tuple(instructions), carried=tuple(sorted(outliving)))


def _cubes(tableau: Tableau, stage: int, points: tuple[str, ...]) -> tuple[float, ...]:
    """Return the third-order terms of a stage and of the points from which it is extrapolated.

    See `psmr.integrate.step.instructions.extrapolate`. A stage of order 2 is right up to h^2; stage i has
    (A c^2)_i / 2 where the solution has c_i^3 / 6, and the end of a step b c^2 / 2. Seen from there the
    stages of that step are at c - 1.
    """
    c, third = tableau.c, tableau.A @ tableau.c**2 / 2.0
    end = float(tableau.b @ c**2) / 2.0 - 1.0 / 6.0

    def cube(i: int, before: bool) -> float:
        s = float(c[i]) - before
        off = float(third[i] - c[i] ** 3 / 6.0) - end * before
        return 1.0 / 6.0 + off / s**3 if s else 0.0

    def of(name: str) -> float:
        own = name.removeprefix(BEFORE)
        return cube(0 if own == NOW else int(own.removeprefix("stage ")) - 1, name != own)

    return (cube(stage, False), *map(of, points)) if points else ()
