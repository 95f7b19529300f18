import errno
import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest

import psmr
from psmr import cli
from psmr.errors import StudyError
from psmr.study.sweep import store
from psmr.study.sweep.bench import Batch, Bench
from psmr.study.sweep.conduct import Pace
from tests.study.sweep.conftest import CASE, same_rows


def swept(study, axes, folder, **options):
    return psmr.sweep(study, axes, folder=folder, **{"workers": 1, "report": False, **options})


def test_a_row_says_what_the_run_alone_says(study, faults, tmp_path):
    found = swept(study, [faults], tmp_path / "s")
    assert list(found.table["run"]) == list(range(8))
    system = psmr.build(psmr.read_case(CASE))
    for row in found.table.to_dict("records"):
        fault = psmr.Fault(row["bus"], 0.1, 0.1 + row["clearing"], row["branch"])
        run = psmr.simulate(system, psmr.VariableStep(), 1.0, [fault])
        assert row["steps"] == run.stats.counters.steps
        assert row["lowest_voltage"] == run.outcome.lowest_voltage.value
        assert row["angle_spread"] == run.outcome.angle_spread.value
        assert row["nadir"] == run.outcome.nadir.value
        assert (row["synchronism"] == "lost") == (run.outcome.lost is not None)


def test_a_parameter_is_that_of_a_case_that_has_it(study, tmp_path):
    axes = [
        psmr.ParameterAxis("G2", "h", values=(3.0, 6.4)),
        psmr.ParameterAxis("load5", "p_mw", values=(100.0, 125.0)),
        psmr.BusFaults(0.1, buses=("bus7",)),
    ]
    found = swept(study, axes, tmp_path / "s")
    text = CASE.read_text()
    assert len(found.table) == 4
    row = found.table.iloc[0]
    case = tmp_path / "case.toml"
    assert text.count("h = 6.4") == 1
    load = text.index("p_mw = 125.0", text.index("bus = 5"))
    text = text[:load] + text[load:].replace("p_mw = 125.0", "p_mw = 100.0", 1)
    case.write_text(text.replace("h = 6.4", "h = 3.0"))
    run = psmr.simulate(
        psmr.build(psmr.read_case(case)), psmr.VariableStep(), 1.0, [psmr.Fault("bus7", 0.1, 0.2)]
    )
    assert row["angle_spread"] == pytest.approx(run.outcome.angle_spread.value, rel=1e-9)


def test_a_factor_multiplies_the_value_of_the_case(study, tmp_path):
    axes = [
        psmr.ParameterAxis("G*", "h", values=(0.5, 1.0), factor=True),
        psmr.BusFaults(0.1, buses=("bus7",)),
    ]
    found = swept(study, axes, tmp_path / "s")
    alone = swept(study, [psmr.BusFaults(0.1, buses=("bus7",))], tmp_path / "t")
    assert found.table["angle_spread"][1] == alone.table["angle_spread"][0]
    assert found.table["angle_spread"][0] > found.table["angle_spread"][1]


def test_processes_and_one_process_give_equal_rows(study, faults, tmp_path):
    one = swept(study, [faults], tmp_path / "one", workers=1)
    two = swept(study, [faults], tmp_path / "two", workers=2)
    assert same_rows(one.table, two.table)


def test_what_was_finished_is_not_done_again(study, faults, tmp_path, monkeypatch):
    whole = swept(study, [faults], tmp_path / "whole")
    done = []
    batch = Bench.batch
    monkeypatch.setattr(Pace, "size", lambda *_: 1)

    def killed(self, numbers):
        if len(done) >= 3:
            raise KeyboardInterrupt
        done.extend(numbers)
        return batch(self, numbers)

    monkeypatch.setattr(Bench, "batch", killed)
    with pytest.raises(KeyboardInterrupt):
        swept(study, [faults], tmp_path / "s")
    before = len(done)
    assert 0 < before < 8
    again = []
    monkeypatch.setattr(Bench, "batch", lambda self, numbers: again.extend(numbers) or batch(self, numbers))
    found = swept(study, [faults], tmp_path / "s")
    assert found.resumed == before
    assert sorted(done + again) == list(range(8))
    assert same_rows(found.table, whole.table)


def test_a_point_that_fails_is_a_row_with_its_message(study, tmp_path):
    axes = [psmr.ParameterAxis("G2", "h", values=(-1.0, 6.4)), psmr.BusFaults(0.1, buses=("bus7",))]
    found = swept(study, axes, tmp_path / "s")
    assert list(found.table["status"]) == ["failed", "done"]
    assert "h = -1.0" in found.table["message"][0]
    assert "1 failed" in str(found)


