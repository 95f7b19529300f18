"""What a sweep costs: on one core and two, through Dask, a run beside its marching, many trivial runs.

Run as ``python -m tests.programs.benchmarks.sweeps PART ...`` from the repository's root; without a part, all
of them. Processor times are those of all processes together; wall times mean something on a quiet machine
only.
"""

from __future__ import annotations

import multiprocessing
import os
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

import psmr
from tests.internals import MeasureColumn, PointRunner
from tests.internals import integrate_module as integrate

ROOT = Path(__file__).parents[3]
N_1 = ROOT / "cases" / "new-england" / "n-1.toml"
TIMES = 5
TRIVIAL, BATCH = (1_000, 10_000, 100_000), 6


def processor_time() -> float:
    """Return the processor time of this process and of its children that have ended, in s."""
    own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def memory() -> float:
    """Return the resident memory of this process in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


@contextmanager
def local_cluster(workers: int = 2):
    """Start a scheduler and workers, each a process of its own."""
    from distributed import LocalCluster

    options = {"processes": True, "threads_per_worker": 1, "dashboard_address": None, "memory_limit": 0}
    with LocalCluster(n_workers=workers, **options) as cluster:
        yield cluster


def timed(**options: Any) -> tuple[float, float, Any]:
    """Return wall time, processor time and result of the New England sweep."""
    with tempfile.TemporaryDirectory() as folder:
        wall, work = time.perf_counter(), processor_time()
        found = psmr.sweep(N_1, folder=Path(folder) / "s", report=False, **options)
        return time.perf_counter() - wall, processor_time() - work, found


def parts(**options: Any) -> tuple[float, float]:
    """Return the processor time of this process and of its workers in the New England sweep."""
    before = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    timed(**options)
    after = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    own, children = (
        b.ru_utime + b.ru_stime - a.ru_utime - a.ru_stime for a, b in zip(before, after, strict=True)
    )
    return own, children


def rows_of(found: Any) -> Any:
    """Return the rows without what a clock measured."""
    return found.table.drop(columns="seconds")


def cores() -> None:
    """Time the sweep on one core and on two, alternating, and through a Dask cluster."""
    timed(workers=1)
    one, two, rows = [], [], []
    for _ in range(TIMES):
        for workers, times in ((1, one), (2, two)):
            wall, work, found = timed(workers=workers)
            times.append((wall, work))
            rows.append(rows_of(found))
            print(f"  {workers} workers: {wall:.2f} s wall, {work:.2f} s processor", flush=True)
    own, children = parts(workers=2)
    alone = statistics.median(work for _, work in one)
    print(
        f"processor time: {alone:.2f} s on one core; on two {own:.2f} s in the one that gives batches "
        f"and {children:.2f} s in the workers: {alone / (own + children / 2):.2f} times faster on idle cores"
    )
    ratio = statistics.median(a / b for (a, _), (b, _) in zip(one, two, strict=True))
    print(f"2 cores against 1, {len(rows[0])} runs: {ratio:.2f} times faster (wall)")
    print(f"load: {os.getloadavg()[0]:.1f}; rows equal: {all(rows[0].equals(other) for other in rows)}")


def cluster_at_work(pipe: Connection, workers: int, cores: Sequence[int]) -> None:
    """Start a cluster on some cores, and sweep through it as often as the other end of the pipe asks."""
    os.sched_setaffinity(0, cores)
    with local_cluster(workers) as cluster:
        while pipe.recv():
            wall, _, found = timed(scheduler=cluster.scheduler_address)
            pipe.send((wall, rows_of(found)))


def dask() -> None:
    """Time the sweep through Dask clusters of one worker, on one core and on two, and of two workers."""
    first, second, *_ = sorted(os.sched_getaffinity(0))
    turns = {
        "1 worker, all on one core": (1, (first,)),
        "1 worker, two cores": (1, (first, second)),
        "2 workers, two cores": (2, (first, second)),
    }
    context = multiprocessing.get_context("spawn")
    pipes, walls, rows = {}, [], []
    for name, (workers, cores) in turns.items():
        pipes[name], theirs = context.Pipe()
        context.Process(target=cluster_at_work, args=(theirs, workers, cores)).start()
    for k in range(TIMES + 1):
        found = []
        for pipe in pipes.values():
            pipe.send(True)
            found.append(pipe.recv())
        begins = " (the workers begin)" if k == 0 else ""
        times = "; ".join(f"{name} {wall:.2f} s" for name, (wall, _) in zip(pipes, found, strict=True))
        print(f"  Dask: {times}{begins}", flush=True)
        if k:
            walls.append([wall for wall, _ in found])
        rows += [table for _, table in found]
    for pipe in pipes.values():
        pipe.send(False)
    for name, column in zip(pipes, np.transpose(walls)[:-1], strict=False):
        ratios = column / np.transpose(walls)[-1]
        print(
            f"Dask, 2 workers on two cores against {name}: {np.median(ratios):.2f} times faster (wall; "
            f"{ratios.min():.2f} to {ratios.max():.2f}), load {os.getloadavg()[0]:.1f}"
        )
    alone = rows_of(timed(workers=1)[2])
    print(f"rows equal to those of one process: {all(alone.equals(other) for other in rows)}")


def overhead() -> None:
    """Measure what a run of New England costs beside its marching, in processor time."""
    sweep = psmr.read_sweep(N_1)
    runner = PointRunner(sweep, [case.read() for case in sweep.cases])
    runner.batch(range(3))
    marching = 0.0
    march = integrate.integrate_span

    def clocked(*arguments: Any) -> None:
        nonlocal marching
        began = time.process_time()
        march(*arguments)
        marching += time.process_time() - began

    integrate.integrate_span = clocked
    try:
        beside, within = [], []
        for first in range(0, len(runner.plan) - BATCH, BATCH):
            marching, began = 0.0, time.process_time()
            runner.batch(range(first, first + BATCH))
            whole = time.process_time() - began
            beside.append(1e3 * (whole - marching) / BATCH)
            within.append(1e3 * marching / BATCH)
    finally:
        integrate.integrate_span = march
    print(
        f"New England, {len(beside)} batches of {BATCH} runs: march {statistics.median(within):.2f} ms, all "
        f"else {statistics.median(beside):.2f} ms in the median (quartiles "
        f"{np.percentile(beside, 25):.2f} to {np.percentile(beside, 75):.2f})"
    )
    axes = (psmr.ParameterAxis("G30", "h", start=30.0, stop=60.0, count=40),)
    moved = PointRunner(replace(sweep, axes=(*axes, *sweep.axes)), runner.cases)
    times = []
    for number in range(0, len(moved.plan), 276):
        began = time.process_time()
        moved.start(number)
        times.append(1e3 * (time.process_time() - began))
    print(f"a start at another parameter: {statistics.median(times):.1f} ms")


@dataclass(frozen=True)
class Nothing:
    """A measure without work: what is left is the sweep's own."""

    kind: ClassVar[str] = "damping"
    longest_fault: ClassVar[None] = None
    columns: ClassVar[tuple[MeasureColumn, ...]] = (MeasureColumn("damping_ratio", "number", "", "nothing"),)

    def check(self, study: Any, events: bool) -> None:
        """Take every study."""

    def of(self, start: Any) -> tuple[Mapping[str, Any], None]:
        """Return nothing of note."""
        return {"damping_ratio": 0.0}, None


