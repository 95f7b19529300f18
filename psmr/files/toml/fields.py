"""What the fields of a TOML table may hold, derived from the record that the table fills.

The record says everything once: names, types and choices in its annotations, and which fields must be there
by their defaults. A text among choices is ``Literal["a", "b"]``, or ``Annotated[str, CHOICES]`` where the
choices have a name.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

WORDS: Mapping[Any, str] = {
    float: "a number",
    int: "a whole number",
    str: "a text in quotes",
    bool: "true or false",
    dict: "a table",
    Path: "the path of a file, relative to this one, in quotes",
    list[str]: 'a list of texts, for instance ["*.omega"]',
    list[int]: "a list of whole numbers",
    list[float]: "a list of numbers",
}
"""The types that a file knows, in words."""


@dataclass(frozen=True)
class Field:
    """What a field of a file may hold.

    Attributes
    ----------
    kinds
        The types it may have, of those in `WORDS`.
    needed
        Whether it must be there.
    among
        The only texts it may be, where those are limited.
    fills
        The field of the record, where the file calls it otherwise.
    """

    kinds: tuple[Any, ...]
    needed: bool = False
    among: tuple[str, ...] = ()
    fills: str = ""

    def right(self, finite: bool) -> str:
        """Return what would be right; `finite` where numbers must be."""
        choices = [f'"{choice}"' for choice in self.among]
        if choices and self.kinds == (str,):
            return f"one of {', '.join(choices)}"
        words = [WORDS[kind] for kind in self.kinds if kind is not str or not choices]
        return " or ".join([*words, *choices]).replace(
            "a number", "a finite number" if finite else "a number"
        )


Spec = Mapping[str, Field]


def specification(
    *makers: Callable[..., Any], without: Collection[str] = (), called: Mapping[str, str] | None = None
) -> dict[str, Field]:
    """Return the fields of a table from the arguments of what it makes.

    Parameters
    ----------
    makers
        A record; or several ways to make it, of which a field is needed only if all of them need it.
    without
        Arguments that do not come from the table.
    called
        What the file calls an argument, where that is another name.

    Raises
    ------
    TypeError
        For an argument of a type that no file can hold.
    """
    found = [_arguments(maker, without) for maker in makers]
    fields: dict[str, Field] = {}
    for name, field in ((name, field) for arguments in found for name, field in arguments.items()):
        needed = all(name in arguments and arguments[name].needed for arguments in found)
        fields.setdefault((called or {}).get(name, name), replace(field, needed=needed, fills=name))
    return fields


def _arguments(maker: Callable[..., Any], without: Collection[str]) -> dict[str, Field]:
    hints = get_type_hints(maker, include_extras=True)
    found = {}
    for name, argument in inspect.signature(maker).parameters.items():
        if name in without or argument.kind is argument.VAR_KEYWORD:
            continue
        kinds, among = _held(hints[name])
        if not kinds:
            raise TypeError(f"{maker.__qualname__}: {name}: {hints[name]}: no file can hold this")
        found[name] = Field(kinds, argument.default is argument.empty, among)
    return found


def _held(hint: Any) -> tuple[tuple[Any, ...], tuple[str, ...]]:
    """Return the types of an annotation that a file can hold, and the texts among which it chooses."""
    origin = get_origin(hint)
    if origin is Annotated:
        return (str,), tuple(hint.__metadata__[0])
    if origin is Literal:
        return (str,), get_args(hint)
    if origin in (Union, UnionType):
        parts = [_held(part) for part in get_args(hint)]
        kinds = tuple(dict.fromkeys(kind for part in parts for kind in part[0]))
        # A path may be written as a text, too: in a file both are the same.
        return (Path,) if Path in kinds else kinds, sum((part[1] for part in parts), ())
    if origin is tuple:
        return (list[get_args(hint)[0]],), ()  # type: ignore[misc]
    if isinstance(origin or hint, type) and issubclass(origin or hint, os.PathLike):
        return (Path,), ()
    return ((hint,), ()) if hint in WORDS else ((), ())
