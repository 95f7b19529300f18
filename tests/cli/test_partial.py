"""What a run leaves that fails or is interrupted: a report of the part, or what was there before."""

import html
import io
import os
import re
import sys

import pytest

import psmr
from psmr.cli import main
from psmr.errors import PsmrWarning, SimulationError
from tests.internals import OutputTransaction, run_study_module


def files(folder):
    return sorted(name for name in os.listdir(folder) if name != ".study")


@pytest.fixture
def failing(tmp_path, study_text):
    """A study that grows until no quantity is so large, after half a second."""
    study = tmp_path / "fails.toml"
    text = re.sub(
        r"(?s)\[scheme\].*?\n\n", '[scheme]\ntype = "single"\nmethod = "FEM"\nh = 0.05\n\n', study_text
    )
    study.write_text(text.replace("t_end = 0.5", "t_end = 5.0"))
    return study


@pytest.mark.filterwarnings("ignore::psmr.errors.PsmrWarning")
def test_a_run_that_fails_leaves_a_report_of_its_part(failing, tmp_path, capsys):
    out = tmp_path / "out"
    out.mkdir()
    (out / "run.csv").write_text("of an earlier run")
    assert main(["run", str(failing), "-o", str(out)]) == 1
    said = capsys.readouterr().err
    assert "no quantity is beyond 1e+30" in said
    assert re.search(
        r"What was computed up to t = [\d.]+ s is kept, marked as partial: .*run\.partial\.csv", said
    )
    # What an earlier run left whole is not lost.
    assert files(out) == ["report.partial.html", "run.csv", "run.partial.csv"]
    assert (out / "run.csv").read_text() == "of an earlier run"
    page = html.unescape((out / "report.partial.html").read_text()).replace("\N{NO-BREAK SPACE}", " ")
    assert "<h1>small: partial run</h1>" in page
    assert 'class="verdict red"' in page
    assert re.search(
        r"Failed: t = [\d.]+ s: .*no quantity is beyond.*Partial: synchronism maintained to t = ", page
    )
    assert (out / "run.partial.csv").read_text().startswith("t,G1.omega")


@pytest.mark.filterwarnings("ignore::psmr.errors.PsmrWarning")
def test_the_next_run_takes_the_part_away(failing, tmp_path, study_text):
    out = tmp_path / "out"
    assert main(["run", str(failing), "-o", str(out)]) == 1
    good = tmp_path / "good.toml"
    good.write_text(study_text)
    assert main(["run", str(good), "-o", str(out), "--no-report"]) == 0
    assert files(out) == ["run.csv"]


def test_the_part_that_cannot_be_written_hides_no_failure(failing, tmp_path, capsys, monkeypatch):
    def full(*_, **__):
        raise psmr.PsmrError("no room")

    monkeypatch.setattr(run_study_module, "write_outputs", full)
    assert main(["run", str(failing), "-o", str(tmp_path / "out")]) == 1
    said = capsys.readouterr().err
    assert "no quantity is beyond" in said
    assert "could not be written: no room" in said


def test_an_interrupt_while_the_page_is_drawn_changes_nothing(tmp_path, study_text, monkeypatch):
    study, out = tmp_path / "a.toml", tmp_path / "out"
    study.write_text(study_text + "save = true\n")
    assert main(["run", str(study), "-o", str(out)]) == 0
    before = {name: (out / name).read_bytes() for name in files(out)}
    assert set(before) == {"run.csv", "report.html", "run.psmr"}
    study.write_text(
        study_text.replace("fraction = 0.5", "fraction = 0.3").replace("[output]", "[output]\nsave = true")
    )

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("psmr.figures.run.report.run_page", interrupted)
    assert main(["run", str(study), "-o", str(out), "--record", "*.omega"]) == 130
    assert {name: (out / name).read_bytes() for name in files(out)} == before


def test_what_a_run_does_not_write_anew_is_not_left_beside_it(tmp_path, study_text):
    study, out = tmp_path / "a.toml", tmp_path / "out"
    study.write_text(study_text)
    assert main(["run", str(study), "-o", str(out)]) == 0
    (out / "notes.txt").write_text("mine")
    with pytest.warns(PsmrWarning, match=r"removed .*report\.html, of an earlier run"):
        psmr_run(study, out)
    assert files(out) == ["notes.txt", "run.csv"]


def psmr_run(study, out):
    from psmr import read_study
    from tests.internals import run_study

    run_study(read_study(study), out, extra={"html": False})


def test_files_appear_together_or_not_at_all(tmp_path):
    def failing(transaction):
        with transaction.file(tmp_path / "a") as place:
            place.write_text("a")
        assert not (tmp_path / "a").exists()
        with transaction.file(tmp_path / "b"):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), OutputTransaction() as transaction:
        failing(transaction)
    assert files(tmp_path) == []
    (tmp_path / "old").write_text("")
    with OutputTransaction(instead=[tmp_path / "old", tmp_path / "a"]) as transaction:
        for name in "ab":
            with transaction.file(tmp_path / name) as place:
                place.write_text(name)
        assert "old" in files(tmp_path)
    assert files(tmp_path) == ["a", "b"]


def test_memory_that_runs_out_ends_a_run_with_its_part(system, monkeypatch):
    from tests.internals import available_memory_module as memory

    scheme = psmr.VariableStep(h_max=1e-4)
    monkeypatch.setattr(memory, "SMALL", 0)
    monkeypatch.setattr(memory, "available_memory", lambda: 3e5)
    with pytest.raises(
        SimulationError, match=r"points of the run so far take .*KiB.*no room for more"
    ) as caught:
        psmr.simulate(system, scheme, 0.2, certify=False, partial=True, large=True)
    part = caught.value.partial
    assert 100 < len(part.t) < 2000
    assert "no room for more" in part.failure
    # To a file there is room.
    kept = psmr.simulate(
        system, scheme, 0.2, certify=False, large=True, record=psmr.Record(["G1.omega"], memory=0.01)
    )
    assert kept.t[-1] == 0.2


