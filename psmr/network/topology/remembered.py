"""What follows from the devices of a system alone, and is found once for all runs of it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from psmr.dae.system.system import System

Found = TypeVar("Found")

# Systems whose topology is kept: a sweep changes between a few.
SYSTEMS = 8


def of_devices(find: Callable[[System], Found]) -> Callable[[System], Found]:
    """Keep what a function finds of a system's devices; a system made from the same devices shares it.

    What is found must not be altered by who asks for it. The devices are kept with it, so that they are
    still those that are meant when they are met again.
    """
    kept: list[tuple[Any, Found]] = []

    @functools.wraps(find)
    def known(system: System) -> Found:
        for devices, found in kept:
            if devices is system.devices:
                return found
        found = find(system)
        kept.insert(0, (system.devices, found))
        del kept[SYSTEMS:]
        return found

    return known
