"""What follows from the devices of a system alone, and is found once for all systems made from them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from psmr.dae.declare.device import Device


class Assembled(Protocol):
    """What is made from devices: a `psmr.dae.system.system.System`."""

    @property
    def devices(self) -> tuple[Device, ...]:
        """What it was assembled from."""


Whole = TypeVar("Whole", bound=Assembled)
Found = TypeVar("Found")

# Systems of which it is kept: a sweep changes between a few.
SYSTEMS = 8


def cached_by_devices(find: Callable[[Whole], Found]) -> Callable[[Whole], Found]:
    """Keep what a function finds of a system's devices; a system made from the same devices shares it.

    What is found must not be altered by who asks for it. The devices are kept with it, so that they are
    still those that are meant when they are met again.
    """
    kept: list[tuple[Any, Found]] = []

    @functools.wraps(find)
    def known(system: Whole) -> Found:
        for devices, found in kept:
            if devices is system.devices:
                return found
        found = find(system)
        kept.insert(0, (system.devices, found))
        del kept[SYSTEMS:]
        return found

    return known