def test_signals_are_kept(study, faults, tmp_path):
    found = swept(study, [faults], tmp_path / "s", signals=["*.omega", "bus5.v"])
    table = found.signals(3)
    assert list(table.columns) == ["G1.omega", "G2.omega", "G3.omega", "bus5.v"]
    assert table.index[-1] == 1.0
    with pytest.raises(StudyError, match="no signals of run 99"):
        found.signals(99)
    with pytest.raises(psmr.PsmrError, match="did you mean"):
        swept(study, [faults], tmp_path / "t", signals=["G1.omegaa"])


def test_signals_of_a_batch_without_rows_go(study, faults, tmp_path, monkeypatch):
    monkeypatch.setattr(Pace, "size", lambda *_: 2)
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
from psmr.errors import StudyError
from psmr.study.sweep import store

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
    monkeypatch.setattr(Pace, "size", lambda *_: 1)

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


def test_too_many_points_are_counted_first(study, tmp_path):
    axes = [psmr.SampleAxis("G1", "h", 20_000, 1, low=20.0, high=30.0)]
    with pytest.raises(StudyError, match=r"20,000 points, about .* on 2 processes .*--yes"):
        swept(study, axes, tmp_path / "s", workers=2)
    assert not (tmp_path / "s").exists()


def test_nothing_to_run(study, tmp_path):
    with pytest.raises(StudyError, match="nothing varies"):
        swept(study, [], tmp_path / "s")


def test_axes_that_vary_the_same_are_refused(study, tmp_path):
    axes = [psmr.ParameterAxis("G1", "h", (1.0,)), psmr.ParameterAxis("G1", "h", (2.0,))]
    with pytest.raises(StudyError, match=r"two axes vary G1\.h"):
        swept(study, axes, tmp_path / "s")


def test_many_files_are_joined_and_read_once(study, faults, tmp_path, monkeypatch):
    monkeypatch.setattr(store, "MANY_FILES", 2)
    monkeypatch.setattr(Pace, "size", lambda *_: 1)
    found = swept(study, [faults], tmp_path / "s")
    files = list((tmp_path / "s" / "runs").glob("*.parquet"))
    assert len(files) == 4
    assert list(found.table["run"]) == list(range(8))
    assert swept(study, [faults], tmp_path / "s").resumed == 8


def test_a_batch_takes_the_shortest_time_at_least():
    pace = Pace(1.0)
    assert pace.size(1000, 2) == 1
    pace.seconds, pace.most = 0.01, 5000
    assert pace.size(10_000, 2) == 1100  # ten times that at most
    assert pace.size(1000, 2) == 250
    assert pace.size(300, 2) == 75  # but for the last ones, so that both workers end together
    assert pace.size(30, 2) == 11
    assert pace.size(5, 2) == 5
    assert pace.size(3000, 100) == 50  # of which none keeps the one who hands them out busy
    assert pace.size(3000, 1000) == 110


def test_workers_end_together():
    """Batches handed out to whoever is free: the last one ends a tenth of the shortest time after another."""
    pace, each = Pace(1.0), 0.015
    free, left = [0.0, 0.0], 276
    while left:
        size = pace.size(left, 2)
        worker = free.index(min(free))
        free[worker] += size * each
        left -= size
        pace.learn(Batch(tuple(range(size)), None, None, size * each))
    assert max(free) - min(free) < 0.12


FILE = """
format = "psmr-sweep"
version = 1
case = "CASE"
[scheme]
type = "variable"
[simulation]
t_end = 1.0
[[axis]]
type = "bus-faults"
start = 0.1
buses = ["bus5", "bus7"]
"""


