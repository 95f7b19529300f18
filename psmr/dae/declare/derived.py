"""Classes of component that a function makes of another one.

Such a class stands in no module; a pickle holds in its place the function that made it and its arguments.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from psmr.dae.declare.component import Component

Maker = Callable[..., type[Component]]

MAKERS: dict[str, Maker] = {}
"""What makes a class of component from another one, by name (see `derived`)."""


def derived(maker: Callable[..., tuple[str, Mapping[str, Any]]]) -> Maker:
    """Make a maker of classes of a function that returns the end of a class's name and its attributes.

    ``maker(component, *choices)`` then returns a subclass of `component`, one for the same arguments, which a
    pickle has made again.
    """

    @functools.cache
    @functools.wraps(maker)
    def made(component: type[Component], *choices: Any) -> type[Component]:
        end, attributes = maker(component, *choices)
        about = {
            "__doc__": component.__doc__,
            "__module__": component.__module__,
            "made_by": (made, component, *choices),
        }
        return type(f"{component.__name__}_{end}", (component,), {**about, **attributes})

    MAKERS[maker.__name__] = made  # type: ignore[assignment]  # a class is hashable
    return MAKERS[maker.__name__]


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
