"""The workers of a Dask cluster; compiled kernels as a parcel for those that have compiled nothing yet."""

from __future__ import annotations

import pickle
import platform
import threading
import time
import uuid
import warnings
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import distributed

from psmr.base.errors import PsmrError, PsmrWarning, StudyError, few
from psmr.base.modules import packed_modules, unpack_modules
from psmr.dae.compile.cache import folder as folders
from psmr.dae.compile.cache.entry import read_entry, write_entry
from psmr.dae.compile.cache.sources import fingerprint
from psmr.sweep.dispatch import MOST_LOSSES, Workers, refuse_homeless
from psmr.sweep.point_runner import Batch, PointRunner
from psmr.version import __version__

# The cache of a whole version of psmr is a few megabytes; one that is far larger stays at home.
MOST_BYTES = 64_000_000


def packed() -> dict[str, dict[str, bytes]]:
    """Return the machine code that this machine keeps of this version of psmr, by folder and name.

    What does not suit the processor of another machine is never asked for there: its name says for which one
    it is.
    """
    found: dict[str, dict[str, bytes]] = {}
    size = 0
    for name in (fingerprint(), "components"):
        place = folders.folder(name)
        for path in sorted(place.iterdir()):
            if path.name.startswith(".") or not path.is_file():
                continue
            data = read_entry(path)
            size += 0 if data is None else len(data)
            if size > MOST_BYTES:
                return {}
            if data is not None:
                found.setdefault(name, {})[path.name] = data
    return found


def unpacked(parcel: dict[str, dict[str, bytes]]) -> int:
    """Write what is missing here of a parcel and return how many entries that were."""
    written = 0
    for name, entries in parcel.items():
        if name not in (fingerprint(), "components"):
            continue  # another version of psmr: its code is none of ours
        place = folders.folder(name)
        for entry, data in entries.items():
            path = place / Path(entry).name
            if not path.exists():
                write_entry(path, data)
                written += 1
    return written


# Time in s in which a scheduler answers and in which the first worker has to be there.
ANSWER, FIRST_WORKER = 10.0, 60.0

# Time in s after which the workers are counted again: clusters grow and shrink.
COUNTED = 2.0

# Packages on which the numbers depend, or that workers and this process must understand alike.
PACKAGES = ("numpy", "scipy", "numba", "llvmlite", "pandas", "pyarrow")


@contextmanager
def dask_cluster(scheduler: Any, runner: PointRunner) -> Iterator[Workers]:
    """Yield the workers of a Dask cluster. Case and kernels are sent to each once.

    Parameters
    ----------
    scheduler
        Address of a scheduler, or a `distributed.Client`.
    runner
        What the workers need.

    Raises
    ------
    StudyError
        When no scheduler answers, no worker is there, or a worker has another psmr or Python.
    PsmrError
        When the scheduler is lost.

    Warns
    -----
    PsmrWarning
        When a worker has other versions of packages on which the last digits depend.
    """
    own = isinstance(scheduler, str)
    refuse_homeless(runner.cases)
    client = _client(scheduler) if own else scheduler
    address, name = client.scheduler.address, f"psmr-sweep-{uuid.uuid4().hex[:12]}"
    try:
        count = _counter(client)
        check_versions(client, _versions())
        # Dask brings it to each worker once, also to those that come later.
        client.register_plugin(_SweepPlugin(runner), name=name)
        executor = client.get_executor(pure=False)
        try:
            yield Workers(
                lambda numbers: executor.submit(_batch, name, numbers),
                count,
                distributed.KilledWorker,
                MOST_LOSSES,  # Dask has tried the points on several workers before
            )
        finally:
            if client.status == "running":
                executor.shutdown(wait=False)
                client.unregister_worker_plugin(name)
    except CancelledError as error:  # Dask cancels all futures of a scheduler that is lost
        raise PsmrError(
            f"{address}: the Dask scheduler is lost; every run that was finished before is kept. Start it "
            "again, or look after the connection, and give the command again: it goes on where it was"
        ) from error
    finally:
        if own:
            client.close()


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


class _SweepPlugin(distributed.WorkerPlugin):
    """What a worker carries points out with: cases, and compiled kernels."""

    def __init__(self, runner: PointRunner) -> None:
        self.modules = packed_modules(name for case in runner.cases for name in case.modules)
        self.modules |= packed_modules(runner.sweep.study.case.modules)
        self.parcel = zlib.compress(pickle.dumps((runner, packed())), 1)

    def setup(self, worker: object) -> None:
        """Unpack it on a worker."""
        unpack_modules(self.modules)
        self.runner, kernels = pickle.loads(zlib.decompress(self.parcel))
        unpacked(kernels)
        self.parcel = b""


_one_at_a_time = threading.Lock()


def _batch(name: str, numbers: Sequence[int]) -> Batch:
    """Carry out a batch on a worker. A worker with several threads does one at a time."""
    with _one_at_a_time:
        runner: PointRunner = distributed.get_worker().plugins[name].runner
        return runner.batch(numbers)


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
    wrong, other = [], []
    for address, theirs in workers.items():
        for name in own:
            found, mine = theirs.get(name, "none"), own[name]
            if found == mine:
                continue
            words = f"{name} {found} on {address}, {mine} here"
            if name == "psmr" or (name == "python" and _minor(found) != _minor(mine)) or found == "none":
                wrong.append(words)
            else:
                other.append(words)
    if wrong:
        raise StudyError(
            f"workers have other versions: {few(wrong, 5, '; ')}; install the same on all machines, "
            "nothing was run"
        )
    if other:
        warnings.warn(
            f"workers have other versions: {few(other, 5, '; ')}; rows may differ in their last digits",
            PsmrWarning,
            stacklevel=4,
        )


def _minor(words: str) -> list[str]:
    return words.split(".")[:2]
