"""Checks of arguments and fields against their annotations, with a sentence on what does not fit.

Annotations are read as text, so that no class need be imported to be named in one.
"""

from __future__ import annotations

import ast
import functools
import inspect
import math
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sized
from dataclasses import fields
from numbers import Number
from typing import Any, Literal, NamedTuple, get_args, get_origin

from psmr.base.errors import CaseError, EventError, InputError, SchemeError, nearest, shown
from psmr.base.numbers import are_numbers, plain, real

Types = type | tuple[type, ...]


class Kind(NamedTuple):
    """What a name in an annotation admits: in words, as a test of a value, and how one comes by it."""

    words: str
    fits: Callable[[Any], bool]
    stored: Types = object  # types of such a field in a record that was read from a file; object: not checked
    remedy: str = ""
    error: type[InputError] | None = None  # raised in place of the error of the function
    choices: tuple[Any, ...] = ()


def _is(types: Types) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, types) and (types is bool or not isinstance(value, bool))


def _is_named(name: str, value: Any) -> bool:
    return any(base.__name__ == name for base in type(value).__mro__)


def _is_finite(value: Any, types: Types) -> bool:
    try:
        return _is(types)(value) and math.isfinite(abs(complex(value)))
    except OverflowError:
        return False


def _too_long(value: Any) -> bool:
    """Return whether a whole number does not fit into the 64 bits that it has in machine code."""
    return isinstance(value, int) and abs(value) >= 2**63


_REALS, _NUMBERS = (int, float), (int, float, complex)

_CLASSES = {
    "Case": ("a case", "read one with psmr.read_case(path)"),
    "System": ("a system", "make one with psmr.build(psmr.read_case(path))"),
    "LinearDae": ("a linearised system", "make one with psmr.build(psmr.read_case(path)).linearise()"),
    "StateSpace": ("a system as matrices", "make one with system.state_space(inputs, outputs)"),
    "Scheme": (
        "a scheme",
        "use psmr.VariableStep, SingleRate, Multirate, Smes, SlowManifold, ArcLength or Adaptive",
    ),
    "Region": ("a psmr.Region", 'make one with psmr.Region(5) or psmr.Region("all")'),
    "Partition": ("a partition", "make one with partitioning.by_participation(linear, delta=...)"),
    "Run": ("a run", "psmr.simulate and psmr.load_run give one"),
    "Trace": ("a trace", "read one with psmr.read_trace(path)"),
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
        for kind in ("Bus", "Line", "Transformer", "Shunt", "Load", "Generator", "Relay", "Sequence")
    },
}
"""Classes in words, and how one comes by an instance."""

_PROTOCOLS = ("Event", "Monitor", "Axis")
"""Classes that anything may be by its methods, which are checked where they are called."""

_ERRORS = {"Case": CaseError, "Scheme": SchemeError, "Event": EventError}

_PLURALS = {
    "an axis": "axes",
    "the path of a file, as text or pathlib.Path": "paths of files, as text or pathlib.Path",
}

_SINGULARS = {"axes": "axis", "buses": "bus"}

_PATH = Kind("the path of a file, as text or pathlib.Path", _is((str, os.PathLike)))

_KINDS = {
    "None": Kind("", _is(type(None)), type(None)),
    "bool": Kind("True or False", _is(bool), bool),
    "int": Kind("a whole number", lambda value: _is(int)(value) and not _too_long(value), int),
    "float": Kind("a finite number", lambda value: _is_finite(value, _REALS), _REALS),
    "complex": Kind("a finite number", lambda value: _is_finite(value, _NUMBERS), _NUMBERS),
    "str": Kind("a text", _is(str), str),
    "Path": _PATH,
    "PathLike": _PATH,
    "Mapping": Kind("a dictionary", _is(Mapping), Mapping),
    "Callable": Kind("a function", callable),
    "ArrayLike": Kind("a number or an array of numbers", are_numbers),
    "ndarray": Kind("an array of numbers", are_numbers),
    "slice": Kind("a slice", _is(slice)),
    **{
        name: Kind(
            words,
            functools.partial(_is_named, name) if name not in _PROTOCOLS else lambda value: True,
            remedy=remedy,
            error=_ERRORS.get(name),
        )
        for name, (words, remedy) in _CLASSES.items()
    },
}

