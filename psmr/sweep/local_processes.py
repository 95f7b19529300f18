"""The processes of one machine as workers of a sweep."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing.connection import Connection

from psmr.base.errors import SimulationError
from psmr.sweep.dispatch import Workers, refuse_homeless
from psmr.sweep.point_runner import Batch, PointRunner

# Processes that a pool can have on Windows.
MOST_PROCESSES = 61


def cores() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_this_process(runner: PointRunner) -> Workers:
    """Return the process itself, for one worker."""

    def submit(numbers: Sequence[int]) -> Future[Batch]:
        future: Future[Batch] = Future()
        future.set_result(runner.batch(numbers))
        return future

    return Workers(submit, lambda: 1, BrokenProcessPool, ahead=1)


@contextmanager
def local_processes(runner: PointRunner, count: int, release: Callable[[], None]) -> Iterator[Workers]:
    """Yield processes of this machine; all are replaced where one of them dies.

    Parameters
    ----------
    runner
        What they need.
    count
        How many.
    release
        Called in a forked process: closes what only this one may hold.
    """
    if sys.platform == "win32":
        count = min(count, MOST_PROCESSES)
    # Once this process has closed its end, by ending or otherwise, the others end too, whatever they do.
    theirs, own = multiprocessing.Pipe(duplex=False)
    pool = _Pool(runner, count, theirs, own, release)
    try:
        yield Workers(pool.submit, lambda: count, BrokenProcessPool)
    except BaseException:
        own.close()
        raise
    finally:
        pool.executor.shutdown(cancel_futures=True)
        own.close()
        theirs.close()


class _Pool:
    """A pool that begins anew when it is broken."""

    def __init__(
        self,
        runner: PointRunner,
        count: int,
        theirs: Connection,
        own: Connection,
        release: Callable[[], None],
    ) -> None:
        self.runner, self.count, self.ends, self.release = runner, count, (theirs, own), release
        self._begin()

    def _begin(self) -> None:
        # A fork shares what is solved and compiled. With other threads about it is not safe.
        fork = sys.platform.startswith("linux") and threading.active_count() == 1
        if not fork and not hasattr(sys.modules["__main__"], "__file__"):
            refuse_homeless(self.runner.cases)  # a process that begins anew has no notebook
        self.executor = ProcessPoolExecutor(
            self.count,
            multiprocessing.get_context("fork" if fork else "spawn"),
            initializer=_prepare,
            initargs=(self.runner, *self.ends, self.release if fork else None),
        )
        self.first = self.executor.submit(os.getpid)

    def submit(self, numbers: Sequence[int]) -> Future[Batch]:
        """Return the future of a batch."""
        try:
            return self.executor.submit(_batch, numbers)
        except BrokenProcessPool as error:
            self.executor.shutdown()
            if self.first.exception() is not None:
                # A process that begins anew reads the script of this program first.
                raise SimulationError(
                    "no process of the sweep can begin (its error is above); a script that sweeps needs "
                    "`if __name__ == '__main__':` around what it does, since processes that begin anew read "
                    "it first; or give workers=1"
                ) from error
            self._begin()
            return self.executor.submit(_batch, numbers)


# What a worker carries points out with.
_runner: PointRunner


def _prepare(
    runner: PointRunner, theirs: Connection, own: Connection, release: Callable[[], None] | None
) -> None:
    """Begin as a process of the pool."""
    global _runner
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who gives the points decides
    own.close()
    if release is not None:
        release()
    threading.Thread(target=_end_with, args=(theirs,), daemon=True).start()
    _runner = runner


def _end_with(theirs: Connection) -> None:
    """End this process with the one that holds the other end of a pipe."""
    theirs.poll(None)
    os._exit(1)


def _batch(numbers: Sequence[int]) -> Batch:
    return _runner.batch(numbers)
