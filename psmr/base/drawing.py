"""How a result draws itself: figures and pages stand above everything that they show.

A result has methods that draw it (`Run.plot`, `Deformation.to_html`). They ask here for a function of
`psmr.figures` by name when they are called, so that nothing imports the room above it, and matplotlib is
loaded for figures alone.
"""

from __future__ import annotations

from typing import Any

from psmr.base.above import function_above


def draw(name: str, *arguments: Any, **options: Any) -> Any:
    """Return what a function of `psmr.figures` makes of its arguments.

    Parameters
    ----------
    name
        Its module and name below `psmr.figures`: ``"run.plots.trajectories"``.
    """
    return function_above(f"figures.{name}")(*arguments, **options)
