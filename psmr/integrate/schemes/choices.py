"""Checks of the choices that schemes share."""

from __future__ import annotations

import math
from typing import Any, Literal, get_args

import numpy as np

from partitioning import Partition
from psmr.base.arguments import settle_fields
from psmr.base.declared import Positive, declared
from psmr.base.errors import SchemeError, nearest, shown
from psmr.base.numbers import real

Newton = Literal["honest", "dishonest", "very dishonest"]
NEWTONS: tuple[str, ...] = get_args(Newton)
NEWTON_WORDS = {
    "honest": ", full Newton (new Jacobian at every iteration)",
    "dishonest": "",
    "very dishonest": ", modified Newton (Jacobian kept until convergence slows)",
}
"""What a scheme says of each but the usual one, a Jacobian kept for one step; the names are the papers'."""


class DefaultChoice(str):
    """A choice that was not given and has its default, which a scheme made from this one determines anew."""

    __slots__ = ()

    @classmethod
    def unless(cls, given: str | None, default: str) -> str:
        """Return the choice given, or the default, marked as one."""
        return cls(default) if given is None or isinstance(given, cls) else given


def check_choice(field: str, value: object, allowed: tuple[str, ...]) -> None:
    """Raise SchemeError for a value that is not among those allowed."""
    if not isinstance(value, str) or value not in allowed:
        hint = nearest(value, allowed) if isinstance(value, str) else ""
        known = ", ".join(map(repr, allowed))
        raise SchemeError(f"{field} = {shown(value)}: must be one of {known}{hint}", field=field)


def check_positive(field: str, value: float, unit: str = "") -> None:
    """Raise SchemeError for a value that is no finite number above zero."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not math.isfinite(real(value)) or value <= 0:
        raise SchemeError(
            f"{field} = {shown(value)}: must be a finite number > 0{' in ' + unit if unit else ''}",
            field=field,
        )


def check_fields(scheme: Any) -> None:
    """Give the fields of a scheme their types, and raise SchemeError for one that is not what it declares.

    A choice whose default is None may be left to the scheme: it depends on the others.
    """
    settle_fields(scheme, SchemeError)
    for each in declared(type(scheme)):  # type: ignore[arg-type]
        value = getattr(scheme, each.name)
        left = value is None and getattr(type(scheme), each.name, "") is None
        if each.whole and each.kinds.keys() == {"Literal"} and not left:
            check_choice(each.name, value, each.kinds["Literal"].choices)
        for note in each.notes:
            if isinstance(note, Positive) and (value is not None or "None" not in each.kinds):
                check_positive(each.name, value, note.unit)


def check_newton_tolerance(value: float) -> None:
    """Raise SchemeError for an error at which Newton stops that is not between 0 and 1."""
    check_positive("tolerance", value)
    if value >= 1.0:
        raise SchemeError(
            f"tolerance = {shown(value)}: must be below 1, the error at which Newton stops, relative to "
            "max(1, |w|); 1e-10 is usual, 1e-7 with a kept matrix",
            field="tolerance",
        )


def check_whole(field: str, value: object, what: str) -> None:
    """Raise SchemeError for a value that is not a whole number above zero."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise SchemeError(f"{field} = {shown(value)}: {what}", field=field)


# About a second of a small system; a run that needs more says so rather than going on unseen.
MOST_STEPS = 1_000_000


def check_whole_steps(value: object) -> None:
    """Raise SchemeError where a number of steps is none."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise SchemeError(f"most_steps = {value!r}: must be a whole number >= 1", field="most_steps")


class Weights(dict[str, float]):
    """Weights by name that can be hashed, as a frozen record needs; not to be changed."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> tuple[type[Weights], tuple[dict[str, float]]]:
        return Weights, (dict(self),)

    def __setitem__(self, name: str, value: float) -> None:
        raise TypeError("the weights of a scheme do not change; make another scheme")


# The points of a macro step and its operator are one piece of work, during which nothing is said: 6 s of the
# spectrum of WSCC-9 at this number.
MOST_FAST_STEPS = 10_000


def check_fast_steps(ratio: int, passes: int) -> None:
    """Raise SchemeError for more fast steps within a macro step than are one piece of work."""
    if ratio * passes > MOST_FAST_STEPS:
        which = "ratio" if ratio > MOST_FAST_STEPS else "ratio x (1 + corrections)"
        raise SchemeError(
            f"{which}: more than {MOST_FAST_STEPS:,} fast steps within one macro step; take a shorter macro "
            "step, longer fast steps, or corrections = 'converge'"
        )


def check_partition(split: object) -> None:
    """Raise SchemeError for a split that is no partition."""
    if not isinstance(split, Partition):
        raise SchemeError(
            f"split: a Partition is needed, not {type(split).__name__}; "
            "make one with partitioning.by_participation(linear, delta=...)"
        )
