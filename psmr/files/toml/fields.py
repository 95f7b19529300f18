"""What the fields of a TOML table may hold, derived from the record that the table fills.

The record says everything once: names, types and choices in its annotations, and which fields must be there
by their defaults. A text among choices is ``Literal["a", "b"]``, or ``Annotated[str, CHOICES]`` where the
choices have a name.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from psmr.base.declared import Kind, declared

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
    found = {}
    for each in declared(maker):
        if each.name in without:
            continue
        kinds = each.kinds
        # A path may be written as a text, too: in a file both are the same.
        held = (Path,) if "Path" in kinds else tuple(filter(None, map(_held, kinds, kinds.values())))
        if not held:
            raise TypeError(f"{maker.__qualname__}: {each.name}: {each.annotation}: no file can hold this")
        among = kinds["Literal"].choices if "Literal" in kinds else ()
        found[each.name] = Field(held, each.needed, among)
    return found


_HELD = {"float": float, "int": int, "str": str, "bool": bool, "dict": dict, "Literal": str}


def _held(name: str, kind: Kind) -> Any:
    """Return the type that a file has for what an annotation names; None where it has none."""
    if name != "list":
        return _HELD.get(name)
    held = next((_HELD[part] for part in kind.parts if part in _HELD), None)
    return held and list[held]  # type: ignore[valid-type]
