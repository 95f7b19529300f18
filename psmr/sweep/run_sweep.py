"""Carry a sweep out: cases to a runner of points, points to rows, rows to figures and pages."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from psmr.base.arguments import check_arguments
from psmr.base.declared import ALLOW_CODE, Option
from psmr.base.errors import InputError, StudyError, error_at
from psmr.base.modules import draw, optional
from psmr.study.file.study import Study
from psmr.study.output import require_folder, require_pyarrow
from psmr.study.run.set_up import duration_text
from psmr.sweep.axes.axis import Axis
from psmr.sweep.measures import Measure, Outcomes
from psmr.sweep.point_runner import PointRunner
from psmr.sweep.store import Store
from psmr.sweep.sweep import Sweep, read_sweep
from psmr.sweep.swept import Swept
from psmr.sweep.workers import Workers, cores, dispatch, in_this_process, local_processes, on_executor

# Points above which a sweep is begun only by one who has seen how many they are.
MANY = 10_000

# Points that are tried for an estimate.
TRIED = 3


def sweep(
    base: str | os.PathLike[str] | Sweep | Study,
    axes: Iterable[Axis] = (),
    measure: Measure | None = None,
    *,
    folder: str | os.PathLike[str] | None = None,
    signals: Annotated[
        str | Iterable[str] | None, "signals to keep of every run, in place of the file's", "NAME"
    ] = None,
    worst: Annotated[int | None, "runs of which reports are written (default 5)", "N"] = None,
    workers: Annotated[
        int | None, "processes on this machine (default: one for each core)", "N", Option(either="where")
    ] = None,
    scheduler: Annotated[
        Any, "a Dask scheduler, tcp://host:8786 (needs psmr[sweep])", "ADDRESS", Option(either="where")
    ] = None,
    many: Annotated[bool, "run even if there are more than 10,000 points", Option(name="yes")] = False,
    report: Annotated[bool, "leave out figures, page and reports"] = True,
    progress: Callable[[float, int], None] | None = None,
    allow_code: Annotated[bool, ALLOW_CODE] = False,
) -> Swept:
    """Carry out a sweep: a study at every combination of what its axes vary.

    A sweep that was interrupted goes on where it was when it is given again with the same folder.

    Parameters
    ----------
    base
        A sweep file, a `Sweep`, or a study (a `Study` of `psmr.read_study`) with `axes`.
    axes
        `psmr.ParameterAxis`, `SampleAxis`, `SchemeAxis`, `CaseAxis`, `BranchOutages`, `BusFaults`,
        `GeneratorTrips`, `ListedEvents`, for a study.
    measure
        `psmr.Outcomes` (a run at each point; the default), `ClearingTime`, `Damping`, `Stability`.
    folder
        Where rows, signals, figures and pages go; ``results/NAME`` where neither this nor the file says.
    signals
        Names or patterns of the signals to keep of every run.
    worst
        Number of runs of which reports are written; 5 by default.
    workers
        Processes on this machine; every core by default, 1 for this process itself.
    scheduler
        In place of this machine: address of a Dask scheduler, a `distributed.Client`, or any
        `concurrent.futures.Executor`, with `workers` at a time.
    many
        Whether more than 10,000 points may be begun.
    report
        Whether figures, page and reports of the worst runs are written.
    progress
        Called with the number of points that are done and of all.
    allow_code
        Whether the modules are imported that a sweep file, its study or their cases name, as in
        `psmr.read_study`; a `Sweep` and a `Study` have it from where they were read.

    Returns
    -------
    Swept
        The table, a row per point, and where everything is.

    Raises
    ------
    StudyError
        For a sweep that has no point, or more than 10,000 without `many` (with an estimate of the time); a
        folder that is in use, is full, or holds another sweep; a scheduler that does not answer, and workers
        of other versions.
    """
    check_arguments(sweep, locals(), StudyError)
    began = time.perf_counter()
    if not (scheduler is None or isinstance(scheduler, str | Executor) or hasattr(scheduler, "get_executor")):
        raise StudyError(
            f"scheduler is of the type {type(scheduler).__name__}: must be the address of a Dask scheduler, "
            "a distributed.Client, or another Executor of concurrent.futures"
        )
    what = _sweep_of(base, axes, measure, signals, worst, allow_code)
    if folder is not None:
        what = replace(what, folder=os.fspath(folder))
    if workers is not None and (isinstance(workers, bool) or workers < 1):
        raise StudyError(f"workers = {workers!r}: must be a whole number >= 1")
    require_pyarrow("a sweep, whose runs are kept as Parquet,", "sweep fewer points in a loop of your own")
    if what.folder is not None:
        require_folder(what.folder)
    runner = PointRunner(what, [case.read() for case in what.cases])
    count = len(runner.plan)
    place = Path(Path("results") / (what.name or "sweep") if what.folder is None else what.folder)
    _check_signals(runner)
    if count > MANY and not many:
        raise StudyError(too_many(runner, workers or cores()))
    store = Store(place, what, count)
    try:
        finished = store.finished()
        undone = np.setdiff1d(np.arange(count), finished).tolist()
        if len(undone):
            with _workers(runner, store, len(undone), workers, scheduler) as those:
                dispatch(
                    those, runner, store, undone,
                    None if progress is None else lambda done: progress(len(finished) + done, count),
                )  # fmt: skip
            store.join()
        found = Swept(what, place, store.table(), runner.plan.labels(), resumed=len(finished))
        if report:
            files = () if len(undone) else store.report_of(what)
            try:
                files = files or store.note_report(what, draw("sweep.report.write_report", found, runner))
                found = replace(found, files=files)
            except StudyError as error:
                raise StudyError(
                    f"{error}. The rows of all {count} points are in {place}; where only room is missing, "
                    "give the command again: it makes the figures and pages"
                ) from error
    finally:
        store.close()
    return replace(found, seconds=time.perf_counter() - began)


def _sweep_of(
    base: Any,
    axes: Iterable[Axis],
    measure: Measure | None,
    signals: str | Iterable[str] | None,
    worst: int | None,
    allow_code: bool,
) -> Sweep:
    axes = tuple(axes)
    if isinstance(base, Study):
        found = Sweep(base, axes, measure or Outcomes(), name=base.name)
    else:
        if not isinstance(base, str | os.PathLike | Sweep):
            raise InputError(f"{type(base).__name__} is no sweep; give a sweep file, or a study with axes")
        found = base if isinstance(base, Sweep) else read_sweep(base, allow_code)
        if axes:
            found = replace(found, axes=(*found.axes, *axes))
        if measure is not None:
            found = replace(found, measure=measure, places=replace(found.places, measure=""))
    if signals is not None:
        kept = (signals,) if isinstance(signals, str) else tuple(signals)
        found = replace(found, signals=kept, places=replace(found.places, signals=""))
    if worst is not None:
        found = replace(found, worst=worst, places=replace(found.places, worst=""))
    return found


def _workers(
    runner: PointRunner, store: Store, points: int, workers: int | None, scheduler: Any
) -> AbstractContextManager[Workers]:
    if isinstance(scheduler, Executor):
        return on_executor(scheduler, runner, workers or cores())
    if scheduler is not None:
        otherwise = "leave the scheduler out to run on this machine"
        optional("distributed", "a sweep on a cluster", "psmr[sweep]", otherwise)
        from psmr.sweep.dask_cluster import dask_cluster

        return dask_cluster(scheduler, runner)
    count = min(workers or cores(), points)
    if count == 1:
        return in_this_process(runner)
    return local_processes(runner, count, store.release)


def _check_signals(runner: PointRunner) -> None:
    """Find a misspelt signal before the first run."""
    if runner.sweep.signals is None:
        return
    from psmr.network.signals.signals import Signals

    try:
        for number in range(len(runner.cases)):
            Signals.of(runner.system(number, ())).select(runner.sweep.signals)
    except InputError as error:
        raise error_at(error, StudyError, runner.sweep.places.signals) from error


def too_many(runner: PointRunner, workers: int) -> str:
    """Return how many points there are, and how long they would take on some processes of this machine."""
    count = len(runner.plan)
    tried = np.unique(np.linspace(0, count - 1, TRIED).astype(int))
    runner.point(int(tried[0]))  # compiles what is not compiled yet
    began = time.perf_counter()
    for number in tried.tolist():
        runner.point(number)
    seconds = (time.perf_counter() - began) / len(tried) * count / workers
    return (
        f"{runner.sweep.name}: {count:,} points, about {duration_text(seconds)} on {workers} processes like "
        "this machine's; to begin, give --yes (from Python: many=True)"
    )
