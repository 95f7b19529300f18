"""How a command ends that is ended from outside: a signal, a reader that goes away, a disk that is full."""

from __future__ import annotations

import os
import signal
import sys
import threading
from types import FrameType
from typing import Any

from psmr.base.errors import PsmrError
from psmr.base.printable import printable


class Ended(KeyboardInterrupt):
    """A signal has asked this process to end.

    Attributes
    ----------
    number
        Of the signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number

    @property
    def code(self) -> int:
        """The exit code by the convention of shells."""
        return 128 + self.number

    def __str__(self) -> str:
        return f"ended by {signal.Signals(self.number).name}; {LEFT}"


LEFT = "no partial files were left behind"

# Time in s after which a signal that was swallowed comes once more.
AGAIN = 0.05

ENDING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))

# What signals have raised. A library may make another exception of it: C code that imports a module, say.
heard: list[KeyboardInterrupt] = []


def heed_signals() -> None:
    """Let the signals that end a process end it like an interrupt, so that what is begun is cleared away.

    A signal that is ignored (`nohup`) stays ignored, and a process that is forked off ends as it would.
    """
    owner = os.getpid()

    def end(number: int, frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_DFL if os.getpid() != owner else signal.SIG_IGN)
        if os.getpid() != owner:
            os.kill(os.getpid(), number)
            return
        heard.append(Ended(number))
        raise heard[-1]

    def interrupt(number: int, frame: FrameType | None) -> None:
        heard.append(KeyboardInterrupt())
        raise heard[-1]

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, interrupt)
    heeded = [number for number in ENDING if signal.getsignal(number) == signal.SIG_DFL]
    if not heeded:  # it is heeded already, or none is to be
        return
    for number in heeded:
        signal.signal(number, end)
    usual = sys.unraisablehook

    def swallowed(unraisable: Any) -> None:
        # Raised where nothing can be: while an object is cleared away. It comes once more, a moment later.
        error = unraisable.exc_value
        if not isinstance(error, KeyboardInterrupt) or os.getpid() != owner:
            usual(unraisable)
            return
        number = error.number if isinstance(error, Ended) else signal.SIGINT
        if number in heeded:
            signal.signal(number, end)
        again = threading.Timer(AGAIN, os.kill, (owner, number))
        again.daemon = True
        again.start()

    sys.unraisablehook = swallowed


def disregard_signals() -> None:
    """Let a process that is done come to its end."""
    for number in (signal.SIGINT, *ENDING):
        signal.signal(number, signal.SIG_IGN)


def require_streams() -> None:
    """Find out before anything is done whether results can be shown, and keep files off the standard streams.

    A file that is opened takes the lowest number that is free: of a closed stream, so that what is printed
    would go into it.

    Raises
    ------
    PsmrError
        Where standard output is closed.
    """
    while (handle := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(handle)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  # as long as the process
    if sys.stdout is None:
        raise PsmrError(
            "standard output is closed; send it to a file, or to /dev/null if nobody is to read it"
        )


def say(sentence: str) -> None:
    """Say something on standard error, if anybody can hear it."""
    try:
        print(printable(sentence), file=sys.stderr, flush=True)
    except (OSError, ValueError, AttributeError):
        silence(sys.stderr)


def silence(stream: Any) -> None:
    """Let a stream that cannot be written lead nowhere, so that it does not complain again at exit."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
    except (OSError, ValueError, AttributeError):
        pass
