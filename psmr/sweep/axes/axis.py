"""What every axis offers, and the checks that several share."""

from __future__ import annotations

import fnmatch
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from psmr.base.errors import StudyError, nearest, shown
from psmr.base.numbers import plain, real
from psmr.dae.system.system import System
from psmr.network.case.case import Case
from psmr.study.file.study import Study
from psmr.sweep.variation import Points

# The order in which axes are nested, the outermost first: runs that share a start stand together.
CASE, PARAMETER, SCHEME, EVENT = range(4)


# As many values may one axis make of a range or a distribution: 80 MB.
MOST_VALUES = 10_000_000


@dataclass(frozen=True)
class Base:
    """What an axis looks its names up in: the study, one of the cases, and its system at the start."""

    study: Study
    case: Case
    system: System


class Axis(Protocol):
    """What every axis offers."""

    kind: ClassVar[str]
    rank: ClassVar[int]

    @property
    def together(self) -> str:
        """Name that it shares with the axes that it advances with; "" for an axis of its own."""

    def points(self, base: Base) -> Points:
        """Return its points on a system.

        Raises
        ------
        StudyError
            For an unknown name or an invalid range.
        """


def chosen(patterns: Iterable[str], known: Sequence[str], what: str) -> tuple[str, ...]:
    """Return the names that patterns mean, in the order in which they are known.

    Raises
    ------
    StudyError
        For a pattern that means none.
    """
    found: set[str] = set()
    for pattern in patterns:
        meant = [name for name in known if fnmatch.fnmatchcase(name, pattern)]
        if not meant:
            listed = f"; known: {', '.join(known)}" if 0 < len(known) <= 20 else ""
            raise StudyError(f"there is no {what} {pattern!r}{nearest(pattern, known)}{listed}")
        found.update(meant)
    return tuple(name for name in known if name in found)


def check_positive(axis: Any, name: str, values: Iterable[float]) -> None:
    """Raise StudyError for a value that is not finite and above zero, and where there is none."""
    values = tuple(values)
    if not values:
        raise StudyError(f"{axis.kind}: {name} is empty; give at least one value")
    for value in values:
        if not (math.isfinite(value) and value > 0):
            raise StudyError(f"{axis.kind}: {name} = {value!r}: must be a finite number > 0")


def check_start(axis: Any) -> None:
    """Raise StudyError for a start that is no time of a run."""
    if not (math.isfinite(axis.start) and axis.start >= 0):
        raise StudyError(f"{axis.kind}: start = {axis.start!r}: must be a time in s, >= 0")


def check_many(what: str, count: int) -> None:
    """Raise StudyError for more values than one list of them should hold."""
    if count > MOST_VALUES:
        raise StudyError(
            f"{what}: count = {count:,}: must be at most {MOST_VALUES:,}; at a millisecond a run these would "
            "take hours already"
        )


def check_distinct(axis: Any, name: str, values: Sequence[Any]) -> None:
    """Raise StudyError where a value stands twice: its runs would be made twice."""
    seen: set[Any] = set()
    for value in values:
        if value not in seen:
            seen.add(value)
        else:
            raise StudyError(f"{axis.kind}: {name} has {value!r} twice; leave one of them out")


def take_numbers(axis: Any, name: str) -> None:
    """Let a field be a tuple of floats, whatever sequence of numbers it was given as.

    Raises
    ------
    StudyError
        For anything else.
    """
    given = getattr(axis, name)
    values = (None,) if _single(given) else tuple(map(plain, given))
    if any(isinstance(value, bool) or not isinstance(value, int | float) for value in values):
        raise StudyError(f"{axis.kind}: {name} = {shown(given)}: must be a list of numbers")
    object.__setattr__(axis, name, tuple(map(real, values)))


def take_texts(axis: Any, name: str) -> None:
    """Let a field be a tuple of texts; a single one may stand for itself, and a path for a text.

    Raises
    ------
    StudyError
        For anything else.
    """
    given = getattr(axis, name)
    values = (given,) if _single(given) else tuple(given)
    if not all(isinstance(value, str | os.PathLike) for value in values):
        raise StudyError(f"{axis.kind}: {name} = {shown(given)}: must be a list of texts")
    object.__setattr__(axis, name, tuple(str(os.fspath(value)) for value in values))


def _single(given: object) -> bool:
    """Return whether something is no list of values."""
    return not isinstance(given, Iterable) or isinstance(given, str | bytes | Mapping | type)
