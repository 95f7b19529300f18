"""Commands are functions: their options follow from their arguments, and from what they fill.

An argument that is given by its name alone is an option, every other one stands in its place. A note `Fills`
makes options of the fields of a record or the arguments of a function elsewhere; the command is handed those
that were given, by their names.
"""

from __future__ import annotations

import argparse
import functools
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from psmr.base.declared import Argument, Option, declared, option_of
from psmr.base.errors import InputError
from psmr.base.files import PICTURES, TABLES, require_replaceable, require_suffix
from psmr.base.numbers import whole_in

if TYPE_CHECKING:
    from psmr.files.case_file import CaseFile
    from psmr.study.file.recipe import Recipe

Given = Mapping[str, Any]
"""The options that were given of those that fill something."""


@dataclass(frozen=True)
class Fills:
    """Options of a command that fill a record or a function, by its dotted name.

    `names` are the fields that have an option, in the order of the help, under a heading; `choosing`: they
    may all be left out, also those that what they fill needs.
    """

    made: str
    names: str
    heading: str = ""
    choosing: bool = False


@dataclass(frozen=True)
class OutputPath:
    """What reads the path of a file that is written; before the work it is found out whether it can be."""

    suffixes: Sequence[str]

    def __call__(self, text: str) -> str:
        """Read the path."""
        return path(text)


class CommandArgument(NamedTuple):
    """An option or a place of a command: its argument, under which name its value is kept, its heading."""

    argument: Argument
    kept: str
    heading: str = ""
    needed: bool = False

    @property
    def option(self) -> Option:
        """What is said of it."""
        return option_of(self.argument.notes)

    @property
    def flags(self) -> list[str]:
        """The option as it is typed; empty for what has a place."""
        names = (self.option.name or self.argument.name).replace("_", "-").split(",")
        if not self.argument.keyword:
            return []
        return [
            f"-{name}" if len(name) == 1 and name != "h" else f"--{'no-' * self.argument.stands}{name}"
            for name in names
        ]


@functools.cache
def settings(command: Callable[..., Any]) -> tuple[CommandArgument, ...]:
    """Return the options and places of a command, in order."""
    return tuple(_settings(command))


def _settings(command: Callable[..., Any]) -> Iterator[CommandArgument]:
    for argument in declared(command):
        fills = _noted(argument, Fills)
        if fills is None:
            heading = option_of(argument.notes).heading
            yield CommandArgument(argument, argument.name, heading, argument.needed)
            continue
        known = {each.name: each for each in declared(fills.made)}
        for name in fills.names.split():
            one = known[name]
            needed = one.needed and not fills.choosing
            yield CommandArgument(
                one._replace(keyword=True), f"{argument.name}.{name}", fills.heading, needed
            )


def _noted(argument: Argument, kind: type) -> Any:
    """Return the note of a kind; None where there is none."""
    return next((note for note in argument.notes if isinstance(note, kind)), None)


def add_options(command: Callable[..., Any], parser: argparse.ArgumentParser) -> None:
    """Add the options and places of a command to its parser."""
    groups: dict[str, Any] = {"": parser}
    for each in settings(command):
        option, either = each.option, each.option.either
        if each.heading not in groups:
            groups[each.heading] = parser.add_argument_group(each.heading)
        if either and either not in groups:
            groups[either] = groups[each.heading].add_mutually_exclusive_group(required=each.needed)
        more = _reading(each.argument)
        if each.needed and each.flags and not either:
            more["required"] = True
        if each.flags:
            more["dest"] = each.kept
        groups[either or each.heading].add_argument(
            *(each.flags or [each.kept]),
            default=argparse.SUPPRESS,
            help=option.help and option.help.replace("%", "%%"),
            **more,
        )


def _reading(argument: Argument) -> dict[str, Any]:
    """Return how argparse reads the value of an argument."""
    kinds, option = argument.kinds, option_of(argument.notes)
    if kinds.keys() == {"bool"}:
        return {"action": f"store_{str(not argument.stands).lower()}"}
    if "bool" in kinds:
        return {"action": argparse.BooleanOptionalAction}
    metavar = tuple((option.metavar or "").split())
    found: dict[str, Any] = {"metavar": metavar if len(metavar) > 1 else option.metavar}
    if not argument.needed and not argument.keyword:
        found["nargs"] = "?"
    reader = next((note for note in argument.notes if callable(note)), None)
    if reader is not None:
        return found | {"type": reader}
    if "list" in kinds:
        part = next(iter(kinds["list"].parts), "str")
        nargs = len(metavar) if len(metavar) > 1 else "*" if option.empty else "+"
        return found | {"nargs": nargs, "type": _READERS.get(part, str)}
    if "Literal" in kinds and "int" in kinds:
        return found | {"type": functools.partial(_whole_or, kinds["Literal"].choices)}
    if "Literal" in kinds:
        return found | {"choices": [choice for choice in kinds["Literal"].choices if choice is not None]}
    return found | {"type": next((_READERS[kind] for kind in _READERS if kind in kinds), str)}


