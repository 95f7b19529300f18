"""Processes that compute for a class: who asked first, first, each for a limited time and memory."""

from __future__ import annotations

import multiprocessing
import signal
import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from typing import Any

from psmr.base.errors import PsmrError, SimulationError
from psmr.dae.compile.notice import say
from psmr.viewer.classroom import MIB, Classroom

ROOM = 500.0
"""MiB that a process may take beside four times the points of a run: certificates, second runs, code."""

LOOK = 0.2
"""Seconds between two looks at a process, or at the queue."""

TOO_LARGE = (
    "error",
    SimulationError(
        "the run is larger than this server keeps; record fewer signals or every k-th step (record, every in"
        " [simulation]), or take a shorter run"
    ),
)


class Workers:
    """Processes that carry out functions, one each; one that takes too long is ended, and another begins."""

    def __init__(self, room: Classroom) -> None:
        self.room = room
        self._turn = threading.Condition()
        self._queue: deque[object] = deque()
        self._idle = [_Worker(room) for _ in range(room.workers)]

    def run(
        self,
        function: Callable[..., Any],
        *arguments: Any,
        progress: Callable[[float], None],
        queued: Callable[[int], None],
    ) -> Any:
        """Return what a function of a module returns; as its `progress` it is handed one as well.

        `queued` is told the place in the queue. What they raise ends the work, and is raised.
        """
        ticket = object()
        with self._turn:
            self._queue.append(ticket)
            try:
                while self._queue[0] is not ticket or not self._idle:
                    queued(self._queue.index(ticket) + 1)
                    self._turn.wait(LOOK)
                worker = self._idle.pop()
            finally:
                self._queue.remove(ticket)
        queued(0)
        try:
            return worker.run(function, arguments, progress)
        finally:
            fresh = worker if worker.process.is_alive() else _Worker(self.room)
            with self._turn:
                self._idle.append(fresh)
                self._turn.notify_all()

    def stop(self) -> None:
        """End the processes that have nothing to do; the others end with their work."""
        for worker in self._idle:
            worker.process.kill()


class _Worker:
    """A process, at the other end of a connection."""

    def __init__(self, room: Classroom) -> None:
        self.room = room
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, room.memory), daemon=True)
        self.process.start()
        theirs.close()

    def run(self, function: Callable[..., Any], arguments: Any, progress: Callable[[float], None]) -> Any:
        """Return what a function returns, or raise what it did; then the process may have ended."""
        done = False
        try:
            self.connection.send((function, arguments))
            deadline, t = float("inf"), 0.0
            while True:
                if self.connection.poll(LOOK):
                    kind, value = self.connection.recv()
                    if kind == "begun":
                        deadline = time.monotonic() + self.room.seconds
                    elif kind == "t":
                        t = value
                    else:
                        done = True
                        if kind == "result":
                            return value
                        raise value
                progress(t)
                if time.monotonic() > deadline:
                    raise SimulationError(
                        f"the run was ended at t = {t:.3g} s: this server computes"
                        f" {self.room.seconds:g} s for a run. Take a shorter run or longer steps"
                    )
        except (EOFError, OSError) as error:
            raise SimulationError("the process of the run ended; take a smaller run, or try again") from error
        finally:
            if not done:
                self.process.kill()
                self.process.join()


def _serve(connection: Any, memory: float) -> None:
    """Carry out what comes, until the other end is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    import psmr.viewer.workbench  # noqa: F401  # what takes time is done before the first run

    _limit_memory((4.0 * memory + ROOM) * MIB)
    while True:
        try:
            function, arguments = connection.recv()
            connection.send(("begun", None))
            outcome = _outcome(function, arguments, lambda t: connection.send(("t", t)))
            data = ForkingPickler.dumps(outcome)  # what `send` does
            connection.send_bytes(data if len(data) <= memory * MIB else ForkingPickler.dumps(TOO_LARGE))
        except (EOFError, OSError):
            return


def _outcome(
    function: Callable[..., Any], arguments: Any, progress: Callable[[float], None]
) -> tuple[str, Any]:
    try:
        return "result", function(*arguments, progress=progress)
    except MemoryError:
        return TOO_LARGE
    except PsmrError as error:
        return "error", PsmrError(str(error))
    except OSError:
        raise
    except Exception as error:  # a mistake of psmr's own: shown whole where the command was given
        say(traceback.format_exc())
        return "error", SimulationError(f"{type(error).__name__}: {error}; please report this")


def _limit_memory(more: float) -> None:
    """Let this process take so many bytes more than it has; Linux alone says and keeps it."""
    if sys.platform.startswith("linux"):
        import resource

        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
        taken = next(1024 * int(line.split()[1]) for line in lines if line.startswith("VmData:"))
        resource.setrlimit(resource.RLIMIT_DATA, (int(taken + more),) * 2)
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(more),) * 2)
