"""Axes over values: a parameter of devices, samples of it, a choice of the scheme, several cases."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, Literal, get_args

import numpy as np

from psmr.base.arguments import explains_keywords, settle_fields
from psmr.base.errors import SchemeError, StudyError, nearest, shown
from psmr.network.case.case import Case
from psmr.network.powerflow.adjustment import check_adjust
from psmr.study.file.recipe import Recipe, fields_of
from psmr.sweep.axes.axis import (
    CASE,
    PARAMETER,
    SCHEME,
    Base,
    LoadGrowth,
    Points,
    Value,
    Variation,
    check_distinct,
    check_many,
    matching_names,
    parameters_in,
    points_over,
    take_numbers,
    take_texts,
)


@explains_keywords(StudyError)
@dataclass(frozen=True)
class ParameterAxis:
    """A parameter of a device, or of several, over given values or over a range.

    Parameters
    ----------
    device
        Name or pattern, ``"GOV1"`` or ``"GOV*"``; all that are meant take the same value. A generator's row
        itself has `p_mw`, `q_mvar` and `v`; a load's `p_mw` and `q_mvar`.
    name
        Parameter as its component declares it.
    values
        Values in the parameter's unit; in their place
    start, stop, count
        the ends of a range and the number of its values.
    spacing
        Of the range: ``"linear"``, or ``"log"`` for equal ratios.
    factor
        Whether the values multiply those of the case.
    together
        Axes that bear the same name here advance together, in place of all combinations.

    Raises
    ------
    StudyError
        For neither or both of values and range, and for an invalid range.
    """

    device: str
    name: str
    values: tuple[float, ...] = ()
    start: float | None = None
    stop: float | None = None
    count: int | None = None
    spacing: Literal["linear", "log"] = "linear"
    factor: bool = False
    together: str = ""

    kind: ClassVar[str] = "parameter"
    rank: ClassVar[int] = PARAMETER

    def __post_init__(self) -> None:
        take_numbers(self, "values")
        settle_fields(self, StudyError, numbers=True)
        ends = (self.start, self.stop, self.count)
        given = [end is not None for end in ends]
        what = f"parameter {self.device}.{self.name}"
        if bool(self.values) == any(given) or (any(given) and not all(given)):
            raise StudyError(f"{what}: give values, or start, stop and count of a range")
        if not all(math.isfinite(end) for end in (*self.values, *ends) if end is not None):
            raise StudyError(f"{what}: values and ends of a range must be finite")
        if self.count is not None and self.count < 1:
            raise StudyError(f"{what}: count = {self.count}: must be at least 1")
        if self.count is not None:
            check_many(what, self.count)
        if self.spacing not in ("linear", "log"):
            raise StudyError(f'{what}: spacing = {shown(self.spacing)}: must be "linear" or "log"')
        if self.spacing == "log" and not all(end is not None and end > 0 for end in ends[:2]):
            raise StudyError(f"{what}: spacing = 'log' needs a range with both ends above 0")
        check_distinct(self, "values", self.values)

    def points(self, base: Base) -> Points:
        """See `Axis`."""
        devices = devices_with(base.case, self.device, self.name)
        if self.values:
            values = np.array(self.values)
        else:
            assert self.start is not None
            assert self.stop is not None
            assert self.count is not None
            space = np.linspace if self.spacing == "linear" else np.geomspace
            values = space(self.start, self.stop, self.count)
        return points_over(f"{self.device}.{self.name}", devices, self.name, values, self.factor)


def devices_with(case: Case, pattern: str, name: str) -> tuple[str, ...]:
    """Return the devices and rows of a case that a pattern means and that have a parameter, at least one."""
    known = parameters_in(case)
    meant = matching_names([pattern], tuple(known), "device")
    found = tuple(device for device in meant if name in known[device])
    if not found:
        there = sorted(set().union(*(known[device] for device in meant)))
        raise StudyError(
            f"{pattern} has no parameter {name!r} in {case.name}{nearest(name, there)}; it has "
            f"{', '.join(there)}"
        )
    return found


@explains_keywords(StudyError)
@dataclass(frozen=True)
class LoadAxis:
    """Loads that grow at constant power factor, over given growths.

    Parameters
    ----------
    growths
        By how many MW more the loads draw in all, each in proportion to its power.
    loads
        A bus with loads, ``"area 2"``, ``"zone 7"``, or a pattern of buses.
    together
        As in `ParameterAxis`.
    adjust
        Controls that the power flow then moves into their bands, as in `psmr.read_case`: ``("taps",)``.
    """

    growths: tuple[float, ...]
    loads: int | str = "*"
    together: str = ""
    adjust: tuple[str, ...] = ()

    kind: ClassVar[str] = "load"
    rank: ClassVar[int] = PARAMETER

    def __post_init__(self) -> None:
        take_numbers(self, "growths")
        take_texts(self, "adjust")
        check_adjust(self.adjust)
        settle_fields(self, StudyError, numbers=True)
        if not self.growths or not all(map(math.isfinite, self.growths)):
            raise StudyError(f"{self.kind}: growths = {list(self.growths)}: must be finite powers in MW")
        check_distinct(self, "growths", self.growths)

    def points(self, base: Base) -> Points:
        """See `Axis`."""
        for growth in self.growths:
            LoadGrowth(self.loads, growth).of(base.case)
        return [
            Variation((("load_growth", growth),), settings=(LoadGrowth(self.loads, growth, self.adjust),))
            for growth in self.growths
        ]


Distribution = Literal["uniform", "log-uniform", "normal"]


@explains_keywords(StudyError)
@dataclass(frozen=True)
class SampleAxis:
    """A parameter of a device, or of several, over random samples that a seed determines.

    Parameters
    ----------
    device, name, factor, together
        As in `ParameterAxis`. Sampled axes mostly advance together.
    count
        Number of samples.
    seed
        Whole number; the same one gives the same samples.
    distribution
        ``"uniform"`` or ``"log-uniform"`` between `low` and `high`, ``"normal"`` with `mean` and
        `deviation`.
    low, high, mean, deviation
        Its parameters.

    Raises
    ------
    StudyError
        For parameters that do not belong to the distribution, or are invalid.
    """

    device: str
    name: str
    count: int
    seed: int
    distribution: Distribution = "uniform"
    low: float | None = None
    high: float | None = None
    mean: float | None = None
    deviation: float | None = None
    factor: bool = False
    together: str = ""

    kind: ClassVar[str] = "samples"
    rank: ClassVar[int] = PARAMETER

    def __post_init__(self) -> None:
        settle_fields(self, StudyError, numbers=True)
        what = f"samples of {self.device}.{self.name}"
        if self.distribution not in get_args(Distribution):
            known = ", ".join(get_args(Distribution))
            raise StudyError(f"{what}: distribution = {shown(self.distribution)}: must be one of {known}")
        if self.count < 1 or self.seed < 0:
            raise StudyError(f"{what}: count = {self.count}, seed = {self.seed}: must be >= 1 and >= 0")
        check_many(what, self.count)
        needed = ("mean", "deviation") if self.distribution == "normal" else ("low", "high")
        for name in ("low", "high", "mean", "deviation"):
            value = getattr(self, name)
            if (value is None) == (name in needed):
                words = "is missing" if value is None else "does not belong"
                raise StudyError(
                    f"{what}: {name} {words}; {self.distribution} has {needed[0]} and {needed[1]}"
                )
            if value is not None and not math.isfinite(value):
                raise StudyError(f"{what}: {name} = {value}: must be finite")
        if self.low is not None and self.high is not None and not self.low < self.high:
            raise StudyError(f"{what}: low = {self.low:g} must be below high = {self.high:g}")
        if self.distribution == "log-uniform" and self.low is not None and self.low <= 0:
            raise StudyError(f"{what}: low = {self.low:g}: must be > 0 for a log-uniform distribution")
        if self.deviation is not None and self.deviation <= 0:
            raise StudyError(f"{what}: deviation = {self.deviation:g}: must be > 0")

    def points(self, base: Base) -> Points:
        """See `Axis`."""
        devices = devices_with(base.case, self.device, self.name)
        return points_over(f"{self.device}.{self.name}", devices, self.name, self.drawn(), self.factor)

    def drawn(self) -> np.ndarray:
        """Return the (count,) samples."""
        draw = np.random.default_rng(self.seed)
        if self.mean is not None and self.deviation is not None:
            return draw.normal(self.mean, self.deviation, self.count)
        assert self.low is not None
        assert self.high is not None
        if self.distribution == "log-uniform":
            return np.exp(draw.uniform(math.log(self.low), math.log(self.high), self.count))
        return draw.uniform(self.low, self.high, self.count)


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
    """Return a recipe with other choices, which its scheme has and can take, else StudyError."""
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
