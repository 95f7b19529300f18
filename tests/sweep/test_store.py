"""The folder of a sweep: what is finished stays, what is damaged is named, one sweep at a time."""

import errno
import os
import subprocess
import sys

import pytest

import psmr
from psmr.errors import StudyError
from tests.internals import point_runner_module as point_runner
from tests.internals import store_module as store
from tests.internals import workers_module as workers
from tests.sweep.conftest import CASE, FILE, same_rows, swept


def test_what_was_finished_is_not_done_again(study, faults, tmp_path, monkeypatch):
    whole = swept(study, [faults], tmp_path / "whole")
    done = []
    of = psmr.Outcomes.of
    monkeypatch.setattr(workers, "MOST_POINTS", 1)

    def interrupted(self, start):
        if len(done) >= 3:
            raise KeyboardInterrupt
        done.append(start.events)
        return of(self, start)

    monkeypatch.setattr(psmr.Outcomes, "of", interrupted)
    with pytest.raises(KeyboardInterrupt):
        swept(study, [faults], tmp_path / "s")
    assert len(done) == 3
    again = []
    monkeypatch.setattr(psmr.Outcomes, "of", lambda self, start: again.append(start) or of(self, start))
    found = swept(study, [faults], tmp_path / "s")
    assert (found.resumed, len(again)) == (3, 5)
    assert same_rows(found.table, whole.table)


@pytest.mark.parametrize("limit", ["MOST_BYTES", "MOST_SECONDS"])
def test_a_batch_that_ends_early_loses_no_point(study, faults, tmp_path, monkeypatch, limit):
    """It ends where its signals fill the memory that it may have, and when its time is over."""
    whole = swept(study, [faults], tmp_path / "whole", signals=["*.omega"])
    monkeypatch.setattr(point_runner, limit, 0)
    monkeypatch.setattr(workers, "SHARES", 1)
    found = swept(study, [faults], tmp_path / "s", signals=["*.omega"])
    assert len(list((tmp_path / "s" / "runs").glob("*.parquet"))) == 8
    assert same_rows(found.table, whole.table)
    assert found.signals(7).equals(whole.signals(7))


def test_signals_of_a_batch_without_rows_go(study, faults, tmp_path, monkeypatch):
    monkeypatch.setattr(workers, "MOST_POINTS", 2)
    first = swept(study, [faults], tmp_path / "s", signals=["*.omega"])
    rows = sorted((tmp_path / "s" / "runs").glob("*.parquet"))
    rows[-1].unlink()
    found = swept(study, [faults], tmp_path / "s", signals=["*.omega"])
    assert 0 < found.resumed < 8
    assert same_rows(found.table, first.table)
    assert found.signals(7).equals(first.signals(7))
    assert not found.signals(7).index.duplicated().sum() > 2  # the two instants of the fault stand twice


def test_another_definition_is_refused_with_what_changed(study, faults, tmp_path):
    swept(study, [faults], tmp_path / "s")
    other = psmr.BranchOutages(0.1, clearing=(0.05, 0.12), branches=("line5-7", "line4-5"))
    with pytest.raises(
        StudyError, match=r"axis\[1\].clearing\[2\] = 0.12, there 0.1\. Choose another folder"
    ):
        swept(study, [other], tmp_path / "s")


def test_a_changed_case_is_refused(study, tmp_path):
    file = tmp_path / "case.toml"
    file.write_text(CASE.read_text())
    sweep = tmp_path / "sweep.toml"
    sweep.write_text(FILE.replace("CASE", file.name))
    psmr.sweep(sweep, folder=tmp_path / "s", workers=1, report=False)
    file.write_text(file.read_text() + "\n# another line\n")
    with pytest.raises(StudyError, match=r"different are: the content of case\.toml"):
        psmr.sweep(sweep, folder=tmp_path / "s", workers=1, report=False)


def test_two_sweeps_on_one_folder(study, faults, tmp_path):
    sweep = psmr.Sweep(study, (faults,))
    first = store.Store(tmp_path / "s", sweep, 8)
    with pytest.raises(StudyError, match="another sweep is at work on this folder"):
        swept(study, [faults], tmp_path / "s")
    first.close()
    assert len(swept(study, [faults], tmp_path / "s").table) == 8
    assert not (tmp_path / "s" / ".lock").exists()


def test_a_folder_stays_taken_while_processes_are_at_work(study, faults, tmp_path):
    """The forks of a sweep give up the lock without taking it away from the sweep."""

    def another(done, count):
        with pytest.raises(StudyError, match="another sweep is at work on this folder"):
            store._locked(tmp_path / "s")
        told.append(done)

    told = []
    swept(study, [faults], tmp_path / "s", workers=2, progress=another)
    assert told[-1] == 8