def standard_input(monkeypatch, text):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))


def test_a_study_from_standard_input(tmp_path, study_text, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    standard_input(monkeypatch, study_text.replace('folder = "out"\n', "").replace('name = "small"\n', ""))
    assert main(["run", "-"]) == 0
    assert "stdin: " not in capsys.readouterr().err
    assert files(tmp_path / "results" / "stdin") == ["report.html", "run.csv"]
    assert "<pre>psmr run -</pre>" in (tmp_path / "results" / "stdin" / "report.html").read_text()


def test_cases_from_standard_input_say_their_format(wscc9, monkeypatch, capsys):
    for name, words in (("wscc9.toml", []), ("wscc9.raw", ["--format", "raw"])):
        standard_input(monkeypatch, (wscc9 / name).read_text())
        assert main(["check", "-", *words]) in (0, 1)
        assert "bus" in capsys.readouterr().out.lower()
    standard_input(monkeypatch, (wscc9 / "wscc9.raw").read_text())
    assert main(["modes", "-"]) == 2
    assert "standard input is taken for TOML unless --format" in capsys.readouterr().err
    standard_input(monkeypatch, "")
    assert main(["check", "--format", "raw", "--dynamics", "-", "-"]) == 2
    assert "standard input is one file" in capsys.readouterr().err


def test_mistakes_of_a_case_from_a_stream_of_text_stand_each_for_itself(wscc9, monkeypatch):
    """A notebook has such a stream in the place of standard input."""
    damaged = (wscc9 / "wscc9.toml").read_text().replace("\nh = ", "\nh = -", 2)
    monkeypatch.setattr(sys, "stdin", io.StringIO(damaged))
    with pytest.raises(psmr.PsmrError) as error:
        psmr.read_case("-")
    assert len(error.value.mistakes) == 2
    assert all("h = -" in words for words in error.value.mistakes)


def test_standard_input_that_does_not_end_or_is_closed(monkeypatch, capsys):
    from tests.internals import text_module as text

    monkeypatch.setattr(text, "LONGEST", 1000)
    standard_input(monkeypatch, "x" * 2000)
    assert main(["run", "-"]) == 2
    assert "more than" in capsys.readouterr().err
    monkeypatch.setattr(sys, "stdin", None)
    assert main(["run", "-"]) == 2
    assert "standard input is closed" in capsys.readouterr().err


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_pipes_are_no_input(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(psmr.PsmrError, match="no regular file"):
        psmr.load_run(pipe)
    with pytest.raises(psmr.PsmrError, match="no regular file"):
        psmr.TimeSeries(pipe, "p", "load5.p")


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # the modes of a machine without inertia
@pytest.mark.filterwarnings("ignore::psmr.errors.PsmrWarning")
def test_a_run_that_fails_in_its_first_step_leaves_its_part(failing, tmp_path, capsys):
    """Its points are all at t = 0, so that the axis of time has no length of its own."""
    out = tmp_path / "out"
    light = '[[event]]\ntype = "parameter"\ndevice = "G1"\nname = "h"\nvalue = 1e-40\nstart = 0.0\n\n[output]'
    text = failing.read_text().replace("start = 0.1", "start = 0.0")
    failing.write_text(text.replace("[output]", light))
    assert main(["run", str(failing), "-o", str(out)]) == 1
    said = capsys.readouterr().err
    assert "What was computed up to t = 0 s is kept, marked as partial: " in said
    assert files(out) == ["report.partial.html", "run.partial.csv"]


@pytest.mark.filterwarnings("ignore::psmr.errors.PsmrWarning")
def test_a_page_that_cannot_be_drawn_hides_no_failure(failing, tmp_path, capsys, monkeypatch):
    out = tmp_path / "out"
    assert main(["run", str(failing), "-o", str(out)]) == 1
    (out / "run.partial.psmr").write_text("of the first")

    def wrong(*_, **__):
        raise ZeroDivisionError("by nothing")

    monkeypatch.setattr("psmr.figures.run.report.run_page", wrong)
    capsys.readouterr()
    assert main(["run", str(failing), "-o", str(out)]) == 1
    said = capsys.readouterr().err
    assert "no quantity is beyond" in said
    assert "could not be drawn: ZeroDivisionError: by nothing" in said
    # Of the first failure nothing is left.
    assert files(out) == ["run.partial.csv"]


def test_results_of_another_study_are_replaced_where_that_is_asked_for_alone(tmp_path, study_text, capsys):
    first, second, out = tmp_path / "a" / "fault.toml", tmp_path / "b" / "fault.toml", tmp_path / "out"
    for study in (first, second):
        study.parent.mkdir()
        study.write_text(study_text)
    assert main(["run", str(first), "-o", str(out), "--no-report"]) == 0
    assert main(["run", str(first), "-o", str(out), "--no-report"]) == 0
    before = (out / "run.csv").stat().st_mtime_ns
    assert main(["run", str(second), "-o", str(out), "--no-report"]) == 2
    said = capsys.readouterr().err
    assert f"{out} has the results of another study, {first}; give -o {tmp_path / 'b-fault'}" in said
    assert (out / "run.csv").stat().st_mtime_ns == before
    assert main(["run", str(second), "-o", str(out), "--no-report", "--force"]) == 0
    assert main(["run", str(second), "-o", str(out), "--no-report"]) == 0
