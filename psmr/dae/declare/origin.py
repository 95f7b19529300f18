"""Where a class of component that psmr made comes from, so that a pickle can have it made again.

The classes of `psmr.dae.declare.structure` and `psmr.dae.declare.algebraic_form` stand in no module. A pickle
holds in place of each the function that made it and its arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from psmr.dae.declare.component import Component

Maker = Callable[..., type[Component]]


@dataclass(frozen=True)
class Origin:
    """How a class was made: ``maker(component, *choices)``."""

    maker: Maker
    component: type[Component] | Origin
    choices: tuple[Any, ...]


def packed(component: type[Component]) -> type[Component] | Origin:
    """Return what a pickle holds of a component: the class itself, or its origin where it was made."""
    made = vars(component).get("made_by")
    if made is None:
        return component
    maker, base, *choices = made
    return Origin(maker, packed(base), tuple(choices))


def unpacked(origin: type[Component] | Origin) -> type[Component]:
    """Return the class that `packed` was given, the same one within a process."""
    if isinstance(origin, Origin):
        return origin.maker(unpacked(origin.component), *origin.choices)
    return origin
