"""Signals that would end a process, held back over what must not be left half done."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

ENDING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


# The signals that came, of each `uninterrupted` that is open.
_came: list[list[int]] = []


def held_back() -> bool:
    """Return whether a signal waits for the end of what is not interrupted: who waits inside may go on."""
    return any(_came)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Let a signal that comes inside have its effect when what is inside is done, a few seconds at most.

    For the files of a run, which appear together, and for machine code: LLVM calls back into Python while it
    makes and loads it, and an exception that a signal raises there is lost, or leaves a library without its
    object. Signals that are ignored or end the process at once stay as they are; a thread other than the main
    one gets none.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    usual = {number: signal.getsignal(number) for number in ENDING}
    usual = {number: handler for number, handler in usual.items() if callable(handler)}
    for number in usual:
        signal.signal(number, lambda number, frame: came.append(number))
    _came.append(came)
    try:
        yield
    finally:
        _came.pop()
        for number, handler in usual.items():
            signal.signal(number, handler)
        for number in came[:1]:
            signal.raise_signal(number)
