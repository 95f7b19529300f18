"""What every crew offers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from psmr.study.sweep.bench import Batch


@dataclass(frozen=True)
class Lost:
    """A batch whose worker died: its numbers, in what way, and how often the crew has tried it."""

    numbers: tuple[int, ...]
    reason: str
    tries: int = 1


class Crew(Protocol):
    """Workers that carry out batches.

    Attributes
    ----------
    shortest
        Time in s that a batch should take at least, so that handing it over costs nothing beside it.
    """

    shortest: float

    @property
    def workers(self) -> int:
        """How many work at a time."""

    def wants(self) -> bool:
        """Return whether another batch would keep a worker busy; no more than that is ever under way."""

    def give(self, numbers: Sequence[int]) -> None:
        """Hand over a batch."""

    def take(self) -> Batch | Lost:
        """Wait for a batch that is done or lost."""

    def close(self) -> None:
        """Let all workers go."""