def _whole_or(words: Sequence[str], text: str) -> int | str:
    try:
        return text if text in words else whole_in(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(
            f"{text!r}: must be a whole number or {' or '.join(words)}"
        ) from error


def path(text: str) -> str:
    """Read a path, which must not be empty: what names no file is not left out in silence."""
    if not text:
        raise argparse.ArgumentTypeError("the path is empty; name a file or folder, or leave the option out")
    return text


_READERS: Mapping[str, Any] = {"Path": path, "str": str, "int": int, "float": float}


def add_command(subparsers: Any, command: Callable[..., Any]) -> None:
    """Add a command: its name is that of the function, its help and its example are the docstring.

    Its options are added when it is given: those of all commands would take time at each.
    """
    words, _, example = (inspect.getdoc(command) or command.__name__).partition("\n\n")  # -OO has none
    summary = " ".join(words.split())
    parser = subparsers.add_parser(
        command.__name__,
        help=summary[0].lower() + summary[1:].removesuffix("."),
        description=summary,
        epilog=" ".join(example.split()),
        allow_abbrev=False,  # --h is a step, not --help
    )
    parser.fill = functools.partial(add_options, command)
    parser.set_defaults(command=command)


def call(arguments: argparse.Namespace) -> int | None:
    """Carry out the command that was given; first it is found out whether its files can be written."""
    values = dict(vars(arguments))
    command = values.pop("command")
    given: dict[str, Any] = {each.name: {} for each in declared(command) if _noted(each, Fills)}
    for each in settings(command):
        if each.kept not in values:
            if each.needed:  # another one of those of which one is needed was given
                given[each.kept] = None
            continue
        value = values[each.kept]
        target = _noted(each.argument, OutputPath)
        if target is not None:
            require_target(each.flags[0], value, target.suffixes)
        value = tuple(value) if isinstance(value, list) else value
        outer, _, inner = each.kept.partition(".")
        if inner:
            given[outer][inner] = value
        else:
            given[outer] = value
    code: int | None = command(**given)
    return code


def require_target(option: str, target: str, suffixes: Sequence[str]) -> None:
    """Raise InputError before the work for a file that cannot be written, or has another ending."""
    try:
        require_suffix(target, suffixes)
        require_replaceable(target)
    except InputError as error:
        raise InputError(f"{option}: {error}") from error


def input_file(text: str) -> str:
    """Return the path of a case, study or sweep: a file, or else one that ships with psmr."""
    from psmr.files.shipped import located

    try:
        return located(text)
    except InputError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


JSON = Option("print the result as JSON")
CASE = Option("case file, or a name that `psmr cases` lists; - reads standard input", "CASE")
TABLE, PICTURE = OutputPath(TABLES), OutputPath(PICTURES)
STUDY = Option("study file, or a name that `psmr cases` lists; - reads it from standard input", "STUDY")
CSV = Option("write the table as CSV", "FILE", "o,output")

_HOW = (
    "format dynamics sequence skip_unknown_models frequency_hz loads net_unmodelled mechanical adjust"
    " tap_changers switched_shunts reactive netted stator modules allow_code"
)
READ = Fills("psmr.files.case_file.CaseFile", _HOW, "reading a case")
START = Fills(READ.made, f"{_HOW} reactive_limits power_flow_start start_at_limits", READ.heading)
"""How a case is read; also how its power flow is solved and a start beyond a limit is met."""


def case_file(case: str, reading: Given) -> CaseFile:
    """Return the case file that a command names, with the options on how to read it."""
    from psmr.files.case_file import CaseFile

    return CaseFile(case, **reading)


def names_study(case: str, reading: Given) -> bool:
    """Return whether what a command names is a study; a case whose format was given is not."""
    from psmr.study.file.read_study import is_study

    return "format" not in reading and is_study(case)


def refuse_beside_study(study: str, reading: Given, scheme: Given | None = None) -> None:
    """Raise InputError for an option that belongs to a case file, where a study is given."""
    places = dict.fromkeys(scheme or (), "its scheme is in [scheme]")
    places |= {name: f"it has a field {name}" for name in reading if name != "allow_code"}
    names = {each.name: option_of(each.notes).name for each in declared(READ.made)}
    for name, where in places.items():
        option = "--" + (names.get(name) or name).replace("_", "-")
        raise InputError(f"{option}: {study} is a study, {where}; give the option with a case file")


def system_and_recipe(case: str, reading: Given, scheme: Given | None = None) -> tuple[Any, Recipe | None]:
    """Return the system of a case or a study, and how the study makes its scheme; None for a case."""
    from psmr.cli.run_study import prepare
    from psmr.study.file.read_study import read_study
    from psmr.study.file.study import load_system

    if not names_study(case, reading):
        return load_system(case_file(case, reading)), None
    refuse_beside_study(case, reading, scheme)
    return prepare(read_study(case, bool(reading.get("allow_code"))))
