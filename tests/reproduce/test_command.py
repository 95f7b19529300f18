"""`psmr reproduce` and the record behind it."""

import json
from pathlib import Path

import pandas as pd
import pytest

from psmr import cli
from psmr.reproduce import papers
from psmr.reproduce.finding import Finding, within
from psmr.reproduce.reproduction import Reproduction, slug


def small(folder: Path, progress=None) -> Reproduction:
    figure = folder / "curve.svg"
    figure.write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    if progress:
        progress("a curve")
    return Reproduction(
        "small",
        "N. N., A paper, 1999",
        {"Table 1: errors": pd.DataFrame({"h": [0.1], "error": [1e-3]})},
        {"A curve": figure},
        (
            Finding("order | slope", "2", "1.99", (within("slope", 1.99, 2.0, 0.2, "usual"),)),
            Finding(
                "(1)",
                "a < b",
                "b < a",
                (within("a - b", 1.0, -1.0, 0.5, "sign"),),
                "signs",
                corrected=(within("a - b", 1.0, 1.0, 0.5, "sign"),),
            ),
        ),
    )


@pytest.fixture
def paper(monkeypatch):
    monkeypatch.setattr(
        papers, "reproduce", lambda name, folder, progress=None: small(Path(folder), progress)
    )
    monkeypatch.setattr(papers, "parts", lambda name: ("a line", "a curve"))


def call(capsys, *argv):
    code = cli.main([str(a) for a in argv])
    out, err = capsys.readouterr()
    return code, out, err


def test_findings_on_the_terminal(paper, capsys):
    code, out, err = call(capsys, "reproduce", "small")
    assert (code, err) == (0, "")
    assert "[misprint] (1)" in out
    assert out.rstrip().endswith("2 findings: 1 agrees, 0 differs, 1 misprint")


def test_tables_figures_and_a_page(paper, capsys, tmp_path):
    code, out, _ = call(capsys, "reproduce", "small", "-o", tmp_path / "out")
    assert code == 0
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "curve.svg",
        "index.html",
        "table-1-errors.csv",
    ]
    assert "a &lt; b" in (tmp_path / "out" / "index.html").read_text()
    assert "index.html" in out


def test_json(paper, capsys):
    code, out, _ = call(capsys, "reproduce", "small", "--json")
    record = json.loads(out)
    assert code == 0
    assert record["findings"][1]["verdict"] == "misprint"
    assert record["tables"]["Table 1: errors"] == [{"h": 0.1, "error": 1e-3}]


def test_a_name_that_is_not_there(capsys):
    code, out, err = call(capsys, "reproduce", "shi")
    assert (code, out) == (2, "")
    assert "no paper 'shi'" in err
    assert "shi-rojas" in err


def test_markdown_escapes_bars(tmp_path):
    assert "order \\| slope" in small(tmp_path).markdown()


def test_slug():
    assert slug("Pendulum, h = 0.005 s, 5 s") == "pendulum-h-0-005-s-5-s"


def test_a_bar_follows_the_parts_where_one_watches(paper, capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    moved = []
    monkeypatch.setattr("psmr.cli.console.Progress.__call__", lambda self, t: moved.append((t, self.t_end)))
    assert call(capsys, "reproduce", "small")[0] == 0
    assert moved == [(1, 2)]


@pytest.mark.parametrize("name", papers.PAPERS)
def test_the_parts_of_each_paper_have_names_of_their_own(name):
    named = papers.parts(name)
    assert len(set(named)) == len(named) >= 4


def test_a_folder_that_cannot_be_written_is_named_before_the_work(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(papers, "reproduce", lambda *_: pytest.fail("the work had begun"))
    (tmp_path / "file").write_text("")
    code, out, err = call(capsys, "reproduce", "shi-rojas", "-o", tmp_path / "file" / "out")
    assert (code, out) == (2, "")
    assert "file" in err
