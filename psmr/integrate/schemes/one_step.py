"""A scheme of one's own with one step size: a record of its choices and the program of its step."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, ClassVar, Self

from psmr.base.arguments import settle_fields
from psmr.base.errors import SchemeError
from psmr.integrate.schemes.choices import (
    NEWTON_WORDS,
    NEWTONS,
    Newton,
    check_choice,
    check_newton_tolerance,
    check_positive,
)
from psmr.integrate.schemes.scheme import PastReading, Scheme
from psmr.integrate.step.program import NEW as NEW
from psmr.integrate.step.program import NOW as NOW
from psmr.integrate.step.program import Program as Program
from psmr.integrate.step.program import Rate as Rate
from psmr.integrate.step.program import Stage as Stage


class UniformStep(Scheme):
    """What schemes have in common that advance every variable with one step `h` in s."""

    if TYPE_CHECKING:

        @property
        def h(self) -> float: ...  # noqa: D102

    split: ClassVar[None] = None

    def __post_init__(self) -> None:
        settle_fields(self, SchemeError)
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
        return f"{type(self).__name__}, {said}h = {self.h:g} s, {NEWTON_WORDS[self.newton]}"
