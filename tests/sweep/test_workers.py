"""Processes and Dask workers: equal rows, and nothing lost when one of them dies."""

import multiprocessing
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import pytest

import psmr
from psmr.errors import StudyError
from tests.internals import PointRunner, packed_kernels, unpack_kernels
from tests.sweep.conftest import CASE, same_rows, swept


@pytest.fixture(scope="module")
def alone(study, tmp_path_factory):
    """The table of `faults`, by one process."""
    return swept(study, [outages()], tmp_path_factory.mktemp("alone")).table


def outages():
    return psmr.BranchOutages(0.1, clearing=(0.05, 0.1), branches=("line5-7", "line4-5"))


def kill_workers(monkeypatch, row, marker, times):
    """Let the process that carries out the point of a row end itself by a signal, a number of times."""
    of = psmr.Outcomes.of
    fault = psmr.Fault(row["bus"], 0.1, 0.1 + row["clearing"], row["branch"])

    def deadly(self, start):
        if fault in start.events and len(list(marker.parent.glob(f"{marker.name}*"))) < times:
            marker.with_name(f"{marker.name}{time.monotonic_ns()}").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return of(self, start)

    monkeypatch.setattr(psmr.Outcomes, "of", deadly)
    # A fork inherits the patch; other tests of this process may have left threads, beside which none is made.
    monkeypatch.setattr(threading, "active_count", lambda: 1)


@pytest.mark.skipif(sys.platform != "linux", reason="the patch is forked")
@pytest.mark.parametrize("times", [1, 2])
def test_a_worker_that_is_killed_loses_nothing(study, alone, tmp_path, monkeypatch, times):
    kill_workers(monkeypatch, alone.iloc[5], tmp_path / "killed", times)
    found = swept(study, [outages()], tmp_path / "s", workers=2)
    assert len(list(tmp_path.glob("killed*"))) == times
    assert same_rows(found.table, alone)


@pytest.mark.skipif(sys.platform != "linux", reason="the patch is forked")
def test_a_point_that_kills_its_workers_is_a_failed_row(study, alone, tmp_path, monkeypatch):
    kill_workers(monkeypatch, alone.iloc[5], tmp_path / "killed", 1000)
    found = swept(study, [outages()], tmp_path / "s", workers=2).table
    assert len(list(tmp_path.glob("killed*"))) == 3
    row = found.iloc[5]
    assert row["status"] == "failed"
    assert row["message"].startswith(
        "no result after 3 attempts: A process in the process pool was terminated"
    )
    assert (row["branch"], row["bus"]) == (alone["branch"][5], alone["bus"][5])
    assert same_rows(found.drop(5).convert_dtypes(), alone.drop(5).convert_dtypes())


@pytest.mark.slow
def test_spawned_processes_give_equal_rows(study, alone, tmp_path, monkeypatch):
    """Beside another thread a fork is not safe, and processes begin anew: they lack this one's patch."""
    monkeypatch.setattr(psmr.Outcomes, "of", lambda self, start: 1 / 0)
    halt = threading.Event()
    other = threading.Thread(target=halt.wait)
    other.start()
    try:
        assert same_rows(swept(study, [outages()], tmp_path / "s", workers=2).table, alone)
    finally:
        halt.set()
        other.join()


@pytest.mark.slow
def test_a_script_without_a_guard_is_told_about_it(study, tmp_path):
    """Processes that begin anew read the script: there its sweep finds the folder taken."""
    script = tmp_path / "script.py"
    script.write_text(
        "import threading, psmr\n"
        "threading.Thread(target=threading.Event().wait, daemon=True).start()\n"
        f"study, axes = psmr.read_study({study.source!r}), [psmr.BusFaults(0.1)]\n"
        f"psmr.sweep(study, axes, folder={str(tmp_path / 's')!r}, workers=2, report=False)\n"
    )
    done = subprocess.run(
        [sys.executable, str(script)], cwd=CASE.parents[2], capture_output=True, text=True, timeout=120,
        env={**os.environ, "PYTHONPATH": str(CASE.parents[2])},
    )  # fmt: skip
    assert done.returncode == 1
    assert "a script that sweeps needs `if __name__ == '__main__':`" in done.stderr
    assert not list((tmp_path / "s" / "runs").iterdir())