Kinds = dict[str, Kind]
"""What an annotation admits; empty where a part of it is not known here."""


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
        Arguments that the function checks itself, since it knows their range.

    Raises
    ------
    InputError
        With the argument, what was given and what would be right; `CaseError` for a case, `SchemeError` for a
        scheme.
    """
    for name, kinds in _arguments(function):
        if kinds and name not in leaving and not _fits(given[name], kinds):
            raised = next((kind.error for kind in kinds.values() if kind.error), error)
            raise raised(f"{function.__name__}: {_refusal(name, given[name], kinds)}")


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
    for name, kinds in _fields(record.__class__):
        given = getattr(record, name)
        value = _settled(given, kinds)
        if value is not given:
            object.__setattr__(record, name, value)
        left = not numbers and not kinds.keys().isdisjoint(("int", "float", "complex")) and "str" not in kinds
        if kinds and (not left or _too_long(value)) and not _fits(value, kinds):
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
        if kinds and not any(kind.stored is object or _is(kind.stored)(value) for kind in kinds.values()):
            return f"{type(record).__name__}: {_refusal(name, value, kinds)}"
    return ""


def positive_number(name: str, given: object, unit: str = "s") -> float:
    """Return a number that must be finite and above zero, of a time in s or of another unit.

    Raises
    ------
    InputError
        For anything else.
    """
    value = plain(given)
    if not _is(_REALS)(value) or not 0 < real(value) < math.inf:
        raise InputError(f"{name} = {shown(given)}: must be a finite number > 0 in {unit}")
    return real(value)


@functools.cache
def _arguments(function: Callable[..., Any]) -> tuple[tuple[str, Kinds], ...]:
    return tuple(
        (known.name, _kinds(_parsed(known.annotation), function.__globals__))
        for known in inspect.signature(function).parameters.values()
        if known.kind not in (known.VAR_KEYWORD, known.VAR_POSITIONAL) and isinstance(known.annotation, str)
    )


@functools.cache
def _fields(record: type) -> tuple[tuple[str, Kinds], ...]:
    known = [field for field in fields(record) if field.init]
    # A record of the user's own may have types in place of their names.
    words = [f.type if isinstance(f.type, str) else inspect.formatannotation(f.type) for f in known]
    return tuple((field.name, _kinds(_parsed(word), {})) for field, word in zip(known, words, strict=True))


def _parsed(annotation: str) -> ast.expr:
    return ast.parse(annotation, mode="eval").body


def _kinds(annotation: ast.expr, names: Mapping[str, Any]) -> Kinds:
    """Return what an annotation admits; in `names`, those of its module, are the lists of choices."""
    match annotation:
        case ast.BinOp(left=left, right=right):
            first, second = _kinds(left, names), _kinds(right, names)
            both = {**first, **second} if first and second else {}
            return {name: both[name] for name in both if name != "str" or _PATH not in both.values()}
        case ast.Constant(value=None):
            return {"None": _KINDS["None"]}
        case ast.Subscript(value=ast.Name(id="Literal"), slice=choices):
            found = ast.literal_eval(choices)
            return _choices(found if isinstance(found, tuple) else (found,))
        case ast.Subscript(value=ast.Name(id="Annotated"), slice=ast.Tuple(elts=[_, ast.Name(id=among)])):
            return _choices(names[among]) if among in names else {}
        case ast.Subscript(value=ast.Name(id="Iterable" | "Sequence" | "tuple" | "list"), slice=inner):
            return _list(_kinds(inner.elts[0] if isinstance(inner, ast.Tuple) else inner, names))
        case ast.Subscript(value=outer):
            return _kinds(outer, names)
        case ast.Name(id=name) if get_origin(names.get(name)) is Literal:
            return _choices(get_args(names[name]))
        case ast.Name(id=name) | ast.Attribute(attr=name) if name in _KINDS:
            return {name: _KINDS[name]}
    return {}


def _choices(choices: Iterable[Any]) -> Kinds:
    listed = tuple(choices)
    words = " or ".join(map(repr, listed))
    return {"Literal": Kind(words, lambda v: isinstance(v, str | int) and v in listed, choices=listed)}


def _list(inner: Kinds) -> Kinds:
    def fits(value: Any) -> bool:
        if not isinstance(value, Iterable) or isinstance(value, str | bytes | type | Mapping):
            return False
        # What can be gone through only once is left to who does it.
        return not inner or not isinstance(value, Sized) or all(_fits(part, inner) for part in value)

    words = "a list"
    if inner:
        single = next(iter(inner.values())).words
        words += f" of {_PLURALS.get(single, single.removeprefix('a ').removeprefix('an ') + 's')}"
    error = next((kind.error for kind in inner.values() if kind.error), None)
    return {"list": Kind(words, fits, (tuple, list), error=error)}


def _fits(value: Any, kinds: Kinds) -> bool:
    # An array is tested as it is: numpy makes floats of it, or cannot.
    return any(kind.fits(value if kind.fits is are_numbers else plain(value)) for kind in kinds.values())


def _refusal(name: str, value: Any, kinds: Kinds) -> str:
    """Return the sentence on a value that is of none of the kinds."""
    words = dict.fromkeys(kind.words for kind in kinds.values() if kind.words)
    what = f"{name} {_given(value)}: must be {' or '.join(words)}"
    texts = [text for kind in kinds.values() for text in kind.choices]
    if isinstance(value, str) and texts:
        return what + nearest(value, texts)
    hint = next((_remedy(*item, value) for item in reversed(kinds.items()) if item[1].remedy), "")
    if not hint and "list" in kinds and value is not None and not isinstance(value, Iterable):
        hint = f"write [{_SINGULARS.get(name, name.removesuffix('s'))}] for a single one"
    if not hint and _too_long(value):
        hint = "this one has too many digits"
    return f"{what}; {hint}" if hint else what


def _given(value: Any) -> str:
    if isinstance(value, type):
        return f"is the class {value.__name__}"
    if value is None or isinstance(value, str | Number | os.PathLike | list | tuple | dict):
        return f"= {shown(value)}"
    return f"is of the type {type(value).__name__}"


def _remedy(wanted: str, kind: Kind, value: Any) -> str:
    """Return how to come by what is wanted, if possible from what was given."""
    if isinstance(value, type) and any(base.__name__ == wanted for base in value.__mro__):
        return f"make one of it, {value.__name__}(...)"
    call = kind.remedy.rpartition(" ")[2]
    if isinstance(value, str | os.PathLike) and "(path)" in call:
        return f"write {call.replace('path', shown(os.fspath(value)))}"
    made = _CLASSES.get(type(value).__name__, ("", ""))[1].rpartition(" ")[2]
    if "(path)" in made and made in call:
        return f"write {call.replace(made, type(value).__name__.lower())}"
    return kind.remedy
