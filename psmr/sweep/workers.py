"""Those who carry out the points of a sweep, executors of `concurrent.futures`, and the loop over them."""

from __future__ import annotations

import functools
import multiprocessing
import os
import pickle
import signal
import sys
import threading
import uuid
import zlib
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait
from concurrent.futures.process import BrokenProcessPool, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from psmr.base.errors import PsmrError, SimulationError, StudyError
from psmr.base.modules import packed_modules, unpack_modules
from psmr.dae.compile import cache_files
from psmr.dae.compile.cache_files import read_entry, write_entry
from psmr.dae.compile.code_cache import fingerprint
from psmr.network.case.edit import devices_of
from psmr.sweep.point_runner import Batch, PointRunner
from psmr.sweep.store import Store

# Times that a point may end its worker before its row says so.
MOST_LOSSES = 3

# Points of one future: a fourth of an equal share, so that all workers end together, and so many at most.
SHARES, MOST_POINTS = 4, 500

# Processes that a pool can have on Windows.
MOST_PROCESSES = 61

RUNNERS: dict[str, PointRunner] = {}
"""What this process, as a worker, carries points out with, by the key of the sweep."""

_one_at_a_time = threading.RLock()


@dataclass(frozen=True)
class Workers:
    """An executor whose workers carry points out.

    `key` is that of the runner in `RUNNERS`, which otherwise is in the `parcel`; `count` returns how many
    work at a time, and each has `ahead` futures: the one it works on, and the next. A future fails with
    `died` when a worker ended with the points, which had been tried `attempts` times by then.
    """

    executor: Executor
    key: str
    count: Callable[[], int]
    died: type[Exception] = BrokenExecutor
    attempts: int = 1
    ahead: int = 2
    parcel: bytes = b""

    def submit(self, numbers: Sequence[int]) -> Future[Batch]:
        """Return the future of a batch, which may end before the last of the points."""
        return self.executor.submit(run_batch, numbers, self.key, self.parcel)


def run_batch(numbers: Sequence[int], key: str, parcel: bytes) -> Batch:
    """Carry out a batch on a worker; one with several threads does one at a time."""
    with _one_at_a_time:
        return (RUNNERS[key] if key in RUNNERS else _last_opened(parcel)).batch(numbers)


def new_key() -> str:
    """Return what no other sweep is called on any worker."""
    return f"psmr-sweep-{uuid.uuid4().hex[:12]}"


def parcel_of(runner: PointRunner, kernels: Kernels) -> bytes:
    """Return a runner with the user's own modules that it needs, and kernels, for other machines."""
    modules = [name for case in runner.cases for name in case.modules]
    modules += runner.sweep.study.case.modules
    return zlib.compress(pickle.dumps((packed_modules(modules), kernels, pickle.dumps(runner))), 1)


def runner_of(parcel: bytes) -> PointRunner:
    """Return the runner of a parcel; import its modules and write its kernels where they are missing."""
    modules, kernels, runner = pickle.loads(zlib.decompress(parcel))
    unpack_modules(modules)
    unpack_kernels(kernels)
    found: PointRunner = pickle.loads(runner)
    return found


_last_opened = functools.lru_cache(maxsize=1)(runner_of)

Kernels = Mapping[str, Mapping[str, bytes]]
"""Machine code by folder of the cache and name."""

# The cache of a whole version of psmr is a few megabytes; one that is far larger stays at home.
MOST_BYTES = 64_000_000


def packed_kernels() -> Kernels:
    """Return the machine code that this machine keeps of this version of psmr.

    What does not suit the processor of another machine is never asked for there: its name says for which one
    it is.
    """
    found: dict[str, dict[str, bytes]] = {}
    size = 0
    for name in (fingerprint(), "components"):
        for path in sorted(cache_files.folder(name).iterdir()):
            data = read_entry(path) if path.is_file() and not path.name.startswith(".") else None
            if data is not None:
                found.setdefault(name, {})[path.name] = data
                size += len(data)
            if size > MOST_BYTES:
                return {}
    return found


def unpack_kernels(parcel: Kernels) -> int:
    """Write what is missing here of a parcel and return how many entries that were."""
    written = 0
    for name in parcel.keys() & {fingerprint(), "components"}:  # of another version of psmr nothing is ours
        for entry, data in parcel[name].items():
            path = cache_files.folder(name) / Path(entry).name
            if not path.exists():
                write_entry(path, data)
                written += 1
    return written


def refuse_homeless(runner: PointRunner) -> None:
    """Raise StudyError for components that a notebook or script declares: other processes have not it."""
    own = {device.own for case in runner.cases for _, device in devices_of(case) if device.own is not None}
    names = sorted(kind.__name__ for kind in own if kind.__module__ == "__main__")
    if names:
        raise StudyError(
            f"{', '.join(names)}: declared in this notebook or script, which the processes of a sweep do not"
            ' have; move it to a file, such as mine.py, and name that: modules = ["mine"]; or sweep in this'
            " process: workers=1"
        )


