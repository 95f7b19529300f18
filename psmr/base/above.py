"""How an object offers what stands in a room above its own, by name, when it is asked for.

`System.state_space` needs the names of signals, which follow from the network; a result draws itself
(`psmr.base.above`). The function is looked up when the method is called, so that nothing imports upwards.

How a result draws itself: figures and pages stand above everything that they show.

A result has methods that draw it (`Run.plot`, `Deformation.to_html`). They ask here for a function of
`psmr.figures` by name when they are called, so that nothing imports the room above it, and matplotlib is
loaded for figures alone.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any


def function_above(name: str) -> Callable[..., Any]:
    """Return a function of psmr by its module and name below `psmr`: ``"figures.run.plots.trajectories"``."""
    module, _, function = name.rpartition(".")
    found: Callable[..., Any] = getattr(importlib.import_module(f"psmr.{module}"), function)
    return found


def draw(name: str, *arguments: Any, **options: Any) -> Any:
    """Return what a function of `psmr.figures` makes of its arguments.

    Parameters
    ----------
    name
        Its module and name below `psmr.figures`: ``"run.plots.trajectories"``.
    """
    return function_above(f"figures.{name}")(*arguments, **options)