def test_a_file_is_read(tmp_path):
    path = tmp_path / "sweep.toml"
    path.write_text(FILE.replace("CASE", str(CASE)))
    sweep = psmr.read_sweep(path)
    assert sweep.axes == (psmr.BusFaults(0.1, buses=("bus5", "bus7")),)
    assert sweep.measure == psmr.Outcomes()


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            'type = "bus-faults"',
            'type = "bus-fault"',
            r"sweep.toml:\d+ \[\[axis\]\].*did you mean 'bus-faults'",
        ),
        ("start = 0.1", 'start = "soon"', r"start = 'soon': must be a finite number"),
        ("start = 0.1", "start = -1.0", r"sweep.toml:\d+ \[\[axis\]\]: bus-faults: start = -1.0"),
        ("[[axis]]", '[measure]\ntype = "dampin"\n[[axis]]', "did you mean 'damping'"),
        ("t_end = 1.0", "t_end = -1.0", "t_end = -1"),
        ("[simulation]\nt_end = 1.0", "", "needs runs; add \\[simulation\\]"),
        ('case = "CASE"', 'study = "none.toml"', "there is no such file beside the sweep"),
        ("[[axis]]", "[axes]", r"did you mean 'axis'"),
    ],
)
def test_what_is_wrong_in_a_file_names_its_place(tmp_path, old, new, words):
    path = tmp_path / "sweep.toml"
    text = FILE.replace(old, new).replace("CASE", str(CASE))
    if "study" in new:
        text = text.replace('[scheme]\ntype = "variable"\n[simulation]\nt_end = 1.0\n', "")
    path.write_text(text)
    with pytest.raises(StudyError, match=words):
        psmr.read_sweep(path)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"bus7"', '"bus77"', r"no bus 'bus77'; did you mean 'bus7'"),
        ("start = 0.1", "start = 1.0", r"start = 1: the run ends at t_end = 1 s; begin before that"),
        ("start = 0.1", "start = 0.95", r"clearing = 0.1: .* is not cleared before the run ends"),
        ("start = 0.1", "start = 0.1\ntogether = 'a'\n[[axis]]\ntype = 'generator-trips'\nstart = 0.1\n"
         "together = 'a'\n[[axis]]\ntype = 'bus-faults'\nstart = 0.1", "have 9, 3 points"),
        ("[[axis]]", "[[axis]]\ntype = 'bus-faults'\nstart = 0.1\nbuses = ['bus5']\n# second\n[[axis]]",
         "two axes vary bus; leave one of them out"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_an_axis_on_its_case_names_its_place(tmp_path, old, new, words):
    path = tmp_path / "sweep.toml"
    path.write_text(
        FILE.replace('buses = ["bus5", "bus7"]', "" if "together" in new else 'buses = ["bus7"]')
        .replace(old, new)
        .replace("CASE", str(CASE))
    )
    line = 14 if "second" in new else 9
    with pytest.raises(StudyError, match=rf"^{re.escape(str(path))}:{line} \[\[axis\]\]: .*{words}"):
        psmr.sweep(path, folder=tmp_path / "s", workers=1, report=False)


@pytest.mark.parametrize(
    ("end", "words"),
    [
        ('[output]\nworst = 2\nsignals = ["G1.omegaa"]\n', r":15 \[output\]: .*did you mean 'G1\.omega'"),
        ("[output]\nworst = -2\n", r":14 \[output\]: worst = -2: must be >= 0"),
        ('[measure]\ntype = "damping"\n', r":13 \[measure\]: .*; leave the events out"),
        (
            '[[axis]]\ntype = "case"\ncases = ["wscc9.toml", "wscc99.toml"]\n',
            r":13 \[\[axis\]\]: case: 'wscc99\.toml': there is no such file in .*; did you mean 'wscc9",
        ),
    ],
)
def test_what_is_wrong_beside_an_axis_names_its_place(tmp_path, end, words):
    path = tmp_path / "sweep.toml"
    path.write_text(FILE.replace("CASE", str(CASE)) + end)
    with pytest.raises(StudyError, match=rf"^{re.escape(str(path))}{words}"):
        psmr.sweep(path, folder=tmp_path / "s", workers=1, report=False)


def test_signals_of_a_call_are_not_those_of_the_file(tmp_path):
    path = tmp_path / "sweep.toml"
    path.write_text(FILE.replace("CASE", str(CASE)) + '[output]\nsignals = ["*.v"]\n')
    with pytest.raises(StudyError, match=r"^(?!.*sweep\.toml).*did you mean"):
        psmr.sweep(path, folder=tmp_path / "s", workers=1, report=False, signals="G1.omegaa")


def test_a_terminal_shows_why_points_failed(study, tmp_path):
    axes = [psmr.ParameterAxis("G1", "h", values=(-1.0, 20.0))]
    found = swept(study, axes, tmp_path / "s")
    assert found.headline == "2 points, 0 lost synchronism, 1 failed."
    assert f"\n\nFailed:\n  1: {found.table['message'][0]}" in str(found)


@pytest.mark.parametrize(("values", "code"), [("[-1.0]", 1), ("[-1.0, 20.0]", 0)])
def test_the_exit_code_says_that_every_point_failed(tmp_path, capsys, values, code):
    path = tmp_path / "sweep.toml"
    axis = f'type = "parameter"\ndevice = "G1"\nname = "h"\nvalues = {values}\n'
    path.write_text(FILE[: FILE.index('type = "bus-faults"')].replace("CASE", str(CASE)) + axis)
    assert cli.main(["sweep", str(path), "-o", str(tmp_path / "s"), "--workers", "1"]) == code
    assert "Failed:\n  1: " in capsys.readouterr().out


def test_the_definition_is_plain(study, faults):
    sweep = psmr.Sweep(study, (faults,), signals=("*.v",))
    assert json.loads(json.dumps(sweep.definition())) == sweep.definition()


def test_every_sweep_beside_the_cases_is_read():
    files = [p for p in CASE.parents[1].rglob("*.toml") if "psmr-sweep" in p.read_text()]
    assert len(files) >= 4
    for file in files:
        bench = Bench(psmr.read_sweep(file), [case.read() for case in psmr.read_sweep(file).cases])
        assert len(bench.plan) > 0
        assert np.array_equal(sorted(bench.plan.labels()), sorted(set(bench.plan.labels())))


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
