"""A lock for each entry of the cache: one process compiles it, the others wait and then read it."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

from psmr.base.files import held_back
from psmr.dae.compile.cache.entry import FLAGS, LOCK_SUFFIX

# Time in s after which a waiting process compiles the entry for itself: far above what compiling takes, so
# that a process that was stopped while it compiled delays nobody for long.
TIMEOUT = 60.0

# Time in s between two attempts, and time in s after which the user is informed that this process waits.
POLL_INTERVAL, NOTICE_AFTER = 0.02, 0.5


def acquire(entry: Path, waiting: Callable[[], None]) -> IO[bytes] | None:
    """Wait until no other process compiles an entry, and return the lock for `release`.

    `waiting` is called once where that takes long. A process that ends, however it ends, releases its locks.
    None where there are no locks (on Windows, on some network drives), where a signal to end is held back, or
    after `TIMEOUT`: two processes then compile the entry. Where entries cannot be written, those that wait
    find none and compile it one after the other.
    """
    try:
        import fcntl
    except ImportError:
        return None
    place, informed, began = _lock_file(entry), False, time.monotonic()
    try:
        file = os.fdopen(os.open(place, os.O_WRONLY | os.O_CREAT | FLAGS, 0o600), "wb")
    except OSError:
        return None
    while time.monotonic() - began < TIMEOUT and not held_back():
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return file
        except BlockingIOError:
            if not informed and time.monotonic() - began > NOTICE_AFTER:
                informed = True
                waiting()
            time.sleep(POLL_INTERVAL)
        except OSError:
            with contextlib.suppress(OSError):
                place.unlink()
            break
    file.close()
    return None


def release(entry: Path, lock: IO[bytes] | None) -> None:
    """Release a lock; a process that waits reads the entry, or acquires the lock in turn."""
    if lock is None:
        return
    import fcntl

    with contextlib.suppress(OSError):
        _lock_file(entry).unlink()
    with contextlib.suppress(OSError):
        fcntl.flock(lock, fcntl.LOCK_UN)  # also for a process that was forked meanwhile
    lock.close()


def _lock_file(entry: Path) -> Path:
    return entry.with_name(f".{entry.name}{LOCK_SUFFIX}")
