"""Alternatives that a sweep compares: several cases, and choices of the scheme."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from psmr.base.arguments import settle_fields
from psmr.base.errors import SchemeError, StudyError, nearest
from psmr.base.keywords import explains_keywords
from psmr.study.file.recipe import Recipe, fields_of
from psmr.sweep.axes.axis import CASE, SCHEME, Base, check_distinct, take_numbers, take_texts
from psmr.sweep.variation import Points, Value, Variation


@explains_keywords(StudyError)
@dataclass(frozen=True)
class CaseAxis:
    """Several cases in place of the study's own.

    Parameters
    ----------
    cases
        Case files, beside the study's own; read with its options.
    """

    cases: tuple[str, ...]

    together: ClassVar[str] = ""
    kind: ClassVar[str] = "case"
    rank: ClassVar[int] = CASE

    def __post_init__(self) -> None:
        take_texts(self, "cases")
        settle_fields(self, StudyError, numbers=True)
        if not self.cases:
            raise StudyError(f"{self.kind}: cases is empty; give at least one file")
        check_distinct(self, "cases", self.cases)

    def points(self, base: Base) -> Points:
        """See `Axis`."""
        return [Variation((("case", Path(case).name),), case=k) for k, case in enumerate(self.cases)]


@explains_keywords(StudyError)
@dataclass(frozen=True)
class SchemeAxis:
    """A choice of the study's scheme: a step, a ratio, a tolerance, a method.

    Parameters
    ----------
    field
        As in the table [scheme] of a study: ``"h"``, ``"h_slow"``, ``"ratio"``, ``"tolerance"``,
        ``"predictor"``.
    values
        Numbers; in their place
    texts
        words, for a choice that is one.
    together
        As in `ParameterAxis`.

    Raises
    ------
    StudyError
        For neither or both.
    """

    field: str
    values: tuple[float, ...] = ()
    texts: tuple[str, ...] = ()
    together: str = ""

    kind: ClassVar[str] = "scheme"
    rank: ClassVar[int] = SCHEME

    def __post_init__(self) -> None:
        take_numbers(self, "values")
        take_texts(self, "texts")
        settle_fields(self, StudyError, numbers=True)
        if bool(self.values) == bool(self.texts):
            raise StudyError(f"scheme {self.field}: give values (numbers) or texts, one of them")
        check_distinct(self, "values", self.values or self.texts)

    def points(self, base: Base) -> Points:
        """See `Axis`."""
        found = []
        for value in self.values or self.texts:
            choice = (self.field, value)
            recipe_with(base.study.recipe, (choice,))
            found.append(Variation((("scheme." + self.field, value),), choices=(choice,)))
        return found


def recipe_with(recipe: Recipe, choices: tuple[tuple[str, Value], ...]) -> Recipe:
    """Return a recipe with other choices.

    Raises
    ------
    StudyError
        For a choice that the scheme does not have, or that is out of range.
    """
    changed = dict(recipe.choices)
    for field, value in choices:
        # A ratio and a fast step say the same thing: one takes the other's place.
        for other in {"ratio": ("h_fast",), "h_fast": ("ratio",)}.get(field, ()):
            changed.pop(other, None)
        whole = isinstance(value, float) and value.is_integer() and field in WHOLE_NUMBERS
        changed[field] = int(value) if whole else value
    found = replace(recipe, choices=changed)
    known = fields_of(recipe.made)
    for field, _ in choices:
        if field not in known:
            raise StudyError(f"scheme {recipe.kind} has no field {field!r}{nearest(field, known)}")
    try:
        found.check()
    except (SchemeError, TypeError) as error:
        words = ", ".join(f"{field} = {value!r}" for field, value in choices)
        raise StudyError(f"scheme {recipe.kind} with {words}: {error}") from error
    return found


WHOLE_NUMBERS = ("ratio", "corrections", "most_steps")
"""Fields of schemes that are whole numbers; a file's list of numbers does not tell."""
