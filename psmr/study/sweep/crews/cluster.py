"""The workers of a Dask cluster."""

from __future__ import annotations

import pickle
import platform
import threading
import time
import uuid
import warnings
import zlib
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from queue import Empty, SimpleQueue
from typing import Any

from psmr.errors import PsmrError, PsmrWarning, StudyError
from psmr.optional import optional
from psmr.study.sweep.bench import Batch, Bench
from psmr.study.sweep.crews.crew import Lost
from psmr.study.sweep.crews.kernels import packed, unpacked
from psmr.version import __version__

# Time in s in which a scheduler answers and in which the first worker has to be there.
ANSWER, FIRST_WORKER = 10.0, 60.0

# Time in s after which it is asked whether the scheduler is still there.
LOOK = 2.0

# Batches that a worker has at a time: the one it works on, and the next.
AHEAD = 2

# Packages on which the numbers depend, or that workers and this process must understand alike.
PACKAGES = ("numpy", "scipy", "numba", "llvmlite", "pandas", "pyarrow")


def require_distributed() -> Any:
    """Return dask.distributed.

    Raises
    ------
    PsmrError
        Where it is not installed.
    """
    otherwise = "leave the scheduler out to run on this machine"
    return optional("distributed", "a sweep on a cluster", "psmr[sweep]", otherwise)


class Cluster:
    """The workers of a Dask cluster. Case and kernels are sent to each once.

    Parameters
    ----------
    scheduler
        Address of a scheduler, or a `distributed.Client`.
    bench
        What the workers need.

    Raises
    ------
    StudyError
        When no scheduler answers, no worker is there, or a worker has another psmr or Python.

    Warns
    -----
    PsmrWarning
        When a worker has other versions of packages on which the last digits depend.
    """

    shortest = 1.0

    def __init__(self, scheduler: Any, bench: Bench) -> None:
        self.distributed = require_distributed()
        self.own = isinstance(scheduler, str)
        self.client = self._client(scheduler) if self.own else scheduler
        self.token = f"psmr-sweep-{uuid.uuid4().hex[:12]}"
        # What each future is to carry out, and the worker that it was meant for.
        self.given: dict[Any, tuple[tuple[int, ...], str]] = {}
        self.done: SimpleQueue[Any] = SimpleQueue()
        try:
            self.present = self._first_workers()
            _check_versions(self._of_workers())
            parcel = zlib.compress(pickle.dumps((bench, packed())), 1)
            # A task of its own: Dask brings its result to each worker once, and makes it again if lost.
            self.parcel = self.client.submit(_parcel, parcel, pure=False)
            self.address = self.client.scheduler.address
        except BaseException:
            self._leave()
            raise
        self._counted = time.monotonic()

    def _client(self, address: str) -> Any:
        try:
            return self.distributed.Client(address, timeout=ANSWER, set_as_default=False)
        except (OSError, ValueError, TimeoutError) as error:
            raise StudyError(
                f"{address}: no Dask scheduler answers there ({error}); start one with `dask scheduler`, or "
                "leave --scheduler out to run on this machine"
            ) from error

    @property
    def workers(self) -> int:
        """See `Crew`."""
        return len(self.present)

    def _first_workers(self) -> tuple[str, ...]:
        address, reason = self.client.scheduler.address, None
        try:
            self.client.wait_for_workers(1, timeout=FIRST_WORKER)
        except TimeoutError as error:
            reason = error
        if present := self._present():
            return present
        raise StudyError(
            f"{address}: the scheduler has no worker after {FIRST_WORKER:g} s; start some with `dask worker "
            f"{address} --nthreads 1`"
        ) from reason

    def _of_workers(self) -> Mapping[str, Mapping[str, str]]:
        try:
            found: Mapping[str, Mapping[str, str]] = self.client.run(_versions)
        except Exception as error:  # Dask wraps what a worker raises in errors of many kinds
            address = self.client.scheduler.address
            if _without_module(error):
                raise StudyError(
                    f"{address}: a worker cannot load psmr ({error}); install psmr {__version__} with the "
                    "extra sweep on all machines, nothing was run"
                ) from error
            raise StudyError(f"{address}: a worker cannot be asked ({error}), nothing was run") from error
        return found

    def _present(self) -> tuple[str, ...]:
        return tuple(self.client.scheduler_info(n_workers=-1)["workers"])

    def wants(self) -> bool:
        """See `Crew`."""
        self._check_connection()
        if time.monotonic() - self._counted > LOOK:  # clusters grow and shrink
            self.present, self._counted = self._present() or self.present, time.monotonic()
        return len(self.given) < AHEAD * self.workers

    def give(self, numbers: Sequence[int]) -> None:
        """See `Crew`."""
        # For the one with the least to do: by itself Dask gives all to the worker that has the parcel, until
        # another one is idle. Where the worker goes, others may.
        points = dict.fromkeys(self.present, 0)
        for other, worker in self.given.values():
            if worker in points:
                points[worker] += len(other)
        worker = min(points, key=points.__getitem__)
        future = self.client.submit(
            _carried_out, self.token, tuple(numbers), self.parcel, pure=False, workers=[worker],
            allow_other_workers=True,
        )  # fmt: skip
        self.given[future] = tuple(numbers), worker
        future.add_done_callback(self.done.put)

    def take(self) -> Batch | Lost:
        """See `Crew`."""
        future = self._next()
        numbers, _ = self.given.pop(future)
        try:
            if future.status == "finished":
                return self._received(future)
            error = future.exception() if future.status == "error" else None
        finally:
            future.release()
        if error is None or isinstance(error, self.distributed.scheduler.KilledWorker):
            # The scheduler has tried it on several workers already.
            tries = 1 if error is None else 3
            return Lost(numbers, f"its worker died ({error or 'its result was lost'})", tries)
        if isinstance(error, PsmrError):
            raise error
        raise PsmrError(f"a worker failed: {type(error).__name__}: {error}") from error

    def _next(self) -> Any:
        """Return the next future that is done."""
        while True:
            try:
                future = self.done.get(timeout=LOOK)
            except Empty:
                self._check_connection()
            else:
                if future.status == "cancelled":
                    self._check_connection()
                return future

    def _check_connection(self) -> None:
        """Raise PsmrError once the scheduler was lost.

        Dask cancels all futures then, that of the parcel too, and after a while closes the client: what is
        given to it from then on is never done, also where the scheduler comes back.
        """
        if self.client.status != "running" or self.parcel.cancelled():
            raise PsmrError(
                f"{self.address}: the Dask scheduler is lost; every run that was finished before is kept. "
                "Start it again, or look after the connection, and give the command again: it goes on where "
                "it was"
            )

    def _received(self, future: Any) -> Batch:
        batch: Batch = pickle.loads(future.result())
        return batch

    def close(self) -> None:
        """See `Crew`."""
        if self.client.status == "running":  # otherwise all are cancelled
            for future in (*self.given, self.parcel):
                future.cancel()
        self.given.clear()
        self._leave()

    def _leave(self) -> None:
        if self.own:
            self.client.close()


