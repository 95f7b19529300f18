"""The workers of a Dask cluster."""

from __future__ import annotations

import platform
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import CancelledError
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import distributed

from psmr.base.errors import PsmrError, PsmrWarning, StudyError, first_few
from psmr.sweep.point_runner import PointRunner
from psmr.sweep.workers import (
    MOST_LOSSES,
    RUNNERS,
    Workers,
    new_key,
    packed_kernels,
    parcel_of,
    refuse_homeless,
    runner_of,
)
from psmr.version import __version__

# Time in s in which a scheduler answers and in which the first worker has to be there.
ANSWER, FIRST_WORKER = 10.0, 60.0

# Time in s after which the workers are counted again: clusters grow and shrink.
COUNTED = 2.0

# Packages on which the numbers depend, or that workers and this process must understand alike.
PACKAGES = ("numpy", "scipy", "numba", "llvmlite", "pandas", "pyarrow")


@contextmanager
def dask_cluster(scheduler: Any, runner: PointRunner) -> Iterator[Workers]:
    """Yield the workers of a Dask cluster; case and kernels are sent to each once.

    `scheduler` is an address or a `distributed.Client`. Raises StudyError when no scheduler answers, no
    worker is there, or one has another psmr or Python, and PsmrError when the scheduler is lost; warns of
    other versions of packages on which the last digits depend.
    """
    own = isinstance(scheduler, str)
    refuse_homeless(runner)
    client = _client(scheduler) if own else scheduler
    address, key = client.scheduler.address, new_key()
    try:
        count = _counter(client)
        check_versions(client, _versions())
        # Dask brings it to each worker once, also to those that come later.
        client.register_plugin(_SweepPlugin(key, parcel_of(runner, packed_kernels())), name=key)
        executor = client.get_executor(pure=False)
        try:
            # Dask has tried the points of a worker that was killed on several before.
            yield Workers(executor, key, count, distributed.KilledWorker, MOST_LOSSES)
        finally:
            if client.status == "running":
                executor.shutdown(wait=False)
                client.unregister_worker_plugin(key)
    except CancelledError as error:  # Dask cancels all futures of a scheduler that is lost
        raise PsmrError(
            f"{address}: the Dask scheduler is lost; every run that was finished before is kept. Start it "
            "again, or look after the connection, and give the command again: it goes on where it was"
        ) from error
    finally:
        if own:
            client.close()


class _SweepPlugin(distributed.WorkerPlugin):
    """Brings a worker what it carries points out with."""

    def __init__(self, key: str, parcel: bytes) -> None:
        self.key, self.parcel = key, parcel

    def setup(self, worker: object) -> None:
        """Open the parcel on a worker."""
        RUNNERS[self.key] = runner_of(self.parcel)
        self.parcel = b""

    def teardown(self, worker: object) -> None:
        """Forget it when the sweep has ended."""
        RUNNERS.pop(self.key, None)


def _client(address: str) -> Any:
    try:
        return distributed.Client(address, timeout=ANSWER, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise StudyError(
            f"{address}: no Dask scheduler answers there ({error}); start one with `dask scheduler`, or "
            "leave --scheduler out to run on this machine"
        ) from error


def _counter(client: Any) -> Callable[[], int]:
    """Wait for the first worker; return a function that counts them."""
    address = client.scheduler.address
    try:
        client.wait_for_workers(1, timeout=FIRST_WORKER)
    except TimeoutError as error:
        raise StudyError(
            f"{address}: the scheduler has no worker after {FIRST_WORKER:g} s; start some with `dask worker "
            f"{address} --nthreads 1`"
        ) from error
    found, counted = 1, -COUNTED

    def count() -> int:
        nonlocal found, counted
        if time.monotonic() - counted > COUNTED:
            found = len(client.scheduler_info(n_workers=-1)["workers"]) or found
            counted = time.monotonic()
        return found

    return count


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version(), "psmr": __version__}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "none"
    return found


def check_versions(client: Any, own: Mapping[str, str]) -> None:
    """Refuse workers that cannot understand this process, and warn of those whose digits may differ."""
    try:
        workers: Mapping[str, Mapping[str, str]] = client.run(_versions)
    except Exception as error:  # Dask wraps what a worker raises in errors of many kinds
        raise StudyError(
            f"{client.scheduler.address}: a worker cannot say its versions ({error}); install psmr "
            f"{__version__} with the extra sweep on all machines, nothing was run"
        ) from error
    wrong: list[str] = []
    other: list[str] = []
    for address, theirs in workers.items():
        for name, mine in own.items():
            found = theirs.get(name, "none")
            if found == mine:
                continue
            strange = name == "psmr" or found == "none"
            strange |= name == "python" and found.split(".")[:2] != mine.split(".")[:2]
            (wrong if strange else other).append(f"{name} {found} on {address}, {mine} here")
    if wrong:
        raise StudyError(
            f"workers have other versions: {first_few(wrong, 5, '; ')}; install the same on all machines, "
            "nothing was run"
        )
    if other:
        warnings.warn(
            f"workers have other versions: {first_few(other, 5, '; ')}; rows may differ in their last digits",
            PsmrWarning,
            stacklevel=4,
        )
