"""What arguments and fields declare by their annotations: types, choices, an option of the command line.

Annotations are read as text, so that no class need be imported to be named in one. What they say is checked
by `psmr.base.arguments`, and makes the fields of TOML tables and the options of the command line.
"""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import math
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args, get_origin

from psmr.base.errors import CaseError, EventError, InputError, SchemeError
from psmr.base.numbers import are_numbers, plain

Types = type | tuple[type, ...]


class ValueKind(NamedTuple):
    """What a name in an annotation admits: in words, as a test of a value, and how one comes by it."""

    words: str
    fits: Callable[[Any], bool]
    stored: Types = object  # types of such a field in a record that was read from a file; object: not checked
    remedy: str = ""
    error: type[InputError] | None = None  # raised in place of the error of the function
    choices: tuple[Any, ...] = ()
    parts: Mapping[str, ValueKind] = {}  # of a list: what it holds


@dataclass(frozen=True)
class Option:
    """What the command line says of an argument or field: a note in its annotation, ``Annotated[...]``.

    `help` and `metavar` are those of argparse; a metavar of two words is that of two values. `name` is what
    the option is called where that is not the name of the argument, ``"o,output"`` for -o as well. Of
    options with the same word in `either` one alone may be given; they are listed under a `heading`. A list
    may be `empty` where that says something.
    """

    help: str | None = None
    metavar: str | None = None
    name: str = ""
    either: str = ""
    heading: str = ""
    empty: bool = False


ALLOW_CODE = Option("run the Python modules and controllers that the files name: for files that you trust")
"""Of whatever reads files that may name modules."""


@dataclass(frozen=True)
class Positive:
    """A note in an annotation: a finite number above zero, in a unit."""

    unit: str = ""


def option_of(notes: Iterable[Any]) -> Option:
    """Return what notes say of an option: an `Option`, and beside it texts as help and metavar."""
    found = next((note for note in notes if isinstance(note, Option)), Option())
    texts: list[Any] = [note for note in notes if isinstance(note, str)]
    return replace(found, **dict(zip(("help", "metavar"), texts, strict=False)))


class Argument(NamedTuple):
    """An argument of a function or a field of a record, as it is declared."""

    name: str
    annotation: str
    kinds: Kinds
    notes: tuple[Any, ...]  # of ``Annotated``: an `Option`, choices, what reads its text
    needed: bool
    keyword: bool  # whether it is given by its name alone
    stands: bool  # whether its default is True
    whole: bool  # whether all that it admits is known here


def is_a(types: Types) -> Callable[[Any], bool]:
    """Return a test for instances; True and False are no numbers."""
    return lambda value: isinstance(value, types) and (types is bool or not isinstance(value, bool))


def _is_named(name: str, value: Any) -> bool:
    return any(base.__name__ == name for base in type(value).__mro__)


def _is_finite(value: Any, types: Types) -> bool:
    try:
        return is_a(types)(value) and math.isfinite(abs(complex(value)))
    except OverflowError:
        return False


def too_long(value: Any) -> bool:
    """Return whether a whole number does not fit into the 64 bits that it has in machine code."""
    return isinstance(value, int) and abs(value) >= 2**63


REALS, _NUMBERS = (int, float), (int, float, complex)

