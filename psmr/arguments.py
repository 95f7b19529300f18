"""Kinds of arguments: a function or record takes what it declares, and refuses the rest with a sentence.

The annotations are read as the text that they are, so that a class need not be imported to be named.
"""

from __future__ import annotations

import ast
import functools
import inspect
import math
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sized
from dataclasses import fields
from numbers import Integral, Number, Real
from typing import Any, Literal, get_args, get_origin

from psmr.errors import CaseError, EventError, InputError, SchemeError, nearest, shown
from psmr.numbers import are_numbers, plain, real

_CLASSES: Mapping[str, tuple[str, str]] = {
    "Case": ("a case", "read one with psmr.read_case(path)"),
    "System": ("a system", "make one with psmr.build(psmr.read_case(path))"),
    "LinearDae": ("a linearised system", "make one with psmr.build(psmr.read_case(path)).linearise()"),
    "Scheme": (
        "a scheme",
        "use psmr.VariableStep, SingleRate, Multirate, Smes, SlowManifold, ArcLength or Adaptive",
    ),
    "Partition": ("a partition", "make one with partitioning.by_participation(linear, delta=...)"),
    "Run": ("a run", "psmr.simulate and psmr.load_run give one"),
    "Study": ("a study", "read one with psmr.read_study(path)"),
    "Sweep": ("a sweep", "read one with psmr.read_sweep(path)"),
    "Places": ("places in a file", "leave them out; psmr.read_sweep finds them"),
    "PowerFlow": ("the solved power flow of the case", "leave it out"),
    "LoadShares": ("shares of loads", 'write a text such as "p=0.5,0.3,0.2 q=1,0,0"'),
    "Record": ("a psmr.Record", "make one with psmr.Record(signals)"),
    "Criteria": ("a psmr.Criteria", "make one with psmr.Criteria(v_low=0.7)"),
    "ModeChoice": ("a psmr.ModeChoice", "make one with psmr.ModeChoice(least_damped=5)"),
    "OutputTransaction": ("a transaction of output files", "leave it out"),
    "Event": ("an event", "psmr.Fault and others make one"),
    "Monitor": ("a monitor", "psmr.AngleSpread and others make one"),
    "Axis": ("an axis", "psmr.ParameterAxis and others make one"),
    "Axes": ("axes of matplotlib", "for instance plt.subplots()[1]"),
    "Device": ("a psmr.Device", "make one with psmr.Device(name, component, parameters)"),
    **{
        f"{kind}Row": (f"a {kind}Row", "psmr.make_case makes rows of dictionaries")
        for kind in ("Bus", "Line", "Transformer", "Shunt", "Load", "Generator", "Relay")
    },
}
"""What an argument of a class is in words, and how one comes by it."""

_CHAIN: Mapping[str, str] = {
    "Case": "psmr.read_case({})",
    "System": "psmr.build({})",
    "LinearDae": "{}.linearise()",
}
"""How each is made of the one before it, the first of a path."""

_PROTOCOLS = frozenset(("Event", "Monitor", "Axis"))
"""Of these anything may be one by its methods, at which is looked where they are called."""

_ERRORS: Mapping[str, type[InputError]] = {"Case": CaseError, "Scheme": SchemeError, "Event": EventError}

_WORDS: Mapping[str, str] = {
    "bool": "True or False",
    "int": "a whole number",
    "float": "a finite number",
    "complex": "a finite number",
    "str": "a text",
    "Path": "the path of a file, as text or pathlib.Path",
    "list": "a list",
    "Mapping": "a dictionary",
    "Callable": "a function",
    "ArrayLike": "a number or an array of numbers",
    "ndarray": "an array of numbers",
    "slice": "a slice",
}
"""The other kinds in words."""

_WHOLE = 2**63
"""Whole numbers lie below this in magnitude: they go into machine code."""

_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "None": type(None),
    "bool": bool,
    "int": int,
    "float": (int, float),
    "complex": (int, float, complex),
    "str": str,
    "list": (tuple, list),
    "Mapping": Mapping,
}
"""What the kinds are that no other module need be loaded to know."""

_NUMBERS = frozenset(("int", "float", "complex"))

Kinds = tuple[tuple[str, tuple[Any, ...]], ...]
"""What an annotation admits: name of a kind and, of choices, which; empty where this module cannot tell."""


