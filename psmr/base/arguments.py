"""Arguments and fields checked against what they declare, and keywords that are mistaken for others."""

from __future__ import annotations

import functools
import inspect
import math
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import fields
from numbers import Number
from typing import Any, TypeVar

from psmr.base.declared import (
    CLASSES,
    REALS,
    SINGULARS,
    Kinds,
    ValueKind,
    fits_any,
    is_a,
    kinds_of,
    parsed,
    too_long,
    unknown,
)
from psmr.base.errors import InputError, nearest, shown
from psmr.base.numbers import plain, real


def check_arguments(
    function: Callable[..., Any],
    given: Mapping[str, Any],
    error: type[InputError] = InputError,
    leaving: Collection[str] = (),
) -> None:
    """Raise the error of the first argument that is of another kind than the function declares.

    `given` are the arguments by name, `locals()` in its first line; those in `leaving` the function checks
    itself. The message has what was given and what would be right; it is a `CaseError` for a case and a
    `SchemeError` for a scheme.
    """
    for name, kinds, default in _arguments(function):
        if given[name] is default or name in leaving:
            continue
        if kinds and not fits_any(given[name], kinds):
            raised = next((kind.error for kind in kinds.values() if kind.error), error)
            raise raised(f"{function.__name__}: {_refusal(name, given[name], kinds)}")


def settle_fields(record: Any, error: type[InputError] = InputError, numbers: bool = False) -> None:
    """Give the fields of a frozen record the types that they declare, and refuse what is none of them.

    A number of numpy or a fraction becomes one of Python, a whole number a float where the field declares
    floats, and 5.0 the number 5 where the field names something by its number: what is computed, compared,
    shown, compiled and pickled is then the same whoever handed it in. Called in `__post_init__`; with
    `numbers` fields of numbers are checked as well, otherwise by the record, which knows their range.
    """
    for name, kinds in _fields(record.__class__):
        given = getattr(record, name)
        value = _settled(given, kinds)
        if value is not given:
            object.__setattr__(record, name, value)
        left = not numbers and not kinds.keys().isdisjoint(("int", "float", "complex")) and "str" not in kinds
        if kinds and (not left or too_long(value)) and not fits_any(value, kinds):
            raise error(f"{type(record).__name__}: {_refusal(name, value, kinds)}", field=name)


def _settled(given: Any, kinds: Kinds) -> Any:
    value = plain(given)
    if type(value) is int and "float" in kinds and "int" not in kinds:
        return real(value)
    if type(value) is float and value.is_integer() and "int" in kinds and "str" in kinds:
        return int(value)  # the number of a bus: a column of them with a gap is one of floats in pandas
    return tuple(value) if isinstance(value, list) and "list" in kinds else value


def misfit(record: Any) -> str:
    """Return a sentence on a field of a record that has not the type it declares; none where all have.

    For records that did not go through their `__post_init__`: values that are out of range are let pass, what
    a list holds, and fields of types that this module does not know.
    """
    for name, kinds in _fields(record.__class__):
        value = getattr(record, name)
        if kinds and not any(kind.stored is object or is_a(kind.stored)(value) for kind in kinds.values()):
            return f"{type(record).__name__}: {_refusal(name, value, kinds)}"
    return ""


def positive_number(name: str, given: object, unit: str = "s") -> float:
    """Return a number that is finite and above zero, in a unit; raises InputError for anything else."""
    value = plain(given)
    if not is_a(REALS)(value) or not 0 < real(value) < math.inf:
        raise InputError(f"{name} = {shown(given)}: must be a finite number > 0 in {unit}")
    return real(value)


_NONE = object()


@functools.cache
def _arguments(function: Callable[..., Any]) -> tuple[tuple[str, Kinds, Any], ...]:
    """Return the arguments of a function: their names, kinds, and what is right where they are left out."""
    found, names = [], inspect.unwrap(function).__globals__
    for known in inspect.signature(function).parameters.values():
        if known.kind not in (known.VAR_KEYWORD, known.VAR_POSITIONAL) and isinstance(known.annotation, str):
            kinds = kinds_of(parsed(known.annotation), names.get)
            right = known.default if fits_any(known.default, kinds) else _NONE
            found.append((known.name, kinds, right))
    return tuple(found)


