"""What standard error says while something is compiled, and when compiled code cannot be kept.

`announce` prints one line. `announced` marks a function of `psmr.dae.compile.decorators`: its line is printed
each time machine code must be made for it, and never where that was found on disk.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from psmr.base.errors import printable

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Notice:
    """What is compiled, about how long that takes on a server of 2023 in s, and whether once is enough."""

    what: str
    seconds: float
    once: bool = False

    def __str__(self) -> str:
        about = "less than a second" if self.seconds < 1 else f"about {self.seconds:.0f} s"
        return f"compiling {self.what}, {about}"


_silent = 0
_said: set[str] = set()


def say(text: str, once: str | None = None) -> None:
    """Print a line of psmr's on standard error; those with one word `once` a single time in a process."""
    if once is not None:
        if once in _said:
            return
        _said.add(once)
    with contextlib.suppress(OSError, ValueError):  # nobody hears it: no reason to end
        print(printable(f"psmr: {text}"), file=sys.stderr, flush=True)


def announce(what: str, seconds: float, kept: str = "", once: bool = False) -> None:
    """Say that something is compiled now.

    `what`: in a few words: ``"7 component models"``, ``"the integrator"``; `seconds`: about how long it
    takes; `kept`: where the machine code is kept, where that is worth saying; `once`: say it a single time in
    a process.
    """
    if not unheard():
        where = f", once for this machine (kept in {kept})" if kept else ""
        say(f"{Notice(what, seconds)}{where}", once=what if once else None)


def unheard() -> bool:
    """Return whether nothing is announced now, since somebody else shows the progress."""
    return _silent > 0


def announced(what: str, seconds: float, once: bool = False) -> Callable[[F], F]:
    """Mark a function of `compiled` or `lean`: say what is compiled when its machine code must be made.

    Stands above those decorators. Functions that it calls are compiled on the way and say nothing.

    `what`, `seconds`: as for `announce`; the time for this function with everything that it calls; `once`:
    for functions that are one thing to the user and have one text: say it a single time in a process.
    """

    def mark(function: F) -> F:
        function._cache.notice = Notice(what, seconds, once)  # type: ignore[attr-defined]
        return function

    return mark


@contextmanager
def silent() -> Iterator[None]:
    """Announce nothing inside: somebody else shows the progress."""
    global _silent
    _silent += 1
    try:
        yield
    finally:
        _silent -= 1