HELD = """
import os, sys, time
from pathlib import Path
from psmr.base.errors import StudyError
from psmr.sweep import point_runner, store, workers

class Held(store.Store):
    def __init__(self, folder):
        self.folder, self._lock = folder, store._locked(folder)

folder, count, until = Path(sys.argv[1]), 0, time.monotonic() + 2.0
while time.monotonic() < until:
    try:
        held = Held(folder)
    except StudyError:
        continue
    os.close(os.open(folder / "alone", os.O_CREAT | os.O_EXCL))
    os.unlink(folder / "alone")
    held.close()
    count += 1
print(count)
"""


def test_no_two_sweeps_hold_a_lock_that_comes_and_goes(tmp_path):
    """One that was opened before its file went, and locked after, is none."""
    words = [sys.executable, "-c", HELD, str(tmp_path)]
    running = [
        subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(3)
    ]
    for child in running:
        out, err = child.communicate(timeout=60)
        assert err == ""
        assert int(out) > 10
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_keeps_what_is_finished(study, faults, tmp_path, monkeypatch):
    written = []
    write = store._write
    monkeypatch.setattr(workers, "MOST_POINTS", 1)

    def full(path, table):
        if len(written) == 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        written.append(path)
        write(path, table)

    monkeypatch.setattr(store, "_write", full)
    with pytest.raises(StudyError, match="the disk is full; every run that was finished"):
        swept(study, [faults], tmp_path / "s")
    monkeypatch.setattr(store, "_write", write)
    before = len(store.read_rows(tmp_path / "s"))
    assert before >= 2
    found = swept(study, [faults], tmp_path / "s")
    assert found.resumed == before
    assert list(found.table["run"]) == list(range(8))


def test_many_files_are_joined_and_read_once(study, faults, tmp_path, monkeypatch):
    monkeypatch.setattr(store, "MANY_FILES", 2)
    monkeypatch.setattr(workers, "MOST_POINTS", 1)
    found = swept(study, [faults], tmp_path / "s")
    files = list((tmp_path / "s" / "runs").glob("*.parquet"))
    assert len(files) == 4
    assert list(found.table["run"]) == list(range(8))
    assert swept(study, [faults], tmp_path / "s").resumed == 8


@pytest.mark.parametrize("content", [b"", b"PAR1 and no more"])
def test_a_part_that_is_damaged_is_named(study, faults, tmp_path, content):
    swept(study, [faults], tmp_path / "s")
    part = next((tmp_path / "s" / "runs").glob("part-*.parquet"))
    part.write_bytes(content)
    with pytest.raises(StudyError, match=rf"{part.name}: is damaged .*remove it"):
        swept(study, [faults], tmp_path / "s")
    part.unlink()
    swept(study, [faults], tmp_path / "s")


@pytest.mark.parametrize("text", ["[1]", "[" * 100_000])
def test_a_description_that_is_damaged_is_named(study, faults, tmp_path, text):
    swept(study, [faults], tmp_path / "s")
    (tmp_path / "s" / "sweep.json").write_text(text)
    with pytest.raises(StudyError, match=r"sweep\.json: cannot be read"):
        swept(study, [faults], tmp_path / "s")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_a_lock_that_is_a_pipe_or_a_link_is_refused(study, faults, tmp_path):
    for name, make in (("pipe", os.mkfifo), ("link", lambda place: place.symlink_to(tmp_path / "victim"))):
        (tmp_path / name).mkdir()
        make(tmp_path / name / ".lock")
        with pytest.raises(StudyError, match="is no lock of a sweep"):
            swept(study, [faults], tmp_path / name)
    assert not (tmp_path / "victim").exists()


def test_rows_are_there_where_figures_cannot_be_written(study, faults, tmp_path):
    (tmp_path / "s" / "rows.csv").mkdir(parents=True)
    with pytest.raises(
        StudyError, match=r"rows\.csv: it is a folder.* The rows of all 8 points are in .*s; where"
    ):
        psmr.sweep(study, [faults], folder=tmp_path / "s", workers=1, worst=0)
    (tmp_path / "s" / "rows.csv").rmdir()
    again = psmr.sweep(study, [faults], folder=tmp_path / "s", workers=1, worst=0)
    assert (again.resumed, (tmp_path / "s" / "rows.csv").is_file()) == (8, True)