@functools.cache
def _fields(record: type) -> tuple[tuple[str, Kinds], ...]:
    return tuple((each.name, kinds_of(parsed(each.type), unknown)) for each in fields(record) if each.init)


def _refusal(name: str, value: Any, kinds: Kinds) -> str:
    """Return the sentence on a value that is of none of the kinds."""
    words = dict.fromkeys(kind.words for kind in kinds.values() if kind.words)
    what = f"{name} {_given(value)}: must be {' or '.join(words)}"
    texts = [text for kind in kinds.values() for text in kind.choices]
    if isinstance(value, str) and texts:
        return what + nearest(value, texts)
    hint = next(
        (_remedy(wanted, kinds[wanted], value) for wanted in [*kinds][::-1] if kinds[wanted].remedy), ""
    )
    if not hint and "list" in kinds and value is not None and not isinstance(value, Iterable):
        hint = f"write [{SINGULARS.get(name, name.removesuffix('s'))}] for a single one"
    if not hint and too_long(value):
        hint = "this one has too many digits"
    return f"{what}; {hint}" if hint else what


def _given(value: Any) -> str:
    if isinstance(value, type):
        return f"is the class {value.__name__}"
    if value is None or isinstance(value, str | Number | os.PathLike | list | tuple | dict):
        return f"= {shown(value)}"
    return f"is of the type {type(value).__name__}"


def _remedy(wanted: str, kind: ValueKind, value: Any) -> str:
    """Return how to come by what is wanted, if possible from what was given."""
    if isinstance(value, type) and any(base.__name__ == wanted for base in value.__mro__):
        return f"make one of it, {value.__name__}(...)"
    call = kind.remedy.rpartition(" ")[2]
    if isinstance(value, str | os.PathLike) and "(path)" in call:
        return f"write {call.replace('path', shown(os.fspath(value)))}"
    made = CLASSES.get(type(value).__name__, ("", ""))[1].rpartition(" ")[2]
    if "(path)" in made and made in call:
        return f"write {call.replace(made, type(value).__name__.lower())}"
    return kind.remedy


Dataclass = TypeVar("Dataclass")

_START, _END = ("start",), ("clear", "end", "reconnect", "reclose", "stop")
_STEP = ("h", "h_slow", "h_max", "longest")

SYNONYMS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("time", "t", "at", "t_start", "begin", "t_fault"), _START),
    **dict.fromkeys(("t_end", "until", "t_clear", "clearing", "clear_time", "off"), _END),
    **dict.fromkeys(
        ("tend", "t_stop", "tstop", "t_final", "duration", "end", "stop", "end_time"), ("t_end",)
    ),
    **dict.fromkeys(("tol", "eps", "rtol", "atol", "accuracy"), ("tolerance",)),
    **dict.fromkeys(("dt", "step", "step_size", "h", "h_max", "max_step", "hmax"), _STEP),
    **dict.fromkeys(("m", "substeps", "n_fast", "fast_steps"), ("ratio",)),
    **dict.fromkeys(("share", "part", "amount", "percent"), ("fraction", "factor")),
    **dict.fromkeys(("partition", "fast"), ("split",)),
    **dict.fromkeys(("node", "bus_number", "bus_name"), ("bus",)),
    **dict.fromkeys(("branch", "circuit"), ("line", "trip")),
    **dict.fromkeys(("parameter", "variable"), ("name",)),
    **dict.fromkeys(("scheme", "solver", "integrator"), ("method", "solution")),
}
"""What a keyword is called here, the first that a record has."""


def _fast_step(given: Mapping[str, Any]) -> str:
    """Return what to write in place of a fast step: it is a part of the slow one."""
    slow, fast = given.get("h_slow"), given["h_fast"]
    ratio = max(1, round(slow / fast)) if _positive(slow) and _positive(fast) else 10
    return f"the fast step is h_slow / ratio: write ratio={ratio}"


def _duration(given: Mapping[str, Any]) -> str:
    """Return what to write in place of the duration of a fault: the time at its end."""
    start, length = given.get("start"), given["duration"]
    end = f"{start + length:g}" if _positive(length) and isinstance(start, int | float) else "1.1"
    return f"the end is a time: write clear={end}"


