"""The devices of one component in a system."""

from __future__ import annotations

from dataclasses import dataclass

from psmr.dae.compile.codegen import CompiledComponent
from psmr.dae.compile.kernels import Indices
from psmr.dae.system.linear import read_only


@dataclass(frozen=True, eq=False)
class Group:
    """All devices of one component: where they read, where they write, their numbers.

    Attributes
    ----------
    compiled
        Kernels of the component.
    names
        Device names, a row each in what follows.
    index
        (count, variables) positions in w of what a device reads.
    row
        (count, rows) positions in the residual of what it adds to.
    """

    compiled: CompiledComponent
    names: tuple[str, ...]
    index: Indices
    row: Indices

    def __post_init__(self) -> None:
        for name in ("index", "row"):
            object.__setattr__(self, name, read_only(getattr(self, name)))