CLASSES = {
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
    "StudyPositions": ("places in a file", "leave them out; psmr.read_study finds them"),
    "SweepPositions": ("places in a file", "leave them out; psmr.read_sweep finds them"),
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
        for kind in (
            *("Bus", "Line", "Transformer", "Shunt", "Load", "Generator", "Relay", "Sequence"),
            *("Area", "DcBus", "DcLine", "DcConverter"),
        )
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

SINGULARS = {"axes": "axis", "buses": "bus"}

_PATH = ValueKind("the path of a file, as text or pathlib.Path", is_a((str, os.PathLike)))

_KINDS = {
    "None": ValueKind("", is_a(type(None)), type(None)),
    "bool": ValueKind("True or False", is_a(bool), bool),
    "int": ValueKind("a whole number", lambda value: is_a(int)(value) and not too_long(value), int),
    "float": ValueKind("a finite number", lambda value: _is_finite(value, REALS), REALS),
    "complex": ValueKind("a finite number", lambda value: _is_finite(value, _NUMBERS), _NUMBERS),
    "str": ValueKind("a text", is_a(str), str),
    "Path": _PATH,
    "PathLike": _PATH,
    "Mapping": ValueKind("a dictionary", is_a(Mapping), Mapping),
    "Callable": ValueKind("a function", callable),
    "ArrayLike": ValueKind("a number or an array of numbers", are_numbers),
    "ndarray": ValueKind("an array of numbers", are_numbers),
    "slice": ValueKind("a slice", is_a(slice)),
    **{
        name: ValueKind(
            words,
            functools.partial(_is_named, name) if name not in _PROTOCOLS else lambda value: True,
            remedy=remedy,
            error=_ERRORS.get(name),
        )
        for name, (words, remedy) in CLASSES.items()
    },
}

Kinds = Mapping[str, ValueKind]
"""What an annotation admits; empty where a part of it is not known here."""


Find = Callable[[str], Any]
"""What a name stands for where an annotation is; None where that is not known."""


@functools.cache
def declared(maker: Callable[..., Any] | str) -> tuple[Argument, ...]:
    """Return the arguments of a function, or the fields of a record, as their annotations declare them.

    What is named, ``"psmr.files.case_file.CaseFile"``, is read from its source: importing it takes longer
    than help may.
    """
    if isinstance(maker, str):
        return tuple(_declared_in_source(maker))
    owners = maker.__mro__[-2::-1] if isinstance(maker, type) else (maker,)
    homes = {name: owner.__module__ for owner in owners for name in inspect.get_annotations(owner)}
    return tuple(
        _argument(
            each.name,
            parsed(each.annotation),
            getattr(sys.modules.get(homes[each.name]), "__dict__", {}).get,
            None if each.default is each.empty else ast.Constant(each.default),
            each.kind is each.KEYWORD_ONLY,
        )
        for each in inspect.signature(maker).parameters.values()
        if each.kind not in (each.VAR_KEYWORD, each.VAR_POSITIONAL)
    )


def _declared_in_source(maker: str) -> Iterator[Argument]:
    module, _, name = maker.rpartition(".")
    module, _, owner = module.rpartition(".") if module.rpartition(".")[2][:1].isupper() else (module, "", "")
    find = functools.partial(_constant, module)
    made: Any = _source(module)
    for wanted in filter(None, (owner, name)):
        made = next(part for part in made.body if getattr(part, "name", "") == wanted)
    if isinstance(made, ast.ClassDef):
        for part in made.body:
            if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name):
                yield _argument(part.target.id, part.annotation, find, part.value)
    if isinstance(made, ast.FunctionDef):
        known, alone = made.args.args, made.args.kwonlyargs
        needed = len(known) - len(made.args.defaults)
        defaults = [*[None] * needed, *made.args.defaults, *made.args.kw_defaults]
        for each, default in zip([*known, *alone], defaults, strict=True):
            if each.annotation is not None:
                yield _argument(each.arg, each.annotation, find, default, each in alone)


def _argument(
    name: str, annotation: ast.expr, find: Find, default: ast.expr | None, keyword: bool = False
) -> Argument:
    notes = [note for part in ast.walk(annotation) for note in _noted(part)]
    stands = isinstance(default, ast.Constant) and default.value is True
    known = tuple(_note(note, find) for note in notes)
    kinds = kinds_of(annotation, find, of_all=False)
    return Argument(
        name,
        ast.unparse(annotation),
        kinds,
        known,
        default is None,
        keyword,
        stands,
        bool(kinds_of(annotation, find)),
    )


@functools.cache
def _source(module: str) -> ast.Module:
    """Return the text of a module of psmr, taken apart."""
    place = Path(__file__).parents[2].joinpath(*module.split("."))
    return ast.parse((place / "__init__.py" if place.is_dir() else place.with_suffix(".py")).read_bytes())


def _constant(module: str, name: str) -> Any:
    """Return what a name stands for in a module, by the text where that writes it out."""
    for part in _source(module).body:
        match part:
            case ast.ImportFrom(module=str(other), names=names) if name in [each.name for each in names]:
                return _constant(other, name) if other.startswith("psmr.") else None
            case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)):
                for target, value in zip(names, values, strict=True):
                    if isinstance(target, ast.Name) and target.id == name:
                        return _note(value, functools.partial(_constant, module))
            case ast.Assign(targets=[ast.Name(id=known)], value=value) if known == name:
                found = _note(value, functools.partial(_constant, module))
                return getattr(importlib.import_module(module), name) if found is None else found
            case ast.FunctionDef(name=known) | ast.AnnAssign(target=ast.Name(id=known)) if known == name:
                return getattr(importlib.import_module(module), name)
    return None


def parsed(annotation: Any) -> ast.expr:
    """Return an annotation, taken apart; a record of the user's own may have types in place of names."""
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return ast.parse(text.replace("typing.", ""), mode="eval").body


def unknown(name: str) -> None:
    """Know no name: what is among choices by their name is checked by who knows them."""


