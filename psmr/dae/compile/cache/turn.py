"""Turns at an entry of the cache: one process makes it, others wait and then find it."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

from psmr.dae.compile.cache.entry import FLAGS
from psmr.uninterrupted import held_back

# Time in s after which a process makes the entry for itself: far above what compiling it takes, so that one
# that was stopped in the middle of it holds up nobody for long.
PATIENCE = 60.0

# Time in s between two looks, and after which it is said that somebody waits.
LOOK, LONG = 0.02, 0.5


def take_turn(entry: Path, waiting: Callable[[], None]) -> IO[bytes] | None:
    """Wait until no other process makes an entry, and return what `give_up` ends the turn with.

    `waiting` is called once where that takes long. A process that ends, however it ends, gives its turn up.
    None where there are no locks (on Windows, on some network drives), where a signal to end is held back, or
    where patience is at its end: the entry is then made by two. Where entries cannot be written, those that
    wait find none and make it one after the other.
    """
    try:
        import fcntl
    except ImportError:
        return None
    place, said, began = _place(entry), False, time.monotonic()
    try:
        file = os.fdopen(os.open(place, os.O_WRONLY | os.O_CREAT | FLAGS, 0o600), "wb")
    except OSError:
        return None
    while time.monotonic() - began < PATIENCE and not held_back():
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return file
        except BlockingIOError:
            if not said and time.monotonic() - began > LONG:
                said = True
                waiting()
            time.sleep(LOOK)
        except OSError:
            with contextlib.suppress(OSError):
                place.unlink()
            break
    file.close()
    return None


def give_up(entry: Path, turn: IO[bytes] | None) -> None:
    """End a turn; whoever waits finds the entry, or takes the next one."""
    if turn is None:
        return
    import fcntl

    with contextlib.suppress(OSError):
        _place(entry).unlink()
    with contextlib.suppress(OSError):
        fcntl.flock(turn, fcntl.LOCK_UN)  # also for a process that was forked meanwhile
    turn.close()


def _place(entry: Path) -> Path:
    return entry.with_name(f".{entry.name}.turn")