def check_arguments(
    function: Callable[..., Any],
    given: Mapping[str, Any],
    error: type[InputError] = InputError,
    leaving: Collection[str] = (),
) -> None:
    """Raise the error of the first argument that is of another kind than the function declares.

    Parameters
    ----------
    function
        What was called.
    given
        The arguments by name: `locals()` in its first line.
    error
        What is raised.
    leaving
        Arguments at which the function looks itself, since it knows their range.

    Raises
    ------
    InputError
        With the argument, what was given and what would be right; `CaseError` for a case, `SchemeError` for a
        scheme.
    """
    for name, kinds in _arguments(function):
        if kinds and name not in leaving and not _fits(given[name], kinds):
            named = [kind for kind, _ in kinds] + [inner[0] for _, choices in kinds for inner in choices]
            kind_of = next((_ERRORS[kind] for kind in named if kind in _ERRORS), error)
            raise kind_of(f"{function.__name__}: {_refusal(name, given[name], kinds)}")


def settle_fields(record: Any, error: type[InputError] = InputError, numbers: bool = False) -> None:
    """Give the fields of a frozen record the types that they declare, and refuse what is none of them.

    A number of numpy or a fraction becomes one of Python, a whole number a float where the field declares
    floats, and 5.0 the number 5 where the field names something by its number: what is computed, compared,
    shown, compiled and pickled is then the same whoever handed it in.

    Parameters
    ----------
    record
        The record, from its `__post_init__`.
    error
        What is raised.
    numbers
        Whether fields of numbers are checked here; otherwise the record does it, which knows their range.
    """
    for name, kinds, sure in _fields(record.__class__):
        given = getattr(record, name)
        if type(given) in sure and not (numbers and type(given) is float):
            continue
        value = plain(given)
        admitted = {kind for kind, _ in kinds}
        if "float" in admitted and "int" not in admitted and type(value) is int:
            value = real(value)
        elif {"int", "str"} <= admitted and type(value) is float and value.is_integer():
            value = int(value)  # the number of a bus: a column of them with a gap is one of floats in pandas
        if isinstance(value, list) and "list" in admitted:
            value = tuple(value)
        if value is not given:
            object.__setattr__(record, name, value)
        numeric = bool(admitted & _NUMBERS) and "str" not in admitted and not _too_long(value)
        if kinds and (numbers or not numeric) and not _fits(value, kinds):
            raise error(f"{type(record).__name__}: {_refusal(name, value, kinds)}")


def misfit(record: Any) -> str:
    """Return a sentence on a field of a record that has not the type it declares; none where all have.

    For records that did not go through their `__post_init__`: values that are out of range are let pass, what
    a list holds, and fields of types that this module does not know.
    """
    for name, kinds, _ in _fields(record.__class__):
        if kinds and not _typed(value := getattr(record, name), kinds):
            return f"{type(record).__name__}: {_refusal(name, value, kinds)}"
    return ""


def _typed(value: Any, kinds: Kinds) -> bool:
    admitted = [kind for kind, _ in kinds]
    return any(kind not in _TYPES for kind in admitted) or any(
        isinstance(value, _TYPES[kind]) and (kind == "bool" or not isinstance(value, bool))
        for kind in admitted
    )


def positive_number(name: str, given: object, unit: str = "s") -> float:
    """Return a number that must be finite and above zero, of a time in s or of another unit.

    Raises
    ------
    InputError
        For anything else.
    """
    value = plain(given)
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < real(value) < math.inf:
        raise InputError(f"{name} = {shown(given)}: must be a finite number > 0 in {unit}")
    return real(value)


@functools.cache
def _arguments(function: Callable[..., Any]) -> tuple[tuple[str, Kinds], ...]:
    known = inspect.signature(function).parameters.values()
    return tuple(
        (p.name, _kinds(p.annotation, function.__globals__))
        for p in known
        if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL) and isinstance(p.annotation, str)
    )


_SURE: Mapping[str, type] = {"float": float, "bool": bool, "str": str, "None": type(None)}
"""Of these kinds is whatever has exactly this type: most fields, at which nothing else need be looked."""


@functools.cache
def _fields(record: type) -> tuple[tuple[str, Kinds, frozenset[type]], ...]:
    """Return name, kinds and types that are right as they are of each field."""
    known = ((field.name, _kinds(str(field.type))) for field in fields(record) if field.init)
    return tuple(
        (name, kinds, frozenset(_SURE[kind] for kind, _ in kinds if kind in _SURE)) for name, kinds in known
    )


def _kinds(annotation: str, names: Mapping[str, Any] | None = None) -> Kinds:
    """Return what an annotation admits; nothing where one of its parts is not known here.

    `names` are those of a function's module, by which texts are found that are limited to some. Of a record
    they are left to the record.
    """
    found: dict[str, tuple[Any, ...]] = {}
    for part in _parts(annotation):
        name, _, inner = part.partition("[")
        if name == "Literal":
            found[name] = ast.literal_eval(f"({inner[:-1]},)")
        elif names and get_origin(names.get(name)) is Literal:
            found["Literal"] = get_args(names[name])
        elif names and name == "Annotated" and (among := inner[:-1].rpartition(", ")[2]) in names:
            found["Literal"] = names[among]
        elif name in ("os.PathLike", "Path"):
            found["Path"] = ()
        elif name in ("Iterable", "Sequence", "tuple", "list"):
            found["list"] = _kinds(_parts(inner[:-1], ",")[0])
        elif name in ("np.ndarray", "NDArray"):
            found["ndarray"] = ()
        elif name == "None" or name in _WORDS or name in _CLASSES:
            found[name] = ()
        else:
            return ()
    if "Path" in found:
        found.pop("str", None)
    return tuple(found.items())


