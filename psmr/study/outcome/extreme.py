"""A largest or smallest value of a run."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Extreme:
    """A largest or smallest value, where it was in words, and when (in s; a duration begins there)."""

    value: float
    where: str
    t: float