def test_a_parcel_of_kernels_is_written_where_it_is_missing(alone, tmp_path, monkeypatch):
    from tests.internals import cache_files_module as folder

    parcel = packed_kernels()
    assert sum(map(len, parcel.values())) > 0
    assert unpack_kernels(parcel) == 0
    monkeypatch.setattr(folder, "folder", lambda name: _made(tmp_path / name))
    assert unpack_kernels(parcel) == sum(map(len, parcel.values()))
    assert packed_kernels() == parcel


def _made(path):
    path.mkdir(exist_ok=True)
    return path


def test_a_runner_is_pickled_without_what_it_solved(study):
    runner = PointRunner(psmr.Sweep(study, (outages(),)), [psmr.read_case(CASE)])
    again = pickle.loads(pickle.dumps(runner))
    assert (
        again.batch([3]).rows.drop_columns("seconds").equals(runner.batch([3]).rows.drop_columns("seconds"))
    )
    assert len(pickle.dumps(runner)) < 100_000


@pytest.mark.parametrize("kind", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_any_executor_carries_points_out(study, alone, tmp_path, kind):
    """One of threads in this process, and one of processes, which have the cases from what they are sent."""
    with kind(2) as executor:
        found = psmr.sweep(
            study, [outages()], folder=tmp_path / "s", scheduler=executor, workers=2, report=False
        )
    assert same_rows(found.table, alone)


@pytest.mark.skipif(sys.platform != "linux", reason="the patch is forked")
def test_an_executor_that_breaks_is_said(study, alone, tmp_path, monkeypatch):
    kill_workers(monkeypatch, alone.iloc[5], tmp_path / "killed", 1000)
    with (
        ProcessPoolExecutor(2, multiprocessing.get_context("fork")) as executor,
        pytest.raises(
            psmr.errors.PsmrError, match=r"the executor of the sweep is broken .* goes on where it"
        ),
    ):
        psmr.sweep(study, [outages()], folder=tmp_path / "s", scheduler=executor, report=False)
    monkeypatch.undo()
    assert same_rows(swept(study, [outages()], tmp_path / "s").table, alone)


def test_what_is_no_scheduler_is_refused(study, tmp_path):
    with pytest.raises(
        StudyError, match="scheduler is of the type int: must be the address of a Dask scheduler"
    ):
        psmr.sweep(study, [outages()], folder=tmp_path / "s", scheduler=8786)


def test_a_scheduler_that_is_not_there(study, faults, tmp_path, monkeypatch):
    pytest.importorskip("distributed")
    from tests.internals import dask_cluster_module as dask_cluster

    monkeypatch.setattr(dask_cluster, "ANSWER", 0.5)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(
        StudyError, match=r"no Dask scheduler answers there .*start one with `dask scheduler`"
    ):
        psmr.sweep(study, [faults], folder=tmp_path / "s", scheduler=address, report=False)


class Client:
    """Workers with given versions."""

    class scheduler:
        address = "tcp://host:8786"

    def __init__(self, versions):
        self.versions = versions

    def run(self, function):
        if isinstance(self.versions, Exception):
            raise self.versions
        return {"a": self.versions}


def test_a_worker_without_psmr_is_said_before_a_run():
    pytest.importorskip("distributed")
    from tests.internals import check_versions

    client = Client(Exception("ModuleNotFoundError(No module named 'psmr')"))  # as Dask does
    with pytest.raises(
        StudyError, match=r"tcp://host:8786: a worker cannot say its versions .*psmr.* nothing was run"
    ):
        check_versions(client, {})


def test_workers_of_other_versions_are_said_before_a_run():
    pytest.importorskip("distributed")
    from tests.internals import check_versions

    here = {"python": "3.11.7", "psmr": "0.1", "numpy": "2.4.6"}
    check_versions(Client(here), here)
    with pytest.raises(StudyError, match=r"psmr 0.0 on a, 0.1 here; install the same .* nothing was run"):
        check_versions(Client(here | {"psmr": "0.0"}), here)
    with pytest.raises(StudyError, match=r"python 3.12.1 on a"):
        check_versions(Client(here | {"python": "3.12.1"}), here)
    with pytest.raises(StudyError, match=r"numpy none on a"):
        check_versions(Client({k: v for k, v in here.items() if k != "numpy"}), here)
    with pytest.warns(psmr.errors.PsmrWarning, match=r"numpy 2.4.1 on a, 2.4.6 here; rows may differ"):
        check_versions(Client(here | {"numpy": "2.4.1"}), here)


@pytest.fixture(scope="module")
def cluster():
    """A scheduler and two workers in processes of their own."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, memory_limit=0
    ) as local:
        yield local


@pytest.mark.slow
def test_dask_gives_equal_rows(study, alone, cluster, tmp_path):
    found = swept(study, [outages()], tmp_path / "s", scheduler=cluster.scheduler_address, workers=None)
    assert same_rows(found.table, alone)


@pytest.mark.slow
def test_a_dask_worker_that_is_killed_loses_nothing(study, cluster, tmp_path):
    from distributed import Client

    axes = [
        psmr.ParameterAxis("G2", "h", start=5.0, stop=8.0, count=200),
        psmr.BusFaults(0.1, buses=("bus7",)),
    ]
    one = psmr.sweep(study, axes, folder=tmp_path / "one", workers=1, report=False)
    with Client(cluster.scheduler_address, set_as_default=False) as client:
        pids = list(client.run(os.getpid).values())
        killed = []

        def progress(done, count):
            if not killed and done >= 3:
                killed.append(os.kill(pids[0], signal.SIGKILL))

        two = psmr.sweep(
            study, axes, folder=tmp_path / "two", scheduler=client, report=False, progress=progress
        )
    assert killed
    assert same_rows(one.table, two.table)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no such signal")
def test_a_scheduler_that_dies_ends_the_sweep(study, tmp_path):
    pytest.importorskip("distributed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    address = f"tcp://127.0.0.1:{port}"
    dask = [sys.executable, "-m", "distributed.cli.dask_scheduler"]
    options = ["--host", "127.0.0.1", "--port", port, "--no-dashboard"]
    worker = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-nanny"]
    running = [subprocess.Popen(words) for words in ([*dask, *options], [*worker, "--no-dashboard"])]
    axes = [psmr.ParameterAxis("G2", "h", start=5.0, stop=8.0, count=500)]

    def progress(done, count):
        if done and running[0].poll() is None:
            running[0].kill()
            running[0].wait()

    try:
        with pytest.raises(psmr.errors.PsmrError, match=r"scheduler is lost; every run .* goes on where it"):
            psmr.sweep(study, axes, folder=tmp_path / "s", scheduler=address, report=False, progress=progress)
    finally:
        for process in running:
            process.kill()
            process.wait()
    found = psmr.sweep(study, axes, folder=tmp_path / "s", workers=1, report=False)
    assert 0 < found.resumed < 500


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no such signals")
@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGINT])
def test_a_sweep_that_is_ended_goes_on_where_it_was(study, tmp_path, ending):
    axes = "[psmr.ParameterAxis('G2', 'h', start=5.0, stop=8.0, count=60), psmr.BusFaults(0.1)]"
    folder = tmp_path / "s"
    call = f"psmr.read_study({study.source!r}), {axes}, folder={str(folder)!r}, workers=2, report=False"
    process = subprocess.Popen(
        [sys.executable, "-c", f"import psmr; psmr.sweep({call})"], cwd=CASE.parents[2],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    deadline = time.monotonic() + 120
    while len(list(folder.glob("runs/part-*"))) < 3 and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(ending)
    _, said = process.communicate(timeout=20)  # its workers hold the pipes, too, until they end
    assert said.count("Traceback") == said.count("\nKeyboardInterrupt") == int(ending == signal.SIGINT)
    given = [psmr.ParameterAxis("G2", "h", start=5.0, stop=8.0, count=60), psmr.BusFaults(0.1)]
    found = psmr.sweep(study, given, folder=folder, workers=1, report=False)
    assert 0 < found.resumed < 540
    whole = psmr.sweep(study, given, folder=tmp_path / "whole", workers=1, report=False)
    assert same_rows(found.table, whole.table)
