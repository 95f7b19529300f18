"""Turns at an entry of the cache: one process makes it, others wait and then find it."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

# Time in s after which a process makes the entry for itself: far above what compiling it takes, so that one
# that was stopped in the middle of it holds up nobody for long.
PATIENCE = 60.0

# Time in s between two looks, and after which it is said that somebody waits.
LOOK, LONG = 0.02, 0.5


def take_turn(entry: Path, waiting: Callable[[], None]) -> IO[bytes] | None:
    """Wait until no other process makes an entry, and return what `give_up` ends the turn with.

    `waiting` is called once where that takes long.

    A process that ends, however it ends, gives its turn up. None where there are no locks (on Windows, on
    some network drives) or where patience is at its end: the entry is then made by two.
    """
    try:
        import fcntl
    except ImportError:
        return None
    file: IO[bytes] | None = None
    try:
        file = open(_place(entry), "wb")  # noqa: SIM115  # open as long as the turn
        for looks in range(int(PATIENCE / LOOK)):
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if looks == int(LONG / LOOK):
                    waiting()
                time.sleep(LOOK)
            else:
                return file
    except OSError:
        pass
    if file is not None:
        file.close()
    return None


def give_up(turn: IO[bytes] | None) -> None:
    """End a turn; whoever waits finds the entry, or takes the next one."""
    if turn is not None:
        with contextlib.suppress(OSError):
            Path(turn.name).unlink()
        turn.close()


def _place(entry: Path) -> Path:
    return entry.with_name(f".{entry.name}.turn")