def _noted(annotation: ast.AST) -> list[ast.expr]:
    """Return what stands behind the type in ``Annotated[...]``."""
    match annotation:
        case ast.Subscript(value=ast.Name(id="Annotated"), slice=ast.Tuple(elts=[_, *notes])):
            return notes
    return []


def _note(note: ast.expr, find: Find) -> Any:
    """Return the text, tuple of texts, choices or `Option` that an expression writes or names, else None."""
    match note:
        case ast.Constant(value=text):
            return text
        case ast.Name(id=name):
            return find(name)
        case ast.Tuple(elts=parts):
            return tuple(_note(part, find) for part in parts)
        case ast.Dict():
            return ast.literal_eval(note)
        case ast.Call(func=ast.Name(id="tuple"), args=[ast.Name(id=name)]):
            return tuple(find(name))
        case ast.Subscript(value=ast.Name(id="Literal"), slice=choices):
            return Literal[ast.literal_eval(choices)]
        case ast.Call(func=ast.Name(id="Option" | "Positive" as kind), args=values, keywords=named):
            more = {str(each.arg): ast.literal_eval(each.value) for each in named}
            return (Option if kind == "Option" else Positive)(*map(ast.literal_eval, values), **more)
    return None


def kinds_of(annotation: ast.expr, find: Find, of_all: bool = True) -> Kinds:
    """Return what an annotation admits; `find` says what names of its module stand for: lists of choices."""
    match annotation:
        case ast.BinOp(left=left, right=right):
            first, second = kinds_of(left, find, of_all), kinds_of(right, find, of_all)
            both = {**first, **second} if (first and second) or not of_all else {}
            return {name: both[name] for name in both if name != "str" or _PATH not in both.values()}
        case ast.Constant(value=None):
            return {"None": _KINDS["None"]}
        case ast.Subscript(value=ast.Name(id="Literal"), slice=choices):
            found = ast.literal_eval(choices)
            return _choices(found if isinstance(found, tuple) else (found,))
        case ast.Subscript(value=ast.Name(id="Annotated"), slice=ast.Tuple(elts=[inner, *_])):
            known = [_note(note, find) for note in _noted(annotation)]
            among = next((note for note in known if isinstance(note, tuple)), None)
            return _choices(among) if among else {} if None in known else kinds_of(inner, find)
        case ast.Subscript(value=ast.Name(id="Union"), slice=ast.Tuple(elts=[first, *others])):
            return kinds_of(functools.reduce(_either, others, first), find, of_all)
        case ast.Subscript(value=ast.Name(id="Optional"), slice=inner):
            return kinds_of(_either(inner, ast.Constant(None)), find, of_all)
        case ast.Subscript(value=ast.Name(id="Iterable" | "Sequence" | "tuple" | "list"), slice=inner):
            return _list(kinds_of(inner.elts[0] if isinstance(inner, ast.Tuple) else inner, find))
        case ast.Subscript(value=outer):
            return kinds_of(outer, find)
        case ast.Name(id=name) | ast.Attribute(attr=name):
            if name in _KINDS:
                return {"Path" if _KINDS[name] is _PATH else name: _KINDS[name]}
            alias = find(name)
            return _choices(get_args(alias)) if get_origin(alias) is Literal else {}
    return {}


def _either(one: ast.expr, other: ast.expr) -> ast.expr:
    return ast.BinOp(one, ast.BitOr(), other)


def _choices(choices: Iterable[Any]) -> Kinds:
    listed = tuple(choices)
    words = " or ".join(map(repr, listed))
    return {"Literal": ValueKind(words, lambda v: isinstance(v, str | int) and v in listed, choices=listed)}


def _list(inner: Kinds) -> Kinds:
    def fits(value: Any) -> bool:
        if not isinstance(value, Iterable) or isinstance(value, str | bytes | type | Mapping):
            return False
        # What can be gone through only once is left to who does it.
        return not inner or not isinstance(value, Sized) or all(fits_any(part, inner) for part in value)

    words = "a list"
    if inner:
        single = next(iter(inner.values())).words
        words += f" of {_PLURALS.get(single, single.removeprefix('a ').removeprefix('an ') + 's')}"
    error = next((kind.error for kind in inner.values() if kind.error), None)
    return {"list": ValueKind(words, fits, (tuple, list), error=error, parts=inner)}


def fits_any(value: Any, kinds: Kinds) -> bool:
    """Return whether a value is of one of the kinds."""
    # An array is tested as it is: numpy makes floats of it, or cannot.
    return any(kind.fits(value if kind.fits is are_numbers else plain(value)) for kind in kinds.values())