# What this process has unpacked, as a worker: the last two sweeps.
_benches: dict[str, Bench] = {}
_one_at_a_time = threading.Lock()


def _parcel(parcel: bytes) -> bytes:
    return parcel


def _carried_out(token: str, numbers: tuple[int, ...], parcel: bytes) -> bytes:
    """Carry out a batch on a worker. A worker with several threads does one at a time."""
    with _one_at_a_time:
        if token not in _benches:
            bench, kernels = pickle.loads(zlib.decompress(parcel))
            unpacked(kernels)
            if len(_benches) > 1:
                del _benches[next(iter(_benches))]
            _benches[token] = bench
        return pickle.dumps(_benches[token].batch(numbers))


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version(), "psmr": __version__}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "none"
    return found


def _without_module(error: BaseException) -> bool:
    """Return whether what a worker answered is that it lacks a module."""
    found: BaseException | None = error
    while found is not None:
        if isinstance(found, ImportError):
            return True
        found = found.__cause__ or found.__context__
    return "ModuleNotFoundError" in str(error) or "No module named" in str(error)


def _check_versions(
    of_workers: Mapping[str, Mapping[str, str]], here: Callable[[], Mapping[str, str]] = _versions
) -> None:
    """Refuse workers that cannot understand this process, and warn of those whose digits may differ."""
    own = here()
    wrong, other = [], []
    for address, theirs in of_workers.items():
        for name, mine in own.items():
            found = theirs.get(name, "none")
            if found == mine:
                continue
            words = f"{name} {found} on {address}, {mine} here"
            if name == "psmr" or (name == "python" and _minor(found) != _minor(mine)) or found == "none":
                wrong.append(words)
            else:
                other.append(words)
    if wrong:
        raise StudyError(
            f"workers have other versions: {_some(wrong)}; install the same on all machines, nothing was run"
        )
    if other:
        warnings.warn(
            f"workers have other versions: {_some(other)}; rows may differ in their last digits",
            PsmrWarning,
            stacklevel=4,
        )


def _minor(words: str) -> str:
    return ".".join(words.split(".")[:2])


def _some(words: Sequence[str]) -> str:
    more = f" and {len(words) - 5} more" if len(words) > 5 else ""
    return "; ".join(words[:5]) + more
