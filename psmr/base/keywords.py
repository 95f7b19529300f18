"""Keywords that are easily mistaken for others: an unknown one gets a sentence with the right name."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from psmr.base.errors import InputError, nearest, shown

Record = TypeVar("Record")

_START, _END = ("start",), ("clear", "end", "reconnect", "reclose", "stop")
_STEP = ("h", "h_slow", "h_max", "longest")

SYNONYMS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("time", "t", "at", "t_start", "begin", "t_fault"), _START),
    **dict.fromkeys(("t_end", "until", "t_clear", "clearing", "clear_time", "off"), _END),
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
    """Return the sentence on a keyword that a function or record does not have.

    Parameters
    ----------
    function
        What was called.
    name
        The keyword.
    given
        All keywords with their values.
    words
        What to write in its place; "" for what `SYNONYMS` or the spelling says.
    """
    parameters = inspect.signature(function).parameters.values()
    known = [one.name for one in parameters if one.kind is not one.VAR_KEYWORD]
    right = next((one for one in SYNONYMS.get(name, ()) if one in known and one not in given), "")
    field, computed = COMPUTED.get(name, ("", None))
    if not words and computed is not None and field in known:
        words = computed(given)
    if not words and right:
        words = f"write {right}={shown(given[name])}"
    hint = f"; {words}" if words else nearest(name, known) or f"; it has {', '.join(known) or 'none'}"
    return f"{function.__name__} has no keyword {name!r}{hint}"


def explains_keywords(error: type[InputError]) -> Callable[[type[Record]], type[Record]]:
    """Let a record say by an error what an unknown keyword should be, and which value it still needs."""

    def decorate(record: type[Record]) -> type[Record]:
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
