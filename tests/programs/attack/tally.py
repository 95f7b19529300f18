"""What became of every attempt."""

from __future__ import annotations

import contextlib
import signal
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import FrameType

from psmr.errors import PsmrError

OUTCOMES = ("tried", "refused", "run", "wrong", "traceback", "hang", "lost")
BAD = OUTCOMES[3:]

# Seconds of processor time, and of any other, after which an attempt that has said nothing hangs.
PATIENCE, WAITING = 30, 150


class Wrong(Exception):
    """A result that cannot be."""


class Hang(BaseException):
    """An attempt that does not come to its end."""


@dataclass
class Tally:
    """Counts of outcomes by kind of attempt, and what is needed to repeat the bad ones."""

    counts: dict[str, Counter[str]] = field(default_factory=dict)
    found: list[str] = field(default_factory=list)

    def add(self, kind: str, outcome: str, words: str = "") -> None:
        """Count an outcome; of a bad one keep the words."""
        self.counts.setdefault(kind, Counter()).update(("tried", outcome))
        if outcome in BAD:
            self.found.append(f"{kind}: {outcome}: {words}")
            print(self.found[-1], flush=True)

    def attempt(self, kind: str, words: str, what: Callable[[], str]) -> None:
        """Do something that returns its outcome, and count what comes of it."""
        try:
            with patience():
                outcome, more = what(), ""
        except PsmrError as error:
            outcome, more = "refused", str(error)
            if not more.strip():
                outcome, more = "wrong", "an error without a word"
        except Wrong as error:
            outcome, more = "wrong", str(error)
        except Hang:
            outcome, more = "hang", traceback.format_exc()
        except Exception:
            outcome, more = "traceback", traceback.format_exc()
        self.add(kind, outcome, f"{words}\n{more}")

    def table(self) -> str:
        """Return the counts as a table in Markdown."""
        lines = ["| attack | " + " | ".join(OUTCOMES) + " |", "|---" * (1 + len(OUTCOMES)) + "|"]
        for kind, counts in self.counts.items():
            lines.append(f"| {kind} | " + " | ".join(f"{counts[name]:,}" for name in OUTCOMES) + " |")
        return "\n".join(lines)


@contextlib.contextmanager
def patience() -> Iterator[None]:
    """Raise Hang in a block that takes longer."""
    clocks = ((signal.SIGPROF, signal.ITIMER_PROF, PATIENCE), (signal.SIGALRM, signal.ITIMER_REAL, WAITING))

    def end(number: int, frame: FrameType | None) -> None:
        raise Hang

    before = [signal.signal(number, end) for number, _, _ in clocks]
    for _, clock, seconds in clocks:
        signal.setitimer(clock, seconds)
    try:
        yield
    finally:
        for (number, clock, _), handler in zip(clocks, before, strict=True):
            signal.setitimer(clock, 0.0)
            signal.signal(number, handler)
