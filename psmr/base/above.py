"""How an object offers what stands in a room above its own, by name, when it is asked for.

`System.state_space` needs the names of signals, which follow from the network; a result draws itself
(`psmr.base.drawing`). The function is looked up when the method is called, so that nothing imports upwards.
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
