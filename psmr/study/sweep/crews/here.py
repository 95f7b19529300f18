"""The processes of this machine."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any

from psmr.errors import SimulationError
from psmr.study.sweep.bench import Batch, Bench
from psmr.study.sweep.crews.crew import Lost


class Alone:
    """The process itself, for one core."""

    workers, shortest = 1, 0.1

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.given: deque[tuple[int, ...]] = deque()

    def wants(self) -> bool:
        """See `Crew`."""
        return not self.given

    def give(self, numbers: Sequence[int]) -> None:
        """See `Crew`."""
        self.given.append(tuple(numbers))

    def take(self) -> Batch | Lost:
        """See `Crew`."""
        return self.bench.batch(self.given.popleft())

    def close(self) -> None:
        """See `Crew`."""


class _Worker:
    """A process, the end of the pipe to it, and what it is at."""

    def __init__(self, context: Any, bench: Bench, others: Sequence[Connection], release: Any) -> None:
        self.pipe, theirs = context.Pipe()
        forked = context.get_start_method() == "fork"
        # A forked process has the bench, with all that is solved; another one is sent what it follows from.
        given = bench if forked else pickle.dumps(bench)
        inherited = [*others, self.pipe] if forked else []
        self.process = context.Process(
            target=_work, args=(theirs, given, inherited, release if forked else None), daemon=True
        )
        self.process.start()
        theirs.close()
        self.numbers: tuple[int, ...] | None = None


class Processes:
    """Processes of this machine, one a core; one that dies is replaced.

    Parameters
    ----------
    bench
        What they need.
    count
        How many.
    release
        Called in a forked process: closes what only this one may hold.
    """

    shortest = 0.3

    def __init__(self, bench: Bench, count: int, release: Callable[[], None]) -> None:
        self.bench, self.workers, self.release = bench, count, release
        # A fork shares what is solved and compiled. With other threads about it is not safe.
        safe = sys.platform.startswith("linux") and threading.active_count() == 1
        self.context = multiprocessing.get_context("fork" if safe else "spawn")
        self.answered = False
        self.crew: list[_Worker] = []
        for _ in range(count):
            self.crew.append(self._hired())

    def _hired(self) -> _Worker:
        if threading.active_count() > 1:
            self.context = multiprocessing.get_context("spawn")
        return _Worker(self.context, self.bench, [worker.pipe for worker in self.crew], self.release)

    def wants(self) -> bool:
        """See `Crew`."""
        return any(worker.numbers is None for worker in self.crew)

    def give(self, numbers: Sequence[int]) -> None:
        """See `Crew`."""
        worker = next(worker for worker in self.crew if worker.numbers is None)
        worker.numbers = tuple(numbers)
        with contextlib.suppress(BrokenPipeError):  # a worker that has died is found by `take`
            worker.pipe.send(worker.numbers)

    def take(self) -> Batch | Lost:
        """See `Crew`."""
        busy = {worker.pipe: worker for worker in self.crew if worker.numbers is not None}
        pipe = wait(list(busy))[0]
        worker = busy[pipe]  # type: ignore[index]
        try:
            found = worker.pipe.recv()
        except (EOFError, ConnectionResetError):
            return self._replaced(worker)
        worker.numbers, self.answered = None, True
        if isinstance(found, BaseException):
            raise found
        return found  # type: ignore[no-any-return]

    def _replaced(self, worker: _Worker) -> Lost:
        numbers = worker.numbers or ()
        worker.process.join()
        code = worker.process.exitcode
        if not self.answered and self.context.get_start_method() == "spawn" and code is not None and code > 0:
            # It reads the script of this program first, which calls the sweep again where nothing guards it.
            raise SimulationError(
                f"no process of the sweep can begin, the first one ended with exit code {code} (its error is "
                "above); a script that sweeps needs `if __name__ == '__main__':` around what it does, since "
                "processes that begin anew read it first; or give workers=1"
            )
        worker.pipe.close()
        self.crew.remove(worker)
        self.crew.append(self._hired())
        return Lost(numbers, _ended(worker.process.exitcode))

    def close(self) -> None:
        """See `Crew`."""
        for worker in self.crew:
            worker.pipe.close()
            if worker.numbers is not None:
                worker.process.terminate()
        for worker in self.crew:
            worker.process.join()


def _work(
    pipe: Connection, given: Any, inherited: Sequence[Connection], release: Callable[[], None] | None
) -> None:
    """Carry out batches until the other end of the pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the one who gives the batches decides
    if release is not None:
        release()
    for other in inherited:
        # Otherwise the pipes of other workers would stay open when the process that gives batches has gone.
        other.close()
    bench: Bench = pickle.loads(given) if isinstance(given, bytes) else given
    with contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):
        while True:
            numbers = pipe.recv()
            try:
                found: Any = bench.batch(numbers)
            except Exception as error:
                found = SimulationError(f"a worker failed: {type(error).__name__}: {error}")
            pipe.send(found)


def _ended(code: int | None) -> str:
    if code is not None and code < 0:
        return f"its worker was ended by signal {-code} ({signal.Signals(-code).name})"
    return f"its worker ended with exit code {code}"


def cores() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