def trivial() -> None:
    """Carry out up to 100,000 points without work through Dask, for the growth of the overhead."""
    for count in TRIVIAL:
        trivial_runs(count)


def trivial_runs(runs: int) -> None:
    """Carry out points without work through Dask: time of each, and memory of the client."""
    study = psmr.read_study(ROOT / "cases" / "wscc9" / "fault.toml")
    study = replace(study, recipe=psmr.read_sweep(N_1).study.recipe)
    times = tuple(np.round(np.linspace(0.01, 0.9, runs // 10), 8))
    axes = (psmr.BusFaults(0.1, clearing=times, buses=("bus5",)),)
    axes = (psmr.SchemeAxis("h_max", tuple(np.linspace(0.1, 1.0, 10))), *axes)
    sweep = psmr.Sweep(study, axes, Nothing(), name="trivial")
    usage: list[float] = []
    with local_cluster() as cluster, tempfile.TemporaryDirectory() as folder:
        cluster.scheduler.allowed_failures = 3
        began, work, marks = time.perf_counter(), time.process_time(), []

        def progress(done: float, count: int) -> None:
            usage.append(memory())
            marks.append((done, time.perf_counter() - began))

        found = psmr.sweep(
            sweep, folder=Path(folder) / "s", scheduler=cluster.scheduler_address, many=True, report=False,
            progress=progress,
        )  # fmt: skip
        wall, mine = time.perf_counter() - began, time.process_time() - work
        files = len(list(Path(folder, "s", "runs").iterdir()))
        tail = len(usage) // 10
        print(
            f"{len(found.table):,} trivial runs through Dask, 2 workers: {1e3 * wall / runs:.3f} ms of "
            f"wall time each, {1e3 * mine / runs:.3f} ms of processor time each in client and scheduler"
        )
        print(
            f"{len(marks)} batches, {files} files; memory of the client {usage[tail]:.0f} MB after a tenth, "
            f"{usage[-1]:.0f} MB at the end, at most {max(usage):.0f} MB; load {os.getloadavg()[0]:.1f}"
        )


def resume() -> None:
    """Kill the New England sweep half way, resume it, and compare with one that was not interrupted."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "s"
        code = f"import psmr; psmr.sweep({str(N_1)!r}, folder={str(folder)!r}, report=False)"
        process = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT)
        while process.poll() is None and done_in(folder) < 138:
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.wait()
        found = psmr.sweep(N_1, folder=folder, report=False)
        whole = timed(workers=1)[2]
        equal = rows_of(found).equals(rows_of(whole))
        print(f"killed after {found.resumed} of {len(found.table)} runs and resumed: rows equal: {equal}")


def done_in(folder: Path) -> int:
    """Return how many rows a folder has."""
    from tests.internals import read_rows

    try:
        return len(read_rows(folder))
    except psmr.PsmrError:
        return 0


def killed() -> None:
    """Kill a Dask worker by a signal in the middle of the New England sweep: nothing may be missing."""
    from distributed import Client

    with local_cluster() as cluster, Client(cluster.scheduler_address, set_as_default=False) as client:
        victims = list(client.run(os.getpid).values())[:1]

        def progress(done: float, count: int) -> None:
            if victims and done > count / 3:
                os.kill(victims.pop(), signal.SIGKILL)

        _, _, found = timed(scheduler=client, progress=progress)
        equal = rows_of(found).equals(rows_of(timed(workers=1)[2]))
        print(f"a worker was killed: {len(found.table)} rows, {len(found.failed)} failed, equal: {equal}")


PARTS = {f.__name__: f for f in (overhead, cores, dask, trivial, resume, killed)}


def main() -> None:
    """Run the parts that are named."""
    assert threading.active_count() == 1
    for name in sys.argv[1:] or PARTS:
        PARTS[name]()


if __name__ == "__main__":
    main()
