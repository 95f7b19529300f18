"""An input that is read as it was some time ago."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Delay:
    """An input that is read as it was some time ago.

    Attributes
    ----------
    input
        Position in w of the value that is read.
    source
        Position in w of the state or algebraic variable that it was.
    tau
        How long ago, in s.
    """

    input: int
    source: int
    tau: float