def _parts(annotation: str, sign: str = "|") -> list[str]:
    """Return the parts of a union or a list, those within brackets not taken apart."""
    parts, depth = [""], 0
    for character in annotation:
        depth += (character == "[") - (character == "]")
        if character == sign and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]


def _fits(value: Any, kinds: Kinds) -> bool:
    # An array is looked at as it is: numpy makes floats of it, or cannot.
    return any(
        are_numbers(value) if kind in ("ArrayLike", "ndarray") else _is(plain(value), kind, choices)
        for kind, choices in kinds
    )


def _is(value: Any, kind: str, choices: tuple[Any, ...]) -> bool:
    if kind == "None":
        return value is None
    if kind == "Literal":
        return isinstance(value, str | int) and value in choices
    if kind == "bool":
        return isinstance(value, bool)
    if kind in _NUMBERS:
        return not isinstance(value, bool) and _is_number(value, kind)
    if kind == "str":
        return isinstance(value, str)
    if kind == "Path":
        return isinstance(value, str | os.PathLike)
    if kind == "list":
        if not isinstance(value, Iterable) or isinstance(value, str | bytes | type | Mapping):
            return False
        # What can be gone through only once is left to who does it.
        return not choices or not isinstance(value, Sized) or all(_fits(part, choices) for part in value)
    if kind == "Mapping":
        return isinstance(value, Mapping)
    if kind == "Callable":
        return callable(value)
    if kind in _PROTOCOLS:
        return True
    # By the names of its classes, none of which need be loaded.
    return kind in (base.__name__ for base in type(value).__mro__)


def _is_number(value: Any, kind: str) -> bool:
    if kind == "int":
        return isinstance(value, Integral) and not _too_long(value)
    if not isinstance(value, Real if kind == "float" else int | float | complex):
        return False
    try:
        return math.isfinite(abs(complex(value)))
    except OverflowError:
        return False


def _too_long(value: Any) -> bool:
    return isinstance(value, int) and abs(value) >= _WHOLE


def _refusal(name: str, value: Any, kinds: Kinds) -> str:
    """Return the sentence on a value that is of none of the kinds."""
    words: list[str] = []
    for kind, choices in kinds:
        if kind == "Literal":
            words += map(repr, choices)
        elif kind != "None":
            words.append(_words(kind, choices))
    what = f"{name} {_given(value)}: must be {' or '.join(dict.fromkeys(words))}"
    classes = [kind for kind, _ in kinds if kind in _CLASSES]
    texts = [text for kind, choices in kinds if kind == "Literal" for text in choices]
    if isinstance(value, str) and texts:
        return what + nearest(value, texts)
    hint = _remedy(classes[-1], value) if classes else ""
    if (
        not hint
        and any(kind == "list" for kind, _ in kinds)
        and value is not None
        and not isinstance(value, Iterable)
    ):
        single = "axis" if name == "axes" else name.removesuffix("s")
        hint = f"write [{single}] for a single one"
    if not hint and _too_long(value):
        hint = "this one has too many digits"
    return f"{what}; {hint}" if hint else what


def _words(kind: str, choices: tuple[Any, ...]) -> str:
    if kind == "list" and choices:
        inner = _words(*choices[0]).removeprefix("a ").removeprefix("an ")
        return "a list of axes" if inner == "axis" else f"a list of {inner}s"
    return _CLASSES[kind][0] if kind in _CLASSES else _WORDS[kind]


def _given(value: Any) -> str:
    if isinstance(value, type):
        return f"is the class {value.__name__}"
    if value is None or isinstance(value, str | Number | os.PathLike | list | tuple | dict):
        return f"= {shown(value)}"
    return f"is of the type {type(value).__name__}"


def _remedy(wanted: str, value: Any) -> str:
    """Return how to come by what is wanted, where it can be from what was given."""
    if isinstance(value, type) and wanted in (base.__name__ for base in value.__mro__):
        return f"make one of it, {value.__name__}(...)"
    chain, made = list(_CHAIN), ""
    if wanted in chain:
        if isinstance(value, str | os.PathLike):
            made = shown(os.fspath(value))
        for kind in chain[: chain.index(wanted) + 1]:
            made = _CHAIN[kind].format(made) if made else kind.lower() * (type(value).__name__ == kind)
    return f"write {made}" if made else _CLASSES[wanted][1]
