"""Which devices are in service, where that follows from what else is."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]


@dataclass(frozen=True)
class OutOfService:
    """The devices that are out of service from an instant on.

    Attributes
    ----------
    gone
        Those that stay out: tripped, or lost with the part of the network that they were in.
    dead
        Buses of the parts that nothing supplies.
    out
        All of them, with what returns when its part is supplied again.
    """

    gone: frozenset[str] = frozenset()
    dead: frozenset[str] = frozenset()
    out: frozenset[str] = frozenset()


class Service(Protocol):
    """Says which devices are in service; see `psmr.network.topology.islands.DeadParts`."""

    def after(self, parameters: Sequence[Reals], gone: frozenset[str]) -> OutOfService:
        """Return what is out of service, by parameter matrices and devices that stay out."""

    def put(self, w: Reals, before: OutOfService, now: OutOfService) -> Collection[str]:
        """Write into w where the variables of devices that left stand still, and a guess of what returns.

        Returns the devices whose states begin at rest.
        """


class AsTripped:
    """Only what trips is out of service."""

    def after(self, parameters: Sequence[Reals], gone: frozenset[str]) -> OutOfService:
        """See `Service`."""
        return OutOfService(gone=gone, out=gone)

    def put(self, w: Reals, before: OutOfService, now: OutOfService) -> Collection[str]:
        """See `Service`: they keep their last values."""
        return ()