def _positive(value: Any) -> bool:
    return isinstance(value, int | float) and value > 0


COMPUTED: Mapping[str, tuple[str, Callable[[Mapping[str, Any]], str]]] = {
    "h_fast": ("ratio", _fast_step),
    "duration": ("clear", _duration),
}
"""Keywords whose value is another one here: the field, and the sentence of all keywords."""

PUBLIC: Mapping[str, str] = {
    **dict.fromkeys(("trapezoidal", "trapezoidalrule", "tr", "tm"), 'SingleRate("TM", h=0.005)'),
    **dict.fromkeys(("backwardeuler", "impliciteuler", "be", "bem"), 'SingleRate("BEM", h=0.005)'),
    **dict.fromkeys(("fixedstep", "constantstep"), 'SingleRate("TM", h=0.005)'),
    **dict.fromkeys(("gentrip", "machinetrip", "generatoroutage"), "GeneratorTrip"),
    **dict.fromkeys(("closeline", "linereclose", "branchclose"), "LineClose"),
    **dict.fromkeys(("branchtrip", "lineoutage", "opening"), "LineTrip"),
    **dict.fromkeys(("loadcase", "load", "read", "open"), "read_case"),
    **dict.fromkeys(("run", "solve"), "simulate"),
    **dict.fromkeys(("eigenvalues", "eig"), "modes"),
}
"""What a name is called in psmr, without underscores and capitals."""


def unknown_name(name: str, known: Sequence[str]) -> str:
    """Return the sentence on a name that the package does not have."""
    right = PUBLIC.get(name.replace("_", "").lower())
    hint = f"; write psmr.{right}" if right else nearest(name, known)
    return f"psmr has no {name!r}{hint}"


def unknown_keyword(
    function: Callable[..., Any], name: str, given: Mapping[str, Any], words: str = ""
) -> str:
    """Return the sentence on a keyword that a function or record does not have, of all that were `given`.

    `words` say what to write in its place; "" for what `SYNONYMS` or the spelling says.
    """
    parameters = inspect.signature(function).parameters.values()
    known = [one.name for one in parameters if one.kind is not one.VAR_KEYWORD]
    words = words or other_name(name, given, known)
    hint = f"; {words}" if words else nearest(name, known) or f"; it has {', '.join(known) or 'none'}"
    return f"{function.__name__} has no keyword {name!r}{hint}"


def other_name(name: str, given: Mapping[str, Any], known: Collection[str]) -> str:
    """Return what to write in place of a name that is not `known`; "" where that is not clear."""
    field, computed = COMPUTED.get(name, ("", None))
    if computed is not None and field in known:
        return computed(given)
    right = next((one for one in SYNONYMS.get(name, ()) if one in known and one not in given), "")
    return f"write {right}={shown(given[name])}" if right else ""


def explains_keywords(error: type[InputError]) -> Callable[[type[Dataclass]], type[Dataclass]]:
    """Let a record say by an error what an unknown keyword should be, and which value it still needs."""

    def decorate(record: type[Dataclass]) -> type[Dataclass]:
        made = record.__init__
        known: dict[str, int] | None = None
        needed: list[tuple[int, str]] = []

        @functools.wraps(made)
        def checked(self: Any, *values: Any, **given: Any) -> None:
            nonlocal known, needed
            if known is None:
                known, needed = _parameters(record)
            if given.keys() - known.keys():
                raise error(unknown_keyword(record, next(name for name in given if name not in known), given))
            missing = [name for place, name in needed if place >= len(values) and name not in given]
            if missing:
                raise error(f"{record.__name__} needs {' and '.join(missing)}; it has {', '.join(known)}")
            made(self, *values, **given)

        record.__init__ = checked  # type: ignore[method-assign]
        return record

    return decorate


def _parameters(record: type) -> tuple[dict[str, int], list[tuple[int, str]]]:
    """Return the parameters of a record with their places, and those without a default."""
    parameters = inspect.signature(record).parameters
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    needed = [
        (place, name)
        for place, (name, one) in enumerate(parameters.items())
        if one.default is one.empty and one.kind in named
    ]
    return {name: place for place, name in enumerate(parameters)}, needed
