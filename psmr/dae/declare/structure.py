"""The structure of a component: its variables where whole-number parameters choose them.

A code says which signals a device reads, an order how many states a filter has. `Component.structural` names
such parameters, and `Component.shape` returns what the class of a choice has instead. That class is made once
for each choice: a device has the variables that it needs, and its kernels hold no case distinctions.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from psmr.dae.declare.component import Check, Component, parameters_of


def structure_for(component: type[Component], values: Mapping[str, float]) -> type[Component]:
    """Return `component` itself, or its class for the whole numbers that `values` has."""
    if not component.structural:
        return component
    return structured(component, tuple(int(values[name]) for name in component.structural))  # type: ignore[arg-type]  # a class is hashable


def _stay(value: int) -> Check:
    def check(other: float) -> str | None:
        return None if other == value else f"must stay {value}, as it chooses the variables"

    return check


@functools.cache
def structured(component: type[Component], choice: tuple[int, ...]) -> type[Component]:
    """Return the class of `component` with the values `choice` of its structural parameters."""
    declared = parameters_of(component)
    fixed = {
        name: replace(declared[name], check=_stay(value))
        for name, value in zip(component.structural, choice, strict=True)
    }
    attributes: dict[str, Any] = {
        "__doc__": component.__doc__,
        "__module__": component.__module__,
        "made_by": (structured, component, choice),
        "structural": (),
        **component.shape(*choice),
        **fixed,
    }
    return type(f"{component.__name__}_{'_'.join(map(str, choice))}", (component,), attributes)