def dispatch(
    workers: Workers,
    runner: PointRunner,
    store: Store,
    undone: Sequence[int],
    progress: Callable[[int], None] | None = None,
) -> None:
    """Carry out the points `undone` and write their rows as they arrive, telling how many are done.

    The points of a future whose worker died are tried again one by one, and those that were lost twice while
    nothing else is carried out, so that a third loss is their own: the row says so.
    """
    points, again = deque(undone), deque[int]()
    losses: Counter[int] = Counter()
    pending: dict[Future[Batch], tuple[int, ...]] = {}
    done = 0
    while points or again or pending:
        count = workers.count()
        most = 1 if any(lost > 1 for lost in losses.values()) else workers.ahead * count
        while (points or again) and len(pending) < most:
            size = min(MOST_POINTS, max(1, len(points) // (SHARES * count)))
            numbers = (again.popleft(),) if again else tuple(points.popleft() for _ in range(size))
            pending[workers.submit(numbers)] = numbers
        for future in wait(pending, return_when=FIRST_COMPLETED).done:
            numbers = pending.pop(future)
            try:
                batch = future.result()
                points.extendleft(reversed(numbers[len(batch.numbers) :]))
            except workers.died as error:
                losses.update(dict.fromkeys(numbers, workers.attempts if len(numbers) == 1 else 1))
                again.extend(number for number in numbers if losses[number] < MOST_LOSSES)
                given_up = [number for number in numbers if losses[number] >= MOST_LOSSES]
                if not given_up:
                    continue
                batch = runner.failed(given_up, f"no result after {MOST_LOSSES} attempts: {error}")
            except (PsmrError, CancelledError):
                raise
            except Exception as error:
                raise SimulationError(f"a worker failed: {type(error).__name__}: {error}") from error
            store.write(batch)
            for number in batch.numbers:
                losses.pop(number, None)
            done += len(batch.numbers)
            if progress is not None:
                progress(done)


def cores() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class ThisProcess(Executor):
    """The process itself as its one worker."""

    def submit(self, work: Any, /, *arguments: Any, **named: Any) -> Future[Any]:
        """Do the work at once; what it raises ends the sweep."""
        future: Future[Any] = Future()
        future.set_result(work(*arguments, **named))
        return future


@contextmanager
def in_this_process(runner: PointRunner) -> Iterator[Workers]:
    """Yield the process itself, for one worker."""
    key = new_key()
    RUNNERS[key] = runner
    try:
        yield Workers(ThisProcess(), key, lambda: 1, ahead=1)
    finally:
        RUNNERS.pop(key, None)


@contextmanager
def on_executor(executor: Executor, runner: PointRunner, count: int) -> Iterator[Workers]:
    """Yield the workers of any executor, `count` of them; cases and modules are sent with the points."""
    refuse_homeless(runner)
    try:
        yield Workers(executor, new_key(), lambda: count, parcel=parcel_of(runner, {}))
    except BrokenExecutor as error:
        raise PsmrError(
            f"the executor of the sweep is broken ({error}); every run that was finished before is kept. "
            "Give the call again with a new one: it goes on where it was"
        ) from error


@contextmanager
def local_processes(runner: PointRunner, count: int, release: Callable[[], None]) -> Iterator[Workers]:
    """Yield processes of this machine; each calls `release`, which closes what only this one may hold."""
    key = new_key()
    count = min(count, MOST_PROCESSES) if sys.platform == "win32" else count
    with LocalProcesses(key, runner, count, release) as executor:
        yield Workers(executor, key, lambda: count)


class LocalProcesses(Executor):
    """A pool of processes that begins anew when one of them dies, and ends with this process in any case."""

    def __init__(self, key: str, runner: PointRunner, count: int, release: Callable[[], None]) -> None:
        self.key, self.runner, self.count, self.release = key, runner, count, release
        # Once this process has closed its end, by ending or otherwise, the others end too, whatever they do.
        self.theirs, self.own = multiprocessing.Pipe(duplex=False)
        self._begin()

    def _begin(self) -> None:
        # A fork shares what is solved and compiled. With other threads about it is not safe.
        fork = sys.platform.startswith("linux") and threading.active_count() == 1
        if not fork and not hasattr(sys.modules["__main__"], "__file__"):
            refuse_homeless(self.runner)  # a process that begins anew has no notebook
        release = self.release if fork else None
        self.pool = ProcessPoolExecutor(
            self.count,
            multiprocessing.get_context("fork" if fork else "spawn"),
            initializer=_prepare,
            initargs=(self.key, self.runner, self.theirs, self.own, release),
        )
        self.first = self.pool.submit(os.getpid)

    def submit(self, work: Any, /, *arguments: Any, **named: Any) -> Future[Any]:
        """See `Executor`."""
        try:
            return self.pool.submit(work, *arguments, **named)
        except BrokenProcessPool as error:
            self.pool.shutdown()
            if self.first.exception() is not None:
                # A process that begins anew reads the script of this program first.
                raise SimulationError(
                    "no process of the sweep can begin (its error is above); a script that sweeps needs "
                    "`if __name__ == '__main__':` around what it does, since processes that begin anew read "
                    "it first; or give workers=1"
                ) from error
            self._begin()
            return self.pool.submit(work, *arguments, **named)

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if kind is not None:
            self.own.close()
        self.pool.shutdown(cancel_futures=True)
        self.own.close()
        self.theirs.close()


def _prepare(
    key: str, runner: PointRunner, theirs: Connection, own: Connection, release: Callable[[], None] | None
) -> None:
    """Begin as a process of the pool."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who gives the points decides
    own.close()
    if release is not None:
        release()
    threading.Thread(target=_end_with, args=(theirs,), daemon=True).start()
    RUNNERS[key] = runner


def _end_with(theirs: Connection) -> None:
    """End this process with the one that holds the other end of a pipe."""
    theirs.poll(None)
    os._exit(1)
